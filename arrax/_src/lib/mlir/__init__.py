"""The bindings of MLIR under their old private path."""
