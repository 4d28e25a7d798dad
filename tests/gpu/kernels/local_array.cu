// Each thread fills an array of 8 words by a computed index and reads it back the same way: local memory,
// which only one thread ever sees. Write cold 32 n, read thread 32 n for n threads; a warp's words lie side
// by side: 4 sectors.
#include "common.h"

__global__ void local_array(const int* order, int* output) {
  volatile int words[8];
#pragma unroll 1
  for (int i = 0; i < 8; ++i) {
    const int place = order[i];          // @order
    words[place] = place + threadIdx.x;  // @write
  }
  int sum = 0;
#pragma unroll 1
  for (int i = 0; i < 8; ++i) {
    const int place = order[7 - i];  // @again
    sum = 3 * sum + words[place];    // @read
  }
  output[blockIdx.x * blockDim.x + threadIdx.x] = sum;  // @store
}

int main(int argc, char** argv) {
  Arguments arguments(argc, argv);
  const int blocks = arguments.number("blocks", 4);
  arguments.done();

  const std::vector<int> order = {3, 1, 4, 0, 5, 7, 2, 6};
  std::vector<int> expected(static_cast<size_t>(blocks) * 64, 0);
  for (size_t t = 0; t < expected.size(); ++t) {
    for (int i = 0; i < 8; ++i) expected[t] = 3 * expected[t] + order[7 - i] + static_cast<int>(t % 64);
  }
  Array<int> places(order), output(expected.size());
  local_array<<<blocks, 64>>>(places.get(), output.get());
  CHECK_KERNEL();
  return finish(agree("output", output.host(), expected));
}
