"""The library: run folders, best kernels across runs, and the rules of diagnosis and choice as data."""
