"""Kernels on the cores of a chip: one program for each core, told apart by ``lax.axis_index``. They run in turn here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from arrax.core.calls import check_callable
from arrax.core.functions import function_name, name_function
from arrax.core.named_axes import indexed_axis
from arrax.core.pytrees import tree_flatten, tree_structure, tree_unflatten
from arrax.experimental.pallas.grids import each_program
from arrax.experimental.pallas.programs import run_scoped
from arrax.experimental.pallas.states import empty_ref_like
from arrax.native import runtime
from arrax.numpy_api.references import freeze, new_ref
from arrax.transforms.jit import jit


@dataclass(frozen=True)
class CoreMesh:
    """The cores that a kernel runs on, by named axes.

    Args:
      shape: name of each axis, and how many cores lie along it.
    """

    shape: Mapping[str, int]


def create_tensorcore_mesh(
    axis_name: str, devices: Sequence[runtime.Device] | None = None, num_cores: int | None = None
) -> CoreMesh:
    """The cores of a chip along one axis.

    Args:
      axis_name: its name.
      devices: the chips, of which the first says how many cores there are.
      num_cores: how many; by default as many as the chip has, which is one here.
    Example: ``pltpu.create_tensorcore_mesh("core", num_cores=2).shape`` is ``{"core": 2}``.
    """
    known = getattr(devices[0], "num_cores", None) if devices else None
    return CoreMesh({axis_name: num_cores or known or 1})


def core_map(
    mesh: CoreMesh, *, compiler_params: Any = None, interpret: Any = False, debug: bool = False, cost_estimate: Any = None,
    name: str | None = None, metadata: Mapping[str, str] | None = None, scratch_shapes: Any = (),
) -> Callable[[Callable[..., None]], None]:  # fmt: skip
    """Decorator: run a function at once, for each core of a mesh; it reads and writes references that it closes over.

    Args:
      mesh: the cores, such as ``pltpu.create_tensorcore_mesh("core", num_cores=2)``.
      scratch_shapes: memory of each core, given to the function: a sequence, or a dict for keyword arguments.
      compiler_params, interpret, debug, cost_estimate, name, metadata: for other compilers; without effect here.
    Raises: ValueError for a function that returns something.
    Example: ``mesh = pltpu.create_tensorcore_mesh("core", num_cores=4);
    pl.run_state(lambda ref: pl.core_map(mesh)(lambda: ref.set(lax.axis_index("core") * 1.0, lax.axis_index("core"))))(-x)``
    is ``[0, 1, 2, 3]``.
    """
    sizes = dict(mesh.shape)
    memory = ((), scratch_shapes) if isinstance(scratch_shapes, Mapping) else (scratch_shapes, {})

    def run(body: Callable[..., Any]) -> None:
        check_callable(body)

        def on_core(indices: list[Any], carry: None) -> None:
            with ExitStack() as axes:
                for (axis, size), index in zip(sizes.items(), indices, strict=True):
                    axes.enter_context(indexed_axis(axis, size, index))
                returned = run_scoped(body, *memory[0], **memory[1])
            if returned is not None:
                raise ValueError(
                    f"core_map: the kernel {function_name(body)} must return nothing and write to references, got "
                    f"{tree_structure(returned)}"
                )

        each_program(list(sizes.values()), on_core, None)

    return run


def kernel(
    body: Callable[..., None] | None = None, out_type: Any = (), *, mesh: CoreMesh, scratch_types: Any = (),
    compiler_params: Any = None, interpret: Any = False, cost_estimate: Any = None, debug: bool = False,
    name: str | None = None, metadata: Mapping[str, str] | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """A function of arrays that runs a kernel once for each core of a mesh.

    Args:
      body: function of references to the operands, then to the results, then to scratch memory; without it, a decorator.
      out_type: pytree of objects with shape and dtype: the results.
      mesh: the cores, such as ``pltpu.create_tensorcore_mesh("core", num_cores=2)``.
      scratch_types: memory of each core: a sequence, or a dict for keyword arguments.
      name: what the compiled program calls it.
      compiler_params, interpret, cost_estimate, debug, metadata: for other compilers; without effect here.
    Returns: function of the operands, or a decorator that makes it.
    Raises: ValueError for a kernel that returns something.
    Example: ``mesh = pltpu.create_tensorcore_mesh("core");
    pl.kernel(lambda x_ref, o_ref: o_ref.set(2 * x_ref[...]), x, mesh=mesh)(x)`` is ``2 * x``.
    """

    def made(function: Callable[..., None]) -> Callable[..., Any]:
        check_callable(function)

        def applied(*args: Any) -> Any:
            operands, tree = tree_flatten(args)
            kinds, out_tree = tree_flatten(out_type, lambda node: hasattr(node, "shape") and hasattr(node, "dtype"))
            refs, outs = [new_ref(operand) for operand in operands], [empty_ref_like(kind) for kind in kinds]
            given, results = tree_unflatten(tree, refs), tree_unflatten(out_tree, outs)
            results = results if isinstance(results, tuple | list) else (results,)

            def on_core(*memory: Any, **named: Any) -> Any:
                return function(*given, *results, *memory, **named)

            name_function(on_core, function_name(function))
            core_map(mesh, scratch_shapes=scratch_types)(on_core)
            return tree_unflatten(out_tree, [freeze(ref) for ref in outs])

        name_function(applied, name or function_name(function))
        return jit(applied)

    return made if body is None else made(body)
