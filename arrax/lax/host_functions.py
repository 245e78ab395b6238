"""Calls of users' functions on the host, from compiled programs and step by step: the plumbing below the callbacks."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.core import config
from arrax.core.errors import JaxRuntimeError
from arrax.core.function_info import describe_function
from arrax.core.pytrees import PyTreeDef, tree_flatten, tree_structure, tree_unflatten
from arrax.core.types import ShapedArray, abstract_token
from arrax.dtypes.wording import writable
from arrax.interpreters.lowering import builder, sharding_text
from arrax.interpreters.lowering.builder import physical_aval
from arrax.interpreters.lowering.custom_calls import aliases_of
from arrax.interpreters.lowering.other_axes import other_axes, over_axes
from arrax.interpreters.special_values import check_special_values
from arrax.native import runtime
from arrax.xla import host_failures
from arrax.xla.devices import client_of
from arrax.xla.distribution import put_on, whole_here, whole_where_bound
from arrax.xla.placement import array_from_host, as_arrays

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Value
    from arrax.interpreters.lowering.contexts import LoweringContext, ModuleContext
    from arrax.xla.arrays import Array

ArrayImpl = runtime.ArrayImpl

_PLATFORMS = {"cpu": "cpu", "cuda": "gpu", "rocm": "gpu"}


class HostFunction:
    """A user's function, how its arguments are made of leaves, and what it is to return.

    Args:
      name: of the public function that it was given to, for messages.
      out_tree, out_avals: structure and types of its results; None where nobody asks for them.
    """

    __slots__ = ("name", "function", "in_tree", "out_tree", "out_avals")

    def __init__(
        self, name: str, function: Callable[..., Any], in_tree: PyTreeDef, out_tree: PyTreeDef | None,
        out_avals: Sequence[ShapedArray],
    ) -> None:  # fmt: skip
        self.name, self.function, self.in_tree = name, function, in_tree
        self.out_tree, self.out_avals = out_tree, tuple(out_avals)

    def __repr__(self) -> str:
        return f"HostFunction({self.function!r})"

    def __call__(self, *leaves: Array) -> list[np.ndarray]:
        """Call it; returns the checked leaves of its result.

        Raises:
          TypeError: a result of another structure or dtype.
          ValueError: a result of another shape.
        """
        args, kwargs = tree_unflatten(self.in_tree, leaves)
        result = self.function(*args, **kwargs)
        if self.out_tree is None:
            return []
        values, tree = tree_flatten(result)
        if len(values) != len(self.out_avals):
            raise TypeError(
                f"{self._where()} returned a result of structure {tree}, expected {self.out_tree} as result_shape_dtypes says"
            )
        return [self._checked(value, aval) for value, aval in zip(values, self.out_avals, strict=True)]

    def _checked(self, value: Any, aval: ShapedArray) -> np.ndarray:
        extended = isinstance(aval.dtype, dtypes.ExtendedDType)
        array = value if extended else np.asarray(value)
        if extended and getattr(value, "dtype", None) != aval.dtype:
            raise TypeError(f"{self._where()} returned {type(value).__name__}, expected an array of dtype {aval.dtype}")
        if array.shape != aval.shape:
            raise ValueError(f"{self._where()} returned shape {array.shape}, expected {aval.shape}")
        if extended:
            return np.asarray(value._base_array)
        found = array.dtype if array.dtype == aval.dtype else dtypes.canonicalize_dtype(array.dtype)
        if found != aval.dtype:
            raise TypeError(f"{self._where()} returned dtype {array.dtype}, expected {aval.dtype}")
        return np.ascontiguousarray(array, aval.dtype).reshape(aval.shape)

    def _where(self) -> str:
        return f"{self.name}: {describe_function(self.function, self.name).describe()}"

    def run(self, leaves: Sequence[Any]) -> list[np.ndarray]:
        """Like a call; what it raises is remembered, and logged with its traceback."""
        try:
            return self(*leaves)
        except BaseException as error:
            host_failures.remember(error, self.name)
            raise


def host_device() -> runtime.Device:
    """The device that arguments of functions on the host lie on."""
    return client_of("cpu").local_devices()[0]


def on_host(values: Sequence[Any]) -> list[Any]:
    """Arguments outside of any program as arrays."""
    return as_arrays(values, host_device())


def _as_in_programs(value: Array) -> Array:
    """The argument as compiled programs hand it over: not weakly typed."""
    if not value.aval.weak_type:
        return value
    return to_device(np.asarray(value), ShapedArray(value.shape, value.dtype), host_device())


def call_step_by_step(function: HostFunction, values: Sequence[Any]) -> list[Any]:
    """The results of a call outside of any program: on all devices to which an operand is committed, or the host's.

    Raises:
      JaxRuntimeError: the function raises anything, which is its cause.
      FloatingPointError: a result is NaN or infinity, and these are watched for.
    """
    arrays, place = [whole_here(value) for value in values], whole_where_bound(values)
    try:
        outs = function.run([_as_in_programs(value) for value in on_host(arrays)])
    except Exception as error:  # the new one finds out what it is also: see xla/host_failures
        text = f"INTERNAL: error calling the function on the host: {traceback.format_exc()}"
        raise JaxRuntimeError(writable(text)) from error
    device = host_device()
    results = [to_device(out, aval, device) for out, aval in zip(outs, function.out_avals, strict=True)]
    if place is not None:
        with config.own_transfer():
            results = [put_on(x, place) if type(x) is ArrayImpl else x for x in results]
    check_special_values(results, function.name)
    return results


def to_device(value: np.ndarray, aval: ShapedArray, device: runtime.Device) -> Array:
    """An array of a type from the elements that the host has: part of a program's call, which no guard refuses."""
    with config.own_transfer():
        if isinstance(aval.dtype, dtypes.ExtendedDType):
            dtype: Any = aval.dtype
            return dtype.wrap(array_from_host(value, physical_aval(aval), device))
        return array_from_host(value, aval, device)


def lower_host_call(
    ctx: LoweringContext, function: HostFunction, values: Sequence[Value], side_effect: bool, partitioned: bool = False
) -> list[Value]:
    """A call of a function on the host. With a token first among the operands, one comes first among the results.

    Args:
      partitioned: in a program for several devices, each of them calls it with its parts of the operands. There are no
        results then.
    Raises:
      NotImplementedError: the platform has no such calls.
      ValueError: those of several devices were to be in order.
    """
    module = ctx.module_context
    ordered = bool(ctx.avals_in) and ctx.avals_in[0] is abstract_token
    partitioned = partitioned and module.num_devices > 1 and module.manual is None
    if partitioned and ordered:
        raise ValueError(
            f"{function.name}: partitioned calls happen on {module.num_devices} devices at a time, so that they cannot be "
            "ordered: leave out ordered or partitioned"
        )
    avals_in, avals_out = ctx.avals_in[ordered:], ctx.avals_out[ordered:]
    given, wanted = [[_passed(aval) for aval in avals] for avals in (avals_in, avals_out)]
    operands = [
        builder.full(0, one) if not aval.size else value
        for value, aval, one in zip(values[ordered:], avals_in, given, strict=True)
    ]
    token = [abstract_token] if ordered else []
    entry = _entry(function, avals_in, avals_out, ordered, partitioned)
    outs = call_host(
        module, function.name, entry, [*values[:ordered], *operands], [*token, *given], [*token, *wanted],
        side_effect=side_effect, partitioned=partitioned,
    )  # fmt: skip
    empty = [
        out if aval.size else builder.full(0, physical_aval(aval))
        for out, aval in zip(outs[ordered:], avals_out, strict=True)
    ]
    return [*outs[:ordered], *empty]


def emit_python_callback(
    ctx: LoweringContext, callback: Callable[..., Sequence[Any]], token: Value | None, operands: Sequence[Value],
    operand_avals: Sequence[Any], result_avals: Sequence[Any], *, has_side_effect: bool, returns_token: bool = True,
    partitioned: bool = False, sharding: Any = None,
) -> tuple[list[Any], Any, Any]:  # fmt: skip
    """A call of a function on the host, for lowering rules of one's own.

    Args:
      ctx: of the lowering rule.
      callback: function of as many arrays as there are operands, that returns as many as there are results.
      token: a token to be called after, or None.
      operands, operand_avals: values of the program, and their types.
      result_avals: types of the results.
      has_side_effect: keep the call where nobody uses its results.
      partitioned: see ``lower_host_call``.
      returns_token, sharding: taken for the interface's sake: without a token there is none, and one device calls.
    Returns: the results, the token after the call (None without one), and an object to be kept alive with the program.
    Raises:
      NotImplementedError: the platform has no such calls.
    Example: ``rule = lambda ctx, x: emit_python_callback(ctx, lambda x: [x + 1], None, [x], ctx.avals_in,
      ctx.avals_out, has_side_effect=False)[0]``.
    """
    in_tree, out_tree = tree_structure(((0,) * len(operand_avals), {})), tree_structure((0,) * len(result_avals))
    function = HostFunction("mlir callback", lambda *xs: tuple(callback(*xs)), in_tree, out_tree, result_avals)
    tokens, kinds = ([], []) if token is None else ([token], [abstract_token])
    ctx = ctx.replace(avals_in=[*kinds, *operand_avals], avals_out=[*kinds, *result_avals])
    outs = lower_host_call(ctx, function, [*tokens, *operands], has_side_effect, partitioned)
    return outs[len(tokens) :], outs[0] if tokens else None, function


def call_host(
    module: ModuleContext, name: str, entry: Callable[..., tuple], operands: Sequence[Value], avals_in: Sequence[Any],
    avals_out: Sequence[Any], *, side_effect: bool, partitioned: bool = False, in_place: bool = False,
    aliases: Mapping[int, int] = MappingProxyType({}),
) -> list[Value]:  # fmt: skip
    """The operation that calls a function of NumPy arrays; types and results are not looked at.

    Args:
      module: context of the module that it stands in.
      name: of the public function behind it, for messages.
      entry: gives a tuple of arrays of the types ``avals_out``; ``in_place``, it is given the runtime's context, and the memory
        of the results after that of the operands, and gives an empty tuple.
      partitioned: whether each device calls it.
      aliases: from numbers of operands to those of results that take their memory.
    Raises:
      NotImplementedError: the platform has no such calls.
    """
    platform = _PLATFORMS.get(module.platform)
    if platform is None:
        raise NotImplementedError(f"{name} is not supported on platform {module.platform}")
    by_first = module.num_devices > 1 and module.manual is None and not partitioned  # one device calls the host
    if by_first and not in_place and len(avals_out) > 1 and abstract_token not in avals_in:
        return _call_with_token(module, name, entry, operands, avals_in, avals_out, side_effect)
    rest = other_axes(module) if side_effect and abstract_token not in avals_in else []
    if rest and not operands:  # of what takes nothing the compiler forgets that each device does it by itself
        operands, avals_in, alone = [builder.constant(np.int32(0))], [ShapedArray((), np.dtype(np.int32))], entry

        def entry(context: Any, *memory: Any) -> tuple[Any, ...]:
            return alone(context, *memory[1:]) if in_place else alone()

    number = len(module.host_callbacks)
    module.host_callbacks.append(entry)
    module.runs_users = True
    attributes = {
        "call_target_name": builder.string(
            f"xla_{'buffer' if in_place else 'ffi'}_{'partitioned_' * partitioned}python_{platform}_callback"
        ),
        "api_version": builder.integer(4, 32),
        "has_side_effect": builder.attribute("true" if side_effect else "false"),
        "backend_config": builder.attribute(f"{{index = {number} : ui64}}"),
        "operand_layouts": builder.row_major(avals_in), "result_layouts": builder.row_major(avals_out),
    }  # fmt: skip
    if aliases:
        attributes["output_operand_aliases"] = aliases_of(aliases, len(operands), len(avals_out))
    if partitioned:
        attributes["sdy.sharding"] = sharding_text.on_each_device(module)
    elif by_first:  # with the whole values
        attributes["sdy.sharding"] = sharding_text.on_first_device(module, len(avals_out))
        operands = [
            value if aval is abstract_token else sharding_text.everywhere(module, value)
            for value, aval in zip(operands, avals_in, strict=True)
        ]
    types = [builder.ir_type(aval) for aval in avals_out]

    def call(*operands: Value) -> list[Value]:
        return list(builder.operation("stablehlo.custom_call", types, list(operands), attributes).results)

    if not rest:
        results = call(*operands)
        return (
            [_given_to_all(module, x, aval) for x, aval in zip(results, avals_out, strict=True)]
            if by_first
            else results
        )
    return over_axes(module, rest, operands, avals_in, avals_out, call if avals_out else _by_first(module, rest, call))


def _call_with_token(
    module: ModuleContext, name: str, entry: Callable[..., tuple], operands: Sequence[Value], avals_in: Sequence[Any],
    avals_out: Sequence[Any], side_effect: bool,
) -> list[Value]:  # fmt: skip
    """A call with a token that orders nothing: without it, jaxlib 0.12 forgets which device has several results."""

    def with_token(token: Any, *given: Any) -> tuple[Any, ...]:
        return (token, *entry(*given))

    token = builder.op("create_token", abstract_token)
    _, *results = call_host(
        module, name, with_token, [token, *operands], [abstract_token, *avals_in], [abstract_token, *avals_out],
        side_effect=side_effect,
    )  # fmt: skip
    return results


def _given_to_all(module: Any, x: Value, aval: Any) -> Value:
    """What one device has of the host, on all: where it is a result of the program, too, which all of them have."""
    return x if aval is abstract_token else sharding_text.everywhere(module, x)


def _by_first(module: Any, names: Sequence[Any], call: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """A call that of the devices along mesh axes only the first one makes."""
    mesh = module.manual.mesh
    grid = np.indices(mesh.axis_sizes)
    later = sum(grid[mesh.axis_names.index(name)] for name in names) > 0
    numbers = {device: number for number, device in enumerate(module.devices)}
    skips = np.zeros(later.size, np.int32)
    skips[[numbers[device] for device in mesh._internal_device_list]] = later.ravel()

    def by_first(*operands: Any) -> list[Any]:
        number = builder.op("partition_id", ShapedArray((), np.dtype(np.uint32)))
        row = ShapedArray((1,), np.dtype(np.int32))
        one = builder.op("dynamic_slice", row, builder.constant(skips), number, slice_sizes=builder.ints((1,)))
        which = builder.op("reshape", ShapedArray((), row.dtype), one)
        made = builder.operation("stablehlo.case", [], [which], {}, 2)
        for branch in range(2):
            with builder.inside(builder.block_with(made, branch, [])):
                builder.return_([] if branch else call(*operands))
        return []

    return by_first


def _passed(aval: ShapedArray) -> ShapedArray:
    """The type that goes through the call: one element in place of an empty array, which the runtime refuses."""
    return physical_aval(aval) if aval.size else ShapedArray((1,), physical_aval(aval).dtype)


def _part_of(aval: ShapedArray, array: np.ndarray) -> Any:
    """The type of a device's part of a value."""
    if not aval.size:
        return aval
    return aval.update(shape=array.shape[: aval.ndim])  # a key's words stand behind


def _entry(
    function: HostFunction, avals_in: Sequence[Any], avals_out: Sequence[Any], ordered: bool, partitioned: bool
) -> Callable[..., Any]:
    x64 = config.enable_x64.value
    avals_in = [aval.strip_weak_type() for aval in avals_in]

    def run(*arrays: Any) -> tuple[Any, ...]:
        """Called by the runtime on one of its threads, with arrays that live as long as the call."""
        device = host_device()
        types = list(map(_part_of, avals_in, arrays)) if partitioned else avals_in
        with config.enable_x64(x64):
            leaves = [
                to_device(array if aval.size else np.zeros(physical_aval(aval).shape, array.dtype), aval, device)
                for array, aval in zip(arrays[ordered:], types, strict=True)
            ]
            try:
                outs = function.run(leaves)
            except BaseException as error:
                host_failures.replace_unprintable(error)
                raise
        full = [out if aval.size else np.zeros(1, out.dtype) for out, aval in zip(outs, avals_out, strict=True)]
        return (*arrays[:ordered], *full)

    return run
