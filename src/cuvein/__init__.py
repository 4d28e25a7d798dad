"""Which instructions of a GPU kernel touch the same data, and across which scope the reuse happens."""

__all__ = ["__version__"]


def __getattr__(name: str) -> str:
    # Reading the version of a distribution takes longer than loading all else that `cuvein run` needs.
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415

        return version("cuvein")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
