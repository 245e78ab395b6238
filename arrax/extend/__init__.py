"""For libraries that extend arrax; each room is imported by its own name."""
