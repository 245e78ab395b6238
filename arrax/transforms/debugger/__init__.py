"""A prompt inside of compiled programs, over the frames of the user's functions."""
