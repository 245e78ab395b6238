"""How far compiled loops are, shown while they run."""
