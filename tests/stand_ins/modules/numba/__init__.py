"""As much of Numba as the Python side of cuvein looks at."""
