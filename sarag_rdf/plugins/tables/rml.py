"""RML mappings in Turtle, of both generations of its vocabulary: the part for one table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import pyoxigraph as ox

from sarag_rdf.base.errors import InputError
from sarag_rdf.base.iris import is_iri
from sarag_rdf.base.vocab import RDF
from sarag_rdf.plugins.tables.mapping import (
    MappingFile,
    MappingLanguage,
    TermKind,
    TermMap,
    TriplesMap,
    check_source,
    template_parts,
)

_NAMESPACES = (
    "http://www.w3.org/ns/r2rml#",
    "http://semweb.mmlab.be/ns/rml#",
    "http://semweb.mmlab.be/ns/ql#",
    "http://w3id.org/rml/",
    "http://www.w3.org/ns/csvw#",
)
_UNSUPPORTED = {
    "logicalTable": "sources other than files are not supported",
    "tableName": "sources other than files are not supported",
    "query": "queries as sources are not supported",
    "joinCondition": "joins are not supported: write the template of the other subject",
    "functionValue": "functions are not supported",
    "functionExecution": "functions are not supported",
    "languageMap": "give the language with rr:language",
    "datatypeMap": "give the datatype with rr:datatype",
    "gather": "collections are not supported",
}
_KINDS: dict[str, TermKind] = {
    **dict.fromkeys(("IRI", "URI", "UnsafeIRI"), "iri"),
    "Literal": "literal",
    "BlankNode": "blank",
}


def read_rml(
    file: MappingFile,
    table: str,
    header: Sequence[str] = (),  # noqa: ARG001 - all languages have it
) -> tuple[TriplesMap, ...]:
    """The triples maps of a mapping of `table`; raises `InputError`."""
    return _Reader(file, table).read()


class _Reader:
    def __init__(self, file: MappingFile, table: str) -> None:
        self._name, self._table = file.name, table
        self._values: defaultdict[Any, defaultdict[str, list[Any]]]
        self._values = defaultdict(lambda: defaultdict(list))
        try:
            for quad in ox.parse(file.content, format=ox.RdfFormat.TURTLE, base_iri="urn:mapping:"):
                name = _local(quad.predicate.value)
                if name in _UNSUPPORTED:
                    raise self._error(quad.subject, _UNSUPPORTED[name])
                self._values[quad.subject][name].append(quad.object)
        except (SyntaxError, ValueError) as error:
            location = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
            reason = getattr(error, "msg", None) or str(error)
            raise InputError(f"{file.name}{location}: not valid Turtle: {reason}") from error
        self._subjects: dict[Any, TermMap] = {}

    def read(self) -> tuple[TriplesMap, ...]:
        nodes = [node for node, v in self._values.items() if v["logicalSource"]]
        nodes.sort(key=str)
        if not nodes:
            raise InputError(f"{self._name} has no triples map with rml:logicalSource")
        for node in nodes:
            self._check_source(node)
            self._subjects[node] = self._subject(node)
        return tuple(self._triples_map(node) for node in nodes)

    def _error(self, node: Any, message: str) -> InputError:
        location = (
            str(node.value).removeprefix("urn:mapping:") if _is_named(node) else "a blank node"
        )
        return InputError(f"{self._name}, {location}: {message}")

    def _one(self, node: Any, name: str) -> Any:
        values = self._values[node][name]
        if len(values) > 1:
            raise self._error(node, f"has several values of '{name}'")
        return values[0] if values else None

    def _check_source(self, node: Any) -> None:
        source = self._one(node, "logicalSource")
        formulation = self._one(source, "referenceFormulation")
        if formulation is not None and _local(formulation.value) not in ("CSV", "csv"):
            raise self._error(node, "sources other than CSV are not supported")
        access = self._one(source, "source")
        if access is not None and not isinstance(access, ox.Literal):
            described = (self._one(access, name) for name in ("path", "url"))
            access = next((value for value in described if value is not None), None)
        if access is None:
            raise self._error(node, "has no source: add rml:source")
        check_source(self._name, "a source", access.value, self._table)

    def _subject(self, node: Any) -> TermMap:
        constant, mapped = self._one(node, "subject"), self._one(node, "subjectMap")
        if constant is not None:
            return self._constant(node, constant)
        if mapped is None:
            raise self._error(node, "has no subject: add rr:subjectMap")
        return self._term(mapped, "iri")

    def _triples_map(self, node: Any) -> TriplesMap:
        classes = self._values[self._one(node, "subjectMap")]["class"]
        type_ = TermMap((RDF.type.value,), "iri")
        pairs = [(type_, self._constant(node, class_)) for class_ in classes]
        for entry in self._values[node]["predicateObjectMap"]:
            values = self._values[entry]
            predicates = [self._constant(node, p) for p in values["predicate"]]
            predicates += [self._term(p, "iri") for p in values["predicateMap"]]
            objects = [self._constant(node, o) for o in values["object"]]
            objects += [self._object(o) for o in values["objectMap"]]
            if not (predicates and objects):
                raise self._error(node, "has a predicate-object map without predicate or object")
            pairs += [(p, o) for p in predicates for o in objects]
        return TriplesMap(str(node), self._subjects[node], tuple(pairs))

    def _object(self, node: Any) -> TermMap:
        parent = self._one(node, "parentTriplesMap")
        if parent is None:
            return self._term(node, "literal")
        if parent not in self._subjects:
            raise self._error(parent, "is not a triples map")
        return self._subjects[parent]

    def _constant(self, node: Any, term: Any) -> TermMap:
        if isinstance(term, ox.Literal):
            return TermMap((term.value,), "literal", False, _datatype(term), term.language or "")
        if not isinstance(term, ox.NamedNode):
            raise self._error(node, "has a blank node as a constant")
        return TermMap((term.value,), "iri")

    def _term(self, node: Any, default: TermKind) -> TermMap:
        constant = self._one(node, "constant")
        if constant is not None:
            return self._constant(node, constant)
        reference, template = self._one(node, "reference"), self._one(node, "template")
        datatype, language = self._one(node, "datatype"), self._one(node, "language")
        requested = self._one(node, "termType")
        if requested is not None and _local(requested.value) not in _KINDS:
            raise self._error(node, f"unknown term type <{requested.value}>")
        kind: TermKind = _KINDS[_local(requested.value)] if requested is not None else default
        if requested is None and (datatype is not None or language is not None):
            kind = "literal"
        if reference is not None:
            parts: tuple[str, ...] = ("", reference.value, "")
        elif template is not None:
            if requested is None and datatype is None and language is None:
                kind = "iri"
            try:
                parts = template_parts(template.value, "{", "}")
            except ValueError as error:
                raise self._error(node, str(error)) from error
            if kind == "iri" and len(parts) == 1 and not is_iri(parts[0]):
                raise self._error(node, f"'{template.value}' is not an IRI")
        else:
            raise self._error(node, "has no rml:reference, rr:template or rr:constant")
        is_template = kind == "iri" and template is not None
        return TermMap(
            parts,
            kind,
            is_template,
            datatype.value if datatype is not None else "",
            language.value if language is not None else "",
        )


def _is_named(node: Any) -> bool:
    return isinstance(node, ox.NamedNode)


def _datatype(literal: ox.Literal) -> str:
    plain = ("http://www.w3.org/2001/XMLSchema#string", RDF.langString.value)
    return "" if literal.datatype.value in plain else literal.datatype.value


def _local(iri: str) -> str:
    """The local name in one of the vocabularies of RML, else the IRI."""
    return next((iri.removeprefix(base) for base in _NAMESPACES if iri.startswith(base)), iri)


LANGUAGE = MappingLanguage("RML (.ttl)", (".ttl", ".turtle", ".rml"), read_rml)
