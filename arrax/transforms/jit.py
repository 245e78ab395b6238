"""``jit``: compile a function with XLA. The first call of a signature traces and compiles; later ones stay in C++."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, overload

from arrax.core import config, errors
from arrax.core.argument_values import flatten_values
from arrax.core.calls import called_function
from arrax.core.functions import function_name, signature_of
from arrax.core.interpreter import Tracer, context
from arrax.core.pytrees import tree_flatten, tree_unflatten
from arrax.core.reference_hooks import reference_hooks
from arrax.core.tracebacks import bounded
from arrax.core.types import high_classes
from arrax.dtypes.canonical import warn_user
from arrax.interpreters import evaluation as _evaluation  # noqa: F401  (installs plain evaluation as the default)
from arrax.interpreters.batching import only_maps
from arrax.interpreters.dce import inputs_used
from arrax.interpreters.dispatch import callable_of
from arrax.interpreters.execution import CompiledProgram
from arrax.interpreters.high_types import high_hooks, holds_high, is_high
from arrax.interpreters.known_parts import with_known_part_computed
from arrax.interpreters.lowered_programs import lower_program
from arrax.interpreters.placements import (
    Placement,
    binds,
    common_placement,
    decide_placement,
    is_bound,
    is_description,
    on_mesh_of_one,
    over_mesh_in_force,
)
from arrax.interpreters.programs import subjaxprs
from arrax.interpreters.special_values import SpecialValueFound, check_special_values, watching
from arrax.interpreters.staging import eval_jaxpr
from arrax.interpreters.trace_state import differentiates_first, transforms_at_once
from arrax.lax.calls import consts_as_inputs, jit_p
from arrax.lax.sharding_constraints import constrained
from arrax.native import runtime
from arrax.transforms.arguments import Split, refuse_abstracted_axes
from arrax.transforms.jit_options import JitOptions, Names, Numbers, checked_options
from arrax.transforms.recompilations import note_compilation
from arrax.transforms.sharding_arguments import (
    for_arguments,
    for_results,
    in_orders_asked,
)
from arrax.transforms.tracing import Traced, described_argument, dynamic_names, leaf_type, trace, traces_of
from arrax.transforms.wrapped import P, R, Wrapped
from arrax.xla.axis_orders import ever_asked
from arrax.xla.devices import platform_name
from arrax.xla.placement import as_arrays
from arrax.xla.shardings import UNSPECIFIED

if TYPE_CHECKING:
    from arrax.core.program import ClosedJaxpr, Jaxpr, JaxprEqn
    from arrax.core.pytrees import PyTreeDef


ArrayImpl = runtime.ArrayImpl
_registry = runtime.pytree.default_registry()


class Jitted:
    """A function and how it is compiled: the Python side of a C++ callable (``interpreters/dispatch.py``)."""

    __slots__ = ("fun", "options", "name", "store", "high")

    advice = " Arguments must be arrays, numbers, or nested containers of them; mark others as static."

    def __init__(self, fun: Callable[..., Any], options: JitOptions):
        self.fun, self.options, self.name = fun, options, function_name(fun)
        self.store = traces_of(fun)
        self.high: dict[Any, Any] = {}  # calls with values of high types: see transforms/high_arguments

    def run_first(self, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """The result of a call, and what the C++ path needs to repeat it (or None)."""
        split, leaves, tree = self.split(args, kwargs)
        tracing = not context.interpreter.is_evaluation
        avals = self.types_of(split, leaves)
        if high_classes and any(map(is_high, avals)):
            return high_hooks.call(self, split, leaves, tree, avals), None
        traced = trace(self.fun, split, "jit", self.store, leaves, tree, avals)
        if tracing and high_classes and differentiates_first() and holds_high(traced.program):
            return self.fun(*args, **kwargs), None  # so that the rules of these operations are found
        if tracing or traced.captured or any(isinstance(leaf, Tracer) for leaf in leaves):
            return self.bind(traced, leaves, split), None
        if config.disable_jit.cell.value:
            return self.fun(*args, **kwargs), None
        if reference_hooks.run is not None and reference_hooks.holds(traced.in_avals, traced.program):
            return reference_hooks.run(self, traced, leaves, split), None
        rerun = watching()  # which needs the arguments once more
        donated = None if rerun else self.donated(split)
        compiled = self.compile(traced, leaves, donated, split)
        try:
            outs = compiled.call(leaves)
        except SpecialValueFound:
            outs = None
        if outs is None:  # outside of the handler, so that the error that names the operation stands alone
            return self._run_by_operation(split, leaves, tree), None
        result = tree_unflatten(traced.out_tree, outs)
        return result, compiled.fast_path(result, leaves)

    def _run_by_operation(self, split: Split, leaves: Sequence[Any], tree: PyTreeDef) -> Any:
        """Once more, one operation after the other: the culprit raises by its name."""
        if not self.options.eager:
            print("Invalid value encountered in the output of a jit function. Calling the de-optimized version.")
        with config.disable_jit(True):
            args, kwargs = split.merged(*tree_unflatten(tree, as_arrays(leaves)))
            result, out_tree = tree_flatten(self.fun(*args, **kwargs))
        result = as_arrays(result)
        check_special_values(result, self.name)
        warn_user(
            f"{self.name} gave an invalid value when compiled, but none when run operation by operation: going on with the "
            "result of the latter",
            RuntimeWarning,
        )
        return tree_unflatten(out_tree, result)

    def split(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Split, list[Any], Any]:
        """The call's arguments, static ones apart, and the leaves of the others."""
        split = Split(self.fun, self.options.static_argnums, self.options.static_argnames, args, kwargs)
        leaves, tree = flatten_values((split.dynamic, split.dynamic_kwargs))
        return split, leaves, tree

    def types_of(self, split: Split, leaves: Sequence[Any]) -> tuple[Any, ...]:
        """The types of some arguments, which are checked."""

        def describe(index: int) -> str:
            return described_argument(self.fun, self.called_name(), split, leaves, index)

        try:
            avals = tuple(
                leaf.aval if type(leaf) is ArrayImpl else leaf_type(leaf, functools.partial(describe, i), self.advice)
                for i, leaf in enumerate(leaves)
            )
        except (OverflowError, TypeError):
            self.check_names(split)
            raise
        for leaf in leaves:
            if isinstance(leaf, Tracer) and not leaf.interpreter.alive:
                raise errors.escaped_tracer(leaf)
        return avals

    def called_name(self) -> str:
        """The function's name, for messages; instead of one of the package's own, that of the function that the user called."""
        return called_function() if self.name.startswith("_") else self.name

    def check_names(self, split: Split) -> None:
        """Refuse a call that the function's signature does not fit, before anything is said of values.

        Raises:
          TypeError: unknown names, too many arguments, or missing ones.
        """
        signature = signature_of(self.fun)
        if signature is not None:
            args, kwargs = split.merged(split.dynamic, split.dynamic_kwargs)
            try:
                signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{self.called_name()}() {error}") from None

    def bind(self, traced: Traced, leaves: Sequence[Any], split: Split) -> Any:
        """Apply the traced program in the current interpretation; asked-for shardings are constraints there."""
        if self.options.asks_for_shardings:
            shardings = for_arguments(self.options.in_shardings, split.dynamic, split.dynamic_kwargs)
            leaves = [constrained(leaf, sharding) for leaf, sharding in zip(leaves, shardings, strict=True)]
        closed, operands = traced.program, [*traced.captured, *leaves]
        at_once = self.options.inline and transforms_at_once()
        if self.options.inline and (not at_once or _is_one_operation(closed.jaxpr)):
            outs = eval_jaxpr(closed.jaxpr, closed.consts, *operands, propagate_source_info=not at_once)
        else:
            if closed.consts:
                operands = [*closed.consts, *operands]
                closed = consts_as_inputs(closed)
            donated = self.donated(split) if only_maps(context.interpreter) else None
            added = {} if donated is None else {"donated": (*[False] * (len(operands) - len(leaves)), *donated)}
            outs = jit_p.bind(*operands, jaxpr=closed, name=self.name, **added)
        if self.options.out_shardings is not None:
            shardings = for_results(self.options.out_shardings, traced.out_tree)
            outs = [constrained(out, sharding) for out, sharding in zip(outs, shardings, strict=True)]
        return tree_unflatten(traced.out_tree, outs)

    def donated(self, split: Split) -> tuple[bool, ...] | None:
        """For each leaf, whether its argument is donated."""
        return donated_leaves(split, self.options.donate_argnums, self.options.donate_argnames)

    def placement(self, leaves: Sequence[Any], traced: Traced, split: Split | None = None) -> Placement:
        """Where a call runs."""
        options = self.options
        if options.device is not None:
            return Placement(options.device, True)
        placement = self._settled(self._binding(leaves, traced), traced, split)
        if not options.eager:
            placement = over_mesh_in_force(placement, len(leaves), options.over_entered_mesh)
        placement = on_mesh_of_one(placement, leaves, traced.program.out_avals)
        if not options.asks_for_shardings and not ever_asked():
            return placement
        ins, outs = options.in_shardings, options.out_shardings
        dynamic, kwargs = (None, None) if split is None else (split.dynamic, split.dynamic_kwargs)
        return in_orders_asked(placement, ins, outs, leaves, traced, dynamic, kwargs)

    def _binding(self, leaves: Sequence[Any], traced: Traced) -> Sequence[Any]:
        """The leaves that may bind a call to devices; None in place of those that its program has no use for."""
        if self.options.keep_unused or config.debug_key_reuse.cell.value:
            return leaves
        if not self.options.asks_for_shardings and not any(map(is_bound, leaves)):
            return leaves
        used = inputs_used(traced.program)
        return leaves if all(used) else [leaf if use else None for leaf, use in zip(leaves, used, strict=True)]

    def _settled(self, leaves: Sequence[Any], traced: Traced, split: Split | None) -> Placement:
        """On which devices a call runs, and how its arguments and results lie over them."""
        options, name = self.options, f"jit({self.name})"
        names = None if split is None else functools.partial(dynamic_names, self.fun, split)
        if not options.asks_for_shardings and not binds(traced.program):
            placement = common_placement(leaves, name, names=names)
            if placement.devices is None and not any(map(is_description, leaves)):
                return placement
        ins = [] if split is None else for_arguments(options.in_shardings, split.dynamic, split.dynamic_kwargs)
        if ins:
            ins = [None if leaf is None else own for leaf, own in zip(leaves, ins, strict=True)]
        outs = for_results(options.out_shardings, traced.out_tree)
        return decide_placement(leaves, name, ins, outs, traced.program, names)

    def compile(
        self, traced: Traced, leaves: Sequence[Any], donated: tuple[bool, ...] | None, split: Split | None = None
    ) -> CompiledProgram:
        """The compiled program for a trace and a placement."""
        placement = self.placement(leaves, traced, split)
        options = self.options
        settings = tuple(sorted((options.compiler_options or {}).items()))
        key = (placement, donated, options.keep_unused, settings, options.eager)
        found = traced.compiled.get(key)
        if found is None:
            start = time.perf_counter()
            program = traced.program if options.eager else self._with_known_part(traced.program, placement)
            lowered = lower_program(
                program, self.name, platform_name(placement.device.client), donated=donated,
                keep_unused=bool(options.keep_unused), eager=bool(options.eager), placement=placement,
            )  # fmt: skip
            found = traced.compiled[key] = CompiledProgram(lowered, placement, self.name, options.compiler_options)
            note_compilation(self.fun, traced, key, time.perf_counter() - start)
        return found

    def _with_known_part(self, program: ClosedJaxpr, placement: Placement) -> ClosedJaxpr:
        """The program with what it computes of the arrays it closes over alone as constants, on one device."""
        watched = watching() or config.debug_key_reuse.cell.value
        if watched or not placement.is_one_device:
            return program

        def run(known: ClosedJaxpr) -> list[Any] | None:
            alone = Placement(placement.device, placement.committed)
            lowered = lower_program(known, self.name, platform_name(placement.device.client), placement=alone)
            return None if lowered.runs_users else CompiledProgram(lowered, alone, self.name).call([])

        def called(eqn: JaxprEqn) -> ClosedJaxpr | None:
            return eqn.params["jaxpr"] if eqn.primitive is jit_p and "donated" not in eqn.params else None

        return with_known_part_computed(program, run, called)


def _is_one_operation(jaxpr: Jaxpr) -> bool:
    return len(jaxpr.eqns) <= 1 and not any(subjaxprs(jaxpr))


def donated_leaves(split: Split, numbers: Sequence[int], names: Sequence[str]) -> tuple[bool, ...] | None:
    """For each leaf of a call's arguments, whether its argument is donated; None where none is.

    Args:
      numbers, names: positions and names of the arguments that are.
    """
    if not numbers and not names:
        return None
    chosen = {n + split.count if n < 0 else n for n in numbers}
    positions = [n for n in range(split.count) if n not in split.static]
    flags: list[bool] = []
    for n, value in zip(positions, split.dynamic, strict=True):
        flags += [n in chosen] * len(_registry.flatten(value)[0])
    for name in sorted(split.dynamic_kwargs):
        flags += [name in names] * len(_registry.flatten(split.dynamic_kwargs[name])[0])
    return tuple(flags)


def make_jitted(jitted: Jitted, by_user: bool = True) -> Callable[..., Any]:
    """The C++ callable of a Jitted, with the function's name and documentation."""
    fun, options = jitted.fun, jitted.options
    function = callable_of(
        jitted.name, fun, jitted.run_first, static_argnums=options.static_argnums, static_argnames=options.static_argnames,
        key=(type(jitted).__name__, options.key()), by_user=by_user,
    )  # fmt: skip
    function.__dict__.update({**getattr(fun, "__dict__", {}), **function.__dict__})
    function._jitted = jitted
    function.__wrapped__ = fun
    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        try:
            setattr(function, name, getattr(fun, name))
        except (AttributeError, TypeError):
            pass
    return function


@overload
def jit(
    fun: Callable[P, R],
    /,
    *,
    in_shardings: Any = ...,
    out_shardings: Any = ...,
    static_argnums: Numbers = ...,
    static_argnames: Names = ...,
    donate_argnums: Numbers = ...,
    donate_argnames: Names = ...,
    keep_unused: bool = ...,
    device: Any = ...,
    backend: str | None = ...,
    inline: bool = ...,
    abstracted_axes: Any = ...,
    compiler_options: dict[str, Any] | None = ...,
) -> Wrapped[P, R]: ...
@overload
def jit(
    *,
    in_shardings: Any = ...,
    out_shardings: Any = ...,
    static_argnums: Numbers = ...,
    static_argnames: Names = ...,
    donate_argnums: Numbers = ...,
    donate_argnames: Names = ...,
    keep_unused: bool = ...,
    device: Any = ...,
    backend: str | None = ...,
    inline: bool = ...,
    abstracted_axes: Any = ...,
    compiler_options: dict[str, Any] | None = ...,
) -> Callable[[Callable[P, R]], Wrapped[P, R]]: ...
def jit(
    fun: Any = UNSPECIFIED,
    /,
    *,
    in_shardings: Any = None,
    out_shardings: Any = None,
    static_argnums: Numbers = None,
    static_argnames: Names = None,
    donate_argnums: Numbers = None,
    donate_argnames: Names = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: bool = False,
    abstracted_axes: Any = None,
    compiler_options: dict[str, Any] | None = None,
) -> Any:
    """Compile a function with XLA, once per shapes and dtypes of its arguments.

    Args:
      fun: pure function of arrays and nested containers of them; without it, ``jit`` gives a decorator.
      in_shardings: how arguments lie: shardings (or, with a mesh in force, PartitionSpecs; None leaves it open), as a tree
        prefix of the tuple of positional arguments. Arrays that are bound otherwise are refused.
      out_shardings: how results lie, as a tree prefix of the result.
      static_argnums: positions of arguments whose values (hashable) are part of the program.
      static_argnames: names of such arguments. Each of the two is completed from the other by the signature.
      donate_argnums: positions of arguments whose buffers the outputs may reuse; they are gone after the call.
      donate_argnames: names of such arguments.
      keep_unused: keep arguments that the function doesn't use.
      device: device to run on.
      backend: platform to run on.
      inline: inside other traced functions, record the operations themselves instead of a nested program.
      abstracted_axes: None; programs of shapes that are known only when they run are not supported.
      compiler_options: options of XLA by name.
    Returns: a function with the same arguments and results, with ``lower``, ``trace``, ``eval_shape``, ``clear_cache``.
    Raises:
      TypeError: ``fun`` is not callable, or shardings are something else.
      ValueError: numbers or names of arguments that ``fun`` does not have.
      NotImplementedError: ``abstracted_axes`` is given.
    Example: ``jit(lambda x: x * 2)(jnp.arange(3))``.
    """
    refuse_abstracted_axes("jit", abstracted_axes)
    given = {
        "in_shardings": in_shardings, "out_shardings": out_shardings, "static_argnums": static_argnums,
        "static_argnames": static_argnames, "donate_argnums": donate_argnums, "donate_argnames": donate_argnames,
        "keep_unused": keep_unused, "device": device, "backend": backend, "inline": inline,
        "compiler_options": compiler_options,
    }  # fmt: skip
    if fun is UNSPECIFIED:
        return functools.partial(bounded(jit), **given)
    return make_jitted(Jitted(fun, checked_options(fun, **given)))
