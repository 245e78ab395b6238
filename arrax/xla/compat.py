"""What differs between the supported versions of jaxlib (0.10.2 to 0.12): probed by feature, nowhere else."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from arrax.core.types import ShapedArray
from arrax.native import runtime, versions

if TYPE_CHECKING:
    from arrax.xla.arrays import Array


_HANDLER_SKIPS_CHECKS = "_skip_checks" in runtime.array_result_handler.__nb_signature__[0][0]


def result_handler(aval: ShapedArray, sharding: runtime.Sharding, committed: bool) -> Any:
    """What turns the buffers of an execution's output into an array."""
    if _HANDLER_SKIPS_CHECKS:
        return runtime.array_result_handler(aval, sharding, committed, _skip_checks=True)
    return runtime.array_result_handler(aval, sharding, committed)


def make_array(aval: ShapedArray, sharding: runtime.Sharding, arrays: list[Any], committed: bool) -> Array:
    """An array over several devices, from one single-device array per addressable device."""
    return runtime.ArrayImpl(aval, sharding, arrays, committed, _skip_checks=True)


def _check_and_rearrange(arrays: list[Any], sharding: Any, aval: Any) -> list[Any]:
    return list(arrays)


# 0.10.2 calls it on the instance, later versions on the class: a static method of three arguments serves both.
runtime.ArrayImpl._check_and_rearrange = staticmethod(_check_and_rearrange)

# The option is gone in 0.11; its older kind of code compiles faster.
WITHOUT_FUSION_EMITTERS = {"xla_cpu_use_fusion_emitters": False} if versions.installed < (0, 11, 0) else {}


@functools.cache
def _cpu_compile_options() -> bytes:
    """Compile options without tiled emitters, and with loops freed of conditions and short ones with vectors, serialized.

    Tiled emitters give arrays of few elements to other code for exp and log than elements of larger ones, with other last bits.
    Loops whose condition is the same in each turn, as where rows lie in a join of arrays, become a loop for each case, which the
    compiler would only do at a higher level. Loops of 5 to 15 turns, as over short last axes, and what is left of longer ones
    would go element by element, which for exp, log and their kind takes eight times as long. Loops of more than 8 turns would be
    written out turn by turn before vectors are looked for: two to four times the code, which takes twice as long. The switches
    are entries of a map, which only the serialized form of the options can be given.
    """
    entries = b"".join(_field(_EXTRA_OPTIONS, _field(1, key) + _field(2, value)) for key, value in _SWITCHES.items())
    return runtime.CompileOptions().SerializeAsString() + _field(3, _field(3, entries))


MAX_UNROLLED = 8  # turns of a loop that are written out one after the other
_EXTRA_OPTIONS = 500  # the number of the map xla_backend_extra_options among XLA's debug options
_SWITCHES = {  # with a dash: those of LLVM
    b"xla_cpu_disable_tiled_emitter": b"true",
    b"-enable-nontrivial-unswitch": b"true",
    b"-vectorizer-min-trip-count": b"5",
    b"-epilogue-vectorization-minimum-VF": b"4",
    b"-unroll-full-max-count": b"%d" % MAX_UNROLLED,
}


def _field(number: int, payload: bytes) -> bytes:
    """A field of a serialized protocol buffer; of a message that is there already, it is merged into it."""
    return _varint(number << 3 | 2) + _varint(len(payload)) + payload


def _varint(number: int) -> bytes:
    low, rest = number & 127, number >> 7
    return bytes([low | 128]) + _varint(rest) if rest else bytes([low])


def cpu_compile_options() -> runtime.CompileOptions:
    """Fresh compile options for programs on the CPU."""
    return runtime.CompileOptions.ParseFromString(_cpu_compile_options())


# Later compilers take minutes for loops that hold the formula of log1p of doubles.
LOG1P_BY_FORMULA = versions.installed < (0, 11, 0)
