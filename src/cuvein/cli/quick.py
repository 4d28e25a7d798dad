"""The command line of ``cuvein run`` without the library that has the other commands and the help.

Loading that takes longer than many a program runs. Whatever is not plain here, mistakes included, is left to
:mod:`cuvein.cli.run`, which has the same options and the words for everything.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuvein.cli.running import LARGEST, LARGEST_RING, LARGEST_SHADOW, Engine, Options, Source, Switch
from cuvein.collect.configuration import MOST_WORKERS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["FLAGS", "LISTS", "VALUES", "parse"]


def _number(least: int, most: int) -> Callable[[str], int]:
    def convert(text: str) -> int:
        if not (text.isascii() and text.isdigit()):
            raise ValueError(text)
        number = int(text)
        if not least <= number <= most:
            raise ValueError(text)
        return number

    return convert


FLAGS = {
    "--no-profile": "no_profile",
    "--merge-launches": "merge_launches",
    "--force": "force",
    "-f": "force",
    "--call-sites": "call_sites",
    "--quiet": "quiet",
    "-q": "quiet",
}
VALUES: dict[str, tuple[str, Callable[[str], object]]] = {
    "--kernel-name": ("kernel_name", str),
    "--exclude-kernel-name": ("exclude_kernel_name", str),
    "--launch-skip": ("launch_skip", _number(0, LARGEST)),
    "--launch-count": ("launch_count", _number(1, LARGEST)),
    "--profile-from-start": ("profile_from_start", Switch),
    "--nvtx-include": ("nvtx_include", str),
    "--output": ("output", Path),
    "-o": ("output", Path),
    "--trace": ("trace", Path),
    "--source": ("source", Source),
    "--source-root": ("source_roots", Path),
    "--engine": ("engine", Engine),
    "--barrier-order": ("barrier_order", Switch),
    "--workers": ("workers", _number(0, MOST_WORKERS)),
    "--ring-size": ("ring_size", _number(0, LARGEST_RING)),
    "--shadow-size": ("shadow_size", _number(0, LARGEST_SHADOW)),
}
LISTS = ("nvtx_include", "source_roots")


def parse(words: Sequence[str]) -> Options | None:
    """Read the words after ``run``; ``None``: they are not plain."""
    values: dict[str, Any] = {}  # by field of Options: what its converter made
    rest = iter(range(len(words)))
    for at in rest:
        word = words[at]
        if word == "--" or not word.startswith("-"):
            command = list(words[at + 1 :] if word == "--" else words[at:])
            return Options(command=command, **values) if command else None
        if word in FLAGS:
            values[FLAGS[word]] = True
            continue
        name, equals, text = word.partition("=") if word.startswith("--") else (word, "", "")
        if name not in VALUES:
            return None
        if not equals:
            following = next(rest, None)
            if following is None:
                return None
            text = words[following]
        field, convert = VALUES[name]
        try:
            value = convert(text)
        except ValueError:
            return None
        values[field] = [*values.get(field, []), value] if field in LISTS else value
    return None
