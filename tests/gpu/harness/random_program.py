"""Random CUDA programs whose result no schedule can change, for comparing runs of them.

A program launches a few kernels, on streams of its own data or captured into a graph that is replayed, and
prints a hash of everything that they wrote. Kernels are made of steps; some of them (atomics, reads that
several warps share) leave it to the schedule who meets whom, and make the program ``variable``.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

_WIDTHS = {1: "unsigned char", 2: "unsigned short", 4: "unsigned", 8: "unsigned long long", 16: "uint4"}

_HEAD = """// Random program of seed {seed}.
#include <cuda_pipeline.h>

#include "common.h"

constexpr unsigned kRegion = {region}, kCommon = {common}, kBins = {bins};

template <class T>
struct Value {{
  static __device__ unsigned fold(T value) {{ return static_cast<unsigned>(value); }}
  static __device__ T make(unsigned value) {{ return static_cast<T>(value); }}
}};
template <>
struct Value<uint4> {{
  static __device__ unsigned fold(uint4 value) {{ return value.x + 3 * value.y + 5 * value.z + 7 * value.w; }}
  static __device__ uint4 make(unsigned value) {{
    return make_uint4(value, value + 1, value + 2, value + 3);
  }}
}};
template <class T>
__device__ T& at(unsigned char* base, size_t offset) {{
  return *reinterpret_cast<T*>(base + offset);
}}
template <class T>
__device__ const T& at(const unsigned char* base, size_t offset) {{
  return *reinterpret_cast<const T*>(base + offset);
}}
"""

_MAIN = """
int main() {{
  constexpr int kSets = {sets};
  constexpr size_t kThreads = {threads};
  std::vector<unsigned char> common(kCommon + 64), own(kThreads * kRegion);
  for (size_t i = 0; i < common.size(); ++i) common[i] = static_cast<unsigned char>(i * 37 + i / 251);
  for (size_t i = 0; i < own.size(); ++i) own[i] = static_cast<unsigned char>(i * 11 + i / 127);
  Array<unsigned char> all_common(common);
  std::vector<Array<unsigned char>*> owns;
  std::vector<Array<unsigned>*> bins, outputs;
  std::vector<cudaStream_t> streams(kSets);
  for (int set = 0; set < kSets; ++set) {{
    owns.push_back(new Array<unsigned char>(own));
    bins.push_back(new Array<unsigned>(std::vector<unsigned>(kBins, 0u)));
    outputs.push_back(new Array<unsigned>(std::vector<unsigned>(kThreads, 0u)));
    CHECK(cudaStreamCreateWithFlags(&streams[set], cudaStreamNonBlocking));
  }}
{launches}  CHECK_KERNEL();
  unsigned long long hash = 14695981039346656037ull;
  const auto mix = [&](const auto& values) {{
    for (const auto value : values) hash = (hash ^ value) * 1099511628211ull;
  }};
  for (int set = 0; set < kSets; ++set) {{
    mix(owns[set]->host());
    mix(bins[set]->host());
    mix(outputs[set]->host());
    delete owns[set];
    delete bins[set];
    delete outputs[set];
  }}
  std::printf("%016llx\\n", hash);
  return finish(true);
}}
"""


@dataclass(frozen=True)
class RandomProgram:
    """Source of a program; whether who meets whom is left to the schedule; how many launches it makes."""

    source: str
    variable: bool
    launches: int


class _Kernel:
    def __init__(self, dice: random.Random, number: int, region: int) -> None:
        self.dice = dice
        self.name = f"kernel_{number}"
        self.region = region
        self.threads = dice.choice([32, 64, 96, 128, 33, 70, 256, 512])
        self.variable = False
        self.shared = 0
        self.steps = [self.step() for _ in range(dice.randint(2, 6))]

    def width(self) -> tuple[int, str]:
        size = self.dice.choice(list(_WIDTHS))
        return size, _WIDTHS[size]

    def step(self) -> str:
        kinds = [self.own, self.own, self.divergent, self.exchange, self.warp_exchange, self.local, self.copy]
        kinds += [self.common, self.count] if self.dice.random() < 0.5 else []
        return self.dice.choice(kinds)()

    def slot(self, size: int) -> int:
        """Take shared memory, a slot of ``size`` bytes for each thread."""
        start = (self.shared + size - 1) // size * size
        self.shared = start + size * self.threads
        return start

    def own(self) -> str:
        size, kind = self.width()
        a, b = self.dice.randint(1, 9), self.dice.randint(0, 20)
        places = self.region // size
        return f"""  for (unsigned i = 0; i < {self.dice.randint(1, 6)} + zero; ++i) {{
    {kind}& place = at<{kind}>(own, thread * kRegion + (i * {a} + {b}) % {places} * {size});
    const unsigned value = Value<{kind}>::fold(place);
    sum += value;
    place = Value<{kind}>::make(value + i);
  }}
"""

    def divergent(self) -> str:
        mask = self.dice.choice([1, 3, 16, 5, 31])
        return f"  if ((threadIdx.x & {mask}) == {mask}) {{\n{self.own()}  }}\n"

    def exchange(self) -> str:
        size, kind = self.width()
        start, distance = self.slot(size), self.dice.choice([1, 2, 31, 32, 33, 5])
        read = f"at<{kind}>(shared, {start} + (threadIdx.x + {distance}) % blockDim.x * {size})"
        return f"""  for (unsigned i = 0; i < {self.dice.randint(1, 3)} + zero; ++i) {{
    at<{kind}>(shared, {start} + threadIdx.x * {size}) = Value<{kind}>::make(sum + i);
    __syncthreads();
    sum += Value<{kind}>::fold({read});
    __syncthreads();
  }}
"""

    def warp_exchange(self) -> str:
        size, kind = self.width()
        start, bit = self.slot(size), self.dice.choice([1, 2, 4])
        partner = f"((threadIdx.x ^ {bit}) < blockDim.x ? threadIdx.x ^ {bit} : threadIdx.x)"
        return f"""  at<{kind}>(shared, {start} + threadIdx.x * {size}) = Value<{kind}>::make(sum);
  __syncwarp(lanes);
  sum += Value<{kind}>::fold(at<{kind}>(shared, {start} + {partner} * {size}));
  __syncwarp(lanes);
"""

    def local(self) -> str:
        _, kind = self.width()
        count = self.dice.choice([4, 16, 40])
        return f"""  {{
    {kind} kept[{count}];
    for (unsigned i = 0; i < {count} + zero; ++i)
      kept[(i * 3 + sum * zero) % {count}] = Value<{kind}>::make(sum + i);
    for (unsigned i = 0; i < {self.dice.randint(1, 8)} + zero; ++i)
      sum += Value<{kind}>::fold(kept[(sum + i) % {count}]);
  }}
"""

    def copy(self) -> str:
        size = self.dice.choice([4, 8, 16])
        kind = _WIDTHS[size]
        start = self.slot(size)
        read = f"at<{kind}>(shared, {start} + (threadIdx.x + 1) % blockDim.x * {size})"
        slot = f"shared + {start} + threadIdx.x * {size}"
        return f"""  __pipeline_memcpy_async({slot}, own + thread * kRegion, {size});
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  sum += Value<{kind}>::fold({read});
  __syncthreads();
"""

    def common(self) -> str:
        self.variable = True
        size, kind = self.width()
        a, b, c = self.dice.randint(0, 9), self.dice.randint(0, 9), self.dice.randint(0, 99)
        place = f"(thread * {a} + i * {b} + {c}) % (kCommon / {size}) * {size}"
        return f"""  for (unsigned i = 0; i < {self.dice.randint(1, 5)} + zero; ++i)
    sum += Value<{kind}>::fold(at<{kind}>(common, {place}));
"""

    def count(self) -> str:
        self.variable = True
        a, b = self.dice.randint(0, 5), self.dice.randint(0, 9)
        amount = self.dice.choice(["1u", "sum % 16"])
        return f"  atomicAdd(bins + (thread * {a} + {b}) % kBins, {amount});\n"

    def source(self) -> str:
        leaving = self.dice.random() < 0.2 and self.threads >= 64
        limit = f"  if (threadIdx.x >= {self.threads // 64 * 32}) return;\n" if leaving else ""
        body = "".join(self.steps)
        if leaving:
            # Who has left is nobody's neighbour.
            body = body.replace("blockDim.x", f"{self.threads // 64 * 32}u")
        return f"""
__global__ void {self.name}(unsigned char* own, const unsigned char* common, unsigned* bins,
                         unsigned* output, unsigned zero) {{
  __shared__ alignas(16) unsigned char shared[{max(self.shared, 16)}];
  const size_t thread = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
{limit}  const unsigned lanes = __activemask();
  unsigned sum = static_cast<unsigned>(thread);
{body}  output[thread] += sum;
  if (zero != 0) shared[0] = static_cast<unsigned char>(lanes);
}}
"""


def make(seed: int) -> RandomProgram:
    """Return the program of a seed; equal seeds make equal programs."""
    dice = random.Random(seed)
    region = dice.choice([64, 128, 256])
    kernels = [_Kernel(dice, number, region) for number in range(dice.randint(1, 3))]
    sets = dice.randint(1, 4)
    most = 0
    count = 0
    variable = False

    def launch(set_number: int, stream: str) -> str:
        nonlocal most, variable
        kernel = dice.choice(kernels)
        blocks = dice.choice([1, 2, 7, 40, 300])
        most = max(most, blocks * kernel.threads)
        variable = variable or kernel.variable
        mine = [f"{name}[{set_number}]->get()" for name in ("owns", "bins", "outputs")]
        data = f"{mine[0]}, all_common.get(), {mine[1]}, {mine[2]}"
        return f"{kernel.name}<<<{blocks}, {kernel.threads}, 0, {stream}>>>({data}, 0u);\n"

    lines = ""
    for _ in range(dice.randint(2, 12)):
        set_number = dice.randrange(sets)
        if dice.random() < 0.3:
            nodes, replays = dice.randint(1, 4), dice.randint(1, 5)
            body = "".join("    " + launch(set_number, f"streams[{set_number}]") for _ in range(nodes))
            lines += f"""  {{
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    CHECK(cudaStreamBeginCapture(streams[{set_number}], cudaStreamCaptureModeGlobal));
{body}    CHECK(cudaStreamEndCapture(streams[{set_number}], &graph));
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    for (int i = 0; i < {replays}; ++i) CHECK(cudaGraphLaunch(executable, streams[{set_number}]));
  }}
"""
            count += nodes * replays
        else:
            repeats = dice.choice([1, 1, 2, 5, 20])
            body = launch(set_number, f"streams[{set_number}]")
            lines += f"  for (int i = 0; i < {repeats}; ++i) {body}"
            count += repeats
    head = _HEAD.format(
        seed=seed, region=region, common=dice.choice([256, 4096, 65536]), bins=dice.choice([1, 16, 257])
    )
    body = "".join(kernel.source() for kernel in kernels)
    return RandomProgram(head + body + _MAIN.format(sets=sets, threads=most, launches=lines), variable, count)
