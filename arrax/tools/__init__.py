"""Programs for the command line."""
