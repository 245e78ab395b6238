"""``debug.explain``: what a compiled function is, does and needs, in one report."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from arrax.core.calls import check_callable, is_internal
from arrax.core.errors import frame_text, user_frames
from arrax.core.functions import function_name, unwrap
from arrax.core.program import ClosedJaxpr, Jaxpr, JaxprEqn, open_jaxpr, subprograms
from arrax.core.tracebacks import boundary
from arrax.core.types import abstract_token, typeof
from arrax.interpreters.lowered_programs import LoweredProgram
from arrax.lax.control_flow.reported_loops import report_p
from arrax.lax.host_functions import HostFunction
from arrax.transforms.arguments import jitted_of, unbound
from arrax.transforms.explanation import Donation, Explanation, Memory, Place, Times, Work
from arrax.transforms.jit import jit
from arrax.transforms.roofline import roofline
from arrax.transforms.stages import Compiled
from arrax.transforms.waiting import block_until_ready
from arrax.xla import compilation
from arrax.xla.hlo_text import HloProgram, Instruction, read_hlo
from arrax.xla.live_buffers import buffers_at_peak
from arrax.xla.loop_costs import costs_with_turns

if TYPE_CHECKING:
    from arrax.transforms.stages import Traced


_LARGE_CONSTANT = 1_000_000  # bytes
_LISTED = 8
_COLLECTIVES = (
    "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "ragged-all-to-all", "collective-permute",
    "collective-broadcast",
)  # fmt: skip


_TRANSFERS = ("infeed", "outfeed", "send", "recv")


def explain(fun: Callable[..., Any], *, run: bool = False) -> Callable[..., Explanation]:
    """A function of arguments that tells what ``fun``, compiled for them, is, does and needs.

    It traces, lowers and compiles where that was not done before, and does not run the function.

    Args:
      fun: function, jitted (whose options count) or not.
      run: whether to run it, too, some times, and to tell its shortest time. Its donated arguments are gone then.
    Returns: a function of ``fun``'s arguments that gives an ``Explanation``: what each stage took and whether it was found
      in memory or on disk, the operations and bytes and the least time these take here, memory with the largest values and
      the lines that make them, donated arguments, large constants, calls of Python, communication.
    Raises:
      TypeError: not a function.
    Example: ``print(explain(jnp.dot)(jnp.ones((99, 99)), jnp.ones((99, 99))))``.
    """
    check_callable(fun)
    if isinstance(fun, Compiled):
        raise TypeError(
            "explain: give the function, not what was compiled of it: its lines and arguments are to be shown"
        )
    own, bound = unbound(fun)
    jitted: Any = jit(own) if jitted_of(own) is None else own

    @boundary
    def explained(*args: Any, **kwargs: Any) -> Explanation:
        known = set(map(id, list(jitted._jitted.store.values())))
        start = time.perf_counter()
        args = (*bound, *args)
        traced = jitted.trace(*args, **kwargs)
        tracing = time.perf_counter() - start
        start = time.perf_counter()
        lowered = traced.lower()
        lowering = time.perf_counter() - start
        start = time.perf_counter()
        compiled = lowered.compile()
        compiling, source = time.perf_counter() - start, compilation.latest.source
        ran = _time_of(compiled, args, kwargs) if run else None
        found = Times(tracing, lowering, compiling, id(traced._traced) not in known, source, ran)
        return _explanation(traced, lowered._lowering, compiled, found)

    explained.__name__ = f"explain({function_name(fun)})"
    return explained


def _time_of(compiled: Compiled, args: Sequence[Any], kwargs: dict[str, Any]) -> float:
    """The shortest time of a few calls; only one where arguments are donated."""
    block_until_ready(args)
    times: list[float] = []
    while len(times) < 3 or (sum(times) < 0.1 and len(times) < 50):
        start = time.perf_counter()
        block_until_ready(compiled(*args, **kwargs))
        times.append(time.perf_counter() - start)
        if compiled.donate_argnums:
            break
    return min(times)


def _explanation(traced: Traced, lowering: LoweredProgram, compiled: Compiled, times: Times) -> Explanation:
    text = compiled._own_modules()[0].to_string()
    program = read_hlo(text)
    placement = compiled._placement
    devices = [placement.device] if placement.devices is None else list(placement.devices)
    costs, uncounted = costs_with_turns(program, text, devices[0].client, compiled.cost_analysis() or {})
    flops, moved = costs["flops"], costs["bytes accessed"]
    best = roofline(flops * len(devices), moved * len(devices), devices[0], len(devices))
    buffers = buffers_at_peak(program)
    instructions = list(program.instructions())
    return Explanation(
        function=traced.fun_name,
        arguments={
            name: aval.str_short(True) for name, aval in zip(traced._names, traced._traced.in_avals, strict=True)
        },
        platform=devices[0].platform,
        devices=len(devices),
        times=times,
        work=Work(flops, costs["transcendentals"], moved, best.seconds, best.bound, *best.pace, uncounted),
        memory=_memory(compiled.memory_analysis(), sum(buffer.size for buffer in buffers)),
        largest=tuple(_place(buffer.maker, program) for buffer in buffers[:_LISTED]),
        donations=tuple(_donations(traced, lowering, program)),
        constants=tuple(_constants(lowering, instructions, program)),
        host_calls=tuple(_host_calls(lowering.jaxpr)),
        transfers=tuple(_place(one, program) for one in _transfers(instructions)),
        collectives=tuple(
            _place(one, program) for one in instructions if one.opcode.removesuffix("-start") in _COLLECTIVES
        ),
        equations=sum(1 for _ in _equations(traced.jaxpr)),
        instructions=len(instructions),
        fusions=sum(one.opcode == "fusion" for one in instructions),
    )  # fmt: skip


def _memory(stats: Any, estimate: int) -> Memory:
    if stats is None:
        return Memory(estimate, 0, 0, 0, 0)
    arguments, results = stats.argument_size_in_bytes, stats.output_size_in_bytes
    temporaries, aliased = stats.temp_size_in_bytes, stats.alias_size_in_bytes
    # Some platforms leave out what is in between.
    peak = max(stats.peak_memory_in_bytes, arguments + results + temporaries - aliased)
    return Memory(peak, arguments, results, temporaries, aliased)


def _place(one: Instruction, program: HloProgram) -> Place:
    """An instruction for the report; what the compiler added has the name and line of what it is for."""
    named = one if one.line or one.op_name else _user_of(one, program) or one
    if one.opcode == "parameter":
        return Place(one.op_name or "closed over", one.type, one.size, "", "" if one.op_name else named.line)
    return Place(one.opcode, one.type, one.size, named.op_name, named.line)


def _user_of(one: Instruction, program: HloProgram) -> Instruction | None:
    """The first instruction with a line that uses the result of another, on however many ways."""
    for computation in program.computations.values():
        if any(each is one for each in computation):
            reached = {one.name}
            for each in computation:
                if reached & set(each.operands):
                    if each.line:
                        return each
                    reached.add(each.name)
    return None


def _donations(traced: Traced, lowering: LoweredProgram, program: HloProgram) -> Iterator[Donation]:
    results = {number: place for place, number in program.aliases}
    numbers = iter(range(len(lowering.const_args), len(lowering.const_args) + sum(lowering.kept)))
    for name, aval, kept, donated in zip(
        traced._names, traced._traced.in_avals, lowering.kept, lowering.donated, strict=True
    ):
        number = next(numbers) if kept else None
        if donated:
            place = results.get(number) if number is not None else None
            result = None if place is None else int(place.split(",")[0] or 0)
            yield Donation(name, aval.str_short(True), _nbytes(aval), result)


def _nbytes(aval: Any) -> int:
    return 0 if aval is abstract_token else int(aval.size * getattr(aval.dtype, "itemsize", 0))


def _constants(lowering: LoweredProgram, instructions: Sequence[Instruction], program: HloProgram) -> Iterator[Place]:
    """Large arrays that a function closes over, which are passed to the program, and those that stand in it."""
    inputs = lowering.jaxpr.invars
    for var, value in zip(inputs, lowering.const_args, strict=False):
        if value.nbytes > _LARGE_CONSTANT:
            user = next((eqn for eqn in lowering.jaxpr.eqns if any(atom is var for atom in eqn.invars)), None)
            used_by, line = ("", "") if user is None else (f"used by {user.primitive.name}", _line(user))
            yield Place("closed over", typeof(value).str_short(True), value.nbytes, used_by, line)
    for one in instructions:
        if one.opcode == "constant" and one.size > _LARGE_CONSTANT:
            yield _place(one, program)


def _transfers(instructions: Sequence[Instruction]) -> Iterator[Instruction]:
    """The instructions that move a value between a device and the host."""
    on_host = {one.name: one.on_host for one in instructions}
    for one in instructions:
        copies = one.opcode in ("copy", "copy-start")
        if one.opcode in _TRANSFERS or (copies and any(on_host.get(name) is not one.on_host for name in one.operands)):
            yield one


def _host_calls(jaxpr: Jaxpr) -> Iterator[Place]:
    for eqn in _equations(jaxpr):
        if eqn.primitive is report_p:
            sent = sum(_nbytes(atom.aval) for atom in eqn.invars)
            yield Place("debug.progress", getattr(eqn.params["listener"], "label", ""), sent, "", _line(eqn))
        for value in eqn.params.values():
            if isinstance(value, HostFunction):
                sent = sum(_nbytes(atom.aval) for atom in eqn.invars)
                yield Place(value.name, _users_name(value.function), sent, "", _line(eqn))


def _users_name(function: Callable[..., Any]) -> str:
    code = getattr(unwrap(function), "__code__", None)
    return "" if code is None or is_internal(code.co_filename) else function_name(function)


def _equations(program: Jaxpr | ClosedJaxpr) -> Iterator[JaxprEqn]:
    """All equations, those of nested programs included."""
    for eqn in open_jaxpr(program).eqns:
        yield eqn
        for inner in subprograms(eqn.params):
            yield from _equations(inner)


def _line(eqn: JaxprEqn) -> str:
    frames = user_frames(eqn.source_info.traceback, 1)
    return frame_text(frames[0]) if frames else ""
