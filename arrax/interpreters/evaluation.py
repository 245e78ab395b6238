"""Evaluation: the interpreter that runs each operation at once, as a compiled program of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from arrax.core import errors
from arrax.core.interpreter import Context, Interpreter, Primitive, Tracer, context, current
from arrax.core.program import ClosedJaxpr, subprograms
from arrax.core.types import typeof
from arrax.interpreters.dispatch import operation_callable
from arrax.interpreters.execution import CompiledProgram
from arrax.interpreters.lowered_programs import lower_program
from arrax.interpreters.placements import (
    decide_placement,
    on_mesh_of_one,
    over_mesh_where_needed,
    placements_of_results,
)
from arrax.interpreters.special_values import SpecialValueFound, watching
from arrax.interpreters.staging import stage
from arrax.native import runtime
from arrax.xla.arrays import ArrayLike
from arrax.xla.devices import platform_name

if TYPE_CHECKING:
    from arrax.xla.arrays import Array

_OPERATIONS_PER_PRIMITIVE = 1024


class Evaluation(Interpreter):
    """Plain evaluation; the bottom of every stack of interpreters."""

    __slots__ = ()
    is_evaluation = True

    def __init__(self) -> None:
        self.parent, self.alive = self, True

    def describe(self) -> str:
        return "evaluation"

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if primitive.on_refs is not None:
            done = primitive.on_refs(self, args, params)
            if done is not None:
                return done
        if primitive.own_impl is not None:
            for arg in args:
                if isinstance(arg, Tracer):
                    raise errors.escaped_tracer(arg)
            return primitive.own_impl(*args, **params)
        if primitive.type_rule is None:
            raise NotImplementedError(f"Evaluation rule for '{primitive.name}' not implemented")
        return compiled_operation(primitive, params)(*args)


class KnownEvaluation(Evaluation):
    """Evaluation of what is known inside a trace; operations on tracers pass to the interpreter outside."""

    __slots__ = ("outer",)

    def __init__(self, outer: Interpreter) -> None:
        super().__init__()
        self.outer = outer

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Array:
        if not any(isinstance(arg, Tracer) for arg in args):
            return super().process(primitive, args, params)
        with current(self.outer):
            return primitive.bind(*args, **params)


def compiled_operation(primitive: Primitive, params: dict[str, Any]) -> Callable[..., Any]:
    """The compiled function of one operation; those of operations that hold programs live with their program."""
    key: Any = tuple(params.items())  # with the names: rules may give parameters in another order
    store = primitive.compiled
    if primitive.holds_programs:
        holder = next(subprograms(params))
        if isinstance(holder, ClosedJaxpr):
            store, key = holder._memo, ("run", primitive, key)
    try:
        found = store.get(key)
    except TypeError:  # a parameter that cannot be hashed
        return single_operation(primitive, params)
    if found is None:
        if len(store) >= _OPERATIONS_PER_PRIMITIVE:
            store.pop(next(iter(store), None), None)
        found = store[key] = single_operation(primitive, params)
    return found


def apply_primitive(prim: Primitive, *args: ArrayLike, **params: Any) -> list[Array]:
    """Compile an operation and run it: for ``def_impl`` of a primitive that has a lowering rule."""
    return compiled_operation(prim, params)(*args)


def _donated(primitive: Primitive, params: dict[str, Any]) -> Sequence[bool] | None:
    """Which operands a compiled call may overwrite: none where it may run once more."""
    runs_again = watching()
    return None if runs_again or "donated" not in primitive.hidden_params else params.get("donated")


def single_operation(primitive: Primitive, params: dict[str, Any]) -> Callable[..., Any]:
    """A function on the C++ call path that compiles and runs one operation with fixed parameters."""
    name = params.get("name", primitive.name) if "jaxpr" in params else primitive.name  # of the function that it calls
    with_effects: dict[Any, CompiledProgram] = {}  # whose calls all come through Python

    def run_first(*args: ArrayLike) -> tuple[Any, Any]:
        for arg in args:
            if isinstance(arg, Tracer):
                raise errors.escaped_tracer(arg)
        avals = [typeof(arg) for arg in args]

        def flat(*values: Array) -> list[Array]:
            out = primitive.bind(*values, **params)
            return out if primitive.multiple_results else [out]

        program = ClosedJaxpr(*stage(flat, avals))
        results = placements_of_results.get(primitive)
        wanted = () if results is None else results(params)
        placement = decide_placement(args, name, out_shardings=wanted, program=program)
        placement = over_mesh_where_needed(placement, program, len(args))
        placement = on_mesh_of_one(placement, args, program.out_avals)
        key = (tuple(avals), placement, runtime.trace_context(), context.axes)
        compiled = with_effects.get(key)
        if compiled is None:
            platform = platform_name(placement.device.client)
            lowered = lower_program(
                program, name, platform, donated=_donated(primitive, params), eager=True, placement=placement
            )
            compiled = CompiledProgram(lowered, placement, name)
            if compiled.effects:
                with_effects[key] = compiled
        try:
            outs = compiled.call(args)
        except SpecialValueFound:
            if primitive.by_operation is not None:  # which raises where the value comes from
                with current(Context.interpreter):
                    primitive.by_operation(*args, **params)
            raise
        result = outs if primitive.multiple_results else outs[0]
        return result, compiled.fast_path(result, args)

    return operation_callable(name, run_first)


Context.interpreter = Evaluation()
