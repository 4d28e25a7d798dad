"""Operators of PyTorch and Triton: programs that ``fidelity.py`` and ``overhead.py`` run.

    python benchmarks/operators.py [--size small|usual] [--times N] [--seconds FILE] NAME...

Runs each operator of ``workloads.py`` ``N`` times on made-up values, with the framework's own choice of
kernels. FILE gets the seconds that each run took, all in one line; then each is waited for. Needs PyTorch and
Triton; ends with 2 without them.
"""

from __future__ import annotations

import argparse
import sys
import time

from command_line import demand_known, give_up, natural, new_file

SIZES = {"small": 64, "usual": 2048}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", choices=sorted(SIZES), default="small")
    parser.add_argument("--times", type=natural, default=1, metavar="N")
    parser.add_argument("names", nargs="+", metavar="NAME")
    parser.add_argument("--seconds", type=new_file, metavar="FILE")
    arguments = parser.parse_args()
    try:
        import torch  # noqa: PLC0415

        from workloads import OPERATORS  # noqa: PLC0415
    except ModuleNotFoundError as error:
        give_up(parser, f"{sys.executable} has no {error.name}: PyTorch and Triton are needed")
    demand_known(parser, arguments.names, sorted(OPERATORS))
    if not torch.cuda.is_available():
        give_up(parser, "PyTorch finds no GPU")
    seconds = []
    for name in arguments.names:
        for _ in range(arguments.times):
            start = time.monotonic()
            OPERATORS[name](SIZES[arguments.size])
            if arguments.seconds:
                torch.cuda.synchronize()
            seconds.append(time.monotonic() - start)
    torch.cuda.synchronize()
    if arguments.seconds:
        arguments.seconds.write_text(" ".join(f"{taken:.4f}" for taken in seconds) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
