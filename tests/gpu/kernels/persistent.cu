// persistent [ITEMS]: as many blocks as the GPU holds at once, which fetch pieces of work from a counter
// until there are none left, and a kernel in another stream that waits for the last piece. Every word: read
// cold, write thread.
#include "common.h"

__global__ void work(int* words, int* next, int items) {
  __shared__ int piece;
#pragma unroll 1
  for (;;) {
    if (threadIdx.x == 0) piece = atomicAdd(next, 1);  // @fetch
    __syncthreads();
    const int mine = piece;  // @mine
    __syncthreads();
    if (mine >= items) return;
    const int i = mine * blockDim.x + threadIdx.x;
    const int value = words[i];  // @read
    words[i] = value + 1;        // @write
  }
}

__global__ void wait_for_last(const volatile int* next, int items, int* seen) {
  while (*next < items) {  // @wait
  }
  *seen = 1;  // @seen
}

int main(int argc, char** argv) {
  Arguments arguments(argc, argv);
  const int items = arguments.number("items", 20000);
  arguments.done();

  const size_t size = static_cast<size_t>(items) * 128;
  Array<int> words(std::vector<int>(size, 3)), next(std::vector<int>(1, 0)), seen(std::vector<int>(1, 0));
  cudaStream_t working, waiting;
  CHECK(cudaStreamCreateWithFlags(&working, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&waiting, cudaStreamNonBlocking));
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, work));
  CHECK(cudaFuncGetAttributes(&attributes, wait_for_last));
  int resident = 0, multiprocessors = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, work, 128, 0));
  CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  wait_for_last<<<1, 1, 0, waiting>>>(next.get(), items, seen.get());
  work<<<multiprocessors*(resident / 2), 128, 0, working>>>(words.get(), next.get(), items);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamSynchronize(working));
  CHECK(cudaStreamSynchronize(waiting));
  return finish(agree("words", words.host(), std::vector<int>(size, 4)) &&
                agree("seen", seen.host(), std::vector<int>(1, 1)));
}
