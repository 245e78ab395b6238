"""Interpreters that libraries write: classes of traces and tracers, and the context managers that make them current."""

import gc

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import core, lax
from arrax.extend import core as extend_core
from arrax.extend import linear_util
from arrax.extend import sharding as extend_sharding
from arrax.extend.core import primitives


class CountingTracer(core.Tracer):
    def __init__(self, trace, value):
        super().__init__(trace, arrax.typeof(value))
        self.value = value


class CountingTrace(core.Trace):
    """Runs operations in the interpretation around it, and counts them by name."""

    def __init__(self, parent):
        super().__init__()
        self.outer, self.tag, self.counts = parent, extend_core.TraceTag(), {}

    def lower(self, value):
        return value.value if isinstance(value, CountingTracer) and value._trace.tag is self.tag else value

    def process_primitive(self, primitive, tracers, params):
        self.counts[primitive.name] = self.counts.get(primitive.name, 0) + 1
        values = [self.lower(tracer) for tracer in tracers]
        out = primitive.bind_with_trace(self.outer, values, list(map(arrax.typeof, values)), params)
        return arrax.tree.map(lambda value: CountingTracer(self, value), out)

    def process_custom_jvp_call(self, primitive, fun, jvp, tracers, *, symbolic_zeros):
        self.counts[primitive.name] = self.counts.get(primitive.name, 0) + 1
        return fun.call_wrapped(*tracers)


def counted(f, *args):
    with extend_core.take_current_trace() as parent:
        trace = CountingTrace(parent)
        with extend_core.set_current_trace(trace):
            out = f(*(CountingTracer(trace, arg) for arg in args))
    return trace.lower(out), trace.counts


@arrax.custom_jvp
def squared(x):
    return jnp.multiply(x, x)


squared.defjvp(lambda primals, tangents: (squared(*primals), tangents[0]))


def test_operations_are_handed_to_the_interpreter():
    out, counts = counted(lambda x: arrax.lax.sin(x) + squared(arrax.lax.sin(x)), jnp.float32(2))
    np.testing.assert_allclose(out, np.sin(2) + np.sin(2) ** 2, rtol=1e-6)
    assert counts["sin"] == 2 and counts["custom_jvp_call"] == 1 and counts["mul"] == counts["add"] == 1


@arrax.custom_jvp
def cubed(x):
    return x**3


cubed.defjvp(lambda primals, tangents: (primals[0] ** 3, tangents[0]))


class WrappingTrace(CountingTrace):
    """Binds functions with rules of their own again, each with the tangents of its rule doubled."""

    def process_custom_jvp_call(self, primitive, fun, jvp, tracers, *, symbolic_zeros):
        assert len(jvp.call_wrapped(*tracers, *tracers)) == 2

        @linear_util.transformation
        def doubled(*args):
            out, tangent = yield args, {}
            yield [out, 2 * tangent]

        values = [self.lower(tracer) for tracer in tracers]
        params = {"subfuns": (fun, doubled(jvp)), "symbolic_zeros": symbolic_zeros}
        outs = primitive.bind_with_trace(self.outer, values, list(map(arrax.typeof, values)), params)
        return [CountingTracer(self, out) for out in outs]


def test_functions_with_rules_are_bound_again_with_rules_around_theirs():
    def f(x):
        with extend_core.take_current_trace() as parent:
            trace = WrappingTrace(parent)
            with extend_core.set_current_trace(trace):
                out = cubed(CountingTracer(trace, x))
        assert trace.full_raise(out) is out
        return trace.lower(out)

    assert arrax.value_and_grad(f)(3.0) == (27, 2)
    assert arrax.jit(arrax.grad(lambda x: f(jnp.sin(x))))(0.0) == 2


def test_calls_branches_and_sums_have_the_parameters_that_libraries_look_for():
    seen = []

    class Trace(CountingTrace):
        def process_primitive(self, primitive, tracers, params):
            seen.append((primitive, params))
            return super().process_primitive(primitive, tracers, params)

    with extend_core.take_current_trace() as parent:
        trace = Trace(parent)
        with extend_core.set_current_trace(trace):
            x = CountingTracer(trace, np.ones(3, np.float32))
            arrax.lax.reduce_sum_p.bind(arrax.jit(jnp.sin)(x), axes=(0,), out_sharding=None)
            arrax.lax.cond(True, jnp.sin, jnp.cos, x)
    found = dict(seen)
    assert found[primitives.jit_p]["inline"] is False
    assert found[primitives.cond_p]["branches_platforms"] is None


def test_libraries_bind_branches_and_loops_without_parameters_that_say_nothing():
    x = np.float32([0, 1])
    branches = tuple(arrax.make_jaxpr(f)(x) for f in (jnp.negative, jnp.square))
    choose = lambda x: primitives.cond_p.bind(1, x, branches=branches)[0].sum()  # noqa: E731
    np.testing.assert_array_equal(arrax.grad(choose)(x), [0, 2])
    body = arrax.make_jaxpr(lambda c, x: (c + x, c))(x[0], x[0])
    settings = {"jaxpr": body, "length": 2, "reverse": False, "unroll": 1, "num_consts": 0, "num_carry": 1}
    running = lambda x: primitives.scan_p.bind(0 * x[0], x, **settings)[0]  # noqa: E731
    np.testing.assert_array_equal(arrax.grad(running)(x), [1, 1])


def test_it_runs_inside_of_other_transformations():
    def f(x):
        return counted(lambda x: arrax.lax.mul(x, x), x)[0]

    np.testing.assert_allclose(arrax.grad(f)(3.0), 6)
    np.testing.assert_allclose(arrax.jit(arrax.vmap(f))(jnp.arange(3.0)), [0, 1, 4])


def test_operations_run_at_once_where_the_interpreter_is_taken_away():
    def f(x):
        with extend_core.take_current_trace() as trace:
            assert trace is x._trace and extend_core.find_top_trace().is_evaluation
            assert isinstance(jnp.ones(2) + 1, arrax.Array)
            with extend_core.set_current_trace(trace):
                assert extend_core.find_top_trace() is trace
        with extend_core.set_current_trace(None):
            assert core.trace_state_clean()
        return x

    assert arrax.jit(f)(1.0) == 1


def test_what_an_error_abandons_does_not_set_the_interpreter_back_later():
    before = extend_core.find_top_trace()
    taken, abandoned = extend_core.take_current_trace(), [extend_core.set_current_trace(core.Trace())]
    taken.__enter__()
    abandoned[0].__enter__()  # it is never left, as in a generator that nobody goes on with
    taken.__exit__(None, None, None)
    assert extend_core.find_top_trace() is before

    def f(x):
        abandoned.clear()
        gc.collect()
        assert extend_core.find_top_trace() is x._trace
        return x

    arrax.jit(f)(1.0)


def test_an_interpreter_without_meaning_says_so():
    with extend_core.set_current_trace(core.Trace()), pytest.raises(NotImplementedError, match="no method process"):
        arrax.lax.sin(1.0)


def test_primitives_have_their_names():
    assert (
        primitives.add_p is arrax.lax.add_p
        and arrax.make_jaxpr(arrax.jit(jnp.sin))(1.0).eqns[0].primitive is primitives.jit_p
    )
    program = arrax.make_jaxpr(lambda key: arrax.random.fold_in(key, 1))(arrax.random.key(0))
    assert str(primitives.random_fold_in_p) in str(program) and primitives.call_p is primitives.closed_call_p
    assert "scan_p" in dir(primitives) and not hasattr(primitives, "no_such_p")


def test_subclasses_of_primitives_may_have_rules_for_methods():
    class Tag(extend_core.Primitive):
        multiple_results = True

        def impl(self, *args, **params):
            return list(args)

        def abstract_eval(self, *avals, **params):
            return list(avals), core.no_effects

    tag = Tag("tag")
    assert tag.bind(2.0, jnp.ones(2))[0] == 2
    (eqn,) = arrax.make_jaxpr(lambda x: tag.bind(x))(1.0).eqns
    assert eqn.primitive is tag and eqn.outvars[0].aval.shape == ()


def test_what_messages_say_of_a_program_has_the_names_that_libraries_look_for():
    info = arrax.make_jaxpr(lambda x, y: x)(1.0, 2.0).jaxpr.debug_info
    assert (
        info.traced_for == "make_jaxpr"
        and info.arg_names == ("x", "y")
        and "library_interpreters" in info.func_src_info
    )
    assert info.result_paths == ("result",) and core.DebugInfo is extend_core.DebugInfo


def test_a_program_says_where_its_results_are_in_what_the_function_returns():
    def f(x):
        return {"loss": x, "rest": [x, None, lax.cond(x > 0, lambda v: (v, {"b": v}), lambda v: (v, {"b": v}), x)[0]]}

    program = arrax.make_jaxpr(f)(1.0).jaxpr
    assert program.debug_info.result_paths == ("result['loss']", "result['rest'][0]", "result['rest'][2]")
    (branch, _) = program.eqns[-1].params["branches"]
    assert branch.jaxpr.debug_info.result_paths == ("result[0]", "result[1]['b']")
    (derived,) = arrax.make_jaxpr(arrax.vmap(arrax.jit(f)))(jnp.ones(2)).eqns
    assert derived.params["jaxpr"].jaxpr.debug_info.result_paths is None  # which is another program


def test_older_libraries_find_names_under_core():
    assert core.gensym is extend_core.gensym and core.new_jaxpr_eqn is extend_core.new_jaxpr_eqn
    assert core.unsafe_get_axis_names_DO_NOT_USE is extend_core.unsafe_get_axis_names_DO_NOT_USE
    known = []
    arrax.jit(lambda x: known.append(core.is_concrete(x)))(1.0)
    arrax.grad(lambda x: known.append(core.is_concrete(x)) or x)(1.0)
    assert known == [False, True] and core.is_concrete(jnp.ones(2))

    def constant(x):
        with core.eval_context():
            known.append(core.is_concrete(jnp.ones(2) + 1))
        return x

    assert arrax.jit(constant)(1.0) == 1 and known[-1]


def test_programs_take_their_documented_arguments():
    program = arrax.make_jaxpr(lambda x, y: x - y)(1.0, 2.0)
    assert extend_core.jaxpr_as_fun(program, 5.0)(3.0) == extend_core.jaxpr_as_fun(program)(5.0, 3.0) == [2]
    with pytest.raises(ValueError, match="takes 2 arguments, got 1"):
        extend_core.jaxpr_as_fun(program)(5.0)
    assert core.eval_jaxpr(program.jaxpr, program.consts, 5.0, 3.0, propagate_source_info=False) == [2]
    assert core.concrete_or_error(int, val=3.0) == 3 and core.max_dim(d1=2, d2=3) == 3
    arrax.config.update(name="jax_enable_checks", val=False)


def test_primitives_of_libraries_need_nothing_but_extend():
    from arrax.extend.interpreters import ad, mlir

    scaled = extend_core.Primitive("scaled")
    scaled.def_impl(lambda x, y, z: x * y + z)
    scaled.def_abstract_eval(lambda x, y, z: extend_core.ShapedArray(x.shape, x.dtype))
    mlir.register_lowering(scaled, lambda ctx, x, y, z: mlir.hlo.AddOp(mlir.hlo.MulOp(x, y), z).results)
    assert scaled.bind(2, 3, 4) == arrax.jit(scaled.bind)(2, 3, 4) == 10
    assert ad is arrax.interpreters.ad


def test_shardings_are_written_as_protocol_buffers():
    mesh = arrax.sharding.Mesh(arrax.devices()[:1], "x")
    described = arrax.NamedSharding(mesh, arrax.P("x"))._to_xla_hlo_sharding(2)
    written = extend_sharding.get_serialized_proto_from_hlo_sharding(described)
    assert extend_sharding.get_hlo_sharding_from_serialized_proto(written) == described
    message = extend_sharding.get_op_sharding_from_serialized_proto(written)
    assert isinstance(message, extend_sharding.XlaOpShardingProto) and message.SerializeToString() == written


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: jnp.mod(x, np.float32(2)), np.float32([-3, -2, 1, 5])),
        (lambda x: jnp.logaddexp(x, np.float32(0)), np.float32([-np.inf, 0, 1])),
        (lambda x: jnp.logaddexp2(x, np.float32(0)), np.float32([-np.inf, 0, 1])),
        (jnp.median, np.float32([3, 1, 2])),
        (lambda x: jnp.partition(x, 1)[1], np.float32([3, 1, 2])),
        (lambda x: jnp.bincount(x, length=4), np.int32([3, 1, 1])),
        (lambda x: jnp.nonzero(x, size=2)[0], np.bool_([False, True, True])),
        (jnp.packbits, np.uint8([1, 0, 1, 1, 0, 0, 0, 1])),
        (lambda x: jnp.frexp(x)[0], np.float32([12, 0.75])),
        (arrax.grad(jnp.max), np.float32([3, 1, 3])),
        (lambda x: arrax.jvp(jnp.arcsin, (x,), (x,))[1], np.float32([0, 0.5])),
    ],
)
def test_operations_of_its_own_come_to_a_library_as_those_that_it_knows(f, x):
    own = {
        "remainder", "logaddexp", "logaddexp2", "order_statistics", "partition", "count_values", "nonzero_indices",
        "pack_bits", "mantissa", "extreme_weights", "one_minus_square",
    }  # fmt: skip

    def unwrapped(x):  # compiled functions come to a library as calls of programs: look into these
        with arrax.disable_jit():
            return f(x)

    found, names = counted(unwrapped, x)
    assert names and not own & {*names}
    np.testing.assert_allclose(found, f(x), rtol=1e-6)
