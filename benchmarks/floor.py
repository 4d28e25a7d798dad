"""The floor that cost is measured against: callbacks that return at once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from cuvein.collect import environment, installation

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["variables"]


def variables(folder: Path) -> dict[str, str]:
    """Make the environment in which callbacks return at once, without the launcher.

    Parameters
    ----------
    folder
        Where the monitor's configuration, and what it writes, goes.
    """
    document = {
        "sanitizer": str(installation.sanitizer()),
        "patches": str(installation.patches()),
        "output": str(folder),
        "engine": "host",
        "empty_patches": True,
    }
    file = folder / "configuration.json"
    file.write_text(json.dumps(document))
    made = environment.prepare({}, installation.monitor(), file, 0)
    return {name.decode(): value.decode() for name, value in made.items()}
