"""The only place where a chat model is made; the thinking nodes use their built-in rules when there is none."""

from langchain_core.language_models import BaseChatModel


class ModelError(Exception):
    """A model that cannot be used, in one line that says how to mend it."""


def chat(model: str) -> BaseChatModel | None:
    """The chat model of that name; None for the built-in rules."""
    if model != "builtin":
        raise ModelError(f"model '{model}': only --model builtin in this version")
    return None
