"""What messages of common mistakes say, and what they do not."""

import copy
import functools
import pickle
import re

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.experimental import checkify, pallas, sparse
from arrax.experimental.custom_partitioning import custom_partitioning
from arrax.scipy.sparse.linalg import cg


def message(call):
    with pytest.raises(Exception) as caught:
        call()
    return str(caught.value)


class Incomparable:
    __hash__ = object.__hash__

    def __eq__(self, other):
        raise LookupError("\udcff")


class Body:
    def __call__(self, carry, x):
        return (carry, x) if x > 0 else carry


@arrax.custom_jvp
def relu(x):
    return x if x > 0 else 0.0


relu.defjvps(lambda t, _, x: t)
X = jnp.ones(3)
leaked = []
arrax.jit(lambda x: leaked.append(x * 2))(1.0)
# fmt: off
CASES = {  # what is called: (what the message says, what it does not)
    "item": (lambda: X.__setitem__(0, 1), ["'Array' object", "x.at[idx].set(y)"], ["jaxlib", "numpy.ndarray.at"]),
    "traced item": (lambda: arrax.jit(lambda x: x.__setitem__(0, 1))(X), ["'Array' object"], ["StagedTracer"]),
    "leaked": (lambda: leaked[0] + 1, ["final 5 stack frames"], ["When the Tracer was created"]),
    "static array": (lambda: arrax.jit(lambda x, n: x, static_argnums=1)(1.0, X), ["unhashable type"], ["Traceback"]),
    "stop": (lambda: arrax.jit(lambda n: jnp.arange(n))(3), ["argument 'stop'", "argument n"], ["'start'"]),
    "in_axes": (
        lambda: arrax.vmap(lambda x, d: x, in_axes=[0, {"a": 0}])(X, {"b": X}), ["in_axes[1] does not fit"], ["[0][1]"],
    ),
    "in_axes of one": (lambda: arrax.vmap(lambda d: d, in_axes={"a": 0})({"b": X}), ["in_axes"], ["[0]"]),
    "classes": (lambda: arrax.jit(lambda n: arrax.nn.one_hot(jnp.arange(3), n))(3), ["num_classes"], ["__index__"]),
    "cotangent": (
        lambda: arrax.vjp(lambda x: (x, x), 1.0)[1](1.0), ["argument is a leaf, output a tuple of length 2"], ["PyTreeDef"],
    ),
    "compiled": (
        lambda: arrax.jit(lambda x, y: x).lower(1.0, 2.0).compile()(1.0),
        ["args is a tuple of length 1, compiled args a tuple of length 2"], ["PyTreeDef"],
    ),
    "compiled, deeper": (
        lambda: arrax.jit(lambda x: x["a"][0]).lower({"a": [1.0, 2.0]}).compile()({"a": [1.0]}),
        ["args[0]['a'] is a list of length 1, compiled args[0]['a'] a list of length 2"], ["kwargs"],
    ),
    "checkpoint": (
        lambda: arrax.checkpoint(lambda x, flag: x if flag else -x)(1.0, True), ["argument flag", "static_argnums"], [],
    ),
    "vmap": (lambda: arrax.vmap(lambda x: 1 if x > 0 else 2)(jnp.ones(3)), ["The function <lambda> at ", "mapped by vmap", "3 values at once"], []),
    "vectorize": (
        lambda: jnp.vectorize(lambda row: row if row > 0 else -row)(X), ["The function <lambda> at ", "messages_test.py"], [],
    ),
    "vmap of jit": (
        lambda: arrax.jit(arrax.vmap(lambda x: 1 if x > 0 else 2))(jnp.ones(3)), ["mapped by vmap", "for jit"], [],
    ),
    "callback's gradient": (
        lambda: arrax.grad(lambda x: arrax.pure_callback(abs, x, x))(1.0), ["arrax.custom_jvp"], [" `jax"],
    ),
    "page": (lambda: arrax.jit(bool)(1.0), ["docs/errors.md#tracerboolconversionerror"], ["errors.html"]),
    "page of lengths": (
        lambda: int(arrax.export.symbolic_shape("n")[0]), ["docs/errors.md#inconclusivedimensionoperation"], [],
    ),
    "page of programs": (
        lambda: arrax.core.check_jaxpr(arrax.make_jaxpr(jnp.sin)(1.0).jaxpr.replace(eqns=[])),
        ["docs/errors.md#jaxprtypeerror"], [],
    ),
    "page of leaks": (
        lambda: arrax.checking_leaks()(arrax.jit(lambda x: leaked.append(x * 2)))(1.0), ["docs/errors.md#leakedtrace"], [],
    ),
    "page of indices": (
        lambda: arrax.jit(lambda x: x[x > 0])(X), ["docs/errors.md#nonconcretebooleanindexerror"], [],
    ),
    "pullback": (
        lambda: arrax.vjp(jnp.sin, 1.0)[1](1.0, x=2.0), ["vjp returned for sin takes one argument", "['x']"], ["__call__"],
    ),
    "transpose": (
        lambda: arrax.linear_transpose(jnp.negative, 1.0)(1.0, 2.0),
        ["linear_transpose returned for negative takes one argument", "got 2"], ["__call__"],
    ),
    "static and donated by number": (
        lambda: arrax.jit(lambda x: x, static_argnums=0, donate_argnums=0), ["static_argnums and donate_argnums"], ["argnames"],
    ),
    "names without a signature": (lambda: arrax.jit(min, donate_argnames="x"), ["donate_argnames ['x']: min has no signature"], []),
    "static that cannot be compared": (
        lambda: arrax.jit(lambda x, s: x, static_argnums=1)(1.0, Incomparable()),
        ["comparable with ==", "argument 1", r"LookupError: \udcff"], [],
    ),
    "truth value": (lambda: arrax.config.update("jax_enable_x64", "maybe"), ["'enable_x64'", "'maybe'"], []),
    "long trees": (lambda: arrax.tree.map(max, [1] * 3000, [1] * 2999), ["3000", "2999"], ["*, " * 60]),
    "loop": (lambda: lax.fori_loop(0, 3, lambda i, x: (x, x), 1.0), ["fori_loop"], []),
    "loop's index": (lambda: lax.fori_loop(0, 3, lambda i, x: x if i else x, 1.0), ["the value of the argument i."], []),
    "loop's carry": (
        lambda: lax.fori_loop(0, 3, lambda i, x: x if x["a"][0] > i else x, {"a": [1.0]}),
        ["the values of the arguments i and x['a'][0]."], [],
    ),
    "unrolled loop": (
        lambda: lax.fori_loop(0, 3, lambda i, x: x if x > i else x, 1, unroll=2), ["the values of the arguments i and x."], [],
    ),
    "map": (lambda: lax.map(lambda row: 1 if row > 0 else 2, X), ["the value of the argument row."], []),
    "partial": (
        lambda: lax.scan(functools.partial(lambda p, carry, x: (carry, x) if x > 0 else p, 1), 1.0, X),
        ["the value of the argument x."], [],
    ),
    "callable object": (lambda: lax.scan(Body(), 1.0, X), ["the value of the argument x."], ["args"]),
    "function with a rule": (
        lambda: arrax.jit(lambda a, b, c: relu(a + c))(1.0, 2.0, 3.0), ["the values of the arguments a and c."], [],
    ),
    "pmap": (
        lambda: arrax.pmap(lambda n, p, q: q if p["b"] > 0 else q, static_broadcasted_argnums=0)(
            1, {"a": X[:1], "b": X[:1]}, X[:1]
        ), ["for pmap", "the value of the argument p['b']."], ["shard_map"],
    ),
    "pmap's in_axes": (
        lambda: arrax.pmap(lambda d: d, in_axes=({"a": 0},))({"b": X[:1]}), ["pmap in_axes[0] does not fit"], ["prefix_tree"],
    ),
    "jit's out_shardings": (
        lambda: arrax.jit(lambda x: {"a": x}, out_shardings={"b": X.sharding})(X), ["jit's out_shardings does not fit"],
        ["prefix_tree"],
    ),
    "pmap's static": (
        lambda: arrax.pmap(lambda x, n: x, static_broadcasted_argnums=1)(X[:1], [1]), ["Non-hashable static", "argument 1"], ["jit"],
    ),
    "pmap's result": (lambda: arrax.pmap(lambda x: (x, "s"))(X[:1]), ["traced for pmap returned", "component [1]"], ["argument"]),
    "vmap's result": (lambda: arrax.vmap(lambda x: (x, "s"))(X), ["mapped by vmap returned", "component [1]"], ["Argument"]),
    "pmap's argument": (lambda: arrax.pmap(jnp.sin)("s"), ["pmap requires array"], ["wrapped"]),
    "checkpoint's argument": (lambda: arrax.checkpoint(jnp.sin)("s"), ["checkpoint: "], ["fun_remat"]),
    "vectorize's argument": (lambda: jnp.vectorize(lambda x: x)("s"), ["vectorize requires"], ["wrapped"]),
}
# fmt: on


@pytest.mark.parametrize("case", CASES)
def test_messages(case):
    call, said, unsaid = CASES[case]
    text = message(call)
    assert all(words in text for words in said) and not any(words in text for words in unsaid), text


def positive(x):
    return x if (x > 0).all() else -x


def greater(x, y):
    return x if x > 0 else y


def scaled(factor, x):
    return x if factor > 0 else -x


def kernel(x_ref, out_ref):
    out_ref[...] = x_ref[...] if x_ref[0] > 0 else -x_ref[...]


parted = custom_partitioning(positive)
parted.def_partition(lambda *infos: None, lambda *infos: None)
# fmt: off
STAGED = {  # for what a function is traced: (with a function, the argument that it looks at)
    "composite":           (lambda: lax.composite(positive, "my.positive")(X),                               "x"),
    "custom_partitioning": (lambda: parted(X),                                                               "x"),
    "linear_transpose":    (lambda: arrax.linear_transpose(positive, X),                                     "x"),
    "closure_convert":     (lambda: arrax.closure_convert(positive, X),                                      "x"),
    "linear_call":         (lambda: arrax.custom_derivatives.linear_call(scaled, scaled, 1.0, X),            "factor"),
    "reduce":              (lambda: lax.reduce(X, 0.0, greater, (0,)),                                       "x"),
    "reduce_window":       (lambda: lax.reduce_window(X, 0.0, greater, (2,), (1,), "VALID"),                 "x"),
    "scatter_apply":       (lambda: lax.scatter_apply(X, np.array([[0]]), positive, ONE, update_shape=(1,)), "x"),
    "apply":               (lambda: X.at[0].apply(positive),                                                 "x"),
    "checkify":            (lambda: checkify.checkify(scaled)(X[0], X),                                      "factor"),
    "custom_linear_solve": (lambda: cg(positive, X),                                                         "x"),
    "sparsify":            (lambda: sparse.sparsify(positive)(X),                                            "x"),
    "pallas_call":         (lambda: pallas.pallas_call(kernel, X)(X),                                        "x_ref"),
}
# fmt: on
ONE = lax.ScatterDimensionNumbers((), (0,), (0,))


@pytest.mark.parametrize("transformation", STAGED)
def test_an_error_on_a_traced_value_names_the_function_and_its_argument(transformation):
    call, argument = STAGED[transformation]
    text = message(call)
    name = next(
        name for name in ("positive", "greater", "scaled", "kernel") if f"tracing the function {name} at " in text
    )
    assert re.search(rf"function {name} at \S*messages_test\.py:\d+ for {transformation}\.", text), text
    assert f"depends on the value of the argument {argument}." in text


def test_small_floats_print_as_many_digits_as_they_have():
    for dtype, text in (("bfloat16", "[0.333984, 0.000999451, 123392]"), ("float8_e5m2", "[0.3125, 0.000976562, inf]")):
        array = jnp.asarray([1 / 3, 1e-3, 123456.0]).astype(dtype)
        assert repr(array) == f"Array({text}, dtype={dtype})"
    assert repr(jnp.asarray([1, -2], jnp.int4)) == "Array([1, -2], dtype=int4)"
    assert np.asarray(jnp.asarray([1 / 3], jnp.bfloat16)).dtype == jnp.bfloat16


def test_errors_about_tracers_can_be_sent_to_other_processes():
    with pytest.raises(arrax.errors.TracerBoolConversionError) as caught:
        arrax.jit(bool)(1.0)
    for again in (pickle.loads(pickle.dumps(caught.value)), copy.copy(caught.value)):
        assert type(again) is type(caught.value) and str(again) == str(caught.value)


class Unprintable:
    """An object whose representation fails."""

    def __repr__(self):
        raise LookupError("no words")


Y = Unprintable()
# fmt: off
REFUSALS = {  # how it comes in: (the class of the refusal, what it says)
    "jit":       (lambda: arrax.jit(lambda x: x)(Y),                                TypeError,  "not a valid JAX type"),
    "grad":      (lambda: arrax.grad(lambda x: x)(Y),                               TypeError,  "not a valid JAX type"),
    "vmap":      (lambda: arrax.vmap(lambda x: x)(Y),                               TypeError,  "not a valid JAX type"),
    "make":      (lambda: arrax.make_jaxpr(lambda x: x)(Y),                         TypeError,  "not a valid JAX type"),
    "result":    (lambda: arrax.jit(lambda: Y)(),                                   TypeError,  "returned a value of type"),
    "array":     (lambda: jnp.array([1.0, Y]),                                      TypeError,  "not a valid JAX array type"),
    "sin":       (lambda: jnp.sin(Y),                                               TypeError,  "argument x of sin"),
    "index":     (lambda: X[Y],                                                     IndexError, "valid indices"),
    "mode":      (lambda: X.at[0].get(mode=Y),                                      ValueError, "gather mode"),
    "scan":      (lambda: lax.scan(lambda c, x: (c, x), 0.0, Y),                    TypeError,  "among xs"),
    "cond":      (lambda: lax.cond(Y, lambda: 1, lambda: 2),                        TypeError,  "pred must be a scalar"),
    "operand":   (lambda: lax.cond(True, lambda x: x, lambda x: x, Y),              TypeError,  "lax.cond: operand"),
    "while":     (lambda: lax.while_loop(lambda x: Y, lambda x: x, 1.0),            TypeError,  "while_loop"),
    "function":  (lambda: lax.map(Y, X),                                            TypeError,  "must be callable"),
    "shape":     (lambda: jnp.zeros(Y),                                             TypeError,  "Shapes must be"),
    "device":    (lambda: arrax.device_put(X, Y),                                   ValueError, "device or sharding"),
    "option":    (lambda: arrax.config.update("arrax_enable_x64", Y),               TypeError,  "takes a bool"),
    "choice":    (lambda: arrax.transfer_guard(Y).__enter__(),                      ValueError, "takes one of"),
    "key":       (lambda: arrax.random.normal(Y),                                   TypeError,  "takes a random key"),
    "generator": (lambda: arrax.random.key(0, impl=Y),                              TypeError,  "a generator"),
    "in_axes":   (lambda: arrax.vmap(lambda x: x, in_axes=Y),                       TypeError,  "in_axes"),
    "callback":  (lambda: arrax.pure_callback(abs, Y, 1.0),                         TypeError,  "result_shape_dtypes"),
    "static":    (lambda: arrax.jit(lambda x, s: jnp.sum(x, s), static_argnums=1)(X, Y), TypeError, "argument axis"),
}
# fmt: on


@pytest.mark.parametrize("case", REFUSALS)
def test_objects_that_cannot_be_printed_are_refused_in_words(case):
    call, kind, said = REFUSALS[case]
    with pytest.raises(kind, match=said):
        call()
