"""A package imports only from those that data reaches before it (CONTRIBUTING.md)."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import cuvein

ROOT = Path(cuvein.__file__).parent
SERVICES = {"vocabulary", "native", "profile", "trace", "source"}
ALLOWED = {
    "vocabulary": set(),
    "native": {"vocabulary"},
    "profile": {"vocabulary", "native"},
    "trace": {"vocabulary", "native", "profile"},
    "source": {"vocabulary", "native", "profile", "trace"},
    "collect": SERVICES,
    "inprocess": set(),
    "graph": SERVICES,
    "patterns": SERVICES | {"graph"},
    "findings": SERVICES | {"graph", "patterns"},
    "report": SERVICES | {"graph", "patterns", "findings"},
    "cli": SERVICES | {"collect", "graph", "patterns", "findings", "report"},
}


def imported(file: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "cuvein":
            found |= {alias.name for alias in node.names if alias.name in ALLOWED}
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("cuvein."):
            found.add(node.module.split(".")[1])
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("cuvein.")}
    return found


def test_every_package_has_its_place() -> None:
    names = {path.stem for path in ROOT.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert names - {"__init__", "__main__"} == set(ALLOWED)


@pytest.mark.parametrize("package", ALLOWED)
def test_imports_follow_the_data(package: str) -> None:
    files = [ROOT / f"{package}.py"] if (ROOT / f"{package}.py").exists() else (ROOT / package).rglob("*.py")
    for file in files:
        assert imported(file) - {package} <= ALLOWED[package], file
