"""Where PyTorch starts backward passes."""
