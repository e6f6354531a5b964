"""RDF files as triples without blank nodes; errors have line and column."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, cast

import pyoxigraph as ox

from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.base.iris import sha256_hex
from sarag_rdf.base.options import Options, max_expansion_option, max_seconds_option, option
from sarag_rdf.base.safe_xml import PlainXml
from sarag_rdf.base.terms import DEEPEST_TERM, is_deep
from sarag_rdf.graph.store.files import READ_ERRORS, InputFile

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
"""The start of a parser message, which repeats the position."""
_NAMES = {
    "turtle": ox.RdfFormat.TURTLE,
    "ntriples": ox.RdfFormat.N_TRIPLES,
    "nquads": ox.RdfFormat.N_QUADS,
    "trig": ox.RdfFormat.TRIG,
    "rdfxml": ox.RdfFormat.RDF_XML,
    "jsonld": ox.RdfFormat.JSON_LD,
    "n3": ox.RdfFormat.N3,
}


@dataclass(frozen=True, kw_only=True)
class RdfReadOptions(Options):
    """How RDF files are read.

    `languages` selects literals by language, in any case; literals without a language are always
    selected. ``en`` includes ``en-GB``, but ``en-gb`` does not include ``en``. Empty means all.
    """

    name = "RDF files"
    format: str | None = option(None, "RDF format. Default: by the suffix of the file.")
    base_iri: str | None = option(None, "Base IRI for relative IRIs in the file.")
    languages: tuple[str, ...] = option(
        (),
        "Import only texts in this language, and those without a language.",
        flag="--language",
    )
    max_expansion: int = max_expansion_option()
    max_seconds: float = max_seconds_option()

    def __post_init__(self) -> None:
        super().__post_init__()
        languages = tuple(language.lower() for language in self.languages)
        object.__setattr__(self, "languages", languages)


_RANDOM_LABEL = re.compile(r"[0-9a-f]{24,32}")
"""Labels of the kind that the parser gives to anonymous blank nodes."""
_SKOLEM = re.compile(r"genid/[0-9a-f]{32}$")


def is_skolem_iri(iri: str) -> bool:
    """Whether an IRI ends like those that `read_triples` makes of blank nodes."""
    return _SKOLEM.search(iri) is not None


def rdf_format(file: InputFile, requested: str | None) -> ox.RdfFormat:
    """The format with the given name, or that of the suffix; raises `UsageError`."""
    if requested is not None:
        if requested not in _NAMES:
            raise UsageError(f"unknown format '{requested}': choose one of {', '.join(_NAMES)}")
        return _NAMES[requested]
    if file.suffix not in FORMATS:
        raise UsageError(
            f"unknown suffix of {file.name}: give its format with --format {'|'.join(_NAMES)}"
        )
    return FORMATS[file.suffix]


def read_quads(file: InputFile, stream: IO[bytes], options: RdfReadOptions) -> Iterator[ox.Quad]:
    """The quads of a file, unchanged; raises `InputError` with line and column."""
    format_ = rdf_format(file, options.format)
    try:
        if format_ == ox.RdfFormat.RDF_XML:
            stream = cast("IO[bytes]", PlainXml(stream, file.name))
        for quad in ox.parse(input=stream, format=format_, base_iri=options.base_iri):
            if is_deep(quad):
                raise InputError(
                    f"{file.name} has triple terms nested more than {DEEPEST_TERM} deep: export it "
                    "as RDF 1.1"
                )
            yield quad
    except SyntaxError as error:
        raise syntax_error(file, error) from error
    except MemoryError as error:
        raise InputError(
            f"{file.name} has a term or comment of more than 16 MiB, which is not supported: check "
            "that it is RDF"
        ) from error
    except READ_ERRORS as error:
        raise InputError(f"{file.name} is damaged or truncated ({error}): get it again") from error
    except ValueError as error:
        raise InputError(f"{file.name} cannot be read as RDF: {error}") from error


def read_triples(
    file: InputFile, stream: IO[bytes], options: RdfReadOptions, genid: str
) -> Iterator[ox.Triple]:
    """The triples of all graphs of a file; blank nodes become IRIs below `genid`.

    The IRI is a function of the content of the file and the label of the node, so that the same
    file has the same triples. A node without a label, to which the parser gives a random one, has
    the number of blank nodes before it instead.
    """
    names: dict[str, ox.NamedNode] = {}
    are_labelled = rdf_format(file, options.format) in (
        ox.RdfFormat.N_TRIPLES,
        ox.RdfFormat.N_QUADS,
    )

    def skolemize(node: ox.BlankNode) -> ox.NamedNode:
        if node.value not in names:
            is_random = not are_labelled and _RANDOM_LABEL.fullmatch(node.value)
            key = ("anonymous", str(len(names))) if is_random else (node.value,)
            names[node.value] = ox.NamedNode(genid + sha256_hex(file.sha256, *key)[:32])
        return names[node.value]

    languages = options.languages
    for quad in read_quads(file, stream, options):
        subject, object_ = quad.subject, quad.object
        if isinstance(object_, ox.Literal):
            tag = (object_.language or "").lower()
            if languages and tag and not _matches(tag, languages):
                continue
        elif isinstance(object_, ox.BlankNode):
            object_ = skolemize(object_)
        if isinstance(subject, ox.BlankNode):
            subject = skolemize(subject)
        if isinstance(subject, ox.Triple) or isinstance(object_, ox.Triple):
            raise InputError(f"{file.name} has RDF 1.2 triple terms: export it as RDF 1.1")
        yield ox.Triple(subject, quad.predicate, object_)


def _matches(tag: str, languages: tuple[str, ...]) -> bool:
    return any(tag == language or tag.startswith(f"{language}-") for language in languages)


def syntax_error(file: InputFile, error: SyntaxError) -> InputError:
    """The error of a file with its position."""
    location = ""
    if error.lineno is not None:
        location = f", line {error.lineno}, column {error.offset or 1}"
    reason = _PREFIX.sub("", str(error.msg))
    if "scheme" in reason.lower():
        reason = f"{reason}; relative IRIs need --base-iri"
    return InputError(f"{file.name}{location}: {reason}")
