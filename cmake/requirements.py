"""Prints the build requirements of pyproject.toml, one a line, for an environment that builds in place."""

from __future__ import annotations

import re
from pathlib import Path

# Python 3.10 has no tomllib; the list is plain enough to read by hand.
text = (Path(__file__).parent.parent / "pyproject.toml").read_text()
block = text.split("requires = [", 1)[1].split("\n]", 1)[0]
print("\n".join(re.findall(r'^\s*"([^"]+)"', block, re.MULTILINE)))
