"""How programs on the CPU do what the compiler's own code does slowly there."""
