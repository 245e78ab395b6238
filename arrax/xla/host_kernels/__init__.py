"""Kernels that compiled programs on the CPU call on the host, by NumPy: sorting, selecting, reducing, indices, copies."""
