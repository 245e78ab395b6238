"""Wrong arguments are refused by the function's name, with what came."""

import re

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import random

EYE, ZEROS = np.eye(2, dtype=np.float32), np.zeros(3, np.float32)

# fmt: off
REFUSED = {  # what is wrong: (call, error, words of the message; the first is the function's name)
    "another generator":   (lambda k: random.key(0, impl="mersenne"),                  ValueError, "no generator", "'mersenne'"),
    "a number for one":    (lambda k: random.key(0, impl=3),                           TypeError,  "generator", "3"),
    "impl and dtype":      (lambda k: random.key(0, impl="rbg", dtype=k.dtype),        ValueError, "key", "both"),
    "float seed":          (lambda k: random.key(1.5),                                 TypeError,  "key", "1.5"),
    "raw float seed":      (lambda k: random.PRNGKey(np.float32(1)),                   TypeError,  "key", "float32"),
    "array seed":          (lambda k: random.key(jnp.arange(2)),                       TypeError,  "key", "(2,)"),
    "list seed":           (lambda k: random.key([1]),                                 TypeError,  "key", "list"),
    "text seed":           (lambda k: random.key("a"),                                 TypeError,  "key", "'a'"),
    "no seed":             (lambda k: random.key(None),                                TypeError,  "key", "None"),
    "key as a seed":       (lambda k: random.key(k),                                   TypeError,  "key", "got a key"),
    "traced float seed":   (lambda k: arrax.jit(random.key)(1.5),                      TypeError,  "key", "integer"),
    "no key":              (lambda k: random.uniform(3),                               TypeError,  "uniform", "3"),
    "None for a key":      (lambda k: random.loggamma(None, 1.0),                      TypeError,  "loggamma", "None"),
    "list for a key":      (lambda k: random.permutation([0, 0], 3),                   TypeError,  "permutation", "[0, 0]"),
    "number for a key":    (lambda k: random.choice(7, 3),                             TypeError,  "choice", "7"),
    "no key to split":     (lambda k: random.split(0),                                 TypeError,  "split", "0"),
    "no key to fold":      (lambda k: random.fold_in(0, 1),                            TypeError,  "fold_in", "0"),
    "no key for bits":     (lambda k: random.bits("x"),                                TypeError,  "bits", "'x'"),
    "no key's words":      (lambda k: random.key_data(3),                              TypeError,  "key_data", "3"),
    "no key's generator":  (lambda k: random.key_impl(3),                              TypeError,  "key_impl", "3"),
    "no key to clone":     (lambda k: random.clone(3),                                 TypeError,  "clone", "3"),
    "signed words":        (lambda k: random.normal(jnp.zeros(2, "int32")),            TypeError,  "normal", "int32"),
    "raw batch":           (lambda k: random.split(random.split(random.PRNGKey(0))),   ValueError, "split", "(2, 2)"),
    "batch":               (lambda k: random.split(random.split(k)),                   ValueError, "split", "(2,)"),
    "batch to fold":       (lambda k: random.fold_in(random.split(k), 1),              ValueError, "fold_in", "vmap"),
    "wrong words":         (lambda k: random.wrap_key_data(jnp.zeros(3, "uint32")),    TypeError,  "key data", "(3,)"),
    "wrong width":         (lambda k: random.wrap_key_data(jnp.zeros(2, "int32")),     TypeError,  "key data", "int32"),
    "wrong words traced":  (lambda k: arrax.jit(random.wrap_key_data)(jnp.zeros(3)),   TypeError,  "key data", "f32[3]"),
    "negative to fold":    (lambda k: random.fold_in(k, -1),                           OverflowError, "fold_in", "-1"),
    "large to fold":       (lambda k: random.fold_in(k, 2**32),                        OverflowError, "fold_in", "4294967296"),
    "array to fold":       (lambda k: random.fold_in(k, jnp.arange(2)),                TypeError,  "fold_in", "(2,)"),
    "text to fold":        (lambda k: random.fold_in(k, "a"),                          TypeError,  "fold_in", "'a'"),
    "key to fold":         (lambda k: random.fold_in(k, k),                            TypeError,  "fold_in", "fry"),
    "float number":        (lambda k: random.split(k, 2.5),                            TypeError,  "split", "2.5"),
    "negative number":     (lambda k: random.split(k, -1),                             TypeError, "split", "-1"),
    "text in a shape":     (lambda k: random.split(k, (2, "a")),                       TypeError,  "split", "'a'"),
    "float in a shape":    (lambda k: random.uniform(k, (2.5,)),                       TypeError,  "uniform", "2.5"),
    "negative shape":      (lambda k: random.normal(k, (-1,)),                         TypeError, "normal", "(-1,)"),
    "no shape":            (lambda k: random.randint(k, None, 0, 1),                   TypeError,  "randint", "None"),
    "negative dimension":  (lambda k: random.ball(k, -1),                              ValueError, "ball", "-1"),
    "negative rows":       (lambda k: random.orthogonal(k, -1),                        ValueError, "orthogonal", "-1"),
    "float rows":          (lambda k: random.orthogonal(k, 2.5),                       TypeError,  "orthogonal", "2.5"),
    "float dimension":     (lambda k: random.ball(k, 2.5),                             TypeError,  "ball", "2.5"),
    "several norms":       (lambda k: random.ball(k, 2, ZEROS),                        ValueError, "ball", "(3,)"),
    "int uniform":         (lambda k: random.uniform(k, dtype=int),                    ValueError, "uniform", "int32"),
    "int normal":          (lambda k: random.normal(k, dtype="int32"),                 ValueError, "normal", "int32"),
    "complex laplace":     (lambda k: random.laplace(k, dtype="complex64"),            ValueError, "laplace", "complex64"),
    "signed bits":         (lambda k: random.bits(k, dtype="int32"),                   ValueError, "bits", "int32"),
    "float bits":          (lambda k: random.bits(k, dtype=float),                     ValueError, "bits", "float32"),
    "float randint":       (lambda k: random.randint(k, (2,), 0, 3, "float32"),        TypeError,  "randint", "float32"),
    "bool randint":        (lambda k: random.randint(k, (2,), 0, 3, bool),             TypeError,  "randint", "bool"),
    "int gamma":           (lambda k: random.gamma(k, 2.0, dtype=int),                 ValueError, "gamma", "int32"),
    "float poisson":       (lambda k: random.poisson(k, 2.0, dtype="float32"),         ValueError, "poisson", "float32"),
    "float geometric":     (lambda k: random.geometric(k, 0.5, dtype=float),           ValueError, "geometric", "float32"),
    "int binomial":        (lambda k: random.binomial(k, 3, 0.5, dtype=int),           ValueError, "binomial", "int32"),
    "tiny floats":         (lambda k: random.uniform(k, (2,), "float4_e2m1fn"),       TypeError,  "uniform", "float4_e2m1fn"),
    "objects":             (lambda k: random.normal(k, dtype=object),                  TypeError,  "normal", "object"),
    "bound too large":     (lambda k: random.randint(k, (2,), 0, 2**40),               OverflowError, "randint", "1099511627776"),
    "text for a bound":    (lambda k: random.randint(k, (), "a", 3),                   TypeError,  "randint", "'a'"),
    "complex bound":       (lambda k: random.randint(k, (), 1j, 3),                    TypeError,  "randint", "complex64"),
    "bounds' shape":       (lambda k: random.uniform(k, (3,), minval=np.zeros(4)),     ValueError, "uniform", "(4,)"),
    "text for minval":     (lambda k: random.uniform(k, (3,), minval="a"),             TypeError,  "uniform", "'a'"),
    "integers' shape":     (lambda k: random.randint(k, (2,), np.zeros(3, int), 5),    ValueError, "randint", "(3,)"),
    "int probability":     (lambda k: random.bernoulli(k, 1),                          TypeError,  "bernoulli", "int32"),
    "powers of two":       (lambda k: random.uniform(k, (2,), "float8_e8m0fnu"),       TypeError,  "uniform", "float8_e8m0fnu"),
    "list of them":        (lambda k: random.bernoulli(k, [0.1, 0.2]),                 TypeError,  "bernoulli", "[0.1, 0.2]"),
    "bernoulli's mode":    (lambda k: random.bernoulli(k, 0.5, mode="x"),              ValueError, "bernoulli", "'x'"),
    "gumbel's mode":       (lambda k: random.gumbel(k, mode="x"),                      ValueError, "gumbel", "'x'"),
    "float permutation":   (lambda k: random.permutation(k, 2.5),                      TypeError,  "permutation", "2.5"),
    "list to permute":     (lambda k: random.permutation(k, [1, 2]),                   TypeError,  "permutation", "list"),
    "permutation's axis":  (lambda k: random.permutation(k, ZEROS, axis=1),            ValueError, "permutation", "axis 1"),
    "float axis":          (lambda k: random.permutation(k, ZEROS, axis=0.0),          TypeError,  "permutation", "0.0"),
    "two axes":            (lambda k: random.permutation(k, EYE, axis=(0, 1)),         TypeError,  "permutation", "(0, 1)"),
    "too many choices":    (lambda k: random.choice(k, 3, (4,), False),                ValueError, "choice", "4"),
    "no choices":          (lambda k: random.choice(k, 0, (4,)),                       ValueError, "choice", "0"),
    "choices' p":          (lambda k: random.choice(k, 3, (4,), p=np.ones(4)),         ValueError, "choice", "(4,)"),
    "choices' rank of p":  (lambda k: random.choice(k, 3, (4,), p=np.ones((3, 1))),    ValueError, "choice", "(3, 1)"),
    "list for p":          (lambda k: random.choice(k, 3, p=[0.1, 0.2, 0.7]),          TypeError,  "choice", "list"),
    "list of choices":     (lambda k: random.choice(k, [1, 2]),                        TypeError,  "choice", "list"),
    "choices' axis":       (lambda k: random.choice(k, EYE, axis=3),                   ValueError, "choice", "axis 3"),
    "choices' mode":       (lambda k: random.choice(k, 3, p=ZEROS + 1, mode="x"),      ValueError, "choice", "'x'"),
    "dirichlet's alpha":   (lambda k: random.dirichlet(k, 2.0),                        ValueError, "dirichlet", "scalar"),
    "list for alpha":      (lambda k: random.dirichlet(k, [1.0, 2.0]),                 TypeError,  "dirichlet", "[1.0, 2.0]"),
    "multinomial's p":     (lambda k: random.multinomial(k, 3, 0.5),                   ValueError, "multinomial", "scalar"),
    "multinomial's n":     (lambda k: random.multinomial(k, ZEROS, np.ones((2, 3))),   ValueError, "multinomial", "(3,)"),
    "mean's rank":         (lambda k: random.multivariate_normal(k, 0.0, EYE),         ValueError, "multivariate_normal", "mean"),
    "covariance's rank":   (lambda k: random.multivariate_normal(k, ZEROS, ZEROS),     ValueError, "multivariate_normal", "(3,)"),
    "covariance's shape":  (lambda k: random.multivariate_normal(k, ZEROS, EYE),       ValueError, "multivariate_normal", "(2, 2)"),
    "means' shape":        (lambda k: random.multivariate_normal(k, np.zeros((3, 2)), EYE, (2,)), ValueError, "multivariate_normal", "(3,)"),
    "normal's method":     (lambda k: random.multivariate_normal(k, np.zeros(2), EYE, method="qr"), ValueError, "multivariate_normal", "'qr'"),
    "gamma's shape":       (lambda k: random.gamma(k, np.ones(3), (2,)),               ValueError, "gamma", "(3,)"),
    "text for a":          (lambda k: random.gamma(k, "a"),                            TypeError,  "gamma", "'a'"),
    "list for a":          (lambda k: random.beta(k, [1.0], 2.0),                      TypeError,  "beta", "[1.0]"),
    "beta's shapes":       (lambda k: random.beta(k, ZEROS, np.ones(2)),               ValueError, "beta", "(3,)"),
    "truncation's shape":  (lambda k: random.truncated_normal(k, ZEROS, 1.0, (2,)),    ValueError, "truncated_normal", "(3,)"),
    "maxwell's shapes":    (lambda k: random.double_sided_maxwell(k, ZEROS, np.ones(2)), ValueError, "double_sided_maxwell", "(3,)"),
    "text for a power":    (lambda k: random.generalized_normal(k, "a"),               TypeError,  "generalized_normal", "'a'"),
    "poisson of rbg":      (lambda k: random.poisson(random.key(0, impl="rbg"), 2.0),  NotImplementedError, "poisson", "rbg"),
    "categorical's axis":  (lambda k: random.categorical(k, ZEROS, axis=2),            ValueError, "categorical", "axis 2"),
    "categorical's rank":  (lambda k: random.categorical(k, 0.0),                      ValueError, "categorical", "axis -1"),
    "categorical's shape": (lambda k: random.categorical(k, np.zeros((2, 3)), shape=(3,)), ValueError, "categorical", "(3,)"),
    "too many categories": (lambda k: random.categorical(k, ZEROS, shape=(4,), replace=False), ValueError, "categorical", "4"),
    "complex a":           (lambda k: random.beta(k, 1j, 3.0, (2,)),                   ValueError, "beta", "complex64"),
    "complex mean":        (lambda k: random.poisson(k, np.ones(2) * 1j),              ValueError, "poisson", "complex64"),
    "complex logits":      (lambda k: random.categorical(k, ZEROS * 1j),               ValueError, "categorical", "complex"),
    "choices' complex p":  (lambda k: random.choice(k, 3, p=ZEROS * 1j),               ValueError, "choice", "complex"),
    "no place":            (lambda k: random.uniform(k, (2,), out_sharding=3),         TypeError,  "uniform", "out_sharding", "3"),
    "no place for bits":   (lambda k: random.bits(k, (2,), out_sharding="cpu"),        TypeError,  "bits", "'cpu'"),
}
# fmt: on


@pytest.mark.parametrize("call, error, words", [(c, e, w) for c, e, *w in REFUSED.values()], ids=REFUSED)
def test_wrong_arguments_are_refused_by_name(call, error, words):
    with pytest.raises(error) as raised:
        call(random.key(0))
    missing = [word for word in words if word not in str(raised.value)]
    assert not missing, str(raised.value)


@pytest.mark.parametrize(
    "draw",
    [
        lambda n: random.uniform(random.key(0), (n,)),
        lambda n: random.permutation(random.key(0), n),
        lambda n: random.choice(random.key(0), n),
        lambda n: random.split(random.key(0), n),
        lambda n: random.ball(random.key(0), n),
    ],
)
def test_traced_numbers_are_no_shapes(draw):
    with pytest.raises(TypeError, match="[Tt]race"):
        arrax.jit(draw)(3)


@pytest.mark.filterwarnings("error")
def test_what_is_odd_but_has_a_meaning_passes():
    key = random.key(0)
    assert random.permutation(key, -3).shape == (0,)
    assert random.choice(key, 3, axis=5).shape == ()
    assert random.choice(key, 0, (0,)).shape == (0,)
    assert random.uniform(key, 3).shape == random.uniform(key, [3]).shape == random.uniform(key, np.array([3])).shape
    assert random.poisson(key, 2.0, dtype=int).dtype == random.randint(key, (), 0, 3, int).dtype == jnp.int32
    assert random.uniform(key, dtype=float).dtype == random.gamma(key, 2.0, dtype=float).dtype == jnp.float32
    assert random.normal(key, dtype=complex).dtype == jnp.complex64
    assert random.multinomial(key, 5, jnp.array([0.5, 0.5]), dtype=int).dtype == jnp.int32
    assert random.uniform(key, (2,), out_sharding=None).shape == (2,)


@pytest.mark.parametrize(
    "draw",
    [
        random.beta, random.chisquare, random.f, random.lognormal, random.pareto, random.rayleigh, random.t, random.triangular,
        random.wald,
    ],
)  # fmt: skip
def test_parameters_that_the_dtype_cannot_hold_are_refused(draw):
    count = {random.beta: 2, random.f: 2, random.triangular: 3}.get(draw, 1)
    for wide, narrow in ((np.float64, np.float32), (np.float32, np.float16), (np.float16, jnp.bfloat16)):
        with arrax.enable_x64(wide is np.float64):
            given = (wide(2),) * count
            name = re.escape(f"{draw.__name__}: dtype {np.dtype(narrow).name} cannot hold")
            with pytest.raises(arrax.dtypes.TypePromotionError, match=name):
                draw(random.key(0), *given, shape=(2,), dtype=narrow)
    for held in (2.0, np.int32(2), np.float32(2)):
        assert arrax.eval_shape(lambda *p: draw(random.key(0), *p, shape=(2,)), *(held,) * count).dtype == np.float32


@pytest.mark.parametrize("draw", [random.normal, random.bits])
def test_nothing_is_drawn_where_what_is_asked_for_is_no_sharding(draw):
    with arrax.debug_key_reuse(True):
        key = random.key(0)
        with pytest.raises(TypeError, match=f"{draw.__name__}: out_sharding must be None, a sharding or"):
            draw(key, (2,), out_sharding="x")
        draw(key, (2,))  # the key has not been used
