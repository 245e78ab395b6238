"""A plugin for pytest, ``pytest -p arrax.as_jax.pytest_plugin``: tests that import ``jax`` get arrax."""

from arrax import as_jax as as_jax
