"""What this machine can do at most, measured by a compiled program in a process of its own (an OpenMP team must not live here:
workers are forked). Kept in PRAGMA_HOME/ceilings.json under a fingerprint of processor, cores and compiler.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from backends.cpp import loader, simd

LIMIT_S = 60.0
MEMORY_CAP = 1 << 30  # bytes of all three arrays together
# In the order in which the program writes them.
NAMES = (
    "triad_gbs", "triad_core_gbs", "read_gbs", "read_core_gbs", "l2_gbs", "l2_core_gbs", "fma_gflops", "fma_core_gflops",
    "fma_f64_gflops", "fma_f64_core_gflops", "parallel_region_us", "page_fault_us",
)  # fmt: skip

PROGRAM = r"""
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
constexpr int F = NATIVE_BYTES / 4;
using V = Vec<float, F>;
static double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
template <class B> static double best(int rounds, B body) {
  double least = 1e9, first = now();
  for (int r = 0; r < rounds && (r < 2 || now() - first < 0.15); r++) {
    double start = now();
    body();
    least = std::min(least, now() - start);
  }
  return least;
}
static float* mapped(size_t bytes) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p == MAP_FAILED ? nullptr : static_cast<float*>(p);
}
// a = b + s c past the caches: three streams, nothing is read for ownership.
static void triad(int cores, float* a, const float* b, const float* c, int64_t n) {
  parallel_static(cores, n / F, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * F; i < end * F; i += F) stream(a + i, ld<V>(b + i) + ld<V>(c + i) * 3.0f);
    sfence();
  });
}
static void read_all(int cores, const float* a, int64_t n, float* out) {
  parallel_static(cores, n / (8 * F), [&](int64_t begin, int64_t end) {
    V sum[8] = {};
    for (int64_t i = begin * 8 * F; i < end * 8 * F; i += 8 * F) for (int u = 0; u < 8; u++) sum[u] += ld<V>(a + i + u * F);
    for (int u = 1; u < 8; u++) sum[0] += sum[u];
    out[16 * omp_get_thread_num()] = hsum(sum[0]);
  });
}
// x = x s + y on arrays that stay in one core's L2: three streams again.
static double l2(int cores, int64_t n, int rounds) {
  double seconds = best(12, [&] {
    team(cores, [&](int, int) {
      static thread_local float* x = mapped(size_t(n) * 8);
      float* y = x + n;
      for (int r = 0; r < rounds; r++) for (int64_t i = 0; i < n; i += F) st(x + i, ld<V>(x + i) * 0.999f + ld<V>(y + i));
    });
  });
  return 12.0 * n * rounds * cores / seconds / 1e9;
}
template <class T> static double fma(int cores, float* out) {
  using W = Vec<T, NATIVE_BYTES / sizeof(T)>;
  constexpr int rounds = 400000, chains = 12;
  double seconds = best(40, [&] {
    team(cores, [&](int t, int) {
      W acc[chains], m = bc<W>(T(0.999)), add = bc<W>(T(out[16 * t]));
      for (auto& a : acc) a = add;
      for (int r = 0; r < rounds; r++) {
#pragma GCC unroll 12
        for (int u = 0; u < chains; u++) acc[u] = acc[u] * m + add;
      }
      for (int u = 1; u < chains; u++) acc[0] += acc[u];
      out[16 * t] = float(hsum(acc[0])) * 0;
    });
  });
  return 2.0 * rounds * chains * lanes<W> * cores / seconds / 1e9;
}
static double fault(size_t bytes) {
  return best(4, [&] {
    char* p = reinterpret_cast<char*>(mapped(bytes));
    if (!p) return;
    madvise(p, bytes, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < bytes; i += 4096) p[i] = 1;
    munmap(p, bytes);
  }) / (bytes / 4096.0) * 1e6;
}
extern "C" void pragma_kernel(void** t) {
  const int64_t* in = static_cast<const int64_t*>(t[0]);  // floats of one array, cores, floats of an L2 array
  double* out = static_cast<double*>(t[1]);
  const int64_t n = in[0] / 4096 * 4096;
  const int cores = int(in[1]);
  float *a = mapped(n * 4), *b = mapped(n * 4), *c = mapped(n * 4), *spot = static_cast<float*>(std::calloc(16 * cores, 4));
  for (float* p : {a, b, c}) madvise(p, n * 4, MADV_HUGEPAGE);
  parallel_static(cores, n, [&](int64_t begin, int64_t end) { for (int64_t i = begin; i < end; i++) a[i] = b[i] = c[i] = 1; });
  const int64_t part = n / 2 / 4096 * 4096;  // one core takes longer
  *out++ = 12.0 * n / best(8, [&] { triad(cores, a, b, c, n); }) / 1e9;
  *out++ = 12.0 * part / best(4, [&] { triad(1, a, b, c, part); }) / 1e9;
  *out++ = 4.0 * n / best(6, [&] { read_all(cores, b, n, spot); }) / 1e9;
  *out++ = 4.0 * part / best(4, [&] { read_all(1, b, part, spot); }) / 1e9;
  *out++ = l2(cores, in[2], int(4000000 / in[2] + 1));
  *out++ = l2(1, in[2], int(4000000 / in[2] + 1));
  *out++ = fma<float>(cores, spot);
  *out++ = fma<float>(1, spot);
  *out++ = fma<double>(cores, spot);
  *out++ = fma<double>(1, spot);
  *out++ = best(5000, [&] { team(cores, [](int, int) {}); }) * 1e6;
  *out++ = fault(32 << 20);
}
"""

CALLER = """
import ctypes, json, sys
path, cores, *given = sys.argv[1:]
numbers = (ctypes.c_int64 * 3)(int(given[0]), int(cores), int(given[1]))
out = (ctypes.c_double * 12)()
ctypes.CDLL(path).pragma_kernel((ctypes.c_void_p * 2)(ctypes.addressof(numbers), ctypes.addressof(out)))
print(json.dumps(list(out)))
"""


def ceilings(remeasure: bool = False) -> dict[str, float]:
    """Decimal GB/s, GFLOP/s and microseconds; `*_core_*` is one core alone. RuntimeError when there is no compiler.

    What was measured on a busy machine is measured once more when it is calmer, and the better figures are kept.
    """
    key, path = _fingerprint(), _home() / "ceilings.json"
    kept = _kept(path)
    known = kept.get(key)
    if remeasure or not known:
        kept[key] = _measure()
    elif known["load_average"] > known["cores"] and _load() < known["load_average"] / 2:
        kept[key] = _better(known, _measure())
    if kept[key] is not known:
        _keep(path, kept)
    return kept[key]


def _better(old: dict[str, float], new: dict[str, float]) -> dict[str, float]:
    """A ceiling is the best ever seen: the highest rates, the shortest times."""
    return {**new, **{name: (min if name.endswith("_us") else max)(old[name], new[name]) for name in NAMES}}


def _load() -> float:
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _fingerprint() -> str:
    text = "\0".join((loader.cpu(), str(cores()), loader.compiler()[1], PROGRAM))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _home() -> Path:
    return Path(os.environ.get("PRAGMA_HOME") or "~/.pragma").expanduser().absolute()


def _kept(path: Path) -> dict[str, dict[str, float]]:
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _keep(path: Path, table: dict[str, dict[str, float]]) -> None:
    """Whole or not at all; a home that cannot be written costs only the next measurement."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
            json.dump(table, file, indent=1)
        Path(file.name).replace(path)
    except OSError:
        return


def _measure() -> dict[str, float]:
    source = simd.text(("core", "mem", "stream", "reduce", "parallel")) + PROGRAM
    busy = _load()
    path = loader.built(source, loader.all_flags())
    l2, llc = cache_bytes()
    array = min(max(2 * llc, 64 << 20), MEMORY_CAP // 3, _available() // 6)
    command = [sys.executable, "-c", CALLER, str(path), str(cores()), str(array // 4), str(l2 // 4 // 8 // 64 * 64)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    if done.returncode:
        raise RuntimeError(f"measuring the ceilings failed: {done.stderr.strip()[-200:] or done.returncode}")
    measured = {name: round(value, 4) for name, value in zip(NAMES, json.loads(done.stdout), strict=True)}
    for name in (n for n in NAMES if "_core_" in n):  # on a busy machine one core alone may do more than the team
        together = name.replace("_core_", "_")
        measured[together] = max(measured[together], measured[name])
    return {**measured, "cores": cores(), "l2_bytes": l2, "llc_bytes": llc, "triad_array_bytes": array, "load_average": busy}


def cache_bytes() -> tuple[int, int]:
    """(one core's L2, the last level), by the operating system's word, else 1 MiB and 32 MiB."""
    sizes = {2: 1 << 20, 3: 32 << 20}
    for index in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        try:
            level, size = int((index / "level").read_text()), (index / "size").read_text().strip()
            sizes[level] = int(size.rstrip("KM")) << {"K": 10, "M": 20}.get(size[-1], 0)
        except (OSError, ValueError):
            continue
    return sizes[2], max(sizes[2], sizes[3])


def _available() -> int:
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
