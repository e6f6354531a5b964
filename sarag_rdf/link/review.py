"""Tables in which a person decides on pairs of entities, in a spreadsheet.

The columns are those of SSSOM with some before them that help to decide. There is no header of
metadata, which spreadsheets take for rows: all IRIs are written in full.
"""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Sequence

from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.graph.texts import documents_of
from sarag_rdf.link.match import Match
from sarag_rdf.link.sssom import DECISION, cells

_ENDS = ("subject", "object")
COLUMNS = (
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
        buffer, COLUMNS, extrasaction="ignore", delimiter="\t", lineterminator="\n"
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
