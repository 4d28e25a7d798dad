"""Doing something when the program has imported a module, without the program noticing."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    Action = Callable[[ModuleType], None]

__all__ = ["after_import"]


def after_import(actions: dict[str, Action]) -> None:
    """Call each action with its module once that has been imported.

    Parameters
    ----------
    actions
        By the full name of a module. An exception of an action is dropped.
    """
    sys.meta_path.insert(0, _Finder(actions))


class _Finder:
    """Leaves finding to the other finders and slips a loader in between. Gone when nothing is left to do."""

    def __init__(self, actions: dict[str, Action]) -> None:
        self._actions = dict(actions)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        action = self._actions.get(name)
        if action is None:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                    loader: Any = _Loader(spec.loader, lambda module: self._done(name, module))
                    spec.loader = loader
                return spec
        return None

    def _done(self, name: str, module: ModuleType) -> None:
        action = self._actions.pop(name, None)
        if not self._actions:
            with contextlib.suppress(ValueError):
                sys.meta_path.remove(self)
        if action is not None:
            with contextlib.suppress(Exception):
                action(module)


class _Loader:
    """Loads as the real loader does, which the module is given before its code runs."""

    def __init__(self, loader: Any, done: Callable[[ModuleType], None]) -> None:
        self._loader = loader
        self._done = done

    def create_module(self, spec: Any) -> Any:
        create = getattr(self._loader, "create_module", None)
        return create(spec) if create is not None else None

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        if spec is not None:
            spec.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._done(module)
