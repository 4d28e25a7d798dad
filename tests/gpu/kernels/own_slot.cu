// Each thread writes its own slot of shared memory and reads it back: only `thread` edges.
#include "common.h"

constexpr int kThreads = 256;

__global__ void own_slot(int* output) {
  __shared__ int slots[kThreads];
  volatile int* slot = slots;
  slot[threadIdx.x] = threadIdx.x;                      // @write
  const int value = slot[threadIdx.x];                  // @read
  output[blockIdx.x * kThreads + threadIdx.x] = value;  // @store
}

int main(int argc, char** argv) {
  Arguments arguments(argc, argv);
  const int blocks = arguments.number("blocks", 8);
  arguments.done();

  std::vector<int> expected(static_cast<size_t>(blocks) * kThreads);
  for (size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<int>(i) % kThreads;
  Array<int> output(expected.size());
  own_slot<<<blocks, kThreads>>>(output.get());
  CHECK_KERNEL();
  return finish(agree("output", output.host(), expected));
}
