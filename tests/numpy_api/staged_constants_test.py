"""Arrays made from values while a function is traced belong to its program, as the results of all operations do."""

import copy
import enum

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp

MAKERS = {
    "a number": lambda: jnp.array(3),
    "a list": lambda: jnp.array([1, 2]),
    "a host array": lambda: jnp.asarray(np.ones(2)),
    "nothing": lambda: jnp.array([]),
    "a scalar type": lambda: jnp.float32(2),
    "a member of an enumeration": lambda: jnp.asarray(enum.IntEnum("Kind", "A B").B),
    "numbers of a range": lambda: jnp.linspace(0, 1, 3),
    "indices": lambda: jnp.tril_indices(3)[0],
}


@pytest.mark.parametrize("maker", MAKERS)
def test_what_is_made_of_values_is_traced(maker):
    made = []

    def kept(x):
        made.append(MAKERS[maker]())
        return x

    arrax.jit(kept)(1.0)
    arrax.jit(arrax.grad(kept))(1.0)
    arrax.lax.fori_loop(0, 1, lambda i, c: kept(c), 1.0)
    assert all(isinstance(array, arrax.core.Tracer) for array in made)
    np.testing.assert_array_equal(arrax.jit(MAKERS[maker])(), MAKERS[maker]())


@pytest.mark.parametrize("maker", MAKERS)
def test_outside_of_programs_it_has_values(maker):
    made = []

    def kept(x):
        made.append(MAKERS[maker]())
        return x

    arrax.grad(kept)(1.0)
    arrax.vmap(kept)(jnp.ones(2))

    def known(x):
        with arrax.ensure_compile_time_eval():
            kept(x)
        return x

    arrax.jit(known)(1.0)
    assert len(made) == 3 and not any(isinstance(array, arrax.core.Tracer) for array in made)


def test_numbers_stand_in_the_program():
    assert str(arrax.make_jaxpr(lambda x: jnp.array(2.0) * x)(jnp.ones(3))) == (
        "{ lambda ; a:f32[3]. let b:f32[3] = mul 2.0 a in (b,) }"
    )
    [made] = arrax.make_jaxpr(lambda: jnp.asarray(2))().out_avals
    assert made.weak_type and made.dtype == jnp.int32


def test_a_traced_constant_has_no_value():
    with pytest.raises(arrax.errors.ConcretizationTypeError):
        arrax.jit(lambda: int(jnp.array(3)))()
    with pytest.raises(TypeError, match="Shapes must be 1D sequences of concrete values"):
        arrax.jit(lambda: jnp.zeros(jnp.array([2, 3])))()
    with pytest.raises(arrax.errors.NonConcreteBooleanIndexError):
        arrax.jit(lambda x: x[jnp.array([True, False])])(jnp.ones(2))


def test_lists_inside_of_an_index_are_known():
    x = np.arange(12).reshape(3, 4)
    picked = arrax.jit(lambda x: x[[True, False, True], [0, 3]])(x)
    np.testing.assert_array_equal(picked, x[[True, False, True], [0, 3]])


@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, jnp.copy, jnp.array, lambda x: x.copy(), lambda x: jnp.astype(x, x.dtype, copy=True)],
    ids=["copy", "deepcopy", "jnp.copy", "jnp.array", "method", "astype"],
)
def test_copies_are_operations(duplicate):
    program = arrax.make_jaxpr(duplicate)(jnp.ones(3))
    assert [eqn.primitive.name for eqn in program.eqns] == ["copy"]
    value, slope = arrax.jvp(lambda x: duplicate(x) * 2, (jnp.ones(3),), (jnp.ones(3),))
    np.testing.assert_array_equal(slope, 2 * np.ones(3))
    np.testing.assert_array_equal(arrax.jit(arrax.vmap(duplicate))(jnp.eye(2)), np.eye(2))


def test_none_is_not_a_number_yet():
    with pytest.warns(FutureWarning, match="None encountered"):
        assert np.isnan(jnp.array(None))
    with pytest.warns(FutureWarning, match="None encountered"):
        np.testing.assert_array_equal(jnp.asarray([1, None]), [1, np.nan])


def test_objects_are_refused_by_name():
    with pytest.raises(TypeError, match="with dtype object is not a valid JAX array type"):
        jnp.array(object())
    with pytest.raises(TypeError, match="of type <class 'object'> is not a valid JAX type"):
        arrax.jit(lambda x: x)(object())
    for compare in (jnp.array_equal, jnp.array_equiv):
        with pytest.raises(TypeError):
            compare(jnp.ones(2), [1, "b"])


def test_the_tracer_of_programs_has_its_documented_name():
    seen = []
    arrax.jit(seen.append)(1.0)
    assert str(type(seen[0])) == "<class 'arrax.interpreters.partial_eval.DynamicJaxprTracer'>"


def test_older_spellings():
    np.testing.assert_array_equal(jnp.reshape(jnp.arange(6), newshape=(2, 3)), np.arange(6).reshape(2, 3))
    with pytest.raises(TypeError, match="exactly one of shape and newshape"):
        jnp.reshape(jnp.arange(6), (2, 3), newshape=(3, 2))
    spiral = jnp.geomspace(-1, 1, 5, dtype=complex)
    np.testing.assert_allclose(spiral, np.geomspace(-1 + 0j, 1 + 0j, 5), atol=1e-6)


def test_what_is_deprecated_says_so():
    with pytest.warns(DeprecationWarning, match="tie_in"):
        assert arrax.lax.tie_in(1.0, 2.0) == 2.0
    for normalize in (arrax.nn.softmax, arrax.nn.log_softmax):
        with pytest.warns(DeprecationWarning, match="initial"):
            np.testing.assert_array_equal(normalize(jnp.ones(2), initial=-1.0), normalize(jnp.ones(2)))


@pytest.mark.parametrize("join", [jnp.vstack, jnp.hstack, jnp.dstack, jnp.column_stack], ids=lambda join: join.__name__)
def test_tuples_among_the_arrays_to_join_are_deprecated(join):
    rows = [(jnp.arange(2),), (jnp.ones(2),)]
    with pytest.warns(DeprecationWarning, match="got <class 'tuple'> at position 0"):
        joined = join(rows)
    np.testing.assert_array_equal(joined, getattr(np, join.__name__)([np.array(row) for row in rows]))


def test_a_traced_axis_is_named():
    with pytest.raises(arrax.errors.ConcretizationTypeError, match=r"axis argument to jnp\.min\(\)"):
        arrax.jit(lambda x, axis: jnp.min(x, axis))(jnp.ones(2), 0)


def test_which_constants_a_closed_function_has_does_not_depend_on_what_an_enclosing_program_knows():
    shapes = []

    def closed(index, rows):
        program = arrax.make_jaxpr(lambda y: rows[(index + jnp.arange(3)) % 3] * y + (index - 1))(1.0)
        shapes.append([value.shape for value in program.consts])
        return rows.sum()

    arrax.jit(lambda rows: closed(jnp.array(0), rows))(jnp.ones(3))
    arrax.jit(closed)(0, jnp.ones(3))
    assert shapes == [[(), (3,)]] * 2
