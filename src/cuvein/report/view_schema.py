"""The types of what the page takes in, for its own check of dropped files.

``python -m cuvein.report.view_schema`` prints it; ``web/src/schema.json`` is a copy of what it prints. It is
JSON Schema by type name, less what the page does without: prose, defaults, and the refusal of unknown fields.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from cuvein.profile.model import LaunchProfile
from cuvein.report.view_model import Code, GraphView, Index, Text

__all__ = ["schema", "text"]

_DROPPED = ("title", "description", "default", "minItems", "maxItems")


def schema() -> dict[str, Any]:
    """Return the schema of each type by its name."""
    types = (Index, GraphView, Code, Text, LaunchProfile)
    _, components = msgspec.json.schema_components(types, ref_template="{name}")
    return {name: _lean(component) for name, component in components.items()}


def _lean(component: dict[str, Any]) -> dict[str, Any]:
    lean: dict[str, Any] = {}
    for key, value in component.items():
        if key in _DROPPED or value is False:
            continue
        if key == "properties":
            lean[key] = {name: _lean(each) for name, each in value.items()}
        elif isinstance(value, dict):
            lean[key] = _lean(value)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            lean[key] = [_lean(each) for each in value]
        else:
            lean[key] = value
    return lean


def text() -> str:
    """Return the schema as it is committed: a line a type."""
    lines = (
        f"{json.dumps(name)}: {json.dumps(each, separators=(',', ':'))}" for name, each in schema().items()
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    print(text(), end="")
