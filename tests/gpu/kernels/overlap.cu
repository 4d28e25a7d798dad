// overlap [STREAMS]: as many streams, each with a kernel that runs at the same time as the others, since each
// waits until all have begun. All of them touch the same words, and still each launch is a launch of its own:
// read cold 4096, then write thread 4096 to what it read; never grid.
#include <unistd.h>

#include "common.h"

constexpr int kSize = 1024;

__global__ void visit(volatile int* words, volatile int* begun, int all, int rounds) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int value = words[i];  // @read
  if (i == 0) {
    atomicAdd(const_cast<int*>(begun), 1);  // @arrive
    const long long start = clock64();
    // A device that does not run them at once must not hang.
    while (*begun < all && clock64() - start < 4000000000ll) {  // @wait
    }
  }
  __syncthreads();
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) words[i] = value;  // @write
}

int main(int argc, char** argv) {
  Arguments arguments(argc, argv);
  const int streams = arguments.number("streams", 4);
  arguments.done();

  Array<int> words(std::vector<int>(kSize, 7)), begun(std::vector<int>(1, 0));
  std::vector<cudaStream_t> all(streams);
  for (auto& stream : all) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  // What is loaded lazily synchronises.
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, visit));
  for (auto& stream : all) visit<<<kSize / 128, 128, 0, stream>>>(words.get(), begun.get(), streams, 100);
  CHECK(cudaGetLastError());
  for (auto& stream : all) CHECK(cudaStreamSynchronize(stream));
  return finish(agree("words", words.host(), std::vector<int>(kSize, 7)) &&
                agree("begun", begun.host(), std::vector<int>(1, streams)));
}
