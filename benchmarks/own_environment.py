"""An environment of its own for cuvein, as ``pipx`` and ``uv tool`` make one.

What is installed beside it may have Python load a lot whenever it starts: beside PyTorch see
``python`` in ``results/launch-ends.json``.
"""

from __future__ import annotations

import atexit
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import cuvein
from machine import session

__all__ = ["make", "use"]


def use() -> None:
    """Have the harness run cuvein from such an environment from now on, until this process ends.

    Raises
    ------
    CalledProcessError
        It cannot be made.
    """
    folder = Path(tempfile.mkdtemp(prefix="cuvein-environment-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    session.CUVEIN = (str(make(folder / "environment")), *session.CUVEIN[1:])


def make(folder: Path) -> Path:
    """Make the environment; cuvein and what it needs are links to where they are installed here.

    Parameters
    ----------
    folder
        Where to; it does not exist yet.

    Returns
    -------
    Path
        Its Python.

    Raises
    ------
    CalledProcessError
        It cannot be made.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    told = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True,
        capture_output=True,
        text=True,
    )
    packages = Path(told.stdout.strip())
    # In a source tree the distribution has a path to the package only.
    found = {"cuvein": Path(cuvein.__path__[0])} | _parts("cuvein", set())
    for name, path in found.items():
        if not (packages / name).exists() and path.exists():
            (packages / name).symlink_to(path)
    return python


def _parts(name: str, seen: set[str]) -> dict[str, Path]:
    """What a distribution and those that it needs have at the top: where it is, by name."""
    seen.add(name)
    try:
        installed = distribution(name)
    except PackageNotFoundError:
        return {}
    parts = {}
    for file in installed.files or ():
        top = file.parts[0]
        if top not in {"..", "__pycache__"} and not top.endswith(".pth"):
            parts[top] = Path(str(installed.locate_file(top))).resolve()
    for requirement in installed.requires or ():
        needed = re.match(r"[\w.-]+", requirement)
        if needed and "extra ==" not in requirement and needed[0] not in seen:
            parts |= _parts(needed[0], seen)
    return parts
