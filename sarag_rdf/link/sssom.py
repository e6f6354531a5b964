"""SSSOM tables: reading, writing, CURIEs, and tables for review in a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pyoxigraph import NamedNode

from sarag_rdf.errors import InputError
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.graph.texts import documents_of
from sarag_rdf.iris import namespace
from sarag_rdf.link.match import NO_MAPPING, PREDICATES, UNSPECIFIED, Match
from sarag_rdf.vocab import OWL, SEMAPV, SKOS, SSSOM

COLUMNS = (
    "subject_id",
    "subject_label",
    "predicate_id",
    "predicate_modifier",
    "object_id",
    "object_label",
    "mapping_justification",
    "confidence",
    "similarity_score",
    "similarity_measure",
    "mapping_tool",
    "mapping_date",
    "comment",
)
REQUIRED = ("subject_id", "predicate_id", "object_id", "mapping_justification")
DECISION = "decision"
"""Column of a review table: rows are left out unless it says accept."""
_DECISIONS = {"accept": True, "reject": False, "": False}
UNKNOWN_LICENSE = "https://w3id.org/sssom/license/unspecified"
_SHOWN = 5


def write_table(
    matches: Iterable[Match], header: Mapping[str, str], prefixes: Mapping[str, str]
) -> str:
    """The table of links, in the order given; `prefixes` are names for namespaces of ours.

    Columns without any value are left out.
    """
    listed = list(matches)
    ends = (iri for m in listed for iri in (m.subject, m.predicate, m.object, m.justification))
    curie_map = prefixes_for(ends, prefixes)
    rows = [cells(match, Curies(curie_map)) for match in listed]
    used = [c for c in COLUMNS if c in REQUIRED or any(row[c] for row in rows)]
    buffer = io.StringIO()
    for key, value in header.items():
        buffer.write(f"#{key}: {json.dumps(value, ensure_ascii=False)}\n")
    buffer.write("#curie_map:\n" if curie_map else "")
    for prefix, base in curie_map.items():
        buffer.write(f"#  {prefix}: {json.dumps(base, ensure_ascii=False)}\n")
    table = csv.DictWriter(buffer, used, extrasaction="ignore", delimiter="\t", lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return buffer.getvalue()


def cells(match: Match, curies: Curies | None = None) -> dict[str, str]:
    """A row, by the names of the columns; without `curies` IRIs are written in full."""
    curies = curies or Curies({})
    return {
        "subject_id": curies.shorten(match.subject),
        "subject_label": _line(match.subject_label),
        "predicate_id": curies.shorten(match.predicate),
        "predicate_modifier": "Not" if match.negated else "",
        "object_id": curies.shorten(match.object),
        "object_label": _line(match.object_label),
        "mapping_justification": curies.shorten(match.justification),
        "confidence": _number(match.confidence),
        "similarity_score": _number(match.similarity),
        "similarity_measure": match.measure,
        "mapping_tool": match.tool,
        "mapping_date": match.date,
        "comment": _line(match.comment),
    }


def _line(text: str) -> str:
    return " ".join(text.split())


def _number(value: float | None) -> str:
    return "" if value is None else f"{round(value, 4):g}"


def read_table(path: Path) -> list[Match]:
    """The rows of a table; raises `InputError` with the line of all that is wrong in it."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text: {error.reason}") from error
    lines = text.splitlines(keepends=True)
    head = [line for line in lines if line.startswith("#")]
    curies = Curies(_curie_map(path, head))
    # Lines of the header become empty, so that line numbers are those of the file.
    body = ["\n" if line.startswith("#") else line for line in lines]
    table = csv.reader(body, delimiter="\t", strict=True)
    rows = ((table.line_num, row) for row in _rows(path, table) if any(row))
    _, names = next(rows, (0, []))
    missing = [name for name in REQUIRED if name not in names]
    if missing:
        raise InputError(f"{path} is no SSSOM table: it lacks the column {', '.join(missing)}")
    found: list[Match] = []
    wrong: list[str] = []
    for line, cells in rows:
        try:
            found.append(_match(names, cells, curies, line))
        except ValueError as error:
            wrong.append(f"line {line}: {error}")
    complain(path, wrong)
    return found


def complain(path: Path, wrong: Sequence[str]) -> None:
    """Raise `InputError` if anything is wrong; the first few are said."""
    if wrong:
        more = f"; and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
        raise InputError(f"{path}, {'; '.join(wrong[:_SHOWN])}{more}. Nothing was written")


def _rows(path: Path, table: Iterator[list[str]]) -> Iterator[list[str]]:
    try:
        yield from table
    except csv.Error as error:
        raise InputError(f"{path} cannot be read as tab-separated values: {error}") from error


def _curie_map(path: Path, head: Iterable[str]) -> dict[str, str]:
    import yaml

    try:
        data = yaml.safe_load("".join(line[1:] for line in head)) or {}
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        problem = " ".join(str(error).split())
        raise InputError(f"the header of {path} is not YAML: {problem}") from error
    found = data.get("curie_map", {}) if isinstance(data, dict) else None
    if not isinstance(found, dict) or not all(isinstance(v, str) for v in found.values()):
        raise InputError(f"the header of {path} has no map of prefixes where one should be")
    return {str(prefix): base for prefix, base in found.items()}


def _match(names: Sequence[str], cells: Sequence[str], curies: Curies, line: int) -> Match:
    if len(cells) != len(names):
        raise ValueError(f"{len(cells)} cells under {len(names)} column names")
    row = dict(zip(names, (cell.strip() for cell in cells), strict=True))
    for name in REQUIRED:
        if not row[name]:
            raise ValueError(f"{name} is empty")
    predicate = curies.expand(row["predicate_id"])
    if predicate not in (*PREDICATES, NO_MAPPING):
        raise ValueError(
            f"'{row['predicate_id']}' is no link: use skos:exactMatch, closeMatch, broadMatch, "
            "narrowMatch or relatedMatch, owl:sameAs, or sssom:NoMapping"
        )
    modifier = row.get("predicate_modifier", "")
    if modifier not in ("", "Not"):
        raise ValueError(f"predicate_modifier is '{modifier}', where only Not may stand")
    decision = row.get(DECISION, "accept").casefold()
    if decision not in _DECISIONS:
        raise ValueError(f"{DECISION} is '{decision}': write accept or reject, or leave it empty")
    return Match(
        curies.expand(row["subject_id"]),
        predicate,
        curies.expand(row["object_id"]),
        curies.expand(row["mapping_justification"]) or UNSPECIFIED,
        _share(row, "confidence"),
        row.get("subject_label", ""),
        row.get("object_label", ""),
        _share(row, "similarity_score"),
        row.get("similarity_measure", ""),
        row.get("mapping_tool", ""),
        _date(row.get("mapping_date", "")),
        row.get("comment", ""),
        negated=modifier == "Not",
        line=line,
        accepted=_DECISIONS[decision],
    )


def _share(row: Mapping[str, str], name: str) -> float | None:
    text = row.get(name, "")
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{name} is '{text}', not a number from 0 to 1")
    return value


def _date(text: str) -> str:
    if text and not re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        raise ValueError(f"mapping_date is '{text}', not a date such as 2026-01-31")
    return text


BUILT_IN = {
    "owl": OWL.base,
    "semapv": SEMAPV.base,
    "skos": SKOS.base,
    "sssom": SSSOM.base,
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
}
"""Prefixes that stand for the same everywhere; a file need not declare them."""
_KNOWN = {
    "wd": "http://www.wikidata.org/entity/",
    "dbr": "http://dbpedia.org/resource/",
    "schema": "http://schema.org/",
    "gnd": "https://d-nb.info/gnd/",
    "viaf": "http://viaf.org/viaf/",
}


def prefixes_for(iris: Iterable[str], given: Mapping[str, str]) -> dict[str, str]:
    """Prefix -> namespace for all IRIs: those `given`, well-known ones, then ns1, ns2, ..."""
    names = {base: prefix for prefix, base in (BUILT_IN | _KNOWN | dict(given)).items()}
    found: dict[str, str] = {}
    number = 0
    for base in sorted({namespace(iri) for iri in iris}):
        if base not in names:
            number += 1
            names[base] = f"ns{number}"
        found[names[base]] = base
    return dict(sorted(found.items()))


class Curies:
    """Shortens by one set of prefixes, and expands by it and by `BUILT_IN`."""

    def __init__(self, prefixes: Mapping[str, str]) -> None:
        self._bases = {**BUILT_IN, **prefixes}
        self._prefixes = {base: prefix for prefix, base in prefixes.items()}

    def shorten(self, iri: str) -> str:
        base = namespace(iri)
        prefix = self._prefixes.get(base)
        return f"{prefix}:{iri[len(base) :]}" if prefix else iri

    def expand(self, text: str) -> str:
        """The IRI of a CURIE, or of an IRI with or without ``<>``; raises `ValueError`."""
        bare = text.removeprefix("<").removesuffix(">")
        prefix, colon, local = bare.partition(":")
        if prefix in self._bases and not local.startswith("//"):
            bare = self._bases[prefix] + local
        elif not colon:
            raise ValueError(f"'{text}' is neither a CURIE nor an IRI")
        elif not local.startswith("//") and prefix not in ("urn", "mailto", "tag", "doi"):
            raise ValueError(f"'{text}' has a prefix that the file's curie_map lacks")
        NamedNode(bare)
        return bare


_ENDS = ("subject", "object")
REVIEW_COLUMNS = (
    DECISION,
    *("subject_label", "object_label", "confidence"),
    *("subject_documents", "object_documents", "subject_sample", "object_sample"),
    *("subject_id", "predicate_id", "object_id"),
    *("mapping_justification", "mapping_tool", "mapping_date", "comment"),
)
SAMPLE = 300
"""Characters of a sample at most."""


def review_table(reader: GraphReader, matches: Sequence[Match]) -> str:
    """Tab-separated values, a row for each pair, none of them decided yet.

    Beside the names stand how many documents describe each entity, and a text about it. The table
    begins with a byte order mark, by which spreadsheets know UTF-8.
    """
    entities = {iri for match in matches for iri in match.pair}
    documents, samples = documents_of(reader, entities), _samples(reader, entities)
    buffer = io.StringIO("\ufeff")
    buffer.seek(1)
    table = csv.DictWriter(
        buffer, REVIEW_COLUMNS, extrasaction="ignore", delimiter="\t", lineterminator="\n"
    )
    table.writeheader()
    for match in matches:
        row = {**cells(match), DECISION: ""}
        for end, entity in zip(_ENDS, match.pair, strict=True):
            row[f"{end}_documents"] = str(len(documents.get(entity, ())))
            row[f"{end}_sample"] = samples.get(entity, "")
        table.writerow(row)
    return buffer.getvalue()


def _samples(reader: GraphReader, entities: Iterable[str]) -> dict[str, str]:
    """A text about each entity: the longest that is shown whole, or the beginning of another."""
    texts: defaultdict[str, set[str]] = defaultdict(set)
    for entity, text in reader.rows_for("entity-descriptions", entities):
        texts[entity.value].add(" ".join(text.value.split()))
    best = {
        entity: max(found, key=lambda text: (min(len(text), SAMPLE), -len(text), text))
        for entity, found in texts.items()
    }
    return {
        entity: text if len(text) <= SAMPLE else f"{text[: SAMPLE - 4]} ..."
        for entity, text in best.items()
    }
