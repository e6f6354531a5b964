"""Refuses RDF that makes a parser run out of stack or memory: terms or entities within others."""

from __future__ import annotations

import re
from typing import IO, Final

import pyoxigraph as ox

from sarag_rdf.errors import InputError

DEEPEST_TERM: Final = 1_000
"""Triple terms within triple terms."""
LONGEST_ENTITY: Final = 1_000
"""Characters that an XML entity may stand for; those of namespaces take some fifty."""
_WINDOW: Final = 1 << 16
_TERM: Final = re.compile(rb"<<\(?\s*(?:<|_:|[\w.-]*:[^:])")
_DTD: Final = re.compile(rb"<!DOCTYPE[^\[>]*\[(?P<declared>.*?)\]\s*>", re.DOTALL)
_ENTITY: Final = re.compile(rb"<!ENTITY\s+(?P<name>[^\s%]+)\s+(?:\"([^\"]*)\"|'([^']*)')\s*>")
_REFERENCE: Final = re.compile(rb"&([^#;\s&]+);")


class Guarded:
    """A stream whose content is looked at while a parser reads it."""

    def __init__(self, stream: IO[bytes], format_: ox.RdfFormat, name: str) -> None:
        self._stream, self._name = stream, name
        self._head = b""
        self._depth = 0
        if format_ == ox.RdfFormat.RDF_XML:
            self._head = _filled(stream)
            self._check_entities(self._head)

    def read(self, size: int = -1) -> bytes:
        """The next bytes; raises `InputError` for what no parser should get."""
        if self._head:
            data, self._head = self._head[:size], self._head[size:]
            return data
        data = self._stream.read(size)
        opened = len(_TERM.findall(data)) if b"<<" in data else 0
        self._depth = max(0, self._depth + opened - data.count(b">>")) if opened else 0
        if self._depth > DEEPEST_TERM:
            raise _too_deep(self._name)
        return data

    def _check_entities(self, head: bytes) -> None:
        if b"<!DOCTYPE" not in head:
            return
        found = _DTD.search(head)
        if found is None:
            if b"<!ENTITY" in head:
                raise InputError(
                    f"{self._name} declares entities that are not ended within {_WINDOW >> 10} "
                    "KiB: write namespaces in full"
                )
            return
        sizes: dict[bytes, int] = {}
        for match in _ENTITY.finditer(found["declared"]):
            value = match[2] if match[2] is not None else match[3]
            inner = sum(sizes.get(name, 0) for name in _REFERENCE.findall(value))
            sizes[match["name"]] = len(value) + inner
        if _refers_forward(found["declared"]):
            raise InputError(f"{self._name} declares an entity by one that is not known before it")
        if max(sizes.values(), default=0) > LONGEST_ENTITY:
            raise InputError(
                f"{self._name} declares an entity of more than {LONGEST_ENTITY} characters: write "
                "what it stands for in full"
            )


def check_lines(data: bytes, name: str) -> None:
    """The same for lines of N-Triples, each a triple."""
    if data.count(b"<<(") > DEEPEST_TERM and any(
        line.count(b"<<(") > DEEPEST_TERM for line in data.splitlines()
    ):
        raise _too_deep(name)


def _too_deep(name: str) -> InputError:
    return InputError(
        f"{name} nests triple terms more than {DEEPEST_TERM} deep: export it as RDF 1.1"
    )


def _filled(stream: IO[bytes]) -> bytes:
    """The first bytes, as many as a document type declaration may have."""
    parts: list[bytes] = []
    while sum(map(len, parts)) < _WINDOW and (part := stream.read(_WINDOW)):
        parts.append(part)
    return b"".join(parts)


def _refers_forward(declared: bytes) -> bool:
    known = {b"lt", b"gt", b"amp", b"apos", b"quot"}
    for match in _ENTITY.finditer(declared):
        value = match[2] if match[2] is not None else match[3]
        if not known.issuperset(_REFERENCE.findall(value)):
            return True
        known.add(match["name"])
    return False
