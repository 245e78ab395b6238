"""The compiler's own random numbers: ``rng_bit_generator`` and ``rng_uniform``."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.interpreter import Primitive
from arrax.core.types import ShapedArray, Zero, slots, typeof
from arrax.dtypes import DTypeLike
from arrax.interpreters.batching import batch_size, bdim_at_front
from arrax.interpreters.lowering import builder
from arrax.lax.operand_checks import checked_operand, kind_of, requested_dtype
from arrax.lax.shape_arguments import canonical_shape
from arrax.lax.shapes import reshape
from arrax.lax.slicing import dynamic_update_slice
from arrax.lax.static_slicing import slice_in_dim
from arrax.xla.annotations import OptionalSharding, Shape
from arrax.xla.arrays import Array, ArrayLike

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Tangent, Value
    from arrax.interpreters.lowering.contexts import LoweringContext


class RandomAlgorithm(enum.IntEnum):
    """How ``rng_bit_generator`` makes bits.

    Example: ``state, bits = lax.rng_bit_generator(jnp.zeros(4, 'uint32'), (4,),
    algorithm=lax.RandomAlgorithm.RNG_THREE_FRY); bits.shape`` is ``(4,)``.
    Source: StableHLO ``rng_bit_generator``. Philox and Threefry: J. Salmon and others, SC11.
    """

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2

    def __str__(self) -> str:
        return self.name

    @classmethod
    def from_any(cls, value: RandomAlgorithm) -> RandomAlgorithm:
        """The algorithm itself, or that of a name such as ``"PHILOX"``.

        Raises:
          ValueError: an unknown one.
        """
        if isinstance(value, str):
            name = value.upper()
            name = name if name.startswith("RNG_") else f"RNG_{name}"
            if name in cls.__members__:
                return cls[name]
            raise ValueError(f"rng_bit_generator: unknown algorithm {value!r}, known are {', '.join(cls.__members__)}")
        return cls(value)


_TEXT = {
    RandomAlgorithm.RNG_DEFAULT: "DEFAULT", RandomAlgorithm.RNG_THREE_FRY: "THREE_FRY", RandomAlgorithm.RNG_PHILOX: "PHILOX"
}  # fmt: skip

# ---- rng_bit_generator ---------------------------------------------------------------------------------------------------

rng_bit_generator_p = Primitive("rng_bit_generator", multiple_results=True, cost=16)


def _type_rule(
    key: ShapedArray, *, shape: tuple[int, ...], dtype: np.dtype, algorithm: RandomAlgorithm, out_sharding: Any
) -> list[ShapedArray]:
    if kind_of(key.dtype) != "unsigned" or (key.shape, key.dtype.itemsize) not in (((4,), 4), ((2,), 8)):
        raise TypeError(f"rng_bit_generator: the key must be of type u32[4] or u64[2], got {key.str_short(True)}")
    return [key, ShapedArray(shape, dtype)]


_U64 = np.dtype(np.uint64)


def _lower(
    ctx: LoweringContext,
    key: Value,
    *,
    shape: tuple[int, ...],
    dtype: np.dtype,
    algorithm: RandomAlgorithm,
    out_sharding: Any,
) -> list[Value]:
    """Keys of 32-bit words are joined in pairs; numbers of less than 32 bits are the low ends of 32-bit ones."""
    own, wide = ctx.avals_in[0], ShapedArray((2,), _U64)
    state = key
    if own.dtype.itemsize == 4:
        state = builder.op("bitcast_convert", wide, builder.op("reshape", ShapedArray((2, 2), own.dtype), key))
    drawn = ShapedArray(shape, dtype if dtype.itemsize >= 4 else np.dtype(np.uint32))
    choice = builder.attribute(f"#stablehlo<rng_algorithm {_TEXT[algorithm]}>")
    types = [builder.ir_type(wide), builder.ir_type(drawn)]
    state, bits = builder.operation("stablehlo.rng_bit_generator", types, [state], {"rng_algorithm": choice}).results
    if own.dtype.itemsize == 4:
        state = builder.op("reshape", own, builder.op("bitcast_convert", ShapedArray((2, 2), own.dtype), state))
    return [state, bits if drawn.dtype == dtype else builder.op("convert", ctx.avals_out[1], bits)]


def _batch(
    values: Sequence[ArrayLike], dims: Sequence[int], *, shape: tuple[int, ...], **params: Any
) -> tuple[Any, Any]:
    """The first key's stream serves all examples; the other keys stay as they are."""
    size = batch_size(values, dims)
    keys = bdim_at_front(values[0], dims[0], size)
    first = reshape(slice_in_dim(keys, 0, 1), typeof(keys).shape[1:])
    state, bits = rng_bit_generator_p.bind(first, shape=(size, *shape), **params)
    advanced = dynamic_update_slice(keys, reshape(state, (1, *typeof(state).shape)), (0, 0))
    return [advanced, bits], [0, 0]


def _no_tangents(primals: Sequence[ArrayLike], tangents: Sequence[Tangent], **params: Any) -> tuple[Any, Any]:
    outs = rng_bit_generator_p.bind(*primals, **params)
    return outs, [Zero.of(out) for out in outs]


rng_bit_generator_p.type_rule = _type_rule
rng_bit_generator_p.lower[None] = _lower
rng_bit_generator_p.batch = _batch
rng_bit_generator_p.jvp = _no_tangents


def rng_bit_generator(
    key: Array,
    shape: Shape,
    dtype: DTypeLike = np.uint32,
    algorithm: RandomAlgorithm = RandomAlgorithm.RNG_DEFAULT,
    *,
    out_sharding: OptionalSharding = None,
) -> tuple[Array, Array]:
    """Random bits by the compiler's own generator, and the advanced key. The bits may differ between platforms.

    Args:
      key: uint32 array of shape (4,), or uint64 array of shape (2,).
      shape: the bits' shape.
      dtype: unsigned dtype.
      algorithm: a ``RandomAlgorithm`` or its name.
      out_sharding: where the result lies: a sharding, or a PartitionSpec over the mesh in force.
    Returns: the next key, and the array of bits.
    Raises:
      TypeError: another kind of key or dtype.
    Example: ``lax.rng_bit_generator(jnp.arange(4, dtype="uint32"), (3,))``. Source: StableHLO ``rng_bit_generator``.
    """
    chosen = requested_dtype("rng_bit_generator", dtype)
    if chosen.name not in ("uint8", "uint16", "uint32", "uint64"):
        raise TypeError(
            f"rng_bit_generator: unsupported dtype {chosen.name}, allowed are unsigned ints of 8 to 64 bits"
        )
    state, bits = rng_bit_generator_p.bind(
        checked_operand("rng_bit_generator", key), shape=canonical_shape(shape, "rng_bit_generator"), dtype=chosen,
        algorithm=RandomAlgorithm.from_any(algorithm), out_sharding=None,
    )  # fmt: skip
    return state, bits if out_sharding is None else slots.as_asked(out_sharding, lambda bits: bits, bits)


# ---- rng_uniform ---------------------------------------------------------------------------------------------------------

rng_uniform_p = Primitive("rng_uniform")
# what the compiler draws: at other dtypes it ends the process
_EXPANDED = ("float16", "bfloat16", "float32", "float64", "int32", "int64", "uint32", "uint64")


def _uniform_type(a: ShapedArray, b: ShapedArray, *, shape: Any) -> ShapedArray:
    if a.dtype != b.dtype:
        raise ValueError(f"rng_uniform: arguments must have equal dtypes, got {a.dtype.name} and {b.dtype.name}")
    if a.shape != () or b.shape != ():
        raise ValueError(f"rng_uniform: arguments must be scalars, got shapes {a.shape} and {b.shape}")
    if a.dtype.name not in _EXPANDED:
        raise TypeError(f"rng_uniform does not accept dtype {a.dtype.name}: it draws {', '.join(_EXPANDED)}")
    return ShapedArray(shape, a.dtype)


def _uniform_lower(ctx: LoweringContext, a: Any, b: Any, *, shape: Any) -> list[Any]:
    lengths = builder.op(
        "constant", ShapedArray((len(shape),), np.dtype(np.int64)), value=builder.dense(np.array(shape, np.int64))
    )
    kind = builder.attribute("#stablehlo<rng_distribution UNIFORM>")
    return [builder.op("rng", ctx.avals_out[0], a, b, lengths, rng_distribution=kind)]


rng_uniform_p.type_rule = _uniform_type
rng_uniform_p.lower[None] = _uniform_lower


def rng_uniform(a: ArrayLike, b: ArrayLike, shape: Shape) -> Array:
    """Uniform numbers in [a, b) from the device's own stateful generator: not reproducible, no keys.

    Args:
      a, b: scalars of one dtype.
      shape: the result's shape.
    Raises:
      ValueError: bounds that are not scalars, or of two dtypes.
    Example: ``lax.rng_uniform(0., 1., (3,))``. Source: StableHLO ``rng``.
    """
    low, high = checked_operand("rng_uniform", a), checked_operand("rng_uniform", b)
    return rng_uniform_p.bind(low, high, shape=canonical_shape(shape, "rng_uniform"))
