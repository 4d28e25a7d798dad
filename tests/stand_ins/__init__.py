"""What stands in for the driver and for frameworks in tests that have neither."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from cuvein.collect import installation

__all__ = ["FOLDER", "MODULES", "PRELUDE", "Program", "build_driver"]

FOLDER = Path(__file__).parent
MODULES = FOLDER / "modules"

# The monitor, the stand-in for the driver, and what a launch would be told of.
PRELUDE = """
import ctypes, json, os, sys, threading
monitor = ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"])
driver = ctypes.CDLL(os.environ["STAND_IN"])
assert monitor.InitializeInjection() == 1
monitor.cuvein_describe.restype = ctypes.c_uint64
monitor.cuvein_describe.argtypes = [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_int]
for function, arguments in (
    (driver.stand_in_malloc, [ctypes.c_uint64] * 2),
    (driver.stand_in_free, [ctypes.c_uint64]),
    (driver.stand_in_push, [ctypes.c_char_p]),
    (monitor.cuvein_tensor_created, [ctypes.c_uint64] * 2),
    (monitor.cuvein_tensor_destroyed, [ctypes.c_uint64]),
    (monitor.cuvein_tensor_named, [ctypes.c_uint64] * 2 + [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_uint]),
):
    function.argtypes, function.restype = arguments, None
def describe(again=False):      # what has become known since it was last told
    text = ctypes.create_string_buffer(1 << 20)
    size = monitor.cuvein_describe(text, len(text), again)
    return json.loads(text.raw[:size])
def named(address, size, *shape):
    monitor.cuvein_tensor_named(address, size, b"float32", (ctypes.c_int64 * len(shape))(*shape), len(shape))
created, destroyed = monitor.cuvein_tensor_created, monitor.cuvein_tensor_destroyed
malloc, free = driver.stand_in_malloc, driver.stand_in_free
"""


def build_driver(folder: Path) -> Path:
    """Build ``driver.cpp``; named like a library of PyTorch, since it has its functions."""
    library = folder / "libtorch_stand_in.so"
    (toolkit,) = (path for path in installation.nvidia_folders() if (path / "include" / "nvtx3").exists())
    includes = [f"-I{path}" for path in (toolkit / "include", toolkit / "compute-sanitizer" / "include")]
    command = ["g++", "-std=c++17", "-g", "-O1", "-shared", "-fPIC", *includes, str(FOLDER / "driver.cpp")]
    subprocess.run([*command, "-o", str(library)], check=True)
    return library


class Program:
    """Runs a Python program under the monitor; what it prints last is JSON."""

    def __init__(self, folder: Path, stand_in: Path) -> None:
        self.folder = folder
        self.stand_in = stand_in

    def run(
        self, text: str, *, call_sites: bool = True, python: str = sys.executable, **environment: str
    ) -> Any:
        """Run the program; give what it prints last."""
        printed = self.output(PRELUDE + text, call_sites=call_sites, python=python, **environment)
        return json.loads(printed.splitlines()[-1])

    def output(
        self, text: str, *, call_sites: bool = True, python: str = sys.executable, **environment: str
    ) -> str:
        """Run a program that loads nothing; give what it prints."""
        file = self.folder / "program.py"
        file.write_text(text)
        configuration = {
            "sanitizer": str(self.stand_in),
            "patches": "/absent",
            "output": str(self.folder / "out"),
            "engine": "host",
            "workers": 1,
            "call_sites": call_sites,
        }
        (self.folder / "configuration.json").write_text(json.dumps(configuration))
        done = subprocess.run(
            [python, str(file)],
            env={
                **os.environ,
                "CUVEIN_CONFIG": str(self.folder / "configuration.json"),
                "CUDA_INJECTION64_PATH": str(installation.monitor()),
                "STAND_IN": str(self.stand_in),
                **environment,
            },
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return done.stdout
