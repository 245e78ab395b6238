"""Recomputation: values and derivatives as without it, and what is kept for the backward pass by each policy."""

import functools

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import ad_checkpoint, lax
from arrax.ad_checkpoint import checkpoint_name, print_saved_residuals
from arrax.experimental import io_callback

X = jnp.linspace(0.1, 1.0, 4).reshape(2, 2)
policies = arrax.checkpoint_policies


def network(x):
    y = checkpoint_name(jnp.sin(x @ x), "hidden")
    return jnp.tanh(checkpoint_name(y @ x, "output")).sum()


# fmt: off
KEPT = {  # policy -> residuals that are no arguments
    "nothing":          (None, 0),
    "nothing_saveable": (policies.nothing_saveable, 0),
    "dots":             (policies.dots_saveable, 2),
    "dots, no batch":   (policies.dots_with_no_batch_dims_saveable, 2),
    "old name":         (policies.checkpoint_dots, 2),
    "one name":         (policies.save_only_these_names("hidden"), 1),
    "two names":        (policies.save_only_these_names("hidden", "output"), 2),
    "either policy":    (policies.save_from_both_policies(policies.save_only_these_names("hidden"),
                                                          policies.save_only_these_names("output")), 2),
}
# fmt: on


def kept(f, x, capsys):
    print_saved_residuals(f, x)
    return [line for line in capsys.readouterr().out.splitlines() if "argument" not in line]


@pytest.mark.parametrize("case", KEPT)
def test_policies_decide_what_is_kept(case, capsys):
    policy, count = KEPT[case]
    assert len(kept(arrax.checkpoint(network, policy=policy), X, capsys)) == count


def test_everything_is_what_no_recomputation_keeps(capsys):
    whole = kept(arrax.checkpoint(network, policy=policies.everything_saveable), X, capsys)
    assert len(whole) >= len(kept(network, X, capsys)) > 2
    assert kept(arrax.checkpoint(network, policy=policies.save_anything_except_these_names("hidden")), X, capsys)


@pytest.mark.parametrize("policy", [None, policies.dots_saveable, policies.everything_saveable])
def test_values_and_derivatives_do_not_change(policy):
    again = arrax.checkpoint(network, policy=policy)
    batch = jnp.stack([X, 2 * X, -X])
    for transformed in (
        lambda f: f(X),
        lambda f: arrax.grad(f)(X),
        lambda f: arrax.jit(arrax.grad(f))(X),
        lambda f: arrax.jvp(f, (X,), (X,))[1],
        lambda f: arrax.vmap(arrax.grad(f))(batch),
        lambda f: arrax.grad(lambda x: arrax.grad(f)(x).sum())(X),
        lambda f: arrax.linearize(f, X)[1](X),
        lambda f: arrax.lax.scan(lambda c, x: (c + f(x), arrax.grad(f)(x)), 0.0, batch)[1],
    ):
        np.testing.assert_allclose(transformed(again), transformed(network), rtol=2e-5)


def test_recursive_recomputation_keeps_few_values(capsys):
    def chain(functions):
        if len(functions) == 1:
            return functions[0]
        first, second = functions[: len(functions) // 2], functions[len(functions) // 2 :]
        if len(functions) == 2:
            return lambda x: first[0](second[0](x))
        return lambda x: chain(first)(arrax.checkpoint(chain(second))(x))

    print_saved_residuals(chain([jnp.sin] * 8), 3.0)
    lines = capsys.readouterr().out.splitlines()
    assert sum("argument" in line for line in lines) == 1 and sum("output of sin" in line for line in lines) == 1
    assert sum("output of cos" in line for line in lines) == 2 and len(lines) == 4
    print_saved_residuals(lambda x: functools.reduce(lambda y, _: jnp.sin(y), range(8), x), 3.0)
    assert capsys.readouterr().out.count("output of cos") == 8


def test_static_arguments_and_keywords():
    @functools.partial(arrax.checkpoint, static_argnums=(1,))
    def f(x, double, *, scale=1.0):
        return scale * x * (2 if double else 1)

    assert arrax.grad(f)(3.0, True) == 2 and arrax.grad(f)(3.0, False, scale=5.0) == 5
    with pytest.raises(Exception, match="static_argnums|bool"):
        arrax.checkpoint(lambda x, double: x if double else -x)(1.0, True)


def test_names_are_the_identity():
    np.testing.assert_array_equal(checkpoint_name(X, "n"), X)
    assert arrax.grad(lambda x: checkpoint_name(x, "n") ** 2)(3.0) == 6
    np.testing.assert_array_equal(arrax.vmap(lambda x: checkpoint_name(x, "n"))(X), X)


def test_random_numbers_and_closed_over_tracers():
    def loss(w, key):
        return arrax.checkpoint(lambda x: jnp.sum(w * x * arrax.random.uniform(key, (2, 2))))(X)

    key = arrax.random.key(0)
    expected = X * arrax.random.uniform(key, (2, 2))
    np.testing.assert_allclose(arrax.jit(arrax.grad(loss))(jnp.ones((2, 2)), key), expected, rtol=1e-6)


def _layers(ws, x):
    def layer(c, w):
        return jnp.tanh(checkpoint_name(jnp.sin(c @ w), "sine")), c.sum()

    c, sums = lax.scan(layer, x, ws)
    return c.sum() + (sums**2).sum()


def _branches(ws, x):
    return lax.cond(x.sum() > 0, lambda x: jnp.sin(x @ ws[0]), lambda x: jnp.cos(jnp.sin(x @ ws[1]) @ ws[0]), x).sum()


def _nested(ws, x):
    def outer(c, w):
        c, _ = lax.scan(lambda c, _: (jnp.sin(arrax.jit(lambda c: c @ w)(c)), None), c, None, length=2)
        return lax.cond(c.sum() > 0, lambda c: jnp.sin(c @ w), lambda c: c, c), None

    return lax.scan(outer, x, ws)[0].sum()


@pytest.mark.parametrize("function", [_layers, _branches, _nested])
def test_policies_reach_into_loops_and_branches(function):
    ws = jnp.asarray(np.random.default_rng(0).normal(size=(3, 4, 4)).astype("f"))
    x = jnp.ones((4, 4)) * 0.3
    policies = arrax.checkpoint_policies
    expected = arrax.grad(function, (0, 1))(ws, x)
    counts = []
    for policy in (policies.nothing_saveable, policies.dots_saveable, policies.everything_saveable,
                   policies.save_only_these_names("sine")):  # fmt: skip
        derivative = arrax.grad(arrax.checkpoint(function, policy=policy), (0, 1))
        for found, wanted in zip(arrax.jit(derivative)(ws, x), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-5)
        counts.append(str(arrax.make_jaxpr(derivative)(ws, x)).count("dot_general["))
    assert counts[0] > counts[1] == counts[2] and counts[3] == counts[0]
    mapped = arrax.vmap(arrax.grad(arrax.checkpoint(function, policy=policies.dots_saveable)), (None, 0))
    np.testing.assert_allclose(mapped(ws, jnp.stack([x, x]))[1], expected[0], rtol=2e-5, atol=1e-5)


def test_prints_happen_again_where_values_are_computed_again(capsys):
    arrax.grad(arrax.checkpoint(lambda x: (arrax.debug.print("y {}", x), jnp.exp(x))[1]))(2.0)
    arrax.effects_barrier()
    assert capsys.readouterr().out == "y 2.0\n" * 2


@pytest.mark.parametrize("prevent_cse", [True, False, (False, True), ({"w": False, "b": True}, True)])
def test_only_chosen_arguments_go_through_the_barrier(prevent_cse):
    def f(p, x, y=1.0):
        return jnp.sin(p["w"] @ x + p["b"]) * y

    loss = lambda g: lambda p, x: (g(p, x, y=2.0) ** 2).sum()  # noqa: E731
    p, x = {"w": jnp.ones((5, 5)) * 0.1, "b": jnp.ones(5)}, jnp.ones(5)
    checked = loss(arrax.checkpoint(f, prevent_cse=prevent_cse))
    derivative = arrax.jit(arrax.grad(checked, (0, 1)))
    found, expected = derivative(p, x), arrax.grad(loss(f), (0, 1))(p, x)
    np.testing.assert_allclose(found[0]["w"], expected[0]["w"], rtol=1e-5)
    np.testing.assert_allclose(
        arrax.hessian(lambda x: checked(p, x))(x), arrax.hessian(lambda x: loss(f)(p, x))(x), rtol=1e-4
    )
    lines = [line for line in derivative.lower(p, x).as_text().splitlines() if "optimization_barrier" in line]
    matrices = [line for line in lines if "5x5" in line]
    assert bool(lines) == bool(prevent_cse) and bool(matrices) == (prevent_cse is True)


def test_flags_for_the_barrier_must_fit_the_arguments():
    with pytest.raises(ValueError, match="prevent_cse"):
        arrax.checkpoint(lambda x, y: x * y, prevent_cse=(True,))(1.0, 2.0)


def test_static_arguments_need_not_be_hashable():
    calls = []

    @functools.partial(arrax.checkpoint, static_argnums=(0,))
    def scaled(settings, x):
        calls.append(settings["factor"])
        return settings["factor"] * jnp.sin(x)

    settings = {"factor": 2.0}
    np.testing.assert_allclose(arrax.grad(lambda x: scaled(settings, x))(1.0), 2 * np.cos(1.0), rtol=1e-6)
    scaled(settings, 1.0)
    assert calls == [2.0]  # the same object: not traced again
    np.testing.assert_allclose(scaled({"factor": 3.0}, 1.0), 3 * np.sin(1.0), rtol=1e-6)


def test_policies_may_say_more_than_yes_and_no():
    def saves(decision):
        f = arrax.checkpoint(lambda x: jnp.sin(jnp.cos(x)) * 2, policy=lambda *_, **__: decision)
        program = arrax.make_jaxpr(lambda x: arrax.linearize(f, x)[1](x))(1.0)
        recomputed = [eqn for eqn in program.eqns if eqn.primitive.name == "remat2"]
        return not any(inner.primitive.name == "cos" for eqn in recomputed for inner in eqn.params["jaxpr"].eqns)

    assert saves(ad_checkpoint.Saveable) and saves(ad_checkpoint.Offloadable("device", "pinned_host"))
    assert not saves(ad_checkpoint.Recompute) and not saves(False) and saves(True)


OFFLOADING = [
    policies.save_and_offload_only_these_names(
        names_which_can_be_saved=["output"], names_which_can_be_offloaded=["hidden"],
        offload_src="device", offload_dst="pinned_host",
    ),
    policies.offload_dot_with_no_batch_dims("device", "pinned_host"),
]  # fmt: skip


@pytest.mark.parametrize("policy", OFFLOADING, ids=["names", "dots"])
@pytest.mark.parametrize("looped", [False, True], ids=["plain", "in a loop"])
def test_offloaded_values_wait_in_the_memory_of_the_host(policy, looped):
    def f(x):
        return lax.scan(lambda c, _: (network(c) * c, None), x, None, 2)[0].sum() if looped else network(x)

    checked = arrax.checkpoint(f, policy=policy)
    program = str(arrax.make_jaxpr(arrax.grad(checked))(X))
    assert "<host>" in program and "MemorySpace.Host" in program and "MemorySpace.Device" in program
    expected = arrax.grad(f)(X)
    np.testing.assert_allclose(arrax.jit(arrax.grad(checked))(X), expected, rtol=1e-5)
    np.testing.assert_allclose(arrax.grad(checked)(X), expected, rtol=1e-5)


def test_names_are_saved_in_one_place_only():
    with pytest.raises(ValueError, match=r"share \['a'\]"):
        policies.save_and_offload_only_these_names(
            names_which_can_be_saved=["a"], names_which_can_be_offloaded=["a"], offload_src="", offload_dst=""
        )


@pytest.mark.parametrize("number", [2, -3])
def test_static_positions_without_an_argument_are_refused(number):
    with pytest.raises(ValueError, match="checkpoint: static_argnums=.* 2 positional arguments"):
        arrax.checkpoint(lambda x, y: x, static_argnums=number)(1.0, 2)


def test_static_arguments_are_named():
    def f(x, exact=True):
        return jnp.sin(x) if exact else x

    for f_remat in (
        arrax.checkpoint(f, static_argnames="exact"),
        arrax.checkpoint(static_argnames=("exact",))(f),
    ):
        gradient = arrax.grad(f_remat)
        assert gradient(1.0, exact=False) == gradient(1.0, False) == 1
        assert gradient(1.0) == jnp.cos(1.0)
        assert f_remat(2.0, exact=[]) == 2


def test_effects_that_happen_once_are_refused_where_they_would_be_computed_again():
    def f(x):
        io_callback(lambda: None, None)
        return jnp.sin(x)

    assert float(arrax.checkpoint(f)(0.0)) == 0
    for call in (arrax.grad(arrax.checkpoint(f)), arrax.jit(arrax.grad(arrax.checkpoint(f)))):
        with pytest.raises(NotImplementedError, match="IO effect not supported in a checkpoint that is differentiated"):
            call(1.0)


@pytest.mark.parametrize("said", [None, "save", 1])
def test_policies_say_yes_or_no(said):
    for policy in (
        lambda *_, **__: said,
        arrax.checkpoint_policies.save_only_these_names,
    ):  # the latter is to be called first
        with pytest.raises(TypeError, match="checkpoint: a policy must return a bool"):
            arrax.grad(arrax.checkpoint(jnp.sin, policy=policy))(1.0)
    assert arrax.grad(arrax.checkpoint(jnp.sin, policy=lambda *_, **__: np.True_))(0.0) == 1
