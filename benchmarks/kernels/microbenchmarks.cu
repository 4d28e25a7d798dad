// Six kernels whose cost under observation is measured: what they do to memory differs most.
//
//   microbenchmarks [--repeat N] [--shrink N] [NAME...]
//
// Prints a JSON object a line: the kernel and the mean milliseconds of its launches after the first, by CUDA
// events. --shrink divides the work by about N.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace {

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "microbenchmarks: %s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

// Streams 16 bytes a lane.
__global__ void copy(const float4* from, float4* to, size_t count) {
  const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
  for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < count; i += step)
    to[i] = from[i];
}

// Reuse at every scope up to the block: own word twice, the warp's first, a neighbour's in the warp, in the
// next warp, in the next block's share.
__global__ void reuse(const volatile float* values, float* sums) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = values[i] + values[i];
  sum += values[i / 32 * 32];
  sum += values[i ^ 1];
  sum += values[i ^ 32];
  sum += values[i ^ blockDim.x];
  sums[i] = sum;
}

// A row a block, staged in shared memory.
__global__ void softmax(const float* rows, float* result, int columns) {
  extern __shared__ float row[];
  __shared__ float partial[32];
  const float* in = rows + static_cast<size_t>(blockIdx.x) * columns;
  float* out = result + static_cast<size_t>(blockIdx.x) * columns;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
  float largest = -3.0e38f;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    row[i] = in[i];
    largest = fmaxf(largest, row[i]);
  }
  for (int distance = 16; distance != 0; distance /= 2)
    largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, distance));
  if (lane == 0) partial[warp] = largest;
  __syncthreads();
  largest = lane < warps ? partial[lane] : -3.0e38f;
  for (int distance = 16; distance != 0; distance /= 2)
    largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, distance));
  __syncthreads();
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    row[i] = __expf(row[i] - largest);
    sum += row[i];
  }
  for (int distance = 16; distance != 0; distance /= 2) sum += __shfl_xor_sync(~0u, sum, distance);
  if (lane == 0) partial[warp] = sum;
  __syncthreads();
  sum = lane < warps ? partial[lane] : 0;
  for (int distance = 16; distance != 0; distance /= 2) sum += __shfl_xor_sync(~0u, sum, distance);
  for (int i = threadIdx.x; i < columns; i += blockDim.x) out[i] = row[i] / sum;
}

// Loads that lie anywhere.
__global__ void gather(const double* table, double* sums, unsigned size, int loads) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned at = i * 2654435761u + 12345u;
  double sum = 0;
  for (int k = 0; k < loads; ++k) {
    at = at * 1664525u + 1013904223u;
    sum += table[(at >> 4) % size];
  }
  sums[i] = sum;
}

// Every lane adds to one of few counters.
__global__ void histogram(const unsigned* values, unsigned* counters) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(counters + (values[i] & 1023), 1u);
}

constexpr int kTile = 32;

// Tiles of both matrices in shared memory.
__global__ void gemm(const float* a, const float* b, float* c, int size) {
  __shared__ float left[kTile][kTile], right[kTile][kTile];
  const int column = blockIdx.x * kTile + threadIdx.x, row = blockIdx.y * kTile + threadIdx.y;
  float sum = 0;
  for (int k = 0; k < size; k += kTile) {
    left[threadIdx.y][threadIdx.x] = a[static_cast<size_t>(row) * size + k + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = b[static_cast<size_t>(k + threadIdx.y) * size + column];
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
    __syncthreads();
  }
  c[static_cast<size_t>(row) * size + column] = sum;
}

struct Benchmark {
  const char* name;
  std::function<void()> launch;
};

}  // namespace

int main(int argc, char** argv) {
  int repeat = 3;
  unsigned shrink = 1;
  std::vector<std::string> wanted;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--repeat" && i + 1 < argc)
      repeat = std::atoi(argv[++i]);
    else if (word == "--shrink" && i + 1 < argc)
      shrink = static_cast<unsigned>(std::atoi(argv[++i]));
    else
      wanted.push_back(word);
  }
  if (repeat < 1 || shrink < 1) {
    std::fprintf(stderr, "microbenchmarks: --repeat and --shrink need a number from 1\n");
    return 2;
  }
  constexpr size_t kFloats = size_t{1} << 26;
  float *a, *b, *c;
  check(cudaMalloc(&a, kFloats * sizeof(float)), "memory");
  check(cudaMalloc(&b, kFloats * sizeof(float)), "memory");
  check(cudaMalloc(&c, kFloats * sizeof(float)), "memory");
  check(cudaMemset(a, 0, kFloats * sizeof(float)), "memory");
  check(cudaMemset(b, 0, kFloats * sizeof(float)), "memory");
  check(cudaMemset(c, 0, kFloats * sizeof(float)), "memory");
  int multiprocessors = 0;
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0), "device");
  int size = 2048;
  for (unsigned by = shrink; by >= 8 && size > 128; by /= 8) size /= 2;
  constexpr int kColumns = 4096;
  const std::vector<Benchmark> benchmarks = {
      {"copy",
       [&] {
         copy<<<multiprocessors * 8, 512>>>(reinterpret_cast<float4*>(a), reinterpret_cast<float4*>(b),
                                            kFloats / 4 / shrink);
       }},
      {"reuse", [&] { reuse<<<65536 / shrink, 256>>>(a, b); }},
      {"softmax", [&] { softmax<<<16384 / shrink, 1024, kColumns * sizeof(float)>>>(a, b, kColumns); }},
      {"gather",
       [&] {
         gather<<<4096 / shrink, 256>>>(reinterpret_cast<double*>(a), reinterpret_cast<double*>(b), 1u << 23,
                                        64);
       }},
      {"histogram",
       [&] {
         histogram<<<65536 / shrink, 256>>>(reinterpret_cast<unsigned*>(a), reinterpret_cast<unsigned*>(c));
       }},
      {"gemm",
       [&] {
         const dim3 blocks(static_cast<unsigned>(size / kTile), static_cast<unsigned>(size / kTile));
         gemm<<<blocks, dim3(kTile, kTile)>>>(a, b, c, size);
       }},
  };
  cudaEvent_t start, stop;
  check(cudaEventCreate(&start), "events");
  check(cudaEventCreate(&stop), "events");
  for (const Benchmark& benchmark : benchmarks) {
    bool run = wanted.empty();
    for (const std::string& name : wanted) run = run || name == benchmark.name;
    if (!run) continue;
    benchmark.launch();
    check(cudaDeviceSynchronize(), benchmark.name);
    check(cudaEventRecord(start), "events");
    for (int i = 0; i < repeat; ++i) benchmark.launch();
    check(cudaEventRecord(stop), "events");
    check(cudaDeviceSynchronize(), benchmark.name);
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start, stop), "events");
    std::printf("{\"kernel\": \"%s\", \"milliseconds\": %.4f}\n", benchmark.name,
                static_cast<double>(milliseconds / static_cast<float>(repeat)));
    std::fflush(stdout);
  }
  return 0;
}
