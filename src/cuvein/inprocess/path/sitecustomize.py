"""Python runs this before the program, because cuvein put its folder first on ``PYTHONPATH``.

It takes the folder away again, so that the program and its children see the path they would see without,
starts what cuvein needs in the program, and gives way to the ``sitecustomize`` of the installation, if it has
one.
"""

import contextlib
import sys


def _begin() -> None:
    import importlib.util  # noqa: PLC0415  (a program's globals are not this file's to fill)
    import os  # noqa: PLC0415

    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
    sys.path[:] = [entry for entry in sys.path if entry != here]
    sys.path_importer_cache.pop(here, None)
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if here in entries:
        entries.remove(here)
        if entries:
            os.environ["PYTHONPATH"] = os.pathsep.join(entries)
        else:
            del os.environ["PYTHONPATH"]
    if "CUVEIN_CONFIG" not in os.environ:
        return
    package = os.path.dirname(here)  # noqa: PTH120
    spec = importlib.util.spec_from_file_location(
        "_cuvein_inprocess",
        os.path.join(package, "__init__.py"),  # noqa: PTH118
        submodule_search_locations=[package],
    )
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    module.start()


# Should this fail, the program runs as if nothing had been tried.
with contextlib.suppress(Exception):
    _begin()

# Whether this finds one or not, the interpreter sees the outcome as its own.
del sys.modules["sitecustomize"]
import sitecustomize  # type: ignore[import-not-found]  # noqa: E402, F401
