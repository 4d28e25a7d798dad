// C = A B with square tiles of 32 x 32 in shared memory.
//
//   matmul [n]             n a multiple of 32; K = n / 32, a grid of K x K blocks of 32 x 32 threads
//
// There are T = K^3 tile steps in all. A warp holds one row of a tile.
//
//   line     access            bytes by label
//   load_a   A, read           cold 4 n^2; the other K - 1 blocks of its row of blocks: grid 4 n^2 (K - 1)
//   load_b   B, read           the same, by columns
//   keep_a   tile of A, write  first step of a block: cold 4096 K^2. Later lane 31 of the writing warp was
//                              the last reader: thread 128 (T - K^2), warp_diff_inst 3968 (T - K^2)
//                              (from read_a)
//   keep_b   tile of B, write  cold 4096 K^2; later any warp was the last reader: thread or block
//                              4096 (T - K^2) (from read_b)
//   read_a   tile of A, read   all lanes read one word, 131072 T bytes. The lowest meets the lane that stored
//                              it, lane k: thread 128 T, warp_diff_inst 3968 T (from keep_a); the others:
//                              warp_same_inst 126976 T
//   read_b   tile of B, read   column and lane agree: thread or block 131072 T, by the order of the warps
//   store    C, write          cold 4 n^2
//
// Global accesses: 4 sectors. Shared: 1 wavefront for 4-byte accesses. How wide the compiler makes the reads
// of A (4, 8 or 16 bytes) changes executions, never bytes.
#include "common.h"

constexpr int kTile = 32;

__global__ void matmul(const float* a, const float* b, float* c, int n) {
  __shared__ float tile_a[kTile][kTile], tile_b[kTile][kTile];
  const int x = threadIdx.x, y = threadIdx.y;
  const int column = blockIdx.x * kTile + x, row = blockIdx.y * kTile + y;
  float sum = 0;
  for (int start = 0; start < n; start += kTile) {
    const float from_a = a[static_cast<size_t>(row) * n + start + x];     // @load_a
    const float from_b = b[static_cast<size_t>(start + y) * n + column];  // @load_b
    tile_a[y][x] = from_a;                                                // @keep_a
    tile_b[y][x] = from_b;                                                // @keep_b
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kTile; ++k) {
      const float left = tile_a[y][k];   // @read_a
      const float right = tile_b[k][x];  // @read_b
      sum += left * right;
    }
    __syncthreads();
  }
  c[static_cast<size_t>(row) * n + column] = sum;  // @store
}

int main(int argc, char** argv) {
  Arguments arguments(argc, argv);
  const int n = arguments.number("n", 64, kTile);
  arguments.done();

  const size_t size = static_cast<size_t>(n) * n;
  std::vector<float> a(size), b(size), expected(size, 0.0f);
  for (size_t i = 0; i < size; ++i) {
    a[i] = static_cast<float>(i % 13) - 6;  // small integers: the sums are exact in any order
    b[i] = static_cast<float>(i % 11) - 5;
  }
  for (int row = 0; row < n; ++row) {
    for (int k = 0; k < n; ++k) {
      for (int column = 0; column < n; ++column) {
        expected[static_cast<size_t>(row) * n + column] +=
            a[static_cast<size_t>(row) * n + k] * b[static_cast<size_t>(k) * n + column];
      }
    }
  }
  Array<float> left(a), right(b), product(size);
  matmul<<<dim3(n / kTile, n / kTile), dim3(kTile, kTile)>>>(left.get(), right.get(), product.get(), n);
  CHECK_KERNEL();
  return finish(agree("C", product.host(), expected));
}
