"""Known hard cases, each put to the engine and to the reference model."""
