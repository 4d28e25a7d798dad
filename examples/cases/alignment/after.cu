// One warp a pair. It goes through the matrix tile by tile; in a tile each lane walks down a column, one row
// behind its neighbour, so that the warp is on an anti-diagonal.
#include "problem.h"

constexpr int kTile = 32;
constexpr int kPitch = kTile + 2;  // an odd distance along anti-diagonals

__global__ void align(const char* reads, const char* windows, int* scores) {
  __shared__ char read[kLength];
  __shared__ int tile[kTile + 1][kPitch];  // with the borders above and to the left
  const int lane = threadIdx.x;
  const size_t pair = blockIdx.x;
  int* matrix = scores + pair * kLength * kLength;
  for (int y = lane; y < kLength; y += kTile) read[y] = reads[pair * kLength + y];

  for (int top = 0; top < kLength; top += kTile) {
    for (int left = 0; left < kLength; left += kTile) {
      const char letter = windows[pair * kLength + left + lane];
      const int edge = left ? tile[lane + 1][kTile] : kGap * (top + lane + 1);
      const int start = left ? tile[0][kTile] : kGap * top;
      __syncwarp();
      tile[lane + 1][0] = edge;
      tile[0][lane + 1] = top ? matrix[(top - 1) * kLength + left + lane] : kGap * (left + lane + 1);
      if (lane == 0) tile[0][0] = start;
      __syncwarp();

      int corner = tile[0][lane], above = tile[0][lane + 1];
      for (int step = 0; step < 2 * kTile - 1; ++step) {
        const int y = step - lane;
        if (y >= 0 && y < kTile) {
          const int beside = tile[y + 1][lane];
          const int both = corner + (read[top + y] == letter ? kMatch : kMismatch);
          above = max(both, max(above, beside) + kGap);
          tile[y + 1][lane + 1] = above;
          corner = beside;
        }
        __syncwarp();
      }
      for (int y = 0; y < kTile; ++y) matrix[(top + y) * kLength + left + lane] = tile[y + 1][lane + 1];
    }
  }
}

int main(int argc, char** argv) {
  const Problem problem(argc, argv);
  const Array<char> reads(problem.reads), windows(problem.windows);
  const Array<int> scores(problem.scores());
  repeat(problem.times, [&] { align<<<problem.pairs, kTile>>>(reads.get(), windows.get(), scores.get()); });
  return problem.finish(scores.host());
}
