"""Access to packaged files: ontology, queries, examples, page templates.

A wheel contains `queries/`, `ontology/` and what the demo reads of `examples/` as
``sarag_rdf/_data``; in a checkout they are at the top level.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import jinja2
from pyoxigraph import NamedNode

from sarag_rdf.base.errors import SaragError
from sarag_rdf.base.vocab import RDFS, SKOS, Term

_PACKAGE = Path(__file__).parents[1]
DATA = _PACKAGE / "_data" if (_PACKAGE / "_data").is_dir() else _PACKAGE.parent
"""The folder with the ontology, the queries and the examples."""
_QUERIES = DATA / "queries"
_PATHS = {
    "label": (RDFS.label.value,),
    "alias": (SKOS.altLabel.value,),
    "description": (RDFS.comment.value,),
}
"""Default properties for labels, aliases and descriptions."""
_DEFAULT_GRAPH = "urn:sarag:default-graph"
"""The name of the default graph in results that name a graph."""
_ONTOLOGIES = re.compile(r"<urn:sarag:ontologies>")
_ONTOLOGY_LINES = re.compile(rf".*{_ONTOLOGIES.pattern}.*\n")
_VALUES = re.compile(r"VALUES\s+(\?\w+|\([^)]*\))\s*\{\s*\}")


def ontology_path(name: str) -> Path:
    """The path of an ontology file, such as ``sarag.ttl`` or ``shapes.ttl``."""
    return DATA / "ontology" / name


@dataclass(frozen=True, slots=True)
class QueryFile:
    """A ``.rq`` file with its ``#+`` header: ``summary``, ``params``, ``returns``, ``cells``."""

    name: str
    header: Mapping[str, str]
    text: str

    @property
    def key(self) -> str:
        """The first result variable, which is always bound."""
        return self.header["returns"].split()[0]

    @property
    def returns_iris(self) -> bool:
        """Whether all cells of the result are IRIs, or unbound."""
        return self.header.get("cells") == "IRIs"

    @property
    def takes_statements(self) -> bool:
        """Whether the values are triples: subject, property and object."""
        match = _VALUES.search(self.text)
        return match is not None and match.group(1).startswith("(")

    def fill(
        self,
        values: Sequence[Term | tuple[Term, ...]] | None,
        graphs: Mapping[str, str],
        paths: Mapping[str, Sequence[str]] = MappingProxyType({}),
        ontologies: Iterable[str] = (),
    ) -> str:
        """The query with values, graph names and property paths filled in.

        Values are inserted into the empty VALUES block. ``<urn:sarag:graph:NAME>`` is replaced by
        an IRI, ``<urn:sarag:path:NAME>`` by an alternative path of properties. If the IRI of a
        graph is empty, ``GRAPH`` is removed, so that its patterns match the default graph. Without
        `ontologies`, lines with ``<urn:sarag:ontologies>`` are left out. Values are serialized as
        RDF terms; user text is never inserted into a query.
        """
        known = " ".join(str(NamedNode(iri)) for iri in ontologies)
        text = (_ONTOLOGIES if known else _ONTOLOGY_LINES).sub(lambda _: known, self.text)
        for name, iri in graphs.items():
            place = f"<urn:sarag:graph:{name}>"
            text = text if iri else text.replace(f"GRAPH {place} {{", "{")
            text = text.replace(place, str(NamedNode(iri or _DEFAULT_GRAPH)))
        for name, properties in {**_PATHS, **paths}.items():
            path = "|".join(str(NamedNode(iri)) for iri in properties)
            alternatives = path if len(properties) == 1 else f"({path})"
            text = text.replace(f"<urn:sarag:path:{name}>", alternatives)
        if values is None:
            return text
        if not _VALUES.search(text):
            raise SaragError(f"query {self.name} has no empty VALUES block")
        rows = " ".join(
            "(" + " ".join(map(str, v)) + ")" if isinstance(v, tuple) else str(v) for v in values
        )
        return _VALUES.sub(lambda m: f"VALUES {m.group(1)} {{ {rows} }}", text, count=1)


@cache
def query_file(kind: str, name: str) -> QueryFile:
    """Read ``queries/<kind>/<name>.rq``, or render its template for a kind of imported graphs."""
    path = _QUERIES / kind / f"{name}.rq"
    if path.is_file():
        text = path.read_text(encoding="utf-8")
    else:
        templates = _query_templates()
        values = templates.get_template(f"kinds/{kind}.j2").module
        template = templates.select_template(
            [f"{folder}/{name}.rq.j2" for folder in (kind, "imported")]
        )
        lines = template.render(kind=values).splitlines(keepends=True)
        text = "".join(line for line in lines if line.strip())
    return QueryFile(name, query_header(text), text)


def query_header(text: str) -> dict[str, str]:
    """The values of the ``#+ key: value`` comments of a query."""
    pairs = re.findall(r"^#\+[ \t]*(\w+):[ \t]*(.*)$", text, re.MULTILINE)
    return {key: value.strip() for key, value in pairs}


@cache
def query_names(kind: str) -> tuple[str, ...]:
    """The names of all query files for a kind of graph, sorted."""
    paths = [*_QUERIES.glob(f"{kind}/*.rq"), *_QUERIES.glob(f"{kind}/*.rq.j2")]
    if (_QUERIES / "kinds" / f"{kind}.j2").is_file():
        paths += _QUERIES.glob("imported/*.rq.j2")
    return tuple(sorted(path.name.partition(".")[0] for path in paths))


@cache
def all_query_names() -> frozenset[str]:
    """The names of all query files, for whatever kind of graph."""
    paths = (*_QUERIES.glob("*/*.rq"), *_QUERIES.glob("*/*.rq.j2"))
    return frozenset(path.name.partition(".")[0] for path in paths)


@cache
def _query_templates() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(_QUERIES),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701 - values are serialized RDF terms
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render_query(name: str, **values: Any) -> str:
    """Render ``queries/<name>.rq.j2``; values must be serialized RDF terms or trusted names."""
    return _query_templates().get_template(f"{name}.rq.j2").render(**values)
