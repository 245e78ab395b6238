"""Experimental rooms; each is imported by its own name."""
