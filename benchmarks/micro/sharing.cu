// Lanes, warps and blocks at the same words of global memory: broadcast, multicast, colliding writes,
// atomics.
#include "micro.h"

__device__ int index() { return blockIdx.x * blockDim.x + threadIdx.x; }

// `share` neighbouring lanes read the same word.
__global__ void multicast(const float* input, float* output, int share) {
  const int i = index();
  const float value = input[i / 32 * 32 + i % 32 / share];  // @load
  output[i] = value;                                        // @store
}

// Words in no order, some of them for several lanes.
__global__ void squares(const float* input, float* output) {
  const int i = index(), lane = i % 32;
  const float value = input[i / 32 * 32 + lane * lane % 32];  // @load
  output[i] = value;                                          // @store
}

__global__ void wide_broadcast(const float4* input, float4* output) {
  const int i = index();
  output[i] = input[i / 32];  // @move
}

// One word for the whole grid.
__global__ void one_word(const float* input, float* output, int word) {
  const float value = input[word];  // @load
  output[index()] = value;          // @store
}

// All lanes of a warp write one word; lane 31 reads it, then all do.
__global__ void last_lane(int* output, int* other) {
  const int i = index();
  output[i / 32] = i;  // @collide
  __syncwarp();
  int value = 0;
  if (i % 32 == 31) value = output[i / 32];  // @last
  __syncwarp();
  value += output[i / 32];  // @all
  other[i] = value;         // @store
}

// Where to count is read from memory, so that the compiler cannot count in the warp beforehand. A warp a
// block.
__global__ void atomic_one(const int* input, int* output) {
  const int counter = input[index()];  // @load
  atomicAdd(&output[counter], 1);      // @add
}

__global__ void atomic_own(int* output) {
  atomicAdd(&output[threadIdx.x], 2);  // @add
}

// `share` neighbouring lanes add to the same word, and use what they get. A warp a block.
__global__ void atomic_share(int* output, int* other, int share) {
  const int i = index();
  const int before = atomicAdd(&output[i / 32 * 32 + i % 32 / share], i);  // @add
  other[i] = before;                                                       // @store
}

__global__ void atomic_double(double* output) {
  const int i = index();
  atomicAdd(&output[i ^ 1], 1.0);  // @add
  __syncwarp();
  atomicAdd(&output[i], 2.0);  // @add_again
}

__global__ void atomic_swap(unsigned long long* output, unsigned long long* other) {
  const int i = index();
  const unsigned long long before = atomicCAS(&output[i], 0ull, 1ull + i);  // @swap
  other[i] = before;                                                        // @store
}

// A counter in shared memory, in each round. A warp a block.
__global__ void atomic_shared(const int* input, int* output, int rounds) {
  __shared__ int counters[32];
  const int lane = threadIdx.x;
  const int counter = input[index()];  // @load
  counters[lane] = 0;                  // @clear
  __syncthreads();
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    atomicAdd(&counters[counter], lane);  // @add
  }
  __syncthreads();
  const int sum = counters[lane];  // @collect
  output[index()] = sum;           // @store
}

// The same counting ones, which has an instruction of its own.
__global__ void count_shared(const int* input, int* output) {
  __shared__ int counters[32];
  const int lane = threadIdx.x;
  const int counter = input[index()];  // @load
  counters[lane] = 0;                  // @clear
  __syncthreads();
  atomicAdd(&counters[counter], 1);  // @add
  __syncthreads();
  const int sum = counters[lane];  // @collect
  output[index()] = sum;           // @store
}

int main(int argc, char** argv) {
  return main_of(
      {
          {"multicast",
           {"blocks", "share"},
           [](const Memory& m, const int* p) {
             multicast<<<p[0], 128>>>(m.input<float>(), m.output<float>(), p[1]);
           }},
          {"squares",
           {"blocks"},
           [](const Memory& m, const int* p) {
             squares<<<p[0], 128>>>(m.input<float>(), m.output<float>());
           }},
          {"wide_broadcast",
           {"blocks"},
           [](const Memory& m, const int* p) {
             wide_broadcast<<<p[0], 128>>>(m.input<float4>(), m.output<float4>());
           }},
          {"one_word",
           {"blocks", "warps"},
           [](const Memory& m, const int* p) {
             one_word<<<p[0], 32 * p[1]>>>(m.input<float>(), m.output<float>(), 5);
           }},
          {"last_lane",
           {"blocks"},
           [](const Memory& m, const int* p) { last_lane<<<p[0], 128>>>(m.output<int>(), m.other<int>()); }},
          {"atomic_one",
           {"blocks"},
           [](const Memory& m, const int* p) { atomic_one<<<p[0], 32>>>(m.input<int>(), m.output<int>()); }},
          {"atomic_own",
           {"blocks"},
           [](const Memory& m, const int* p) { atomic_own<<<p[0], 128>>>(m.output<int>()); }},
          {"atomic_share",
           {"blocks", "share"},
           [](const Memory& m, const int* p) {
             atomic_share<<<p[0], 32>>>(m.output<int>(), m.other<int>(), p[1]);
           }},
          {"atomic_double",
           {"blocks"},
           [](const Memory& m, const int* p) { atomic_double<<<p[0], 128>>>(m.output<double>()); }},
          {"atomic_swap",
           {"blocks"},
           [](const Memory& m, const int* p) {
             atomic_swap<<<p[0], 128>>>(m.output<unsigned long long>(), m.other<unsigned long long>());
           }},
          {"atomic_shared",
           {"blocks", "rounds"},
           [](const Memory& m, const int* p) {
             atomic_shared<<<p[0], 32>>>(m.input<int>(), m.output<int>(), p[1]);
           }},
          {"count_shared",
           {"blocks"},
           [](const Memory& m, const int* p) {
             count_shared<<<p[0], 32>>>(m.input<int>(), m.output<int>());
           }},
      },
      argc, argv);
}
