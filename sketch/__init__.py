"""The Unified Sketch: what a kernel computes and how its loops are cut, free of any target."""
