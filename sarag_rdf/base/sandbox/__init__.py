"""Runs functions on untrusted input in child processes, which may crash without harm."""

from sarag_rdf.base.sandbox.memory import half_of_memory, machine_memory, process_memory
from sarag_rdf.base.sandbox.parent import EndedError, run, stream
from sarag_rdf.base.sandbox.protocol import Limits

__all__ = [
    "EndedError",
    "Limits",
    "half_of_memory",
    "machine_memory",
    "process_memory",
    "run",
    "stream",
]
