"""A small profile that holds every invariant: a block writes 128 floats to shared memory and reads them."""

from __future__ import annotations

from typing import Literal

from cuvein.profile.model import (
    FORMAT,
    PROCESS_FORMAT,
    VERSION,
    Allocation,
    AllocationTraffic,
    Coverage,
    Device,
    Edge,
    Function,
    Kernel,
    KernelSeen,
    Launch,
    LaunchProfile,
    Node,
    NotAnalysed,
    Process,
    ProcessSummary,
    Versions,
)

PROCESS = Process(
    id="host-1-2",
    pid=17,
    executable="/usr/bin/app",
    arguments=["app", "two words", "$HOME"],
    versions=Versions(cuvein="0.1.0", sanitizer="13.5.25", driver="13.0"),
)

LAUNCH = Launch(
    sequence=1,
    kernel=Kernel(name="stage(float const*)", mangled="_Z5stagePKf", module="ab" * 32),
    grid=(1, 1, 1),
    block=(128, 1, 1),
    cluster=None,
    shared_bytes=(512, 0),
    device=Device(ordinal=0, name="NVIDIA H200", compute_capability=(9, 0), multiprocessors=132),
    context=1,
    stream=7,
    functions=[Function(name="stage(float const*)", mangled="_Z5stagePKf", offset=0, size=512)],
    allocations=[Allocation(address=0x7F0000000000, size=512, kind="device")],
)

_SHARED: list[tuple[int, int, Literal["write", "read"]]] = [(1, 0x50, "write"), (2, 0x70, "read")]

PROFILE = LaunchProfile(
    format=FORMAT,
    version=VERSION,
    id="host-1-2/1",
    engine="host",
    incomplete=None,
    process=PROCESS,
    launch=LAUNCH,
    coverage=Coverage(
        accesses={"global": 4, "shared": 8},
        not_analysed=[NotAnalysed(instruction="tma_load", executions=3)],
        unknown_bytes=0,
        lost_records=0,
    ),
    nodes=[
        Node(
            id=0,
            function=0,
            pc=0x40,
            space="global",
            type="read",
            size=4,
            asynchronous=False,
            executions=4,
            bytes=512,
            lanes=[(32, 4)],
            addresses=[(32, 4)],
            sectors=[(4, 4)],
            words=[],
            wavefronts=[],
            ideal_wavefronts=[],
            allocations=[AllocationTraffic(allocation=0, bytes=512)],
        ),
        *(
            Node(
                id=index,
                function=0,
                pc=pc,
                space="shared",
                type=kind,
                size=4,
                asynchronous=False,
                executions=4,
                bytes=512,
                lanes=[(32, 4)],
                addresses=[],
                sectors=[],
                words=[(32, 4)],
                wavefronts=[(1, 4)],
                ideal_wavefronts=[(1, 4)],
                allocations=[],
            )
            for index, pc, kind in _SHARED
        ),
    ],
    edges=[
        Edge(node=0, origin=None, label="cold", bytes=512, count=128),
        Edge(node=1, origin=None, label="cold", bytes=512, count=128),
        Edge(node=2, origin=1, label="warp_diff_inst", bytes=496, count=124, unordered=0),
        Edge(node=2, origin=1, label="block", bytes=16, count=4, unordered=16),
    ],
)

SUMMARY = ProcessSummary(
    format=PROCESS_FORMAT,
    version=VERSION,
    process=PROCESS,
    finished=True,
    kernels_seen=[KernelSeen(name="stage(float const*)", mangled="_Z5stagePKf", launches=2, selected=1)],
    profiles=1,
    problems=[],
    trace=None,
)
