"""YARRRML mappings (https://rml.io/yarrrml/spec/): the part that concerns one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import yaml

from sarag_rdf.base.errors import InputError, one_line
from sarag_rdf.base.iris import is_iri
from sarag_rdf.base.vocab import PREFIXES, RDF
from sarag_rdf.plugins.tables.mapping import (
    MappingFile,
    MappingLanguage,
    TermKind,
    TermMap,
    TriplesMap,
    check_source,
    template_parts,
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


def read_yarrrml(
    file: MappingFile,
    table: str,
    header: Sequence[str] = (),  # noqa: ARG001 - all languages have it
) -> tuple[TriplesMap, ...]:
    """The triples maps of a mapping of `table`; raises `InputError`."""
    return _Reader(file, table).read()


class _Reader:
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
            if "condition" in mapping:
                raise self._error(location, "conditions are not supported: filter the table first")
            if "subjects" not in mapping:
                raise self._error(location, "has no subject: add s: https://.../$(id)")
            self._subjects[name] = [
                self._term(s, location, "iri") for s in _listed(mapping["subjects"])
            ]
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
        return {_KEYS[key]: inner for key, inner in value.items() if key in _KEYS}

    def _text(self, value: Any, location: str) -> str:
        if not isinstance(value, str):
            raise self._error(location, f"'{_shown(value)}' is not a text")
        return value

    def _check_sources(self, mapping: Mapping[str, Any], location: str) -> None:
        named = self._map(self._document.get("sources", {}), "sources")
        if "sources" not in mapping:
            raise self._error(location, f"has no source: add  sources: [['{self._table}~csv']]")
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
                raise self._error(
                    location, f"sources of type {formulation} are not supported: csv is"
                )
            check_source(self._name, location, access, self._table)

    def _statements(
        self, mapping: Mapping[str, Any], location: str
    ) -> tuple[tuple[TermMap, TermMap], ...]:
        pairs = []
        entries = mapping.get("predicateobjects", [])
        for number, entry in enumerate(entries if isinstance(entries, list) else [entries], 1):
            where = f"{location}, statement {number}"
            if isinstance(entry, list):
                predicates, objects = self._shortcut(entry, where)
            else:
                inner = self._map(entry, where)
                if "condition" in inner or "function" in inner:
                    raise self._error(where, "functions and conditions are not supported")
                if "predicates" not in inner or "objects" not in inner:
                    raise self._error(where, "give p and o")
                predicates = _listed(inner["predicates"])
                objects = [
                    term
                    for value in _listed(inner["objects"])
                    for term in self._object(value, where)
                ]
            for predicate in predicates:
                property_ = self._term(predicate, where, "iri")
                pairs += [(property_, object_) for object_ in objects]
        return tuple(pairs)

    def _shortcut(self, entry: list[Any], location: str) -> tuple[list[Any], list[TermMap]]:
        """``[predicates, objects]``, and optionally a datatype or ``en~lang`` as third."""
        if not 2 <= len(entry) <= 3:
            raise self._error(
                location, "write [predicate, object] or [predicate, object, datatype]"
            )
        objects = []
        for value in _listed(entry[1]):
            objects += self._object([value, *entry[2:]] if len(entry) == 3 else value, location)
        return _listed(entry[0]), objects

    def _object(self, value: Any, location: str) -> list[TermMap]:
        if isinstance(value, list):  # [value, datatype or language]
            term = self._term(value[0], location, "literal")
            return [
                self._typed(term, self._text(value[1], location), location) if value[1:] else term
            ]
        if not isinstance(value, Mapping):
            return [self._term(value, location, "literal")]
        if "mapping" in value:
            return self._subjects_of(value, location)
        inner = self._map(value, location)
        if "function" in inner or "condition" in inner:
            raise self._error(location, "functions and conditions are not supported")
        kind = str(inner.get("type", ""))
        if kind and kind not in _KINDS:
            raise self._error(location, f"unknown type '{kind}': use iri, literal or blanknode")
        text = self._text(inner.get("value", ""), location) + (f"~{kind}" if kind else "")
        term = self._term(text, location, "literal")
        if "language" in inner:
            return [self._typed(term, self._text(inner["language"], location) + "~lang", location)]
        if "datatype" in inner:
            return [self._typed(term, self._text(inner["datatype"], location), location)]
        return [term]

    def _subjects_of(self, value: Mapping[str, Any], location: str) -> list[TermMap]:
        """The subjects of another mapping for the same row."""
        if "condition" in value:
            raise self._error(
                location, "joins are not supported: write the template of the other subject"
            )
        name = self._text(value["mapping"], location)
        if name not in self._subjects:
            raise self._error(location, f"no such mapping: '{name}'")
        return self._subjects[name]

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
            inner = self._map(value, location)
            if "function" in inner:
                raise self._error(location, "functions and conditions are not supported")
            value = inner.get("value", "")
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


LANGUAGE = MappingLanguage("YARRRML (.yml)", (".yml", ".yaml"), read_yarrrml)
