"""CSV on the Web: metadata of a table (JSON) as a mapping.

The part of the W3C recommendations "Metadata Vocabulary for Tabular Data" and "Generating RDF from
Tabular Data on the Web" that concerns one table, in minimal mode: what cells state, without the
description of rows and tables. What is not supported and would change the result is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import NoneType
from typing import Any, Final
from urllib.parse import unquote, urljoin

from sarag_rdf.base.errors import InputError, one_line
from sarag_rdf.base.iris import is_iri
from sarag_rdf.base.vocab import PREFIXES, RDF, WIKIBASE_SCHEMA, XSD
from sarag_rdf.graph.ontology.schema import NUMBERS
from sarag_rdf.plugins.tables.mapping import (
    ROW,
    SOURCE_ROW,
    CellRule,
    MappingFile,
    MappingLanguage,
    TermMap,
    TriplesMap,
    expanded_iri,
    percent_encoded,
    unpacked_name,
)

_CONTEXT: Final = "http://www.w3.org/ns/csvw"
_INHERITED: Final = (
    *("aboutUrl", "propertyUrl", "valueUrl", "datatype", "lang", "null", "default", "separator"),
    "ordered",
)
_PREFIXES: Final = PREFIXES | {
    "schema": WIKIBASE_SCHEMA.base,  # as in the initial context of RDFa, with http
    "csvw": f"{_CONTEXT}#",
    "dc": "http://purl.org/dc/terms/",
    "dc11": "http://purl.org/dc/elements/1.1/",
    "geo": "http://www.w3.org/2003/01/geo/wgs84_pos#",
    "gr": "http://purl.org/goodrelations/v1#",
    "org": "http://www.w3.org/ns/org#",
    "qb": "http://purl.org/linked-data/cube#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
}
_DATATYPES: Final = {
    "number": XSD.double.value,
    "binary": XSD.base64Binary.value,
    "datetime": XSD.dateTime.value,
    "any": f"{XSD.base}anyAtomicType",
    "xml": RDF.XMLLiteral.value,
    "html": RDF.HTML.value,
    "json": f"{_CONTEXT}#JSON",
}
"""Names of datatypes that are not those of XML Schema."""
_XSD_NAMES: Final = frozenset(
    (
        "anyAtomicType anyURI base64Binary boolean byte date dateTime dateTimeStamp "
        "dayTimeDuration decimal double duration float gDay gMonth gMonthDay gYear gYearMonth "
        "hexBinary int integer language long Name negativeInteger NMTOKEN nonNegativeInteger "
        "normalizedString nonPositiveInteger positiveInteger QName short string time token "
        "unsignedByte unsignedInt unsignedLong unsignedShort yearMonthDuration"
    ).split()
)
_TEXTS: Final = frozenset(
    (
        *(XSD[name].value for name in ("string", "normalizedString", "anyAtomicType")),
        *(_DATATYPES[name] for name in ("json", "xml", "html")),
    )
)
"""Datatypes of texts, whose formats are regular expressions."""
_DIALECT: Final[Mapping[str, tuple[object, ...]]] = {
    "delimiter": (",", ";", "\t"),
    "header": (True,),
    "headerRowCount": (1,),
    "quoteChar": ('"',),
    "doubleQuote": (True,),
    "skipRows": (0,),
    "skipColumns": (0,),
    "skipInitialSpace": (True, False),
    "encoding": ("utf-8", "UTF-8", "utf8"),
    "skipBlankRows": (True, False),
    "trim": (True, False, "true", "false", "start", "end"),
}
"""Property of a dialect -> the values that tables are read with."""

_KIND_NAMES: Final[Mapping[type, str]] = {
    str: "a text",
    list: "a list",
    dict: "an object",
    bool: "true or false",
    NoneType: "null",
}
_KINDS: Final[Mapping[str, tuple[type, ...]]] = {
    **dict.fromkeys(("dialect", "tableSchema"), (dict,)),
    **dict.fromkeys(("ordered", "suppressOutput", "virtual"), (bool,)),
    **dict.fromkeys(("url", "@base", "name", "lang", "default", "base"), (str,)),
    **dict.fromkeys(("aboutUrl", "propertyUrl", "valueUrl"), (str,)),
    **dict.fromkeys(("groupChar", "decimalChar", "pattern"), (str,)),
    **dict.fromkeys(("datatype", "format"), (str, dict)),
    "separator": (str, NoneType),
    "null": (str, list),
    "titles": (str, list, dict),
    "columns": (list,),
    "tables": (list, dict),
}
"""Property -> the kinds of JSON values that it may have."""


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of the schema: its place, the name in templates, and its inherited properties."""

    file: str
    number: int
    name: str
    header: str
    properties: Mapping[str, Any]

    @property
    def is_virtual(self) -> bool:
        return bool(self.properties.get("virtual", False))

    def error(self, message: str) -> InputError:
        return InputError(f"{self.file}, column '{self.name}': {message}")


def read_csvw(file: MappingFile, table: str, header: Sequence[str] = ()) -> tuple[TriplesMap, ...]:
    """The triples maps of metadata of `table`, whose first line is `header`.

    Raises `InputError` for what is not CSVW, not about this table, or not supported.
    """
    return _Reader(file, table, header).read()


class _Reader:
    def __init__(self, file: MappingFile, table: str, header: Sequence[str]) -> None:
        self._file, self._header = file.name, header
        document = self._document(file.content)
        self._base = self._base_of(document)
        self._table, inherited = self._described(document, table)
        self._url = self._joined(self._base, _text(self._table, "url"), "url")
        schema = self._object(self._table.get("tableSchema", {}), "tableSchema")
        inherited |= _inherited(self._table) | _inherited(schema)
        dialect = {**document.get("dialect", {}), **self._table.get("dialect", {})}
        for key, value in dialect.items():
            if key in _DIALECT and value not in _DIALECT[key]:
                raise self._error("dialect", f"{key} {value!r} is not supported: convert the table")
        self._columns = list(self._read_columns(schema, inherited))
        self._named = {column.name: column for column in self._columns}

    def read(self) -> tuple[TriplesMap, ...]:
        if self._table.get("suppressOutput") is True:
            raise self._error("the table", "suppressOutput leaves nothing to import: remove it")
        statements: dict[TermMap, list[tuple[TermMap, TermMap]]] = {}
        for column in self._columns:
            if column.properties.get("suppressOutput") is True:
                continue
            about = _text(column.properties, "aboutUrl")
            property_ = (
                _text(column.properties, "propertyUrl") or f"#{percent_encoded(column.name)}"
            )
            row = TermMap(("row ", ROW, ""), "blank")
            subject = self._iri(column, about, "aboutUrl") if about else row
            predicate = self._iri(column, property_, "propertyUrl")
            statements.setdefault(subject, []).append((predicate, self._value(column)))
        if not statements:
            raise self._error("tableSchema", "no columns that state anything: describe columns")
        cells = {c.header: self._rule(c) for c in self._columns if not c.is_virtual}
        return tuple(
            TriplesMap("tableSchema", subject, tuple(pairs), cells, has_row_numbers=True)
            for subject, pairs in statements.items()
        )

    def _error(self, location: str, message: str) -> InputError:
        return InputError(f"{self._file}, {location}: {message}")

    def _document(self, content: bytes) -> dict[str, Any]:
        try:
            document = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{self._file} is not JSON: {one_line(str(error))}") from error
        root = self._object(document, "the document")
        context = root.get("@context")
        if _CONTEXT not in (context if isinstance(context, list) else [context]):
            raise InputError(
                f'{self._file} is not metadata of CSV on the Web: it lacks "@context": "{_CONTEXT}"'
            )
        return root

    def _object(self, value: Any, location: str) -> dict[str, Any]:
        """A JSON object whose properties have values of their kinds, also in objects within it."""
        if isinstance(value, str):
            raise self._error(location, f"'{value}' is in another file: write it into this one")
        if not isinstance(value, dict):
            raise self._error(location, "is not an object of JSON")
        for key, inner in value.items():
            kinds = _KINDS.get(key, (object,))
            if kinds == (dict,):
                self._object(inner, key)
            elif not isinstance(inner, kinds):
                expected = " or ".join(_KIND_NAMES[kind] for kind in kinds)
                raise self._error(location, f"{key} must be {expected}")
            elif isinstance(inner, dict) and key in ("datatype", "format"):
                self._object(inner, f"{location}, {key}")
        return value

    def _joined(self, base: str, reference: str, location: str) -> str:
        try:
            return urljoin(base, reference)
        except ValueError as error:
            raise self._error(location, f"'{reference}' is not a URL: {error}") from error

    def _base_of(self, document: Mapping[str, Any]) -> str:
        context = document["@context"]
        options = context[1] if isinstance(context, list) and len(context) > 1 else {}
        base = _text(self._object(options, "@context"), "@base")
        if base and not is_iri(base):
            raise self._error("@context", f"@base '{base}' is not an absolute IRI")
        return base

    def _described(
        self, document: dict[str, Any], table: str
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """The description of the table, and what it inherits from the group."""
        tables = document.get("tables", [document])
        inherited = _inherited(document) if "tables" in document else {}
        names = []
        for described in tables if isinstance(tables, list) else [tables]:
            described_table = self._object(described, "tables")
            url = _text(described_table, "url")
            name = unquote(Path(url.partition("?")[0].partition("#")[0]).name)
            if table in (name, unpacked_name(name)):
                if document.get("tableSchema") and "tableSchema" not in described_table:
                    described_table = {**described_table, "tableSchema": document["tableSchema"]}
                return described_table, inherited
            names.append(url)
        raise self._error(
            "url", f"describes {', '.join(map(repr, names)) or 'no table'}, and not '{table}'"
        )

    def _read_columns(
        self, schema: Mapping[str, Any], inherited: Mapping[str, Any]
    ) -> Iterator[_Column]:
        real = 0
        for number, described in enumerate(schema.get("columns", []), 1):
            column = self._object(described, f"column {number}")
            titles = _titles(column.get("titles"))
            name = _text(column, "name") or next(iter(titles), f"_col.{number}")
            titles, header = titles or [name], ""
            if column.get("virtual") is not True:
                real += 1
                if real > len(self._header or titles * real):
                    raise self._error(f"column '{name}'", "the table has fewer columns")
                header = self._header[real - 1] if self._header else titles[0]
                if header not in titles:
                    raise self._error(
                        f"column '{name}'",
                        f"column {real} of the table is '{header}': describe the columns in their "
                        "order, with these titles",
                    )
            yield _Column(self._file, number, name, header, {**inherited, **column})

    def _value(self, column: _Column) -> TermMap:
        properties = column.properties
        if properties.get("ordered") is True and properties.get("separator"):
            raise column.error("ordered lists are not supported: remove ordered")
        template = _text(properties, "valueUrl")
        if template:
            names = re.findall(r"\{\+?([^{}]+)\}", template)
            separator = _text(properties, "separator") if column.name in names else ""
            return self._iri(column, template, "valueUrl", separator)
        datatype = self._datatype(column)
        language = _text(properties, "lang")
        is_string = datatype == XSD.string.value
        language = language if is_string and language != "und" else ""
        if language and not language.replace("-", "").isalnum():
            raise column.error(f"'{language}' is not a language tag")
        parts: tuple[str, ...] = ("", column.header, "")
        separator = _text(properties, "separator")
        if column.is_virtual:
            parts, separator = (_text(properties, "default"),), ""
            if not parts[0]:
                raise column.error("a virtual column needs valueUrl or default")
        datatype = "" if is_string else datatype
        return TermMap(parts, "literal", False, datatype, language, separator=separator)

    def _iri(self, column: _Column, template: str, key: str, separator: str = "") -> TermMap:
        """A URI template (RFC 6570, simple expansion), resolved against the table."""
        expanded = expanded_iri(template, _PREFIXES)
        texts = re.split(r"\{([^{}]*)\}", expanded)
        if not {"{", "}"}.isdisjoint("".join(texts[::2])):
            raise column.error(f"{key} '{template}' is not a URI template")
        merged = texts[:1]
        constants = {"_name": column.name, "_column": str(column.number)}
        for variable, text in zip(texts[1::2], texts[2::2], strict=True):
            if (plain := variable.removeprefix("+")) in constants:
                merged[-1] += percent_encoded(constants[plain]) + text
            else:
                merged += [self._variable(column, variable, key), text]
        if re.fullmatch(r"\{\+([^{}]+)\}", expanded):
            return TermMap(tuple(merged), "iri", separator=separator)
        if not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", merged[0]):
            if not is_iri(self._url):
                raise column.error(
                    f"{key} '{template}' is relative: write the whole IRI, or add "
                    '{"@base": "https://..."} to @context'
                )
            place = f"column '{column.name}'"
            merged[0] = self._joined(self._url, merged[0], place) if merged[0] else self._url
        if not is_iri(merged[0]):
            raise column.error(f"{key} '{template}' is not an IRI")
        return TermMap(tuple(merged), "iri", is_template=True, is_uri=True, separator=separator)

    def _variable(self, column: _Column, name: str, key: str) -> str:
        """The header of the column that a variable names."""
        plain = name.removeprefix("+")
        if plain in (ROW, SOURCE_ROW):
            return plain
        known = self._named.get(plain) or self._named.get(unquote(plain))
        if known is None or known.is_virtual:
            raise column.error(f"{key}: no column '{plain}' in tableSchema")
        if name.startswith("+") and _text(column.properties, key) != f"{{{name}}}":
            raise column.error(f"{key}: {{{name}}} is supported only as the whole template")
        if known.properties.get("separator") and known is not column:
            raise column.error(f"{key}: '{plain}' has several values in a cell")
        return known.header

    def _datatype(self, column: _Column) -> str:
        given = column.properties.get("datatype", "string")
        if isinstance(given, dict):
            if "@id" in given:
                raise column.error("datatypes with an @id are not supported: use base")
            given = given.get("base", "string")
        if given not in _DATATYPES and given not in _XSD_NAMES:
            raise column.error(f"unknown datatype '{given}'")
        return _DATATYPES.get(given) or XSD[given].value

    def _rule(self, column: _Column) -> CellRule:
        nulls = column.properties.get("null", "")
        default = _text(column.properties, "default")
        texts = nulls if isinstance(nulls, list) else [nulls]
        if not all(isinstance(text, str) for text in texts):
            raise column.error("null is neither a text nor a list of texts")
        return CellRule(default, frozenset(texts), self._format(column, self._datatype(column)))

    def _format(self, column: _Column, datatype: str) -> Callable[[str], str] | None:
        """A function from a cell in its format to the lexical form; None without a format."""
        given = column.properties.get("datatype")
        format_ = given.get("format") if isinstance(given, dict) else None
        if format_ is None:
            return None
        if datatype == XSD.boolean.value and isinstance(format_, str) and "|" in format_:
            yes, _, no = format_.partition("|")
            words = {yes: "true", no: "false"}
            return lambda text: words.get(text, text)
        name = datatype.removeprefix(XSD.base)
        if name in ("date", "dateTime", "dateTimeStamp", "time") and isinstance(format_, str):
            return self._date_format(column, format_, name)
        if datatype in NUMBERS:
            return self._number_format(column, format_)
        if datatype in _TEXTS:
            return None  # a regular expression that values match
        raise column.error(f"format {format_!r} is not supported for {name}")

    def _date_format(self, column: _Column, format_: str, name: str) -> Callable[[str], str]:
        pieces = re.findall(r"yyyy|MM?|dd?|HH|mm|ss|.", format_)
        parts = [piece[0] for piece in pieces if piece in _TOKENS]
        if len(set(parts)) < len(parts):
            raise column.error(f"format '{format_}' repeats a part")
        is_known = all(piece in _TOKENS or piece in "-/. T:" for piece in pieces)
        if not is_known or (name != "time" and not {"y", "M", "d"}.issubset(parts)):
            raise column.error(f"format '{format_}' is not supported for {name}")
        pattern = "".join(_TOKENS.get(piece, piece) for piece in pieces)

        def lexical(text: str) -> str:
            try:
                moment = datetime.strptime(text, pattern)
            except ValueError:
                return text
            if name == "time":
                return moment.time().isoformat()
            return moment.date().isoformat() if name == "date" else moment.isoformat()

        return lexical

    def _number_format(self, column: _Column, format_: Any) -> Callable[[str], str]:
        if isinstance(format_, str):
            format_ = {"pattern": format_, "groupChar": ","}
        group, point = _text(format_, "groupChar"), _text(format_, "decimalChar") or "."
        if not {"%", "\u2030"}.isdisjoint(_text(format_, "pattern")):
            raise column.error("numbers in percent are not supported: divide them")
        return lambda text: (text.replace(group, "") if group else text).replace(point, ".")


_TOKENS: Final = dict(
    pair.split("=") for pair in "yyyy=%Y MM=%m M=%m dd=%d d=%d HH=%H mm=%M ss=%S".split()
)
"""Token of a date format -> directive of `datetime.strptime`."""


def _inherited(holder: Mapping[str, Any]) -> dict[str, Any]:
    return {key: holder[key] for key in _INHERITED if key in holder}


def _text(holder: Mapping[str, Any], key: str) -> str:
    """A property of a checked object that is a text; empty if it is missing."""
    return str(holder.get(key) or "")


def _titles(value: Any) -> list[str]:
    """Titles of a column: a text, a list, or texts by language."""
    if isinstance(value, dict):
        return [title for titles in value.values() for title in _titles(titles)]
    return [str(title) for title in (value if isinstance(value, list) else [value]) if title]


LANGUAGE = MappingLanguage("CSVW metadata (.json)", (".json", ".jsonld"), read_csvw)
