"""lax.custom_root and lax.custom_linear_solve: values and implicit derivatives."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.lax.control_flow import custom_linear_solve, custom_root

DIAGONAL = np.array([1.0, 2.0, 4.0], np.float32)
RIGHT = np.array([3.0, 5.0, 7.0], np.float32)


def newton(f, guess):
    """Newton's method in a loop that has no reverse mode of its own."""

    def better(x):
        return lax.sub(x, lax.div(f(x), arrax.jvp(f, (x,), (1.0,))[1]))

    return lax.while_loop(lambda x: lax.gt(lax.abs(f(x)), 1e-5), better, guess)


def square_root(a):
    return custom_root(lambda x: lax.sub(lax.mul(x, x), a), 1.0, newton, lambda g, y: lax.div(y, g(1.0)))


@pytest.mark.parametrize("wrap", [lambda f: f, arrax.jit], ids=["eager", "jit"])
def test_roots_are_differentiated_implicitly(wrap):
    assert_allclose(wrap(square_root)(4.0), 2, rtol=1e-5)
    assert_allclose(wrap(arrax.grad(square_root))(4.0), 1 / 4, rtol=1e-5)
    assert_allclose(wrap(lambda a: arrax.jvp(square_root, (a,), (2.0,))[1])(4.0), 1 / 2, rtol=1e-5)
    assert_allclose(wrap(arrax.grad(arrax.grad(square_root)))(4.0), -1 / 32, rtol=1e-4)


def test_roots_under_vmap():
    squares = np.array([1.0, 4.0, 9.0], np.float32)
    assert_allclose(arrax.vmap(square_root)(squares), [1, 2, 3], rtol=1e-5)
    assert_allclose(arrax.vmap(arrax.grad(square_root))(squares), [1 / 2, 1 / 4, 1 / 6], rtol=1e-5)
    total = arrax.grad(lambda a: lax.reduce_sum(arrax.vmap(square_root)(a), (0,)))
    assert_allclose(total(squares), [1 / 2, 1 / 4, 1 / 6], rtol=1e-5)


def test_roots_with_auxiliary_output():
    def solve(f, guess):
        x = newton(f, guess)
        return x, {"residual": f(x)}

    def f(a):
        return custom_root(
            lambda x: lax.sub(lax.mul(x, x), a), 1.0, solve, lambda g, y: lax.div(y, g(1.0)), has_aux=True
        )

    root, aux = f(4.0)
    assert_allclose(root, 2, rtol=1e-5)
    assert abs(float(np.asarray(aux["residual"]))) < 1e-4
    assert_allclose(arrax.grad(lambda a: f(a)[0])(4.0), 1 / 4, rtol=1e-5)


def test_a_function_of_another_type_is_refused():
    with pytest.raises(TypeError, match="f must return the types"):
        custom_root(lambda x: lax.gt(x, 1.0), 1.0, newton, lambda g, y: y)
    with pytest.raises(TypeError, match="tangent_solve must return the pytree structure"):
        custom_root(lambda x: x, 1.0, lambda f, x: x, lambda g, y: (y, y))


def diagonal_solve(a, b, **options):
    return custom_linear_solve(lambda x: lax.mul(a, x), b, lambda _, b: lax.div(b, a), **options)


VARIANTS = pytest.mark.parametrize(
    "make",
    [
        lambda a: {"transpose_solve": lambda _, b: lax.div(b, a)},
        lambda a: {"symmetric": True},
        lambda a: {},
    ],
    ids=["transpose_solve", "symmetric", "transposed solver"],
)


@VARIANTS
def test_linear_solves_have_the_derivatives_of_the_solution(make):
    def f(a, b):
        return lax.reduce_sum(lax.mul(diagonal_solve(a, b, **make(a)), DIAGONAL), (0,))

    def plain(a, b):
        return lax.reduce_sum(lax.mul(lax.div(b, a), DIAGONAL), (0,))

    assert_allclose(f(DIAGONAL, RIGHT), plain(DIAGONAL, RIGHT))
    for found, expected in zip(
        arrax.grad(f, (0, 1))(DIAGONAL, RIGHT), arrax.grad(plain, (0, 1))(DIAGONAL, RIGHT), strict=True
    ):
        assert_allclose(found, expected, rtol=1e-5)
    assert_allclose(arrax.hessian(f)(DIAGONAL, RIGHT), arrax.hessian(plain)(DIAGONAL, RIGHT), rtol=1e-5)
    many = np.stack([DIAGONAL, DIAGONAL + 1])
    for argument in (0, 1):
        found = arrax.vmap(arrax.grad(f, argument), (0, None))(many, RIGHT)
        assert_allclose(found, arrax.vmap(arrax.grad(plain, argument), (0, None))(many, RIGHT), rtol=1e-5)


def test_reverse_mode_through_a_loop_needs_a_transposed_solver():
    def f(b):
        def solve(matvec, b):
            def better(x):
                return lax.add(x, lax.mul(0.2, lax.sub(b, matvec(x))))

            return lax.while_loop(
                lambda x: lax.gt(lax.reduce_max(lax.abs(lax.sub(b, matvec(x))), (0,)), 1e-4), better, b
            )

        return lax.reduce_sum(custom_linear_solve(lambda x: lax.mul(DIAGONAL, x), b, solve), (0,))

    assert_allclose(f(RIGHT), (RIGHT / DIAGONAL).sum(), rtol=1e-3)
    assert_allclose(arrax.jvp(f, (RIGHT,), (RIGHT,))[1], (RIGHT / DIAGONAL).sum(), rtol=1e-3)
    with pytest.raises(TypeError, match="transpose_solve required for backwards mode"):
        arrax.grad(f)(RIGHT)


def test_auxiliary_output_of_a_linear_solve():
    x, aux = custom_linear_solve(lambda x: lax.mul(x, 2.0), 4.0, lambda _, b: (lax.div(b, 2.0), 7), has_aux=True)
    assert_allclose(x, 2)
    assert int(np.asarray(aux)) == 7


def test_solutions_of_another_type_are_refused():
    with pytest.raises(TypeError, match="solve must return the types"):
        custom_linear_solve(lambda x: x, 4.0, lambda _, b: lax.gt(b, 0.0))
    with pytest.raises(ValueError, match="solve must return the types"):
        custom_linear_solve(lambda x: x, 4.0, lambda _, b: jnp.ones(2))
    with pytest.raises(ValueError, match="matvec must return the pytree structure"):
        custom_linear_solve(lambda x: (x, x), 4.0, lambda _, b: b)
    with pytest.raises(TypeError, match="solve must return the pytree structure"):
        custom_linear_solve(lambda x: x, {"a": 4.0}, lambda _, b: [b["a"]])
    with pytest.raises(TypeError, match="since has_aux=True"):
        custom_linear_solve(lambda x: x, 4.0, lambda _, b: b, has_aux=True)


def test_solutions_are_weakly_typed_where_the_solver_gives_them_so():
    root = custom_root(lambda x: x - 2.0, 1.0, lambda f, x: x + 1.0, lambda g, y: y / g(1.0))
    solution, slope = arrax.jvp(lambda b: custom_linear_solve(lambda x: 2 * x, b, lambda _, b: b / 2), (3.0,), (1.0,))
    assert root.weak_type and solution.weak_type and slope.weak_type
    square_root = lambda a: custom_root(lambda x: x * x - a, 1.0, lambda f, x: x + 1.0, lambda g, y: y / g(1.0))  # noqa: E731
    gradient = arrax.grad(square_root)(np.float32(2))
    assert gradient == 0.25 and not gradient.weak_type
    firm = custom_linear_solve(lambda x: 2 * x, np.float32(3), lambda _, b: b / 2)
    narrow = jnp.bfloat16(2)
    wide = custom_root(lambda x: x - narrow, 1.0, lambda f, x: x * narrow, lambda g, y: y / g(1.0))
    assert wide == 2 and wide.dtype == np.float32
    assert not firm.weak_type and not custom_root(lambda x: x, 1.0, lambda f, x: np.float32(0) * x, newton).weak_type
