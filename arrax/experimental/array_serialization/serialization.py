"""Checkpoints of arrays: written by threads while the program goes on, and the interface that managers of them have."""

from __future__ import annotations

import abc
import asyncio
import itertools
import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.experimental.array_serialization.storage import TS_CONTEXT as TS_CONTEXT
from arrax.experimental.array_serialization.storage import get_tensorstore_spec as get_tensorstore_spec
from arrax.experimental.array_serialization.storage import read as _read
from arrax.experimental.array_serialization.storage import start_write as _start_write
from arrax.xla.devices import process_count, process_index
from arrax.xla.processes import state as _processes

logger = logging.getLogger("arrax")
_Specs = Sequence[dict[str, Any]]


def run_serialization(arrays: Sequence[Any], tensorstore_specs: _Specs) -> None:
    """Write arrays, and return when they are written.

    Args:
      arrays: arrays on any devices; each process writes the pieces that it has.
      tensorstore_specs: where each goes, see ``get_tensorstore_spec``.
    Example: ``run_serialization([], [])`` writes nothing; otherwise there is one specification for each array.
    """
    for future in [f for x, spec in zip(arrays, tensorstore_specs, strict=True) for f in _start_write(x, spec)]:
        future.result()


def run_deserialization(
    shardings: Sequence[Any], tensorstore_specs: _Specs, global_shapes: Sequence[Any] | None = None,
    dtypes: Sequence[Any] | None = None, concurrent_gb: int = 32,
) -> list[Any]:  # fmt: skip
    """Read arrays, laid out as shardings say.

    Args:
      shardings: shardings or formats.
      tensorstore_specs: where each is.
      global_shapes: shapes, if not the stored ones: what lies beyond is 0 or left out.
      dtypes: dtypes, if not the stored ones.
      concurrent_gb: accepted; arrays are read one after the other.
    Raises:
      ValueError: nothing is stored there.
    Example: ``run_deserialization([], [])`` is ``[]``; otherwise there is one specification for each sharding.
    """
    count = len(shardings)
    shapes = [None] * count if global_shapes is None else list(global_shapes)
    kinds = [None] * count if dtypes is None else list(dtypes)
    return [_read(*each) for each in zip(tensorstore_specs, shardings, shapes, kinds, strict=True)]


async def async_serialize(
    arr_inp: Any, tensorstore_spec: dict[str, Any], commit_future: list[Any] | None = None, context: Any = TS_CONTEXT
) -> None:
    """Write an array, in a coroutine; the program may change or delete the array as soon as the coroutine has begun.

    Args:
      arr_inp: array on any devices; each process writes the pieces that it has.
      tensorstore_spec: where it goes, see ``get_tensorstore_spec``.
      commit_future: list that gets the futures of the pieces, which are then not waited for.
      context: what TensorStore shares between arrays.
    Example: ``async def save(x): await async_serialize(x, get_tensorstore_spec('/tmp/x'))``.
    """
    futures = _start_write(arr_inp, tensorstore_spec, context)
    if commit_future is not None:
        commit_future.extend(futures)
        return
    for future in futures:
        await future


async def async_deserialize(
    in_type: Any, tensorstore_spec: dict[str, Any], global_shape: Sequence[int] | None = None, dtype: Any = None,
    *, context: Any = TS_CONTEXT,
) -> Any:  # fmt: skip
    """Read an array, in a coroutine: others go on while it is read.

    Args:
      in_type: how it is to lie: a sharding or a format.
      tensorstore_spec: where it is.
      global_shape: its shape, if not the stored one: what lies beyond is 0 or left out.
      dtype: its dtype, if not the stored one.
      context: what TensorStore shares between arrays.
    Raises:
      ValueError: nothing is stored there.
    Example: ``async def load(x): return await async_deserialize(x.sharding, get_tensorstore_spec('/tmp/x'))``.
    """
    return await asyncio.to_thread(_read, tensorstore_spec, in_type, global_shape, dtype, context)


class GlobalAsyncCheckpointManagerBase(abc.ABC):
    """What a manager of checkpoints does.

    Example: ``class Manager(GlobalAsyncCheckpointManagerBase): ...`` with all of the methods.
    """

    @abc.abstractmethod
    def check_for_errors(self) -> None:
        """Raise what went wrong while arrays were written."""

    @abc.abstractmethod
    def wait_until_finished(self) -> None:
        """Return when everything is written."""

    @abc.abstractmethod
    def serialize(
        self, arrays: Sequence[Any], tensorstore_specs: _Specs, *, on_commit_callback: Callable[[], None] | None = None
    ) -> None:
        """Begin to write arrays to the places that the specifications name."""

    @abc.abstractmethod
    def deserialize(
        self, shardings: Sequence[Any], tensorstore_specs: _Specs, global_shapes: Sequence[Any] | None = None,
        dtypes: Sequence[Any] | None = None,
    ) -> Any:  # fmt: skip
        """Read arrays, laid out as the shardings say."""


class AsyncManager:
    """A thread that waits until everything is written, in all processes, and then says so.

    Args:
      timeout_secs: how long processes wait for each other.
    Example: ``manager = AsyncManager(); manager.wait_until_finished()``.
    """

    _numbers = itertools.count()

    def __init__(self, timeout_secs: int = 300) -> None:
        self.timeout_secs = timeout_secs
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def check_for_errors(self) -> None:
        """Raise what went wrong while arrays were written, once."""
        error, self._error = self._error, None
        if error is not None:
            raise error

    def wait_until_finished(self) -> None:
        """Return when everything is written.

        Raises: what went wrong.
        """
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self.check_for_errors()

    def _start(self, futures: Sequence[Any], done: Callable[[], None] | None) -> None:
        self.wait_until_finished()
        key = f"arrax_checkpoint_{next(self._numbers)}"

        def commit() -> None:
            try:
                for future in futures:
                    future.result()
                if process_count() > 1:
                    _processes.client.wait_at_barrier(key, self.timeout_secs * 1000)
                if done is not None and process_index() == 0:
                    done()
            except BaseException as error:
                logger.error("a checkpoint was not written: %s", error)
                self._error = error

        self._thread = threading.Thread(target=commit, name="checkpoint")
        self._thread.start()


class GlobalAsyncCheckpointManager(AsyncManager, GlobalAsyncCheckpointManagerBase):
    """Writes arrays by TensorStore while the program goes on.

    Args:
      timeout_secs: how long processes wait for each other.
    Example: ``manager = GlobalAsyncCheckpointManager(); manager.serialize_with_paths([], [])``.
    """

    def serialize(
        self, arrays: Sequence[Any], tensorstore_specs: _Specs, *, on_commit_callback: Callable[[], None] | None = None,
        transaction: None = None,
    ) -> None:  # fmt: skip
        """Begin to write arrays, which may be changed or deleted from now on; what was begun before ends first.

        Args:
          arrays, tensorstore_specs: see ``run_serialization``.
          on_commit_callback: called in process 0 when all processes have written their pieces.
          transaction: must be None.
        Raises:
          NotImplementedError: a transaction. And what went wrong before.
        """
        if transaction is not None:
            raise NotImplementedError("serialize: transactions are not supported")
        self.wait_until_finished()
        futures = [f for x, spec in zip(arrays, tensorstore_specs, strict=True) for f in _start_write(x, spec)]
        self._start(futures, on_commit_callback)

    def serialize_with_paths(
        self, arrays: Sequence[Any], paths: Sequence[str], *, on_commit_callback: Callable[[], None] | None = None,
        transaction: None = None,
    ) -> None:  # fmt: skip
        """``serialize`` to folders of these names."""
        specs = [get_tensorstore_spec(path) for path in paths]
        self.serialize(arrays, specs, on_commit_callback=on_commit_callback, transaction=transaction)

    def deserialize(
        self, shardings: Sequence[Any], tensorstore_specs: _Specs, global_shapes: Sequence[Any] | None = None,
        dtypes: Sequence[Any] | None = None, concurrent_gb: int = 32,
    ) -> list[Any]:  # fmt: skip
        """Read arrays, laid out as the shardings say, when everything is written; see ``run_deserialization``."""
        self.wait_until_finished()
        return run_deserialization(shardings, tensorstore_specs, global_shapes, dtypes, concurrent_gb)

    def deserialize_with_paths(
        self, shardings: Sequence[Any], paths: Sequence[str], global_shapes: Sequence[Any] | None = None,
        dtypes: Sequence[Any] | None = None, concurrent_gb: int = 32,
    ) -> list[Any]:  # fmt: skip
        """``deserialize`` from folders of these names."""
        return self.deserialize(
            shardings, [get_tensorstore_spec(p) for p in paths], global_shapes, dtypes, concurrent_gb
        )


_bound_names(__name__)
