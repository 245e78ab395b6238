"""Settings of the test session.

The tests compile the library's functions for many types. How long that takes depends on the machine, and so would warnings
of it: tests that are about these warnings turn them on.
"""

import os

os.environ.setdefault("ARRAX_RECOMPILATION_WARNINGS", "off")
