"""Side by side with the reference implementation: ``python -m benchmarks --help``."""
