"""Experimental rooms; each is imported by its own name."""

from arrax.lax.effectful_callbacks import io_callback as io_callback
