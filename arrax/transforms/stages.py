"""Ahead of time: ``jit(f).trace(...)``, ``.lower(...)``, ``.compile()``, and what each stage can be asked."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

from arrax import native
from arrax.core.interpreter import Tracer
from arrax.core.pytree_mismatch import different_structures
from arrax.core.pytrees import tree_flatten, tree_unflatten
from arrax.core.reference_hooks import reference_hooks
from arrax.core.tracebacks import boundary
from arrax.core.types import high_classes, typeof
from arrax.dtypes import ExtendedDType
from arrax.interpreters.dispatch import forget_calls, operation_callable
from arrax.interpreters.execution import CompiledProgram
from arrax.interpreters.high_types import high_hooks, is_high
from arrax.interpreters.lowered_programs import LoweredProgram, lower_program
from arrax.interpreters.placements import Placement, check_operand
from arrax.native import runtime
from arrax.transforms.inspection import result_structs, shaped_types
from arrax.transforms.jit import Jitted
from arrax.transforms.layouts import format_of
from arrax.transforms.stage_descriptions import ArgInfo, Costs
from arrax.transforms.stage_descriptions import OutInfo as OutInfo
from arrax.transforms.tracing import Traced as TracedFunction
from arrax.transforms.tracing import dynamic_names, trace
from arrax.transforms.wrapped import Wrapped as Wrapped
from arrax.xla.compilation import names_of
from arrax.xla.devices import platform_name

if TYPE_CHECKING:
    from arrax.core.pytrees import PyTreeDef


CompilerOptions = dict[str, str | bool]
"""Options of XLA by name, as ``compile`` takes them."""


class _Stage:
    """What all stages know of the call they are made for."""

    def __init__(
        self,
        jitted: Jitted,
        traced: TracedFunction,
        names: list[str],
        donated: Sequence[bool] | None,
        placement: Placement,
    ) -> None:
        self._jitted, self._traced, self._names, self._donated = jitted, traced, names, donated
        self._placement = placement

    def with_arguments_in(self, tree: Any) -> Self:
        """The same stage of a function whose arguments have another structure with the same leaves."""
        other = copy.copy(self)
        other._traced = copy.copy(self._traced)
        other._traced.in_tree = tree
        return other

    @property
    def _high(self) -> Any:
        """What stands for a function of values of high types; None for other functions."""
        fun = self._jitted.fun
        return fun if high_classes and isinstance(fun, high_hooks.form) else None

    @property
    def in_tree(self) -> PyTreeDef:
        """Structure of the dynamic arguments, ``(args, kwargs)``."""
        return self._traced.in_tree if self._high is None else self._high.tree

    @property
    def out_tree(self) -> PyTreeDef:
        """Structure of the result."""
        return self._traced.out_tree if self._high is None else self._unflattened(self._traced.program.out_avals).tree

    def _per_argument(self, each: Sequence[Any]) -> Any:
        """What is known of each flat argument, in their structure."""
        return tree_unflatten(self.in_tree, list(each)) if self._high is None else self._high.per_argument(each)

    def _unflattened(self, each: Sequence[Any]) -> Any:
        return tree_unflatten(self._traced.out_tree, list(each))

    def _per_result(self, each: Sequence[Any]) -> Any:
        """What is known of each flat result, in their structure."""
        results = self._unflattened(each)
        return results if self._high is None else self._high.per_result(results)

    @property
    def in_avals(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Types of the arguments, in their structure."""
        return self._per_argument(self._traced.in_avals)

    @property
    def args_info(self) -> Any:
        """Shape, dtype and donation of each argument, in their structure."""
        flags = self._donated or (False,) * len(self._traced.in_avals)
        return self._per_argument(
            [ArgInfo(aval.shape, aval.dtype, flag) for aval, flag in zip(self._traced.in_avals, flags, strict=True)]
        )

    @property
    def out_info(self) -> Any:
        """Shape and dtype of each result, in its structure; with the sharding that the function asks for."""
        return self._results(self._jitted.options.out_shardings)

    def _results(self, asked: Any) -> Any:
        """The results with what is asked of, or known of, their places: of traced programs weak types, too."""
        return self._structs(self._traced.program.out_avals, asked)

    def _structs(self, avals: Sequence[Any], asked: Any) -> Any:
        structs = result_structs(avals, self._traced.out_tree, asked)
        return structs if self._high is None else self._high.structs(structs)

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """Positions of the flat arguments that are donated."""
        return tuple(n for n, flag in enumerate(self._donated or ()) if flag)


class Traced(_Stage):
    """A function traced for one signature.

    Example: ``jit(jnp.sin).trace(x).jaxpr.out_avals[0].shape`` is ``(4,)``.
    """

    @property
    def jaxpr(self) -> Any:
        """The program."""
        return self._traced.program

    @property
    def fun_name(self) -> str:
        """Name of the function."""
        return self._jitted.name

    @property
    def out_avals(self) -> Any:
        """Types of the results, in their structure."""
        return self._per_result(self._traced.program.out_avals)

    @boundary
    def lower(self, *, lowering_platforms: Sequence[str] | None = None) -> Lowered:
        """Lower to StableHLO, for the platform of the arguments or the given ones.

        Args:
          lowering_platforms: what the program is for; of several, its first argument says which one it runs on.
        """
        platforms = tuple(lowering_platforms or (platform_name(self._placement.device.client),))
        several = platforms if len(platforms) > 1 else ()
        program, donated, placement = self._traced.program, self._donated, self._placement
        if reference_hooks.run is not None and reference_hooks.holds(self._traced.in_avals, program):
            program, donated, placement = reference_hooks.lowered(self._traced, donated, placement)
        lowered = lower_program(
            program, self._jitted.name, platforms[0], donated=donated,
            keep_unused=bool(self._jitted.options.keep_unused), placement=placement, platforms=several,
        )  # fmt: skip
        return Lowered(self._jitted, self._traced, self._names, self._donated, placement, lowered, several)


class _Translated(_Stage):
    """What is known of a program in another language, whose types are never weak."""

    def _results(self, asked: Any) -> Any:
        return self._structs([aval.strip_weak_type() for aval in self._traced.program.out_avals], asked)


class Lowered(_Translated):
    """A function lowered to StableHLO for one signature.

    Example: ``'stablehlo.sine' in jit(jnp.sin).lower(x).as_text()`` is True.
    """

    def __init__(self, *fields: Any) -> None:
        *common, self._lowering, self._platforms = fields
        super().__init__(*common)

    _lowering: LoweredProgram
    _platforms: tuple[str, ...]

    @boundary
    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """The program as text: StableHLO, or ``dialect="hlo"``, or ``dialect="jaxpr"`` in the form that its platform runs.

        Args:
          debug_info: with the names of operations, which have the scopes and transformations around them, and their lines.
        Raises:
          ValueError: an unknown dialect.
        """
        if dialect in (None, "stablehlo", "mhlo"):
            if not debug_info:
                return str(self._lowering.module)
            return self._lowering.locations.text()
        if dialect == "hlo":
            program = self.compiler_ir("hlo")
            return program.as_hlo_module().to_string() if debug_info else program.as_hlo_text()
        if dialect == "jaxpr":
            return str(self._lowering.formed)
        raise ValueError(f"unknown dialect {dialect!r}: use 'stablehlo', 'hlo' or 'jaxpr'")

    @boundary
    def compiler_ir(self, dialect: str | None = None) -> Any:
        """The program as an object: an MLIR module, or with ``dialect="hlo"`` an XLA computation.

        The module is the caller's own: what is done to it does not change what is compiled.
        """
        if dialect in (None, "stablehlo", "mhlo"):
            native.mlir.import_classes()
            return self._lowering.locations.copy()
        if dialect == "hlo":
            return runtime._jax.mlir.mlir_module_to_xla_computation(
                self._lowering.locations.text(), use_tuple_args=False, return_tuple=False
            )
        raise ValueError(f"unknown dialect {dialect!r}: use 'stablehlo' or 'hlo'")

    def cost_analysis(self) -> Any:
        """Estimated costs, such as ``{'flops': …}``."""
        computation = self.compiler_ir("hlo")
        client = self._placement.device.client
        return runtime.hlo_module_cost_analysis(client, computation.as_hlo_module())

    @boundary
    def compile(
        self, compiler_options: dict[str, Any] | None = None, *, device_assignment: Sequence[Any] | None = None
    ) -> Compiled:
        """Compile with XLA.

        Args:
          compiler_options: options of XLA by name.
          device_assignment: the devices of the program, in order, to make sure of what arguments and shardings say.
        Raises:
          RuntimeError: an unknown option.
          ValueError: the program is for several platforms, or for other devices.
        """
        if self._platforms:
            raise ValueError(
                f"compile: {self._jitted.name} was lowered for several platforms, {', '.join(self._platforms)}; lower it for one "
                "of them, or use arrax.export"
            )
        if device_assignment is not None:
            own = list(self._placement.devices or [self._placement.device])
            if list(device_assignment) != own:
                raise ValueError(
                    f"compile: device_assignment is {device_assignment!r}, but arguments and shardings say that {self._jitted.name} "
                    f"runs on {own}"
                )
        options = {**(self._jitted.options.compiler_options or {}), **(compiler_options or {})}
        program = CompiledProgram(self._lowering, self._placement, self._jitted.name, options or None)
        return Compiled(
            self._jitted, self._traced, self._names, self._donated, self._placement, program, options or None
        )


class Compiled(_Translated):
    """A function compiled for one signature: call it with arguments of just those types.

    Example: ``compiled = jit(jnp.sin).lower(x).compile(); compiled(x)`` is ``jnp.sin(x)``.
    """

    def __init__(self, *fields: Any) -> None:
        *common, self._program, self._options = fields
        super().__init__(*common)
        self._fast = operation_callable(self._jitted.name, self._call_first)
        self._modules: list[Any] | None = None

    _program: CompiledProgram
    _options: dict[str, Any] | None

    @boundary
    def as_text(self) -> str:
        """The optimized program as text."""
        return "\n\n".join(module.to_string() for module in self._own_modules())

    def _own_modules(self) -> list[Any]:
        """What was compiled, with the names and lines of this function's operations."""
        if self._modules is None:
            self._modules = list(self.own_program().executable.hlo_modules())
        return self._modules

    def own_program(self, as_it_is: bool | None = None) -> CompiledProgram:
        """The program compiled for this function: the executable may have been found, and compiled for one of the same operations.

        Args:
          as_it_is: whether the one that runs will do; by default, where it has the names and lines of this function's operations.
        """
        program = self._program
        if as_it_is:
            return program
        lowered = Traced(self._jitted, self._traced, self._names, self._donated, self._placement).lower()._lowering
        if as_it_is is None and names_of(lowered.locations) == program.names:
            return program
        return CompiledProgram(lowered, self._placement, self._jitted.name, self._options, afresh=True)

    def cost_analysis(self) -> Costs:
        """Costs as the compiler estimates them, such as ``{'flops': …}``; None where it can't."""
        found = self._program.executable.cost_analysis()
        found = found[0] if isinstance(found, list) and found else found
        return Costs(found) if isinstance(found, dict) else found

    def memory_analysis(self) -> Any:
        """Bytes of arguments, outputs and temporaries; None where the platform doesn't say."""
        return self._program.executable.get_compiled_memory_stats()

    def runtime_executable(self) -> runtime.LoadedExecutable:
        """The runtime's executable."""
        return self._program.executable

    @property
    def input_shardings(self) -> Any:
        """Placement of each argument, ``(args, kwargs)``."""
        count = len(self._traced.in_avals)
        return self._per_argument([self._program.sharding_of_argument(n) for n in range(count)])

    @property
    def out_info(self) -> Any:
        """Shape, dtype, sharding and layout of each result, in its structure."""
        shardings = [
            format.sharding if isinstance(aval.dtype, ExtendedDType) else format  # the former have that of their base
            for aval, format in zip(self._traced.program.out_avals, self._flat_formats(), strict=True)
        ]
        return self._results(self._unflattened(shardings))

    @property
    def output_shardings(self) -> Any:
        """Placement of each result."""
        return self._per_result(self._program.out_shardings)

    @property
    def input_formats(self) -> Any:
        """Layout and sharding of each argument, ``(args, kwargs)``; None for what the program does not take."""
        layouts = iter(self._program.executable.get_parameter_layouts()[len(self._program.const_args) :])
        shardings = [self._program.sharding_of_argument(n) for n in range(len(self._traced.in_avals))]
        return self._per_argument([s if s is None else format_of(next(layouts), s) for s in shardings])

    @property
    def output_formats(self) -> Any:
        """Layout and sharding of each result."""
        return self._per_result(self._flat_formats())

    def _flat_formats(self) -> list[Any]:
        return list(map(format_of, self._program.executable.get_output_layouts(), self._program.out_shardings))

    @boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._fast(*args, **kwargs)

    @boundary
    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Run it: the same as calling it."""
        return self._fast(*args, **kwargs)

    def _call_first(self, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """The first call of a signature: check it, run, and describe the call to the C++ path."""
        leaves, tree = tree_flatten((args, kwargs))
        for leaf in leaves:
            if isinstance(leaf, Tracer):
                raise TypeError(
                    "Cannot apply JAX transformations to a function lowered and compiled for a particular signature. "
                    f"Detected argument of Tracer type {type(leaf)}."
                )
        if tree != self.in_tree:
            parts = zip(("args", "kwargs"), tree.children(), self.in_tree.children(), strict=True)
            found = [different_structures(name, one, f"compiled {name}", other) for name, one, other in parts]
            raise TypeError(
                f"{self._jitted.name} was compiled for arguments of another structure: {' '.join(found).strip()}"
            )
        high, given = self._high, leaves
        if high is not None:
            high.check(leaves)
            leaves = high.arrays(leaves)
        self._check_types(leaves)
        for number, leaf in enumerate(leaves):
            sharding = self._program.sharding_of_argument(number)
            if sharding is not None and self._placement.devices is not None:
                check_operand(leaf, sharding, self._jitted.name)
        holds_refs = reference_hooks.run is not None and reference_hooks.holds(
            self._traced.in_avals, self._traced.program
        )
        if holds_refs:
            result = reference_hooks.run_compiled(self._traced, leaves, self._names, self._donated, self._program.call)
        else:
            result = self._unflattened(self._program.call(leaves))
        if high is not None:
            result = high.result(result, given)
        return result, None if holds_refs or high is not None else self._program.fast_path(result, leaves)

    def _check_types(self, leaves: Sequence[Any]) -> None:
        lines = []
        for name, leaf, aval in zip(self._names, leaves, self._traced.in_avals, strict=True):
            given = typeof(leaf)
            if (given.shape, given.dtype) != (aval.shape, aval.dtype):
                lines.append(
                    f"Argument '{name}' compiled with {aval.str_short(False)} and called with {given.str_short(False)}"
                )
        if lines:
            raise TypeError(
                "Argument types differ from the types for which this computation was compiled. The mismatches are:\n"
                + "\n".join(lines)
            )


def _trace_stage(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
    jitted: Jitted = function._jitted
    split, leaves, tree = jitted.split(args, kwargs)
    avals = shaped_types(jitted.fun, split, leaves, jitted.advice)
    if high_classes and any(map(is_high, avals)):
        form, of_arrays = high_hooks.jitted(jitted, split, leaves, tree, avals)
        return _trace_stage(of_arrays, tuple(form.arrays(leaves)), {})
    traced = trace(jitted.fun, split, "jit", jitted.store, leaves, tree, avals)
    names = dynamic_names(jitted.fun, split)
    placement = jitted.placement(leaves, traced, split)
    return Traced(jitted, traced, names, jitted.donated(split), placement)


@boundary
def _trace_method(self: Callable[..., Any], *args: Any, **kwargs: Any) -> Traced:
    """Trace for arguments, or for anything with their shapes and dtypes."""
    return _trace_stage(self, args, kwargs)


@boundary
def _lower_method(self: Callable[..., Any], *args: Any, **kwargs: Any) -> Lowered:
    """Lower for arguments, or for anything with their shapes and dtypes, without running."""
    return _trace_stage(self, args, kwargs).lower()


@boundary
def _eval_shape_method(self: Any, *args: Any, **kwargs: Any) -> Any:
    """Shapes and dtypes of the result, without running."""
    return _trace_stage(self, args, kwargs).out_info


def _clear_cache_method(self: Any) -> None:
    """Forget all traces and compiled calls of this function."""
    self._jitted.store.clear()
    forget_calls(self)


runtime.PjitFunction.trace = _trace_method
runtime.PjitFunction.lower = _lower_method
runtime.PjitFunction.eval_shape = _eval_shape_method
runtime.PjitFunction.clear_cache = _clear_cache_method
