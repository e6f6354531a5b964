"""RDF files as triples that can be stored: blank nodes become IRIs, errors tell the place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, cast

import pyoxigraph as ox

from sarag_rdf.errors import InputError, UsageError
from sarag_rdf.imports.files import BROKEN, InputFile
from sarag_rdf.iris import sha256_hex
from sarag_rdf.safe_xml import PlainXml
from sarag_rdf.terms import DEEPEST_TERM, is_deep

FORMATS = {
    ".ttl": ox.RdfFormat.TURTLE,
    ".turtle": ox.RdfFormat.TURTLE,
    ".nt": ox.RdfFormat.N_TRIPLES,
    ".nq": ox.RdfFormat.N_QUADS,
    ".trig": ox.RdfFormat.TRIG,
    ".rdf": ox.RdfFormat.RDF_XML,
    ".owl": ox.RdfFormat.RDF_XML,
    ".xml": ox.RdfFormat.RDF_XML,
    ".jsonld": ox.RdfFormat.JSON_LD,
    ".json": ox.RdfFormat.JSON_LD,
    ".n3": ox.RdfFormat.N3,
}
_PREFIX = re.compile(r"^Parser error .*?: ")
"""What comes before the reason, and says where once more."""
_NAMES = {
    "turtle": ox.RdfFormat.TURTLE,
    "ntriples": ox.RdfFormat.N_TRIPLES,
    "nquads": ox.RdfFormat.N_QUADS,
    "trig": ox.RdfFormat.TRIG,
    "rdfxml": ox.RdfFormat.RDF_XML,
    "jsonld": ox.RdfFormat.JSON_LD,
}


@dataclass(frozen=True, slots=True)
class Reading:
    """How a file is read: its format's name or none, the base of relative IRIs, what is kept.

    `languages` are those of literals with a language that are kept, in lower case: ``en`` keeps
    ``en-GB`` too, ``en-gb`` not ``en``. None means all. Lines in what is read come after
    `first_line` others of the file.
    """

    format: str | None = None
    base_iri: str | None = None
    languages: tuple[str, ...] = ()
    first_line: int = 0


def rdf_format(file: InputFile, wanted: str | None) -> ox.RdfFormat:
    """The format that was named, or that of the file's suffix; raises `UsageError`."""
    if wanted is not None:
        if wanted not in _NAMES:
            raise UsageError(f"unknown format '{wanted}': choose one of {', '.join(_NAMES)}")
        return _NAMES[wanted]
    if file.suffix not in FORMATS:
        raise UsageError(
            f"the suffix of {file.name} does not tell its format: give --format {'|'.join(_NAMES)}"
        )
    return FORMATS[file.suffix]


def read_quads(file: InputFile, stream: IO[bytes], reading: Reading) -> Iterator[ox.Quad]:
    """Quads of a file as they stand in it; raises `InputError` with line and column."""
    format_ = rdf_format(file, reading.format)
    try:
        if format_ == ox.RdfFormat.RDF_XML:
            stream = cast("IO[bytes]", PlainXml(stream, file.name))
        for quad in ox.parse(input=stream, format=format_, base_iri=reading.base_iri):
            if is_deep(quad):
                raise InputError(
                    f"{file.name} nests triple terms more than {DEEPEST_TERM} deep: export it as "
                    "RDF 1.1"
                )
            yield quad
    except SyntaxError as error:
        raise complaint(file, error, reading.first_line) from error
    except MemoryError as error:
        raise InputError(
            f"{file.name} holds a term or comment of more than 16 MiB, which RDF parsers do not "
            "take: is it RDF?"
        ) from error
    except BROKEN as error:
        raise InputError(
            f"{file.name} is damaged or ends in the middle ({error}): get it again"
        ) from error
    except ValueError as error:
        raise InputError(f"{file.name} cannot be read as RDF: {error}") from error


def read_triples(
    file: InputFile, stream: IO[bytes], reading: Reading, genid: str
) -> Iterator[ox.Triple]:
    """Triples of all graphs of a file; a blank node becomes an IRI below `genid`.

    The IRI depends on the file's content and the node's label, so that the same file gives the
    same triples.
    """
    names: dict[str, ox.NamedNode] = {}

    def named(node: ox.BlankNode) -> ox.NamedNode:
        if node.value not in names:
            names[node.value] = ox.NamedNode(genid + sha256_hex(file.sha256, node.value)[:32])
        return names[node.value]

    kept = reading.languages
    for quad in read_quads(file, stream, reading):
        subject, object_ = quad.subject, quad.object
        if isinstance(object_, ox.Literal):
            if kept and object_.language and not _matches(object_.language.lower(), kept):
                continue
        elif isinstance(object_, ox.BlankNode):
            object_ = named(object_)
        if isinstance(subject, ox.BlankNode):
            subject = named(subject)
        if isinstance(subject, ox.Triple) or isinstance(object_, ox.Triple):
            raise InputError(f"{file.name} holds RDF 1.2 triple terms: export it as RDF 1.1")
        yield ox.Triple(subject, quad.predicate, object_)


def _matches(tag: str, languages: tuple[str, ...]) -> bool:
    return any(tag == language or tag.startswith(f"{language}-") for language in languages)


def complaint(file: InputFile, error: SyntaxError, lines: int = 0) -> InputError:
    """What is wrong in a file, and where; what was parsed comes after so many of its lines."""
    place = ""
    if error.lineno is not None:
        place = f", line {lines + error.lineno}, column {error.offset or 1}"
    reason = _PREFIX.sub("", str(error.msg))
    if "scheme" in reason.lower():
        reason = f"{reason}; for relative IRIs give --base-iri"
    return InputError(f"{file.name}{place}: {reason}")
