"""What Numba has for CUDA."""
