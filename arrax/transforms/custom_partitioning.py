"""``custom_partitioning``: functions that say themselves how they are divided among devices; and values laid out alike."""

from __future__ import annotations

import functools
import inspect
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from arrax import native
from arrax.core.errors import UnexpectedTracerError
from arrax.core.function_info import describe_call
from arrax.core.functions import function_name
from arrax.core.interpreter import Primitive, Tracer
from arrax.core.manual_regions import Region
from arrax.core.meshes import AbstractMesh
from arrax.core.partition_specs import PartitionSpec, entry_names
from arrax.core.program import ClosedJaxpr
from arrax.core.pytree_mismatch import different_structures
from arrax.core.pytrees import tree_flatten, tree_unflatten
from arrax.core.tracebacks import boundary
from arrax.core.types import ShapedArray, Zero, typeof
from arrax.interpreters.lowering import builder
from arrax.interpreters.lowering.contexts import ModuleContext
from arrax.interpreters.lowering.module import inline_program, lower_main
from arrax.interpreters.staging import eval_jaxpr, stage
from arrax.lax import collective_lowering as _collective_lowering  # noqa: F401  (how collectives are lowered)
from arrax.lax.operand_checks import checked_operand
from arrax.native import runtime
from arrax.transforms.arguments import as_numbers
from arrax.transforms.inspection import ShapeDtypeStruct
from arrax.transforms.sharding_rules import SdyShardingRule, rule_attribute
from arrax.xla import host_failures
from arrax.xla.modules import bytecode_of
from arrax.xla.shardings import GSPMDSharding, named_like
from arrax.xla.tilings import hlo_to_spec, spec_to_hlo

TARGET = "ArraxCustomPartitioning"
custom_partitioning_p = Primitive("custom_partitioning", multiple_results=True)
custom_partitioning_p.holds_programs = True
custom_partitioning_p.type_rule = lambda *avals, jaxpr, **params: jaxpr.out_avals
custom_partitioning_p.impl = lambda *args, jaxpr, **params: eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args)
# By the key that stands in the program, which the compiler asks with; they live as long as their program.
_calls: weakref.WeakValueDictionary[str, _Call] = weakref.WeakValueDictionary()
_lock = threading.Lock()


class _Call:
    """One call in a program for several devices: what the compiler's questions are answered from."""

    def __init__(
        self, rules: custom_partitioning, program: Any, static: Sequence[Any], in_tree: Any, out_tree: Any, module: Any
    ):
        self.rules, self.program, self.static = rules, program, tuple(static)
        self.in_tree, self.out_tree, self.mesh = in_tree, out_tree, module.mesh
        self.devices, self.platform = module.devices, module.platform

    def _sharding(self, hlo: Any, rank: int) -> Any:
        if self.mesh is not None and self.rules.decode_shardings:
            return named_like(self.mesh, hlo, rank)
        return GSPMDSharding(self.devices, hlo)

    def described(self, avals: Sequence[Any], hlos: Sequence[Any], tree: Any) -> Any:
        """Shapes, dtypes and shardings, in a structure."""
        return tree_unflatten(
            tree,
            [
                ShapeDtypeStruct(a.shape, a.dtype, sharding=self._sharding(h, a.ndim))
                for a, h in zip(avals, hlos, strict=True)
            ],
        )

    def hlos(self, shardings: Any, avals: Sequence[Any]) -> list[Any]:
        """The compiler's descriptions of shardings in a pytree."""
        leaves = tree_flatten(shardings)[0]
        return [s._to_xla_hlo_sharding(aval.ndim) for s, aval in zip(leaves, avals, strict=True)]

    def infer(self, arg_hlos: Sequence[Any]) -> list[Any]:
        """How the results lie, from how the operands do."""
        args = self.described(self.program.in_avals, arg_hlos, self.in_tree)
        results = tree_unflatten(self.out_tree, [ShapeDtypeStruct(a.shape, a.dtype) for a in self.program.out_avals])
        assert self.rules.infer_sharding_from_operands is not None
        found = self.rules.infer_sharding_from_operands(*self.static, self.mesh, args, results)
        return self.hlos(found, self.program.out_avals)

    def partitioned(self, arg_hlos: Sequence[Any], result_hlos: Sequence[Any]) -> tuple[bytes, list[Any], list[Any]]:
        """The program of one device, how it takes the operands and gives the results."""
        avals, outs = self.program.in_avals, self.program.out_avals
        args = self.described(avals, arg_hlos, self.in_tree)
        results = self.described(outs, result_hlos, self.out_tree)
        assert self.rules.partition is not None
        mesh, lower_fn, out_shardings, arg_shardings = self.rules.partition(*self.static, self.mesh, args, results)
        ins, gives = tree_flatten(arg_shardings)[0], tree_flatten(out_shardings)[0]
        pieces = [_piece(aval, sharding) for aval, sharding in zip(avals, ins, strict=True)]
        module = self._module(mesh, lower_fn, pieces, [_piece(a, s) for a, s in zip(outs, gives, strict=True)])
        return bytecode_of(module), self.hlos(ins, avals), self.hlos(gives, outs)

    def _module(
        self, mesh: Any, lower_fn: Callable[..., Any], pieces: Sequence[ShapedArray], expected: Sequence[ShapedArray]
    ) -> Any:
        region = Region(
            mesh if mesh is not None else AbstractMesh((), ()), frozenset(mesh.axis_names if mesh else ()), False
        )

        def flat(*args: Any) -> list[Any]:
            return tree_flatten(lower_fn(*tree_unflatten(self.in_tree, args)))[0]

        with region.entered():
            program = ClosedJaxpr(*stage(flat, pieces))
        for out, wanted in zip(program.out_avals, expected, strict=True):
            if (out.shape, out.dtype) != (wanted.shape, wanted.dtype):
                raise ValueError(
                    f"custom_partitioning: the function that `partition` gave for {function_name(self.rules.fun)} returns "
                    f"{out.str_short(True)} on each device, but its result sharding asks for {wanted.str_short(True)}"
                )
        return lower_partition(program, self.platform, self.devices, region)


def _piece(aval: ShapedArray, sharding: Any) -> ShapedArray:
    return ShapedArray(sharding.shard_shape(aval.shape), aval.dtype)


def lower_partition(program: ClosedJaxpr, platform: str, devices: Any, region: Region) -> Any:
    """The module of what one device runs."""
    ir = native.mlir.ir
    with builder.ir_context(), ir.Location.unknown():
        module = ir.Module.create()
        ctx = ModuleContext(module, platform, len(devices))
        ctx.names["main"], ctx.program, ctx.devices, ctx.manual = 1, program, devices, region
        lower_main(ctx, program)
    return module


# ---- what the compiler asks ------------------------------------------------------------------------------------------


@contextmanager
def _printable() -> Iterator[None]:
    """Hand exceptions of a user's rule to the compiler in a form that it can write, and remember them for its error."""
    try:
        yield
    except BaseException as error:
        host_failures.hand_over(error, "custom_partitioning", "a rule")
        raise


def _call_of(key: Any) -> _Call:
    return _calls[key.decode() if isinstance(key, bytes) else key]


def _propagate(user_sharding: Any, shape: Any, key: Any) -> Any:
    return user_sharding


def _infer(arg_shapes: Any, arg_shardings: Any, result_shape: Any, key: Any) -> Any:
    call = _call_of(key)
    with _printable():
        found = call.infer(arg_shardings)
    return found[0] if len(found) == 1 else runtime.HloSharding.tuple_sharding(result_shape, found)


def _partition(arg_shapes: Any, arg_shardings: Any, result_shape: Any, result_sharding: Any, key: Any) -> Any:
    call = _call_of(key)
    count = len(call.program.out_avals)
    results = [result_sharding] if count == 1 else result_sharding.tuple_elements()
    with _printable():
        module, ins, outs = call.partitioned(arg_shardings, results)
    out = outs[0] if count == 1 else runtime.HloSharding.tuple_sharding(result_shape, outs)
    return module, ins, out


@functools.cache
def _register() -> None:
    runtime.xla_client.register_custom_call_partitioner(TARGET, _propagate, _partition, _infer, True)


def _lower(ctx: Any, *args: Any, jaxpr: ClosedJaxpr, rules: Any, static: Any, in_tree: Any, out_tree: Any) -> list[Any]:
    module = ctx.module_context
    if module.num_devices == 1 or module.manual is not None:
        return inline_program(module, jaxpr, args, "custom_partitioning")
    _register()
    call = _Call(rules, jaxpr, static, in_tree, out_tree, module)
    with _lock:
        key = f"{id(call)}"
        _calls[key] = call
    module.host_callbacks.append(call.infer)  # keeps the program out of the store: only this process can answer for it
    attributes = {
        "call_target_name": builder.string(TARGET), "api_version": builder.integer(2, 32),
        "backend_config": builder.string(key),
    }  # fmt: skip
    rule = rules.rule_text(call, ctx.avals_in, ctx.avals_out)
    if rule is not None:
        attributes["sdy.sharding_rule"] = builder.attribute(rule)
    types = [builder.ir_type(aval) for aval in ctx.avals_out]
    return list(builder.operation("stablehlo.custom_call", types, args, attributes).results)


custom_partitioning_p.lower[None] = _lower


# ---- what the user says ----------------------------------------------------------------------------------------------


class custom_partitioning:
    """A function that says itself how it is divided among devices.

    Args:
      fun: function of arrays.
      static_argnums: positions of arguments that are not arrays; rules get them in front.
    Example: ``f = custom_partitioning(jnp.sin)``, then ``f.def_partition(...)``.
    """

    @boundary
    def __init__(self, fun: Callable[..., Any], static_argnums: int | Sequence[int] = ()):
        if not callable(fun):
            raise TypeError(f"custom_partitioning: expected a function, got {fun!r}")
        self.fun, self.static_argnums = fun, as_numbers("static_argnums", static_argnums)
        self.partition: Callable[..., Any] | None = None
        self.infer_sharding_from_operands: Callable[..., Any] | None = None
        self.propagate_user_sharding: Callable[..., Any] | None = None
        self.decode_shardings = True
        self.sharding_rule: Any = None
        self.factors: dict[str, Any] = {}
        functools.update_wrapper(self, fun)

    @boundary
    def def_partition(
        self, partition: Callable[..., Any], infer_sharding_from_operands: Callable[..., Any] | None = None,
        propagate_user_sharding: Callable[..., Any] | None = None, decode_shardings: bool = True, sharding_rule: Any = None, *,
        reduction_factors: Sequence[str] = (), need_replication_factors: Sequence[str] = (),
        permutation_factors: Sequence[str] = (), **factor_sizes: int,
    ) -> Callable[..., Any]:  # fmt: skip
        """Say how the function is divided.

        Args:
          partition: function ``(mesh, arg_shapes, result_shape)`` to ``(mesh, function of pieces, result shardings, argument
            shardings)``; shapes have the shardings that the compiler suggests.
          infer_sharding_from_operands: function ``(mesh, arg_shapes, result_shape)`` to the result shardings. Without a
            ``sharding_rule`` it is asked what becomes of operands of which one axis is divided.
          propagate_user_sharding: accepted, without effect.
          decode_shardings: give rules NamedShardings where possible.
          sharding_rule: how axes of operands and results belong together, such as ``"i j, j k -> i k"``, the same as an
            SdyShardingRule, or a function ``(mesh, operand types, result types)`` to one of them.
          reduction_factors, need_replication_factors, permutation_factors: names in the rule that are summed over, must not
            be divided, or are permuted. **factor_sizes: their sizes, where axes do not say them.
        Returns: ``partition``.
        Raises:
          TypeError: a rule of another kind.
        """
        if not (sharding_rule is None or callable(sharding_rule) or isinstance(sharding_rule, str | SdyShardingRule)):
            raise TypeError(
                "custom_partitioning: sharding_rule must be a str, an SdyShardingRule or a function, got "
                f"{sharding_rule!r} of type {type(sharding_rule)}"
            )
        self.partition, self.infer_sharding_from_operands = partition, infer_sharding_from_operands
        self.propagate_user_sharding, self.decode_shardings = propagate_user_sharding, bool(decode_shardings)
        self.sharding_rule = sharding_rule
        self.factors = {
            "sizes": factor_sizes, "reduction": tuple(reduction_factors),
            "need_replication": tuple(need_replication_factors), "permutation": tuple(permutation_factors),
        }  # fmt: skip
        return partition

    def rule_text(self, call: Any, avals_in: Sequence[Any], avals_out: Sequence[Any]) -> str | None:
        """The rule as an attribute of the program, or None."""
        rule = self.sharding_rule
        if callable(rule):
            rule = rule(*call.static, call.mesh, avals_in, avals_out)
        elif rule is None and self.infer_sharding_from_operands is not None and call.mesh is not None:
            rule = inferred_rule(call)
        if rule is None:
            return None
        own = rule.factors if isinstance(rule, SdyShardingRule) else {}
        return rule_attribute(str(rule), avals_in, avals_out, {**self.factors, **own})

    @boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.partition is None:
            raise ValueError(f"custom_partitioning: def_partition was not called for {function_name(self.fun)}")
        bound = inspect.signature(self.fun).bind(*args, **kwargs)
        bound.apply_defaults()
        values = bound.args
        static = [values[n] for n in self.static_argnums]
        for n, value in zip(self.static_argnums, static, strict=True):
            if isinstance(value, Tracer):
                raise UnexpectedTracerError(
                    f"custom_partitioning: argument {n} of {function_name(self.fun)} is static and cannot be traced"
                )
        dynamic = [value for n, value in enumerate(values) if n not in self.static_argnums]
        leaves, in_tree = tree_flatten(tuple(dynamic))
        leaves = [checked_operand(function_name(self.fun), leaf) for leaf in leaves]
        structure: list[Any] = []

        def flat(*tracers: Any) -> list[Any]:
            rest = iter(tree_unflatten(in_tree, tracers))
            whole = [values[n] if n in self.static_argnums else next(rest) for n in range(len(values))]
            outs, tree = tree_flatten(self.fun(*whole))
            structure[:] = [tree]
            return outs

        holes = [None if n in self.static_argnums else value for n, value in enumerate(values)]
        info = describe_call(self.fun, "custom_partitioning", holes)
        jaxpr, consts = stage(flat, [typeof(leaf) for leaf in leaves], info)
        if consts:
            raise NotImplementedError(
                f"custom_partitioning: {function_name(self.fun)} closes over arrays; pass them as arguments"
            )
        outs = custom_partitioning_p.bind(
            *leaves, jaxpr=ClosedJaxpr(jaxpr), rules=self, static=tuple(static), in_tree=in_tree, out_tree=structure[0]
        )
        return tree_unflatten(structure[0], outs)


def inferred_rule(call: _Call) -> str:
    """The rule by which results are divided as the user's function infers it, for operands of which one axis is divided."""
    mesh, avals, outs = call.mesh, call.program.in_avals, call.program.out_avals
    operands = [[f"i{n}_{d}" for d in range(aval.ndim)] for n, aval in enumerate(avals)]
    results = [[f"o{n}_{d}" for d in range(aval.ndim)] for n, aval in enumerate(outs)]
    for n, aval in enumerate(avals):
        for d, length in enumerate(aval.shape):
            name = next((name for name, size in mesh.shape_tuple if size > 1 and length and length % size == 0), None)
            if name is None:
                continue
            hlos = [runtime.HloSharding.replicate()] * len(avals)
            hlos[n] = spec_to_hlo(mesh, PartitionSpec(*[None] * d, name), aval.ndim)
            try:
                found = call.infer(hlos)
            except (IndexError, TypeError, ValueError):  # it expects shardings of another kind
                continue
            for out, names, hlo in zip(outs, results, found, strict=True):
                for e, entry in enumerate(hlo_to_spec(mesh, hlo, out.ndim) or ()):
                    if name in entry_names(entry) and out.shape[e] == length:
                        _unify(operands[n][d], names[e], [*operands, *results])
    return " -> ".join(", ".join(map(" ".join, values)) for values in (operands, results))


def _unify(name: str, other: str, values: Sequence[list[str]]) -> None:
    """Give two axes one name, unless both stand in one value."""
    if not any(name in names and other in names for names in values):
        for names in values:
            names[:] = [name if each == other else each for each in names]


# ---- values laid out alike -------------------------------------------------------------------------------------------

shard_alike_p = Primitive("shard_alike", multiple_results=True)
shard_alike_p.type_rule = lambda x, y: [x, y]
shard_alike_p.impl = lambda x, y: [x, y]


def _alike_lower(ctx: Any, x: Any, y: Any) -> list[Any]:
    module = ctx.module_context
    if module.num_devices > 1:
        number, module.sharding_groups = module.sharding_groups, module.sharding_groups + 1
        for value in (x, y):
            builder.operation("sdy.sharding_group", [], [value], {"group_id": builder.integer(number)})
    return [x, y]


def _alike_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    outs = shard_alike_p.bind(*primals)
    if all(type(t) is not Zero for t in tangents):
        return outs, shard_alike_p.bind(*tangents)
    return outs, list(tangents)


def _alike_transpose(cts: Any, x: Any, y: Any) -> list[Any]:
    return list(shard_alike_p.bind(*cts)) if all(type(ct) is not Zero for ct in cts) else list(cts)


shard_alike_p.lower[None] = _alike_lower
shard_alike_p.jvp = _alike_jvp
shard_alike_p.transpose = _alike_transpose
shard_alike_p.batch = lambda values, dims: (shard_alike_p.bind(*values), list(dims))


def shard_alike(x: Any, y: Any) -> tuple[Any, Any]:
    """Both values, which the compiler lays out in the same way.

    Args:
      x, y: arrays of one shape, or pytrees of one structure whose leaves are.
    Raises:
      ValueError: other shapes or structures.
    Example: ``shard_alike(x, jnp.zeros_like(x))``.
    """
    (xs, tree), (ys, other) = tree_flatten(x), tree_flatten(y)
    if tree != other:
        raise ValueError(f"shard_alike: {different_structures('x', tree, 'y', other)}")
    pairs = [_alike(*pair) for pair in zip(xs, ys, strict=True)]
    return tree_unflatten(tree, [first for first, _ in pairs]), tree_unflatten(tree, [second for _, second in pairs])


def _alike(x: Any, y: Any) -> Any:
    x, y = checked_operand("shard_alike", x), checked_operand("shard_alike", y)
    if typeof(x).shape != typeof(y).shape:
        raise ValueError(
            f"shard_alike: both values must have the same shape, got {typeof(x).str_short(True)} and {typeof(y).str_short(True)}"
        )
    return shard_alike_p.bind(x, y)
