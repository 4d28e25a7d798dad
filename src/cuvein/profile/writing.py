"""Writing launch profiles: a reader sees the whole file or none of it, also when the writer is killed."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from cuvein.profile.errors import ProfileWriteError, reason
from cuvein.profile.model import FORMAT, PROCESS_FORMAT

if TYPE_CHECKING:
    from cuvein.profile.model import LaunchProfile, ProcessSummary

__all__ = ["encode", "replace_file", "replace_other", "write", "write_process"]

_OURS = (FORMAT, PROCESS_FORMAT)


class _Head(msgspec.Struct):
    format: object = None


def encode(document: LaunchProfile | ProcessSummary) -> bytes:
    """Make the JSON document, UTF-8, one line with a newline at its end."""
    return msgspec.json.encode(document) + b"\n"


def write(profile: LaunchProfile, path: Path | str) -> None:
    """Write a launch profile, replacing what was there.

    Raises
    ------
    ProfileWriteError
        When the folder does not exist or cannot be written, or the disk is full. What was at ``path`` before
        is then unchanged.
    """
    replace_file(encode(profile), Path(path))


def write_process(summary: ProcessSummary, path: Path | str) -> None:
    """Write the summary of a process; as :func:`write`."""
    replace_file(encode(summary), Path(path))


def replace_file(data: bytes, path: Path) -> None:
    """Write any file so that a reader sees the whole of it or what was there before; errors as in `write`.

    Devices and pipes are written to, and links are followed: neither is replaced. That goes for
    ``/dev/stdout`` too, whatever it leads to.
    """
    temporary: str | None = None
    try:
        path = Path(os.path.realpath(path)) if path.is_symlink() and not _is_descriptor(path) else path
        if _is_descriptor(path) or (path.exists() and not path.is_file()):
            # Appending, so that what a shell's >> or the program itself put there stays.
            with path.open("ab") as stream:
                stream.write(data)
            return
        # In the same folder, since a rename is atomic within one file system only.
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            # Renaming first and losing power would leave an empty file under the final name.
            os.fsync(file.fileno())
            os.fchmod(file.fileno(), 0o666 & ~_umask())
        os.replace(temporary, path)  # noqa: PTH105, pathlib's rename differs between systems
        temporary = None
    except OSError as error:
        raise ProfileWriteError(
            f"{path} cannot be written: {reason(error)}; choose another place or make room."
        ) from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()


def replace_other(data: bytes, path: Path) -> None:
    """Write a file made of profiles as `replace_file` does, but never over a profile: one word off, it goes.

    Raises
    ------
    ProfileWriteError
        Also when the file holds a launch profile, or what a run says of a process.
    """
    with contextlib.suppress(OSError, ValueError, RecursionError):
        if path.is_file() and msgspec.json.decode(path.read_bytes(), type=_Head).format in _OURS:
            raise ProfileWriteError(
                f"{path} is part of the profiles and was not replaced; choose another file."
            )
    replace_file(data, path)


def _is_descriptor(path: Path) -> bool:
    """Tell whether a path names an open file of this process, as ``/dev/stdout`` and ``/dev/fd/3`` do."""
    if path.parent in (Path("/dev"), Path("/dev/fd"), Path("/proc/self/fd")):
        return path.is_symlink()
    return False


def _umask() -> int:
    """Return the process's file mode mask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
