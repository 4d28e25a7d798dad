"""A plain model of what cuvein computes, to test the engines against, and records and profiles for tests."""
