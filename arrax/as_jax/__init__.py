"""Serve the name ``jax``: after ``import arrax.as_jax``, programs and libraries that import ``jax`` get arrax.

``import jax``, ``import jax.numpy as jnp``, ``from jax.experimental import …`` then give arrax's own modules, the very same
objects. Nothing is installed, and nothing changes for processes that do not import this module. Programs that are not to be
changed at all run by ``python -m arrax.as_jax program.py``, tests by ``pytest -p arrax.as_jax.pytest_plugin``.

Example: ``import arrax.as_jax; import jax; jax.grad(lambda x: x**2)(3.)`` is 6.
"""

from arrax.as_jax.serving import serve as serve

serve()
