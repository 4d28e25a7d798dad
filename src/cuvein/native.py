"""The native library: traces, the host engine and the check of kernel-selection expressions.

A thin, typed layer over the C ABI (``native/capi/cuvein.h``). What fails raises a `NativeError` whose text is
one sentence that says what is wrong and what to do.
"""

from __future__ import annotations

import contextlib
import ctypes
import enum
import functools
import json
import os
import signal
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

__all__ = [
    "Chunk",
    "ChunkKind",
    "DamagedError",
    "Engine",
    "ForeignError",
    "InvalidError",
    "NativeError",
    "NewerError",
    "StoppedError",
    "SystemRefusedError",
    "TraceReader",
    "TraceWriter",
    "check_regex",
    "counted_profile",
    "library_path",
    "replay",
    "version",
]


class NativeError(Exception):
    """Something the native library could not do; the text is one sentence for the user."""


class DamagedError(NativeError):
    """A trace that breaks off or has a bad chunk; everything before was used."""


class ForeignError(NativeError):
    """Not a cuvein trace."""


class NewerError(NativeError):
    """A trace written by a later version of the format."""


class SystemRefusedError(NativeError):
    """The system refused: no such file, no permission, no space, no memory."""


class InvalidError(NativeError, ValueError):
    """A bad argument, JSON document or record."""


class StoppedError(NativeError):
    """A callback asked to stop."""


_ERRORS: dict[int, type[NativeError]] = {
    1: DamagedError,
    2: ForeignError,
    3: NewerError,
    4: SystemRefusedError,
    5: InvalidError,
    6: StoppedError,
}


class ChunkKind(enum.IntEnum):
    """What a chunk of a trace holds."""

    PROCESS = 1
    MODULE = 2
    LAUNCH_BEGIN = 3
    RECORDS = 4
    LAUNCH_END = 5
    END = 6


class _CChunk(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_int),
        ("data", ctypes.c_void_p),
        ("bytes", ctypes.c_size_t),
        ("offset", ctypes.c_uint64),
        ("stored_bytes", ctypes.c_uint64),
    )


_ProfileCallback = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_char), ctypes.c_size_t
)
_ProgressCallback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64)


def library_path() -> Path:
    """Where the native library of this installation is.

    Raises
    ------
    SystemRefusedError
        When it is not there (a source tree that was not built).
    """
    path = Path(__file__).parent / "_native" / "libcuvein.so"
    if not path.exists():
        raise SystemRefusedError(
            f"the native library {path} is missing; run `make setup` in a source tree or reinstall cuvein"
        )
    return path


_POINTER, _TEXT, _SIZE = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
_STATUS, _NUMBER = ctypes.c_int, ctypes.c_uint

# Result and arguments of each function of native/capi/cuvein.h, without the common prefix.
_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "version": (_TEXT, []),
    "error": (_TEXT, []),
    "check_regex": (_STATUS, [_TEXT]),
    "replay": (_STATUS, [_TEXT, _NUMBER, _ProfileCallback, _ProgressCallback, _POINTER]),
    "engine_new": (_POINTER, [_NUMBER, _TEXT]),
    "engine_delete": (None, [_POINTER]),
    "engine_begin": (_STATUS, [_POINTER, _TEXT]),
    "engine_consume": (_STATUS, [_POINTER, _POINTER, _SIZE]),
    "engine_end": (_STATUS, [_POINTER, ctypes.c_uint32, _TEXT, ctypes.POINTER(_TEXT)]),
    "counted_profile": (_STATUS, [_TEXT, _SIZE, ctypes.POINTER(_TEXT)]),
    "engine_times": (_STATUS, [_POINTER, ctypes.POINTER(_TEXT)]),
    "trace_create": (_STATUS, [_TEXT, _TEXT, ctypes.POINTER(_POINTER)]),
    "trace_module": (_STATUS, [_POINTER, _POINTER, _SIZE]),
    "trace_begin": (_STATUS, [_POINTER, _TEXT]),
    "trace_records": (_STATUS, [_POINTER, _POINTER, _SIZE]),
    "trace_end": (_STATUS, [_POINTER, ctypes.c_uint32, _TEXT]),
    "trace_flush": (_STATUS, [_POINTER]),
    "trace_close": (_STATUS, [_POINTER]),
    "trace_open": (_STATUS, [_TEXT, ctypes.POINTER(_POINTER)]),
    "trace_next": (_STATUS, [_POINTER, ctypes.POINTER(_CChunk)]),
    "trace_release": (None, [_POINTER]),
}


@functools.cache
def _library() -> ctypes.CDLL:
    path = library_path()
    try:
        return ctypes.CDLL(str(path))
    except OSError as problem:
        raise SystemRefusedError(f"the native library cannot be loaded: {problem}") from problem


@functools.cache
def _function(name: str) -> Any:
    function = getattr(_library(), f"cuvein_{name}")
    function.restype, function.argtypes = _SIGNATURES[name]
    return function


def _error(status: int) -> NativeError:
    sentence = _function("error")().decode(errors="replace")
    return _ERRORS.get(status, NativeError)(sentence)


def _check(status: int) -> None:
    if status:
        raise _error(status)


def _text(value: str | bytes) -> bytes:
    encoded = value.encode() if isinstance(value, str) else bytes(value)
    if b"\0" in encoded:
        raise InvalidError("a document or expression must not hold a zero byte")
    return encoded


def _path(path: str | os.PathLike[str]) -> bytes:
    encoded = os.fsencode(path)
    if b"\0" in encoded:
        raise InvalidError("a path must not hold a zero byte")
    return encoded


def _buffer(data: bytes | bytearray | memoryview) -> tuple[Any, int]:
    """Point to the bytes without copying them where they can be written to, and count them."""
    if isinstance(data, bytes):
        return data, len(data)
    view = memoryview(data).cast("B")
    if view.readonly:
        held = view.tobytes()
        return held, len(held)
    return (ctypes.c_char * len(view)).from_buffer(view), len(view)


def version() -> str:
    """Version of the native library."""
    return str(_function("version")().decode())


def check_regex(expression: str) -> None:
    """Check an ECMAScript regular expression for kernel selection.

    Raises
    ------
    InvalidError
        When it is not one, with the reason.
    """
    _check(_function("check_regex")(_text(expression)))


def counted_profile(counts: bytes) -> bytes:
    """Make the profile (LaunchProfile document, JSON) of what the GPU engine has counted of a launch.

    Parameters
    ----------
    counts
        As the monitor keeps it in its journal.

    Raises
    ------
    InvalidError
        When the bytes make no sense.
    """
    result = ctypes.c_char_p()
    _check(_function("counted_profile")(counts, len(counts), ctypes.byref(result)))
    return result.value or b""


def replay(
    path: str | os.PathLike[str],
    on_profile: Callable[[bytes], None],
    *,
    workers: int = 0,
    on_progress: Callable[[int, int], None] | None = None,
) -> None:
    """Replay a trace through the host engine.

    Parameters
    ----------
    path
        The trace file.
    on_profile
        Called with the JSON of each launch profile as soon as the launch is done.
    workers
        Threads that analyse; 0 means one for each processor. The profiles do not depend on it.
    on_progress
        Called now and then with the bytes consumed and the size of the trace.

    Raises
    ------
    DamagedError
        When the trace breaks off; every launch begun before was delivered, cut-off ones marked incomplete.
    NativeError
        When the trace cannot be read at all. What a callback raises ends the replay and is raised again.
    """
    raised: list[BaseException] = []

    def profile(_user: int | None, data: Any, length: int) -> int:
        try:
            on_profile(ctypes.string_at(data, length))
        except BaseException as problem:  # must not unwind through C; raised again below
            raised.append(problem)
            return 1
        return len(interrupts)

    def progress(_user: int | None, done: int, total: int) -> int:
        try:
            if on_progress:
                on_progress(done, total)
        except BaseException as problem:
            raised.append(problem)
            return 1
        return len(interrupts)

    with _deferred_interrupts() as interrupts:
        status = _function("replay")(
            _path(path), workers, _ProfileCallback(profile), _ProgressCallback(progress), None
        )
    if raised:
        raise raised[0]
    _check(status)


@contextlib.contextmanager
def _deferred_interrupts() -> Iterator[list[int]]:
    """Note what Ctrl-C sends, and act on it at the end.

    A callback from C may be interrupted before its first line, where nothing can catch what is raised.
    """
    noted: list[int] = []
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT) if main else None
    if not callable(before):
        yield noted
        return
    signal.signal(signal.SIGINT, lambda number, _: noted.append(number))
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, before)
    if noted:
        before(signal.SIGINT, None)


class _Handle:
    """A native object with an end."""

    _pointer: ctypes.c_void_p | None = None

    def close(self) -> None:
        """Release the object; a second call does nothing."""
        raise NotImplementedError

    def _alive(self) -> ctypes.c_void_p:
        if self._pointer is None:
            raise InvalidError(f"this {type(self).__name__} is closed")
        return self._pointer

    def __enter__(self):  # type: ignore[no-untyped-def]  # typing.Self needs Python 3.11
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if self._pointer is not None:
            self.close()


class Engine(_Handle):
    """The host engine, fed by hand.

    Parameters
    ----------
    process
        The Process document (JSON) that goes into each profile.
    workers
        Threads that analyse; 0 means one for each processor.
    """

    def __init__(self, process: str | bytes, *, workers: int = 0) -> None:
        self._pointer = _function("engine_new")(workers, _text(process))
        if not self._pointer:
            raise _error(5)

    def begin(self, launch: str | bytes) -> None:
        """Open a launch (Launch document, JSON)."""
        _check(_function("engine_begin")(self._alive(), _text(launch)))

    def consume(self, records: bytes | bytearray | memoryview) -> None:
        """Analyse whole records of open launches, in stream order."""
        pointer, size = _buffer(records)
        _check(_function("engine_consume")(self._alive(), pointer, size))

    def end(self, launch: int, incomplete: str | None = None) -> bytes:
        """Close a launch and return its profile (LaunchProfile document, JSON)."""
        result = ctypes.c_char_p()
        reason = None if incomplete is None else _text(incomplete)
        _check(_function("engine_end")(self._alive(), launch, reason, ctypes.byref(result)))
        return result.value or b""

    def times(self) -> dict[str, Any]:
        """Return what the engine has spent its time on so far, in seconds.

        ``caller`` is the thread that calls it: ``checking`` (and copying) records, ``analysing`` what is too
        little to be handed over, ``waiting`` for the workers, ``ending`` launches. ``workers`` has one entry
        each: ``decode``, ``by_block``, ``by_address`` (docs/engine.md), ``cleaning`` shadow memory,
        ``checking`` records for the caller, ``waiting`` for other workers, and ``starved`` of records.
        """
        result = ctypes.c_char_p()
        _check(_function("engine_times")(self._alive(), ctypes.byref(result)))
        times: dict[str, Any] = json.loads(result.value or b"")
        return times

    def close(self) -> None:
        """Release the engine; a second call does nothing."""
        pointer, self._pointer = self._pointer, None
        if pointer is not None:
            _function("engine_delete")(pointer)


class TraceWriter(_Handle):
    """Writes a trace file; see ``docs/trace-format.md``.

    Parameters
    ----------
    path
        The file; what was there is overwritten.
    process
        The Process document (JSON).
    """

    def __init__(self, path: str | os.PathLike[str], process: str | bytes) -> None:
        pointer = ctypes.c_void_p()
        _check(_function("trace_create")(_path(path), _text(process), ctypes.byref(pointer)))
        self._pointer = pointer

    def module(self, cubin: bytes) -> None:
        """Keep a module; the same bytes are kept once."""
        _check(_function("trace_module")(self._alive(), bytes(cubin), len(cubin)))

    def begin(self, launch: str | bytes) -> None:
        """Open a launch (Launch document, JSON)."""
        _check(_function("trace_begin")(self._alive(), _text(launch)))

    def records(self, records: bytes | bytearray | memoryview) -> None:
        """Write whole records of open launches; none is taken when one is malformed."""
        pointer, size = _buffer(records)
        _check(_function("trace_records")(self._alive(), pointer, size))

    def end(self, launch: int, incomplete: str | None = None) -> None:
        """Close a launch; ``incomplete`` says what is missing, if anything."""
        reason = None if incomplete is None else _text(incomplete)
        _check(_function("trace_end")(self._alive(), launch, reason))

    def flush(self) -> None:
        """Close the chunk under way, so that others can read everything written so far."""
        _check(_function("trace_flush")(self._alive()))

    def close(self) -> None:
        """Write the end mark and close the file; raises when not everything reached the disk."""
        pointer, self._pointer = self._pointer, None
        if pointer is not None:
            _check(_function("trace_close")(pointer))

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except NativeError:
            # The first problem is the one to hear of.
            if kind is None:
                raise

    def __del__(self) -> None:
        with contextlib.suppress(NativeError):
            self.close()


@dataclass(frozen=True)
class Chunk:
    """One chunk of a trace.

    Attributes
    ----------
    kind
        What it holds.
    data
        Its content, decoded: JSON, a cubin, or records of ``native/model/record.h``.
    offset
        Where it begins in the file.
    stored_bytes
        What it takes there, header included.
    """

    kind: ChunkKind
    data: bytes
    offset: int
    stored_bytes: int


class TraceReader(_Handle):
    """Reads a trace chunk by chunk.

    Raises
    ------
    ForeignError, NewerError, DamagedError, SystemRefusedError
        When the file is no trace of this version or cannot be opened.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        pointer = ctypes.c_void_p()
        _check(_function("trace_open")(_path(path), ctypes.byref(pointer)))
        self._pointer = pointer

    def __iter__(self) -> Iterator[Chunk]:
        """Each chunk up to and with the end mark; raises where the trace breaks off."""
        chunk = _CChunk()
        while True:
            _check(_function("trace_next")(self._alive(), ctypes.byref(chunk)))
            kind = ChunkKind(chunk.kind)
            data = ctypes.string_at(chunk.data, chunk.bytes) if chunk.bytes else b""
            yield Chunk(kind, data, chunk.offset, chunk.stored_bytes)
            if kind is ChunkKind.END:
                return

    def close(self) -> None:
        """Release the file; a second call does nothing."""
        pointer, self._pointer = self._pointer, None
        if pointer is not None:
            _function("trace_release")(pointer)
