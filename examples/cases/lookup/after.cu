// Four threads a row, each copies 16 bytes of the entry. A window over the dictionary keeps it in the part of
// L2 that is set aside, where what passes once cannot drive it out.
#include "problem.h"

constexpr int kThreads = 256;

__global__ void decode(const int* codes, const int4* dictionary, int4* results) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  const int code = codes[i / kParts];
  results[i] = dictionary[code * kParts + i % kParts];
}

int main(int argc, char** argv) {
  const Problem problem(argc, argv);
  const Array<int> codes(problem.codes);
  const Array<int4> dictionary(problem.dictionary), results(problem.results());
  const size_t bytes = problem.dictionary.size() * sizeof(int4);
  CHECK(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, bytes));  // no more: the rest is for the streams
  cudaStreamAttrValue kept = {};
  kept.accessPolicyWindow = {dictionary.get(), bytes, 1, cudaAccessPropertyPersisting,
                             cudaAccessPropertyStreaming};
  CHECK(cudaStreamSetAttribute(nullptr, cudaStreamAttributeAccessPolicyWindow, &kept));
  const int blocks = static_cast<int>(problem.results() / kThreads);
  repeat(problem.times, [&] { decode<<<blocks, kThreads>>>(codes.get(), dictionary.get(), results.get()); });
  return problem.finish(results.host());
}
