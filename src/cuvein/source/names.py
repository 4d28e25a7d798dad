"""Names of functions for people: demangled, and short enough for a table."""

from __future__ import annotations

import ctypes
import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["demangle", "short"]

ANONYMOUS = "(anonymous namespace)"
FOLDED = "<…>"
# An operator's name may be made of brackets, or of a type with spaces (a conversion).
OPERATOR = re.compile(
    r"\boperator(?:\(\)|\[\]|->\*?|<=>|<<=?|>>=?|[<>]=?|[-+*/%^&|~!=,]+|\"\" ?\w+| [\w:<>, *&]+?(?=\())"
)


@lru_cache(maxsize=65536)
def demangle(name: str) -> str:
    """Turn a mangled C++ name into what the programmer wrote.

    Parameters
    ----------
    name
        Mangled by the Itanium rules, as nvcc does. ``$caller$name``, nvcc's name for a device function that
        is not inlined, is taken as ``name``.

    Returns
    -------
    The name with its parameters; unchanged when it is not mangled, or no C++ runtime is here to read it.
    """
    plain = name.rsplit("$", 1)[-1] if name.startswith("$") and not name.endswith("$") else name
    if not plain.startswith("_Z"):
        return plain
    return _demangler()(plain) or plain


def short(name: str, width: int = 60) -> str:
    """Shorten a demangled name for display.

    The return type, the parameters and anonymous namespaces go. While the rest is longer than ``width``,
    template arguments are folded to ``<…>``, innermost first.
    """
    bare = _qualified_name(name).replace(ANONYMOUS + "::", "")
    for depth in (3, 2, 1):
        if len(bare) <= width:
            break
        bare = _fold(bare, depth)
    return bare


@lru_cache(maxsize=1)
def _demangler() -> Callable[[str], str | None]:
    try:
        library = ctypes.CDLL("libstdc++.so.6")
        call, free = library.__cxa_demangle, ctypes.CDLL(None).free
    except (OSError, AttributeError):
        return lambda _: None
    call.restype, free.restype = ctypes.c_void_p, None
    call.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)]
    free.argtypes = [ctypes.c_void_p]

    def run(name: str) -> str | None:
        status = ctypes.c_int()
        pointer = call(name.encode("utf-8", "surrogateescape"), None, None, ctypes.byref(status))
        if not pointer:
            return None
        try:
            return ctypes.string_at(pointer).decode("utf-8", "replace")
        finally:
            free(pointer)

    return run


def _closing(text: str, at: int) -> int:
    """Give the index past the bracket that closes the one at ``at`` (the end of the text when none does)."""
    stack: list[str] = []
    while at < len(text):
        mark = text[at]
        if text.startswith("->", at):
            at += 1
        elif mark in "<([{":
            stack.append(mark)
        elif mark == ">":
            # In parentheses a '>' without its '<' is an operator.
            if stack[-1] == "<":
                stack.pop()
        elif mark in ")]}":
            opening = {")": "(", "]": "[", "}": "{"}[mark]
            while stack and stack.pop() != opening:
                pass
        at += 1
        if not stack:
            return at
    return at


def _qualified_name(name: str) -> str:
    start = at = 0
    while at < len(name):
        if name.startswith(ANONYMOUS, at):
            at += len(ANONYMOUS)
        elif operator := OPERATOR.match(name, at):
            at = operator.end()
        elif name[at] == "(" and not name[:at].endswith(("decltype ", "decltype")):
            # The parameters end the name, unless more of it follows, as for what is local to a function.
            after = _closing(name, at)
            if not name[after:].removeprefix(" const").startswith("::"):
                return name[start:at]
            at = after
        elif name[at] in "<([{":
            at = _closing(name, at)
        elif name[at] == " ":
            at += 1
            if name.startswith(ANONYMOUS, at) or not name[at:].startswith(("[", "(", "<")):
                start = at
        else:
            at += 1
    return name[start:]


def _fold(name: str, depth: int) -> str:
    """Replace template arguments nested ``depth`` deep or deeper (1: the outermost)."""
    result, level, at = "", 0, 0
    while at < len(name):
        if operator := OPERATOR.match(name, at):
            result += operator[0]
            at = operator.end()
            continue
        if name[at] == "<":
            level += 1
            if level == depth:
                at = _closing(name, at)
                result += FOLDED
                level -= 1
                continue
        elif name[at] == ">" and level and not result.endswith("-"):
            level -= 1
        result += name[at]
        at += 1
    return result
