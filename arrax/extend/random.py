"""Generators and keys for extending libraries. Public names only."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.random.definition import define_prng_impl as define_prng_impl
from arrax.random.definition import random_seed as random_seed
from arrax.random.definition import seed_with_impl as seed_with_impl
from arrax.random.hardware import rbg as rbg_prng_impl  # noqa: F401
from arrax.random.hardware import unsafe_rbg as unsafe_rbg_prng_impl  # noqa: F401
from arrax.random.threefry import threefry as threefry_prng_impl  # noqa: F401
from arrax.random.threefry import threefry2x32_p as threefry2x32_p
from arrax.random.threefry import threefry_2x32 as threefry_2x32

_bound_names(__name__)
