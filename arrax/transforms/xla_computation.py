"""``xla_computation``: the program of a function in the form that XLA takes, for looking at it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from arrax.core.functions import function_name
from arrax.core.manual_regions import Region
from arrax.core.meshes import AbstractMesh
from arrax.core.named_axes import named_axes
from arrax.core.program import ClosedJaxpr
from arrax.core.pytrees import tree_flatten, tree_unflatten
from arrax.core.tracebacks import boundary
from arrax.interpreters.lowered_programs import match_donations
from arrax.interpreters.lowering.module import lower_module
from arrax.interpreters.ordering import in_order
from arrax.lax import collective_lowering as _collective_lowering  # noqa: F401  (gives them their lowering)
from arrax.native import runtime
from arrax.transforms.arguments import Split, as_numbers
from arrax.transforms.differentiated_functions import check_function
from arrax.transforms.inspection import shaped_types, struct_of
from arrax.transforms.jit import donated_leaves
from arrax.transforms.tracing import trace
from arrax.xla.devices import client_of, default_backend, platform_name

AxisEnv = Sequence[tuple[Any, int]]


def xla_computation(
    fun: Callable[..., Any], static_argnums: int | Sequence[int] = (), axis_env: AxisEnv | None = None,
    backend: str | None = None, tuple_args: bool = False, return_shape: bool = False,
    donate_argnums: int | Sequence[int] = (),
) -> Callable[..., Any]:  # fmt: skip
    """A function that returns the XLA computation of ``fun`` for its arguments, which are anything with shapes and dtypes.

    Args:
      fun: function of arrays or pytrees of them.
      static_argnums: positions of arguments that are part of the program.
      axis_env: (name, size) of named axes, over which operations communicate between as many replicas of the program.
      backend: the platform, by default that of ``default_backend``.
      tuple_args: whether the computation takes its arguments as one tuple.
      return_shape: also return the structure of the result, with ShapeDtypeStructs.
      donate_argnums: positions of arguments whose buffers the results may take.
    Returns: a function with the arguments of ``fun``. Its result has the methods ``as_hlo_text()``, ``as_hlo_dot_graph()``
      and ``as_serialized_hlo_module_proto()``; the computation gives a tuple of the leaves of the result of ``fun``.
    Raises:
      ValueError: an argument is both static and donated, or a static one cannot be hashed.
    Example: ``'cosine' in arrax.xla_computation(lambda v: jnp.sin(jnp.cos(v)))(x).as_hlo_text()`` is True.
    """
    check_function(fun)
    static, donated = as_numbers("static_argnums", static_argnums), as_numbers("donate_argnums", donate_argnums)
    if set(static) & set(donated):
        raise ValueError(
            f"xla_computation: static_argnums {static} and donate_argnums {donated} both name arguments "
            f"{sorted(set(static) & set(donated))}, which can be one of the two only"
        )
    axes = tuple(axis_env or ())
    mesh = AbstractMesh(tuple(size for _, size in axes), tuple(name for name, _ in axes))

    @boundary
    @functools.wraps(fun, assigned=("__module__", "__qualname__", "__doc__"))
    def computation_maker(*args: Any, **kwargs: Any) -> Any:
        split = Split(fun, static, (), args, kwargs)
        leaves, tree = tree_flatten((split.dynamic, split.dynamic_kwargs))
        with named_axes(*axes):
            traced = trace(fun, split, "xla_computation", None, leaves, tree, shaped_types(fun, split, leaves))
        jaxpr = in_order(traced.program.jaxpr)
        taken = donated_leaves(split, donated, ()) or (False,) * len(leaves)
        module, context = lower_module(
            ClosedJaxpr(jaxpr, traced.program.consts), function_name(fun),
            default_backend() if backend is None else platform_name(client_of(backend)),
            argument_attributes=match_donations(jaxpr.in_avals, taken, jaxpr.out_avals) if any(taken) else (),
            num_replicas=mesh.size if axes else 1, portable=True,
            manual=Region(mesh, frozenset(mesh.axis_names), False) if axes else None, stem="xla_computation",
        )  # fmt: skip
        computation = runtime._jax.mlir.mlir_module_to_xla_computation(
            context.locations.text(), use_tuple_args=tuple_args, return_tuple=True
        )
        if not return_shape:
            return computation
        return computation, tree_unflatten(traced.out_tree, list(map(struct_of, traced.program.out_avals)))

    computation_maker.__name__ = f"xla_computation({function_name(fun)})"
    return computation_maker
