"""Every example is a task: it loads, runs, repeats itself, and its outputs are finite tensors."""

import ast
import importlib.util
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(ROOT.glob("*.py"))


def load(path):
    spec = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def outputs(module, seed=0):
    torch.manual_seed(seed)
    model = module.Model(*module.get_init_inputs())
    inputs = module.get_inputs()
    with torch.no_grad():
        found = model(*inputs)
    return found if isinstance(found, tuple) else (found,)


def test_there_are_examples():
    assert len(EXAMPLES) >= 12


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example_runs_and_repeats_with_finite_outputs(path):
    module = load(path)
    first, second = outputs(module), outputs(module)
    for a, b in zip(first, second, strict=True):
        assert torch.equal(a, b)
        assert torch.isfinite(a).all()
        assert a.numel() * a.element_size() <= 64 * 2**20


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example_says_where_it_is_met_and_stands_in_the_list(path):
    assert ast.get_docstring(ast.parse(path.read_text()))
    assert f"`{path.name}`" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_no_constant_passes_for_the_example(path):
    module = load(path)
    for a, b in zip(outputs(module, 0), outputs(module, 1), strict=True):
        assert ((a - b).abs() > 0.02 * b.abs()).double().mean() > 0.5
