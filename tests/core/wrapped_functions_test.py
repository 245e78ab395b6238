"""Functions with transformations around them, and what libraries trace with them."""

import numpy as np
import pytest

import arrax
from arrax import core, lax
from arrax import numpy as jnp
from arrax.api_util import (
    argnums_partial,
    debug_info,
    donation_vector,
    flatten_axes,
    flatten_fun,
    flatten_fun_nokwargs,
    rebase_donate_argnums,
    shaped_abstractify,
)
from arrax.core.types import ShapedArray
from arrax.extend import core as extend_core
from arrax.extend import linear_util
from arrax.interpreters import batching, partial_eval

F32 = np.dtype(np.float32)


@linear_util.transformation
def scaled(factor, *args):
    answer = yield tuple(arg * factor for arg in args), {}
    yield answer + 1


@linear_util.transformation_with_aux
def counted(*args, **kwargs):
    answer = yield args, kwargs
    yield answer, len(args)


def test_transformations_run_from_the_outside_in():
    inner = linear_util.wrap_init(lambda x, y, plus: x - y + plus, {"plus": 100})
    outer, count = counted(scaled(inner, 10))
    with pytest.raises(linear_util.StoreException, match="empty"):
        count()
    assert outer.call_wrapped(3, 2) == 10 * (3 - 2) + 100 + 1
    assert count() == 2
    with pytest.raises(linear_util.StoreException, match="occupied"):
        outer.call_wrapped(1, 1)


def test_of_two_stores_the_filled_one_is_read():
    first, second = (counted(linear_util.wrap_init(lambda x: x)) for _ in range(2))
    with pytest.raises(linear_util.StoreException):
        linear_util.merge_linear_aux(first[1], second[1])
    second[0].call_wrapped(1)
    assert linear_util.merge_linear_aux(first[1], second[1]) == (False, 1)


def test_a_cache_asks_once_and_fills_stores_again():
    calls = []

    @linear_util.cache
    def run(fun, x):
        calls.append(x)
        return fun.call_wrapped(x)

    def double(x):
        return 2 * x

    for _ in range(2):
        fun, count = counted(linear_util.wrap_init(double))
        assert run(fun, 4) == 8 and count() == 1
    assert calls == [4]


def test_functions_of_trees_become_functions_of_leaves():
    leaves, tree = arrax.tree_util.tree_flatten((({"a": 1, "b": 2},), {"c": 3}))
    flat, out_tree = flatten_fun(linear_util.wrap_init(lambda d, c: [d["a"], (d["b"], c)]), tree)
    assert flat.call_wrapped(*leaves) == [1, 2, 3]
    assert arrax.tree_util.tree_unflatten(out_tree(), "xyz") == ["x", ("y", "z")]
    leaves, tree = arrax.tree_util.tree_flatten(((1, 2), 3))
    flat, out_tree = flatten_fun_nokwargs(linear_util.wrap_init(lambda pair, c: sum(pair) + c), tree)
    assert flat.call_wrapped(*leaves) == [6]


def test_some_arguments_can_be_given():
    fun, rest = argnums_partial(linear_util.wrap_init(lambda x, y, z: (x, y, z)), (0, -1), (1, "two", 3))
    assert rest == (1, 3) and fun.call_wrapped(10, 30) == (10, "two", 30)
    with pytest.raises(ValueError, match="argument 1"):
        argnums_partial(linear_util.wrap_init(lambda x, y: x), 0, (1, [2]))


def test_what_messages_say_of_a_function():
    info = debug_info("jit", test_some_arguments_can_be_given, (), {})
    assert info.traced_for == "jit" and "test_some_arguments_can_be_given at " in info.func_src_info
    assert shaped_abstractify(np.zeros((2, 3), np.float32)) == ShapedArray((2, 3), F32)


def test_what_is_known_runs_and_the_rest_is_recorded():
    def f(x, y):
        return lax.sin(x), lax.mul(x, y)

    known, unknown = partial_eval.PartialVal.known(np.float32(2)), partial_eval.PartialVal.unknown(ShapedArray((), F32))
    jaxpr, outs, consts = partial_eval.trace_to_jaxpr_nounits(linear_util.wrap_init(f), [known, unknown])
    assert outs[0].is_known() and outs[0].get_known() == np.sin(np.float32(2))
    assert not outs[1].is_known() and outs[1].get_aval() == ShapedArray((), F32)
    assert partial_eval.eval_jaxpr(jaxpr, consts, np.float32(5)) == [10]
    jaxpr, outs, consts = partial_eval.trace_to_jaxpr_nounits(
        linear_util.wrap_init(f), [known, unknown], instantiate=True
    )
    assert not any(out.is_known() for out in outs)
    assert partial_eval.eval_jaxpr(jaxpr, consts, np.float32(5)) == [np.sin(np.float32(2)), 10]


def test_batching_rules_are_told_of_the_axis():
    from_rules = []

    def described(axis_data, values, dims):
        from_rules.append((axis_data.name, axis_data.size, dims))
        return values[0], dims[0]

    def told(size, name, trace_type, values, dims):
        from_rules.append((name, size, trace_type, dims))
        return values[0], dims[0]

    for registry, rule in ((batching.fancy_primitive_batchers, described), (batching.axis_primitive_batchers, told)):
        primitive = extend_core.Primitive("told")
        primitive.def_abstract_eval(lambda aval: aval)
        registry[primitive] = rule
        assert primitive in registry and registry[primitive] is rule
        arrax.vmap(primitive.bind, axis_name="i")(np.zeros((3, 2), np.float32))
        del registry[primitive]
        with pytest.raises(NotImplementedError):
            arrax.vmap(primitive.bind)(np.zeros(3, np.float32))
    assert from_rules == [("i", 3, (0,)), ("i", 3, None, (0,))]


def test_types_with_and_without_a_batch_axis():
    row = ShapedArray((2, 4), F32)
    batch = extend_core.unmapped_aval(3, 1, row)
    assert batch == ShapedArray((2, 3, 4), F32) and extend_core.mapped_aval(3, 1, batch) == row
    assert extend_core.mapped_aval(3, None, row) == row
    with pytest.raises(ValueError, match="length 5"):
        extend_core.mapped_aval(5, 1, batch)


def test_the_current_interpretation_is_that_of_the_innermost_tracers():
    assert extend_core.find_top_trace([1.0]).is_evaluation

    def outer(x):
        trace = extend_core.find_top_trace([x])
        assert trace is x._trace and trace.main is x._trace.main

        def inner(y):
            assert y._trace.main is extend_core.find_top_trace([x]).main is not x._trace.main
            return y

        return arrax.vmap(inner)(np.ones(2, np.float32)).sum() * x

    assert arrax.jvp(outer, (1.0,), (1.0,)) == (2.0, 2.0)


def test_equations_are_bound_again_with_their_parameters():
    @arrax.custom_jvp
    def f(x):
        return jnp.sin(x)

    f.defjvp(lambda primals, tangents: (f(*primals), 2 * tangents[0]))
    program = arrax.make_jaxpr(lambda x: f(x).reshape(1))(1.0)
    call, reshape = program.eqns

    def again(x):
        (y,) = call.primitive.bind(x, **call.primitive.get_bind_params(call.params))
        return reshape.primitive.bind(y, **reshape.primitive.get_bind_params(reshape.params))

    np.testing.assert_allclose(again(1.0), [np.sin(1)], rtol=1e-6)
    np.testing.assert_array_equal(arrax.jacfwd(arrax.jit(again))(1.0), [2])
    (subfun,) = call.primitive.get_bind_params(call.params)["subfuns"]
    np.testing.assert_allclose(subfun.call_wrapped(1.0), [np.sin(1)], rtol=1e-6)


def test_the_current_interpretation_can_be_compared():
    outside = core.get_opaque_trace_state(convention="flax")
    inside = []
    arrax.jit(lambda x: inside.append((core.get_opaque_trace_state(), core.trace_state_clean())))(1.0)
    assert outside == core.get_opaque_trace_state() and core.trace_state_clean()
    assert inside[0][0] != outside and not inside[0][1]


def test_transformations_may_be_plain_functions():
    def spread(f, count, *args):
        return [f(*args)] * count

    def noted(f, store, *args):
        store.store(len(args))
        return f(*args)

    inner = scaled(linear_util.wrap_init(lambda x, y: x - y), 10)
    fun, count = linear_util.transformation_with_aux2(noted, linear_util.transformation2(spread, inner, 2))
    assert fun.call_wrapped(3, 2) == [11, 11] and count() == 2
    with pytest.raises(linear_util.StoreException, match="occupied"):
        fun.call_wrapped(3, 2)
    again, count = linear_util.transformation_with_aux2(noted, inner, use_eq_store=True)
    assert again.call_wrapped(3, 2) == again.call_wrapped(3, 2) == 11 and count() == 2
    assert linear_util.Callable is not None


def test_a_call_is_a_nested_program_under_all_transformations():
    again = extend_core.CallPrimitive("again")
    again.def_impl(extend_core.call_impl)
    assert again.call_primitive and again.multiple_results and core.Primitive.call_primitive is False

    def f(x):
        return again.bind(linear_util.wrap_init(lambda v: [jnp.sin(v) * 2]), x)[0]

    x = jnp.float32(0.3)
    (eqn,) = arrax.make_jaxpr(f)(x).eqns
    assert eqn.primitive is again and len(eqn.params["jaxpr"].eqns) == 2
    np.testing.assert_allclose([f(x), arrax.jit(f)(x)], 2 * np.sin(0.3), rtol=1e-6)
    np.testing.assert_allclose(arrax.grad(f)(x), 2 * np.cos(0.3), rtol=1e-6)
    np.testing.assert_allclose(arrax.vmap(f)(jnp.arange(3.0)), 2 * np.sin(np.arange(3)), rtol=1e-6)
    assert core.call(linear_util.wrap_init(lambda v: [v + 1]), 2) == [3]
    assert again.bind(2, subfuns=(linear_util.wrap_init(lambda v: [v + 1]),)) == [3]
    with pytest.raises(TypeError, match="again: the first argument must be a function"):
        again.bind(3)


def test_programs_are_put_together_by_hand():
    fresh = extend_core.gensym()
    a, b = fresh(F32_SCALAR), fresh(F32_SCALAR)
    eqn = extend_core.new_jaxpr_eqn([a], [b], lax.cos_p, {"accuracy": None}, set())
    program = core.Jaxpr([], [a], [b], [eqn])
    core.check_jaxpr(program)
    np.testing.assert_allclose(core.eval_jaxpr(program, [], 0.5)[0], np.cos(0.5), rtol=1e-6)


F32_SCALAR = ShapedArray((), F32)


def test_the_interpretation_around_is_asked_for():
    def asked(log):
        log.append(
            (
                extend_core.unsafe_am_i_under_a_jit_DO_NOT_USE(), extend_core.unsafe_am_i_under_a_vmap_DO_NOT_USE(),
                extend_core.nonempty_axis_env_DO_NOT_USE(), extend_core.unsafe_get_axis_names_DO_NOT_USE(),
            )
        )  # fmt: skip
        return lambda x: x

    log: list = []
    ones = jnp.ones(2)
    asked(log)
    arrax.vmap(lambda x: asked(log)(x))(ones)
    arrax.vmap(lambda x: asked(log)(x), axis_name="i")(ones)
    arrax.jit(lambda x: asked(log)(x))(ones)
    arrax.jit(arrax.vmap(lambda x: asked(log)(x), axis_name="i"))(ones)
    arrax.grad(lambda x: asked(log)(x))(1.0)
    assert log == [
        (False, False, False, []), (False, True, False, []), (False, True, True, ["i"]), (True, False, False, []),
        (True, True, True, ["i"]), (False, False, False, []),
    ]  # fmt: skip


def test_donated_leaves_are_counted():
    tree = arrax.tree.structure(((1, (2, 3), 4), {"k": 5, "j": (6, None)}))
    assert donation_vector((0, -1), ("k",), tree) == (True, False, False, True, False, True)
    assert donation_vector((1,), (), arrax.tree.structure((1, (2, 3))), False) == (False, True, True)
    assert rebase_donate_argnums((3, 2), (0,)) == (1, 2)
    with pytest.raises(ValueError, match=r"cannot intersect, both name \[1\]"):
        rebase_donate_argnums((1, 3), (1,))
    assert flatten_axes("in_axes", arrax.tree.structure((1, (2, 3))), (0, None)) == [0, None, None]
    with pytest.raises(ValueError, match="in_axes must be a tree prefix"):
        flatten_axes("in_axes", arrax.tree.structure((1, (2, 3))), (0, (None, 1, 2)), tupled_args=True)


def test_a_recorded_function_comes_with_the_types_of_its_results():
    jaxpr, avals, consts = partial_eval.trace_to_jaxpr_dynamic(
        linear_util.wrap_init(lambda x: [jnp.sin(x)]), [F32_SCALAR]
    )
    assert (len(jaxpr.eqns), avals, consts) == (1, [F32_SCALAR], [])


def test_dtypes_have_a_dtype_of_tangents():
    found = [extend_core.primal_dtype_to_tangent_dtype(np.dtype(dtype)) for dtype in ("int32", "float32", "complex64")]
    assert found == [arrax.float0, F32, np.dtype(np.complex64)]
