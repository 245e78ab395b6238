"""Optimizers: their formulas, states that travel, schedules, refusals."""

import numpy as np
import pytest

import arrax
from arrax import numpy as jnp
from arrax.example_libraries import optimizers

RNG = np.random.default_rng(0)
PARAMS = {"matrix": RNG.normal(size=(3, 2)).astype(np.float32), "rest": (RNG.normal(size=4).astype(np.float32),)}
GRADS = [arrax.tree.map(lambda x: RNG.normal(size=x.shape).astype(np.float32), PARAMS) for _ in range(4)]


def inverse_root(x):
    return np.where(x > 0, 1 / np.sqrt(np.where(x > 0, x, 1)), 0)


class Plain:
    """The formulas, on one NumPy array."""

    @staticmethod
    def sgd(x, grads):
        for g in grads:
            x = x - 0.1 * g
        return x

    @staticmethod
    def momentum(x, grads):
        v = 0
        for g in grads:
            v = 0.9 * v + g
            x = x - 0.1 * v
        return x

    @staticmethod
    def nesterov(x, grads):
        v = 0
        for g in grads:
            v = 0.9 * v + g
            x = x - 0.1 * (0.9 * v + g)
        return x

    @staticmethod
    def adagrad(x, grads):
        s, m = 0, 0
        for g in grads:
            s = s + g * g
            m = 0.1 * g * inverse_root(s) + 0.9 * m
            x = x - 0.1 * m
        return x

    @staticmethod
    def rmsprop(x, grads):
        s = 0
        for g in grads:
            s = 0.9 * s + 0.1 * g * g
            x = x - 0.1 * g / np.sqrt(s + 1e-8)
        return x

    @staticmethod
    def rmsprop_momentum(x, grads):
        s, v = 0, 0
        for g in grads:
            s = 0.9 * s + 0.1 * g * g
            v = 0.9 * v + 0.1 * g / np.sqrt(s + 1e-8)
            x = x - v
        return x

    @staticmethod
    def adam(x, grads):
        m, v = 0, 0
        for i, g in enumerate(grads, 1):
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
            x = x - 0.1 * (m / (1 - 0.9**i)) / (np.sqrt(v / (1 - 0.999**i)) + 1e-8)
        return x

    @staticmethod
    def adamax(x, grads):
        m, u = 0, 0
        for i, g in enumerate(grads, 1):
            m, u = 0.9 * m + 0.1 * g, np.maximum(0.999 * u, np.abs(g))
            x = x - 0.1 / (1 - 0.9**i) * m / (u + 1e-8)
        return x

    @staticmethod
    def sm3(x, grads):
        sums, m = [np.zeros(n) for n in x.shape], 0
        for g in grads:
            spread = [np.expand_dims(s, tuple(k for k in range(x.ndim) if k != n)) for n, s in enumerate(sums)]
            s = np.minimum.reduce(np.broadcast_arrays(*spread)) + g * g
            m = 0.1 * g * inverse_root(s) + 0.9 * m
            x = x - 0.1 * m
            sums = [s.max(tuple(k for k in range(x.ndim) if k != n)) for n in range(x.ndim)]
        return x


OPTIMIZERS = {
    name: (getattr(optimizers, name)(0.1, *([0.9] if name in ("momentum", "nesterov") else [])), getattr(Plain, name))
    for name in vars(Plain)
    if not name.startswith("_")
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_follow_the_formula(name):
    (init, update, params_of), plain = OPTIMIZERS[name]
    state = init(PARAMS)
    for i, grads in enumerate(GRADS):
        state = arrax.jit(update)(i, grads, state)
    found = params_of(state)
    np.testing.assert_allclose(
        found["matrix"], plain(PARAMS["matrix"], [g["matrix"] for g in GRADS]), rtol=2e-4, atol=1e-5
    )
    np.testing.assert_allclose(
        found["rest"][0], plain(PARAMS["rest"][0], [g["rest"][0] for g in GRADS]), rtol=2e-4, atol=1e-5
    )


def test_numbers_take_the_steps_that_vectors_of_one_element_take():
    for init, update, params_of in (optimizers.sm3(0.5), optimizers.adagrad(0.5)):
        state = init({"number": jnp.float32(3.0), "vector": jnp.array([3.0])})
        for i, slope in enumerate((1.0, 1.0, -2.0)):
            state = update(i, {"number": jnp.float32(slope), "vector": jnp.array([slope])}, state)
        found = params_of(state)
        assert found["number"] == found["vector"][0]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_states_are_packed_and_unpacked(name):
    (init, update, params_of), _ = OPTIMIZERS[name]
    state = update(0, GRADS[0], init(PARAMS))
    tree = optimizers.unpack_optimizer_state(state)
    assert isinstance(tree["matrix"], optimizers.JoinPoint) and set(tree) == set(PARAMS)
    again = optimizers.pack_optimizer_state(tree)
    for one, other in zip(
        arrax.tree.leaves(update(1, GRADS[1], state)), arrax.tree.leaves(update(1, GRADS[1], again)), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(params_of(init(PARAMS))["matrix"], PARAMS["matrix"])


SCHEDULES = {
    "constant": (optimizers.constant(0.3), lambda i: 0.3),
    "exponential": (optimizers.exponential_decay(0.1, 10, 0.5), lambda i: 0.1 * 0.5 ** (i / 10)),
    "inverse": (optimizers.inverse_time_decay(0.1, 10, 0.5), lambda i: 0.1 / (1 + 0.05 * i)),
    "stairs": (optimizers.inverse_time_decay(0.1, 10, 0.5, True), lambda i: 0.1 / (1 + 0.5 * (i // 10))),
    "polynomial": (optimizers.polynomial_decay(0.1, 10, 0.02, 2.0), lambda i: 0.08 * (1 - min(i, 10) / 10) ** 2 + 0.02),
    "pieces": (
        optimizers.piecewise_constant([3, 7], [1.0, 0.5, 0.1]),
        lambda i: 1.0 if i <= 3 else 0.5 if i <= 7 else 0.1,
    ),
    "number": (optimizers.make_schedule(0.2), lambda i: 0.2),
    "function": (optimizers.make_schedule(lambda i: i + 1), lambda i: i + 1),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_follow_their_formula(name):
    ours, plain = SCHEDULES[name]
    for i in (0, 3, 4, 7, 9, 10, 25):
        np.testing.assert_allclose(ours(i), plain(i), rtol=1e-6)
        np.testing.assert_allclose(arrax.jit(ours)(i), plain(i), rtol=1e-6)


def test_gradients_are_clipped_to_a_norm():
    total = np.sqrt(sum(np.sum(x**2) for x in arrax.tree.leaves(GRADS[0])))
    np.testing.assert_allclose(optimizers.l2_norm(GRADS[0]), total, rtol=1e-6)
    np.testing.assert_allclose(optimizers.l2_norm(optimizers.clip_grads(GRADS[0], 0.5)), 0.5, rtol=1e-6)
    same = optimizers.clip_grads(GRADS[0], 100.0)
    np.testing.assert_array_equal(same["matrix"], GRADS[0]["matrix"])


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: optimizers.piecewise_constant([3], [1.0]), ValueError),
        (lambda: optimizers.make_schedule("fast"), TypeError),
        (lambda: optimizers.make_schedule(jnp.ones(2)), TypeError),
        (lambda: optimizers.pack_optimizer_state({"a": 1}), TypeError),
        (lambda: optimizers.sgd(0.1).update_fn(0, {"matrix": 1}, optimizers.sgd(0.1).init_fn(PARAMS)), TypeError),
    ],
)
def test_bad_arguments_are_refused(call, error):
    with pytest.raises(error):
        call()
