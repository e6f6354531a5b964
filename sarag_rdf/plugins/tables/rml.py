"""RML mappings in Turtle, of both generations of its vocabulary, and YARRRML: for one table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyoxigraph as ox
import yaml

from sarag_rdf.base.errors import InputError, one_line
from sarag_rdf.base.iris import is_iri
from sarag_rdf.base.vocab import PREFIXES, RDF, XSD
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
_TERM_TYPES: dict[str, TermKind] = {
    **dict.fromkeys(("IRI", "URI", "UnsafeIRI"), "iri"),
    "Literal": "literal",
    "BlankNode": "blank",
}


class _RmlReader:
    """Reads a mapping of a table; raises `InputError`."""

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
        location = "a blank node"
        if isinstance(node, ox.NamedNode):
            location = node.value.removeprefix("urn:mapping:")
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
            datatype = "" if term.datatype in (XSD.string, RDF.langString) else term.datatype.value
            return TermMap((term.value,), "literal", False, datatype, term.language or "")
        if not isinstance(term, ox.NamedNode):
            raise self._error(node, "has a blank node as a constant")
        return TermMap((term.value,), "iri")

    def _text(self, node: Any, name: str) -> str:
        value = self._one(node, name)
        return "" if value is None else str(value.value)

    def _term(self, node: Any, default: TermKind) -> TermMap:
        constant = self._one(node, "constant")
        if constant is not None:
            return self._constant(node, constant)
        reference, template = self._text(node, "reference"), self._text(node, "template")
        datatype, language = self._text(node, "datatype"), self._text(node, "language")
        requested = self._text(node, "termType")
        if requested and _local(requested) not in _TERM_TYPES:
            raise self._error(node, f"unknown term type <{requested}>")
        if not (reference or template):
            raise self._error(node, "has no rml:reference, rr:template or rr:constant")
        kind: TermKind = "literal" if datatype or language else "iri" if not reference else default
        kind = _TERM_TYPES[_local(requested)] if requested else kind
        if reference:
            return TermMap(("", reference, ""), kind, False, datatype, language)
        try:
            parts = template_parts(template, "{", "}")
        except ValueError as error:
            raise self._error(node, str(error)) from error
        if kind == "iri" and len(parts) == 1 and not is_iri(parts[0]):
            raise self._error(node, f"'{template}' is not an IRI")
        return TermMap(parts, kind, kind == "iri", datatype, language)


def _local(iri: str) -> str:
    """The local name in one of the vocabularies of RML, else the IRI."""
    return next((iri.removeprefix(base) for base in _NAMESPACES if iri.startswith(base)), iri)


RML = MappingLanguage(
    "RML (.ttl)", (".ttl", ".turtle", ".rml"), lambda file, table, _: _RmlReader(file, table).read()
)


_KEYS = {
    **dict.fromkeys(("mappings", "mapping", "m"), "mappings"),
    **dict.fromkeys(("sources", "source"), "sources"),
    **dict.fromkeys(("subjects", "subject", "s"), "subjects"),
    **dict.fromkeys(("predicateobjects", "predicateobject", "po"), "predicateobjects"),
    **dict.fromkeys(("predicates", "predicate", "p"), "predicates"),
    **dict.fromkeys(("objects", "object", "o"), "objects"),
    **dict.fromkeys(("graphs", "graph", "g"), "graphs"),
    **dict.fromkeys(("function", "fn", "f"), "function"),
    **dict.fromkeys(("value", "v"), "value"),
    **dict.fromkeys(("authors", "author", "a"), "authors"),
    **{name: name for name in ("prefixes", "base", "access", "referenceFormulation", "condition")},
    **{name: name for name in ("type", "datatype", "language", "query", "iterator", "targets")},
}
"""Key as written -> its long form."""
_KINDS: dict[str, TermKind] = {"iri": "iri", "literal": "literal", "blanknode": "blank"}


_SCHEMES = frozenset({"urn", "mailto", "tel", "geo", "info", "doi", "tag"})
"""Schemes of IRIs that are not followed by ``//``; other words before a colon are prefixes."""


class _Loader(yaml.BaseLoader):
    """Loads all scalars as texts; refuses aliases, which can expand a file, and repeated keys."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(problem="aliases are not supported", problem_mark=mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value]
        for number, key in enumerate(keys):
            if key in keys[:number]:
                mark = node.value[number][0].start_mark
                raise yaml.MarkedYAMLError(problem=f"'{key}' occurs twice", problem_mark=mark)
        return super().construct_mapping(node, deep)


class _YarrrmlReader:
    """Reads a mapping of a table (https://rml.io/yarrrml/spec/); raises `InputError`."""

    def __init__(self, file: MappingFile, table: str) -> None:
        self._name, self._table = file.name, table
        self._document = self._loaded(file)
        prefixes = self._map(self._document.get("prefixes", {}), "prefixes")
        self._prefixes = PREFIXES | {k: self._text(v, k) for k, v in prefixes.items()}
        self._base = self._text(self._document.get("base", ""), "base")
        self._mappings = self._map(self._document.get("mappings", {}), "mappings")
        if not self._mappings:
            raise InputError(f"{file.name} has no mappings: see --suggest-mapping")
        self._subjects: dict[str, list[TermMap]] = {}

    def read(self) -> tuple[TriplesMap, ...]:
        named = {name: self._map(m, f"mapping '{name}'") for name, m in self._mappings.items()}
        for name, mapping in named.items():
            location = f"mapping '{name}'"
            self._check_sources(mapping, location)
            if "subjects" not in mapping:
                raise self._error(location, "has no subject: add s: https://.../$(id)")
            subjects = _listed(mapping["subjects"])
            self._subjects[name] = [self._term(subject, location, "iri") for subject in subjects]
        return tuple(
            TriplesMap(name, subject, self._statements(mapping, f"mapping '{name}'"))
            for name, mapping in named.items()
            for subject in self._subjects[name]
        )

    def _loaded(self, file: MappingFile) -> dict[str, Any]:
        try:
            document = yaml.load(file.content, _Loader)  # noqa: S506 - texts only
        except UnicodeDecodeError as error:
            raise InputError(f"{file.name} is not UTF-8 text: save it as UTF-8") from error
        except (yaml.YAMLError, RecursionError) as error:
            mark = getattr(error, "problem_mark", None)
            location = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
            reason = getattr(error, "problem", None) or one_line(str(error))
            raise InputError(f"{file.name}{location}: not valid YAML: {reason}") from error
        return self._map(document, "the document")

    def _error(self, location: str, message: str) -> InputError:
        return InputError(f"{self._name}, {location}: {message}")

    def _map(self, value: Any, location: str) -> dict[str, Any]:
        """A mapping of YAML, with long forms of keys except where they are names."""
        if value == "":
            return {}
        if not isinstance(value, Mapping):
            raise self._error(location, f"'{_shown(value)}' is not a mapping of YAML")
        if location in ("prefixes", "mappings", "sources"):
            return dict(value)
        unknown = [key for key in value if key not in _KEYS]
        if unknown and not (location == "the document" and unknown == ["external"]):
            raise self._error(location, f"unknown key '{_shown(unknown[0])}'")
        keys = {_KEYS[key]: inner for key, inner in value.items() if key in _KEYS}
        if not keys.keys().isdisjoint(("function", "condition")):
            raise self._error(
                location, "functions and conditions are not supported: change the table first"
            )
        return keys

    def _text(self, value: Any, location: str) -> str:
        if not isinstance(value, str):
            raise self._error(location, f"'{_shown(value)}' is not a text")
        return value

    def _check_sources(self, mapping: Mapping[str, Any], location: str) -> None:
        named = self._map(self._document.get("sources", {}), "sources")
        if "sources" not in mapping:
            raise self._error(location, f"has no source: add sources: [['{self._table}~csv']]")
        for source in _listed(mapping["sources"]):
            given = named.get(source, source) if isinstance(source, str) else source
            if isinstance(given, Mapping):
                given = self._map(given, location)
                if "query" in given:
                    raise self._error(location, "queries as sources are not supported")
                formulation = str(given.get("referenceFormulation", "csv"))
                access = self._text(given.get("access", ""), location)
            else:
                text = given[0] if isinstance(given, list) and given else given
                access, _, formulation = self._text(text, location).partition("~")
            if (formulation or "csv").lower() != "csv":
                problem = f"sources of type {formulation} are not supported: csv is"
                raise self._error(location, problem)
            check_source(self._name, location, access, self._table)

    def _statements(
        self, mapping: Mapping[str, Any], location: str
    ) -> tuple[tuple[TermMap, TermMap], ...]:
        pairs = []
        for number, entry in enumerate(_listed(mapping.get("predicateobjects", [])), 1):
            where, type_ = f"{location}, statement {number}", ""
            if isinstance(entry, list):
                if not 2 <= len(entry) <= 3:
                    raise self._error(
                        where, "write [predicate, object] or [predicate, object, datatype]"
                    )
                predicates, objects, type_ = [*entry, ""][:3]
            else:
                inner = self._map(entry, where)
                if "predicates" not in inner or "objects" not in inner:
                    raise self._error(where, "give p and o")
                predicates, objects = inner["predicates"], inner["objects"]
            terms = [t for value in _listed(objects) for t in self._object(value, where, type_)]
            for predicate in _listed(predicates):
                property_ = self._term(predicate, where, "iri")
                pairs += [(property_, term) for term in terms]
        return tuple(pairs)

    def _object(self, value: Any, location: str, type_: Any) -> list[TermMap]:
        """The terms of an object; `type_` is a datatype, ``en~lang`` or empty."""
        if isinstance(value, list):  # [value, datatype or language]
            value, type_ = [*value, type_][:2]
        if isinstance(value, Mapping) and "mapping" in value:  # its subject for the same row
            if "condition" in value:
                raise self._error(
                    location, "joins are not supported: write the template of the other subject"
                )
            name = self._text(value["mapping"], location)
            if name not in self._subjects:
                raise self._error(location, f"no such mapping: '{name}'")
            return self._subjects[name]
        if isinstance(value, Mapping):
            inner = self._map(value, location)
            kind = str(inner.get("type", ""))
            if kind and kind not in _KINDS:
                raise self._error(location, f"unknown type '{kind}': use iri, literal or blanknode")
            value = self._text(inner.get("value", ""), location) + (f"~{kind}" if kind else "")
            type_ = inner.get("datatype", type_)
            if "language" in inner:
                type_ = self._text(inner["language"], location) + "~lang"
        term = self._term(value, location, "literal")
        return [self._typed(term, self._text(type_, location), location) if type_ else term]

    def _typed(self, term: TermMap, type_: str, location: str) -> TermMap:
        if type_.endswith("~lang"):
            language = type_.removesuffix("~lang")
            if not language.replace("-", "").isalnum():
                raise self._error(location, f"'{language}' is not a language tag")
            return replace(term, kind="literal", is_template=False, language=language)
        datatype = self._expanded(type_)
        self._check_prefix(type_, datatype, location)
        return replace(term, kind="literal", is_template=False, datatype=datatype)

    def _term(self, value: Any, location: str, default: TermKind) -> TermMap:
        if isinstance(value, Mapping):
            value = self._map(value, location).get("value", "")
        text, _, kind = self._text(value, location).rpartition("~")
        if kind not in _KINDS:
            text, kind = str(value), ""
        if text == "a" and default == "iri":
            return TermMap((RDF.type.value,), "iri")
        expanded = self._expanded(text)
        try:
            parts = template_parts(expanded, "$(", ")")
        except ValueError as error:
            raise self._error(location, str(error)) from error
        is_reference = len(parts) == 3 and not parts[0] and not parts[2]
        is_absolute = expanded != text or expanded.startswith(("http://", "https://", "urn:"))
        term_kind = _KINDS[kind] if kind else "iri" if is_absolute else default
        if term_kind == "iri" and not is_reference and not (parts[0] and is_absolute):
            parts = (self._base + parts[0], *parts[1:])
        if term_kind == "iri" and parts[0]:
            self._check_prefix(text, parts[0], location)
        return TermMap(parts, term_kind, is_template=term_kind == "iri" and not is_reference)

    def _check_prefix(self, text: str, iri: str, location: str) -> None:
        """Raise an error if an IRI, or the start of one, begins with a prefix that is unknown."""
        scheme = iri.partition(":")[0]
        if not (is_iri(iri) and (scheme in _SCHEMES or iri.startswith(f"{scheme}://"))):
            raise self._error(location, f"'{text}' is not an IRI: declare its prefix")

    def _expanded(self, text: str) -> str:
        prefix, colon, local = text.partition(":")
        if not colon or local.startswith("//") or prefix not in self._prefixes:
            return text
        return self._prefixes[prefix] + local


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _shown(value: Any) -> str:
    return one_line(str(value))[:60]


YARRRML = MappingLanguage(
    "YARRRML (.yml)", (".yml", ".yaml"), lambda file, table, _: _YarrrmlReader(file, table).read()
)
