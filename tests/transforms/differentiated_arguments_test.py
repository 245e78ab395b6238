"""``argnums`` of derivatives: read once, in every spelling of positions."""

import numpy as np
import pytest

import arrax


def product(x, y):
    return x * y


@pytest.mark.parametrize("argnums", [np.int64(1), np.array(1), -1, True])
@pytest.mark.parametrize("derivative", [arrax.grad, arrax.jacfwd, arrax.jacrev])
def test_one_position_gives_one_derivative(derivative, argnums):
    assert derivative(product, argnums)(2.0, 3.0) == 2


@pytest.mark.parametrize("argnums", [np.int64(1), np.array(1), -1])
def test_one_position_gives_one_cotangent(argnums):
    fwd, bwd = arrax.fwd_and_bwd(product, argnums)
    assert bwd(fwd(2.0, 3.0)[1], 1.0) == 2


@pytest.mark.parametrize("argnums", [(1, 0), [1, 0], np.array([1, 0]), range(1, -1, -1)])
def test_several_positions_give_a_tuple_in_their_order(argnums):
    assert arrax.grad(product, argnums)(2.0, 3.0) == (2, 3)


def test_an_iterator_is_read_once():
    derivative = arrax.grad(product, iter([1, 0]))
    assert derivative(2.0, 3.0) == derivative(2.0, 3.0) == (2, 3)


@pytest.mark.parametrize("argnums", [None, "x", 1.5, (0, None)])
def test_what_is_no_position_is_refused_where_the_derivative_is_asked_for(argnums):
    with pytest.raises(TypeError, match="argnums must be an int or a sequence of ints"):
        arrax.grad(product, argnums)
    with pytest.raises(TypeError, match="argnums must be an int or a sequence of ints"):
        arrax.fwd_and_bwd(product, argnums)


def test_positions_that_a_call_does_not_have_are_refused_there():
    with pytest.raises(TypeError, match="the call has only 2 positional arguments, it would need 3"):
        arrax.grad(product, 2)(1.0, 2.0)
    with pytest.raises(ValueError, match="names an argument twice"):
        arrax.grad(product, (1, -1))(1.0, 2.0)


@pytest.mark.parametrize("derivative", [arrax.grad, arrax.value_and_grad, arrax.jacfwd, arrax.jacrev, arrax.hessian])
def test_what_has_no_derivative_is_named(derivative):
    def loss(x, params):
        return x * params["w"][0]

    for params, said in [
        ({"n": 3, "w": [1.0]}, r"got int32.*params\['n'\]"),
        ({"w": [True]}, r"got bool.*params\['w'\]\[0\]"),
    ]:
        with pytest.raises(TypeError, match=said):
            derivative(loss, -1)(2.0, params)
    with pytest.raises(TypeError, match=r"Argument 'a' of type <class 'str'>.*params\['name'\]"):
        derivative(loss, (0, 1))(2.0, {"w": [1.0], "name": "a"})
