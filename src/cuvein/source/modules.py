"""Find recorded GPU modules by the SHA-256 of their bytes."""

from __future__ import annotations

import hashlib
import re
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from cuvein.source.cubin import Cubin
from cuvein.source.missing import Missing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["ModuleSource", "ModuleStore"]

SHA256 = re.compile(r"[0-9a-f]{64}")


class ModuleSource(Protocol):
    """Anything else that keeps modules, for instance a trace."""

    def module(self, sha256: str) -> bytes | Missing | None:
        """Give the bytes of a module, ``None`` when it is not here, or why it could not be looked for."""


class ModuleStore:
    """The modules of a profile folder and of other sources.

    Parameters
    ----------
    folders
        Folders that hold ``modules/SHA256.cubin``, at any depth, or are themselves a folder of cubins. For a
        launch profile, give its own folder.
    sources
        Asked after the folders, in order.
    """

    def __init__(self, folders: Iterable[Path] = (), sources: Iterable[ModuleSource] = ()) -> None:
        self._folders = [Path(folder) for folder in folders]
        self._sources = list(sources)
        self._bytes: dict[str, bytes | Missing] = {}
        self._cubins: dict[str, Cubin | Missing] = {}

    def data(self, sha256: str | None) -> bytes | Missing:
        """Give a module's bytes.

        Parameters
        ----------
        sha256
            Lower-case hex; ``None``, as in a profile without a recorded module, is missing.

        Returns
        -------
        Bytes with exactly this hash, or why there are none.
        """
        if sha256 is None:
            return Missing("the profile does not say which module the kernel is in")
        if not SHA256.fullmatch(sha256):
            return Missing(f"'{sha256}' is not the SHA-256 of a module")
        if sha256 not in self._bytes:
            self._bytes[sha256] = self._load(sha256)
        return self._bytes[sha256]

    def cubin(self, sha256: str | None) -> Cubin | Missing:
        """Give a module, read."""
        data = self.data(sha256)
        if isinstance(data, Missing) or sha256 is None:
            return data if isinstance(data, Missing) else Missing("no module")
        if sha256 not in self._cubins:
            self._cubins[sha256] = Cubin.of(data)
        return self._cubins[sha256]

    @contextmanager
    def file(self, sha256: str) -> Iterator[Path | Missing]:
        """Lend a file with the module, for tools that read files."""
        data = self.data(sha256)
        if isinstance(data, Missing):
            yield data
            return
        try:
            folder = tempfile.TemporaryDirectory(prefix="cuvein-")
        except OSError as error:
            yield Missing(f"the module cannot be handed to nvdisasm: no temporary file ({error.strerror})")
            return
        with folder as name:
            path = Path(name) / "module.cubin"
            try:
                path.write_bytes(data)
            except OSError as error:
                yield Missing(f"the module cannot be handed to nvdisasm ({error.strerror})")
                return
            yield path

    def _load(self, sha256: str) -> bytes | Missing:
        problem: Missing | None = None
        try:
            paths = list(self._paths(sha256))
        except OSError as error:
            paths = []
            problem = Missing(f"the modules cannot be looked for: {error.filename}: {error.strerror}")
        for path in paths:
            try:
                data = path.read_bytes()
            except OSError as error:
                problem = problem or Missing(f"{path} cannot be read ({error.strerror})")
                continue
            if hashlib.sha256(data).hexdigest() == sha256:
                return data
            problem = problem or Missing(
                f"{path} is damaged: its content does not fit its name", "record it again"
            )
        for source in self._sources:
            held = source.module(sha256)
            if isinstance(held, Missing):
                problem = problem or held
            elif held is not None:
                return held
        return problem or Missing(
            f"the module {sha256[:12]} is not beside the profile", "keep the modules folder with the profiles"
        )

    def _paths(self, sha256: str) -> Iterator[Path]:
        name = f"{sha256}.cubin"
        for folder in self._folders:
            candidates = [folder / "modules" / name, folder / name]
            if folder.is_dir():
                candidates += sorted(folder.rglob(f"modules/{name}"))
            yield from (path for path in candidates if path.is_file())
