"""Long short-term memory over padded sequences, with one flat array of weights as vendors' libraries take it.

A cell computes, with gates in the order input, forget, cell, output::

    i, f, g, o = split(W_ih x + b_ih + W_hh h + b_hh);  i, f, o = sigmoid(i, f, o);  g = tanh(g)
    c' = f c + i g;  h' = o tanh(c')

The flat array holds the matrices of all layers and directions (``W_ih``, then ``W_hh`` of each), then the offsets (``b_ih``,
then ``b_hh`` of each). Source: Hochreiter, Schmidhuber, "Long Short-Term Memory" (1997).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import arrax.numpy as jnp
from arrax import random
from arrax.core.tracebacks import bound_names, boundary
from arrax.core.types import typeof
from arrax.lax.control_flow.scans import scan
from arrax.nn.activations import sigmoid
from arrax.xla.arrays import Array, ArrayLike

if TYPE_CHECKING:
    from arrax.lax.precision import PrecisionLike


_Sequences = Array  # of shape (batch, longest sequence, features)
_Cells = Array  # of shape (layers and directions, batch, features)
_Parameters = dict[int, Array]  # by layer and direction: two for each layer where there are two directions
_LayerStates = Array  # of shape (layers * directions, batch, hidden)
_States = tuple[_Sequences, _Cells, _Cells]  # outputs, last hidden states, last cell states


class _Sizes(NamedTuple):
    """What the network consists of."""

    inputs: int
    hidden: int
    layers: int
    bidirectional: bool

    @property
    def directions(self) -> int:
        return 2 if self.bidirectional else 1

    def inputs_of(self, layer: int) -> int:
        return self.inputs if layer == 0 else self.hidden * self.directions

    @property
    def matrices(self) -> list[tuple[int, int]]:
        """Shapes of ``W_ih`` and ``W_hh`` of each layer and direction, one after the other."""
        rows = 4 * self.hidden
        return [
            (rows, columns)
            for layer in range(self.layers)
            for _ in range(self.directions)
            for columns in (self.inputs_of(layer), self.hidden)
        ]

    @property
    def total(self) -> int:
        return sum(map(math.prod, self.matrices)) + 4 * self.hidden * len(self.matrices)


def get_num_params_in_lstm(input_size: int, hidden_size: int, num_layers: int, bidirectional: bool) -> int:
    """How many weights a network has.

    Args:
      input_size: length of an input vector.
      hidden_size: length of a hidden state.
      num_layers: how many layers follow each other.
      bidirectional: whether each layer runs over the sequence in both directions.
    Example: ``get_num_params_in_lstm(3, 4, 1, False)`` is 144.
    """
    return _Sizes(input_size, hidden_size, num_layers, bidirectional).total


def init_lstm_weight(rng: Array, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool) -> Array:
    """Random weights, uniform in ``(-k, k)`` with ``k = 1 / sqrt(hidden_size)``: one float32 array of all.

    Args:
      rng: key.
      input_size, hidden_size, num_layers, bidirectional: as of ``get_num_params_in_lstm``.
    Example: ``init_lstm_weight(key, 3, 4, 1, False).shape`` is ``(144,)``.
    """
    bound = 1 / math.sqrt(hidden_size)
    count = get_num_params_in_lstm(input_size, hidden_size, num_layers, bidirectional)
    return random.uniform(rng, (count,), jnp.float32, -bound, bound)


@boundary
def unpack_lstm_weights(
    weights: Array, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> tuple[_Parameters, _Parameters, _Parameters, _Parameters]:
    """The flat array of weights as matrices and offsets.

    Args:
      weights: array of shape ``(get_num_params_in_lstm(…),)``.
      input_size, hidden_size, num_layers, bidirectional: as of ``get_num_params_in_lstm``.
    Returns: ``(W_ih, W_hh, b_ih, b_hh)``, dictionaries by number of layer (and of direction, which counts faster), of shapes
      ``(4 hidden_size, inputs of the layer)``, ``(4 hidden_size, hidden_size)`` and twice ``(4 hidden_size,)``.
    Raises:
      ValueError: another number of weights.
    Example: ``unpack_lstm_weights(jnp.zeros(144), 3, 4, 1, False)[0][0].shape`` is ``(16, 3)``.
    """
    sizes = _Sizes(input_size, hidden_size, num_layers, bidirectional)
    if typeof(weights).shape != (sizes.total,):
        raise ValueError(f"unpack_lstm_weights: weights must have shape ({sizes.total},), got {typeof(weights).shape}")
    parts: list[Array] = []
    offset = 0
    for shape in [*sizes.matrices, *[(4 * hidden_size,)] * len(sizes.matrices)]:
        parts.append(weights[offset : offset + math.prod(shape)].reshape(shape))
        offset += math.prod(shape)
    matrices, offsets = parts[: len(sizes.matrices)], parts[len(sizes.matrices) :]
    w_ih, w_hh, b_ih, b_hh = (
        dict(enumerate(each)) for each in (matrices[::2], matrices[1::2], offsets[::2], offsets[1::2])
    )
    return w_ih, w_hh, b_ih, b_hh


@boundary
def swap_lstm_gates(weights: Array, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool) -> Array:
    """The flat array of weights with the gates for the cell and the output exchanged, as some libraries order them.

    Args:
      weights: array of shape ``(get_num_params_in_lstm(…),)``.
      input_size, hidden_size, num_layers, bidirectional: as of ``get_num_params_in_lstm``.
    Raises:
      ValueError: another number of weights.
    Example: ``swap_lstm_gates(jnp.arange(16.0), 1, 1, 1, False)[:4]`` is ``[0, 1, 3, 2]``.
    """
    w_ih, w_hh, b_ih, b_hh = unpack_lstm_weights(weights, input_size, hidden_size, num_layers, bidirectional)
    ordered = [
        *(part for n in w_ih for part in (w_ih[n], w_hh[n])),
        *(part for n in b_ih for part in (b_ih[n], b_hh[n])),
    ]

    def swapped(part: Array) -> Array:
        return part.reshape(4, hidden_size, -1)[jnp.array([0, 1, 3, 2])].ravel()

    return jnp.concatenate(list(map(swapped, ordered)))


@boundary
def lstm(
    x: Array, h_0: _LayerStates, c_0: _LayerStates, weights: Array, seq_lengths: ArrayLike, input_size: int, hidden_size: int, num_layers: int,
    dropout: float, bidirectional: bool, precision: PrecisionLike | None = None,
) -> _States:  # fmt: skip
    """The outputs of a network for a batch of padded sequences, and its last states.

    Args:
      x: sequences, of shape ``(batch, longest sequence, input_size)``.
      h_0, c_0: first hidden and cell states, of shape ``(num_layers * directions, batch, hidden_size)``.
      weights: array of shape ``(get_num_params_in_lstm(…),)``.
      seq_lengths: how long each sequence is, integers of shape ``(batch,)``. What lies behind does not count.
      input_size, hidden_size, num_layers, bidirectional: as of ``get_num_params_in_lstm``.
      dropout: must be 0: there is no key from which it could be drawn.
      precision: of the products of matrices, as of ``lax.dot_general``.
    Returns: outputs of the last layer, of shape ``(batch, longest sequence, hidden_size * directions)``, 0 behind the end of
      a sequence; hidden states and cell states at the ends, of the shape of ``h_0``.
    Raises:
      ValueError: arrays of other shapes.
      NotImplementedError: dropout.
    Example: ``weights, state = init_lstm_weight(key, 3, 4, 1, False), jnp.zeros((1, 2, 4));
    lstm(jnp.ones((2, 5, 3)), state, state, weights, jnp.array([5, 2]), 3, 4, 1, 0.0, False)[0].shape``
    is ``(2, 5, 4)``.
    """
    matrices = unpack_lstm_weights(weights, input_size, hidden_size, num_layers, bidirectional)
    sizes = _Sizes(input_size, hidden_size, num_layers, bidirectional)
    return _run("lstm", x, h_0, c_0, matrices, seq_lengths, sizes, dropout, precision)


@boundary
def lstm_ref(
    x: Array, h_0: _LayerStates, c_0: _LayerStates, W_ih: _Parameters, W_hh: _Parameters, b_ih: _Parameters, b_hh: _Parameters,
    seq_lengths: ArrayLike, input_size: int, hidden_size: int, num_layers: int, dropout: float, bidirectional: bool,
) -> _States:  # fmt: skip
    """``lstm`` with matrices and offsets as ``unpack_lstm_weights`` gives them.

    Args:
      x, h_0, c_0, seq_lengths, input_size, hidden_size, num_layers, dropout, bidirectional: as of ``lstm``.
      W_ih, W_hh, b_ih, b_hh: by number of layer and direction.
    Returns: as ``lstm``.
    Raises:
      ValueError: arrays of other shapes.
      NotImplementedError: dropout.
    Example: ``weights, state = unpack_lstm_weights(jnp.zeros(144), 3, 4, 1, False), jnp.zeros((1, 2, 4));
    lstm_ref(jnp.ones((2, 5, 3)), state, state, *weights, jnp.array([5, 2]), 3, 4, 1, 0.0, False)[1].shape``
    is ``(1, 2, 4)``.
    """
    sizes = _Sizes(input_size, hidden_size, num_layers, bidirectional)
    return _run("lstm_ref", x, h_0, c_0, (W_ih, W_hh, b_ih, b_hh), seq_lengths, sizes, dropout, None)


def _run(
    name: str, x: Array, h_0: _LayerStates, c_0: _LayerStates, matrices: tuple[_Parameters, _Parameters, _Parameters, _Parameters],
    seq_lengths: ArrayLike, sizes: _Sizes, dropout: float, precision: Any,
) -> _States:  # fmt: skip
    if dropout != 0:
        raise NotImplementedError(
            f"{name}: dropout must be 0, got {dropout}: there is no key from which it could be drawn"
        )
    _check_shapes(name, x, h_0, c_0, seq_lengths, sizes)
    there = jnp.arange(x.shape[1])[:, None] < jnp.asarray(seq_lengths)[None]
    rows = jnp.swapaxes(jnp.asarray(x), 0, 1)  # time comes first from here on
    hidden, cells = [], []
    for layer in range(sizes.layers):
        outs = []
        for direction in range(sizes.directions):
            number = layer * sizes.directions + direction
            w_ih, w_hh, b_ih, b_hh = (part[number] for part in matrices)
            given = jnp.matmul(rows, w_ih.T, precision=precision) + b_ih + b_hh
            out, h, c = _over_time(given, there, h_0[number], c_0[number], w_hh, direction == 1, precision)
            outs.append(out)
            hidden.append(h)
            cells.append(c)
        rows = jnp.concatenate(outs, axis=-1)
    return jnp.swapaxes(rows, 0, 1), jnp.stack(hidden), jnp.stack(cells)


def _over_time(
    given: Array, there: Array, h_0: Array, c_0: Array, w_hh: Array, reverse: bool, precision: Any
) -> _States:
    """One layer in one direction.

    Args:
      given: what the inputs give to the gates, of shape ``(time, batch, 4 hidden)``.
      there: whether a sequence is that long, of shape ``(time, batch)``. The state passes unchanged where it is not.
    """

    def step(state: tuple[Array, Array], now: tuple[Array, Array]) -> tuple[tuple[Array, Array], Array]:
        h, c = state
        i, f, g, o = jnp.split(now[0] + jnp.matmul(h, w_hh.T, precision=precision), 4, axis=-1)
        new_c = sigmoid(f) * c + sigmoid(i) * jnp.tanh(g)
        new_h = sigmoid(o) * jnp.tanh(new_c)
        valid = now[1][:, None]
        return (jnp.where(valid, new_h, h), jnp.where(valid, new_c, c)), jnp.where(valid, new_h, 0)

    (h, c), outs = scan(step, (h_0, c_0), (given, there), reverse=reverse)
    return outs, h, c


def _check_shapes(
    name: str, x: Array, h_0: _LayerStates, c_0: _LayerStates, seq_lengths: ArrayLike, sizes: _Sizes
) -> None:
    shape = typeof(x).shape
    if len(shape) != 3 or shape[2] != sizes.inputs:
        raise ValueError(f"{name}: x must have shape (batch, time, {sizes.inputs}), got {shape}")
    states = (sizes.layers * sizes.directions, shape[0], sizes.hidden)
    for argument, value, wanted in (
        ("h_0", h_0, states),
        ("c_0", c_0, states),
        ("seq_lengths", seq_lengths, shape[:1]),
    ):
        if typeof(value).shape != wanted:
            raise ValueError(f"{name}: {argument} must have shape {wanted}, got {typeof(value).shape}")


bound_names(__name__)
