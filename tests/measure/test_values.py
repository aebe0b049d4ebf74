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
        (96).to_bytes(8, "little") + b'{"tree":{"tensor":0},"tensors":[{"dtype":"float32","shape":[1e9],"stride":[1],"offset":0,"kind":""}]}'[:96],
        (99).to_bytes(8, "little") + b'{"tree":{"tensor":0},"tensors":[{"dtype":"float32","shape":[-4],"stride":[1],"offset":0,"kind":"" }]}'[:99],
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
