"""``jit``: what is traced when, static and donated arguments, placement, errors, ahead-of-time stages."""

import concurrent.futures
import functools
import weakref

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax


def counted(function):
    calls = []

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        calls.append(1)
        return function(*args, **kwargs)

    return wrapped, calls


def test_a_signature_is_traced_once():
    f, calls = counted(lambda x: x * 2)
    jitted = arrax.jit(f)
    for _ in range(3):
        np.testing.assert_array_equal(jitted(jnp.arange(3)), [0, 2, 4])
    assert len(calls) == 1
    jitted(jnp.arange(4))
    jitted(jnp.arange(3.0))
    assert len(calls) == 3


def test_two_jits_of_one_function_share_traces():
    f, calls = counted(lambda x: x + 1)
    assert arrax.jit(f)(1) == 2 and arrax.jit(f)(1) == 2
    assert len(calls) == 1
    shape = arrax.eval_shape(f, jnp.ones(3))
    assert arrax.jit(f)(jnp.ones(3)).shape == arrax.eval_shape(f, shape).shape == (3,)
    assert arrax.make_jaxpr(f)(shape).out_avals[0].shape == (3,)
    assert len(calls) == 2


def test_weak_types_pass_through():
    assert arrax.jit(lambda x: x + 1)(1).weak_type
    assert not arrax.jit(lambda x: x + 1)(jnp.int32(1)).weak_type


@pytest.mark.parametrize("how", [{"static_argnums": 1}, {"static_argnames": "n"}, {"static_argnums": -1}])
def test_static_arguments_are_python_values(how):
    f = arrax.jit(lambda x, n: x * n if n > 2 else x, **how)
    assert f(2.0, 3) == 6.0 and f(2.0, 1) == 2.0


def test_static_names_hold_for_positions_too():
    f = arrax.jit(lambda x, n: x if n == "a" else -x, static_argnames="n")
    assert f(1.0, "a") == 1.0 and f(1.0, n="b") == -1.0


def test_static_arguments_of_equal_value_and_other_type_are_told_apart():
    f = arrax.jit(lambda x, n: x + (1 if n is True else 2), static_argnums=1)
    assert f(0.0, True) == 1.0 and f(0.0, 1) == 2.0


def test_unhashable_static_arguments_are_refused():
    with pytest.raises(ValueError, match="Non-hashable static arguments"):
        arrax.jit(lambda x, n: x, static_argnums=1)(1.0, [1])


def test_unknown_argument_names_are_refused():
    with pytest.raises(ValueError, match="static_argnames"):
        arrax.jit(lambda x: x, static_argnames="y")
    with pytest.raises(ValueError, match="positional arguments"):
        arrax.jit(lambda x: x, static_argnums=3)
    with pytest.raises(ValueError, match="positional arguments"):
        arrax.make_jaxpr(lambda x: x, static_argnums=3)


def test_device_and_backend_exclude_each_other():
    with pytest.raises(ValueError, match="device and backend"):
        arrax.jit(lambda x: x, device=arrax.devices()[0], backend="cpu")


def test_arguments_of_no_array_type_are_refused_by_place():
    with pytest.raises(TypeError, match=r"Cannot interpret value of type <class 'str'>"):
        arrax.jit(lambda x: x)({"a": "text"})


def test_pytrees_defaults_and_keywords():
    f = arrax.jit(lambda tree, *, scale=2: {"out": tree["a"] * scale, "none": None})
    assert f({"a": 3.0})["out"] == 6.0 and f({"a": 3.0}, scale=5)["out"] == 15.0
    assert f({"a": 1.0})["none"] is None


def test_bound_methods_and_partials():
    class Model:
        weight = 3.0

        def __call__(self, x):
            return self.weight * x

        @functools.partial(arrax.jit, static_argnums=0)
        def apply(self, x):
            return self.weight * x

    model = Model()
    assert arrax.jit(model)(2.0) == 6.0 and arrax.jit(model.__call__)(2.0) == 6.0 and model.apply(2.0) == 6.0
    assert arrax.jit(functools.partial(lambda x, y: x - y, 5.0))(2.0) == 3.0


def test_donated_buffers_are_gone():
    f = arrax.jit(lambda x: x + 1, donate_argnums=0)
    x = jnp.arange(256.0)
    f(x)
    assert x.is_deleted()
    with pytest.raises(RuntimeError, match="deleted"):
        np.asarray(x)
    with pytest.raises((RuntimeError, ValueError), match="deleted"):
        f(x)


def test_mapped_calls_donate_too_and_differentiated_ones_do_not():
    f = arrax.jit(lambda x, y: x * y, donate_argnums=0)
    x, y = jnp.arange(6.0).reshape(2, 3), jnp.full((2, 3), 2.0)
    np.testing.assert_array_equal(arrax.grad(lambda x: arrax.vmap(f)(x, y).sum())(x), y)
    assert not x.is_deleted()
    np.testing.assert_array_equal(arrax.vmap(f)(x, y), 2.0 * np.arange(6.0).reshape(2, 3))
    assert x.is_deleted() and not y.is_deleted()


def test_unusable_donations_are_reported():
    with pytest.warns(UserWarning, match="donated buffers were not usable"):
        arrax.jit(lambda x: x.sum(), donate_argnums=0)(jnp.ones((7, 3)))


def test_an_exception_while_tracing_leaves_nothing_behind():
    state = {"fail": True}

    @arrax.jit
    def f(x):
        if state["fail"]:
            raise KeyboardInterrupt
        return x + 1

    with pytest.raises(KeyboardInterrupt):
        f(1.0)
    assert jnp.sin(0.0) == 0.0
    state["fail"] = False
    assert f(1.0) == 2.0


def test_thirty_nested_jits_are_traced_once_each():
    calls = []

    def nest(depth):
        f = lambda x: jnp.sin(x)  # noqa: E731
        for _ in range(depth):

            def outer(x, inner=f):
                calls.append(1)
                return inner(x) * 1.5

            f = arrax.jit(outer)
        return f

    assert arrax.jit(nest(30))(1.0) > 0
    assert len(calls) == 30
    assert arrax.grad(nest(30))(1.0) > 0


def test_closed_over_tracers_become_operands():
    def outer(x):
        inner = arrax.jit(lambda y: y * x)
        return inner(x) + inner(2.0)

    assert arrax.jit(outer)(3.0) == 15.0
    assert arrax.grad(outer)(3.0) == 8.0
    np.testing.assert_array_equal(arrax.vmap(outer)(jnp.arange(3.0)), [0.0, 3.0, 8.0])


def test_without_a_function_a_decorator_is_given_and_none_is_no_function():
    assert arrax.jit()(lambda x: x + 1)(1) == arrax.jit(static_argnums=0)(lambda n: n + 1)(1) == 2
    with pytest.raises(TypeError, match="callable value, got None"):
        arrax.jit(None)


def test_changed_settings_retrace():
    f, calls = counted(lambda x: x + 1)
    jitted = arrax.jit(f)
    jitted(1)
    with arrax.enable_x64(True):
        assert jitted(1).dtype == np.int64
    assert len(calls) == 2


def test_disable_jit_runs_python_on_concrete_values():
    seen = []
    with arrax.disable_jit():
        arrax.jit(lambda x: seen.append(float(x)) or x)(2.0)
    assert seen == [2.0]


def test_truth_value_errors_name_function_and_argument():
    def f(x, y):
        return x if x < 0 else y

    with pytest.raises(arrax.errors.TracerBoolConversionError, match="depends on the value of the argument x") as info:
        arrax.jit(f)(1.0, 2.0)
    assert "Attempted boolean conversion of traced array with shape bool[]." in str(info.value)
    assert f"The error occurred while tracing the function f at {__file__}" in str(info.value)


def test_other_conversions_of_tracers_are_refused():
    with pytest.raises(arrax.errors.TracerArrayConversionError, match="shape int32\\[4\\]"):
        arrax.jit(np.sin)(np.arange(4))
    with pytest.raises(arrax.errors.TracerIntegerConversionError, match="__index__"):
        arrax.jit(lambda i: [1, 2][i])(0)
    with pytest.raises(arrax.errors.ConcretizationTypeError):
        arrax.jit(lambda x: float(x))(1.0)


def test_escaped_tracers_are_reported_with_where_they_were_made():
    leaked = []
    arrax.jit(lambda x: leaked.append(x + 1))(1.0)
    with pytest.raises(arrax.errors.UnexpectedTracerError, match="final 5 stack frames"):
        leaked[0] + 1


def test_leaks_are_found_as_soon_as_the_function_returns():
    leaked = []
    with arrax.checking_leaks(), pytest.raises(Exception, match="Leaked Trace"):
        arrax.jit(lambda x: leaked.append(x + 1))(1.0)


def test_calls_nest_a_hundred_deep_under_transformations():
    function = jnp.sin
    for _ in range(100):
        function = arrax.jit(lambda x, inner=function: inner(x) * 1)
    transformed = {"grad": arrax.grad(function), "vmap": lambda x: arrax.vmap(function)(jnp.stack([x, x]))}
    with concurrent.futures.ThreadPoolExecutor(1) as pool:  # a thread of its own: the tests' frames would count, too
        for name, fun in transformed.items():
            program = pool.submit(arrax.make_jaxpr(fun), 0.0).result()
            assert program.out_avals[0].shape == {"grad": (), "vmap": (2,)}[name]


def test_stages_ahead_of_time():
    lowered = arrax.jit(lambda x, y: 2 * x + y).lower(3, 4)
    text = lowered.as_text()
    assert "module @jit" in text and "stablehlo.multiply" in text and "tensor<i32>" in text
    compiled = lowered.compile(device_assignment=tuple(arrax.devices()[:1]))
    assert compiled.call(3, 4) == compiled(3, 4) == 10 and compiled.cost_analysis()["flops"] == 2.0
    assert compiled.cost_analysis()[0]["flops"] == 2.0 and 1 not in compiled.cost_analysis()
    assert compiled.memory_analysis() is not None and "HloModule" in compiled.as_text()
    with pytest.raises(TypeError, match=r"Argument 'x' compiled with int32\[\] and called with int32\[3\]"):
        compiled(jnp.arange(3), 4)
    with pytest.raises(TypeError, match="Cannot apply JAX transformations"):
        arrax.vmap(compiled)(jnp.arange(3), jnp.arange(3))


def test_static_arguments_vanish_from_lowered_programs():
    lowered = arrax.jit(lambda x, n: x * n, static_argnums=1).lower(2, 7)
    assert "dense<7>" in lowered.as_text()
    compiled = lowered.compile()
    assert compiled(3) == 21
    assert compiled.out_info.sharding == compiled.output_shardings and lowered.out_info.sharding is None
    assert compiled.out_info.format == compiled.output_formats and lowered.out_info.format.layout is None


def test_results_are_weakly_typed_until_a_program_is_translated():
    traced = arrax.jit(lambda x: x * 2).trace(1.0)
    lowered = traced.lower()
    assert traced.out_avals == arrax.core.ShapedArray((), np.dtype("float32"), weak_type=True)
    stages = [traced, lowered, lowered.compile()]
    assert [stage.out_info.weak_type for stage in stages] == [True, False, False]
    again = arrax.jit(lambda x: x + 1).lower(stages[-1].out_info)  # what is known of results is what arguments may be
    assert again.compile().out_info == stages[-1].out_info


def test_a_structure_like_a_value_has_its_place_where_it_is_committed_to_one():
    (device,) = jnp.ones(3).devices()
    like = arrax.ShapeDtypeStruct.like
    assert like(jnp.asarray(3)) == like(3) == arrax.ShapeDtypeStruct((), jnp.int32, weak_type=True)
    assert like(np.ones(3, np.float16)) == arrax.ShapeDtypeStruct((3,), jnp.float16)
    placed = arrax.device_put(jnp.ones(3), device)
    assert like(placed).format == placed.format and like(like(placed)).sharding == placed.sharding
    wider = like(placed).update(shape=(4,))
    assert wider.shape == (4,) and wider.format == placed.format


def test_lowering_takes_shapes_and_dtypes():
    struct = arrax.ShapeDtypeStruct((3,), np.float32)
    assert arrax.jit(jnp.sin).lower(struct).out_info.shape == (3,)
    assert arrax.eval_shape(lambda x: {"a": x[0]}, struct)["a"].shape == ()
    assert arrax.eval_shape(jnp.zeros_like, struct, dtype=jnp.int8).dtype == np.int8  # dtypes by name


def test_cache_entries_are_shared_by_equal_programs():
    from arrax.xla.compilation import executables

    arrax.jit(lambda x: x * 3 - 7)(jnp.ones(5))
    before = executables.misses + executables.disk_hits
    for _ in range(3):
        arrax.jit(lambda x: x * 3 - 7)(jnp.ones(5))
    assert executables.misses + executables.disk_hits == before


def test_cleared_caches_forget_traces():
    f, calls = counted(lambda x: x + 1)
    jitted = arrax.jit(f)
    jitted(1)
    arrax.clear_caches()
    assert jitted(1) == 2 and len(calls) == 2


def test_a_nan_of_compiled_code_is_announced_and_found_by_its_operation(capsys):
    with arrax.debug_nans(True), pytest.raises(FloatingPointError, match="nan.* encountered in div") as caught:
        arrax.jit(lambda x: x / x)(0.0)
    expected = "Invalid value encountered in the output of a jit function. Calling the de-optimized version."
    assert capsys.readouterr().out.strip() == expected
    assert caught.type.__qualname__ == "FloatingPointError"


def test_a_nan_that_only_compiled_code_gives_is_a_warning():
    compiled_only = lambda x: x / x if isinstance(x, arrax.core.Tracer) else x  # noqa: E731
    with arrax.debug_nans(True), pytest.warns(RuntimeWarning, match="operation by operation"):
        assert arrax.jit(compiled_only)(0.0) == 0


@pytest.mark.parametrize("nan", [float("nan"), np.float32("nan"), [np.array([1, np.nan], np.float32)]])
def test_a_nan_that_is_no_array_yet_is_found_in_what_compiled_code_gives(nan):
    with arrax.debug_nans(True), pytest.raises(FloatingPointError, match="nan.* encountered in"):
        arrax.jit(lambda: (nan, 1))()


def test_known_values_are_evaluated_while_traced_ones_are_recorded():
    def f(x):
        with arrax.ensure_compile_time_eval():
            return x + int(jnp.arange(3).sum())

    assert arrax.jit(f)(1) == 4 and arrax.grad(f)(1.0) == 1
    assert [eqn.primitive.name for eqn in arrax.make_jaxpr(f)(1).eqns] == ["add"]


def test_shapes_known_only_when_programs_run_are_refused():
    for given in ({0: "n"}, ("n",)):
        with pytest.raises(NotImplementedError, match="jit: abstracted_axes=.*'n'"):
            arrax.jit(lambda x: x, abstracted_axes=given)
        with pytest.raises(NotImplementedError, match="jit: abstracted_axes=.*'n'"):
            arrax.jit(abstracted_axes=given)
        with pytest.raises(NotImplementedError, match="make_jaxpr: abstracted_axes=.*'n'"):
            arrax.make_jaxpr(lambda x: x, abstracted_axes=given)


def test_residuals_that_are_arguments_are_no_copies():
    x, w = jnp.ones((3, 4)), jnp.ones((4, 5))
    for function in (arrax.jit(jnp.dot), arrax.jit(lambda x, w: (jnp.dot(x, w), w)[0])):
        leaves = arrax.tree.leaves(arrax.vjp(function, x, w)[1])
        assert all(any(leaf is argument for argument in (x, w)) for leaf in leaves)
    gradients = arrax.grad(lambda x, w: arrax.jit(jnp.dot)(x, w).sum(), (0, 1))(x, w)
    np.testing.assert_array_equal(gradients[0], 5 * np.ones((3, 4)))
    handed_on = arrax.vjp(arrax.jit(lambda x: (x, jnp.sin(x), x)), x)
    assert handed_on[0][0] is x or np.array_equal(handed_on[0][0], x)


def test_what_a_compiled_function_closes_over_goes_with_it():
    x = jnp.ones(10)
    function = arrax.jit((lambda x: lambda: x)(x))
    reference = weakref.ref(x)
    del x
    function(), function()
    del function
    assert reference() is None


def test_masked_arrays_are_refused():
    masked = np.ma.array([1.0, 2.0, 300.0], mask=[0, 0, 1])
    plain = np.array([1.0, 2.0, 3.0])
    double = arrax.jit(lambda x: x * 2)
    double(plain), jnp.sum(plain)
    for call in (double, jnp.sum, lambda x: x + jnp.ones(3), lambda x: lax.sin(x), arrax.grad(lambda x: x.sum()),
                 arrax.vmap(lambda x: x), lambda x: lax.scan(lambda c, t: (c, t), 0, x), arrax.device_put):  # fmt: skip
        with pytest.raises(ValueError, match="masked array"):
            call(masked)
    assert jnp.array(masked).shape == (3,)  # a copy is without its mask


def test_arguments_given_by_keyword_are_donated_too():
    f = arrax.jit(lambda x: x * 2, donate_argnums=0)
    x = jnp.ones((2, 5))
    f(x=x)
    assert x.is_deleted()


def test_constants_enter_programs_without_conversions():
    constant = np.ones(3, np.float32)
    jaxpr = arrax.make_jaxpr(lambda: (jnp.sum(constant), lax.sin(constant), jnp.max(constant)))()
    assert len(jaxpr.jaxpr.constvars) == 1 and "convert" not in str(jaxpr)


def test_jitted_functions_are_known_by_their_class():
    wrapped = arrax.stages.Wrapped
    assert isinstance(arrax.jit(lambda x: x), wrapped) and isinstance(jnp.sin, wrapped)
    assert not isinstance(lambda x: x, wrapped) and not isinstance(arrax.grad(jnp.sin), wrapped)


def test_a_jitted_function_has_the_attributes_of_the_function():
    def function(x):
        return x

    function.original = function
    jitted = arrax.jit(arrax.jit(function))
    assert jitted.original is function and jitted.__wrapped__.__wrapped__ is function and jitted(2.0) == 2.0


class Scale:
    @functools.partial(arrax.jit, static_argnums=(0, 2))
    def times(self, x, count):
        return jnp.sin(x) * count


def test_functions_around_jitted_ones_are_not_taken_for_them():
    total = arrax.jit(lambda x: jnp.sin(x).sum())
    x = jnp.ones((3, 4))
    rows, slopes = arrax.vmap(total), arrax.grad(total)
    assert arrax.eval_shape(rows, x).shape == (3,) and arrax.eval_shape(slopes, x).shape == (3, 4)
    assert arrax.eval_shape(functools.wraps(total)(lambda x: total(x)[None]), x).shape == (1,)
    watched = arrax.debug.watch(slopes, "cos")
    np.testing.assert_allclose(watched(x), np.cos(x), rtol=1e-6)
    assert len(watched.samples) == 1
    assert arrax.debug.explain(rows)(x).arguments == {"x": "f32[3,4]"}
    assert "cos" in arrax.debug.draw(slopes)(x).html()
    with pytest.raises(ValueError, match="must be the result of `jit`"):
        arrax.export.export(rows)


def test_methods_that_are_jitted_are_asked_with_their_object():
    times, x = Scale().times, jnp.ones(3)
    assert arrax.eval_shape(times, x, 2).shape == (3,)
    assert arrax.debug.explain(times)(x, 2).arguments == {"x": "f32[3]"}
    watched = arrax.debug.watch(times, "sin")
    np.testing.assert_allclose(watched(x, 2), 2 * np.sin(x), rtol=1e-6)
    assert len(watched.samples) == 1


def test_arrays_that_are_closed_over_may_be_given_as_donated_arguments():
    weights = jnp.arange(4.0)
    step = arrax.jit(lambda w: w + weights, donate_argnums=0)
    after = step(weights)
    assert weights.is_deleted()
    np.testing.assert_array_equal(step(after), 3 * np.arange(4.0))


def test_compiled_functions_say_that_an_array_they_close_over_was_deleted():
    weights = jnp.arange(4.0)
    compiled = arrax.jit(lambda x: x + weights).lower(weights).compile()
    weights.delete()
    with pytest.raises(RuntimeError, match="<lambda> closes over an array that has been deleted or donated since"):
        compiled(jnp.ones(4))


def test_deleted_arguments_are_refused_where_the_function_has_a_use_for_them():
    x = jnp.ones(3)
    second = arrax.jit(lambda x, y: y + 1)
    assert second(x, 1) == 2
    x.delete()
    assert second(x, 1) == 2 and arrax.jit(lambda x, y: y - 1)(x, 1) == 0
    for use in (lambda x, y: x + y, lambda x, y: x):
        with pytest.raises(RuntimeError, match="Array has been deleted"):
            arrax.jit(use)(x, 1)


def test_a_program_for_several_platforms_chooses_by_its_first_argument():
    traced = arrax.jit(lambda x: lax.platform_dependent(x, cpu=jnp.sin, default=jnp.cos)).trace(1.0)
    lowered = traced.lower(lowering_platforms=("tpu", "cpu"))
    text = lowered.as_text()
    assert "_platform_index" in text and text.index("cosine") < text.index("stablehlo.sine")
    with pytest.raises(ValueError, match="lowered for several platforms, tpu, cpu"):
        lowered.compile()
    assert traced.lower(lowering_platforms=("cpu",)).compile()(0.0) == 0


def test_names_of_arguments_are_found_for_messages_only():
    asked = []

    class Node:
        def __init__(self, x):
            self.x = x

    def with_keys(node):
        asked.append(node)
        return ((arrax.tree_util.GetAttrKey("x"), node.x),), None

    arrax.tree_util.register_pytree_with_keys(Node, with_keys, lambda _, xs: Node(*xs), lambda node: ((node.x,), None))
    closed = jnp.ones(2)

    @arrax.jit
    def f(node):  # calls of programs that call the user's functions come through Python each time
        return arrax.pure_callback(lambda x: x + 1, arrax.ShapeDtypeStruct((2,), np.float32), node.x + closed)

    f(Node(closed))
    asked.clear()
    assert f(Node(closed)).tolist() == [3, 3] and not asked


def test_compiled_functions_around_each_other_are_traced_once_each():
    nested = jnp.sin
    for _ in range(30):
        nested = arrax.jit(nested)
    assert nested(0.0) == 0
