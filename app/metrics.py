"""What the software profile's metrics mean, one line each with its unit, for `pragma profile`."""

from __future__ import annotations

MEANINGS: dict[str, tuple[str, str]] = {
    "wall_ms": ("ms", "time of one call by the clock on the wall"),
    "cpu_ms": ("ms", "processor time of one call over all threads"),
    "threads": ("", "threads the process may use"),
    "cpu_utilisation": ("", "cpu / (wall x threads): 1 means every thread was busy all the time"),
    "minor_faults": ("/call", "pages mapped without disk: first touches of fresh memory"),
    "major_faults": ("/call", "pages read from disk: should be 0"),
    "voluntary_switches": ("/call", "times a thread gave up the core to wait"),
    "involuntary_switches": ("/call", "times the scheduler took the core away: a busy machine"),
    "gbs": ("GB/s", "compulsory bytes (inputs, weights, outputs once) per second of wall time"),
    "gflops": ("GFLOP/s", "the sketch's floating-point operations per second of wall time"),
    "pct_triad": ("%", "share of the measured memory ceiling"),
    "pct_fma": ("%", "share of the measured arithmetic ceiling"),
    "arithmetic_intensity": ("FLOP/B", "operations per compulsory byte: low is memory-bound, high is compute-bound"),
    "loops_vectorised": ("", "loops the compiler reports as vectorised"),
    "loops_missed": ("", "loops the compiler reports as not vectorised"),
    "packed_pct": ("%", "share of packed instructions among the floating-point ones in the built object"),
    "triad_gbs": ("GB/s", "memory ceiling: a streaming triad on this machine"),
    "fma_gflops": ("GFLOP/s", "arithmetic ceiling: fused multiply-adds on this machine"),
    "fma_count": ("", "fused multiply-add instructions in the built object"),
    "division_count": ("", "division and square-root instructions in the built object"),
    "streaming_stores": ("", "stores that bypass the caches in the built object"),
    "vector_bytes": ("B", "widest vector register the built object uses"),
    "read_gbs": ("GB/s", "memory ceiling of reading alone"),
    "l2_gbs": ("GB/s", "ceiling of data that stay in the second-level cache"),
    "parallel_region_us": ("us", "cost of opening and closing one parallel region"),
    "page_fault_us": ("us", "cost of the first touch of one page"),
    "load_average": ("", "how busy the machine was while the ceilings were measured"),
    "cores": ("", "cores the ceilings used"),
}


def meaning(metric: str) -> tuple[str, str]:
    """Unit and one-line meaning; two empty strings for a metric nobody described."""
    return MEANINGS.get(metric, ("", ""))
