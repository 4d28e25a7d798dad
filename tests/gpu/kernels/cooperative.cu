// cooperative [BLOCKS]: each block writes its part, and after a grid-wide barrier reads the part of the block
// beside: grid 512 bytes a block, nothing cold.
#include <cooperative_groups.h>

#include "common.h"

constexpr int kThreads = 128;

__global__ void cooperative(int* words, int* output) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  volatile int* word = words;
  word[i] = i;  // @write
  cooperative_groups::this_grid().sync();
  const int value = word[(i + kThreads) % (gridDim.x * kThreads)];  // @read
  output[i] = value;                                                // @store
}

int main(int argc, char** argv) {
  Arguments arguments(argc, argv);
  const int blocks = arguments.number("blocks", 16);
  arguments.done();

  std::vector<int> expected(static_cast<size_t>(blocks) * kThreads);
  for (size_t i = 0; i < expected.size(); ++i) {
    expected[i] = static_cast<int>((i + kThreads) % expected.size());
  }
  Array<int> words(expected.size()), output(expected.size());
  int *from = words.get(), *to = output.get();
  void* parameters[] = {&from, &to};
  CHECK(cudaLaunchCooperativeKernel(cooperative, dim3(blocks), dim3(kThreads), parameters, 0, nullptr));
  CHECK_KERNEL();
  return finish(agree("output", output.host(), expected));
}
