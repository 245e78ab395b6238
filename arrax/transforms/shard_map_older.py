"""``experimental.shard_map.shard_map``: the mesh by position, ``check_rep`` and ``auto``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from typing import Any

from arrax.core.meshes import MeshDescription
from arrax.core.tracebacks import bounded
from arrax.transforms import shard_map as current


def shard_map(
    f: Callable[..., Any] | None = None,
    mesh: MeshDescription | None = None,
    in_specs: Any = None,
    out_specs: Any = None,
    check_rep: bool = True,
    auto: Iterable[Any] = frozenset(),
    *,
    check_vma: bool | None = None,
    axis_names: AbstractSet[Any] = frozenset(),
) -> Any:
    """A function that runs ``f`` on every device of a mesh; see ``arrax.shard_map``.

    Args:
      f: function of pieces.
      mesh: the mesh; by default the one in force.
      in_specs: how arguments are cut: a tree prefix of PartitionSpecs.
      out_specs: how results are put together.
      check_rep: check that results which should be the same on several devices are.
      auto: mesh axes that are left to the compiler.
      check_vma, axis_names: as in ``arrax.shard_map``.
    Example: ``shard_map(lambda x: lax.psum(x, "x"), mesh, in_specs=P("x"), out_specs=P())(jnp.arange(8))`` with
    ``mesh = arrax.make_mesh((1,), ("x",))``.
    """
    given = {
        "mesh": mesh, "in_specs": in_specs, "out_specs": out_specs, "check_rep": check_rep, "auto": auto,
        "check_vma": check_vma, "axis_names": axis_names,
    }  # fmt: skip
    if f is None:
        return functools.partial(bounded(shard_map), **given)
    left = frozenset(auto)
    if left and mesh is not None:
        unknown = left - set(mesh.axis_names)
        if unknown:
            raise ValueError(f"shard_map: auto names {sorted(map(str, unknown))}, which are no axes of the mesh {mesh}")
        axis_names = frozenset(mesh.axis_names) - left
    checked = check_rep if check_vma is None else check_vma
    return current.shard_map(
        f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, axis_names=axis_names, check_vma=checked
    )
