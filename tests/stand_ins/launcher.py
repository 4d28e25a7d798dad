"""The command line with a stand-in driver, which loads the injected library when CUDA is initialised.

What stands in for the monitor writes what each test asks for, so everything but the GPU is real: processes,
signals, streams, exit statuses, files.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["PROGRAM_WITH_CUDA", "Cuvein", "build_stand_ins", "started", "with_stand_ins"]

PROGRAM_WITH_CUDA = "import ctypes; ctypes.CDLL('libcuda.so.1').cuInit(0)\n"

DRIVER = r"""
#include <dlfcn.h>
#include <stdlib.h>
int cuDriverGetVersion(int* version) {
  const char* wanted = getenv("DRIVER_VERSION");
  *version = wanted ? atoi(wanted) : 13000;
  return 0;
}
int cuInit(unsigned flags) {
  const char* path = getenv("CUDA_INJECTION64_PATH");
  void* library = path ? dlopen(path, RTLD_NOW) : 0;
  int (*start)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : 0;
  return start && !start();
}
"""

MONITOR = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int InitializeInjection(void) {
  char command[4096];
  snprintf(command, sizeof command, "'%s' '%s' %d %d", PYTHON, SCRIPT, getpid(),
           atoi(getenv("CUVEIN_ROOT")) == getppid());
  return system(command) == 0;
}
"""

# Reads the configuration as the monitor does and leaves what the test asked for in SCENARIO.
SCRIPT = r"""
import json, os, pathlib, sys
configuration = json.loads(pathlib.Path(os.environ["CUVEIN_CONFIG"]).read_text())
scenario = json.loads(os.environ["SCENARIO"])
pid, root = int(sys.argv[1]), sys.argv[2] == "1"
folder = pathlib.Path(configuration["output"]) / f"process-{pid}"
folder.mkdir()
trace = configuration["trace"]
if trace:
    trace = trace if root else f"{trace}.{pid}"
    pathlib.Path(trace).write_bytes(b"trace")
for number, incomplete in enumerate(scenario.get("profiles", []), 1):
    (folder / f"launch-{number:06}.json").write_text(json.dumps({"incomplete": incomplete}))
(folder / "process.json").write_text(json.dumps({
    "format": "cuvein process", "version": 1,
    "process": {"id": str(pid), "pid": pid, "executable": "x", "arguments": [],
                "versions": {"cuvein": "0"}},
    "finished": scenario.get("finished", True),
    "kernels_seen": [
        {"name": n, "mangled": n, "launches": l, "selected": s} for n, l, s in scenario.get("kernels", [])
    ],
    "profiles": len(scenario.get("profiles", [])), "problems": scenario.get("problems", []), "trace": trace,
    **{key: scenario[key] for key in ("incomplete", "host_engine") if key in scenario},
}))
pathlib.Path(os.environ["SEEN"]).write_text(json.dumps(configuration)) if "SEEN" in os.environ else None
"""


@dataclass
class Cuvein:
    """Runs the command line with the stand-ins in place."""

    folder: Path
    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)

    def arguments(self, *words: str | bytes) -> list[str | bytes]:
        return [*self.command, *words]

    def run(
        self,
        *words: str | bytes,
        scenario: dict[str, object] | None = None,
        env: Mapping[str, str] | None = None,
        **options: Any,
    ) -> subprocess.CompletedProcess[bytes]:
        done: subprocess.CompletedProcess[bytes] = subprocess.run(
            self.arguments(*words),
            cwd=self.folder,
            env={**self.environment, "SCENARIO": json.dumps(scenario or {}), **(env or {})},
            capture_output=True,
            timeout=60,
            check=False,
            **options,
        )
        return done

    def program(self, text: str, name: str = "program.py") -> list[str]:
        path = self.folder / name
        path.write_text(text)
        return [sys.executable, str(path)]


def build_stand_ins(folder: Path) -> Path:
    (folder / "script.py").write_text(SCRIPT)
    quoted = {"PYTHON": sys.executable, "SCRIPT": str(folder / "script.py")}
    macros = [f'-D{name}="{value}"' for name, value in quoted.items()]
    for name, text in (("libcuda.so.1", DRIVER), ("monitor.so", MONITOR)):
        source = folder / f"{name}.c"
        source.write_text(text)
        subprocess.run(
            ["g++", "-x", "c", "-shared", "-fPIC", *macros, str(source), "-o", str(folder / name), "-ldl"],
            check=True,
        )
    return folder


def with_stand_ins(stand_ins: Path, folder: Path) -> Cuvein:
    code = (
        "import pathlib, sys; from cuvein.collect import installation;"
        f"installation.monitor = lambda: pathlib.Path({str(stand_ins / 'monitor.so')!r});"
        "installation.sanitizer = installation.patches = lambda: pathlib.Path('/absent');"
        "from cuvein.cli import main; sys.argv[0] = 'cuvein'; main()"
    )
    environment = {name: value for name, value in os.environ.items() if "INJECTION" not in name}
    environment["LD_LIBRARY_PATH"] = str(stand_ins)
    environment.pop("LD_PRELOAD", None)
    return Cuvein(folder, [sys.executable, "-c", code], environment)


def started(folder: Path, name: str = "ready", seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not (folder / name).exists():
        assert time.monotonic() < end, "the program did not start"
        time.sleep(0.02)
