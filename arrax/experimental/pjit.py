"""``pjit``: an older name of ``jit`` with shardings (public names)."""

from __future__ import annotations

import functools as _functools
from collections.abc import Callable
from typing import Any

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.lax.calls import jit_p as pjit_p
from arrax.lax.sharding_constraints import with_sharding_constraint as with_sharding_constraint
from arrax.transforms.arguments import refuse_abstracted_axes as _refuse_abstracted_axes
from arrax.transforms.jit import Jitted as _Jitted
from arrax.transforms.jit import make_jitted as _make_jitted
from arrax.transforms.jit_options import Names as _Names
from arrax.transforms.jit_options import Numbers as _Numbers
from arrax.transforms.jit_options import checked_options as _checked_options
from arrax.transforms.sharding_arguments import Leaf as _Leaf
from arrax.transforms.sharding_arguments import whole_where_none as _whole_where_none
from arrax.xla.annotations import OptionalDevice
from arrax.xla.shardings import AUTO as AUTO
from arrax.xla.shardings import UNSPECIFIED as UNSPECIFIED

__all__ = ["AUTO", "UNSPECIFIED", "pjit", "pjit_p", "with_sharding_constraint"]


def pjit(
    fun: Callable[..., Any] | None = None, in_shardings: _Leaf = UNSPECIFIED, out_shardings: _Leaf = UNSPECIFIED,
    static_argnums: _Numbers = None, static_argnames: _Names = None, donate_argnums: _Numbers = None,
    donate_argnames: _Names = None, keep_unused: bool = False, device: OptionalDevice = None, backend: str | None = None,
    inline: bool = False, abstracted_axes: Any = None, compiler_options: dict[str, Any] | None = None,
) -> Any:  # fmt: skip
    """Compile a function: ``jit`` over all devices of the mesh in force, that of ``with mesh:``, too.

    Options may here be given by position, too.

    Args:
      fun: function of arrays and nested containers of them; None gives a decorator.
      in_shardings, out_shardings: how arguments and results lie; None means whole on every device of the mesh in force.
      static_argnums, static_argnames, donate_argnums, donate_argnames, keep_unused, device, backend, inline, abstracted_axes,
        compiler_options: as of ``jit``.
    Returns: the compiled function.
    Example: ``from arrax.experimental.pjit import pjit; pjit(lambda v: v + 1, None, None)(1.)`` is 2.
    """
    options = dict(locals())  # of the same names
    function = options.pop("fun")
    if function is None:
        return _functools.partial(pjit, **options)
    _refuse_abstracted_axes("jit", options.pop("abstracted_axes"))
    shardings = {name: _whole_where_none(options.pop(name)) for name in ("in_shardings", "out_shardings")}
    return _make_jitted(_Jitted(function, _checked_options(function, **shardings, **options, over_entered_mesh=True)))


_bound_names(__name__)
