// graph_replay [REPLAYS]: two kernels captured into a CUDA graph, replayed. Every replay of `twice`: read
// cold 4096, write thread 4096; of `add`: the same.
#include "common.h"

constexpr int kSize = 1024;

__global__ void twice(int* words) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int value = words[i];  // @read
  words[i] = 2 * value;        // @write
}

__global__ void add(int* words, int summand) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int value = words[i];  // @load
  words[i] = value + summand;  // @store
}

int main(int argc, char** argv) {
  Arguments arguments(argc, argv);
  const int replays = arguments.number("replays", 3);
  arguments.done();

  Array<int> words(std::vector<int>(kSize, 1));
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  twice<<<kSize / 128, 128, 0, stream>>>(words.get());
  add<<<kSize / 128, 128, 0, stream>>>(words.get(), 3);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  int expected = 1;
  for (int i = 0; i < replays; ++i) {
    CHECK(cudaGraphLaunch(executable, stream));
    expected = 2 * expected + 3;
  }
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphDestroy(graph));
  return finish(agree("words", words.host(), std::vector<int>(kSize, expected)));
}
