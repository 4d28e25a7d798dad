// cluster_neighbours [CLUSTERS]: blocks in clusters of two by two by one. Each block writes 128 words of
// global memory, the cluster synchronises, and each block reads what the next of its cluster wrote: cluster.
// Then the grid's first words, which all blocks read: cold once, cluster or grid for all others.
#include <cooperative_groups.h>

#include "common.h"

__global__ void __cluster_dims__(2, 2, 1)
    cluster_neighbours(volatile int* words, const volatile int* first, int* output) {
  const cooperative_groups::cluster_group cluster = cooperative_groups::this_cluster();
  const int across = gridDim.x / 2;
  const int number = (blockIdx.y / 2 * across + blockIdx.x / 2) * 4 + blockIdx.y % 2 * 2 + blockIdx.x % 2;
  words[number * 128 + threadIdx.x] = number;  // @write
  cluster.sync();
  const int next = number / 4 * 4 + (number + 1) % 4;
  const int value = words[next * 128 + threadIdx.x];                // @read
  output[number * 128 + threadIdx.x] = value + first[threadIdx.x];  // @first
}

int main(int argc, char** argv) {
  Arguments arguments(argc, argv);
  const int across = arguments.number("across", 6, 1);
  arguments.done();

  const int blocks = 2 * across * 4;
  Array<int> words(static_cast<size_t>(blocks) * 128), first(std::vector<int>(128, 1));
  Array<int> output(static_cast<size_t>(blocks) * 128);
  cluster_neighbours<<<dim3(2 * across, 4), 128>>>(words.get(), first.get(), output.get());
  CHECK_KERNEL();
  std::vector<int> expected;
  for (int block = 0; block < blocks; ++block)
    expected.insert(expected.end(), 128, block / 4 * 4 + (block + 1) % 4 + 1);
  return finish(agree("output", output.host(), expected));
}
