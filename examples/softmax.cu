// Softmax of each row, one block a row. One shared allocation holds two buffers that are used in different
// ways: a broadcast buffer (a word for each warp, written by one thread, read by all others) and a
// thread-private one (the row: one thread only ever touches a word).
//
//   softmax [rows [columns]] [--racy]     R rows, C columns (a multiple of 256), blocks of W = 8 warps
//
// --racy leaves out the barrier between the two reductions, so a fast warp overwrites its word of the
// broadcast buffer while a slow one has yet to read the old value. Its result is not checked.
//
//   line            access                  bytes by label (no race)
//   load            input, read             cold 4 R C
//   keep            row buffer, write       cold 4 R C
//   greatest_store  broadcast, write        cold 4 R W
//   greatest_load   broadcast, read         all lanes read one word, of each other warp: block 4 R W (from
//                                           greatest_store) and 4 R W (W - 2) (from greatest_load),
//                                           warp_same_inst 124 R W (W - 1)
//   again           row buffer, read        thread 4 R C (from keep)
//   exponential     row buffer, write       thread 4 R C (from again)
//   sum_store       broadcast, write        block 4 R W (from greatest_load)
//   sum_load        broadcast, read         like greatest_load (from sum_store, sum_load)
//   last            row buffer, read        thread 4 R C (from exponential)
//   store           output, write           cold 4 R C
//
// Barriers order every cross-thread edge that has a write on it: `unordered` is 0. With --racy each of the
// R W words has one or two unordered edges of 4 bytes between sum_store and greatest_load: the write meets a
// read of its own epoch, or a read meets the write.
// Row accesses: 4 sectors, 1 wavefront. Broadcast reads: 1 word, 1 wavefront. Loops stay rolled, so a line is
// one instruction.
#include "common.h"

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr unsigned kAllLanes = ~0u;

__device__ float warp_max(float value) {
  for (int distance = 16; distance > 0; distance /= 2) {
    value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, distance));
  }
  return value;
}

__device__ float warp_sum(float value) {
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(kAllLanes, value, distance);
  return value;
}

template <bool kRacy>
__device__ void row_softmax(const float* input, float* output, int columns) {
  extern __shared__ float storage[];
  float* partial = storage;   // the broadcast buffer, one word a warp
  float* row = storage + 32;  // the thread-private buffer
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  input += static_cast<size_t>(blockIdx.x) * columns;
  output += static_cast<size_t>(blockIdx.x) * columns;

  float greatest = -INFINITY;
#pragma unroll 1
  for (int column = threadIdx.x; column < columns; column += kThreads) {
    const float value = input[column];  // @load
    row[column] = value;                // @keep
    greatest = fmaxf(greatest, value);
  }
  greatest = warp_max(greatest);
  if (lane == 0) partial[warp] = greatest;  // @greatest_store
  __syncthreads();
#pragma unroll 1
  for (int other = 1; other < kWarps; ++other) {
    greatest = fmaxf(greatest, partial[(warp + other) % kWarps]);  // @greatest_load
  }
  if (!kRacy) __syncthreads();

  float sum = 0;
#pragma unroll 1
  for (int column = threadIdx.x; column < columns; column += kThreads) {
    const float kept = row[column];  // @again
    const float value = expf(kept - greatest);
    row[column] = value;  // @exponential
    sum += value;
  }
  sum = warp_sum(sum);
  if (lane == 0) partial[warp] = sum;  // @sum_store
  __syncthreads();
#pragma unroll 1
  for (int other = 1; other < kWarps; ++other) {
    sum += partial[(warp + other) % kWarps];  // @sum_load
  }
#pragma unroll 1
  for (int column = threadIdx.x; column < columns; column += kThreads) {
    const float value = row[column];  // @last
    output[column] = value / sum;     // @store
  }
}

__global__ void softmax(const float* input, float* output, int columns) {
  row_softmax<false>(input, output, columns);
}

__global__ void softmax_racy(const float* input, float* output, int columns) {
  row_softmax<true>(input, output, columns);
}

int main(int argc, char** argv) {
  Arguments arguments(argc, argv);
  const bool racy = arguments.flag("racy");
  const int rows = arguments.number("rows", 8);
  const int columns = arguments.number("columns", 1024, kThreads);
  arguments.done();

  const size_t size = static_cast<size_t>(rows) * columns;
  std::vector<float> values(size), expected(size);
  for (size_t i = 0; i < size; ++i) values[i] = static_cast<float>(i * 7919 % 1009) / 100;
  for (int row = 0; row < rows; ++row) {
    const float* from = &values[static_cast<size_t>(row) * columns];
    float greatest = from[0];
    for (int column = 0; column < columns; ++column) greatest = std::fmax(greatest, from[column]);
    double sum = 0;
    for (int column = 0; column < columns; ++column) sum += std::exp(from[column] - greatest);
    for (int column = 0; column < columns; ++column) {
      expected[static_cast<size_t>(row) * columns + column] =
          static_cast<float>(std::exp(from[column] - greatest) / sum);
    }
  }
  Array<float> input(values), output(size);
  const size_t shared = (32 + static_cast<size_t>(columns)) * sizeof(float);
  if (racy) {
    softmax_racy<<<rows, kThreads, shared>>>(input.get(), output.get(), columns);
  } else {
    softmax<<<rows, kThreads, shared>>>(input.get(), output.get(), columns);
  }
  CHECK_KERNEL();
  return finish(racy || agree("output", output.host(), expected, 1e-5));
}
