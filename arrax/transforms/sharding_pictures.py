"""Pictures of how arrays lie over devices, and looking at what the compiler chose inside of programs."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from typing import Any

from arrax.core.interpreter import Primitive
from arrax.core.pytrees import tree_map
from arrax.core.types import Zero, typeof
from arrax.interpreters.lowering import builder
from arrax.lax.effectful_callbacks import debug_effect
from arrax.lax.operand_checks import checked_operand
from arrax.native import runtime
from arrax.xla.devices import default_device, single_sharding
from arrax.xla.shardings import GSPMDSharding, named_like

Shape = tuple[int, ...]
_HEIGHT, _WIDTH_PER_HEIGHT = 10, 2.5  # of the picture of a square, in lines and columns
_COLORS = ("red", "green", "blue", "yellow", "magenta", "cyan", "bright_black", "bright_red")


def visualize_sharding(
    shape: Shape, sharding: Any, *, use_color: bool = True, scale: float = 1.0, min_width: int = 9, max_width: int = 80,
    color_map: Any = None,
) -> None:  # fmt: skip
    """Print which devices hold which part of arrays of a shape.

    Args:
      shape: of one or two axes.
      sharding: how they lie.
      use_color: colour the parts, where ``rich`` is installed and the output is a terminal.
      scale: size of the picture.
      min_width: least width of a part. max_width: greatest width of the picture.
      color_map: function of the number of a part to a colour's name.
    Raises:
      ValueError: a shape of another rank.
    Example: ``arrax.debug.visualize_sharding((4, 4), arrax.sharding.SingleDeviceSharding(arrax.devices()[0]))``.
    """
    if len(shape) not in (1, 2):
        raise ValueError(f"`visualize_sharding` only works for shapes with 1 and 2 dimensions, got {tuple(shape)}")
    rows = _parts(tuple(shape), sharding)
    heights, widths = _sizes(tuple(shape), len(rows), len(rows[0]), scale, min_width, max_width)
    if use_color and sys.stdout.isatty() and importlib.util.find_spec("rich") is not None:
        print(_colored(rows, heights, widths, color_map))
    else:
        print(picture(rows, heights, widths), end="")


def _parts(shape: Shape, sharding: Any) -> list[list[str]]:
    """The labels of the parts, row by row."""
    held: dict[tuple[int, ...], list[Any]] = {}
    for device, index in sharding.devices_indices_map(shape).items():
        held.setdefault(tuple(s.start or 0 for s in index), []).append(device)
    starts = sorted(held)
    columns = len({start[-1] for start in starts})
    labels = []
    for start in starts:
        numbers = ",".join(str(number) for number in sorted(device.id for device in held[start]))
        labels.append(f"{held[start][0].platform.upper()} {numbers}")
    return [labels[first : first + columns] for first in range(0, len(labels), columns)]


def _sizes(shape: Shape, rows: int, columns: int, scale: float, smallest: int, most: int) -> tuple[int, int]:
    """Lines and columns of a part, its frame included."""
    height = int(_HEIGHT * scale) if len(shape) == 2 else 1
    aspect = shape[1] / max(shape[0], 1) if len(shape) == 2 else 1.0
    width = min(int(_HEIGHT * scale * aspect * _WIDTH_PER_HEIGHT), most)
    return max(height // rows, 1), max(width // columns, smallest)


def _cell(label: str, height: int, width: int) -> list[str]:
    """A label in the middle of a part of a size without its frame."""
    left, odd = divmod(max(width - len(label) - 2, 0), 2)
    above, more = divmod(max(height - 2, 0), 2)
    line = " " * left + label + " " * (left + odd)
    return [*[" " * len(line)] * above, line, *[" " * len(line)] * (above + more)]


def picture(rows: list[list[str]], height: int, width: int) -> str:
    """The parts in frames."""
    widest = max(len(label) for row in rows for label in row)
    cells = [[_cell(label.center(widest) if len(row) > 1 else label, height, width) for label in row] for row in rows]
    lengths = [max(len(cells[r][c][0]) for r in range(len(cells))) for c in range(len(cells[0]))]

    def rule(left: str, middle: str, right: str) -> str:
        return left + middle.join("─" * length for length in lengths) + right

    lines = [rule("┌", "┬", "┐")]
    for number, row in enumerate(cells):
        if number:
            lines.append(rule("├", "┼", "┤"))
        for parts in zip(*row, strict=True):
            lines.append("│" + "│".join(p.center(n) for p, n in zip(parts, lengths, strict=True)) + "│")
    lines.append(rule("└", "┴", "┘"))
    return "\n".join(lines) + "\n"


def _colored(rows: list[list[str]], height: int, width: int, color_map: Any) -> str:
    """The parts on coloured grounds."""
    codes = {name: 41 + number for number, name in enumerate(_COLORS[:6])}
    lines = []
    for r, row in enumerate(rows):
        cells = [_cell(label, height + 1, width + 2) for label in row]
        for parts in zip(*cells, strict=True):
            colors = [
                codes.get(color_map(r * len(row) + c), 41) if color_map else 41 + (r * len(row) + c) % 6
                for c in range(len(row))
            ]
            lines.append("".join(f"\033[{color}m{part}\033[0m" for part, color in zip(parts, colors, strict=True)))
    return "\n".join(lines)


def visualize_array_sharding(arr: Any, **kwargs: Any) -> None:
    """Print which devices hold which part of an array; inside compiled functions, where the compiler has laid it out.

    Args:
      arr: array of one or two axes.
      **kwargs: as ``visualize_sharding``.
    Example: ``arrax.debug.visualize_array_sharding(jnp.ones((4, 4)))``.
    """
    shape = typeof(arr).shape
    inspect_array_sharding(arr, callback=lambda sharding: visualize_sharding(shape, sharding, **kwargs))


# ---- looking inside of programs --------------------------------------------------------------------------------------

inspect_sharding_p = Primitive("inspect_sharding", multiple_results=True)
inspect_sharding_p.type_rule = lambda aval, *, callback: []
inspect_sharding_p.effects_rule = lambda aval, *, callback: frozenset({debug_effect})


def _impl(x: Any, *, callback: Callable[[Any], None]) -> list[Any]:
    callback(x.sharding if hasattr(x, "sharding") else single_sharding(default_device()))
    return []


def _lower(ctx: Any, x: Any, *, callback: Callable[[Any], None]) -> list[Any]:
    """A mark that the compiler's partitioner answers while it compiles."""
    module, rank = ctx.module_context, ctx.avals_in[0].ndim
    if module.num_devices == 1:
        callback(single_sharding(module.devices[0] if module.devices is not None else default_device()))
        return []
    devices, mesh = module.devices, module.mesh

    def found(hlo: Any) -> None:
        callback(named_like(mesh, hlo, rank) if mesh is not None else GSPMDSharding(devices, hlo))

    key = runtime.xla_client.encode_inspect_sharding_callback(found)
    module.host_callbacks.append(found)  # keeps it, and the program out of the store: it holds this function's address
    attributes = {
        "call_target_name": builder.string("InspectSharding"), "has_side_effect": builder.attribute("true"),
        "backend_config": builder.string(key), "api_version": builder.integer(1, 32),
        "called_computations": builder.attribute("[]"),
    }  # fmt: skip
    builder.operation("stablehlo.custom_call", [x.type], [x], attributes)
    return []


def _batch(values: Any, dims: Any, **params: Any) -> tuple[list[Any], list[Any]]:
    return inspect_sharding_p.bind(*values, **params), []


def _jvp(primals: Any, tangents: Any, **params: Any) -> tuple[list[Any], list[Any]]:
    return inspect_sharding_p.bind(*primals, **params), []


inspect_sharding_p.impl = _impl
inspect_sharding_p.lower[None] = _lower
inspect_sharding_p.batch = _batch
inspect_sharding_p.jvp = _jvp
inspect_sharding_p.transpose = lambda cts, x, **params: [Zero(x.aval)]


def inspect_array_sharding(value: Any, *, callback: Callable[[Any], None]) -> None:
    """Call a function with how values lie; inside compiled functions while they are compiled.

    Args:
      value: array or pytree of arrays.
      callback: function of a sharding.
    Raises:
      TypeError: something else than arrays, or not a function.
    Example: ``arrax.debug.inspect_array_sharding(x, callback=print)``.
    """
    if not callable(callback):
        raise TypeError(f"inspect_array_sharding: callback must be a function, got {callback!r}")
    tree_map(lambda x: inspect_sharding_p.bind(checked_operand("inspect_array_sharding", x), callback=callback), value)
