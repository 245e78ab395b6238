"""``export``: compiled functions as portable programs, to be called later, elsewhere, or from other programs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, SupportsIndex

from arrax.core import config
from arrax.core.lengths import is_symbolic
from arrax.core.program import ClosedJaxpr
from arrax.core.pytree_mismatch import different_structures
from arrax.core.pytree_paths import keystr, tree_flatten_with_path
from arrax.core.pytrees import PyTreeDef, tree_flatten, tree_unflatten
from arrax.core.tracebacks import bound_methods, boundary
from arrax.core.types import ShapedArray, typeof
from arrax.interpreters.lowered_programs import lower_program
from arrax.interpreters.lowering.builder import ir_context, physical_aval
from arrax.interpreters.lowering.symbol_values import scopes_of, symbols_of
from arrax.interpreters.staging import eval_jaxpr
from arrax.lax.exported_calls import call_exported_p, kind_of_platform
from arrax.lax.operand_checks import checked_operand
from arrax.transforms.arguments import jitted_of
from arrax.transforms.autodiff import vjp
from arrax.transforms.custom_vjp import custom_vjp
from arrax.transforms.export_format import from_bytes, to_bytes
from arrax.transforms.inspection import struct_of
from arrax.transforms.jit import jit
from arrax.xla.arrays import ArrayLike
from arrax.xla.devices import default_backend
from arrax.xla.portable_modules import custom_calls, module_of, portable_bytes
from arrax.xla.shardings import NamedSharding, named_like

if TYPE_CHECKING:
    from arrax.interpreters.placements import Placement
    from arrax.native.mlir import ir
    from arrax.transforms.stages import Traced


minimum_supported_calling_convention_version = 9
maximum_supported_calling_convention_version = 10

Types = tuple[ShapedArray, ...]  # of each leaf
Layouts = tuple[Any, ...]  # for each leaf a sharding of XLA, or None
Effects = tuple[Any, ...]
PLATFORMS = ("cpu", "cuda", "rocm", "tpu")
# Functions of the runtime that later versions go on having.
_KEPT_TARGETS = re.compile(
    r"lapack_.*_ffi|cu(solver|blas|sparse|dnn|hybrid)?_.*|hip.*|Sharding|SPMD(FullToShard|ShardToFull)Shape|"
    r"annotate_device_placement|ApproxTopK|PartialReduce|Qr|Eigh|ProductOfElementaryHouseholderReflectors|Cholesky|"
    r"(LuDecomposition|LayoutConstraint|shape_assertion|tpu_custom_call|__gpu\$xla\.gpu\.triton|mhlo\..*|chlo\..*)"
)


class DisabledSafetyCheck:
    """A check that exporting or calling leaves out: made by ``platform`` and ``custom_call``.

    Example: ``str(arrax.export.DisabledSafetyCheck.custom_call('my_kernel'))`` is ``'custom_call:my_kernel'``.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind

    @classmethod
    def platform(cls) -> DisabledSafetyCheck:
        """That a function is called on a platform that it was exported for."""
        return cls("platform")

    @classmethod
    def custom_call(cls, target_name: str) -> DisabledSafetyCheck:
        """That a function of the runtime which is called is one that later versions have, too."""
        return cls(f"custom_call:{target_name}")

    def is_platform(self) -> bool:
        """Whether it is the check of platforms."""
        return self._kind == "platform"

    def is_custom_call(self) -> str | None:
        """The name of the function that is not checked, or None."""
        return self._kind.removeprefix("custom_call:") if self._kind.startswith("custom_call:") else None

    def __str__(self) -> str:
        return self._kind

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DisabledSafetyCheck) and other._kind == self._kind

    def __hash__(self) -> int:
        return hash(self._kind)


@bound_methods
@dataclass(frozen=True, eq=False, repr=False)
class Exported:
    """A function as a portable program for arguments of certain types.

    Attributes:
      fun_name: the function's name, for messages.
      in_tree: structure of ``(args, kwargs)``. in_avals: types of their leaves.
      out_tree: structure of the result. out_avals: types of its leaves.
      in_shardings_hlo, out_shardings_hlo: how each argument and result lies over the devices, or None.
      nr_devices: over how many devices the program runs.
      platforms: what it was lowered for.
      ordered_effects, unordered_effects: what it does beside its results.
      disabled_safety_checks: what was not checked.
      mlir_module_serialized: the program, as portable StableHLO.
      calling_convention_version: how the program's main function is to be called.
      module_kept_var_idx: numbers of the arguments that the program takes.
      uses_global_constants: whether it takes the number of the platform first.
    Example: ``exported = arrax.export.export(jit(jnp.sin))(x); exported.in_avals[0].shape`` is ``(4,)``.
    """

    fun_name: str
    in_tree: PyTreeDef
    in_avals: Types
    out_tree: PyTreeDef
    out_avals: Types
    in_shardings_hlo: Layouts
    out_shardings_hlo: Layouts
    nr_devices: int
    platforms: tuple[str, ...]
    ordered_effects: Effects
    unordered_effects: Effects
    disabled_safety_checks: Sequence[DisabledSafetyCheck]
    mlir_module_serialized: bytes
    calling_convention_version: int
    module_kept_var_idx: tuple[int, ...]
    uses_global_constants: bool
    _get_vjp: Callable[[Exported], Exported] | None

    def __repr__(self) -> str:
        return f"Exported(fun_name={self.fun_name}, ...)"

    def mlir_module(self) -> str:
        """The program as text of MLIR."""
        return str(module_of(self.mlir_module_serialized, ir_context()))

    def serialize(self, vjp_order: int = 0) -> bytearray:
        """The function as bytes, which ``deserialize`` reads.

        Args:
          vjp_order: how many times it can be differentiated afterwards (in reverse mode).
        Raises:
          ValueError: arguments or results hold instances of classes that are not registered for this; a negative ``vjp_order``.
          TypeError: a ``vjp_order`` that is not an integer.
        """
        if not isinstance(vjp_order, SupportsIndex):
            raise TypeError(f"serialize: vjp_order must be an integer, got {vjp_order!r}")
        if vjp_order < 0:
            raise ValueError(f"serialize: vjp_order must not be negative, got {vjp_order}")
        return bytearray(to_bytes(self, vjp_order))

    def has_vjp(self) -> bool:
        """Whether the function can be differentiated (in reverse mode)."""
        return self._get_vjp is not None

    def vjp(self) -> Exported:
        """The function of the leaves of the arguments and the cotangents of the results, to cotangents of the arguments.

        Raises:
          ValueError: it was serialized without.
        """
        if self._get_vjp is None:
            raise ValueError(
                f"No VJP is available for '{self.fun_name}': serialize it with vjp_order=1 or more to have its derivatives"
            )
        found = self.__dict__.get("_vjp")
        if found is None:
            found = self._get_vjp(self)
            object.__setattr__(self, "_vjp", found)
        return found

    def in_shardings_jax(self, mesh: Any) -> Sequence[Any]:
        """How the arguments lie over the devices of a mesh: a sharding for each, or None."""
        return _over(mesh, self.in_shardings_hlo, self.in_avals)

    def out_shardings_jax(self, mesh: Any) -> Sequence[Any]:
        """How the results lie over the devices of a mesh: a sharding for each, or None."""
        return _over(mesh, self.out_shardings_hlo, self.out_avals)

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function: as it is, or from inside of ``jit`` and ``grad``.

        Raises:
          ValueError: arguments of other structures, shapes or dtypes, or a platform or number of devices that the function was
            not exported for.
        """
        leaves, tree = tree_flatten((args, kwargs))
        if tree != self.in_tree:
            parts = zip(("args", "kwargs"), tree.children(), self.in_tree.children(), strict=True)
            found = [different_structures(name, one, f"exported {name}", other) for name, one, other in parts]
            raise ValueError(
                "The invocation args and kwargs must have the same pytree structure as when the function "
                f"'{self.fun_name}' was exported, but they have the following structural differences: {' '.join(found).strip()}"
            )
        leaves = [checked_operand("Exported.call", leaf) for leaf in leaves]
        self._check_types((args, kwargs), leaves)
        return tree_unflatten(self.out_tree, list(_flat_call(self)(*leaves)))

    def _check_types(self, arguments: tuple[Any, ...], leaves: Sequence[Any]) -> None:
        paths = [path for path, _ in tree_flatten_with_path(arguments)[0]]
        for path, leaf, wanted in zip(paths, leaves, self.in_avals, strict=True):
            given = typeof(leaf)
            where = f"{('args', 'kwargs')[path[0].idx]}{keystr(path[1:])}"
            if given.dtype != wanted.dtype:
                raise ValueError(f"Dtype mismatch for {where}: expected {wanted.dtype} and called with {given.dtype}")
            if given.ndim == wanted.ndim and symbols_of([wanted]):
                # Symbolic lengths are compared later, when the sizes of all symbols are known.
                given = wanted.update(
                    shape=tuple(n if is_symbolic(n) else m for m, n in zip(given.shape, wanted.shape, strict=True))
                )
            if given.shape != wanted.shape:
                places = [
                    n for n, pair in enumerate(zip(given.shape, wanted.shape, strict=False)) if pair[0] != pair[1]
                ]
                same_rank = given.ndim == wanted.ndim
                axis = f".shape[{places[0]}] (expected same constant)" if same_rank else " (expected same rank)"
                raise ValueError(
                    f"Shape mismatch for {where}{axis}: expected {wanted.shape} and called with {given.shape}"
                )


def _over(mesh: Any, shardings: Sequence[Any], avals: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(
        None if each is None else named_like(mesh, each, aval.ndim) for each, aval in zip(shardings, avals, strict=True)
    )


def _flat_call(exported: Exported) -> Callable[..., tuple[Any, ...]]:
    """The function of its leaves, with the exported derivative for a rule."""

    def call_exported(*leaves: Any) -> tuple[Any, ...]:
        return tuple(call_exported_p.bind(*leaves, exported=exported))

    def forward(*leaves: ArrayLike) -> tuple[Any, Any]:
        return flat(*leaves), leaves  # which is differentiated again in derivatives of higher order

    def backward(leaves: tuple[ArrayLike, ...], cotangents: Any) -> tuple[Any, ...]:
        return _flat_call(exported.vjp())(*leaves, *cotangents)

    flat = custom_vjp(call_exported)
    flat.defvjp(forward, backward)
    return flat


@boundary
def deserialize(blob: bytearray | bytes) -> Exported:
    """The exported function that bytes stand for.

    Args:
      blob: what ``Exported.serialize`` gave.
    Raises:
      ValueError: other bytes, those of a later version, or classes of nodes that are not registered.
    Example: ``blob = arrax.export.export(jit(jnp.sin))(x).serialize(); arrax.export.deserialize(blob).call(x)`` is ``jnp.sin(x)``.
    """
    fields, rest = from_bytes(bytes(blob))
    derivative = deserialize(rest) if rest else None
    fields["disabled_safety_checks"] = tuple(map(DisabledSafetyCheck, fields["disabled_safety_checks"]))
    return Exported(
        **fields,
        ordered_effects=(),
        unordered_effects=(),
        _get_vjp=None if derivative is None else lambda _: derivative,
    )


def default_export_platform() -> str:
    """The platform that functions are exported for where none is named: ``"cpu"``, ``"cuda"``, ``"rocm"`` or ``"tpu"``.

    Example: ``arrax.export.default_export_platform() in ('cpu', 'cuda', 'rocm', 'tpu')`` is True.
    """
    return kind_of_platform(default_backend())


def export(
    fun_jit: Any, *, platforms: Sequence[str] | None = None, disabled_checks: Sequence[DisabledSafetyCheck] = ()
) -> Callable[..., Exported]:
    """A function that exports a jitted function for the types of its arguments.

    Args:
      fun_jit: what ``jit`` gives.
      platforms: what the program is for: some of ``"cpu"``, ``"cuda"``, ``"rocm"`` and ``"tpu"``; by default where it runs here.
      disabled_checks: what is not to be checked.
    Returns: a function with the arguments of ``fun_jit``, or anything with their shapes and dtypes, to an ``Exported``.
    Raises:
      TypeError: ``disabled_checks`` that are none.
      ValueError: something else than a jitted function, unknown platforms, or calls of functions of the runtime that later
        versions may not have.
      NotImplementedError: the function calls Python functions on the host, or has dimensions that are symbols.
    Example: ``exported = arrax.export.export(jit(jnp.sin))(arrax.ShapeDtypeStruct((4,), jnp.float32)); exported.call(x)`` is
    ``jnp.sin(x)``.
    """
    if jitted_of(fun_jit) is None:
        raise ValueError(f"Function to be exported must be the result of `jit` but is: {fun_jit}")
    wanted = (default_export_platform(),) if platforms is None else tuple(platforms)
    unknown = [each for each in wanted if each not in PLATFORMS]
    if unknown or not wanted:
        raise ValueError(f"export: platforms must be some of {', '.join(PLATFORMS)}, got {platforms!r}")
    checks = tuple(disabled_checks) if isinstance(disabled_checks, Iterable) else (disabled_checks,)
    for check in checks:
        if not isinstance(check, DisabledSafetyCheck):
            raise TypeError(f"export: argument disabled_checks must hold DisabledSafetyChecks, got {check!r}")

    @boundary
    def export_for(*args: Any, **kwargs: Any) -> Exported:
        return exported_stage(fun_jit.trace(*args, **kwargs), wanted, checks)

    return export_for


def exported_stage(
    traced: Traced, platforms: tuple[str, ...], disabled_checks: tuple[DisabledSafetyCheck, ...]
) -> Exported:
    """The exported function of a traced one (``jit(f).trace(…)``)."""
    name, program, placement = traced.fun_name, traced.jaxpr, traced._placement
    if traced._high is not None:
        raise NotImplementedError(
            f"export: '{name}' takes arguments of types of a library's own; an exported function takes arrays"
        )
    several = platforms if len(platforms) > 1 else ()
    if len(scopes_of(traced._traced.in_avals)) > 1:
        raise ValueError(
            f"Invalid mixing of symbolic scopes in the arguments of '{name}': make their shapes by one symbolic_args_specs, or with "
            "one scope="
        )
    lowered = lower_program(
        program, name, platforms[0], donated=traced._donated,
        keep_unused=bool(traced._jitted.options.keep_unused or symbols_of(traced._traced.in_avals)),
        platforms=several, portable=True, placement=placement,
    )  # fmt: skip
    if lowered.of_this_process:
        raise NotImplementedError(f"export: '{name}' calls functions on the host, which are no part of its program")
    _check_targets(name, lowered.module, disabled_checks)
    in_avals, out_avals = tuple(traced._traced.in_avals), tuple(program.out_avals)
    distribution = lowered.distribution
    ins, outs = ([None] * len(avals) for avals in (in_avals, out_avals))
    kept = tuple(number for number, keep in enumerate(lowered.kept) if keep)
    if distribution is not None:
        for number, sharding in zip(kept, distribution.in_shardings, strict=True):
            ins[number] = sharding._to_xla_hlo_sharding(physical_aval(in_avals[number]).ndim)
        for number, sharding in enumerate(distribution.out_shardings):
            if sharding is not None:
                outs[number] = sharding._to_xla_hlo_sharding(physical_aval(out_avals[number]).ndim)

    def find_vjp(exported: Exported) -> Exported:
        return _exported_vjp(program, exported, placement)

    return Exported(
        fun_name=name, in_tree=traced.in_tree, in_avals=in_avals, out_tree=traced.out_tree, out_avals=out_avals,
        in_shardings_hlo=tuple(ins), out_shardings_hlo=tuple(outs),
        nr_devices=1 if distribution is None else len(distribution.devices), platforms=platforms, ordered_effects=(),
        unordered_effects=tuple(sorted(program.effects, key=str)), disabled_safety_checks=disabled_checks,
        mlir_module_serialized=portable_bytes(lowered.module),
        calling_convention_version=_calling_convention_version(), module_kept_var_idx=kept,
        uses_global_constants=bool(several), _get_vjp=find_vjp,
    )  # fmt: skip


def _calling_convention_version() -> int:
    low, high = minimum_supported_calling_convention_version, maximum_supported_calling_convention_version
    version = config.export_calling_convention_version.value
    if not low <= version <= high:
        raise ValueError(f"export: export_calling_convention_version must be between {low} and {high}, got {version}")
    return version


def _check_targets(name: str, module: ir.Module, disabled_checks: Sequence[DisabledSafetyCheck]) -> None:
    allowed = {check.is_custom_call() for check in disabled_checks}
    refused = sorted({target for target in custom_calls(module) if not _KEPT_TARGETS.fullmatch(target)} - allowed)
    if refused:
        raise ValueError(
            f"export: '{name}' calls functions of the runtime that later versions may not have: {', '.join(refused)}. To export "
            "it all the same, name them by disabled_checks=[DisabledSafetyCheck.custom_call(name)]"
        )


def _exported_vjp(program: ClosedJaxpr, exported: Exported, placement: Placement) -> Exported:
    """The exported function of arguments and cotangents of results."""
    count = len(exported.in_avals)

    def fun_vjp_jax(*values: Any) -> tuple[Any, ...]:
        def flat(*args: Any) -> list[Any]:
            return eval_jaxpr(program.jaxpr, program.consts, *args)

        _, pullback = vjp(flat, *values[:count])
        return pullback(list(values[count:]))

    cotangents = tuple(aval.to_tangent_aval() for aval in exported.out_avals)
    arguments = [struct_of(aval) for aval in (*exported.in_avals, *cotangents)]
    if placement.devices is not None:
        asked = placement.out_shardings or (None,) * len(cotangents)
        like_results = (_as_result(*each, placement) for each in zip(asked, cotangents, strict=True))
        given = (*placement.in_shardings, *like_results)
        arguments = [each.update(sharding=sharding) for each, sharding in zip(arguments, given, strict=True)]
    traced = jit(fun_vjp_jax).trace(*arguments)
    return exported_stage(traced, exported.platforms, tuple(exported.disabled_safety_checks))


def _as_result(asked: Any, aval: ShapedArray, placement: Placement) -> Any:
    """How the cotangent of a result lies over the devices of its program: as was asked for the result, or as its type says."""
    if asked is not None or aval.explicit is None or placement.mesh is None:
        return placement.replicated if asked is None else asked
    return NamedSharding(placement.mesh, aval.explicit.spec)
