"""arrax: arrays, composable transformations, and compilation by XLA. The face: public names only."""
