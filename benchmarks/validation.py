"""``docs/validation.md`` and its charts, made from ``benchmarks/results`` and ``validation.template.md``.

    python benchmarks/validation.py [--check]

``--check`` writes nothing and ends with 1 when a file is not what would be written.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sections import fidelity, kernels, launches, micro, order, overhead, scaling, stability

if TYPE_CHECKING:
    from collections.abc import Callable

    from sections.markdown import Json, Section

__all__ = ["make"]

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
DOCS = ROOT / "docs"
TEMPLATE = ROOT / "benchmarks" / "validation.template.md"

# By title in the template: name of the results, part of them, what fills the section.
SECTIONS: dict[str, tuple[str, str, Callable[[Json], Section]]] = {
    "Microbenchmarks": ("micro", "", micro.fill),
    "Hardware counters": ("fidelity", "", fidelity.fill),
    "Stability": ("stability", "", stability.fill),
    "Kernel time": ("kernel-times", "", kernels.fill),
    "Launches": ("launches", "", launches.fill),
    "The order of barriers": ("barrier-order", "", order.fill),
    "Overhead": ("overhead", "", overhead.fill),
    "Scaling: host engine": ("scaling", "host", scaling.host),
    "Scaling: GPU engine": ("scaling", "gpu", scaling.gpu),
}


def make(results: Path = RESULTS) -> dict[str, str]:
    """Return the files by their path in ``docs``; a section without results is left out."""
    files: dict[str, str] = {}
    head, *sections = re.split(r"^(?=## )", TEMPLATE.read_text(), flags=re.MULTILINE)
    parts = [head]
    for section in sections:
        name, part, fill = SECTIONS[section.splitlines()[0].removeprefix("## ")]
        path = results / f"{name}.json"
        result = json.loads(path.read_text()) if path.exists() else None
        if result and part:
            result = result.get(part)
        if not result:
            continue
        values, more = fill(result)
        values["machine"] = _machine(result.get("machine", result))
        files |= more
        text = re.sub(r"\{\{(\w+)\}\}", lambda match, values=values: str(values[match[1]]), section)
        parts.append(re.sub(r"\n{3,}", "\n\n", text))
    files["validation.md"] = "".join(parts).rstrip() + "\n"
    return files


def _machine(machine: Json) -> str:
    named = ", ".join(f"{name} {version}" for name, version in machine["versions"].items() if version)
    return (
        f"Measured {machine['date'][:10]} at commit {machine['commit']} on {machine['gpu'] or 'no GPU'}, "
        f"driver {machine['driver']}, {machine['processors']} processors ({machine['cpu']}), with {named}."
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing; 1 when a file is out of date")
    options = parser.parse_args()
    stale = [name for name, text in make().items() if not _is(DOCS / name, text)]
    if options.check:
        if stale:
            print(f"out of date: {', '.join(stale)}; run benchmarks/validation.py", file=sys.stderr)
        return 1 if stale else 0
    for name, text in make().items():
        (DOCS / name).write_text(text)
    return 0


def _is(path: Path, text: str) -> bool:
    return path.exists() and path.read_text() == text


if __name__ == "__main__":
    sys.exit(main())
