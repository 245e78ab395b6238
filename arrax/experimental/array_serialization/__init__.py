"""Arrays written to and read from storage: the interface of what manages checkpoints."""
