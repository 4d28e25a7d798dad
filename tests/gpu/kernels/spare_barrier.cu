// spare_barrier BLOCKS: the 128 threads of a block write their slots of shared memory and of global memory
// and, after a barrier, read those of the warp beside: it orders 512 bytes of each. After a second barrier
// every thread goes on with what is its own, so that one orders nothing.
#include "common.h"

constexpr int kThreads = 128;

__global__ void spare_barrier(int* output) {
  __shared__ int slots[kThreads];
  volatile int* slot = slots;
  volatile int* own = output + static_cast<size_t>(blockIdx.x) * 2 * kThreads;
  const int beside = (threadIdx.x + 32) % kThreads;
  slot[threadIdx.x] = static_cast<int>(threadIdx.x);
  own[threadIdx.x] = 2 * static_cast<int>(threadIdx.x);
  __syncthreads();  // @needed
  const int sum = slot[beside] + own[beside];
  __syncthreads();  // @spare
  own[kThreads + threadIdx.x] = sum;
}

int main(int argc, char** argv) {
  Arguments arguments(argc, argv);
  const int blocks = arguments.number("blocks", 8);
  arguments.done();

  std::vector<int> expected(static_cast<size_t>(blocks) * 2 * kThreads);
  for (size_t i = 0; i < expected.size(); ++i) {
    const int thread = static_cast<int>(i) % kThreads, beside = (thread + 32) % kThreads;
    expected[i] = i / kThreads % 2 == 0 ? 2 * thread : 3 * beside;
  }
  Array<int> output(expected.size());
  spare_barrier<<<blocks, kThreads>>>(output.get());
  CHECK_KERNEL();
  return finish(agree("output", output.host(), expected));
}
