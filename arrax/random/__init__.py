"""Random numbers with explicit keys. The face: public names only."""
