"""The command line; each command is one module."""

from cuvein.cli.application import main

__all__ = ["main"]
