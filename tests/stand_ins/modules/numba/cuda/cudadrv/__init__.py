"""What Numba has of the driver."""
