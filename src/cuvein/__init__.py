"""Which instructions of a GPU kernel touch the same data, and across which scope the reuse happens."""

from importlib.metadata import version as _version

__all__ = ["__version__"]

__version__ = _version("cuvein")
