"""The monitor and the host engine end up in one library, where a class is known by its name alone."""

from __future__ import annotations

import re
from pathlib import Path

NATIVE = Path(__file__).parents[2] / "native"
CLASS = re.compile(
    r"^(?:class|struct)\s+(?:alignas\([^)]*\)\s+)?(\w+)(?:\s+final)?\s*(?::[^:;{][^;{]*)?\{", re.MULTILINE
)
APART = re.compile(
    r"^(?:inline )?namespace \w* ?\{$(?!.*^namespace).*?^\}  // namespace.*?$", re.MULTILINE | re.DOTALL
)


def classes(*folders: str) -> dict[str, str]:
    """The classes that headers define in the namespace cuvein itself, and where."""
    found = {}
    for folder in folders:
        for header in sorted((NATIVE / folder).glob("*.h")):
            text = (
                header.read_text().replace("namespace cuvein {\n", "").replace("}  // namespace cuvein\n", "")
            )
            found |= dict.fromkeys(CLASS.findall(APART.sub("", text)), f"{folder}/{header.name}")
    return found


def test_no_class_of_the_monitor_has_the_name_of_another() -> None:
    monitor = classes("monitor")
    others = classes("model", "analyzer", "trace", "profile")
    assert {"Drain", "Output", "LaunchSlots"} <= monitor.keys()
    assert {"Launch", "Allocations", "Engine", "TraceWriter"} <= others.keys()
    both = {name: (monitor[name], others[name]) for name in monitor.keys() & others.keys()}
    # Destructors of one would be taken for those of the other: `inline namespace observed` keeps them apart.
    assert both == {}
