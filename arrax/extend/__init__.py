"""For libraries that extend arrax; each module is imported by its own name."""
