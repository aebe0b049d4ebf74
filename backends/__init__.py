"""One folder per target: facts (spec.toml), lowering, building and the collection of its metrics; needs only torch and `sketch`."""
