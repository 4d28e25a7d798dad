// One warp and one instruction a launch: asynchronous copies and atomics on shared memory, for counters.
//
//   passes FILE     a line: instruction, then for each of 32 lanes where it writes or updates in shared
//   memory,
//                   where it reads in global memory and how many bytes (-1: the lane is off)
//
// benchmarks/probe_passes.py writes the lines and reads the counters.
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "common.h"

constexpr int kSharedBytes = 40960;

struct Lanes {
  int shared[32], source[32], bytes[32];
};

enum class Way { kThroughL1, kPastL1, kThroughL1Filling, kPastL1Filling };

template <int kSize, Way kWay>
__global__ void copy(const char* input, int* output, const Lanes* lanes) {
  extern __shared__ __align__(1024) char tile[];
  const unsigned target = static_cast<unsigned>(__cvta_generic_to_shared(tile)) + lanes->shared[threadIdx.x];
  const char* source = input + lanes->source[threadIdx.x];
  const int bytes = lanes->bytes[threadIdx.x];
  if (bytes >= 0) {
    if constexpr (kWay == Way::kThroughL1) {
      asm volatile("cp.async.ca.shared.global [%0], [%1], %2;"
                   :
                   : "r"(target), "l"(source), "n"(kSize)
                   : "memory");
    } else if constexpr (kWay == Way::kThroughL1Filling) {
      asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                   :
                   : "r"(target), "l"(source), "n"(kSize), "r"(bytes)
                   : "memory");
    } else if constexpr (kWay == Way::kPastL1) {
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(target), "l"(source) : "memory");
    } else {
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                   :
                   : "r"(target), "l"(source), "r"(bytes)
                   : "memory");
    }
  }
  asm volatile("cp.async.commit_group;\n cp.async.wait_group 0;" : : : "memory");
  __syncwarp();
  output[threadIdx.x] = tile[lanes->shared[threadIdx.x]];
}

enum class Operation { kAdd, kAddOne, kExchange, kMaximum, kSwap };

template <Operation kOperation>
__global__ void atomic(const char*, int* output, const Lanes* lanes) {
  extern __shared__ __align__(1024) char tile[];
  const int lane = threadIdx.x;
  int* word = reinterpret_cast<int*>(tile + lanes->shared[lane]);
  int was = 0;
  if (lanes->bytes[lane] >= 0) {
    if constexpr (kOperation == Operation::kAdd) atomicAdd(word, lane);
    if constexpr (kOperation == Operation::kAddOne) atomicAdd(word, 1);
    if constexpr (kOperation == Operation::kExchange) was = atomicExch(word, lane);
    if constexpr (kOperation == Operation::kMaximum) atomicMax(word, lane);
    if constexpr (kOperation == Operation::kSwap) was = atomicCAS(word, lane, lane + 1);
  }
  __syncwarp();
  output[lane] = was;
}

int main(int argc, char** argv) {
  Arguments arguments(argc, argv);
  std::ifstream file(arguments.word("passes.txt"));
  arguments.done();
  if (!file) {
    std::fprintf(stderr, "%s: the file of instructions cannot be read\n", argv[0]);
    return 2;
  }
  using Kernel = void (*)(const char*, int*, const Lanes*);
  const std::map<std::string, Kernel> kernels = {
      {"ca4", copy<4, Way::kThroughL1>},
      {"ca8", copy<8, Way::kThroughL1>},
      {"ca16", copy<16, Way::kThroughL1>},
      {"cg16", copy<16, Way::kPastL1>},
      {"ca4fill", copy<4, Way::kThroughL1Filling>},
      {"ca8fill", copy<8, Way::kThroughL1Filling>},
      {"cg16fill", copy<16, Way::kPastL1Filling>},
      {"add", atomic<Operation::kAdd>},
      {"one", atomic<Operation::kAddOne>},
      {"exchange", atomic<Operation::kExchange>},
      {"max", atomic<Operation::kMaximum>},
      {"swap", atomic<Operation::kSwap>},
  };
  const Array<char> input(std::vector<char>(size_t{1} << 20));
  Array<int> output(32);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    Lanes lanes{};
    for (int i = 0; i < 32; ++i) words >> lanes.shared[i] >> lanes.source[i] >> lanes.bytes[i];
    const auto found = kernels.find(name);
    if (found == kernels.end() || words.fail()) {
      std::fprintf(stderr, "not understood: %s\n", line.c_str());
      return 2;
    }
    const Array<Lanes> given(std::vector<Lanes>{lanes});
    found->second<<<1, 32, kSharedBytes>>>(input.get(), output.get(), given.get());
    CHECK_KERNEL();
  }
  return finish(true);
}
