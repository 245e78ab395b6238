"""Long short-term memory: values against the equations written out, lengths, directions, weights, derivatives."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax.experimental import rnn
from arrax.test_util import check_grads

INPUTS, HIDDEN, LAYERS, BATCH, TIME = 3, 2, 2, 2, 4
KEY = arrax.random.key(0)


def network(bidirectional, layers=LAYERS):
    count = layers * (2 if bidirectional else 1)
    x, h, c = (
        arrax.random.normal(arrax.random.fold_in(KEY, n), shape)
        for n, shape in enumerate([(BATCH, TIME, INPUTS), (count, BATCH, HIDDEN), (count, BATCH, HIDDEN)])
    )
    return x, h, c, rnn.init_lstm_weight(KEY, INPUTS, HIDDEN, layers, bidirectional)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def one_sequence(rows, h, c, w_ih, w_hh, b_ih, b_hh):
    """The equations, step by step."""
    outs = []
    for row in rows:
        i, f, g, o = np.split(w_ih @ row + b_ih + w_hh @ h + b_hh, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        outs.append(h)
    return np.array(outs), h, c


@pytest.mark.parametrize("bidirectional", [False, True])
def test_values_are_those_of_the_equations(bidirectional):
    x, h, c, weights = network(bidirectional)
    lengths = [TIME, 2]
    out, last_h, last_c = arrax.jit(rnn.lstm, static_argnums=range(5, 10))(
        x, h, c, weights, jnp.array(lengths), INPUTS, HIDDEN, LAYERS, 0.0, bidirectional
    )
    parts = [
        {n: np.asarray(p, np.float64) for n, p in part.items()}
        for part in rnn.unpack_lstm_weights(weights, INPUTS, HIDDEN, LAYERS, bidirectional)
    ]
    for sequence, length in enumerate(lengths):
        rows = np.asarray(x[sequence, :length], np.float64)
        for layer in range(LAYERS):
            outs = []
            for direction in range(1 + bidirectional):
                n = layer * (1 + bidirectional) + direction
                turn = slice(None, None, -1 if direction else 1)
                got, last, cell = one_sequence(rows[turn], h[n, sequence], c[n, sequence], *(part[n] for part in parts))
                outs.append(got[turn])
                np.testing.assert_allclose(last_h[n, sequence], last, atol=1e-6)
                np.testing.assert_allclose(last_c[n, sequence], cell, atol=1e-6)
            rows = np.concatenate(outs, axis=1)
        np.testing.assert_allclose(out[sequence, :length], rows, atol=1e-6)
        assert not out[sequence, length:].any()
    again = rnn.lstm_ref(
        x, h, c, *rnn.unpack_lstm_weights(weights, INPUTS, HIDDEN, LAYERS, bidirectional), jnp.array(lengths),
        INPUTS, HIDDEN, LAYERS, 0.0, bidirectional,
    )  # fmt: skip
    np.testing.assert_allclose(again[0], out, atol=1e-6)


def test_weights_lie_in_order_and_gates_change_places():
    count = rnn.get_num_params_in_lstm(3, 2, 2, True)
    w_ih, w_hh, b_ih, b_hh = rnn.unpack_lstm_weights(jnp.arange(count), 3, 2, 2, True)
    assert count == 240 and [p.shape for p in w_ih.values()] == [(8, 3)] * 2 + [(8, 4)] * 2
    assert [int(p[0, 0]) for p in w_ih.values()] == [0, 40, 80, 128] and int(w_hh[1][0, 1]) == 65
    assert [int(p[0]) for p in b_ih.values()] == [176, 192, 208, 224] and int(b_hh[3][1]) == 233
    swapped = rnn.swap_lstm_gates(jnp.arange(count), 3, 2, 2, True)
    assert (
        swapped[12:18].tolist() == list(range(18, 24))
        and (rnn.swap_lstm_gates(swapped, 3, 2, 2, True) == np.arange(count)).all()
    )
    initial = rnn.init_lstm_weight(KEY, 3, 4, 1, False)
    assert initial.shape == (144,) and 0.4 < abs(initial).max() < 0.5


def test_derivatives_and_batches():
    x, h, c, weights = network(False, 1)

    def f(x, h, weights):
        out, last, _ = rnn.lstm(x, h, c, weights, jnp.array([TIME, 2]), INPUTS, HIDDEN, 1, 0.0, False)
        return (out**2).sum() + last.sum()

    check_grads(f, (x, h, weights), order=1, modes=["rev"])
    mapped = arrax.vmap(f, (0, None, None))(jnp.stack([x, 2 * x]), h, weights)
    np.testing.assert_allclose(mapped, [f(x, h, weights), f(2 * x, h, weights)], rtol=1e-5)


def test_what_does_not_fit_is_refused():
    x, h, c, weights = network(False, 1)
    lengths = jnp.array([4, 4])
    for args, message in [
        ((x[..., :2], h, c, weights, lengths), "x must have shape"), ((x, h[0], c, weights, lengths), "h_0 must have shape"),
        ((x, h, c, weights[1:], lengths), "weights must have shape"), ((x, h, c, weights, 4), "seq_lengths must have shape"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=message):
            rnn.lstm(*args, INPUTS, HIDDEN, 1, 0.0, False)
    with pytest.raises(NotImplementedError, match="dropout must be 0, got 0.5"):
        rnn.lstm(x, h, c, weights, lengths, INPUTS, HIDDEN, 1, 0.5, False)
