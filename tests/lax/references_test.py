"""Programs with references: what is recorded, control flow, and every transformation of them."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.core.references import AccumEffect, ReadEffect, WriteEffect
from tests.support import check_gradients

X = np.array([1.0, 2.0, 3.0], np.float32)


# ---- what is recorded --------------------------------------------------------------------------------------------------


def test_programs_print_reading_and_writing():
    def f(ref, y):
        ref[...] = y
        ref[0] += 1.0
        ref[1:] = y[1:]
        arrax.ref.addupdate(ref, 0, 2.0)
        return arrax.ref.swap(ref, 1, 3.0), ref[jnp.argmax(y)]

    program = arrax.make_jaxpr(f)(arrax.new_ref(X), X)
    text = str(program)
    assert "a:Ref{f32[3]} b:f32[3]" in text
    for line in (
        "a[...] <- b",
        "c:f32[] <- a[0]",
        "a[0] <- d",
        "a[1:] <- e",
        "a[0] += 2.0",
        "f:f32[], a[1] <- a[1], 3.0",
    ):
        assert line in text, text
    assert {type(effect) for effect in program.effects} == {ReadEffect, WriteEffect, AccumEffect}
    assert {effect.variable for effect in program.effects} == {program.jaxpr.invars[0]}


@pytest.mark.parametrize("number", [3.0, np.float32(3), np.full((), 3, np.float32)])
def test_a_number_that_is_written_to_a_scalar_becomes_an_array(number):
    ref = arrax.new_ref(jnp.float32(1))
    ref[...] = number
    found = ref[...]
    assert isinstance(found, arrax.Array) and found == 3 and found.dtype == np.float32 and not found.weak_type
    assert ref.sharding == found.sharding
    assert isinstance(arrax.ref.swap(ref, ..., number), arrax.Array) and isinstance(arrax.ref.freeze(ref), arrax.Array)


def test_programs_whose_references_are_their_own_are_pure():
    program = arrax.make_jaxpr(_internal)(X)
    assert program.effects == frozenset() and "new_ref" in str(program)
    inner = arrax.make_jaxpr(arrax.jit(_internal))(X)
    assert inner.effects == frozenset()


def test_effects_of_programs_inside_are_those_of_their_operands():
    def f(ref, other):
        arrax.jit(lambda: ref.__setitem__(0, other[0]))()
        return lax.fori_loop(0, 3, lambda i, c: c + other[i], 0.0)

    program = arrax.make_jaxpr(f)(arrax.new_ref(X), arrax.new_ref(X))
    first, second = program.jaxpr.invars
    assert program.effects == {WriteEffect(first), ReadEffect(second)}


def test_recorded_programs_can_be_evaluated():
    ref = arrax.new_ref(X)
    program = arrax.make_jaxpr(lambda ref, y: (ref.__setitem__(0, y), ref[...])[1])(ref, 5.0)
    (out,) = arrax.core.eval_jaxpr(program.jaxpr, program.consts, ref, np.float32(7.0))
    np.testing.assert_array_equal([out, ref[...]], [[7, 2, 3]] * 2)


# ---- functions with references of their own ----------------------------------------------------------------------------


def _internal(x):
    ref = arrax.new_ref(jnp.zeros_like(x))
    ref[...] = 2 * x
    ref[0] += x[1] * x[2]
    arrax.ref.addupdate(ref, 1, jnp.sin(x[0]))
    old = arrax.ref.swap(ref, 2, x[0])
    return jnp.sum(ref[...] ** 2) + old


def _scanned(x):
    total = arrax.new_ref(jnp.zeros((), x.dtype))
    table, x = arrax.new_ref(x), jnp.asarray(x)

    def body(carry, i):
        total[...] += carry * table[i]
        table[i] = jnp.sin(table[i])
        return carry + x[i], total[...]

    carry, ys = lax.scan(body, x[0], jnp.arange(3))
    return carry + total[...] + jnp.sum(ys * table[...])


def _scanned_slices(x):
    rows = arrax.new_ref(jnp.stack([x, x]))

    def body(carry, row):
        row[0] = row[1] * carry
        return carry + row[0], row[...]

    carry, ys = lax.scan(body, x[2], rows, reverse=True)
    return carry + jnp.sum(ys) + jnp.sum(rows[...] ** 2)


def _counted(x):
    ref = arrax.new_ref(x)
    lax.fori_loop(0, 3, lambda i, c: ref.__setitem__(i, ref[i] * ref[0]), None)
    return jnp.sum(ref[...])


def _branching(x):
    ref, count = arrax.new_ref(x), arrax.new_ref(0)

    def first():
        ref[0] = x[1] * 5
        count[...] += 1
        return ref[1]

    lax.cond(x[0] > 0, first, lambda: x[2] ** 2)
    lax.switch(count[...], [lambda: None, lambda: ref.__setitem__(1, ref[0] * ref[2])])
    return jnp.sum(ref[...])


def _compiled_inside(x):
    ref = arrax.new_ref(x)

    @arrax.jit
    def update(ref, y):
        ref[0] = jnp.sin(y)
        return ref[1] * y

    return update(ref, x[2]) + jnp.sum(ref[...])


def _recomputed(x):
    ref = arrax.new_ref(x)
    out = arrax.checkpoint(lambda y: (ref.__setitem__(0, jnp.sin(y[0])), ref[...] * y)[1])(x)
    return jnp.sum(out) + jnp.sum(ref[...]) + arrax.checkpoint(_internal)(x)


def _custom(x):
    ref = arrax.new_ref(x)

    @arrax.custom_jvp
    def f(y):
        return jnp.sin(y)

    f.defjvp(lambda primals, tangents: (f(*primals), jnp.cos(primals[0]) * tangents[0]))
    ref[...] = f(ref[...])
    return jnp.sum(ref[...])


OWN = [_internal, _scanned, _scanned_slices, _counted, _branching, _compiled_inside, _recomputed, _custom]
each_function = pytest.mark.parametrize("f", OWN, ids=lambda f: f.__name__.strip("_"))


@each_function
def test_they_give_the_same_compiled_and_mapped(f):
    once = f(X)
    np.testing.assert_allclose(arrax.jit(f)(X), once, rtol=1e-6)
    rows = np.stack([X, -X, X[::-1]])
    loop = [f(row) for row in rows]
    for mapped in (arrax.vmap(f), arrax.jit(arrax.vmap(f)), arrax.vmap(arrax.jit(f))):
        np.testing.assert_allclose(mapped(rows), loop, rtol=1e-5)


@each_function
def test_their_derivatives_agree_with_finite_differences(f):
    with arrax.enable_x64(True):
        check_gradients(f, [X.astype(np.float64)])


@each_function
def test_their_derivatives_are_the_same_in_every_composition(f):
    rows = np.stack([X, X[::-1]])
    gradient = arrax.grad(f)(X)
    for form in (arrax.jit(arrax.grad(f)), arrax.grad(arrax.jit(f)), arrax.jacfwd(f)):
        np.testing.assert_allclose(form(X), gradient, rtol=1e-5)
    np.testing.assert_allclose(arrax.vmap(arrax.grad(f))(rows), [arrax.grad(f)(row) for row in rows], rtol=1e-5)
    value, linear = arrax.linearize(f, X)
    np.testing.assert_allclose(linear(X), jnp.vdot(gradient, X), rtol=1e-5)
    np.testing.assert_allclose(arrax.hessian(f)(X), arrax.jacfwd(arrax.jacrev(f))(X), rtol=1e-4)


def test_while_loops_carry_references_and_their_condition_reads_them():
    def f(x):
        ref = arrax.new_ref(x)
        steps = lax.while_loop(lambda n: ref[0] < 50, lambda n: (ref.__setitem__(0, ref[0] * 2), n + 1)[1], 0)
        return ref[0], steps

    for form in (f, arrax.jit(f)):
        value, steps = form(X)
        assert (value, steps) == (64, 6)
    np.testing.assert_array_equal(arrax.vmap(f)(np.stack([X, 9 * X]))[1], [6, 3])
    assert arrax.jvp(lambda x: f(x)[0], (X,), (X,))[1] == 64


def test_linear_functions_with_references_are_transposed():
    def f(x):
        ref = arrax.new_ref(jnp.zeros(3))
        ref[1] = 3 * x
        ref[2] += x
        return ref[...]

    assert arrax.linear_transpose(f, np.float32(0))(X) == (9.0,)


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_narrow_numbers_are_kept_in_their_type(dtype):
    def f(x):
        ref = arrax.new_ref(jnp.zeros(3, dtype))
        lax.fori_loop(0, 3, lambda i, c: ref.__setitem__(i, x[i] * (i + 1)), None)
        arrax.ref.addupdate(ref, 0, x[1])
        return ref[...]

    x = jnp.asarray(X, dtype)
    assert f(x).dtype == dtype
    np.testing.assert_array_equal(arrax.jit(f)(x), np.array([3, 4, 9], dtype))
    np.testing.assert_array_equal(arrax.grad(lambda x: f(x).sum())(x), np.array([1, 3, 3], dtype))


# ---- references from outside -------------------------------------------------------------------------------------------


def test_loops_and_branches_write_to_references_from_outside():
    ref = arrax.new_ref(jnp.zeros(3))

    def store(ref):
        lax.scan(lambda c, i: (c + 1, ref.__setitem__(i, c)), 1.0, jnp.arange(3))
        lax.cond(ref[0] > 0, lambda: ref.__setitem__(0, -1.0), lambda: None)
        lax.while_loop(lambda n: n < 2, lambda n: (ref.__setitem__(1, ref[1] * 3), n + 1)[1], 0)

    for form in (store, arrax.jit(store)):
        form(ref)
        np.testing.assert_array_equal(ref[...], [-1, 18, 3])


def test_gradients_store_what_the_forward_pass_computes():
    def f(x, ref):
        y = jnp.sin(x)
        ref[...] = lax.stop_gradient(y)
        return jnp.sum(y)

    for form in (arrax.grad(f), arrax.jit(arrax.grad(f)), arrax.grad(arrax.jit(f)), arrax.grad(arrax.checkpoint(f))):
        ref = arrax.new_ref(jnp.zeros(3))
        np.testing.assert_allclose(form(X, ref), np.cos(X), rtol=1e-6)
        np.testing.assert_allclose(ref[...], np.sin(X), rtol=1e-6)


@arrax.custom_vjp
def stash(ref, x):
    return x


def _stash_backward(ref, cotangent):
    ref[...] = cotangent
    return None, cotangent


stash.defvjp(lambda ref, x: (x, ref), _stash_backward)


def test_backward_rules_store_gradients():
    def f(x, ref):
        return jnp.sum(stash(ref, jnp.sin(x)) ** 2)

    def inside(x, ref):
        return lax.scan(lambda c, _: (stash(ref, jnp.sin(c)), None), x, None, length=1)[0] @ np.sin(X) * 2

    for form in (
        arrax.grad(f), arrax.jit(arrax.grad(f)), arrax.grad(arrax.jit(f)), arrax.grad(arrax.checkpoint(f)),
        arrax.grad(inside), arrax.jit(arrax.grad(inside)),
    ):  # fmt: skip
        ref = arrax.new_ref(jnp.zeros(3))
        np.testing.assert_allclose(form(X, ref), 2 * np.sin(X) * np.cos(X), rtol=1e-5)
        np.testing.assert_allclose(ref[...], 2 * np.sin(X), rtol=1e-5)
    np.testing.assert_allclose(arrax.jit(f)(X, arrax.new_ref(X)), f(X, arrax.new_ref(X)), rtol=1e-6)


def test_references_are_mapped_along_an_axis():
    def f(ref, y):
        ref[0] = y
        return jnp.sum(ref[...])

    for form in (arrax.vmap(f, in_axes=(1, 0)), arrax.jit(arrax.vmap(f, in_axes=(1, 0)))):
        ref = arrax.new_ref(jnp.ones((2, 3)))
        np.testing.assert_array_equal(form(ref, X), X + 1)
        np.testing.assert_array_equal(ref[...], [X, [1, 1, 1]])
    shared = arrax.new_ref(X)
    np.testing.assert_array_equal(arrax.vmap(lambda i, y: shared[i] + y)(np.array([2, 0, 1]), X), [4, 3, 5])
    mapped = arrax.vmap(lambda ref: lax.fori_loop(0, 2, lambda i, c: ref.__setitem__(i, ref[i] * 2), None), in_axes=1)
    mapped(ref)
    np.testing.assert_array_equal(ref[...], [2 * X, [2, 2, 2]])


def test_references_carry_tangents_beside_them():
    def f(ref, y):
        ref[0] = y * ref[1]
        return ref[...]

    primal, tangent = arrax.new_ref(X), arrax.new_ref(np.float32([0, 1, 0]))
    value, derivative = arrax.jvp(f, (primal, 5.0), (tangent, 1.0))
    np.testing.assert_array_equal([value, derivative], [[10, 2, 3], [7, 1, 0]])
    np.testing.assert_array_equal([primal[...], tangent[...]], [[10, 2, 3], [7, 1, 0]])


def test_references_leave_mapped_functions_and_auxiliary_data():
    rows = arrax.vmap(lambda x: arrax.new_ref(2 * x))(X)
    assert isinstance(rows, arrax.Ref)
    rows[0] = -1.0
    np.testing.assert_array_equal(rows[...], [-1, 4, 6])

    def f(x):
        ref = arrax.new_ref(x)
        ref[0] = x[1] * 3
        return jnp.sum(ref[...]), ref

    (_, ref), gradient = arrax.value_and_grad(f, has_aux=True)(X)
    np.testing.assert_array_equal([ref[...], gradient], [[6, 2, 3], [0, 4, 1]])
    gradients, refs = arrax.vmap(arrax.grad(f, has_aux=True))(np.stack([X, X]))
    np.testing.assert_array_equal([refs[...], gradients], [[[6, 2, 3]] * 2, [[0, 4, 1]] * 2])


def test_functions_of_solvers_read_and_make_references():
    def solve(scale, b):
        ref = arrax.new_ref(scale)
        x = lax.custom_linear_solve(lambda x: ref[...] * x, b, lambda matvec, b: b / ref[...], symmetric=True)
        ref[...] = 100.0  # which is later
        return x.sum()

    def root(scale, b):
        ref = arrax.new_ref(scale)
        return lax.custom_root(
            lambda x: x * ref[...] - b, b, lambda f, x: b / ref[...], lambda g, y: y / g(jnp.ones(3))
        ).sum()

    def scaled(x, scale):
        ref = arrax.new_ref(x)
        ref[...] *= scale
        return ref[...]

    def solve_inside(scale, b):
        back = lambda _, b: scaled(b, 1 / scale)  # noqa: E731
        return lax.custom_linear_solve(lambda x: scaled(x, scale), b, back, back).sum()

    def root_inside(scale, b):
        return lax.custom_root(
            lambda x: scaled(x, scale) - b, b, lambda f, x: scaled(b, 1 / scale), lambda g, y: y / g(jnp.ones(3))
        ).sum()

    for function in (solve, root, solve_inside, root_inside):
        for form in (function, arrax.jit(function)):
            np.testing.assert_allclose(form(2.0, X), X.sum() / 2)
        check_gradients(function, [np.float64(2.0), X.astype(np.float64)])
        np.testing.assert_allclose(arrax.vmap(function, (0, None))(np.float32([1, 2]), X), [6, 3])


def noted(ref):
    """The identity, whose cotangents are added to a reference that its rule closes over."""
    tap = arrax.custom_vjp(lambda x: x)
    tap.defvjp(lambda x: (x, None), lambda _, ct: (ref.__setitem__(0, ref[0] + ct), (ct,))[1])
    return tap


@pytest.mark.parametrize(
    ("use", "error", "words"),
    [
        (lambda ref: arrax.grad(lambda y: (ref.__setitem__(0, y), y)[1])(1.0), ValueError, "differentiated value on a non-diff"),
        (lambda ref: arrax.grad(arrax.jit(lambda y: (ref.__setitem__(0, y), y)[1]))(1.0), ValueError, "differentiated value"),
        (lambda ref: arrax.grad(lambda r: r[0])(ref), TypeError, "grad requires arrays"),
        (lambda ref: arrax.vmap(lambda y: ref.__setitem__(0, y))(X), ValueError, "vmapped value on an unbatched array ref"),
        (lambda ref: arrax.vmap(lambda y: arrax.ref.addupdate(ref, 0, y))(X), ValueError, "an addupdate operation"),
        (lambda ref: arrax.vmap(lambda x: ref)(X), ValueError, "cannot be returned"),
        (lambda ref: arrax.vjp(lambda x: arrax.new_ref(x), X), ValueError, "cannot be returned"),
        (lambda ref: arrax.jvp(lambda x: ref, (X,), (X,)), ValueError, "cannot be returned"),
        (lambda ref: lax.scan(lambda c, _: (c, None), ref, None, length=2), ValueError, "cannot be returned"),
        (lambda ref: lax.scan(lambda c, r: (c + ref[0] + r[...], None), 0.0, ref), ValueError, "there twice"),
        (lambda ref: lax.cond(True, lambda a, b: a[0] + b[0], lambda a, b: 0.0, ref, ref), ValueError, "there twice"),
        (
            lambda ref: lax.custom_linear_solve(lambda x: (ref.__setitem__(0, 1.0), x)[1], X, lambda mv, b: b),
            NotImplementedError, "custom_linear_solve: a function writes to a reference",
        ),
        (
            lambda ref: arrax.grad(lambda x: lax.scan(lambda c, _: (noted(ref)(c), None), x, None, length=2)[0])(1.0),
            NotImplementedError, "scan: a derivative rule uses a reference that it closes over",
        ),
        (
            lambda ref: lax.while_loop(lambda n: (ref.__setitem__(0, 0.0), n < 1)[1], lambda n: n + 1, 0),
            NotImplementedError, "cond_fun writes",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(use, error, words):
    with pytest.raises(error, match=words):
        use(arrax.new_ref(jnp.zeros(3)))
