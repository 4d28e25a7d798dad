// Data on its way through shared memory: asynchronous copies (cp.async, sm_80) and matrices (ldmatrix,
// sm_75).
#include <cuda_pipeline.h>

#include "micro.h"

constexpr int kThreads = 128;

__device__ int index() { return blockIdx.x * blockDim.x + threadIdx.x; }

// Each thread copies an element and reads that of the warp beside.
template <class T>
__global__ void copy(const T* input, T* output) {
  __shared__ T tile[kThreads];
  __pipeline_memcpy_async(&tile[threadIdx.x], input + index(), sizeof(T));  // @copy
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  output[index()] = tile[threadIdx.x ^ 32];  // @move
}

// The same without a wait: what is read may not have arrived.
__global__ void copy_unwaited(const float4* input, float4* output) {
  __shared__ float4 tile[kThreads];
  __pipeline_memcpy_async(&tile[threadIdx.x], input + index(), sizeof(float4));  // @copy
  __pipeline_commit();
  __syncthreads();
  output[index()] = tile[threadIdx.x ^ 32];  // @move
}

// The first `whole` lanes bring 16 bytes, the others `part`; zeros fill the rest. A warp a block.
__global__ void copy_filled(const float4* input, float4* output, int whole, int part) {
  __shared__ float4 tile[32];
  const int lane = threadIdx.x, bytes = lane < whole ? 16 : part;
  const unsigned target = static_cast<unsigned>(__cvta_generic_to_shared(&tile[lane]));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"  // @copy
               :
               : "r"(target), "l"(input + index()), "r"(bytes)  // @copy
               : "memory");
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  output[index()] = tile[lane ^ 1];  // @move
}

// Two tiles in turn: the next is copied while one is read.
__global__ void double_buffer(const float4* input, float4* output, int tiles) {
  __shared__ float4 tile[2][kThreads];
  const int first = blockIdx.x * tiles * kThreads + threadIdx.x;
  __pipeline_memcpy_async(&tile[0][threadIdx.x], input + first, sizeof(float4));  // @copy_first
  __pipeline_commit();
#pragma unroll 1
  for (int i = 0; i < tiles; ++i) {
    if (i + 1 < tiles) {
      const float4* next = input + first + (i + 1) * kThreads;
      __pipeline_memcpy_async(&tile[(i + 1) % 2][threadIdx.x], next, sizeof(float4));  // @copy_next
    }
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    output[first + i * kThreads] = tile[i % 2][threadIdx.x ^ 32];  // @move
    __syncthreads();
  }
}

// Rows of 16 bytes, `pitch` vectors apart, written a row a lane and loaded as 8 x 8 matrices of halves; in
// the load lane i gives the address of the row of lane i ^ 1. A warp a block.
template <int kMatrices>
__global__ void load_matrix(unsigned* output, int pitch) {
  extern __shared__ uint4 rows[];
  const unsigned lane = threadIdx.x;
  rows[lane * pitch] = make_uint4(lane, 2 * lane, 3 * lane, 4 * lane);  // @write
  __syncthreads();
  const unsigned row = static_cast<unsigned>(__cvta_generic_to_shared(&rows[(lane ^ 1) * pitch]));
  unsigned a, b = 0, c = 0, d = 0;
  if constexpr (kMatrices == 1) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"  // @matrix
                 : "=r"(a)                                               // @matrix
                 : "r"(row)                                              // @matrix
                 : "memory");
  } else if constexpr (kMatrices == 2) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"  // @matrix
                 : "=r"(a), "=r"(b)                                                // @matrix
                 : "r"(row)                                                        // @matrix
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"  // @matrix
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d)                                // @matrix
                 : "r"(row)                                                          // @matrix
                 : "memory");
  }
  output[index()] = a + b + c + d;  // @store
}

template <class T>
void launch_copy(const Memory& memory, const int* parameters) {
  copy<T><<<parameters[0], kThreads>>>(memory.input<T>(), memory.output<T>());
}

template <int kMatrices>
void launch_matrix(const Memory& memory, const int* parameters) {
  load_matrix<kMatrices>
      <<<parameters[0], 32, 512 * parameters[1]>>>(memory.output<unsigned>(), parameters[1]);
}

int main(int argc, char** argv) {
  return main_of(
      {
          {"copy4", {"blocks"}, launch_copy<float>},
          {"copy8", {"blocks"}, launch_copy<float2>},
          {"copy16", {"blocks"}, launch_copy<float4>},
          {"copy_unwaited",
           {"blocks"},
           [](const Memory& m, const int* p) {
             copy_unwaited<<<p[0], kThreads>>>(m.input<float4>(), m.output<float4>());
           }},
          {"copy_filled",
           {"blocks", "whole", "part"},
           [](const Memory& m, const int* p) {
             copy_filled<<<p[0], 32>>>(m.input<float4>(), m.output<float4>(), p[1], p[2]);
           }},
          {"double_buffer",
           {"blocks", "tiles"},
           [](const Memory& m, const int* p) {
             double_buffer<<<p[0], kThreads>>>(m.input<float4>(), m.output<float4>(), p[1]);
           }},
          {"load_matrix1", {"blocks", "pitch"}, launch_matrix<1>},
          {"load_matrix2", {"blocks", "pitch"}, launch_matrix<2>},
          {"load_matrix4", {"blocks", "pitch"}, launch_matrix<4>},
      },
      argc, argv);
}
