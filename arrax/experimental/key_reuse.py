"""Checking that random keys are used once: set the option ``debug_key_reuse``, or ``with arrax.debug_key_reuse(True): …``.

A key that is consumed a second time then raises ``arrax.errors.KeyReuseError``, eagerly and inside of compiled functions.
"""

from arrax.core.config import debug_key_reuse as debug_key_reuse
from arrax.core.errors import KeyReuseError as KeyReuseError
from arrax.core.tracebacks import bound_names as _bound_names
from arrax.random.keys import clone as clone

_bound_names(__name__)
