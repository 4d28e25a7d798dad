"""A launch of the kernel that some of the recorded modules hold, with numbers that were made up."""

from __future__ import annotations

import hashlib

from msgspec.structs import replace

from cuvein.profile.model import Edge, Function, Launch, LaunchProfile
from golden.modules.recorded import module
from reference.sample import PROFILE

__all__ = ["launch_of", "profile_of"]

KERNEL, LIBRARY = "_Z6linkedPfPKf", "_Z7libraryPKfi"


def launch_of(name: str) -> Launch:
    """The kernel of the recorded module, and the function it calls behind it, 512 bytes of code each."""
    kernel = replace(
        PROFILE.launch.kernel,
        name="linked(float*, float const*)",
        mangled=KERNEL,
        module=hashlib.sha256(module(name)).hexdigest(),
    )
    functions = [
        Function(name=kernel.name, mangled=KERNEL, offset=0, size=512),
        Function(name="library(float const*, int)", mangled=LIBRARY, offset=512, size=512),
    ]
    return replace(PROFILE.launch, kernel=kernel, functions=functions)


def profile_of(name: str) -> LaunchProfile:
    """Two loads of the kernel's own line and one of a function it calls, 512 bytes each."""
    load = PROFILE.nodes[0]
    return replace(
        PROFILE,
        launch=launch_of(name),
        nodes=[
            replace(load, id=0, pc=0xC0, function=0),
            replace(load, id=1, pc=0xD0, function=0),
            replace(load, id=2, pc=0x60, function=1),
        ],
        edges=[
            Edge(node=0, origin=None, label="cold", bytes=512, count=128),
            Edge(node=1, origin=0, label="block", bytes=512, count=128),
            Edge(node=2, origin=0, label="grid", bytes=512, count=128),
        ],
    )
