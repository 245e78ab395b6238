"""Every sampler draws what the reference draws for the same key, shape, dtype and setting (see record.py)."""

import ml_dtypes
import numpy as np
import pytest

import arrax
from arrax.native.runtime import jaxlib_version
from tests.random import recorded_cases, recording

RECORDED = recording.load()
RECORDED_WITH = "0.10.2"  # jaxlib's version
ROUNDS = [
    pytest.param(setting, chapter, id=f"x64={setting[0]}-partitionable={setting[1]}-{chapter.__name__}")
    for setting in recorded_cases.SETTINGS
    for chapter in recorded_cases.chapters(*setting)
]
FORMULA_DOCUMENTED = (
    "uniform",
    "normal",
    "bits",
    "split",
    "fold_in",
)  # equal to the last bit; others may differ in two
# Third powers of a sum that the compiler contracts, or not, by how it fuses what is around it.
CUBES = (
    "gamma",
    "loggamma",
    "beta",
    "chisquare",
    "dirichlet",
    "f",
    "t",
    "generalized_normal",
    "ball",
    "rbg",
    "unsafe_rbg",
)


def difference(name, values):
    """What is wrong with a result, or None."""
    dtype, shape, recorded = RECORDED[name]
    if (values.dtype.name, values.shape) != (dtype, shape):
        return f"{name}: {values.dtype}{values.shape} for {dtype}{shape}"
    # The compiler's own functions of doubles, and how it contracts what is around them, differ between its versions.
    compilers = values.dtype.itemsize >= 8 and values.dtype.kind in "fc" and "uniform" not in name
    other_compiler = compilers and jaxlib_version != RECORDED_WITH
    if isinstance(recorded, str):
        return None if other_compiler or recording.digest(values) == recorded else f"{name}: other bits"
    exact = values.dtype.kind in "biu" or (name.split()[1] in FORMULA_DOCUMENTED and not other_compiler)
    if exact or values.tobytes() == recorded.tobytes():
        return None if values.tobytes() == recorded.tobytes() else f"{name}: {values} for {recorded}"
    wide = np.complex128 if values.dtype.kind == "c" else np.float64
    error = np.abs(values.astype(wide) - recorded.astype(wide)) / np.maximum(np.abs(recorded.astype(wide)), 1)
    ulps = np.max(error) / float(ml_dtypes.finfo(values.dtype).eps)
    limit = 32 if other_compiler else 4 if name.split()[1] in CUBES else 2
    return None if ulps <= limit else f"{name}: {ulps:.1f} ulps, {values} for {recorded}"


@pytest.mark.parametrize("setting, chapter", ROUNDS)
def test_draws_are_those_recorded(setting, chapter):
    draws: dict = {}
    x64, partitionable = setting
    with arrax.enable_x64(x64), arrax.threefry_partitionable(partitionable):
        chapter(arrax, x64, draws)
        keys = recorded_cases.keys_of(arrax)
        found = [
            difference(f"{int(x64)}{int(partitionable)} {name} {seed}", np.asarray(draw(key)))
            for name, draw in draws.items()
            for seed, key in keys.items()
        ]
    assert not [line for line in found if line]


def test_gamma_numbers_and_what_is_made_of_them_are_of_64_bits_where_these_are_on():
    with arrax.enable_x64(True):
        draws: dict = {}
        recorded_cases.more_gammas(arrax, True, draws)
        dtypes = {name: arrax.eval_shape(draw, arrax.random.key(0)).dtype.name for name, draw in draws.items()}
    assert dtypes == dict.fromkeys(draws, "float64") | {"gamma half": "bfloat16"}


@pytest.mark.parametrize(
    "name", ["normal float32 (7,)", "uniform bounds float32", "randint int32 (500,)", "exponential"]
)
def test_compiled_functions_draw_what_eager_calls_draw(name):
    draws = recorded_cases.cases(arrax, False, False)
    for seed, key in recorded_cases.keys_of(arrax).items():
        assert difference(f"00 {name} {seed}", np.asarray(arrax.jit(draws[name])(key))) is None


WITH_PARAMETERS = {
    "gamma": (0.7,), "beta": (0.5, 2.0), "t": (3.0,),
    "truncated_normal": (-1.5, 0.7), "triangular": (-1.0, 0.3, 2.0), "binomial": (100.0, 0.3), "poisson": (30.0,),
    "wald": (3.0,), "pareto": (2.0,), "rayleigh": (2.0,), "lognormal": (0.7,), "geometric": (0.2,),
    "generalized_normal": (1.5,), "weibull_min": (3.0, 2.0), "bernoulli": (0.3,),
}  # fmt: skip


@pytest.mark.parametrize("name", WITH_PARAMETERS)
def test_compiled_draws_with_parameters_are_eager_ones_to_the_last_bit(name):
    sampler, key = getattr(arrax.random, name), arrax.random.key(5)
    eager = sampler(key, *WITH_PARAMETERS[name], (50,))
    compiled = arrax.jit(lambda key, *parameters: sampler(key, *parameters, (50,)))(key, *WITH_PARAMETERS[name])
    assert np.asarray(eager).tobytes() == np.asarray(compiled).tobytes()


def test_raw_keys_draw_what_typed_keys_draw():
    raw, typed = arrax.random.PRNGKey(42), arrax.random.key(42)
    np.testing.assert_array_equal(raw, arrax.random.key_data(typed))
    for name in ("bits 8 (7,)", "normal float32 (7,)", "permutation 9", "gamma", "split 3", "fold_in 7"):
        draw = recorded_cases.cases(arrax, False, False)[name]
        if name.split()[0] in ("split", "fold_in"):
            sample = {"split": lambda k: arrax.random.split(k, 3), "fold_in": lambda k: arrax.random.fold_in(k, 7)}
            derive = sample[name.split()[0]]
            np.testing.assert_array_equal(derive(raw), arrax.random.key_data(derive(typed)))
        else:
            np.testing.assert_array_equal(draw(raw), draw(typed))


def test_the_record_has_a_draw_of_every_public_sampler():
    not_samplers = {"PRNGKey", "clone", "key", "key_data", "key_dtype", "key_impl", "wrap_key_data", "random_gamma_p"}
    public = {name for name in dir(arrax.random) if not name.startswith("_")} - not_samplers
    public = {name for name in public if callable(getattr(arrax.random, name))}
    assert public <= {name.split()[1] for name in RECORDED}
