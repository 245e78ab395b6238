"""``pallas_call``: a kernel, run for each program of a grid on blocks of its operands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from arrax import dtypes
from arrax import numpy as jnp
from arrax.core.calls import as_index, check_callable
from arrax.core.function_info import describe_call
from arrax.core.functions import function_name, name_function
from arrax.core.program import ClosedJaxpr
from arrax.core.pytree_paths import keystr, tree_flatten_with_path
from arrax.core.pytree_prefixes import named_broadcast_prefix
from arrax.core.pytrees import PyTreeDef, tree_flatten, tree_leaves, tree_structure, tree_unflatten
from arrax.core.references import AbstractRef
from arrax.core.types import ShapedArray, typeof
from arrax.experimental.pallas.block_specs import (
    BlockSpec,
    GridSpec,
    NoBlockSpec,
    check_dimension_semantics,
    no_block_spec,
)
from arrax.experimental.pallas.blocks import Blocks, beginning, blocks_of, memory_type, nothing
from arrax.experimental.pallas.grids import each_program, running
from arrax.interpreters.staging import eval_jaxpr, stage
from arrax.lax.reference_programs import discharged
from arrax.transforms.jit import jit
from arrax.xla.annotations import Shape


def pallas_call(
    kernel: Callable[..., None], out_shape: Any, *, grid_spec: GridSpec | None = None, grid: Shape = (),
    in_specs: Any = no_block_spec, out_specs: Any = no_block_spec, scratch_shapes: Any = (),
    input_output_aliases: Mapping[int, int] | None = None, debug: bool = False, interpret: Any = False,
    name: str | None = None, compiler_params: Any = None, cost_estimate: Any = None,
    metadata: Mapping[str, str] | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """A function of arrays that runs a kernel, a function of references, once for each element of a grid.

    The kernel becomes a loop over the grid that XLA compiles, on every platform: what other systems call interpreting. It
    visits the grid in lexicographic order, so that programs in a row may accumulate in one block of a result.

    Args:
      kernel: function of references to blocks of the operands, then of the results, then of scratch memory. It reads and
        writes them, and returns nothing.
      out_shape: pytree of objects with shape and dtype: the results. They hold nothing in the beginning: NaN, or the least integer.
      grid_spec: grid, specifications and scratch memory in one object, instead of the following four.
      grid: lengths of the grid's axes; a single number for one axis; ``()`` runs the kernel once.
      in_specs: for each operand (or subtree of one) a ``BlockSpec``; by default each program sees whole arrays.
      out_specs: the same of the results.
      scratch_shapes: pytree of memory that the kernel keeps from one program to the next, such as ``pltpu.VMEM(shape, dtype)``.
      input_output_aliases: numbers of operands with the number of the result that begins with what the operand holds.
      debug: print the kernel's program when it is traced.
      interpret: anything; there is only one way to run a kernel here.
      name: what the compiled program calls it.
      compiler_params, cost_estimate, metadata: for other compilers; without effect here.
    Returns: function of the operands, that can be transformed and compiled; its results are as ``out_shape`` says.
    Raises:
      TypeError: specifications that are none.
      ValueError: they do not fit the operands, the results or the grid; a kernel that returns something.
    Example: ``pl.pallas_call(lambda x_ref, o_ref: o_ref.set(2 * x_ref[...]), out_shape=x)(x)`` is ``2 * x``. Source: "Pallas" in
    the documentation of JAX.
    """
    check_callable(kernel)
    if grid_spec is None:
        grid_spec = GridSpec(grid, in_specs, out_specs, scratch_shapes)
    elif grid != () or any(not isinstance(s, NoBlockSpec) for s in (in_specs, out_specs)) or scratch_shapes != ():
        raise ValueError("pallas_call: give grid, in_specs, out_specs and scratch_shapes in grid_spec, or without it")
    lengths = _grid_lengths(grid_spec.grid)
    check_dimension_semantics(compiler_params, len(lengths))
    aliases = {as_index(source): as_index(target) for source, target in dict(input_output_aliases or {}).items()}
    call = _Call(kernel, lengths, grid_spec, out_shape, aliases, debug)

    def applied(*args: Any) -> Any:
        return call(args)

    name_function(applied, name or function_name(kernel))
    return jit(applied)


def _grid_lengths(grid: Shape) -> tuple[Any, ...]:
    lengths = tuple(grid) if isinstance(grid, tuple | list) else (grid,)
    for length in lengths:
        whole = hasattr(length, "__index__") or dtypes.is_integer(getattr(length, "dtype", np.dtype(object)))
        if isinstance(length, bool) or not whole:
            raise TypeError(f"pallas_call: grid must be an integer or a tuple of integers, got {grid!r}")
    return tuple(as_index(length) if isinstance(length, int | np.integer) else length for length in lengths)


def _is_spec(node: Any) -> bool:
    return node is None or isinstance(node, BlockSpec | NoBlockSpec)


def _blocks(name: str, specs: Any, tree: Any, labels: Sequence[str]) -> list[Blocks]:
    leaves, _ = tree_flatten(tree)
    if isinstance(specs, list) and isinstance(tree, tuple):
        specs = tuple(specs)
    broadcasted = (
        named_broadcast_prefix(f"pallas_call {name}", specs, tree, _is_spec)
        if not _is_spec(specs)
        else [specs] * len(leaves)
    )
    return [blocks_of(label, spec, leaf) for label, spec, leaf in zip(labels, broadcasted, leaves, strict=True)]


def _labels(name: str, tree: Any) -> list[str]:
    return [name + keystr(path) for path, _ in tree_flatten_with_path(tree)[0]]


class _Call:
    """A kernel with everything but its operands."""

    def __init__(
        self, kernel: Callable[..., None], lengths: tuple[Any, ...], spec: GridSpec, out_shape: Any,
        aliases: dict[int, int], debug: bool,
    ) -> None:  # fmt: skip
        self.kernel, self.lengths, self.spec, self.aliases, self.debug = kernel, lengths, spec, aliases, debug
        out_shape = tuple(out_shape) if isinstance(out_shape, list) else out_shape
        leaves, self.out_tree = tree_flatten(out_shape, lambda node: hasattr(node, "shape") and hasattr(node, "dtype"))
        for leaf in leaves:
            if not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")):
                raise TypeError(f"pallas_call: out_shape must consist of objects with shape and dtype, got {leaf!r}")
        avals = [ShapedArray(tuple(leaf.shape), dtypes.canonicalize_dtype(leaf.dtype)) for leaf in leaves]
        tree = tree_unflatten(self.out_tree, avals)
        self.outs = _blocks("out_specs", spec.out_specs, tree, _labels("out_shape", tree))

    def __call__(self, args: tuple[Any, ...]) -> Any:
        leaves, tree = tree_flatten(args)
        arrays = [array.astype(array.dtype) for array in map(jnp.asarray, leaves)]  # references are not weakly typed
        avals = [ShapedArray(array.shape, array.dtype) for array in arrays]
        return tree_unflatten(self.out_tree, self._run(arrays, tree_unflatten(tree, avals)))

    def _run(self, arrays: list[Any], args: tuple[Any, ...]) -> list[Any]:
        count = self.spec.num_scalar_prefetch
        labels = _labels("args", args)
        ahead = len(tree_leaves(args[:count]))
        prefetched = _blocks("in_specs", no_block_spec, args[:count], labels[:ahead])
        ins = _blocks("in_specs", self.spec.in_specs, args[count:], labels[ahead:])
        scratch, scratch_tree = tree_flatten(self.spec.scratch_shapes, lambda node: hasattr(node, "shape"))
        cut, begin = [*ins, *self.outs], len(self.lengths) + ahead
        for blocks in cut:
            blocks.check_index_map(begin)
        beginnings = self._beginnings(arrays)
        program = self._program([*prefetched, *ins], tree_structure(args), scratch, scratch_tree)
        pure, written = discharged(program)
        operands = [blocks.padded(array) for blocks, array in zip(ins, arrays[ahead:], strict=True)]
        first = [_Starts(blocks, arrays[:ahead]) for blocks in cut]

        def step(indices: list[Any], carry: tuple[list[Any], list[Any]]) -> tuple[list[Any], list[Any]]:
            outs, memory = carry
            starts = [start(indices) for start in first]
            own = [
                blocks.take(array, start_indices)
                for blocks, array, start_indices in zip(cut, [*operands, *outs], starts, strict=True)
            ]
            values = [*own, *memory]
            results = eval_jaxpr(pure.jaxpr, pure.consts, *indices, *arrays[:ahead], *values)
            for index, value in zip(written, results, strict=True):
                if index >= begin:  # not to a prefetched operand
                    values[index - begin] = value
            blocks_out, memory = values[len(ins) : len(cut)], values[len(cut) :]
            outs = [
                blocks.put(array, block, start_indices)
                for blocks, array, block, start_indices in zip(
                    self.outs, outs, blocks_out, starts[len(ins) :], strict=True
                )
            ]
            return outs, memory

        state = (beginnings, [beginning(kind) for kind in scratch])
        outs, _ = each_program(self.lengths, step, state)
        return [blocks.cropped(array) for blocks, array in zip(self.outs, outs, strict=True)]

    def _beginnings(self, arrays: list[Any]) -> list[Any]:
        """What the results hold before the kernel runs."""
        outs = [nothing(blocks.aval.shape, blocks.aval.dtype) for blocks in self.outs]
        for source, target in self.aliases.items():
            if not (0 <= source < len(arrays) and 0 <= target < len(outs)):
                raise ValueError(
                    f"pallas_call: input_output_aliases {self.aliases} with {len(arrays)} operands and {len(outs)} results"
                )
            array, aval = arrays[source], self.outs[target].aval
            if (array.shape, array.dtype) != (aval.shape, aval.dtype):
                raise ValueError(
                    f"pallas_call: input_output_aliases: operand {source} of type {typeof(array).str_short(True)} and result "
                    f"{target} of type {aval.str_short(True)} must be of one type"
                )
            outs[target] = array
        return [blocks.padded(array) for blocks, array in zip(self.outs, outs, strict=True)]

    def _program(self, ins: list[Blocks], tree: PyTreeDef, scratch: list[Any], scratch_tree: PyTreeDef) -> ClosedJaxpr:
        """The kernel's program: of the indices in the grid, and of references."""
        axes = len(self.lengths)

        def arguments(values: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
            args = tree_unflatten(tree, values[: len(ins)])
            outs = tree_unflatten(self.out_tree, values[len(ins) : len(ins) + len(self.outs)])
            memory = tree_unflatten(scratch_tree, values[len(ins) + len(self.outs) :])
            outputs = outs if isinstance(outs, tuple | list) else (outs,)
            named = memory if isinstance(memory, dict) else {}
            rest = () if named else memory if isinstance(memory, tuple | list) else (memory,)
            return [*args, *outputs, *rest], named

        def flat(*values: Any) -> list[Any]:
            with running(self.lengths, values[:axes]):
                args, named = arguments(values[axes:])
                returned = self.kernel(*args, **named)
            if returned is not None:
                raise ValueError(
                    f"pallas_call: the kernel {function_name(self.kernel)} must return nothing and write to its references, "
                    f"got {tree_structure(returned)}"
                )
            return []

        cut = [AbstractRef(blocks.block_aval, blocks.memory_space) for blocks in [*ins, *self.outs]]
        memory = [AbstractRef(memory_type(kind), getattr(kind, "memory_space", None)) for kind in scratch]
        info = describe_call(self.kernel, "pallas_call", *arguments(cut + memory))
        names = (*(f"program_id({axis})" for axis in range(axes)), *(info.argument_names or ()))
        program = ClosedJaxpr(*stage(flat, [_INDEX] * axes + cut + memory, info._replace(argument_names=names)))
        if self.debug:
            print(program)
        return program


_INDEX = ShapedArray((), np.dtype(np.int32))


class _Starts:
    """Where the blocks of an operand begin, by the indices in the grid."""

    def __init__(self, blocks: Blocks, prefetched: list[Any]) -> None:
        self.blocks, self.prefetched = blocks, prefetched

    def __call__(self, indices: list[Any]) -> list[Any]:
        blocks = self.blocks
        if blocks.index_map is None or not self.prefetched:
            return blocks.starts(blocks.mapped(indices))

        def flat(*values: Any) -> list[Any]:
            return blocks.starts(blocks.mapped(values))

        avals = [_INDEX] * len(indices) + [AbstractRef(memory_type(array)) for array in self.prefetched]
        pure, _ = discharged(ClosedJaxpr(*stage(flat, avals)))
        return eval_jaxpr(pure.jaxpr, pure.consts, *indices, *self.prefetched)[: len(blocks.dims)]
