"""Parsers of documents in a child process: one that crashes or does not end costs one document."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from sarag_rdf.index.read.contract import Opened, UnreadableError
from sarag_rdf.sandbox import EndedError, Limits, half_of_memory, run

_Result = TypeVar("_Result")
_Arguments = ParamSpec("_Arguments")


def apart(
    opened: Opened,
    function: Callable[_Arguments, _Result],
    *arguments: _Arguments.args,
    **named: _Arguments.kwargs,
) -> _Result:
    """What a function gives in a child process, within the time that the input may take.

    Raises what it raises, and `UnreadableError` if the child ends.
    """
    limits = Limits(opened.max_seconds, half_of_memory())
    try:
        return run(function, limits, *arguments, **named)
    except EndedError as error:
        remedy = "leave it out, or raise --max-seconds" if error.by_time else "leave it out"
        raise UnreadableError(f"{error}: {remedy}") from None
