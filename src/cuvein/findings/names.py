"""Kernel names, compared ever more loosely.

Tools and builds write the same kernel differently: with or without return type, parameters and template
arguments, with anonymous namespaces, with hashes and numbers that compilers add.
"""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["FORMS", "bare", "plain", "without_noise", "without_parameters"]

# The name of an operator may be made of brackets, which are not its parameters or template arguments.
_OPERATOR = re.compile(r"\boperator\s*(\(\)|\[\]|->\*?|<=>|<<=?|>>=?|[<>]=?|[-+*/%^&|~!=,]+)")
_ANONYMOUS = re.compile(
    r"\(anonymous namespace\)::|<unnamed>::|\(anonymous\)::|_GLOBAL__N_\w*::|_INTERNAL_\w+?::"
)
_STATIC = re.compile(r"__nv_static_\d+__[0-9a-f]+_(?:\d+_)?\w+?_cu_[0-9a-f]+_(?:\d+_?)?")
_LAMBDA = re.compile(r"\{lambda\([^{}]*\)#\d+\}|'lambda\d*'")
_RETURN_TYPE = re.compile(r"^(?:static |inline )*void\s+")
_NUMBER = re.compile(r"[._$]?\d+")


def plain(name: str) -> str:
    """Return the name without the return type of a template kernel and without spaces."""
    return re.sub(r"\s+", "", _RETURN_TYPE.sub("", name.strip()))


@lru_cache(maxsize=4096)
def without_parameters(name: str) -> str:
    """Return the name without its parameter list and anonymous namespaces; template arguments stay."""
    shown, operators = _hide_operators(_ANONYMOUS.sub("", _LAMBDA.sub("lambda", name)))
    shown = plain(shown)
    depth = 0
    for position, character in enumerate(shown):
        if character in "<[{":
            depth += 1
        elif character in ">]}":
            depth -= 1
        elif character == "(" and depth == 0:
            shown = shown[:position]
            break
    return _show_operators(shown, operators)


@lru_cache(maxsize=4096)
def bare(name: str) -> str:
    """Return the qualified name alone, without template arguments, parameters and marks of the file."""
    shown, operators = _hide_operators(without_parameters(name))
    kept, depth = [], 0
    for character in shown:
        if character == "<":
            depth += 1
        elif character == ">":
            depth = max(0, depth - 1)
        elif depth == 0:
            kept.append(character)
    return _STATIC.sub("", _show_operators("".join(kept), operators))


def without_noise(name: str) -> str:
    """Return the bare name without numbers, which code generators count up from build to build."""
    return _NUMBER.sub("", bare(name))


FORMS = (plain, without_parameters, bare, without_noise)
"""The ways to write a name, strictest first."""


def _hide_operators(name: str) -> tuple[str, list[str]]:
    operators: list[str] = []

    def hide(match: re.Match[str]) -> str:
        operators.append(re.sub(r"\s+", "", match[0]))
        return f"\0{len(operators) - 1}\1"

    return _OPERATOR.sub(hide, name), operators


def _show_operators(name: str, operators: list[str]) -> str:
    return re.sub("\0(\\d+)\1", lambda match: operators[int(match[1])], name)
