// Asynchronous copies through L1 (cp.async.ca, sm_80): lanes take turns at the banks of L1 that they read and
// at those of shared memory that they write. A warp a block.
#include <cuda_pipeline.h>

#include "micro.h"

__device__ int index() { return blockIdx.x * blockDim.x + threadIdx.x; }

template <class T>
__device__ void copy(T* target, const T* source, int bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"  // @copy
               :
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(target))), "l"(source),  // @copy
                 "n"(sizeof(T)), "r"(bytes)                                                  // @copy
               : "memory");
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
}

// Four rows of 8 elements, `pitch` elements apart, to places `step` elements apart. Zeros fill those of the
// lanes from `whole` on.
template <class T>
__global__ void rows(const T* input, T* output, int pitch, int step, int whole) {
  __shared__ T tile[64];
  const int lane = threadIdx.x;
  const T* row = input + (4 * blockIdx.x + lane / 8) * pitch;
  copy(&tile[lane * step], row + lane % 8, lane < whole ? sizeof(T) : 0);
  output[index()] = tile[(lane ^ 1) * step];  // @move
}

// All lanes copy one element, each to a place of its own.
template <class T>
__global__ void one(const T* input, T* output) {
  __shared__ T tile[32];
  copy(&tile[threadIdx.x], input + 32 * blockIdx.x, sizeof(T));
  output[index()] = tile[threadIdx.x ^ 1];  // @move
}

template <class T>
void launch_rows(const Memory& memory, const int* parameters) {
  rows<<<parameters[0], 32>>>(memory.input<T>(), memory.output<T>(), parameters[1], parameters[2],
                              parameters[3]);
}

template <class T>
void launch_one(const Memory& memory, const int* parameters) {
  one<<<parameters[0], 32>>>(memory.input<T>(), memory.output<T>());
}

int main(int argc, char** argv) {
  return main_of(
      {
          {"rows4", {"blocks", "pitch", "step", "whole"}, launch_rows<float>},
          {"rows8", {"blocks", "pitch", "step", "whole"}, launch_rows<float2>},
          {"one4", {"blocks"}, launch_one<float>},
          {"one8", {"blocks"}, launch_one<float2>},
      },
      argc, argv);
}
