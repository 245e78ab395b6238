"""Parts of a program per device over some mesh axes that are to be per device over the other axes, too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from arrax.interpreters.lowering import builder, sharding_text

if TYPE_CHECKING:
    from arrax.interpreters.lowering.contexts import ModuleContext


def other_axes(ctx: ModuleContext) -> list[Any]:
    """The axes of the mesh that are left to the compiler where the program is per device over some; none elsewhere.

    Only where it is per device over all axes a device has a number, and does something by itself.
    """
    if ctx.manual is None or ctx.num_devices == 1 or ctx.manual_axes is None:
        return []
    sizes = dict(ctx.manual.mesh.shape_tuple)
    rest = [name for name in sizes if name not in ctx.manual_axes]
    return rest if any(sizes[name] > 1 for name in rest) else []


def over_axes(
    ctx: ModuleContext, names: Sequence[Any], operands: Sequence[Any], avals_in: Sequence[Any], avals_out: Sequence[Any],
    make: Callable[..., Sequence[Any]],
) -> list[Any]:  # fmt: skip
    """What is made of operands where the program is per device over more axes, along which all devices have the same."""
    assert ctx.manual is not None
    mesh = ctx.manual.mesh
    symbol = sharding_text.mesh_symbol(ctx, mesh)

    def same(avals: Sequence[Any]) -> Any:
        dims = (", ".join(["{}"] * builder.physical_aval(aval).ndim) for aval in avals)
        texts = ", ".join(f"<@{symbol}, [{each}]>" for each in dims)
        return builder.attribute(f"#sdy.sharding_per_value<[{texts}]>")

    axes = ", ".join(sharding_text.axis_text(mesh, name) for name in names)
    attributes = {
        "in_shardings": same(avals_in), "out_shardings": same(avals_out),
        "manual_axes": builder.attribute(f"#sdy<manual_axes{{{axes}}}>"),
    }  # fmt: skip
    types = [builder.ir_type(aval) for aval in avals_out]
    made = builder.operation("sdy.manual_computation", types, operands, attributes, 1)
    block = builder.block_with(made, 0, avals_in)
    with builder.inside(block):
        builder.operation("sdy.return", [], list(make(*block.arguments)))
    return list(made.results)
