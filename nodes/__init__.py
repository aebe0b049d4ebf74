"""The agents: one file, one node, one function from state and runtime to changed keys."""
