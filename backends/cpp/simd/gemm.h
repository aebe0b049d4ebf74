// needs: core, mem, half, parallel
// C = A B by tiles: each tile packs a block of B, then blocks of A, multiplies them in registers (MR rows by NV vectors),
// keeps its partial sums in a buffer of its own over all of K, and hands finished rows to an epilogue.
#include <cstdlib>
#include <memory>

struct Operand { int64_t row, column; };  // strides of A over (m, k) or of B over (k, n)
struct Tile { int64_t m, n, k; };

// acc[MR][NV] over `depth` steps of packed panels; `first` overwrites C, later calls add to it.
template <class V, int MR, int NV> INLINE void micro(int64_t depth, const float* a, const float* b, float* c, int64_t ldc, bool first) {
  V acc[MR][NV] = {};
#pragma GCC unroll 4
  for (int64_t k = 0; k < depth; ++k) {
    V right[NV];
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j) right[j] = ld<V>(b + (k * NV + j) * lanes<V>);
#pragma GCC unroll 16
    for (int i = 0; i < MR; ++i) {
      const V left = bc<V>(a[k * MR + i]);
#pragma GCC unroll 8
      for (int j = 0; j < NV; ++j) acc[i][j] = acc[i][j] + left * right[j];
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < MR; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j) {
      float* at = c + i * ldc + j * lanes<V>;
      st(at, first ? acc[i][j] : acc[i][j] + ld<V>(at));
    }
}

// Panels of P rows: out[panel][k][row], short panels filled with zeros.
template <int P, class S> inline void pack(const S* from, int64_t rows, int64_t depth, int64_t row_step, int64_t k_step, float* out) {
  for (int64_t r = 0; r < rows; r += P) {
    const int64_t count = std::min<int64_t>(P, rows - r);
    const S* base = from + r * row_step;
    if (count == P && row_step == 1) {
      for (int64_t k = 0; k < depth; ++k, out += P)
        for (int i = 0; i < P; ++i) out[i] = ld<float>(base + k * k_step + i);
    } else if (count == P) {
      for (int64_t k0 = 0; k0 < depth; k0 += 16) {  // 16 steps of each row at a time: whole cache lines are read
        const int64_t steps = std::min<int64_t>(16, depth - k0);
        for (int i = 0; i < P; ++i)
          for (int64_t k = 0; k < steps; ++k) out[k * P + i] = ld<float>(base + i * row_step + (k0 + k) * k_step);
        out += steps * P;
      }
    } else {
      for (int64_t k = 0; k < depth; ++k, out += P)
        for (int i = 0; i < P; ++i) out[i] = i < count ? ld<float>(base + i * row_step + k * k_step) : 0.0f;
    }
  }
}

inline int64_t rounded(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

template <class V, int MR, int NV> struct Product {
  static constexpr int64_t NR = NV * lanes<V>, ROWS = MR * 12;  // rows of A packed at a time
  Tile size, tile;

  // Tiles shrink until every thread has work.
  void fit(int threads, int64_t batches) {
    tile.m = std::min(rounded(size.m, MR), rounded(tile.m, MR));
    tile.n = std::min(rounded(size.n, NR), rounded(tile.n, NR));
    auto count = [&] { return batches * ((size.m + tile.m - 1) / tile.m) * ((size.n + tile.n - 1) / tile.n); };
    while (count() < threads && (tile.m > 2 * MR || tile.n > NR)) {
      if (tile.m / MR >= tile.n / NR) tile.m = rounded(tile.m / 2, MR);
      else tile.n = rounded(tile.n / 2, NR);
    }
  }
  template <class SA, class SB> void block(const SA* a, Operand sa, const SB* b, Operand sb, int64_t m, int64_t n, float* pa, float* pb, float* c) const {
    for (int64_t k = 0; k < size.k; k += tile.k) {
      const int64_t depth = std::min(tile.k, size.k - k);
      pack<int(NR)>(b + k * sb.row, n, depth, sb.column, sb.row, pb);
      for (int64_t r = 0; r < m; r += ROWS) {
        const int64_t rows = std::min(ROWS, m - r);
        pack<MR>(a + k * sa.column + r * sa.row, rows, depth, sa.row, sa.column, pa);
        for (int64_t j = 0; j < n; j += NR)
          for (int64_t i = 0; i < rows; i += MR)
            micro<V, MR, NV>(depth, pa + i * depth, pb + j * depth, c + (r + i) * tile.n + j, tile.n, k == 0);
      }
    }
  }
};

// start(batch) gives the operands' first elements; done(batch, m, n, count, row) takes `count` finished elements of one row.
template <class V, int MR, int NV, class Start, class Done>
void gemm(int threads, bool dynamic, int64_t batches, Tile size, Tile tile, Operand sa, Operand sb, Start start, Done done) {
  Product<V, MR, NV> p{size, tile};
  p.fit(team_size(threads), batches);
  const int64_t columns = (size.n + p.tile.n - 1) / p.tile.n, rows = (size.m + p.tile.m - 1) / p.tile.m;
  auto run = [&](int64_t begin, int64_t end) {
    const int64_t depth = std::min(size.k, p.tile.k);
    float* memory = static_cast<float*>(scratch<100>(sizeof(float) * (depth * (p.ROWS + p.tile.n) + p.tile.m * p.tile.n)));
    float *pb = memory, *c = pb + depth * p.tile.n, *pa = c + p.tile.m * p.tile.n;
    for (int64_t t = begin; t < end; ++t) {
      const int64_t batch = t / (columns * rows), m = t / columns % rows * p.tile.m, n = t % columns * p.tile.n;
      const int64_t high = std::min(p.tile.m, size.m - m), wide = std::min(p.tile.n, size.n - n);
      const auto [a, b] = start(batch);
      p.block(a + m * sa.row, sa, b + n * sb.column, sb, high, wide, pa, pb, c);
      for (int64_t i = 0; i < high; ++i) done(batch, m + i, n, wide, c + i * p.tile.n);
    }
  };
  if (dynamic) parallel_dynamic(threads, batches * rows * columns, 1, run);
  else parallel_static(threads, batches * rows * columns, run);
}
