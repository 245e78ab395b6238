"""Functions on the host, as older programs call them: ``id_tap``, ``id_print``, ``call``. Deprecated.

Use ``arrax.debug.callback`` and ``arrax.debug.print`` to look at values, ``arrax.pure_callback`` and
``arrax.experimental.io_callback`` for values from the host. These functions are those underneath.
"""

import functools as _functools
import logging as _logging
import sys as _sys
import threading as _threading
import traceback as _traceback
import warnings as _warnings
from collections.abc import Callable as _Callable
from typing import IO as _IO
from typing import Any as _Any

import numpy as _np

from arrax.core.calls import check_callable as _check_callable
from arrax.core.functions import named_like as _named_like
from arrax.core.interpreter import context as _context
from arrax.core.pytrees import tree_flatten as _tree_flatten
from arrax.core.pytrees import tree_map as _tree_map
from arrax.core.pytrees import tree_unflatten as _tree_unflatten
from arrax.core.tracebacks import bound_names as _bound_names
from arrax.core.types import typeof as _typeof
from arrax.lax.effectful_callbacks import io_callback as _io_callback
from arrax.lax.host_taps import device_id_p as _device_id_p
from arrax.lax.host_taps import host_tap_p as _host_tap_p
from arrax.lax.host_taps import ordered_tap_effect as _ordered_tap_effect
from arrax.lax.host_taps import tap_effect as _tap_effect
from arrax.lax.operand_checks import checked_operand as _checked_operand
from arrax.transforms.waiting import effects_barrier as _effects_barrier
from arrax.xla.devices import devices as _devices

__all__ = ["CallbackException", "barrier_wait", "call", "id_print", "id_tap", "stop_outfeed_receiver"]

_logger = _logging.getLogger("arrax")
_failures: list[str] = []
_lock = _threading.Lock()

_warnings.warn(
    "arrax.experimental.host_callback is deprecated: use arrax.debug.callback and arrax.debug.print, arrax.pure_callback, "
    "arrax.experimental.io_callback.",
    DeprecationWarning,
    stacklevel=2,
)


class CallbackException(Exception):
    """A tap function has raised an exception before ``barrier_wait``, whose text is that of the exception.

    Example: ``from arrax.experimental import host_callback;
    host_callback.id_tap(lambda value, transforms: 1 / 0, y); host_callback.barrier_wait()`` raises it.
    """


def id_tap(
    tap_func: _Callable[..., _Any],
    arg: _Any,
    *,
    result: _Any = None,
    tap_with_device: bool = False,
    device_index: int = 0,
    **kwargs: _Any,
) -> _Any:
    """Let a function on the host look at values when the program comes by.

    Exceptions in it are logged, and raised by ``barrier_wait``. Derivatives look at the values of the forward pass. ``vmap``
    calls it once, with all examples, and ``transforms`` says along which axes these lie.

    Args:
      tap_func: function of NumPy arrays in the structure of ``arg`` and of ``transforms``, a list of pairs such as
        ``("batch", {"batch_dims": (0,)})``; with ``device=`` where it is asked for. What it returns is ignored.
      arg: pytree of arrays.
      result: what to return in place of ``arg``.
      tap_with_device: tell the function the device, too.
      device_index: accepted: where a program runs on several devices, the first one calls.
      kwargs: further keywords of the function.
    Returns: ``arg``, or ``result``.
    Raises:
      TypeError: not a function, or a value that is not an array.
    Example: ``id_tap(lambda x, transforms: print(x), jnp.ones(2))``.
    """
    _check_callable(tap_func)
    leaves, tree = _tree_flatten(arg)
    operands = [_checked_operand("id_tap", leaf) for leaf in leaves]
    if tap_with_device:
        operands.append(_device_id_p.bind())

    def tap(values: _Any, transforms: _Any) -> None:
        own = dict(kwargs)
        if tap_with_device:
            own["device"] = _device(values[-1])
        count = len(leaves)
        told = [(name, {"batch_dims": what["batch_dims"][:count]}) for name, what in transforms]
        try:
            tap_func(_tree_unflatten(tree, list(map(_to_numpy, values[:count]))), told, **own)
        except Exception:
            _logger.exception("host_callback: the tap function failed")
            with _lock:
                _failures.append(_traceback.format_exc())

    # Programs per device have no common order.
    _host_tap_p.bind(*operands, tap=tap, transforms=(), effect=_tap_effect if _context.axes else _ordered_tap_effect)
    return arg if result is None else result


def id_print(
    arg: _Any,
    *,
    result: _Any = None,
    tap_with_device: bool = False,
    device_index: int = 0,
    output_stream: _IO[str] | None = None,
    threshold: int | None = None,
    **kwargs: _Any,
) -> _Any:
    """Print values when the program comes by, behind what ``kwargs`` say: ``id_print(x, what="x")`` prints ``what: x : 3.``.

    Args:
      arg: pytree of arrays.
      result: what to return in place of ``arg``.
      tap_with_device: print the device, too.
      device_index: accepted, without effect.
      output_stream: where to print; standard output for None.
      threshold: arrays of more elements are printed in short, as of ``np.array2string``.
      kwargs: printed in front, with ``transforms`` where there are any.
    Returns: ``arg``, or ``result``.
    Example: ``id_print(jnp.ones(2), what="ones")``.
    """
    show = _functools.partial(_show, words=kwargs, stream=output_stream, threshold=threshold)
    return id_tap(show, arg, result=result, tap_with_device=tap_with_device, device_index=device_index)


def call(
    callback_func: _Callable[..., _Any],
    arg: _Any,
    *,
    result_shape: _Any = None,
    call_with_device: bool = False,
    device_index: int = 0,
) -> _Any:
    """The value of a function on the host. It has no derivative of its own: see ``custom_jvp`` and ``custom_vjp``.

    Args:
      callback_func: function of NumPy arrays in the structure of ``arg``; with ``device=`` where it is asked for.
      arg: pytree of arrays.
      result_shape: pytree of arrays, or of what has a shape and a dtype: what it returns. None for nothing.
      call_with_device: tell the function the device, too.
      device_index: accepted, without effect.
    Returns: pytree like ``result_shape``.
    Raises:
      TypeError: not a function, or a value that is not an array.
      ValueError: it is differentiated.
      JaxRuntimeError: the function raises, or returns something else than announced.
    Example: ``call(np.linalg.eigvalsh, jnp.eye(2), result_shape=jax.ShapeDtypeStruct((2,), "float32"))``.
    """
    _check_callable(callback_func)
    device = (_device_id_p.bind(),) if call_with_device else ()

    @_named_like(callback_func)
    def run(value: _Any, *number: _Any) -> _Any:
        own = {"device": _device(number[0])} if number else {}
        return callback_func(_tree_map(_to_numpy, value), **own)

    shapes = _tree_map(lambda leaf: leaf if hasattr(leaf, "dtype") else _typeof(leaf), result_shape)
    return _io_callback(run, shapes, arg, *device)


def barrier_wait(logging_name: str | None = None) -> None:
    """Wait until all functions on the host have returned of programs that were started.

    Args:
      logging_name: stands in the log.
    Raises:
      CallbackException: a tap function has raised an exception since the last call.
    Example: ``barrier_wait()``.
    """
    _logger.debug("barrier_wait %s", logging_name or "")
    _effects_barrier()
    with _lock:
        failures = _failures[:]
        _failures.clear()
    if failures:
        raise CallbackException(f"tap functions have failed {len(failures)} times; the last exception:\n{failures[-1]}")


def stop_outfeed_receiver() -> None:
    """Wait for tap functions. There is no receiver to stop: programs call the host themselves.

    Example: ``stop_outfeed_receiver()``.
    """
    _effects_barrier()


def _device(number: _Any) -> _Any:
    return next(device for device in _devices() if device.id == int(number))


def _to_numpy(value: _Any) -> _Any:
    return value if hasattr(value, "_base_array") else _np.asarray(value)


def _show(
    value: _Any,
    transforms: list[tuple[str, dict[str, _Any]]],
    *,
    words: dict[str, _Any],
    stream: _IO[str] | None,
    threshold: int | None,
    device: _Any = None,
) -> None:
    front = {} if device is None else {"device": f"{device.platform}:{device.id}"}
    if transforms:
        front["transforms"] = transforms  # type: ignore[assignment]
    text = " ".join(f"{key}: {said}" for key, said in {**front, **words}.items())
    shown = _text(value, threshold)
    line = f"{text} : {shown}\n" if text else f"{shown}\n"
    (stream if stream is not None else _sys.stdout).write(line)


def _text(value: _Any, threshold: int | None) -> str:
    """A pytree as Python writes it, arrays by their elements alone."""
    if isinstance(value, tuple):
        inner = ", ".join(_text(one, threshold) for one in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, list):
        return f"[{', '.join(_text(one, threshold) for one in value)}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {_text(one, threshold)}' for key, one in value.items())}}}"
    if isinstance(value, _np.ndarray | _np.generic):
        return _np.array2string(_np.asarray(value), separator=", ", threshold=threshold)
    return str(value)


_bound_names(__name__)
