"""The two settings that types depend on, as slots that ``core/config`` fills."""

from collections.abc import Callable


class DTypeSettings:
    """Questions this package asks of the configuration. Each attribute is a callable, replaced when settings exist.

    Attributes:
      x64_enabled: whether 64-bit types are kept; where not, they are truncated to 32 bits.
      promotion_mode: ``"standard"`` or ``"strict"``.
    """

    __slots__ = ("x64_enabled", "promotion_mode")
    x64_enabled: Callable[[], bool]
    promotion_mode: Callable[[], str]

    def __init__(self) -> None:
        self.x64_enabled = lambda: False
        self.promotion_mode = lambda: "standard"


settings = DTypeSettings()
