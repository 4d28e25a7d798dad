"""What ``cuvein run`` says after the program has ended."""

from __future__ import annotations

import shlex
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cuvein.collect.errors import Status

if TYPE_CHECKING:
    from cuvein.collect.launch import Request, Result
    from cuvein.collect.outcome import Outcome
    from cuvein.profile.model import KernelSeen

__all__ = ["Told", "of_run"]

_MOST_KERNELS = 10
_MOST_UNMATCHED = 50
_MOST_PROBLEMS = 10


@dataclass
class Told:
    """Lines for the user, those among them that tell of something wrong, and cuvein's own exit status."""

    status: Status = Status.OK
    lines: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def say(self, line: str) -> None:
        """Add a line of plain news."""
        self.lines.append(line)

    def complain(self, line: str, status: Status | None = None) -> None:
        """Add a line about something wrong; the first status that is given stays."""
        self.lines.append(line)
        self.problems.append(line)
        if status is not None and self.status == Status.OK:
            self.status = status


def of_run(request: Request, result: Result) -> Told:
    """Sum up a run: how it ended, what was profiled and where it is, and what went wrong."""
    told = Told()
    outcome = result.outcome
    if result.ending.signal is not None:
        told.say(f"{request.program} was ended by {_signal_name(result.ending.signal)}")
    _problems(told, outcome)
    kernels = outcome.kernels()
    selected = sum(kernel.selected for kernel in kernels)
    if not outcome.processes:
        told.complain(
            f"nothing profiled: {request.program} did not use CUDA "
            "(what starts by sudo, ssh or in a container is not followed)",
            Status.NOTHING_PROFILED,
        )
        return told
    if not outcome.profiles and not selected:
        _nothing(told, request, outcome, kernels)
        return told
    _profiled(told, result, kernels)
    _incomplete(told, outcome)
    return told


def _problems(told: Told, outcome: Outcome) -> None:
    # Without a single kernel seen, what went wrong kept the monitor from working at all.
    worked = outcome.profiles or outcome.kernels()
    for sentence in outcome.problems[:_MOST_PROBLEMS]:
        told.complain(sentence, Status.INCOMPLETE if worked else Status.CANNOT_PROFILE)
    if len(outcome.problems) > _MOST_PROBLEMS:
        told.complain(
            f"and {len(outcome.problems) - _MOST_PROBLEMS} problems more, in the files process.json"
        )
    for sentence in outcome.unreadable:
        told.complain(sentence, Status.INCOMPLETE)


def _nothing(told: Told, request: Request, outcome: Outcome, kernels: list[KernelSeen]) -> None:
    running = [process for process in outcome.processes if process.running]
    if running:
        told.complain(
            f"nothing profiled yet: {_processes(len(running))} of {request.program} still running",
            Status.NOTHING_PROFILED,
        )
    elif outcome.cut_off and not kernels:
        told.complain(
            "nothing profiled: the process was ended before any profile was written", Status.NOTHING_PROFILED
        )
    elif not kernels:
        # With a problem, nobody knows: the monitor may not have been there to see kernels.
        why = "see above" if outcome.problems else f"{request.program} used CUDA but launched no kernel"
        told.complain(f"nothing profiled: {why}", Status.NOTHING_PROFILED)
    else:
        told.complain(
            f"nothing profiled: no launch matched {_conditions(request)}. These kernels were launched:",
            Status.NOTHING_PROFILED,
        )
        for kernel in kernels[:_MOST_UNMATCHED]:
            told.complain(f"  {_times(kernel.launches):>8}  {kernel.name}")
        if len(kernels) > _MOST_UNMATCHED:
            told.complain(f"  and {len(kernels) - _MOST_UNMATCHED} kernels more")


def _profiled(told: Told, result: Result, kernels: list[KernelSeen]) -> None:
    outcome = result.outcome
    matched = [kernel for kernel in kernels if kernel.selected]
    seen = sum(kernel.launches for kernel in kernels)
    selected = sum(kernel.selected for kernel in kernels)
    if result.output is not None:
        processes = f", {len(outcome.processes)} processes" if len(outcome.processes) > 1 else ""
        told.say(f"{_count(outcome.profiles, 'profile')} in {result.output}{processes}")
    for trace in outcome.traces:
        told.say(f"trace in {trace} ({trace.stat().st_size / 1e6:.1f} MB)")
    if kernels:
        told.say(
            f"{_count(seen, 'launch')} of {_count(len(kernels), 'kernel')} seen, "
            f"{selected} of {len(matched)} profiled:"
        )
    for kernel in matched[:_MOST_KERNELS]:
        told.say(f"  {_times(kernel.selected):>8}  {kernel.name}")
    if len(matched) > _MOST_KERNELS:
        told.say(f"  and {_count(len(matched) - _MOST_KERNELS, 'kernel')} more")
    for reason, launches in outcome.left_to_host.items():
        told.say(f"the GPU engine left {_count(launches, 'launch')} to the host engine: {reason}")
    running = sum(process.running for process in outcome.processes)
    if running:
        told.say(f"{_processes(running)} still running; what they profile will be added")
    if result.output is not None:
        told.say(f"read them: cuvein report {shlex.quote(str(result.output))}")
    elif outcome.traces:
        told.say(f"analyse it: cuvein analyze {shlex.quote(str(outcome.traces[0]))}")


def _incomplete(told: Told, outcome: Outcome) -> None:
    incomplete = outcome.incomplete
    for path, sentence in incomplete[:_MOST_PROBLEMS]:
        told.complain(f"incomplete: {path.parent.name}/{path.name}: {sentence}", Status.INCOMPLETE)
    if len(incomplete) > _MOST_PROBLEMS:
        told.complain(f"incomplete: {_count(len(incomplete) - _MOST_PROBLEMS, 'profile')} more")
    for process in outcome.cut_off:
        told.complain(
            f"process {process.summary.process.pid} was cut off; its last launches may be missing",
            Status.INCOMPLETE,
        )


def _conditions(request: Request) -> str:
    selection = request.selection
    words = []
    if selection.kernel_name is not None:
        words += ["--kernel-name", selection.kernel_name]
    if selection.exclude_kernel_name is not None:
        words += ["--exclude-kernel-name", selection.exclude_kernel_name]
    if selection.launch_skip:
        words += ["--launch-skip", str(selection.launch_skip)]
    if not selection.profile_from_start:
        words += ["--profile-from-start", "off"]
    for name in selection.nvtx_include:
        words += ["--nvtx-include", name]
    return shlex.join(words) if words else "the selection"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _times(number: int) -> str:
    return f"{number:,} x"


def _count(number: int, noun: str) -> str:
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun}{'es' if noun.endswith('ch') else 's'}"


def _processes(number: int) -> str:
    return "one process is" if number == 1 else f"{number} processes are"
