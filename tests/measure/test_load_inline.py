"""Other systems' kernels are judged as they are: KernelBench's load_inline style, built inside the sandbox."""

import shutil

import pytest

from measure.bench import Bench

CANDIDATE = '''
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
#include <cmath>
torch::Tensor run(torch::Tensor x, torch::Tensor w) {
  auto y = torch::empty_like(x);
  const int64_t n = x.size(1);
  const float *a = x.data_ptr<float>(), *scale = w.data_ptr<float>();
  float* b = y.data_ptr<float>();
  for (int64_t r = 0; r < x.size(0); ++r, a += n, b += n) {
    float high = a[0], total = 0;
    for (int64_t i = 1; i < n; ++i) high = std::max(high, a[i]);
    for (int64_t i = 0; i < n; ++i) total += b[i] = std::exp(a[i] - high);
    for (int64_t i = 0; i < n; ++i) b[i] = b[i] / total * scale[i] * FACTOR;
  }
  return y;
}
"""
module = load_inline(name="softmax_scaled", cpp_sources=SOURCE, functions=["run"], extra_cflags=["-O2"])


class ModelNew(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        return module.run(x, self.weight)
'''


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("ninja") is None, reason="load_inline needs ninja")
def test_load_inline_candidates_are_judged(scale_task):
    with Bench(scale_task) as bench:
        assert bench.admit()["ok"]
        right, wrong = (bench.judge(CANDIDATE.replace("FACTOR", factor)) for factor in ("1.0f", "1.01f"))
    assert right["ok"], right["message"]
    assert right["evidence"]["speedup"]["eager"]["median"] > 0
    assert not wrong["ok"]
    assert wrong["kind"] == "wrong"
