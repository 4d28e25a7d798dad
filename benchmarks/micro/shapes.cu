// Grids, blocks and warps of all shapes: three dimensions, odd sizes, warps that are partly there, diverge or
// end early, a great many blocks, all of the shared memory there is.
#include "micro.h"

__device__ int index() { return blockIdx.x * blockDim.x + threadIdx.x; }

// Blocks and grids of three dimensions; threads and blocks are numbered with x fastest. Each thread reads the
// slot of the thread 32 further on, the last ones those of the first.
__global__ void three_dimensions(int* output) {
  extern __shared__ int slots[];
  const int threads = blockDim.x * blockDim.y * blockDim.z;
  const int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  slots[thread] = thread;  // @write
  __syncthreads();
  const int value = slots[(thread + 32) % threads];  // @read
  output[block * threads + thread] = value;          // @store
}

// Blocks of any size, side by side in memory: warps begin anywhere.
__global__ void odd_block(const float* input, float* output) {
  const float value = input[index()];  // @load
  output[index()] = value;             // @store
}

// The last of all warps is partly beyond the end.
__global__ void tail(const float* input, float* output, int size) {
  const int i = index();
  if (i < size) {
    const float value = input[i];  // @load
    output[i] = value;             // @store
  }
}

// Even and odd lanes go separate ways.
__global__ void divergent(const float* input, const float2* pairs, float* output) {
  const int i = index();
  if (i % 2 == 0) {
    const float value = input[i];  // @even
    output[i] = value + 1;         // @store_even
  } else {
    const float2 pair = pairs[i];  // @odd
    output[i] = pair.x * pair.y;   // @store_odd
  }
}

// Lane l stays for l + 1 rounds.
__global__ void triangle(const float* input, float* output) {
  const int i = index(), lane = i % 32;
  const float* rows = input + i / 32 * 1024;
  float sum = 0;
#pragma unroll 1
  for (int r = 0; r <= lane; ++r) {
    sum += rows[32 * r + lane];  // @load
  }
  output[i] = sum;  // @store
}

// Odd warps only.
__global__ void odd_warps(const float* input, float* output) {
  const int i = index();
  if (i / 32 % 2 == 1) {
    const float value = input[i];  // @load
    output[i] = value;             // @store
  }
}

// Of a block's three warps the first ends at once, of the others all lanes from `stay` on.
__global__ void early_exit(int* output, int stay) {
  __shared__ int slots[64];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (warp == 0 || lane >= stay) return;
  slots[32 * (warp - 1) + lane] = warp;  // @write
  __syncthreads();
  const int value = slots[32 * (2 - warp) + lane];  // @read
  output[index()] = value;                          // @store
}

// A block of 1024 threads, each after the thread 32 further on.
__global__ void full_block(int* output) {
  __shared__ int slots[1024];
  slots[threadIdx.x] = threadIdx.x;  // @write
  __syncthreads();
  const int value = slots[(threadIdx.x + 32) % 1024];  // @read
  output[index()] = value;                             // @store
}

// `slots` stretches of 32 words, each for every block with the same remainder. A warp a block.
__global__ void many_blocks(int* output, int slots) {
  output[blockIdx.x % slots * 32 + threadIdx.x] = 1;  // @write
}

// All the shared memory that a block can ask for: written, and read by the next warp.
__global__ void large_shared(int* output, int words) {
  extern __shared__ int memory[];
#pragma unroll 1
  for (int i = threadIdx.x; i < words; i += 1024) {
    memory[i] = i;  // @write
  }
  __syncthreads();
  int sum = 0;
#pragma unroll 1
  for (int i = threadIdx.x; i < words; i += 1024) {
    sum += memory[i ^ 32];  // @read
  }
  output[index()] = sum;  // @store
}

int main(int argc, char** argv) {
  return main_of(
      {
          {"three_dimensions",
           {"x", "y", "z"},
           [](const Memory& m, const int* p) {
             three_dimensions<<<dim3(2, 3, 2), dim3(p[0], p[1], p[2]), 4 * p[0] * p[1] * p[2]>>>(
                 m.output<int>());
           }},
          {"odd_block",
           {"blocks", "threads"},
           [](const Memory& m, const int* p) {
             odd_block<<<p[0], p[1]>>>(m.input<float>(), m.output<float>());
           }},
          {"tail",
           {"size"},
           [](const Memory& m, const int* p) {
             tail<<<(p[0] + 127) / 128, 128>>>(m.input<float>(), m.output<float>(), p[0]);
           }},
          {"divergent",
           {"blocks"},
           [](const Memory& m, const int* p) {
             divergent<<<p[0], 128>>>(m.input<float>(), m.other<float2>(), m.output<float>());
           }},
          {"triangle",
           {"blocks"},
           [](const Memory& m, const int* p) {
             triangle<<<p[0], 64>>>(m.input<float>(), m.output<float>());
           }},
          {"odd_warps",
           {"blocks"},
           [](const Memory& m, const int* p) {
             odd_warps<<<p[0], 128>>>(m.input<float>(), m.output<float>());
           }},
          {"early_exit",
           {"blocks", "stay"},
           [](const Memory& m, const int* p) { early_exit<<<p[0], 96>>>(m.output<int>(), p[1]); }},
          {"full_block",
           {"blocks"},
           [](const Memory& m, const int* p) { full_block<<<p[0], 1024>>>(m.output<int>()); }},
          {"many_blocks",
           {"blocks", "slots"},
           [](const Memory& m, const int* p) { many_blocks<<<p[0], 32>>>(m.output<int>(), p[1]); }},
          {"large_shared",
           {"blocks", "kibibytes"},
           [](const Memory& m, const int* p) {
             const int bytes = 1024 * p[1];
             CHECK(cudaFuncSetAttribute(large_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
             large_shared<<<p[0], 1024, bytes>>>(m.output<int>(), bytes / 4);
           }},
      },
      argc, argv);
}
