"""Links between entities and items: as records, as SSSOM tables, and as they follow their entities.

A link is one triple in the graph of links. Its provenance is at a node whose IRI is derived from
the triple. Links follow the entities that they start from when these are merged or split.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyoxigraph import NamedNode, Quad

from sarag_rdf.base import tabular
from sarag_rdf.base.errors import InputError
from sarag_rdf.base.iris import Minter, namespace
from sarag_rdf.base.options import Options, option
from sarag_rdf.base.ports import Change, Embedder
from sarag_rdf.base.vocab import OWL, PREFIXES, SARAG, SCHEMA, SKOS, SSSOM, iri, text_of
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.records import NO_MAPPING as NO_MAPPING
from sarag_rdf.graph.records import Match as Match
from sarag_rdf.graph.records import by_subject, record_of
from sarag_rdf.graph.texts import documents_of

NAME_SIMILARITIES = ("characters", "embedding", "none")


@dataclass(frozen=True)
class CandidateOptions(Options):
    """Options of the search for candidates.

    With `by_name` the other graph is not read as a whole, but queried for equal names.
    """

    name = "the search for candidates"
    per_entity: int = option(3, "Maximum number of candidates.", ge=1)
    min_confidence: float = option(0.5, "Minimum confidence of a candidate.", ge=0, le=1)
    near: str = option(
        "characters", "How to compare names if none are equal.", choices=NAME_SIMILARITIES
    )
    date: str = ""
    by_name: bool = False


Linker = Callable[
    [GraphReader, GraphReader, Callable[[], Embedder], CandidateOptions, frozenset[str]],
    list[Match],
]
"""(own graph, other graph, embedder, options, entities that are linked already) -> candidates.

A linker is such a function that an entry point of the group ``sarag_rdf.linkers`` names.
"""
EXACT = SKOS.exactMatch.value
SAME_AS = OWL.sameAs.value
PREDICATES = (
    EXACT,
    SAME_AS,
    *(SKOS[f"{name}Match"].value for name in ("close", "broad", "narrow", "related")),
)
"""Predicates of links."""


def quads_of(minter: Minter, match: Match) -> list[Quad]:
    """The link and its provenance, as quads of the graph of links."""
    return replace(match, subject_label="", comment="").quads(minter, minter.links_graph)


def read_links(reader: GraphReader) -> list[Match]:
    """All links of a graph, by subject, object and predicate; without labels of subjects."""
    quads = list(reader.store.quads(reader.minter.links_graph))
    triples = {_triple(quad) for quad in quads}
    links = [
        record_of(Match, node)
        for node in by_subject(quads).values()
        if any(quad.predicate == SSSOM.mapping_justification for quad in node)
    ]
    links = [link for link in links if link.triple in triples]
    return sorted(links, key=lambda match: (*match.pair, match.predicate))


def identities(reader: GraphReader) -> list[tuple[str, str]]:
    """(entity, item) pairs of links that state identity, in a fixed order."""
    links = map(_triple, reader.store.quads(reader.minter.links_graph))
    return sorted({(entity, item) for entity, p, item in links if p in (EXACT, SAME_AS)})


def quads_of_links(reader: GraphReader, matches: Iterable[Match]) -> list[Quad]:
    """All quads of these links and their provenance in the graph of links."""
    chosen = {match.triple for match in matches}
    nodes = {reader.minter.mapping(*triple) for triple in chosen}
    quads = reader.store.quads(reader.minter.links_graph)
    return [quad for quad in quads if iri(quad.subject) in nodes or _triple(quad) in chosen]


def _triple(quad: Quad) -> tuple[str, str, str]:
    return iri(quad.subject), quad.predicate.value, text_of(quad.object)


def following_links(reader: GraphReader, change: Change) -> tuple[set[Quad], set[Quad]]:
    """Quads of links to delete and to insert, so that links start from the entities of a change.

    A link follows the name of the entity for which it was accepted. If that is not where it starts
    now, its node refers to the entity with prov:wasDerivedFrom, so that a link comes back when a
    merge is undone. Of equal links, which merged entities may have, one node remains.
    """
    minter, graph = reader.minter, reader.minter.links_graph
    old = set(reader.store.quads(graph))
    links = {
        node: record_of(Match, quads)
        for node, quads in by_subject(old).items()
        if any(quad.predicate == OWL.annotatedSource for quad in quads)
    }
    accepted = [(link, o) for link in links.values() for o in link.origins or (link.subject,)]
    targets = _targets(reader, change, {origin for _, origin in accepted})
    moved: defaultdict[tuple[str, ...], list[tuple[Match, str]]] = defaultdict(list)
    for link, origin in accepted:
        target = targets.get(origin, link.subject)
        moved[target, link.predicate, link.object].append((link, origin))
    described = {link.triple for link in links.values()}
    new = {q for q in old if iri(q.subject) not in links and _triple(q) not in described}
    for (target, *_), equal in moved.items():
        link, _ = min(equal, key=lambda pair: pair[0].subject != target)
        origins = {origin for _, origin in equal}
        others = () if origins == {target} else tuple(sorted(origins))
        link = replace(link, subject=target, origins=others)
        new |= {*link.quads(minter, graph)}
    return old - new, new - old


def _targets(reader: GraphReader, change: Change, entities: Collection[str]) -> dict[str, str]:
    """Entity -> the entity that its name refers to after a change."""
    minter = reader.minter
    mentions = {entity: minter.mention_of_entity(entity) for entity in entities}
    known = frozenset(mentions.values())

    def names(quads: Iterable[Quad]) -> dict[str, str]:
        return {
            iri(quad.subject): text_of(quad.object)
            for quad in quads
            if quad.predicate == SARAG.refersTo and iri(quad.subject) in known
        }

    referred: dict[str, str] = {}
    if entities and minter.kg_graph not in change.drop:
        rows = reader.select_provenance_for("mention-targets", known)
        referred = {mention.value: entity.value for mention, entity in rows}
    deleted, inserted = names(change.delete), names(change.insert)
    referred = {m: entity for m, entity in referred.items() if deleted.get(m) != entity} | inserted
    return {
        entity: referred[mention] for entity, mention in mentions.items() if mention in referred
    }


FIELDS: Mapping[str, str] = {
    "subject_id": "subject",
    "subject_label": "subject_label",
    "predicate_id": "predicate",
    "predicate_modifier": "negated",
    "object_id": "object",
    "object_label": "object_label",
    "mapping_justification": "justification",
    "confidence": "confidence",
    "similarity_score": "similarity",
    "similarity_measure": "measure",
    "mapping_tool": "tool",
    "mapping_date": "date",
    "comment": "comment",
}
"""Column of SSSOM -> field of `Match`, in the order of columns."""
REQUIRED = ("subject_id", "predicate_id", "object_id", "mapping_justification")
_SHARES = frozenset({"confidence", "similarity_score"})
UNKNOWN_LICENSE = "https://w3id.org/sssom/license/unspecified"


def write_table(
    matches: Iterable[Match], header: Mapping[str, str], prefixes: Mapping[str, str]
) -> str:
    """The SSSOM table of links, in the order given; `prefixes` maps further prefixes to namespaces.

    Columns without values are omitted, except required ones.
    """
    listed = list(matches)
    ends = (iri for m in listed for iri in (m.subject, m.predicate, m.object, m.justification))
    curies = Curies(prefixes, ends)
    rows = [cells(match, curies) for match in listed]
    used = [c for c in FIELDS if c in REQUIRED or any(row[c] for row in rows)]
    head = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in header.items()]
    head += ["curie_map:"] if curies.used else []
    head += [f"  {name}: {json.dumps(b, ensure_ascii=False)}" for name, b in curies.used.items()]
    table = tabular.write_table(used, rows).removeprefix("\ufeff")
    return "\n".join([*(f"#{line}" for line in head), table])


def cells(match: Match, curies: Curies | None = None) -> dict[str, str]:
    """Column -> cell of a row; without `curies`, IRIs are not shortened."""
    curies = curies or Curies({})
    row = {column: getattr(match, name) for column, name in FIELDS.items()}
    row |= {column: curies.shorten(row[column]) for column in REQUIRED}
    for column in _SHARES:
        row[column] = "" if row[column] is None else f"{round(row[column], 4):g}"
    return {**row, "predicate_modifier": "Not" if match.negated else ""}


def read_table(path: Path) -> list[Match]:
    """The rows of a table; raises `InputError` with the rows of all errors."""
    rows = tabular.read_table(path, REQUIRED, "an SSSOM table")
    curies = Curies(_curie_map(path))
    return tabular.parse_rows(path, rows, lambda row: _match(row, curies))


def _curie_map(path: Path) -> dict[str, str]:
    import yaml

    try:
        data = yaml.safe_load(tabular.read_comments(path)) or {}
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        problem = " ".join(str(error).split())
        raise InputError(f"the header of {path} is not YAML: {problem}") from error
    prefixes = data.get("curie_map", {}) if isinstance(data, dict) else None
    if not isinstance(prefixes, dict) or not all(isinstance(v, str) for v in prefixes.values()):
        raise InputError(f"the curie_map in the header of {path} is not a map of prefixes to IRIs")
    return {str(prefix): base for prefix, base in prefixes.items()}


def _match(row: tabular.TableRow, curies: Curies) -> Match:
    values: dict[str, Any] = {name: row[column] for column, name in FIELDS.items()}
    for column in REQUIRED:
        if not row[column]:
            raise ValueError(f"{column} is empty")
        values[FIELDS[column]] = curies.expand(row[column])
    if values["predicate"] not in (*PREDICATES, NO_MAPPING):
        raise ValueError(
            f"unknown predicate '{row['predicate_id']}': use skos:exactMatch, closeMatch, "
            "broadMatch, narrowMatch or relatedMatch, owl:sameAs, or sssom:NoMapping"
        )
    if values["negated"] not in ("", "Not"):
        raise ValueError(f"predicate_modifier is '{values['negated']}': use Not, or leave it empty")
    values |= {FIELDS[column]: _share(column, row[column]) for column in _SHARES}
    if values["date"] and not re.fullmatch(r"\d{4}-\d\d-\d\d", values["date"]):
        raise ValueError(f"mapping_date is '{values['date']}', not a date such as 2026-01-31")
    values["negated"] = values["negated"] == "Not"
    is_accepted = tabular.DECISION not in row.cells or bool(row.decision())
    return Match(**values, row=row.number, accepted=is_accepted)


def _share(name: str, text: str) -> float | None:
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{name} is '{text}', not a number from 0 to 1")
    return value


BUILT_IN = {name: PREFIXES[name] for name in ("owl", "semapv", "skos", "sssom", "rdf", "rdfs")}
"""Prefixes with a fixed meaning, which need not be declared in a file."""
_KNOWN = {
    "wd": "http://www.wikidata.org/entity/",
    "dbr": "http://dbpedia.org/resource/",
    "schema": SCHEMA.base,
    "gnd": "https://d-nb.info/gnd/",
    "viaf": "http://viaf.org/viaf/",
}


class Curies:
    """Shortens IRIs with the prefixes in `used`, and expands CURIEs with these and `BUILT_IN`.

    With `iris`, those in `used` are for them: given ones, well-known ones, then ns1, ns2, ...
    """

    def __init__(self, prefixes: Mapping[str, str], iris: Iterable[str] | None = None) -> None:
        self.used = dict(prefixes)
        if iris is not None:
            spaces = sorted(map(namespace, iris))
            names = {base: prefix for prefix, base in (BUILT_IN | _KNOWN | self.used).items()}
            unknown = dict.fromkeys(base for base in spaces if base not in names)
            names |= {base: f"ns{number}" for number, base in enumerate(unknown, start=1)}
            self.used = dict(sorted((names[base], base) for base in spaces))
        self._bases = {**BUILT_IN, **self.used}
        self._prefixes = {base: prefix for prefix, base in self.used.items()}

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
            raise ValueError(f"the prefix of '{text}' is not in the curie_map of the file")
        NamedNode(bare)
        return bare


_ENDS = ("subject", "object")
REVIEW_COLUMNS = (
    tabular.DECISION,
    *("subject_label", "object_label", "confidence"),
    *("subject_documents", "object_documents", "subject_sample", "object_sample"),
    *("subject_id", "predicate_id", "object_id"),
    *("mapping_justification", "mapping_tool", "mapping_date", "comment"),
)
SAMPLE = 300
"""Maximum length of a sample, in characters."""


def review_table(reader: GraphReader, matches: Sequence[Match]) -> str:
    """A table for review as tab-separated values, with one row per pair and no decisions.

    It has the number of documents that describe each entity, and a sample of its descriptions. It
    starts with a byte order mark, so that spreadsheets recognise UTF-8.
    """
    entities = {iri for match in matches for iri in match.pair}
    documents, samples = documents_of(reader, entities), samples_of(reader, entities)
    rows = []
    for match in matches:
        row = cells(match)
        for end, entity in zip(_ENDS, match.pair, strict=True):
            row[f"{end}_documents"] = str(len(documents.get(entity, ())))
            row[f"{end}_sample"] = samples.get(entity, "")
        rows.append(row)
    return tabular.write_table(REVIEW_COLUMNS, rows)


def samples_of(reader: GraphReader, entities: Iterable[str]) -> dict[str, str]:
    """Entity -> its longest description that fits, or else the start of a longer one."""
    texts: defaultdict[str, set[str]] = defaultdict(set)
    for entity, text in reader.rows_for("entity-descriptions", entities):
        texts[entity.value].add(" ".join(text.value.split()))
    best = {
        entity: max(items, key=lambda text: (min(len(text), SAMPLE), -len(text), text))
        for entity, items in texts.items()
    }
    return {
        entity: text if len(text) <= SAMPLE else f"{text[: SAMPLE - 4]} ..."
        for entity, text in best.items()
    }
