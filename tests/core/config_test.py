"""Settings: read and set by name, attribute, context, environment, command line; each thread may have its own."""

import copy
import gc
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax.experimental import io_callback
from tests.support import run_python


@pytest.fixture(autouse=True)
def restored():
    """Settings as before, whatever a test does."""
    before = arrax.config.values
    yield
    for name, value in before.items():
        if arrax.config.read(name) != value:
            arrax.config.update(name, value)


def test_contexts_take_their_value_by_name():
    with arrax.disable_jit(disable=True), arrax.debug_nans(new_val=True):
        assert arrax.config.jax_disable_jit and arrax.config.jax_debug_nans
        with arrax.disable_jit(False):
            assert not arrax.config.jax_disable_jit
    with arrax.disable_jit():
        assert arrax.config.jax_disable_jit


@pytest.mark.parametrize("name", ["jax_debug_nans", "arrax_debug_nans", "debug_nans"])
def test_names_have_optional_prefixes(name):
    arrax.config.update(name, True)
    assert arrax.config.read(name) is True and getattr(arrax.config, name) is True
    assert arrax.config.values["jax_debug_nans"] is True


def test_attributes_can_be_set():
    arrax.config.jax_enable_x64 = True
    assert jnp.arange(2.0).dtype == np.float64


def test_contexts_end_also_after_exceptions():
    with pytest.raises(ZeroDivisionError), arrax.enable_x64(True):
        assert arrax.config.jax_enable_x64
        1 / 0  # noqa: B018
    assert not arrax.config.jax_enable_x64


def test_a_context_holds_in_its_thread_only():
    seen = []
    with arrax.enable_x64(True):
        thread = threading.Thread(target=lambda: seen.append(arrax.config.jax_enable_x64))
        thread.start()
        thread.join()
    assert seen == [False]


def test_contexts_win_over_updates():
    with arrax.debug_nans(False):
        arrax.config.update("debug_nans", True)
        assert not arrax.config.debug_nans
    assert arrax.config.debug_nans


@pytest.mark.parametrize(
    "change, error, words",
    [
        (lambda: arrax.config.update("jax_nonsense", 1), AttributeError, "jax_nonsense"),
        (lambda: arrax.config.jax_nonsense, AttributeError, "jax_nonsense"),
        (lambda: arrax.config.update("jax_enable_x46", True), AttributeError, "did you mean enable_x64"),
        (lambda: arrax.config.update("enable_x64", "maybe"), ValueError, "maybe"),
        (lambda: arrax.config.update("enable_x64", 2.5), TypeError, "2.5"),
        (lambda: arrax.config.update("persistent_cache_min_entry_size_bytes", 2.5), TypeError, "takes int, got 2.5"),
        (lambda: arrax.config.update("numpy_rank_promotion", "never"), ValueError, "never"),
        (lambda: arrax.default_matmul_precision("best"), ValueError, "best"),
        (lambda: arrax.transfer_guard("never"), ValueError, "never"),
        (lambda: arrax.default_device(3), ValueError, "a device or the name of a platform, got 3"),
        (lambda: arrax.config.update("transfer_guard", "never"), ValueError, "transfer_guard.*never"),
        (lambda: arrax.config.update("default_prng_impl", "threfry"), ValueError, "threefry2x32.*threfry"),
    ],
)
def test_wrong_names_and_values_are_refused(change, error, words):
    with pytest.raises(error, match=words):
        change()


def test_collectives_between_processes_may_be_none():
    for choice in (None, "none", "gloo"):
        arrax.config.update("jax_cpu_collectives_implementation", choice)
        assert arrax.config.jax_cpu_collectives_implementation == choice


def run(code, *arguments, **environment):
    """The words that a program prints, in a process of its own."""
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)
    return done.stdout.split() if done.returncode == 0 else [done.stderr.strip().splitlines()[-1]]


SHOW = "print(arrax.config.jax_enable_x64, arrax.config.jax_default_prng_impl)"


def test_the_environment_sets_options():
    assert run(f"import arrax; {SHOW}", JAX_ENABLE_X64="1", ARRAX_DEFAULT_PRNG_IMPL="rbg") == ["True", "rbg"]
    for variable, value in [
        ("JAX_ENABLE_X64", "maybe"),
        ("ARRAX_TRANSFER_GUARD", "disalow"),
        ("ARRAX_DEFAULT_PRNG_IMPL", "threfry"),
        ("JAX_COMPILATION_CACHE_MAX_SIZE", "2GB"),
    ]:
        assert f"{variable}={value}" in run("import arrax", **{variable: value})[0]


def test_unknown_variables_are_named_once():
    show = (
        "import warnings\n"
        "with warnings.catch_warnings(record=True) as seen:\n"
        "    warnings.simplefilter('always')\n"
        "    import arrax, arrax.numpy\n"
        "print(*[str(w.message).replace(' ', '_') for w in seen])"
    )
    (text,) = run(show, ARRAX_ENABEL_X64="1", JAX_UNKNOWN="1")
    assert "ARRAX_ENABEL_X64" in text and text.endswith("did_you_mean_ARRAX_ENABLE_X64?")
    assert "<string>:2: UserWarning" in run_python("\nimport arrax", ARRAX_ENABEL_X64="1").stderr


def test_options_complete():
    assert {"jax_enable_x64", "enable_x64", "update"} <= set(dir(arrax.config))


def test_the_command_line_sets_options():
    code = f"import arrax; arrax.config.parse_flags_with_absl(); {SHOW}"
    assert run(code, "--jax_enable_x64", "--jax_default_prng_impl=rbg", "other") == ["True", "rbg"]


def test_flags_of_absl_programs_have_values_once_the_command_line_is_parsed():
    code = (
        "import arrax; from absl import flags; flags.DEFINE_string('own', 'default', '')\n"
        "arrax.config.parse_flags_with_absl()\n"
        "print(flags.FLAGS.own, flags.FLAGS.jax_debug_nans, arrax.config.jax_debug_nans)"
    )
    assert run(code, "--jax_debug_nans", "--unknown=1") == ["default", "True", "True"]


def test_absl_programs_set_options():
    code = (
        "import arrax, absl.app; arrax.config.config_with_absl()\n"
        "def main(rest): print(arrax.config.jax_enable_x64, arrax.config.jax_debug_nans, *rest[1:])\n"
        "absl.app.run(main)"
    )
    assert run(code, "--jax_enable_x64", "--nojax_debug_nans", "rest") == ["True", "False", "rest"]


# ---- what the options do ------------------------------------------------------------------------------------------------


def test_nans_and_infinities_are_reported_where_they_are_made():
    with arrax.debug_nans(True):
        with pytest.raises(FloatingPointError, match="log"):
            jnp.log(-1.0)
        with pytest.raises(FloatingPointError, match="div"):
            arrax.jit(lambda x: x / 0.0 * 2)(0.0)
        assert arrax.jit(lambda x: x + 1)(1.0) == 2
    with arrax.debug_infs(True), pytest.raises(FloatingPointError, match="div"):
        1 / jnp.zeros(2)
    assert np.isnan(jnp.log(-1.0))


def test_ranks_may_not_be_promoted_silently():
    matrix, row = jnp.ones((2, 3)), jnp.ones(3)
    with arrax.numpy_rank_promotion("raise"), pytest.raises(ValueError, match="rank"):
        matrix + row
    with arrax.numpy_rank_promotion("warn"), pytest.warns(UserWarning, match="rank"):
        matrix + row
    with arrax.numpy_rank_promotion("raise"):
        assert (matrix + 1.0).shape == (matrix + matrix[:1]).shape == (2, 3)


def test_precision_of_products_by_default():
    with arrax.default_matmul_precision("float32"):
        program = arrax.make_jaxpr(lambda a: a @ a)(jnp.ones((2, 2)))
    assert program.eqns[0].params["precision"] == (arrax.lax.Precision.HIGHEST, arrax.lax.Precision.HIGHEST)


@pytest.mark.parametrize("name", ["abacus", "CPU", "cpu:0", ""])
def test_a_default_device_of_no_known_platform_is_refused_where_it_is_set(name):
    with pytest.raises(ValueError, match="default_device.* name of a platform"):
        arrax.config.update("jax_default_device", name)
    with pytest.raises(ValueError, match="default_device.* name of a platform"):
        arrax.default_device(name)
    assert arrax.config.jax_default_device is None


def test_a_default_device_of_a_platform_that_is_not_here_is_refused_where_it_is_needed():
    with arrax.default_device("rocm"), pytest.raises(ValueError, match="default_device: .*rocm"):
        jnp.ones(2) + 1


def test_default_device_and_default_generator():
    device = arrax.devices("cpu")[0]
    with arrax.default_device(device):
        assert jnp.ones(2).devices() == {device} and not jnp.ones(2).committed
    with arrax.default_prng_impl("rbg"):
        assert "rbg" in repr(arrax.random.key_impl(arrax.random.key(0)))


def test_transfers_are_guarded():
    x, host = jnp.arange(3.0), np.arange(3.0)
    with arrax.transfer_guard("disallow"):
        assert float(arrax.device_put(host).sum()) == arrax.device_get(x).sum() == 3  # asked for by name
        with pytest.raises(RuntimeError, match="host-to-device"):
            jnp.sin(host)
        with pytest.raises(RuntimeError, match="host-to-device"):
            arrax.jit(lambda x: x + 1)(host)
        assert [len(row) for row in x.reshape(3, 1)] == [1, 1, 1]  # nor what is put on the device behind the scenes
        assert arrax.pure_callback(np.negative, x, x).shape == arrax.jit(lambda x: io_callback(np.sin, x, x))(x).shape
    with arrax.transfer_guard("disallow_explicit"):  # copies stay where they are
        assert x.copy().unsafe_buffer_pointer() != copy.deepcopy(x).unsafe_buffer_pointer()
    with arrax.transfer_guard_host_to_device("disallow_explicit"), pytest.raises(RuntimeError, match="host-to-device"):
        arrax.device_put(host)
    assert jnp.sin(host).shape == (3,)


def test_arrays_that_the_garbage_collector_frees_are_logged(capfd):
    def leave_a_cycle():
        cycle = [jnp.ones(3)]
        cycle.append(cycle)

    for level in ("allow", "log"):
        with arrax.array_garbage_collection_guard(level):
            leave_a_cycle()
            gc.collect()
        assert ("deleted by the Python garbage collector" in capfd.readouterr().err) == (level == "log")


def test_tracing_can_be_forbidden():
    function = arrax.jit(lambda x: x + 1)
    function(1.0)
    with arrax.config._option("no_tracing")(True):
        assert float(function(2.0)) == 3
        with pytest.raises(RuntimeError, match="no_tracing"):
            function(jnp.ones(2))


def test_programs_are_dumped(tmp_path):
    arrax.config.update("dump_ir_to", str(tmp_path / "new"))
    arrax.jit(lambda tenfold: tenfold * 10)(1.0)
    (path,) = (tmp_path / "new").iterdir()
    assert "stablehlo.multiply" in path.read_text()


def test_raw_keys_can_be_refused():
    raw = arrax.random.PRNGKey(0)
    arrax.config.update("legacy_prng_key", "warn")
    with pytest.warns(UserWarning, match="raw uint32"):
        arrax.random.normal(raw, (2,))
    arrax.config.update("legacy_prng_key", "error")
    with pytest.raises(ValueError, match="raw uint32"):
        arrax.random.normal(raw, (2,))
    arrax.random.normal(arrax.random.key(0), (2,))


def test_transfers_are_guarded_in_all_threads_where_the_guard_is_set_for_all():
    seen = []

    def put():
        try:
            arrax.jit(lambda x: x + 1)(np.ones(3, np.float32))
            seen.append("allowed")
        except RuntimeError:
            seen.append("refused")

    def in_both_threads():
        thread = threading.Thread(target=put)
        thread.start()
        thread.join()
        put()
        return [seen.pop(0), seen.pop(0)]

    try:
        for name in ("transfer_guard", "transfer_guard_host_to_device"):
            assert in_both_threads() == ["allowed", "allowed"]
            arrax.config.update(f"jax_{name}", "disallow")
            assert in_both_threads() == ["refused", "refused"]
            with arrax.transfer_guard_host_to_device("allow"):
                assert in_both_threads() == ["refused", "allowed"]
            assert in_both_threads() == ["refused", "refused"]
            arrax.config.update("transfer_guard", None)
            with arrax.transfer_guard("disallow"):
                assert in_both_threads() == ["allowed", "refused"]
    finally:
        arrax.config.update("transfer_guard", None)


@pytest.mark.parametrize("variable", ["JAX_TRANSFER_GUARD", "ARRAX_TRANSFER_GUARD_HOST_TO_DEVICE"])
def test_transfers_are_guarded_by_the_environment(variable):
    code = "import arrax, numpy as np; arrax.jit(lambda x: x)(np.ones(3, np.float32))"
    (text,) = run(code, **{variable: "disallow", "ARRAX_TRACEBACK_FILTERING": "off"})
    assert "Disallowed host-to-device transfer: aval=ShapedArray(float32[3])" in text  # and starting up is none


def test_whether_there_are_64_bits_has_its_documented_name():
    assert arrax.config.x64_enabled is False
    with arrax.enable_x64(True):
        assert arrax.config.x64_enabled is True
