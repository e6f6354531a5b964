"""Runs functions on untrusted input in child processes, which may crash without harm."""

from sarag_rdf.sandbox.parent import EndedError, run, stream
from sarag_rdf.sandbox.protocol import Limits, half_of_memory

__all__ = ["EndedError", "Limits", "half_of_memory", "run", "stream"]
