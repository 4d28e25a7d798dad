// Ten launches to choose from: alpha and beta in turn, five times. The profiler is on during the third and
// fourth pair, the NVTX range "middle" spans the second and third.
#include "common.h"
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define HAS_NVTX 1
#else
#define HAS_NVTX 0
#endif

// Of the CUDA runtime; the header cuda_profiler_api.h is not in every toolkit.
extern "C" cudaError_t CUDARTAPI cudaProfilerStart();
extern "C" cudaError_t CUDARTAPI cudaProfilerStop();

__global__ void alpha(int* words) {
  words[threadIdx.x] += 1;  // @alpha
}

__global__ void beta(int* words) {
  words[threadIdx.x] *= 2;  // @beta
}

int main() {
  Array<int> words(std::vector<int>(64, 1));
  int expected = 1;
  for (int pair = 1; pair <= 5; ++pair) {
    if (pair == 3) CHECK(cudaProfilerStart());
    if (pair == 5) CHECK(cudaProfilerStop());
#if HAS_NVTX
    if (pair == 2) nvtxRangePushA("middle");
    if (pair == 4) nvtxRangePop();
#endif
    alpha<<<1, 64>>>(words.get());
    beta<<<1, 64>>>(words.get());
    expected = (expected + 1) * 2;
  }
  CHECK_KERNEL();
  if (!HAS_NVTX) std::printf("built without NVTX\n");
  return finish(agree("words", words.host(), std::vector<int>(64, expected)));
}
