"""The published schema is the model's, and says yes and no where the reader does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from cuvein.profile import ProfileReadError, decode, encode
from cuvein.profile.schema import schema, text
from reference.sample import PROFILE

PUBLISHED = Path(__file__).parents[2] / "docs" / "launch-profile.schema.json"


def test_the_published_schema_is_current() -> None:
    assert PUBLISHED.read_text() == text(), (
        "python -m cuvein.profile.schema > docs/launch-profile.schema.json"
    )


def test_the_module_prints_it() -> None:
    command = [sys.executable, "-m", "cuvein.profile.schema"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True)
    assert printed.stdout == text()
    assert printed.stderr == ""


def test_the_schema_is_valid_and_accepts_a_profile() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    jsonschema.Draft202012Validator(schema()).validate(json.loads(encode(PROFILE)))


@pytest.mark.parametrize("change", [{"version": 2}, {"format": "trace"}, {"colour": "red"}, {"nodes": None}])
def test_the_schema_refuses_what_the_reader_refuses(change: dict[str, object]) -> None:
    changed = json.loads(encode(PROFILE)) | change
    with pytest.raises(ProfileReadError):
        decode(json.dumps(changed).encode())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema()).validate(changed)
