"""Settings of this room, set for one test."""

import pytest

from arrax.dtypes.settings import settings


@pytest.fixture(autouse=True)
def configure(monkeypatch):
    """A function that sets the promotion mode and the 64-bit switch; the defaults hold until it is called."""

    def configure(mode="standard", x64=False):
        monkeypatch.setattr(settings, "promotion_mode", lambda: mode)
        monkeypatch.setattr(settings, "x64_enabled", lambda: x64)

    configure()
    return configure
