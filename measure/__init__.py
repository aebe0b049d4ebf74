"""The bench: admits a task, judges candidates in a sandbox, times them against the reference; knows no LangGraph and no LLM."""
