"""Batching: each value may carry one extra axis; rules say where the axis of the result is."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

from arrax.core import errors
from arrax.core.explicit_axes import batch_division, batched_type, mapped_sharding, with_batch_axis
from arrax.core.function_info import describe_function
from arrax.core.interpreter import Context, Interpreter, Primitive, Tracer, context, run_in, swap_interpreter
from arrax.core.named_axes import named_axes
from arrax.core.program import ABSENT, ClosedJaxpr, Jaxpr, any_equation, subprograms
from arrax.core.types import ShapedArray, slots, typeof
from arrax.interpreters.batched_types import register_vmappable as register_vmappable
from arrax.interpreters.batched_types import unregister_vmappable as unregister_vmappable
from arrax.interpreters.registries import AxisData as AxisData
from arrax.interpreters.registries import axis_primitive_batchers as axis_primitive_batchers
from arrax.interpreters.registries import fancy_primitive_batchers as fancy_primitive_batchers
from arrax.interpreters.registries import primitive_batchers as primitive_batchers
from arrax.interpreters.staging import eval_jaxpr, stage

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Dims
    from arrax.xla.arrays import Array, ArrayLike

not_mapped = None


def example_type(aval: ShapedArray, dim: int | None) -> ShapedArray:
    """The type of one example of a batch along an axis."""
    if dim is None:
        return aval
    shape = aval.shape[:dim] + aval.shape[dim + 1 :]
    sharding = None if aval.explicit is None else mapped_sharding(aval, dim)
    return ShapedArray(shape, aval.dtype, aval.weak_type, sharding, aval.vma, aval.memory_space)


class BatchTracer(Tracer):
    """A value with a batch axis ``dim`` that its type does not show."""

    __slots__ = ("value", "dim")
    interpreter: Batch

    def __init__(self, interpreter: Batch, value: ArrayLike, dim: int):
        self.interpreter, self.value, self.dim = interpreter, value, dim
        self.aval = example_type(typeof(value), dim)

    @property
    def val(self) -> ArrayLike:
        """The whole batch."""
        return self.value

    @property
    def batch_dim(self) -> int:
        """Its axis."""
        return self.dim

    def origin(self) -> str:
        inner = self.value.origin() if isinstance(self.value, Tracer) else ""
        fun = self.interpreter.fun
        name = "function" if fun is None else f"function {describe_function(fun, 'vmap').describe()}"
        return (
            f"\nThe {name} is mapped by vmap: here the array stands for {self.interpreter.size} values at once.{inner}"
        )

    def __repr__(self) -> str:
        return f"Traced<{self.aval!r}>with<BatchTrace> with\n  val = {self.value!r}\n  batch_dim = {self.dim}"


class Batch(Interpreter):
    """Applies batching rules; operations on values without the batch axis pass to the parent as they are.

    ``fun`` is the user's function, for messages.
    """

    __slots__ = ("axis", "tag", "fun")

    def __init__(
        self, parent: Interpreter, axis: AxisData, tag: Any = None, fun: Callable[..., Any] | None = None
    ) -> None:
        self.parent, self.alive, self.axis, self.fun = parent, True, axis, fun
        self.tag = object() if tag is None else tag  # interpreters of one batch share it

    @property
    def main(self) -> Any:
        return self.tag

    @property
    def size(self) -> int:
        """The length of the axis."""
        return self.axis.size

    @property
    def axis_name(self) -> Hashable | None:
        """The name of the axis."""
        return self.axis.name

    def describe(self) -> str:
        return "vmap"

    def lift(self, value: Any) -> tuple[Any, int | None]:
        """(value, batch axis or None)."""
        if type(value) is BatchTracer and value.interpreter.tag is self.tag:
            return value.value, value.dim
        if isinstance(value, Tracer) and not value.interpreter.alive:
            raise errors.escaped_tracer(value)
        return value, None

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if primitive.on_refs is not None:
            done = primitive.on_refs(self, args, params)
            if done is not None:
                return done
        values: list[Any] = []
        dims: list[int | None] = []
        mapped = False
        for arg in args:
            if type(arg) is BatchTracer and arg.interpreter.tag is self.tag:
                values.append(arg.value)
                dims.append(arg.dim)
                mapped = True
            else:
                values.append(arg)
                dims.append(None)
        previous = swap_interpreter(self.parent)
        try:
            if self.axis.name is not None and primitive.collective is not None and self.names_axis(params):
                out, out_dims = primitive.collective(self, values, dims, **params)
            elif not mapped and not primitive.closes_over and not self.names_inside(params):
                return self.parent.process(primitive, tuple(values), params)
            elif primitive.batch is None:
                raise NotImplementedError(f"Batching rule for '{primitive.name}' not implemented")
            else:
                outer, context.batching = context.batching, self
                try:
                    out, out_dims = primitive.batch(tuple(values), tuple(dims), **params)
                finally:
                    context.batching = outer
        finally:
            swap_interpreter(previous)
        if primitive.multiple_results:
            return [self.join(x, dim) for x, dim in zip(out, out_dims, strict=True)]
        return self.join(out, out_dims)

    def names_axis(self, params: dict[str, Any]) -> bool:
        """True where an operation works over this interpreter's named axis."""
        return _names_axis(self.axis.name, params)

    def names_inside(self, params: dict[str, Any]) -> bool:
        """True where an operation may hold others over this interpreter's named axis."""
        name = self.axis.name
        return name is not None and any(_works_over_axis(program, name) for program in subprograms(params))

    def join(self, value: ArrayLike, dim: int | None) -> Any:
        """A tracer for the value, or the value itself where it has no batch axis."""
        return value if dim is None else BatchTracer(self, value, dim)


def _names_axis(name: Any, params: dict[str, Any]) -> bool:
    names = params["axes"] if "axes" in params else params["axis_name"]
    return name in names if isinstance(names, tuple | list) else name == names


def _works_over_axis(program: Jaxpr | ClosedJaxpr, name: Any) -> bool:
    """True where a program may hold an operation over a named axis; custom rules may, whatever their function does."""
    return any_equation(
        program,
        lambda eqn: (
            eqn.primitive.closes_over or (eqn.primitive.collective is not None and _names_axis(name, eqn.params))
        ),
    )


def running_batch() -> Batch:
    """The interpreter whose batching rule is running: rules of operations that hold programs need its size and axis."""
    return context.batching


def batch_size(values: Sequence[Any], dims: Dims) -> int:
    """The length of the batch axis of some operands, at least one of which has it."""
    return next(typeof(value).shape[dim] for value, dim in zip(values, dims, strict=True) if dim is not None)


def move_batch_axis(value: ArrayLike, dim: int | None, size: int, to: int) -> ArrayLike:
    """``value`` with its batch axis at ``to``, repeated along it where it has none."""
    if dim is None:
        return slots.broadcast(value, size, to)
    return value if dim == to else slots.move_axis(value, dim, to)


def batch_at(value: ArrayLike, dim: int | None, axis: AxisData, to: int = 0) -> ArrayLike:
    """As ``move_batch_axis``, with the batch axis divided as that of other values: so operations that hold programs take it."""
    moved = move_batch_axis(value, dim, axis.size, to)
    if axis.division is None:
        return moved
    return slots.laid_out(moved, with_batch_axis(example_type(typeof(moved), to), to, axis.division))


def bdim_at_front(x: ArrayLike, bdim: int | None, size: int, mesh_axis: Any = None) -> ArrayLike:
    """``x`` with its batch axis in front.

    Args:
      x: array. bdim: its batch axis, or None.
      size: the length of a batch axis.
      mesh_axis: accepted, without effect.
    """
    return move_batch_axis(x, bdim, size, 0)


def batch(
    fun: Callable[..., Sequence[Any]], values: Sequence[Any], dims: Dims,
    axis: AxisData | None = None, tag: Any = None,
) -> tuple[list[Any], list[int | None]]:  # fmt: skip
    """Outputs of a flat function over a batch, each with the place of its batch axis (None where it has none).

    Without an ``axis`` it is that of the values, and has no name. A ``tag`` of a batch that is being traced makes this a part
    of it: the function may close over its tracers.
    """
    axis = axis or AxisData(None, batch_size(values, dims))
    interpreter = Batch(context.interpreter, axis._replace(division=batch_division(values, dims)), tag)
    inputs = [interpreter.join(value, dim) for value, dim in zip(values, dims, strict=True)]
    if axis.name is not None:
        with named_axes((axis.name, axis.size)):
            outs = run_in(interpreter, fun, *inputs)
    else:
        outs = run_in(interpreter, fun, *inputs)
    pairs = [interpreter.lift(out) for out in outs]
    return [value for value, _ in pairs], [dim for _, dim in pairs]


def batch_within(
    part: Batch, fun: Callable[..., Sequence[Any]], values: Sequence[Any], dims: Dims
) -> tuple[list[Any], list[int | None]]:
    """``batch`` as a part of a batch that is being traced."""
    return batch(fun, values, dims, part.axis, part.tag)


def only_maps(interpreter: Interpreter) -> bool:
    """Whether an interpretation runs each operation at once, over batches if at all."""
    while type(interpreter) is Batch:
        interpreter = interpreter.parent
    return interpreter is Context.interpreter


def batch_program(
    program: ClosedJaxpr, axis: AxisData, mapped: Sequence[bool], instantiate: bool | Sequence[bool] = False
) -> tuple[ClosedJaxpr, list[bool]]:
    """The program over a batch whose axis is in front of the mapped inputs and outputs, and which outputs are mapped."""
    count = len(program.jaxpr.outvars)
    forced = [instantiate] * count if isinstance(instantiate, bool) else list(instantiate)
    key = ("batch", axis, tuple(mapped), tuple(forced))
    found = program.kept(key)
    if found is not ABSENT:
        return found
    jaxpr = program.jaxpr
    out_mapped: list[bool] = []

    def batched(*values: Array) -> list[Any]:
        dims = [0 if m else None for m in mapped]
        outs, out_dims = batch(functools.partial(eval_jaxpr, jaxpr, program.consts), values, dims, axis)
        out_mapped[:] = [force or dim is not None for dim, force in zip(out_dims, forced, strict=True)]
        return [batch_at(out, dim, axis) if m else out for out, dim, m in zip(outs, out_dims, out_mapped, strict=True)]

    avals = [
        batched_type(var.aval, axis.size, axis.division) if m else var.aval
        for var, m in zip(jaxpr.invars, mapped, strict=True)
    ]
    derived, consts = stage(batched, avals, jaxpr.debug_info)
    return program.keep(key, (ClosedJaxpr(derived, consts), list(out_mapped)))


def defvectorized(prim: Primitive) -> None:
    """A primitive of one operand that acts on each element: the batch axis stays where it is."""
    prim.batch = lambda values, dims, **params: (prim.bind(*values, **params), dims[0])


def defbroadcasting(prim: Primitive) -> None:
    """A primitive that acts on elements of several operands of equal shapes."""

    def rule(values: Sequence[Any], dims: Dims, **params: Any) -> tuple[Any, int]:
        size = batch_size(values, dims)
        return prim.bind(*[bdim_at_front(v, d, size) for v, d in zip(values, dims, strict=True)], **params), 0

    prim.batch = rule


def defreducer(prim: Primitive, ident: Any = None) -> None:
    """A primitive that folds the axes of its operand which its parameter ``axes`` names; ``ident`` is not needed."""

    def rule(values: Sequence[Any], dims: Dims, *, axes: Sequence[int], **params: Any) -> tuple[Any, int]:
        (x,), (dim,) = values, dims
        assert dim is not None
        moved = tuple(axis + (axis >= dim) for axis in axes)
        return prim.bind(x, axes=moved, **params), dim - sum(axis < dim for axis in moved)

    prim.batch = rule


def broadcast(x: Array, sz: int, axis: int, mesh_axis: Any = None) -> Array:
    """``x`` repeated ``sz`` times along a new axis."""
    return slots.broadcast(x, sz, axis)


def moveaxis(x: Array, src: int, dst: int) -> Array:
    """``x`` with its axis ``src`` at ``dst``."""
    rank = typeof(x).ndim
    return slots.move_axis(x, src % rank, dst % rank)


def matchaxis(axis_name: Any, sz: int, mesh_axis: Any, src: int | None, dst: int, x: Array) -> Any:
    """``x`` with its batch axis, or a new one of length ``sz`` where it has none, at ``dst``."""
    return move_batch_axis(x, src, sz, dst)
