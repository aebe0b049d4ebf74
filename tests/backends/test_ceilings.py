"""The ceilings are plausible, kept, and measured again when asked or when the machine has calmed down."""

import json

from backends.cpp import ceilings as room
from backends.cpp.ceilings import NAMES, ceilings


def doctored(home, **changes):
    """A file of ceilings under this machine's own fingerprint, with values that no measurement gives."""
    home.mkdir(exist_ok=True)
    table = {**dict.fromkeys(NAMES, 1.0), "cores": 2, "load_average": 0.0, **changes}
    (home / "ceilings.json").write_text(json.dumps({room._fingerprint(): table}))
    return table


def test_ceilings_are_plausible_and_replace_a_broken_file(home):
    home.mkdir()
    (home / "ceilings.json").write_text("{nope")
    found = ceilings()
    assert set(NAMES) <= set(found) and found["cores"] == room.cores()
    assert 0.5 < found["triad_core_gbs"] <= found["triad_gbs"] < 5000
    assert 0.5 < found["read_gbs"] < 5000 and found["l2_gbs"] > 0.5 * found["triad_gbs"]
    assert 1 < found["fma_f64_gflops"] < found["fma_gflops"] < 100_000
    assert 0 < found["page_fault_us"] < 10_000 and found["parallel_region_us"] > 0
    assert list(json.loads((home / "ceilings.json").read_text()).values()) == [found]


def test_what_was_measured_is_kept(home):
    table = doctored(home, triad_gbs=1e5)
    assert ceilings() == table


def test_a_calmer_machine_is_measured_again_and_the_better_kept(home):
    doctored(home, load_average=1e9, triad_gbs=1e5, fma_gflops=0.001, page_fault_us=1e9)
    found = ceilings()
    assert found["triad_gbs"] == 1e5 and found["fma_gflops"] > 1 and found["page_fault_us"] < 1e5
    assert found["load_average"] < 1e9 and json.loads((home / "ceilings.json").read_text())[room._fingerprint()] == found


def test_asking_measures_anew_even_without_a_place_to_keep_it(home):
    home.parent.mkdir(exist_ok=True)
    home.write_text("a file, not a folder")
    assert 0.5 < ceilings(remeasure=True)["triad_gbs"] < 5000


def test_cache_sizes():
    l2, last = room.cache_bytes()
    assert 1 << 16 <= l2 <= last < 1 << 34
