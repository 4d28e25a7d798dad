// Transpose through a tile in shared memory, once with rows of 32 words (a column lies in one bank) and once
// with rows of 33.
//
//   transpose [n]          n a multiple of 32; (n / 32)^2 blocks of 32 x 8 threads, 4 rows a thread
//
//   line     access          bytes by label
//   load     input, read     cold 4 n^2
//   keep     tile, write     cold 4 n^2
//   turn     tile, read      once for each word. Of the 32 words of a column this warp wrote 4 (rows y,
//                            y + 8, y + 16, y + 24), this thread one of them: of every 128 bytes thread 4,
//                            warp_diff_inst 12, block 112 (from keep)
//   store    output, write   cold 4 n^2
//
// Global accesses: 4 sectors. keep: 1 wavefront. turn: 32 wavefronts unpadded (ratio 32), 1 padded.
#include "common.h"

constexpr int kTile = 32, kRows = 8;

template <int kPadding>
__device__ void turn_tile(const float* input, float* output, int n) {
  __shared__ float tile[kTile][kTile + kPadding];
  const int x = threadIdx.x, y = threadIdx.y;
  const int left = blockIdx.x * kTile, top = blockIdx.y * kTile;
#pragma unroll 1
  for (int row = y; row < kTile; row += kRows) {
    const float value = input[static_cast<size_t>(top + row) * n + left + x];  // @load
    tile[row][x] = value;                                                      // @keep
  }
  __syncthreads();
#pragma unroll 1
  for (int row = y; row < kTile; row += kRows) {
    const float value = tile[x][row];                               // @turn
    output[static_cast<size_t>(left + row) * n + top + x] = value;  // @store
  }
}

__global__ void transpose_unpadded(const float* input, float* output, int n) {
  turn_tile<0>(input, output, n);
}

__global__ void transpose_padded(const float* input, float* output, int n) { turn_tile<1>(input, output, n); }

int main(int argc, char** argv) {
  Arguments arguments(argc, argv);
  const int n = arguments.number("n", 64, kTile);
  arguments.done();

  const size_t size = static_cast<size_t>(n) * n;
  std::vector<float> values(size), expected(size);
  for (size_t i = 0; i < size; ++i) values[i] = static_cast<float>(i);
  for (size_t i = 0; i < size; ++i) expected[i % n * n + i / n] = values[i];
  Array<float> input(values), unpadded(size), padded(size);
  const dim3 grid(n / kTile, n / kTile), block(kTile, kRows);
  transpose_unpadded<<<grid, block>>>(input.get(), unpadded.get(), n);
  transpose_padded<<<grid, block>>>(input.get(), padded.get(), n);
  CHECK_KERNEL();
  const bool good = agree("unpadded", unpadded.host(), expected) && agree("padded", padded.host(), expected);
  return finish(good);
}
