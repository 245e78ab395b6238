"""Taps and calls of older programs: what they see under transformations, and what becomes of their exceptions."""

import functools
import io
import subprocess
import sys
import warnings

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax

with warnings.catch_warnings(action="ignore"):
    from arrax.experimental import host_callback as hcb

X = np.arange(3, dtype=np.float32)


@pytest.fixture
def stream():
    return io.StringIO()


@pytest.fixture
def power3(stream):
    def power3(x):
        y = x * x
        hcb.id_print((x, y), what="x,x^2", output_stream=stream)
        return y * x

    return power3


def printed(stream):
    hcb.barrier_wait()
    return stream.getvalue().splitlines()


ONCE = "what: x,x^2 : (3., 9.)"

# fmt: off
TRANSFORMATIONS = {  # a call of the documents' power3, and what it prints
    "at once":    (lambda f: f(np.float32(3)), [ONCE]),
    "jit":        (lambda f: arrax.jit(f)(3.0), [ONCE]),
    "jvp":        (lambda f: arrax.jvp(f, (3.0,), (0.1,)), [ONCE]),
    "grad":       (lambda f: arrax.grad(f)(3.0), [ONCE]),
    "jit grad":   (lambda f: arrax.jit(arrax.grad(f))(3.0), [ONCE]),
    "checkpoint": (lambda f: arrax.grad(lambda x: f(arrax.checkpoint(f)(x)))(3.0), [ONCE, "what: x,x^2 : (27., 729.)", ONCE]),
    "vmap":       (lambda f: arrax.vmap(f)(np.float32([2, 3])),
                   ["transforms: [('batch', {'batch_dims': (0, 0)})] what: x,x^2 : ([2., 3.], [4., 9.])"]),
    "scan":       (lambda f: lax.scan(lambda c, x: (f(x), None), 0.0, np.float32([3, 1])), [ONCE, "what: x,x^2 : (1., 1.)"]),
    "cond":       (lambda f: arrax.jit(lambda x: lax.cond(x > 0, f, lambda x: x, x))(3.0), [ONCE]),
    "while":      (lambda f: lax.while_loop(lambda x: x < 9, f, 3.0), [ONCE]),
    "pmap":       (lambda f: arrax.pmap(f)(np.float32([3])), [ONCE]),
}
# fmt: on


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_taps_print_what_the_documents_say(name, power3, stream):
    call, expected = TRANSFORMATIONS[name]
    call(power3)
    assert printed(stream) == expected


def test_tangents_and_cotangents_are_tapped_by_rules_of_ones_own(stream):
    @arrax.custom_vjp
    def print_cotangents(arg):
        return arg

    def backward(_, ct):
        hcb.id_print(ct, what="cotangents", output_stream=stream)
        return (ct,)

    print_cotangents.defvjp(lambda arg: (print_cotangents(arg), None), backward)

    def f(x):
        x1, y1 = print_cotangents((x, x * x))
        return y1 * x1

    assert arrax.grad(f)(3.0) == 27
    assert printed(stream) == ["what: cotangents : (9., 3.)"]


def test_taps_get_numpy_arrays_keywords_and_the_device():
    seen = []

    def host(arg, transforms, **words):
        assert isinstance(arg["x"][0], np.ndarray)
        seen.append((arg["x"][0].tolist(), transforms, words))

    device = arrax.local_devices()[0]
    for wrap in (lambda f: f, arrax.jit):
        assert wrap(lambda x: hcb.id_tap(host, {"x": (x,)}, tap_with_device=True, what="w"))(X)["x"][0].shape == (3,)
        assert wrap(lambda x: hcb.id_tap(functools.partial(host, n=1), {"x": [x]}, result=x + 1))(1) == 2
    hcb.barrier_wait()
    expected = [([0, 1, 2], [], {"device": device, "what": "w"}), (1, [], {"n": 1})]
    assert seen == expected * 2


def test_batch_dimensions_say_what_was_mapped():
    seen = []
    tap = lambda arg, transforms: seen.append((arg[0].shape, transforms))  # noqa: E731
    f = lambda x, y: hcb.id_tap(tap, (x, y))  # noqa: E731
    arrax.vmap(arrax.vmap(f, in_axes=(None, 0)), in_axes=(1, None))(np.ones((2, 3)), np.ones(4))
    arrax.vmap(
        lambda x: hcb.id_tap(
            lambda arg, transforms, device: seen.append((arg.shape, transforms)), x, tap_with_device=True
        )
    )(X)
    hcb.barrier_wait()
    inner, outer = ("batch", {"batch_dims": (None, 0)}), ("batch", {"batch_dims": (1, None)})
    assert seen == [((2, 3), [inner, outer]), ((3,), [("batch", {"batch_dims": (0,)})])]


def test_taps_come_in_the_order_of_the_program():
    seen = []
    f = arrax.jit(lambda x: [hcb.id_tap(lambda v, _, n=n: seen.append(n), x) for n in range(5)])
    f(1.0)
    f(2.0)
    hcb.barrier_wait("here")
    assert seen == [*range(5)] * 2


def test_prints_have_the_forms_of_python(stream, capsys):
    hcb.id_print({"a": [X, (np.int32(1),)], "b": True}, tap_with_device=True, output_stream=stream)
    hcb.id_print(np.arange(9), threshold=4, output_stream=stream)
    hcb.id_print(2)
    assert printed(stream) == ["device: cpu:0 : {a: [[0., 1., 2.], (1,)], b: True}", "[0, 1, 2, ..., 6, 7, 8]"]
    assert capsys.readouterr().out == "2\n"


def test_exceptions_of_taps_come_out_of_the_barrier(caplog):
    @arrax.jit
    def f(x):
        return hcb.id_tap(lambda v, _: 1 / (v - 1), x) + hcb.id_tap(lambda v, _: {}["missing"], x)

    assert f(2.0) == 4
    with pytest.raises(hcb.CallbackException, match="(?s)failed 1 times; the last exception:.*KeyError: 'missing'"):
        hcb.barrier_wait()
    hcb.barrier_wait()
    hcb.stop_outfeed_receiver()
    assert "the tap function failed" in caplog.text


def test_calls_give_values():
    kind = arrax.ShapeDtypeStruct((2,), np.complex64)

    def host_eig(m):
        assert isinstance(m, np.ndarray)
        return np.linalg.eigvals(m).astype(np.complex64)

    for wrap in (lambda f: f, arrax.jit):
        found = wrap(lambda m: hcb.call(host_eig, m, result_shape=kind))(jnp.diag(jnp.array([1.0, 2.0])))
        np.testing.assert_allclose(sorted(found), [1, 2])
        assert (
            wrap(lambda x: hcb.call(lambda x, device: x + device.id, x, result_shape=x, call_with_device=True))(1.5)
            == 1.5
        )
        pair = wrap(
            lambda x: hcb.call(lambda t: {"b": t["a"] * 2, "c": np.int32(3)}, {"a": x}, result_shape={"b": x, "c": 0})
        )(X)
        np.testing.assert_array_equal(pair["b"], 2 * X)
        assert pair["c"] == 3
    assert hcb.call(lambda x: None, 1) is None
    assert lax.fori_loop(0, 3, lambda i, x: hcb.call(lambda v: v + 1, x, result_shape=x), 0.0) == 3


def test_calls_need_rules_for_derivatives_and_fail_with_what_failed():
    sine = lambda x: hcb.call(np.sin, x, result_shape=x)  # noqa: E731
    with pytest.raises(ValueError, match="do not support JVP"):
        arrax.grad(sine)(1.0)
    own = arrax.custom_jvp(sine)
    own.defjvp(lambda primals, tangents: (own(*primals), tangents[0] * jnp.cos(*primals)))
    np.testing.assert_allclose(arrax.grad(own)(1.0), np.cos(1.0), rtol=1e-6)
    with pytest.raises(KeyError):
        arrax.jit(lambda x: hcb.call(lambda v: {}["k"], x, result_shape=x))(1.0).block_until_ready()
    with pytest.raises(arrax.errors.JaxRuntimeError, match=r"<lambda> at .*host_callback_test\.py:\d+ returned shape"):
        hcb.call(lambda v: np.ones(3, np.float32), np.float32(1), result_shape=np.float32(1))


def test_misuse():
    with pytest.raises(TypeError, match="argument tap_func: must be callable"):
        hcb.id_tap(3, X)
    with pytest.raises(TypeError, match="argument callback_func: must be callable"):
        hcb.call(3, X)
    with pytest.raises(TypeError, match="id_tap"):
        hcb.id_tap(print, "text")


def test_the_module_says_that_it_is_deprecated():
    code = "import warnings; warnings.simplefilter('error'); import arrax.experimental.host_callback"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "DeprecationWarning: arrax.experimental.host_callback is deprecated: use arrax.debug.callback" in done.stderr
