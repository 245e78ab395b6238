"""Iterative solvers and minimization: solutions, structures, derivatives, refusals."""

import numpy as np
import pytest
import scipy.optimize

import arrax
from arrax import numpy as jnp
from arrax.scipy import optimize
from arrax.scipy.sparse import linalg
from tests.support import check_gradients

RNG = np.random.default_rng(0)
A = RNG.normal(size=(6, 6)) + 6 * np.eye(6)
SPD = A @ A.T / 6 + np.eye(6)
B = RNG.normal(size=6)


@pytest.fixture(autouse=True)
def wide_numbers():
    with arrax.enable_x64(True):
        yield


SOLVERS = {
    "cg": linalg.cg, "bicgstab": linalg.bicgstab, "gmres": linalg.gmres,
    "incremental": lambda *a, **k: linalg.gmres(*a, solve_method="incremental", **k),
}  # fmt: skip
each_solver = pytest.mark.parametrize("name", SOLVERS)


def operator_of(name):
    return SPD if name == "cg" else A


@each_solver
@pytest.mark.parametrize("preconditioned", [False, True])
def test_solutions_solve_the_system(name, preconditioned):
    a, solve = operator_of(name), SOLVERS[name]
    m = np.diag(1 / np.diag(a)) if preconditioned else None
    for operator in (a, lambda x: a @ x):
        x, info = solve(operator, B, tol=1e-11, M=m)
        assert info is None if name in ("cg", "bicgstab") else info == 0
        np.testing.assert_allclose(a @ np.asarray(x), B, rtol=1e-8, atol=1e-8)
    x, _ = arrax.jit(lambda b, x0: solve(a, b, x0, tol=1e-11, maxiter=100))(B, np.ones(6))
    np.testing.assert_allclose(a @ np.asarray(x), B, rtol=1e-8, atol=1e-8)


@each_solver
def test_complex_systems_are_solved(name):
    a = operator_of(name) + (0 if name == "cg" else 1j * RNG.normal(size=(6, 6)))
    if name == "cg":
        root = A + 1j * RNG.normal(size=(6, 6))
        a = root @ root.conj().T / 6 + np.eye(6)
    b = B + 1j * RNG.normal(size=6)
    np.testing.assert_allclose(a @ np.asarray(SOLVERS[name](a, b, tol=1e-11)[0]), b, rtol=1e-7, atol=1e-7)


@each_solver
def test_unknowns_may_be_pytrees(name):
    b = {"first": B[:2], "second": (B[2:].reshape(2, 2),)}

    def apply(tree):
        return {
            "first": 3 * tree["first"] + tree["second"][0][0],
            "second": (4 * tree["second"][0] + 0.5 * tree["first"],),
        }

    def symmetric(tree):
        return {"first": 3 * tree["first"], "second": (4 * tree["second"][0],)}

    operator = symmetric if name == "cg" else apply
    x, _ = SOLVERS[name](operator, b, tol=1e-12)
    back = operator(x)
    np.testing.assert_allclose(back["first"], b["first"], rtol=1e-9)
    np.testing.assert_allclose(back["second"][0], b["second"][0], rtol=1e-9)


@each_solver
def test_derivatives_solve_the_system_again(name):
    a = operator_of(name)

    def solution(scale, b):
        return SOLVERS[name](lambda x: a @ x + scale * x, b, tol=1e-13, maxiter=200)[0]

    check_gradients(solution, [0.3, B], rtol=1e-5)


def test_many_systems_are_solved_at_once():
    x, _ = arrax.vmap(lambda b: linalg.cg(SPD, b, tol=1e-11))(np.stack([B, 2 * B]))
    np.testing.assert_allclose(np.asarray(x) @ SPD, [B, 2 * B], rtol=1e-8, atol=1e-8)


def test_gmres_goes_on_over_several_cycles():
    x, info = linalg.gmres(A, B, tol=1e-10, restart=2, maxiter=200)
    assert info == 0 and info.weak_type
    np.testing.assert_allclose(A @ np.asarray(x), B, rtol=1e-7, atol=1e-7)


# ---- minimization ---------------------------------------------------------------------------------------------------


def rosenbrock(x):
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def himmelblau(x):
    return (x[0] ** 2 + x[1] - 11) ** 2 + (x[0] + x[1] ** 2 - 7) ** 2


def booth(x):
    return (x[0] + 2 * x[1] - 7) ** 2 + (2 * x[0] + x[1] - 5) ** 2


def beale(x):
    return (
        (1.5 - x[0] + x[0] * x[1]) ** 2 + (2.25 - x[0] + x[0] * x[1] ** 2) ** 2 + (2.625 - x[0] + x[0] * x[1] ** 3) ** 2
    )


PROBLEMS = {rosenbrock: np.zeros(6), himmelblau: np.ones(2), booth: np.array([3.0, -2.0]), beale: np.ones(2) * 0.5}
METHODS = ["BFGS", "l-bfgs-experimental-do-not-rely-on-this"]


SEARCHES = [
    (rosenbrock, METHODS[0]), (rosenbrock, METHODS[1]), (himmelblau, METHODS[0]), (booth, METHODS[1]), (beale, METHODS[0]),
]  # fmt: skip


@pytest.mark.parametrize(("problem", "method"), SEARCHES)
def test_minima_are_found(problem, method):
    options = {} if method == "BFGS" else {"ftol": 0.0}
    found = arrax.jit(lambda x: optimize.minimize(problem, x, method=method, tol=1e-7, options=options))(
        PROBLEMS[problem]
    )
    assert found.success and found.status == 0
    assert np.max(np.abs(found.jac)) < 1e-7 and found.fun < 1e-10
    expected = scipy.optimize.minimize(problem, PROBLEMS[problem], method="BFGS", options={"gtol": 1e-7})
    assert found.nfev < 3 * expected.nfev
    if method == "BFGS":
        np.testing.assert_allclose(found.x, expected.x, rtol=1e-4, atol=1e-4)
        inverse = np.asarray(found.hess_inv)
        np.testing.assert_allclose(inverse, inverse.T, rtol=1e-6, atol=1e-9)
        assert np.all(np.linalg.eigvalsh(inverse) > 0)


def test_limits_end_the_search():
    start = PROBLEMS[rosenbrock]
    few, values, unbounded = arrax.jit(
        lambda start: (
            optimize.minimize(rosenbrock, start, method="BFGS", options={"maxiter": 3}),
            optimize.minimize(rosenbrock, start, method=METHODS[1], options={"maxfun": 5}),
            optimize.minimize(jnp.sum, start, method="BFGS"),
        )
    )(start)
    assert few.nit == 3 and not few.success and few.status == 1
    assert values.status == 5 and not values.success
    assert not unbounded.success


def test_further_arguments_reach_the_function():
    found = optimize.minimize(lambda x, c: jnp.sum((x - c) ** 2), np.zeros(3), (np.arange(3.0),), method="BFGS")
    np.testing.assert_allclose(found.x, np.arange(3.0), atol=1e-5)


@pytest.mark.parametrize("solver", [linalg.cg, linalg.bicgstab, linalg.gmres])
def test_operators_that_change_shapes_or_structures_are_refused(solver):
    name, b = solver.__name__, jnp.ones(3)
    for wrong in (lambda x: x[:2], lambda x: x[:, None]):
        with pytest.raises(
            ValueError, match=rf"^{name}: what the function A returns must have the shapes of b, \[\(3,\)\]"
        ):
            solver(wrong, b)
    with pytest.raises(TypeError, match=f"^{name}: what the function A returns must have the structure of b"):
        solver(lambda tree: {"y": tree["x"]}, {"x": b})
    with pytest.raises(ValueError, match=f"^{name}: what the function M returns must have the shapes of b"):
        solver(lambda x: x, b, M=lambda x: x[:1])


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: linalg.cg(np.ones((2, 3)), np.ones(3)), ValueError),
        (lambda: linalg.cg("matrix", np.ones(3)), TypeError),
        (lambda: linalg.cg(SPD, B, np.ones(2)), ValueError),
        (lambda: linalg.gmres(A, B, solve_method="fast"), ValueError),
        (lambda: optimize.minimize(booth, np.ones(2), method="newton"), ValueError),
        (lambda: optimize.minimize(booth, np.ones((2, 1)), method="BFGS"), ValueError),
        (lambda: optimize.minimize(booth, np.ones(2), [1], method="BFGS"), TypeError),
        (lambda: optimize.minimize(booth, np.ones(2), method="BFGS", options={"speed": 3}), ValueError),
    ],
)
def test_bad_arguments_are_refused(call, error):
    with pytest.raises(error):
        call()


def test_the_minimum_of_a_function_of_nothing_is_found_at_once():
    found = optimize.minimize(lambda x: jnp.sum(x**2), jnp.zeros(0), method="BFGS")
    assert found.success and found.nit == 0 and found.fun == 0 and found.x.shape == (0,)


@pytest.mark.parametrize("method", ["bfgs", "l-bfgs-experimental-do-not-rely-on-this"])
def test_minimization_promotes_no_ranks(method):
    with arrax.numpy_rank_promotion("raise"):
        found = arrax.scipy.optimize.minimize(
            lambda x: jnp.sum((x - 1) ** 2 * jnp.arange(1.0, 3.0)), jnp.zeros(2), method=method
        )
    np.testing.assert_allclose(found.x, [1, 1], atol=1e-4)
