"""Bindings under their old private path."""
