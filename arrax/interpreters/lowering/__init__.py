"""Lowering: from programs to StableHLO modules."""
