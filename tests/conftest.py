"""Settings of the test session.

The tests compile the library's functions for many types. How long that takes depends on the machine, and so would warnings
of it: tests that are about these warnings turn them on.
"""

import os

os.environ.setdefault("ARRAX_RECOMPILATION_WARNINGS", "off")

from arrax.core.completion import complete_package  # noqa: E402, since the settings come first

complete_package()  # tests name inner modules, which a program meets only behind public names
