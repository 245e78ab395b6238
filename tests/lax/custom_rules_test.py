"""Functions with derivative rules of their own that close over traced values: every transformation but derivatives works."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp


def with_jvp(y):
    @arrax.custom_jvp
    def product(x):
        return x * y

    product.defjvp(lambda primals, tangents: (product(*primals), 7 * tangents[0] * y))
    return product


def with_vjp(y):
    @arrax.custom_vjp
    def product(x):
        return x * y

    product.defvjp(lambda x: (product(x), None), lambda _, ct: (7 * ct * y,))
    return product


each_kind = pytest.mark.parametrize("make", [with_jvp, with_vjp])
Y = np.arange(3.0, dtype=np.float32)

# fmt: off
USES = {  # a function of one value that the rule closes over, and its result for Y
    "call":             (lambda make: lambda y: make(y)(2.0),                                             2 * Y),
    "grad":             (lambda make: lambda y: arrax.grad(make(y))(2.0),                                 7 * Y),
    "grad of jit":      (lambda make: lambda y: arrax.grad(arrax.jit(make(y)))(2.0),                      7 * Y),
    "checkpoint":       (lambda make: lambda y: arrax.grad(arrax.checkpoint(make(y)))(2.0),               7 * Y),
    "vjp":              (lambda make: lambda y: arrax.vjp(make(y), 2.0)[1](1.0)[0],                       7 * Y),
    "inner vmap":       (lambda make: lambda y: arrax.vmap(make(y))(jnp.arange(2.0)),                     Y[:, None] * Y[:2]),
    "grad in a vmap":   (lambda make: lambda y: arrax.vmap(arrax.grad(make(y)))(jnp.ones(2)).sum(),       14 * Y),
}
# fmt: on


@each_kind
@pytest.mark.parametrize("use", USES)
def test_rules_may_close_over_values_of_vmap(make, use):
    build, expected = USES[use]
    np.testing.assert_allclose(arrax.vmap(build(make))(Y), expected)
    np.testing.assert_allclose(arrax.jit(arrax.vmap(build(make)))(Y), expected)


@each_kind
@pytest.mark.parametrize("use", USES)
def test_rules_may_close_over_values_of_jit(make, use):
    build, expected = USES[use]
    np.testing.assert_allclose(arrax.jit(build(make))(Y[2]), expected[2])


def test_a_derivative_outside_of_the_vmap_uses_the_rule():
    total = lambda x: arrax.vmap(lambda y: with_jvp(y)(x))(Y).sum()  # noqa: E731
    assert arrax.grad(total)(2.0) == 21 and arrax.jit(arrax.grad(total))(2.0) == 21


@each_kind
def test_results_that_do_not_depend_on_the_batch_stay_unbatched(make):
    unmapped = lambda x: (make(3.0)(2.0), arrax.grad(make(3.0))(2.0))  # noqa: E731
    assert arrax.vmap(unmapped, out_axes=None)(Y) == (6, 21)


def test_programs_of_batches_have_no_tracers_among_their_constants():
    program = arrax.make_jaxpr(arrax.vmap(lambda y: with_jvp(y)(2.0)))(Y)
    assert not program.consts and program.out_avals[0].shape == (3,)


@each_kind
@pytest.mark.parametrize("use", [lambda f: f, arrax.jit], ids=["call", "jit"])
def test_derivatives_by_a_closed_over_value_are_refused(make, use):
    with pytest.raises(arrax.errors.UnexpectedTracerError, match="with respect to a closed-over value"):
        arrax.grad(lambda y: use(make(y))(2.0))(3.0)


def test_traced_values_in_nondiff_positions_of_custom_jvp_are_batched():
    @lambda fun: arrax.custom_jvp(fun, nondiff_argnums=(1,))
    def scale(x, n):
        return x * n

    scale.defjvp(lambda n, primals, tangents: (scale(*primals, n), n * tangents[0]))
    np.testing.assert_allclose(arrax.vmap(lambda n: arrax.grad(scale)(2.0, n))(Y), Y)


@pytest.mark.parametrize("given", [lambda n: n, lambda n: (n, 1)], ids=["value", "container"])
def test_traced_values_in_nondiff_positions_of_custom_vjp_are_refused(given):
    f = arrax.custom_vjp(lambda x, n: x, nondiff_argnums=(1,))
    f.defvjp(lambda x, n: (x, None), lambda n, _, ct: (ct,))
    with pytest.raises(arrax.errors.UnexpectedTracerError, match="nondiff_argnums"):
        arrax.jit(lambda n: f(1.0, given(n)))(2.0)


def test_backward_rules_get_arrays_from_grad():
    seen = []
    f = arrax.custom_vjp(lambda x: 2 * x)
    f.defvjp(lambda x: (2 * x, None), lambda _, ct: (seen.append((ct.shape, ct.dtype)), (2 * ct,))[1])
    assert arrax.grad(f)(1.0) == 2
    assert seen == [((), np.float32)]


def test_cotangents_may_have_anything_where_an_argument_has_nothing():
    class Node:
        def __init__(self, *parts):
            self.parts = parts

    arrax.tree_util.register_pytree_node(Node, lambda node: (node.parts, None), lambda _, parts: Node(*parts))
    f = arrax.custom_vjp(lambda node: node.parts[0] * 2)
    f.defvjp(lambda node: (node.parts[0] * 2, None), lambda _, ct: (Node(3 * ct, None),))
    assert arrax.grad(lambda x: f(Node(x, None)))(1.0) == 3


def test_functions_with_a_forward_rule_are_transposed_where_they_are_linear():
    y = jnp.arange(3.0)
    (ct,) = arrax.linear_transpose(with_jvp(y), Y)(jnp.ones(3))
    np.testing.assert_array_equal(ct, Y)
    (cts,) = arrax.vmap(arrax.linear_transpose(arrax.jit(with_jvp(2.0)), Y))(jnp.ones((2, 3)))
    np.testing.assert_array_equal(cts, np.full((2, 3), 2))


def test_backward_rules_are_asked_for_what_others_give_no_cotangent_of():
    """What a backward rule returns may mean something else than a derivative: a history, for example."""

    @arrax.custom_vjp
    def recorded(x):
        return x

    recorded.defvjp(lambda x: (x, x), lambda x, ct: (x + 1 + ct,))

    @arrax.custom_vjp
    def without(x):
        return x

    without.defvjp(lambda x: (x, None), lambda _, ct: (None,))
    for f in (lambda x: without(recorded(x)), arrax.jit(lambda x: without(3 * recorded(x)) + x - x)):
        assert arrax.grad(f)(2.0) == 3
    assert arrax.grad(lambda x: (recorded(x), x)[1])(2.0) == 1
    assert arrax.vjp(lambda x, n: without(x) * n, 2.0, 3)[1](1.0)[0] == 0
