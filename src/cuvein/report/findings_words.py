"""How every form of report writes a finding's parts."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from cuvein.patterns import Effect
from cuvein.patterns.wording import percent
from cuvein.report.origins import launched_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cuvein.graph import Totals
    from cuvein.patterns import Finding, Kernel, Place

__all__ = [
    "BARRIERS_NOT_FOLLOWED",
    "action",
    "amounts",
    "copies",
    "data",
    "heading",
    "instruction",
    "launched",
    "lines_missing",
    "location",
    "printable",
    "removal",
    "shape",
    "time",
]

_OBJECTS = 4
# So many reasons are told in full; libraries bring many modules.
_REASONS = 3
_EFFECTS = {"removes": "A fix removes", "moves": "Served elsewhere", "informs": "", "corrects": ""}


def printable(text: str) -> str:
    """Return text that cannot disturb a terminal: names come from programs and may hold anything."""
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


def heading(finding: Finding) -> str:
    """Return the pattern with its variant: ``Redundant read (RAW)``."""
    return f"{finding.title} ({finding.variant})" if finding.variant else finding.title


def copies(finding: Finding) -> list[list[Place]]:
    """Return the places of a finding, those together that do the same in one source line."""
    if finding.effect is Effect.CORRECTS:
        return [[place] for place in finding.places]
    groups: dict[object, list[Place]] = {}
    for position, place in enumerate(finding.places):
        kind = (place.function, place.source, place.space, place.type, place.size)
        groups.setdefault(position if place.source is None else kind, []).append(place)
    return list(groups.values())


def location(place: Place, kernel: Kernel | None = None, more: int = 0) -> str:
    """Return where an instruction is: source line if known, function and PC in any case.

    Below a heading that names the ``kernel`` its name is not repeated, and of a file that is not below the
    working directory only the name is given, which fits a line. ``more`` is how many instructions besides
    this one are meant.
    """
    own = kernel is not None and place.function == kernel.name
    at = f"pc {place.pc:#x}" if own else f"{place.function}+{place.pc:#x}"
    if more:
        at += f" and {more:,} more"
    if place.source is None:
        return at
    file = place.source.file
    if kernel and file.startswith("/"):
        file = file.rsplit("/", 1)[-1]
    return f"{file}:{place.source.line} ({at})"


def instruction(place: Place) -> str:
    """Return what an instruction does: ``4-byte shared read``, ``block barrier``."""
    if place.space == "barrier":
        return f"{place.type} barrier"
    return f"{place.size}-byte {place.space.replace('_', ' ')} {place.type}"


def shape(kernel: Kernel) -> str:
    """Return the launch shape: ``grid 128x64, block 256``."""

    def volume(sizes: tuple[int, int, int]) -> str:
        used = sizes[:3] if sizes[2] > 1 else sizes[:2] if sizes[1] > 1 else sizes[:1]
        return "x".join(str(size) for size in used)

    text = f"grid {volume(kernel.grid)}, block {volume(kernel.block)}"
    return f"{text}, cluster {volume(kernel.cluster)}" if kernel.cluster else text


def removal(finding: Finding) -> str:
    """Return what acting on the finding takes away, with shares of the kernel; empty if nothing countable."""
    parts = []
    for name in ("instructions", "sectors", "wavefronts", "bytes"):
        count, share = getattr(finding.removal, name), getattr(finding.shares, name)
        if count:
            parts.append(f"{count:,} {_singular(name, count)} ({percent(share)})")
    return ", ".join(parts)


def action(finding: Finding) -> str:
    """Return the sentence on what a fix does: ``A fix removes 28 instructions (12 %)``."""
    what = removal(finding)
    return f"{_EFFECTS[finding.effect.word]}: {what} of the kernel." if what else ""


def time(finding: Finding) -> str:
    """Return what Nsight Compute measured; empty if nothing."""
    if finding.time_share is None:
        return ""
    text = f"The kernel takes {percent(finding.time_share)} of the measured time"
    if finding.stall_share is not None:
        text += f"; {percent(finding.stall_share)} of its stalls wait for such accesses"
    return f"{text}."


def launched(finding: Finding) -> list[str]:
    """Return the sentences on where it was launched; none when that was not recorded."""
    return launched_lines(Counter(dict(finding.launched)))


BARRIERS_NOT_FOLLOWED = (
    "whether barriers could go is known where 'cuvein run --barrier-order on' has followed them"
)


def lines_missing(reasons: Sequence[str]) -> list[str]:
    """Return why source lines are missing: the first few reasons, and how many more there are."""
    more = len(reasons) - _REASONS
    if more <= 1:
        return list(reasons)
    return [*reasons[:_REASONS], f"{more} more reasons why lines are missing; JSON and --by line tell them"]


def data(finding: Finding) -> str:
    """Return what the instructions touch, as far as more than an address is known of it; else empty."""
    known = [data_object for data_object, _ in finding.objects if data_object.known]
    if not known:
        return ""
    names = list(dict.fromkeys(printable(data_object.title) for data_object in known))
    more = f"; and {len(names) - _OBJECTS} more" if len(names) > _OBJECTS else ""
    return f"data: {'; '.join(names[:_OBJECTS])}{more}"


def context(finding: Finding) -> str:
    """Return where it was launched and what it touches, as sentences; empty where neither is known."""
    parts = (*launched(finding), data(finding))
    return " ".join(f"{part[0].upper()}{part[1:]}." for part in parts if part)


def amounts(totals: Totals) -> str:
    """Return all four quantities in one line."""
    return (
        f"{totals.instructions:,} memory instructions, {totals.sectors:,} sectors, {totals.wavefronts:,} "
        f"wavefronts, {totals.bytes:,} bytes"
    )


def _singular(name: str, count: int) -> str:
    return name[:-1] if count == 1 else name
