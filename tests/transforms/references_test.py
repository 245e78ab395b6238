"""References under jit: what a call writes is there after it; aliases and references that leave are refused."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax.sharding import NamedSharding, PartitionSpec


def zeros():
    return arrax.new_ref(jnp.zeros(3))


def test_calls_write_to_references_that_are_passed():
    traces = []

    @arrax.jit
    def f(ref, y):
        traces.append(1)
        ref[0] += y
        return ref[...] * 2

    ref = zeros()
    np.testing.assert_array_equal(f(ref, 1.0), [2, 0, 0])
    np.testing.assert_array_equal(f(ref, 2.0), [6, 0, 0])
    other = arrax.new_ref(jnp.ones(3))
    np.testing.assert_array_equal(f(other, 1.0), [4, 2, 2])
    np.testing.assert_array_equal([ref[...], other[...]], [[3, 0, 0], [2, 1, 1]])
    assert len(traces) == 1


def test_calls_write_to_references_that_are_closed_over():
    ref, scale = zeros(), arrax.new_ref(2.0)

    @arrax.jit
    def f(i, y):
        ref[i] = y * scale[...]

    f(0, 1.0)
    scale[...] = 3.0
    f(1, 1.0)
    np.testing.assert_array_equal(ref[...], [2, 3, 0])


def test_references_are_leaves_of_arguments():
    state = {"count": arrax.new_ref(0), "rows": [zeros(), zeros()]}

    @arrax.jit
    def step(state, *, by):
        state["count"][...] += 1
        state["rows"][1][...] = state["rows"][1][...] + by

    step(state, by=2.0)
    step(state, by=3.0)
    assert state["count"][...] == 2
    np.testing.assert_array_equal(state["rows"][1][...], [5, 5, 5])


def test_a_program_writes_over_the_array_of_a_reference():
    ref = zeros()
    f = arrax.jit(lambda ref: ref.__setitem__(0, ref[0] + 1))
    f(ref)
    before = ref.array
    f(ref)
    assert before.is_deleted() and ref[0] == 2


def test_stages_take_references():
    ref = zeros()
    lowered = arrax.jit(lambda ref, y: (ref.__setitem__(0, y), ref[...] + y)[1]).lower(ref, 1.0)
    assert "tf.aliasing_output" in lowered.as_text()
    compiled = lowered.compile()
    np.testing.assert_array_equal(compiled(ref, 5.0), [10, 5, 5])
    np.testing.assert_array_equal(ref[...], [5, 0, 0])
    assert arrax.eval_shape(lambda ref: ref[...], ref).shape == (3,)
    struct = arrax.ShapeDtypeStruct((3,), jnp.float32, is_ref=True)
    assert arrax.eval_shape(lambda ref: ref[...], struct).shape == (3,) and "is_ref=True" in repr(struct)
    assert struct != struct.update(is_ref=False) == arrax.ShapeDtypeStruct((3,), jnp.float32)


def test_disable_jit_writes_too():
    ref = zeros()
    with arrax.disable_jit():
        arrax.jit(lambda ref: ref.__setitem__(0, 1.0))(ref)
    assert ref[0] == 1


def test_references_keep_their_sharding():
    devices = arrax.devices()
    mesh = arrax.make_mesh((len(devices),), ("x",))
    place = NamedSharding(mesh, PartitionSpec("x"))
    ref = arrax.new_ref(arrax.device_put(jnp.zeros(len(devices) * 2), place))
    arrax.jit(lambda ref: ref.__setitem__(0, 1.0))(ref)
    assert ref.sharding == place and ref[0] == 1


def test_donated_arguments_beside_references():
    ref, x = zeros(), jnp.ones(3)
    out = arrax.jit(lambda ref, x: (ref.__setitem__(..., x + 1), x * 2)[1], donate_argnums=1)(ref, x)
    np.testing.assert_array_equal([out, ref[...]], [[2, 2, 2]] * 2)
    assert x.is_deleted()


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda ref: arrax.jit(lambda a, b: a[...] + b[...])(ref, ref), "only one reference.*as a and as b"),
        (lambda ref: arrax.jit(lambda a: a[...] + ref[...])(ref), "only one reference"),
        (lambda ref: arrax.jit(lambda a: arrax.jit(lambda b, c: b[0] + c[0])(a, a))(ref), "only one reference"),
        (lambda ref: arrax.jit(lambda a: a)(ref), "traced for jit returned a mutable array reference"),
        (lambda ref: arrax.jit(lambda: ref)(), "cannot be returned"),
        (lambda ref: arrax.jit(lambda: arrax.new_ref(0.0))(), "cannot be returned"),
    ],
)
def test_aliases_and_references_that_leave_are_refused(use, words):
    with pytest.raises(ValueError, match=words):
        use(zeros())


def test_references_that_escape_from_a_trace_say_so():
    kept = []
    arrax.jit(lambda x: kept.append(arrax.new_ref(x)))(1.0)
    arrax.grad(lambda x: (kept.append(arrax.new_ref(x)), x)[1])(1.0)
    for ref in kept:
        with pytest.raises(arrax.errors.UnexpectedTracerError):
            ref[...]


def test_shardings_are_asked_for_beside_references():
    place = NamedSharding(arrax.make_mesh((1,), ("x",)), PartitionSpec())
    ref = zeros()
    f = arrax.jit(
        lambda ref, x: (ref.__setitem__(..., x), {"y": x * 2})[1], in_shardings=(None, place), out_shardings=place
    )
    assert f(ref, jnp.ones(3))["y"].sharding == place
    np.testing.assert_array_equal(ref[...], [1, 1, 1])


def test_calls_that_raise_for_nans_leave_references_as_they_were():
    ref = zeros()
    with arrax.debug_nans(True), pytest.raises(FloatingPointError):
        arrax.jit(lambda ref: ref.__setitem__(0, jnp.log(ref[0] - 1)))(ref)
    np.testing.assert_array_equal(ref[...], [0, 0, 0])
