"""Kernels that compiled programs on the CPU call on the host: sorting and selecting, by NumPy."""
