"""``cuvein schema``: the format of the launch profile."""

from __future__ import annotations

from cuvein.cli import output
from cuvein.profile import schema as profile_schema

__all__ = ["schema"]


def schema() -> None:
    """Print the JSON Schema of a launch profile."""
    output.send(profile_schema.text())
