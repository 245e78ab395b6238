"""References among what users pass to ``jit`` and ``vmap``, or close over there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from arrax import dtypes
from arrax.core.program import ClosedJaxpr
from arrax.core.pytrees import PyTreeDef, tree_structure, tree_unflatten
from arrax.core.reference_hooks import reference_hooks
from arrax.core.references import holds_refs, is_ref, refuse_aliases
from arrax.interpreters.ad.forward import JVP
from arrax.interpreters.batching import Batch
from arrax.interpreters.placements import Placement
from arrax.interpreters.references import DifferentiatedRef, LocalRef, MappedRef
from arrax.interpreters.special_values import watching
from arrax.lax.calls import consts_as_inputs
from arrax.lax.reference_programs import discharged
from arrax.lax.references import freeze_p, new_ref_p
from arrax.transforms.arguments import Split
from arrax.transforms.jit import Jitted
from arrax.transforms.sharding_arguments import for_arguments, for_results
from arrax.transforms.tracing import Traced, dynamic_names
from arrax.xla.arrays import Array
from arrax.xla.distribution import put_on

Flags = Sequence[bool] | None


class Discharged:
    """A trace whose references have become arguments that are donated, and results that are written back.

    Attributes:
      traced: from the arguments, and behind them what the function closes over, to the results, and behind them what the
        references that it writes to hold then.
      captured: what the function closes over.
      written: which arguments are references that it writes to. forwarded: which it returns as they are.
    """

    __slots__ = ("traced", "captured", "written", "forwarded")

    def __init__(self, traced: Traced) -> None:
        program = traced.program
        whole, written = discharged(consts_as_inputs(program))
        count, total = len(program.consts), len(whole.in_avals)
        jaxpr = whole.jaxpr.replace(invars=[*whole.jaxpr.invars[count:], *whole.jaxpr.invars[:count]])
        self.captured = list(program.consts)
        self.written = [(n - count) % total for n in written]
        returned = set(map(id, jaxpr.outvars[: len(program.out_avals)]))
        self.forwarded = [n for n, var in enumerate(jaxpr.invars) if id(var) in returned]
        tree = tree_structure((0,) * len(jaxpr.outvars))
        self.traced = Traced(ClosedJaxpr(jaxpr, whole.consts), [], tree, traced.info, jaxpr.in_avals, traced.in_tree)
        self.traced.key = traced.key

    def donated(self, by_user: Flags) -> tuple[bool, ...]:
        """Which arguments the program may write over: those that the user donates, and references that it writes to."""
        avals = self.traced.in_avals
        flags = [*(by_user or ()), *[False] * (len(avals) - len(by_user or ()))]
        for n in self.written:
            flags[n] = not dtypes.is_extended(avals[n].dtype)
        return tuple(flags)

    def call(
        self, operands: Sequence[Any], donated: Sequence[bool], run: Callable[[list[Any]], list[Any]]
    ) -> list[Any]:
        """The results, of a function from flat arguments to flat results; what is written goes to the references.

        An array that the program writes over is the reference's own.
        """
        values = list(operands)
        for n, each in enumerate(operands):
            if is_ref(each):
                values[n] = each.own_array() if donated[n] else each.array
        places = {n: getattr(values[n], "sharding", None) for n in self.written}
        outs = run(values)
        count = len(outs) - len(self.written)
        for n, new in zip(self.written, outs[count:], strict=True):
            place = places[n]
            if place is not None and new.sharding != place:
                new = put_on(new, place)
            operands[n].write(new)
            operands[n].shared = not donated[n]
        for n in self.forwarded:
            if is_ref(operands[n]):
                operands[n].shared = True
        return outs[:count]


def discharged_trace(traced: Traced) -> Discharged:
    """The trace without references, made once."""
    return traced.program.memo("without references, for jit", lambda: Discharged(traced))


def _with_flat_shardings(
    jitted: Jitted, traced: Traced, form: Discharged, values: Sequence[Any], split: Split
) -> Jitted:
    """The jitted function with the shardings that the user asks for told of flat arguments and results."""
    options = jitted.options
    ins = for_arguments(options.in_shardings, split.dynamic, split.dynamic_kwargs)
    ins += [None] * (len(values) - len(ins))
    outs = for_results(options.out_shardings, traced.out_tree) + [ins[n] for n in form.written]
    return Jitted(jitted.fun, options.replace(in_shardings=tuple(ins), out_shardings=tuple(outs)))


def run(jitted: Jitted, traced: Traced, leaves: Sequence[Any], split: Split) -> Any:
    """The result of a call of a jitted function that takes references or closes over them."""
    form = discharged_trace(traced)
    operands = [*leaves, *form.captured]
    refuse_aliases(operands, f"the jitted function {jitted.name}", lambda: dynamic_names(jitted.fun, split))
    watched = watching()  # what raises leaves references as they were
    donated = (False,) * len(operands) if watched else form.donated(jitted.donated(split))

    def compiled(values: list[Any]) -> list[Any]:
        given = donated if any(donated) else None
        if not jitted.options.asks_for_shardings:
            return jitted.compile(form.traced, values, given).call(values)
        flat = _with_flat_shardings(jitted, traced, form, values, split)
        return flat.compile(form.traced, values, given, Split(jitted.fun, (), (), tuple(values), {})).call(values)

    return tree_unflatten(traced.out_tree, form.call(operands, donated, compiled))


def lowered(traced: Traced, by_user: Flags, placement: Placement) -> tuple[ClosedJaxpr, Flags, Placement]:
    """The program that a stage lowers, which of its arguments are donated, and where it runs."""
    form = discharged_trace(traced)
    ins, outs = placement.in_shardings, placement.out_shardings
    if ins:
        ins = (*ins, *[placement.replicated] * len(form.captured))
    if outs:
        outs = (*outs, *[None] * len(form.written))
    return form.traced.program, form.donated(by_user), placement._replace(in_shardings=ins, out_shardings=outs)


def run_compiled(
    traced: Traced, leaves: Sequence[Any], names: Sequence[str], by_user: Flags, call: Callable[[list[Any]], list[Any]]
) -> Array:
    """The result of a call of a compiled stage."""
    form = discharged_trace(traced)
    operands = [*leaves, *form.captured]
    refuse_aliases(operands, "the compiled function", lambda: names)
    return tree_unflatten(traced.out_tree, form.call(operands, form.donated(by_user), call))


def join(interpreter: Batch | JVP, value: Any, beside: Any) -> Any:
    """An argument of ``vmap`` or ``jvp`` as the function sees it: with its axis, or with its tangent."""
    if not is_ref(value):
        return interpreter.join(value, beside)
    if isinstance(interpreter, Batch):
        return value if beside is None else MappedRef(interpreter, value, beside)
    return DifferentiatedRef(interpreter, value, beside) if is_ref(beside) else value


def shard(mapped: Any, args: tuple[Any, ...], leaves: Sequence[Any], tree: PyTreeDef) -> Any:
    """The call of ``shard_map`` with references among its arguments: each device has a reference to its piece.

    Args:
      mapped: the function and how it is run per device (``transforms.shard_map.Mapped``).
    """
    refuse_aliases(leaves, "shard_map")
    places = [n for n, leaf in enumerate(leaves) if is_ref(leaf)]
    values = [leaf[...] if is_ref(leaf) else leaf for leaf in leaves]
    specs = mapped.input_specs(args, values, mapped.region(values))
    key = ("references", tree, tuple(places), specs)
    pure = mapped.store.get(key)
    if pure is None:
        own = tuple(specs[n] for n in places)

        def on_arrays(*pieces: Any) -> Any:
            inputs = list(pieces)
            for n in places:
                inputs[n] = new_ref_p.bind(pieces[n], memory_space=None, kind=None)
            out = mapped.f(*tree_unflatten(tree, inputs))
            return out, [freeze_p.bind(inputs[n]) for n in places]

        given = mapped.out_specs
        outs: Any = (lambda: (given(), [*own])) if callable(given) else (given, [*own])
        pure = type(mapped)(on_arrays, mapped.mesh, specs, outs, mapped.axis_names, mapped.check_vma)
        mapped.store[key] = pure
    out, last = pure.call(tuple(values))
    for n, value in zip(places, last, strict=True):
        leaves[n][...] = value
    return out


def returned(what: str, ref: Any, outside: Callable[[Any], Any]) -> Any:
    """A reference that a mapped or differentiated function made and returns: a new one, to what it holds in the end.

    Args:
      what: of whose results it is one. outside: from a value of the transformation to one outside of it.
    Raises:
      ValueError: one that was there before.
    """
    if not isinstance(ref, LocalRef):
        raise ValueError(
            f"{what}: a reference of type {ref.aval!r} that the function did not make itself cannot be returned"
        )
    return new_ref_p.bind(outside(ref.content), memory_space=ref.aval.memory_space, kind=ref.aval.kind)


reference_hooks.run = run
reference_hooks.returned = returned
reference_hooks.among = holds_refs
reference_hooks.shard = shard
reference_hooks.lowered = lowered
reference_hooks.run_compiled = run_compiled
reference_hooks.join = join
