"""The interface of managers of checkpoints that write arrays while the program goes on; libraries implement it."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Any


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
        self,
        arrays: Sequence[Any],
        tensorstore_specs: Sequence[dict[str, Any]],
        *,
        on_commit_callback: Callable[[], None],
    ) -> None:
        """Begin to write arrays to the places that the specifications name."""

    @abc.abstractmethod
    def deserialize(
        self, shardings: Sequence[Any], tensorstore_specs: Sequence[dict[str, Any]],
        global_shapes: Sequence[Any] | None = None, dtypes: Sequence[Any] | None = None,
    ) -> Any:  # fmt: skip
        """Read arrays, laid out as the shardings say."""
