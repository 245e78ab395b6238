"""Events that the system records, such as compilations and uses of the cache on disk, and who listens to them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from arrax.core.calls import check_callable

Metadata = str | int
EventListener = Callable[..., None]


class _Listeners:
    """The listeners of one kind of event. The tuple is replaced as a whole: recording needs no lock."""

    def __init__(self, kind: str):
        self.kind = kind
        self.registered: tuple[EventListener, ...] = ()

    def add(self, callback: EventListener) -> None:
        check_callable(callback)
        with _lock:
            self.registered = (*self.registered, callback)

    def remove(self, callback: EventListener) -> None:
        with _lock:
            if callback not in self.registered:
                raise ValueError(f"monitoring: {callback!r} is not registered as a listener of {self.kind}")
            index = self.registered.index(callback)
            self.registered = self.registered[:index] + self.registered[index + 1 :]

    def tell(self, *args: object, **metadata: Metadata) -> None:
        for callback in self.registered:
            callback(*args, **metadata)


_lock = threading.Lock()
_events, _durations, _time_spans, _scalars = map(_Listeners, ("events", "durations", "time spans", "scalars"))


def record_event(event: str, **kwargs: Metadata) -> None:
    """Tell the listeners that something happened.

    Args:
      event: its name, such as ``"/team/model/restored"``.
      kwargs: what else is known about it.
    Example: ``record_event("/team/model/restored", step=3)``.
    """
    _events.tell(event, **kwargs)


def record_event_duration_secs(event: str, duration: float, **kwargs: Metadata) -> None:
    """Tell the listeners how long something took, in seconds.

    Example: ``record_event_duration_secs("/team/load", 1.5)``.
    """
    _durations.tell(event, duration, **kwargs)


def record_event_time_span(event: str, start_time: float, end_time: float, **kwargs: Metadata) -> None:
    """Tell the listeners from when to when something went on, in seconds since the epoch.

    Example: ``record_event_time_span("/team/load", 1700000000., 1700000001.)``.
    """
    _time_spans.tell(event, start_time, end_time, **kwargs)


def record_scalar(event: str, value: float | int, **kwargs: Metadata) -> None:
    """Tell the listeners a number.

    Example: ``record_scalar("/team/loss", 0.25)``.
    """
    _scalars.tell(event, value, **kwargs)


def register_event_listener(callback: EventListener) -> None:
    """Have ``callback(event, **metadata)`` called at each event.

    Raises:
      TypeError: not a function.
    Example: ``register_event_listener(lambda event, **metadata: print(event))``.
    """
    _events.add(callback)


def register_event_duration_secs_listener(callback: EventListener) -> None:
    """Have ``callback(event, duration, **metadata)`` called at each recorded duration, in seconds.

    Raises:
      TypeError: not a function.
    Example: ``register_event_duration_secs_listener(lambda event, seconds, **metadata: print(event, seconds))``.
    """
    _durations.add(callback)


def register_event_time_span_listener(callback: EventListener) -> None:
    """Have ``callback(event, start_time, end_time, **metadata)`` called at each recorded time span.

    Raises:
      TypeError: not a function.
    Example: ``register_event_time_span_listener(lambda event, start, end, **metadata: print(event, end - start))``.
    """
    _time_spans.add(callback)


def register_scalar_listener(callback: EventListener) -> None:
    """Have ``callback(event, value, **metadata)`` called at each recorded number.

    Raises:
      TypeError: not a function.
    Example: ``register_scalar_listener(lambda event, value, **metadata: print(event, value))``.
    """
    _scalars.add(callback)


def unregister_event_listener(callback: EventListener) -> None:
    """Call a listener of events no more.

    Args:
      callback: the function that was registered.
    Raises:
      ValueError: it is not registered.
    Example: ``arrax.monitoring.register_event_listener(print); arrax.monitoring.unregister_event_listener(print)``.
    """
    _events.remove(callback)


def unregister_event_duration_listener(callback: EventListener) -> None:
    """Call a listener of durations no more.

    Args:
      callback: the function that was registered.
    Raises:
      ValueError: it is not registered.
    Example: ``arrax.monitoring.register_event_duration_secs_listener(print);
    arrax.monitoring.unregister_event_duration_listener(print)``.
    """
    _durations.remove(callback)


def unregister_event_time_span_listener(callback: EventListener) -> None:
    """Call a listener of time spans no more.

    Args:
      callback: the function that was registered.
    Raises:
      ValueError: it is not registered.
    Example: ``arrax.monitoring.register_event_time_span_listener(print);
    arrax.monitoring.unregister_event_time_span_listener(print)``.
    """
    _time_spans.remove(callback)


def unregister_scalar_listener(callback: EventListener) -> None:
    """Call a listener of numbers no more.

    Args:
      callback: the function that was registered.
    Raises:
      ValueError: it is not registered.
    Example: ``arrax.monitoring.register_scalar_listener(print); arrax.monitoring.unregister_scalar_listener(print)``.
    """
    _scalars.remove(callback)


def clear_event_listeners() -> None:
    """Forget all listeners.

    Example: ``arrax.monitoring.register_event_listener(print); arrax.monitoring.clear_event_listeners()``.
    """
    with _lock:
        for listeners in (_events, _durations, _time_spans, _scalars):
            listeners.registered = ()


@contextmanager
def timed(event: str, **metadata: Metadata) -> Iterator[None]:
    """Record how long the block takes: its start as a number, then its duration and time span if it succeeds."""
    if not (_durations.registered or _time_spans.registered or _scalars.registered):
        yield
        return
    began, start = time.time(), time.perf_counter()
    record_scalar(event, began, **metadata)
    yield
    took = time.perf_counter() - start
    record_event_duration_secs(event, took, **metadata)
    record_event_time_span(event, began, began + took, **metadata)
