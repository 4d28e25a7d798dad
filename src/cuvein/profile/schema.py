"""The JSON Schema of the launch profile, generated from the types in :mod:`cuvein.profile.model`.

``python -m cuvein.profile.schema`` prints it; ``docs/launch-profile.schema.json`` is a copy of what it
prints.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from cuvein.profile.model import VERSION, LaunchProfile

__all__ = ["schema", "text"]


def schema() -> dict[str, Any]:
    """Return the schema of a launch profile document (JSON Schema 2020-12)."""
    generated = msgspec.json.schema(LaunchProfile)
    for definition in generated["$defs"].values():
        if "description" in definition:
            definition["description"] = " ".join(definition["description"].replace("``", "`").split())
    document = generated["$defs"]["LaunchProfile"]
    document["properties"]["version"] = {"type": "integer", "minimum": 1, "maximum": VERSION}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"cuvein launch profile, version {VERSION}",
        **generated,
    }


def text() -> str:
    """Return the schema as it is published: indented JSON with a newline at its end."""
    return json.dumps(schema(), indent=2) + "\n"


if __name__ == "__main__":
    print(text(), end="")
