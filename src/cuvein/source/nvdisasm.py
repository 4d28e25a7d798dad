"""Find NVIDIA's disassembler and run it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from cuvein.source.missing import Missing

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["WIDTH", "Listing", "Nvdisasm"]

WHEEL = "nvidia-cuda-nvdisasm"
# Bytes of an instruction on every architecture from sm_70 on, which is all that nvdisasm 13 knows.
WIDTH = 16

SECTION = re.compile(r"\t\.section\t([^,]+),")
INSTRUCTION = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;")
LABEL = re.compile(r"(\.L_\w+):")

INSTALL = f"install it with: pip install {WHEEL}"


class Listing(msgspec.Struct, frozen=True):
    """A section of code.

    Attributes
    ----------
    instructions
        The text of each instruction, in order and without gaps, every 16 bytes.
    labels
        Offsets into the section of the labels that the texts refer to.
    """

    instructions: list[str]
    labels: dict[str, int]


@dataclass(frozen=True)
class Nvdisasm:
    """The disassembler: where it is, and its version, for instance ``"13.5.37"``."""

    path: Path
    version: str

    @classmethod
    def find(cls) -> Nvdisasm | Missing:
        """Look in the wheel, then on ``PATH``.

        Returns
        -------
        The first one that answers, or why none does.
        """
        last: Missing | None = None
        for candidate in _candidates():
            found = cls.at(candidate)
            if isinstance(found, Nvdisasm):
                return found
            last = last or found
        return last or Missing("nvdisasm is not installed", INSTALL)

    @classmethod
    def at(cls, path: Path) -> Nvdisasm | Missing:
        """Take the nvdisasm at ``path``, after asking its version."""
        if not path.is_file():
            return Missing(f"there is no nvdisasm at {path}", INSTALL)
        output = _run([str(path), "--version"], timeout=30)
        if isinstance(output, Missing):
            return output
        version = re.search(rb"V(\d+(?:\.\d+)+)", output)
        if version is None:
            return Missing(f"{path} does not say which nvdisasm it is", INSTALL)
        return cls(path, version[1].decode())

    def disassemble(
        self, module: Path, symbols: Iterable[int], timeout: float = 120
    ) -> dict[str, Listing] | Missing:
        """Disassemble the sections that hold the given symbols.

        Parameters
        ----------
        module
            A cubin file.
        symbols
            Indices into its symbol table.
        timeout
            Seconds after which nvdisasm is ended.

        Returns
        -------
        The listings by section name, or why nvdisasm gave none.
        """
        wanted = ",".join(map(str, sorted(set(symbols))))
        # Its JSON output would be easier to read, but leaves out the names of variables.
        output = _run([str(self.path), "-c", "-ndf", "-fun", wanted, str(module)], timeout)
        return output if isinstance(output, Missing) else _read(output.decode("utf-8", "replace"))


def _read(text: str) -> dict[str, Listing] | Missing:
    listings: dict[str, Listing] = {}
    current = Listing([], {})
    for line in text.splitlines():
        if section := SECTION.match(line):
            current = listings.setdefault(section[1], Listing([], {}))
        elif instruction := INSTRUCTION.match(line):
            if int(instruction[1], 16) != len(current.instructions) * WIDTH:
                return Missing(f"nvdisasm's listing has a gap before offset 0x{instruction[1]}")
            current.instructions.append(" ".join(instruction[2].split()))
        elif label := LABEL.match(line):
            current.labels[label[1]] = len(current.instructions) * WIDTH
    return listings


def _candidates() -> Iterable[Path]:
    spec = find_spec("nvidia")
    for root in (spec.submodule_search_locations or []) if spec else []:
        # The wheels of CUDA 13 share a folder; those of CUDA 12 have one each.
        for folder in ("cu13", "cuda_nvdisasm"):
            candidate = Path(root) / folder / "bin" / "nvdisasm"
            if candidate.is_file():
                yield candidate
    on_path = shutil.which("nvdisasm")
    if on_path:
        yield Path(on_path)


def _run(command: list[str], timeout: float) -> bytes | Missing:
    name = command[0]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
            check=False,
            # The profiled program's settings are not for this tool.
            env={key: value for key, value in os.environ.items() if not key.startswith("CUDA_INJECTION")},
        )
    except subprocess.TimeoutExpired:
        return Missing(f"nvdisasm did not finish within {timeout:g} seconds")
    except OSError as error:
        return Missing(f"{name} cannot be run ({error.strerror or error})", INSTALL)
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        reason = (
            re.sub(r"^nvdisasm (fatal|error)\s*:\s*", "", said[0]) if said else f"status {done.returncode}"
        )
        return Missing(f"nvdisasm failed: {reason.rstrip('.')}")
    return done.stdout
