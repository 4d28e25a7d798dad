// graph_branches [REPLAYS]: a CUDA graph in which a kernel runs three times in a row and, at the same time,
// in a branch of its own, on other words. Every one of the launches: read cold 4096, write thread 4096, with
// a word of local memory for each thread that it writes and reads.
#include "common.h"

constexpr int kSize = 1024;

__global__ void step(int* words, int which) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  volatile int kept[2];
  kept[which & 1] = words[i];      // @read
  words[i] = kept[which & 1] + 1;  // @write
}

int main(int argc, char** argv) {
  Arguments arguments(argc, argv);
  const int replays = arguments.number("replays", 3);
  arguments.done();

  Array<int> words(std::vector<int>(kSize, 1)), others(std::vector<int>(kSize, 5));
  cudaStream_t stream, branch;
  cudaEvent_t fork, join;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamCreate(&branch));
  CHECK(cudaEventCreate(&fork));
  CHECK(cudaEventCreate(&join));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CHECK(cudaEventRecord(fork, stream));
  CHECK(cudaStreamWaitEvent(branch, fork));
  step<<<kSize / 128, 128, 0, branch>>>(others.get(), 0);
  CHECK(cudaEventRecord(join, branch));
  for (int i = 0; i < 3; ++i) step<<<kSize / 128, 128, 0, stream>>>(words.get(), i);
  CHECK(cudaStreamWaitEvent(stream, join));
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  for (int i = 0; i < replays; ++i) CHECK(cudaGraphLaunch(executable, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphDestroy(graph));
  return finish(agree("words", words.host(), std::vector<int>(kSize, 1 + 3 * replays)) &&
                agree("others", others.host(), std::vector<int>(kSize, 5 + replays)));
}
