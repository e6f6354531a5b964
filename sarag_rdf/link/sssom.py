"""SSSOM tables: tab-separated values under a header of metadata in YAML.

Written in one order, so that the same links give the same bytes; read with line numbers in
everything that is wrong. See https://mapping-commons.github.io/sssom/.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import yaml

from sarag_rdf.errors import InputError
from sarag_rdf.link.curies import Curies, prefixes_for
from sarag_rdf.link.match import NO_MAPPING, PREDICATES, UNSPECIFIED, Match

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
