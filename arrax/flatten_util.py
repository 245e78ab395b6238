"""Pytrees as vectors (public face)."""

from arrax.transforms.raveling import ravel_pytree as ravel_pytree
