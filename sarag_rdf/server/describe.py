"""The SPARQL 1.1 Service Description of the endpoint, with VoID for its dataset."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyoxigraph as ox

from sarag_rdf.base.vocab import DCTERMS, PREFIXES, RDF, SARAG, VOID, XSD, Namespace
from sarag_rdf.server.graphs import Fingerprint, StoreSnapshot
from sarag_rdf.server.http import RDF_TYPES, content_type, negotiate
from sarag_rdf.server.jobs import JobReply
from sarag_rdf.server.settings import ServeSettings
from sarag_rdf.server.worker import Worker

SD = Namespace("http://www.w3.org/ns/sparql-service-description#")
FORMATS = Namespace("http://www.w3.org/ns/formats/")
NAMED_GRAPHS = 1000
"""The maximum number of named graphs in a description."""

_RESULTS = ("SPARQL_Results_JSON", "SPARQL_Results_XML", "SPARQL_Results_CSV", "SPARQL_Results_TSV")
_RDF = ("Turtle", "N-Triples", "RDF_XML", "JSON-LD", "TriG", "N-Quads", "N3")
_COUNTS = "SELECT ?g (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } } GROUP BY ?g ORDER BY ?g"
_counts_cache: dict[Fingerprint | None, list[tuple[Any, int]]] = {}


@dataclass(frozen=True, slots=True)
class DescribeJob:
    """Describe the service at the URL `endpoint`."""

    endpoint: str
    accept: str
    text = ""

    def run(self, worker: Worker) -> JobReply:
        """The description in the requested format, with the graphs that the client may read."""
        snapshot, settings, readable = worker.snapshot, worker.settings, worker.readable
        media_type = negotiate(self.accept, RDF_TYPES)
        graphs = _graphs(snapshot)
        if readable is not None:
            graphs = [(graph, count) for graph, count in graphs if graph.value in readable]
        union = settings.union and snapshot.default_graphs((), readable) is None
        triples = list(_service(self.endpoint, settings, union=union))
        triples += _dataset(snapshot, self.endpoint, graphs, union=union)
        prefixes = {**PREFIXES, "sd": SD.base, "formats": FORMATS.base}
        data = ox.serialize(triples, format=RDF_TYPES[media_type], prefixes=prefixes)
        return worker.reply(content_type(media_type), data or b"")


def _graphs(snapshot: StoreSnapshot) -> list[tuple[Any, int]]:
    """Named graphs with their sizes, cached for the current state of the store."""
    store, key = snapshot.store, snapshot.fingerprint
    if key not in _counts_cache:
        solutions = store.query(_COUNTS)
        assert isinstance(solutions, ox.QuerySolutions)  # noqa: S101 - result of SELECT
        _counts_cache.clear()
        _counts_cache[key] = [(graph, int(n.value)) for graph, n in map(tuple, solutions)]
    return _counts_cache[key]


def _service(endpoint: str, settings: ServeSettings, *, union: bool) -> Iterator[ox.Triple]:
    service = ox.NamedNode(endpoint + "#service")
    yield ox.Triple(service, RDF.type, SD.Service)
    yield ox.Triple(service, SD.endpoint, ox.NamedNode(endpoint))
    yield ox.Triple(service, SD.defaultDataset, ox.NamedNode(endpoint + "#dataset"))
    languages = [SD.SPARQL10Query, SD.SPARQL11Query]
    languages += [SD.SPARQL11Update] if settings.writable else []
    for language in languages:
        yield ox.Triple(service, SD.supportedLanguage, language)
    for name in (*_RESULTS, *_RDF):
        yield ox.Triple(service, SD.resultFormat, FORMATS[name])
    for name in _RDF if settings.writable else ():
        yield ox.Triple(service, SD.inputFormat, FORMATS[name])
    features = [SD.UnionDefaultGraph] if union else []
    features += [SD.BasicFederatedQuery] if settings.allow_service else []
    features += [SD.DereferencesURIs] if settings.allow_load and settings.writable else []
    features += [SD.EmptyGraphs]
    for feature in features:
        yield ox.Triple(service, SD.feature, feature)


def _dataset(
    snapshot: StoreSnapshot, endpoint: str, graphs: list[tuple[Any, int]], *, union: bool
) -> Iterator[ox.Triple]:
    dataset = ox.NamedNode(endpoint + "#dataset")
    default = ox.NamedNode(endpoint + "#default-graph")
    meta = snapshot.meta()
    yield ox.Triple(dataset, RDF.type, SD.Dataset)
    yield ox.Triple(dataset, RDF.type, VOID.Dataset)
    yield ox.Triple(dataset, VOID.sparqlEndpoint, ox.NamedNode(endpoint))
    yield ox.Triple(dataset, VOID.triples, _integer(sum(count for _, count in graphs)))
    for vocabulary in (SARAG.base, PREFIXES["skos"], PREFIXES["prov"], PREFIXES["dcterms"]):
        yield ox.Triple(dataset, VOID.vocabulary, ox.NamedNode(vocabulary))
    if meta is not None:
        yield ox.Triple(dataset, VOID.uriSpace, ox.Literal(meta.base))
        yield ox.Triple(dataset, DCTERMS.source, ox.NamedNode(meta.base + "dataset"))
    yield ox.Triple(dataset, SD.defaultGraph, default)
    yield ox.Triple(default, RDF.type, SD.Graph)
    if union:
        yield ox.Triple(default, VOID.triples, _integer(sum(count for _, count in graphs)))
    for number, (graph, count) in enumerate(graphs[:NAMED_GRAPHS], start=1):
        node = ox.NamedNode(f"{endpoint}#named-graph-{number}")
        content = ox.NamedNode(f"{endpoint}#graph-{number}")
        yield ox.Triple(dataset, SD.namedGraph, node)
        yield ox.Triple(node, RDF.type, SD.NamedGraph)
        yield ox.Triple(node, SD.name, graph)
        yield ox.Triple(node, SD.graph, content)
        yield ox.Triple(content, RDF.type, SD.Graph)
        yield ox.Triple(content, VOID.triples, _integer(count))


def _integer(number: int) -> ox.Literal:
    return ox.Literal(str(number), datatype=XSD.integer)
