"""The CPU target: C++20 on vector extensions and OpenMP, called through a pybind11 bridge."""
