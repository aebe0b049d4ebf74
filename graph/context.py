"""The graph's settings, which live beside the nodes because imports only point down."""

from nodes.context import Context, Precision, settings

__all__ = ["Context", "Precision", "settings"]
