// streams [ROUNDS]: four streams, in each of them ROUNDS launches of a kernel on its own data, all at once,
// from four host threads. Every launch: read cold 4096, write thread 4096.
#include <thread>

#include "common.h"

constexpr int kStreams = 4, kSize = 1024;

__global__ void increment(int* words) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int value = words[i];  // @read
  words[i] = value + 1;        // @write
}

int main(int argc, char** argv) {
  Arguments arguments(argc, argv);
  const int rounds = arguments.number("rounds", 5);
  arguments.done();

  std::vector<int> found[kStreams];
  std::vector<std::thread> threads;
  for (int s = 0; s < kStreams; ++s) {
    threads.emplace_back([s, rounds, &found] {
      Array<int> words(std::vector<int>(kSize, s));
      cudaStream_t stream;
      CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      for (int round = 0; round < rounds; ++round) increment<<<kSize / 128, 128, 0, stream>>>(words.get());
      CHECK(cudaGetLastError());
      CHECK(cudaStreamSynchronize(stream));
      found[s] = words.host();
    });
  }
  bool good = true;
  for (int s = 0; s < kStreams; ++s) {
    threads[s].join();
    good = agree("words", found[s], std::vector<int>(kSize, s + rounds)) && good;
  }
  return finish(good);
}
