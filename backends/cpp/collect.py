"""The software tier of a CPU profile: what the operating system counts, what the compiler and the disassembly say, and how far
the ceilings are. A number that could not be had is None, never 0.
"""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from backends.cpp import build

LIMIT_S = 30.0
PROBE_S = 5.0
REMARKS = 10
SOFTWARE = "cpu-software"
_INSTRUCTION = re.compile(r"^\s+[0-9a-f]+:\s+(?:(?:lock|rep|repz|data16|notrack|bnd|cs)\s+)*([a-z][a-z0-9.]*)(.*)$")
_X86_FLOAT = re.compile(
    r"v?(?:add|sub|mul|div|sqrt|max|min|fn?m(?:add|sub|addsub|subadd)\d*|rcp\d*|rsqrt\d*|cmp\w*|rndscale|scalef)([ps])[sdh]$"
)
_ARM_FLOAT = re.compile(r"f(?:n?m(?:add|sub|la|ls|ul)|add|sub|div|sqrt|max|min|maxnm|minnm)$")
_FMA = re.compile(r"vfn?m(?:add|sub)|fn?m(?:add|sub|la|ls)$")
_DIVIDE = re.compile(r"v?(?:div|sqrt)[ps][sdh]$|f(?:div|sqrt)$|i?div[lq]?$|[su]div$")
_STREAMED = re.compile(r"v?movnt(?:ps|pd|dq|i)$|stnp$")
_SIZES = (("zmm", 64), ("ymm", 32), ("xmm", 16))


def static(source: str) -> dict[str, Any]:
    """What a candidate's C++ shows without running: loops, remarks (missed first) and the instruction mix of the built object."""
    loops = build.remarks(source)
    missed = [r for r in loops if r["kind"] == "missed"]
    ordered = [*missed, *(r for r in loops if r["kind"] != "missed")]
    told = [
        f"{r['kind']}, line {r['line']}" + (f" in {r['function']}" if r["function"] else "") + f": {r['message']}" for r in ordered
    ]
    asked = bool(build.cpp_of(source)) and build.compiler() is not None
    return {
        "loops_vectorised": len(loops) - len(missed) if asked else None,
        "loops_missed": len(missed) if asked else None,
        "remarks": told[:REMARKS],
        **_object(source),
    }


def _object(source: str) -> dict[str, Any]:
    nothing = dict.fromkeys(("packed_pct", "fma_count", "division_count", "streaming_stores", "vector_bytes", "instruction_mix"))
    made = build.build(source) if build.cpp_of(source) else None
    listing = _disassembly(made.path) if made and made.path else None
    return {**nothing, **(mix(listing) if listing else {})}


def _disassembly(path: Path) -> str | None:
    """The text section by objdump; None where there is no objdump."""
    if not (tool := shutil.which("objdump")):
        return None
    try:
        done = build.bounded([tool, "-d", "--no-show-raw-insn", "-j", ".text", str(path)], LIMIT_S)
    except (subprocess.TimeoutExpired, OSError):
        return None
    return done.stdout if done.returncode == 0 else None


def mix(listing: str) -> dict[str, Any]:
    """Static counts of a disassembly; `packed_pct` is the packed share of its floating-point arithmetic, None without any."""
    count: Counter[str] = Counter()
    for line in listing.splitlines():
        if not (found := _INSTRUCTION.match(line)):
            continue
        name, operands = found.groups()
        count["instructions"] += 1
        count[_arithmetic(name, operands)] += 1
        count["fma"] += bool(_FMA.match(name))
        count["divide"] += bool(_DIVIDE.match(name))
        count["streamed"] += bool(_STREAMED.match(name))
        count["call"] += name.startswith(("call", "bl"))
        count.update(size for size, _ in _SIZES if size in operands)
    arithmetic = count["packed"] + count["scalar"]
    return {
        "packed_pct": 100.0 * count["packed"] / arithmetic if arithmetic else None,
        "fma_count": count["fma"],
        "division_count": count["divide"],
        "streaming_stores": count["streamed"],
        "vector_bytes": next((width for size, width in _SIZES if count[size]), None),
        "instruction_mix": {
            k: count[k] for k in ("instructions", "packed", "scalar", "fma", "divide", "call", "zmm", "ymm", "xmm")
        },
    }


def _arithmetic(name: str, operands: str) -> str:
    """packed, scalar or "" for other instructions."""
    if x86 := _X86_FLOAT.match(name):
        return "packed" if x86[1] == "p" else "scalar"
    if _ARM_FLOAT.match(name):
        return "packed" if re.search(r"\bv\d+\.[248]|\bz\d+", operands) else "scalar"
    return ""


def metrics(
    raw: Mapping[str, Any], fixed: Mapping[str, Any], roof: Mapping[str, float], flops: float | None, size: float | None
) -> dict[str, Any]:
    """The profile but its diagnosis. `raw` is bench.profile's (per call), `fixed` static's, `roof` ceilings'; `size` in bytes,
    the compulsory traffic, of `raw` where None."""
    name, lift = tier()
    moved = _float(size) or _float(raw.get("bytes"))
    wall = _float(raw.get("wall_s"))
    rate, flow = _ratio(flops, wall, 1e-9), _ratio(moved, wall, 1e-9)
    counted = ("minor_faults", "major_faults", "voluntary_switches", "involuntary_switches", "threads")
    threads = _float(raw.get("threads"))
    found = {
        "wall_ms": _ratio(wall, 1.0, 1e3),
        "cpu_ms": _ratio(_float(raw.get("cpu_s")), 1.0, 1e3),
        "cpu_utilisation": _ratio(_float(raw.get("cpu_s")), wall and threads and wall * threads),
        **{key: raw.get(key) for key in counted},
        "gbs": flow,
        "gflops": rate,
        "pct_triad": _ratio(flow, roof.get("triad_gbs"), 100.0),
        "pct_fma": _ratio(rate, roof.get("fma_gflops"), 100.0),
        "arithmetic_intensity": _ratio(flops, moved),
        **{key: value for key, value in fixed.items() if key not in ("remarks", "instruction_mix")},
    }
    return {
        "tier": name,
        "how_to_lift": lift,
        "metrics": found,
        "ceilings": dict(roof),
        "remarks": list(fixed.get("remarks", ())),
        "instruction_mix": fixed.get("instruction_mix"),
        "roofline": roofline(rate, flow, found["arithmetic_intensity"], moved, roof),
    }


def roofline(
    gflops: float | None, gbs: float | None, intensity: float | None, size: float | None, roof: Mapping[str, float]
) -> dict[str, Any]:
    """Attained against the lower of two roofs. Work whose bytes fit into the cores' L2 has L2's bandwidth for its memory roof."""
    cached = size is not None and size <= 0.5 * roof.get("l2_bytes", 0) * roof.get("cores", 1)
    memory, arithmetic = roof["l2_gbs" if cached else "triad_gbs"], roof["fma_gflops"]
    bound = "memory" if not intensity or intensity * memory <= arithmetic else "compute"
    attained, top, unit = gbs, memory, "GB/s"
    if gflops and intensity:
        attained, top, unit = gflops, min(arithmetic, intensity * memory), "GFLOP/s"
    return {
        "intensity": intensity,
        "attained": attained,
        "roof": top,
        "fraction": _ratio(attained, top),
        "bound": bound,
        "unit": unit,
        "memory_roof": "l2" if cached else "triad",
    }


def _float(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _ratio(part: float | None, whole: float | None, scale: float = 1.0) -> float | None:
    return None if part is None or not whole else scale * part / whole


@functools.cache
def tier() -> tuple[str, str]:
    """(the tier in use, one line on how to get a better one); only the software tier is collected."""
    if not (perf := shutil.which("perf")):
        return SOFTWARE, "no perf here: install the kernel's perf tools, then hardware counters can be probed"
    try:
        done = build.bounded([perf, "stat", "-e", "instructions", "true"], PROBE_S)
    except (subprocess.TimeoutExpired, OSError):
        return SOFTWARE, f"perf did not answer within {PROBE_S:g} s"
    return SOFTWARE, _lift(done.stdout + done.stderr)


def _lift(answer: str) -> str:
    if "not supported" in answer:
        return (
            "this machine shows no hardware counters (a virtual machine without a PMU): run on bare metal or a PMU-enabled instance"
        )
    if "not counted" in answer or not re.search(r"\d[\d.,]*\s+instructions", answer):
        return "perf may not count here: sysctl kernel.perf_event_paranoid=2 or lower, or CAP_PERFMON, opens hardware counters"
    return "hardware counters answer here (perf stat -M TopdownL1); this release reads only the software tier"
