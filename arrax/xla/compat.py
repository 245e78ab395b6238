"""What differs between the supported versions of jaxlib (0.10.2 to 0.12): probed by feature, nowhere else."""

from __future__ import annotations

from typing import Any

from arrax.native import runtime

version = tuple(int(part) for part in runtime.jaxlib_version.split(".")[:3])
_HANDLER_SKIPS_CHECKS = "_skip_checks" in runtime.array_result_handler.__nb_signature__[0][0]


def result_handler(aval: Any, sharding: Any, committed: bool) -> Any:
    """What turns the buffers of an execution's output into an array."""
    if _HANDLER_SKIPS_CHECKS:
        return runtime.array_result_handler(aval, sharding, committed, _skip_checks=True)
    return runtime.array_result_handler(aval, sharding, committed)


def make_array(aval: Any, sharding: Any, arrays: list[Any], committed: bool) -> Any:
    """An array over several devices, from one single-device array per addressable device."""
    return runtime.ArrayImpl(aval, sharding, arrays, committed, _skip_checks=True)


def _check_and_rearrange(arrays: list[Any], sharding: Any, aval: Any) -> list[Any]:
    return list(arrays)


# 0.10.2 calls it on the instance, later versions on the class: a static method of three arguments serves both.
runtime.ArrayImpl._check_and_rearrange = staticmethod(_check_and_rearrange)

# Compile options by name; an unknown one is dropped after the first refusal (see compilation.py).
has_fusion_emitters_option = version < (0, 11, 0)
unknown_options: set[str] = set()
