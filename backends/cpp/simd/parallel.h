// needs:
// Thread teams on libgomp's own entry points: unlike `#pragma omp parallel` they work alike from g++ and clang++,
// on the one OpenMP runtime that torch has loaded. threads = 0 means as many as torch would use.
#include <algorithm>
#include <atomic>
#include <cstdint>
extern "C" {
void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags);
void GOMP_barrier(void);
int omp_get_thread_num(void);
int omp_get_num_threads(void);
int omp_get_max_threads(void);
}
inline int team_size(int threads) { return threads > 0 ? threads : omp_get_max_threads(); }

// body(thread, threads in the team), once on every thread.
template <class F> inline void team(int threads, F body) {
  if (team_size(threads) == 1) return body(0, 1);
  GOMP_parallel([](void* f) { (*static_cast<F*>(f))(omp_get_thread_num(), omp_get_num_threads()); }, &body, unsigned(threads), 0);
}
// body(begin, end) over [0, n): one even share for each thread.
template <class F> inline void parallel_static(int threads, int64_t n, F body) {
  team(int(std::min<int64_t>(team_size(threads), std::max<int64_t>(n, 1))), [&](int64_t t, int64_t of) { body(n * t / of, n * (t + 1) / of); });
}
// body(begin, end) over [0, n): chunks dealt out as threads come for them.
template <class F> inline void parallel_dynamic(int threads, int64_t n, int64_t chunk, F body) {
  std::atomic<int64_t> next{0};
  team(int(std::min<int64_t>(team_size(threads), std::max<int64_t>((n + chunk - 1) / chunk, 1))), [&](int, int) {
    for (int64_t i; (i = next.fetch_add(chunk, std::memory_order_relaxed)) < n;) body(i, std::min(i + chunk, n));
  });
}
