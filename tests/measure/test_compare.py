import pytest
import torch

from measure import compare, policy, values


def stored(folder, name, *tensors):
    values.write(folder / name, list(tensors))
    return values.opened(folder / name)


def expectation(folder, golden, eager):
    return compare.expected(stored(folder, "golden", golden), stored(folder, "eager", eager))[0]


def deviation(folder, got, want):
    return compare.deviation(compare.Slot(stored(folder, "got", got), 0), want)


def test_zeros_do_not_pass_a_wide_softmax(tmp_path):
    x = torch.rand(2, 400_000)
    want = expectation(tmp_path, x.double().softmax(1), x.softmax(1))
    strict, loose = policy.named("strict"), policy.named("kernelbench")
    zeros = deviation(tmp_path, torch.zeros(2, 400_000), want).error
    assert zeros > 0.5 and zeros > loose.limit(want.error, torch.float32)
    e = (x - x.amax(1, keepdim=True)).exp()
    assert deviation(tmp_path, e / e.sum(1, keepdim=True), want).error <= strict.limit(want.error, torch.float32)


def test_an_honest_matmul_near_cancellation_passes(tmp_path):
    a, b = torch.randn(64, 512), torch.randn(512, 64)
    want = expectation(tmp_path, a.double() @ b.double(), a @ b)
    split = a[:, :256] @ b[:256] + a[:, 256:] @ b[256:]
    assert deviation(tmp_path, split, want).error <= policy.named("strict").limit(want.error, torch.float32)
    halved = a.bfloat16().float() @ b.bfloat16().float()
    assert deviation(tmp_path, halved, want).error > policy.named("strict").limit(want.error, torch.float32)


def test_one_outlier_hides_nothing(tmp_path):
    golden = torch.ones(1000, dtype=torch.float64)
    golden[0] = 1e6
    want = expectation(tmp_path, golden, golden.float())
    wrong = golden.float()
    wrong[500:] *= 1.5
    assert deviation(tmp_path, wrong, want).error > 1e-4


@pytest.mark.parametrize(("place", "value"), [(3, float("nan")), (3, float("inf")), (0, 1.0), (1, float("-inf"))])
def test_nan_and_inf_must_sit_where_the_reference_has_them(tmp_path, place, value):
    eager = torch.tensor([float("nan"), float("inf"), 1.0, 2.0])
    want = expectation(tmp_path, eager.double(), eager)
    assert deviation(tmp_path, eager.clone(), want).kind == ""
    other = eager.clone()
    other[place] = value
    assert deviation(tmp_path, other, want).kind == "nan"


def test_being_finite_where_eager_overflows_is_no_fault(tmp_path):
    eager, golden = torch.tensor([float("inf"), 1.0]), torch.tensor([3e38, 1.0], dtype=torch.float64)
    assert deviation(tmp_path, golden.float(), expectation(tmp_path, golden, eager)).error < 1e-6


def test_index_ties_are_told_from_errors(tmp_path):
    x = torch.tensor([[1.0, 5.0, 5.0], [7.0, 2.0, 7.0]])
    values.write(tmp_path / "inputs", (x,))
    want = expectation(tmp_path, torch.tensor([1, 0]), torch.tensor([1, 0]))
    for index, same in (([2, 2], True), ([0, 0], False), ([5, 0], False)):
        got = compare.Slot(stored(tmp_path, f"got{index}", torch.tensor(index)), 0)
        assert compare.deviation(got, want).error > 0
        assert compare.ties(got, want, tmp_path / "inputs") is same


def test_structure_and_kinds(tmp_path):
    plain, pair = stored(tmp_path, "a", torch.rand(2)).tree, stored(tmp_path, "b", torch.rand(2), torch.rand(2)).tree
    assert compare.structure(plain, plain) == "" and "a list of 2" in compare.structure(pair, plain)
    entries = stored(tmp_path, "c", torch.rand(2), torch.rand(3), torch.rand(2).double(), torch.nn.Parameter(torch.rand(2))).entries
    kinds = [(compare.mismatch(e, entries[0]) or ("",))[0] for e in entries]
    assert kinds == ["", "shape", "dtype", "type"]


def test_large_tensors_compare_across_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr(compare, "CHUNK", 64)
    golden = torch.rand(1000, dtype=torch.float64) + 1
    got = golden.float()
    got[777] += 0.5
    assert deviation(tmp_path, got, expectation(tmp_path, golden, golden.float())).where == 777
