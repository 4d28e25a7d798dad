// What needs sm_90: clusters, matrices stored to shared memory, atomics on vectors.
#include <cooperative_groups.h>

#include "micro.h"

constexpr int kThreads = 128;

__device__ int index() { return blockIdx.x * blockDim.x + threadIdx.x; }

// Clusters of two blocks; each reads what the other has written to global memory.
__global__ void __cluster_dims__(2, 1, 1) cluster(float* output, float* other) {
  const int i = index();
  output[i] = static_cast<float>(i);  // @write
  cooperative_groups::this_cluster().sync();
  const float value = output[i ^ kThreads];  // @read
  other[i] = value;                          // @store
}

// Four matrices of 8 x 8 halves stored at once, lane i giving the address of row i; each lane reads the row
// of the lane beside. A warp a block.
__global__ void store_matrix(uint4* output, int pitch) {
  extern __shared__ uint4 rows[];
  const unsigned lane = threadIdx.x;
  const unsigned row = static_cast<unsigned>(__cvta_generic_to_shared(&rows[lane * pitch]));
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"  // @matrix
               :
               : "r"(row), "r"(lane), "r"(2 * lane), "r"(3 * lane), "r"(4 * lane)  // @matrix
               : "memory");
  __syncthreads();
  output[index()] = rows[(lane ^ 1) * pitch];  // @move
}

__global__ void atomic_vector(float4* output) {
  const int i = index();
  atomicAdd(&output[i], make_float4(1, 2, 3, 4));  // @add
  __syncwarp();
  atomicAdd(&output[i ^ 1], make_float4(1, 2, 3, 4));  // @add_again
}

int main(int argc, char** argv) {
  return main_of(
      {
          {"cluster",
           {"blocks"},
           [](const Memory& m, const int* p) {
             cluster<<<p[0], kThreads>>>(m.output<float>(), m.other<float>());
           }},
          {"store_matrix",
           {"blocks", "pitch"},
           [](const Memory& m, const int* p) {
             store_matrix<<<p[0], 32, 512 * p[1]>>>(m.output<uint4>(), p[1]);
           }},
          {"atomic_vector",
           {"blocks"},
           [](const Memory& m, const int* p) { atomic_vector<<<p[0], kThreads>>>(m.output<float4>()); }},
      },
      argc, argv);
}
