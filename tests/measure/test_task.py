import pytest
import torch

from measure.task import TaskError, instantiate, load

GOOD = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2
def get_inputs():
    return [torch.rand(3)]
"""
BROKEN = {
    "syntax": ("class Model(:\n", ":1: "),
    "no-model": ("def get_inputs(): return []\n", "class Model"),
    "no-inputs": ("class Model: pass\n", "get_inputs"),
    "import-raises": ("raise OSError('gone')\n" + GOOD, ":1: executing the file raised OSError: gone"),
    "init-raises": (GOOD + "def get_init_inputs():\n    return 1 / 0\n", ":9: get_init_inputs() raised ZeroDivisionError"),
    "inputs-raise": (GOOD.replace("[torch.rand(3)]", "[torch.rand(-3)]"), ":7: get_inputs() raised RuntimeError"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_every_fault_is_one_line_with_its_place(tmp_path, kind):
    path = tmp_path / "t.py"
    source, words = BROKEN[kind]
    path.write_text(source)
    with pytest.raises(TaskError) as caught:
        instantiate(load(path))
    assert caught.value.kind == kind
    assert words in caught.value.message and str(path) in caught.value.message and "\n" not in caught.value.message


def test_missing_and_unreadable_files(tmp_path):
    with pytest.raises(TaskError, match="no such task file"):
        load(tmp_path / "none.py")
    (tmp_path / "bytes.py").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TaskError, match="cannot be read as text"):
        load(tmp_path / "bytes.py")


def test_a_gpu_only_task_says_so(tmp_path):
    if torch.cuda.is_available():
        pytest.skip("this machine has the GPU that the task asks for")
    path = tmp_path / "t.py"
    path.write_text(GOOD.replace("torch.rand(3)", "torch.rand(3).cuda()"))
    with pytest.raises(TaskError) as caught:
        instantiate(load(path))
    assert caught.value.kind == "needs-gpu" and ":7: " in caught.value.message


def test_seeds_fix_weights_and_inputs(tmp_path):
    path = tmp_path / "t.py"
    path.write_text(GOOD)
    task = load(path)
    one, same, other = (instantiate(task, seed).inputs[0] for seed in (1, 1, 2))
    assert torch.equal(one, same) and not torch.equal(one, other)
    assert task.name == "t" and len(task.fingerprint) == 64
