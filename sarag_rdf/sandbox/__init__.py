"""Runs functions on foreign input in child processes that can die alone."""

from sarag_rdf.sandbox.parent import EndedError, run, stream
from sarag_rdf.sandbox.protocol import Limits, half_of_memory

__all__ = ["EndedError", "Limits", "half_of_memory", "run", "stream"]
