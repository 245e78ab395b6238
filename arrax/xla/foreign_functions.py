"""Functions of shared libraries, made known to the compiler."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

from arrax.native import runtime

_NAMES = {"cpu": "Host", "cuda": "CUDA", "gpu": "CUDA", "rocm": "ROCM", "tpu": "tpu"}
Capsule = Any  # of Python, around a pointer

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)


def include_dir() -> str:
    """The folder of XLA's headers, for compilers: ``#include "xla/ffi/api/ffi.h"``.

    Example: ``import os; os.path.exists(os.path.join(arrax.ffi.include_dir(), 'xla/ffi/api/ffi.h'))`` is True.
    """
    return runtime.include_dir


def pycapsule(funcptr: Any) -> Capsule:
    """A capsule around a function of a shared library, such as one of ``ctypes``.

    Args:
      funcptr: the function, or its address.
    Raises:
      ValueError: the address is 0.
      TypeError: something else.
    Example: ``import ctypes; type(arrax.ffi.pycapsule(ctypes.pythonapi.PyLong_FromLong)).__name__`` is ``'PyCapsule'``.
    """
    address = funcptr if isinstance(funcptr, int) else None
    if address is None and not isinstance(funcptr, str | bytes):
        try:
            address = ctypes.cast(funcptr, ctypes.c_void_p).value or 0
        except ctypes.ArgumentError:
            pass
    if address is None:
        raise TypeError(f"pycapsule: expected a function of a shared library or an address, got {funcptr!r}")
    if not address:
        raise ValueError("pycapsule: the address of the function is 0")
    return _new_capsule(address, b"xla._CUSTOM_CALL_TARGET", None)


def register_ffi_target(
    name: str, fn: Capsule | Mapping[str, Capsule], platform: str = "cpu", api_version: int = 1, **kwargs: Any
) -> None:
    """Make a function of a shared library known by a name.

    Args:
      name: what programs call it by.
      fn: a capsule (``pycapsule``), or capsules by the stage that they are for: ``instantiate``, ``prepare``, ``initialize``,
        ``execute``.
      platform: where it runs: ``"cpu"``, ``"cuda"``, …
      api_version: 1 for functions that are written with ``ffi.h``, 0 for older kinds.
      kwargs: of ``jaxlib``'s ``register_custom_call_target``.
    Raises:
      JaxRuntimeError: another function has the name, or it is not a capsule.
      ValueError: another ``api_version``.
    Example: ``arrax.ffi.register_ffi_target('my_kernel', arrax.ffi.pycapsule(library.my_kernel))``.
    """
    if api_version not in (0, 1):
        raise ValueError(f"register_ffi_target: api_version must be 0 or 1, got {api_version!r}")
    target = dict(fn) if isinstance(fn, Mapping) else fn
    runtime.xla_client.register_custom_call_target(
        name, target, platform=_NAMES.get(platform.lower(), platform), api_version=api_version, **kwargs
    )


def register_ffi_type(name: str, type_registration: Mapping[str, Capsule], platform: str = "cpu") -> None:
    """Make the class of a function's state known: to be done before functions that keep such are registered.

    Args:
      name: of the class.
      type_registration: capsules of its ``type_id`` and ``type_info``.
      platform: where the functions run.
    Raises:
      JaxRuntimeError: another class has the name.
    Example: ``arrax.ffi.register_ffi_type('Counter', {'type_id': library.type_id(), 'type_info': library.type_info()})``.
    """
    runtime.xla_client.register_custom_type(
        name, dict(type_registration), platform=_NAMES.get(platform.lower(), platform)
    )


def register_ffi_type_id(name: str, obj: Capsule, platform: str = "cpu") -> None:
    """Make the number of the class of a function's state known, for libraries that were written before ``register_ffi_type``.

    Args:
      name: of the class.
      obj: a capsule of its number.
      platform: where the functions run.
    Example: ``arrax.ffi.register_ffi_type_id('Counter', library.type_id())``.
    """
    runtime.xla_client.register_custom_type(name, obj, platform=_NAMES.get(platform.lower(), platform))


def register_ffi_target_as_batch_partitionable(name: str) -> None:
    """Let calls of a function be divided over devices along their leading axes, which it treats each by itself.

    Example: ``arrax.ffi.register_ffi_target_as_batch_partitionable('my_kernel')``.
    """
    runtime.xla_client.register_custom_call_as_batch_partitionable(name)
