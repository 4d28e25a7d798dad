"""Where PyTorch keeps the callbacks."""
