import json
import os

import pytest
import torch

from measure import values

TREE = {
    "list": [torch.arange(6).reshape(2, 3).float(), 3, None],
    "tuple": (torch.tensor(True), "text", 2.5),
    "bf16": torch.randn(4, 5).bfloat16(),
    "empty": torch.empty(0, 3),
    "complex": torch.randn(3, dtype=torch.complex64),
    "scalar": torch.tensor(7),
}


def header(**changes):
    entry = {"dtype": "float32", "shape": [1], "stride": [1], "offset": 0, "kind": "torch.Tensor", **changes}
    text = json.dumps({"tree": {"tensor": 0}, "tensors": [entry]}).encode()
    return len(text).to_bytes(8, "little") + text + bytes(4)


def test_the_header_of_the_forgeries_is_else_sound(tmp_path):
    (tmp_path / "v").write_bytes(header())
    assert values.read(tmp_path / "v").tolist() == [0.0]


def test_rereading_keeps_the_memory(tmp_path):
    for seed in (1, 2):
        torch.manual_seed(seed)
        values.write(tmp_path / f"v{seed}", (torch.rand(3, 4), seed, torch.tensor(seed)))
    one = values.read(tmp_path / "v1")
    two = values.reread(tmp_path / "v2", one)
    assert two[0].data_ptr() == one[0].data_ptr() and two[0]._version == 0 and two[1] == 2 and int(two[2]) == 2
    assert torch.equal(two[0], values.read(tmp_path / "v2")[0])


def test_a_tree_survives_the_trip(tmp_path):
    values.write(tmp_path / "v", TREE)
    back = values.read(tmp_path / "v")
    assert back["list"][1:] == [3, None] and back["tuple"][1:] == ("text", 2.5)
    pairs = list(zip(values.tensors_of(TREE), values.tensors_of(back), strict=True))
    assert len(pairs) == 6
    assert all(torch.equal(a, b) and a.dtype == b.dtype for a, b in pairs)


def test_strides_survive(tmp_path):
    values.write(tmp_path / "v", [torch.arange(12.0).reshape(3, 4).T, torch.ones(1, 3).expand(4, 3)])
    turned, spread = values.read(tmp_path / "v")
    assert turned.stride() == (1, 4) and turned[3, 2] == 11
    assert spread.shape == (4, 3) and bool((spread == 1).all())


def test_chunks_are_row_major(tmp_path):
    values.write(tmp_path / "v", [torch.arange(12).reshape(3, 4).T])
    stored = values.opened(tmp_path / "v")
    assert stored.chunk(0, 1, 4).tolist() == [4, 8, 1]
    stored.close()


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\xff" * 8,
        (2).to_bytes(8, "little") + b"[]",
        (9).to_bytes(8, "little") + b"[" * 9,
        header(shape=[1e9]),
        header(shape=[-4]),
        header(offset=-60),
        header(dtype="float1024"),
        header(kind=None, shape="many"),
    ],
)
def test_a_forged_header_is_refused(tmp_path, raw):
    (tmp_path / "v").write_bytes(raw)
    fd = os.open(tmp_path / "v", os.O_RDONLY)
    with pytest.raises(values.Corrupt):
        values.Stored(fd)
    os.close(fd)


def test_a_shortened_file_is_refused(tmp_path):
    values.write(tmp_path / "v", [torch.rand(1000)])
    stored = values.opened(tmp_path / "v")
    os.truncate(tmp_path / "v", 400)
    with pytest.raises(values.Corrupt):
        stored.tensor(0)
    stored.close()


def test_other_objects_are_refused(tmp_path):
    with pytest.raises(values.Unencodable):
        values.write(tmp_path / "v", [object()])
