"""The only reader of packaged files: ontology, queries, prompts.

A wheel carries `queries/` and `ontology/` as ``sarag_rdf/_data``; a checkout keeps them at the
top level.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import jinja2
from pyoxigraph import NamedNode

from sarag_rdf.errors import SaragError
from sarag_rdf.fence import defused
from sarag_rdf.ports import Term
from sarag_rdf.vocab import RDFS, SKOS

_PACKAGE = Path(__file__).parent
_PATHS = {
    "label": (RDFS.label.value,),
    "alias": (SKOS.altLabel.value,),
    "description": (RDFS.comment.value,),
}
"""Properties that a graph of any kind is read by, unless it says otherwise."""
_DEFAULT_GRAPH = "urn:sarag:default-graph"
"""What a default graph is called where it is named as a source."""
_VALUES = re.compile(r"VALUES\s+(\?\w+|\([^)]*\))\s*\{\s*\}")


@cache
def _data_root() -> Path:
    packaged = _PACKAGE / "_data"
    return packaged if packaged.is_dir() else _PACKAGE.parent


def ontology_path(name: str) -> Path:
    """Path of ``sarag.ttl`` or ``shapes.ttl``."""
    return _data_root() / "ontology" / name


@dataclass(frozen=True, slots=True)
class QueryFile:
    """A ``.rq`` file: its ``#+`` header and its text.

    The header has the lines ``summary``, ``params`` (what the empty VALUES block takes, or
    ``none``) and ``returns`` (the variables).
    """

    name: str
    header: Mapping[str, str]
    text: str

    @property
    def key(self) -> str:
        """The first variable that is returned, which is always bound."""
        return self.header["returns"].split()[0]

    @property
    def takes_statements(self) -> bool:
        """Whether a value is a triple: subject, property and object."""
        found = _VALUES.search(self.text)
        return found is not None and found.group(1).startswith("(")

    def fill(
        self,
        values: Sequence[Term | tuple[Term, ...]] | None,
        graphs: Mapping[str, str],
        paths: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> str:
        """Fill the empty VALUES block with terms, and names of graphs and paths with IRIs.

        ``<urn:sarag:graph:NAME>`` becomes an IRI, ``<urn:sarag:path:NAME>`` one or the other of
        several properties. Where the IRI of a graph is empty, its patterns stay in their braces
        without ``GRAPH``, so that they are matched in the default graph. Terms are serialised as
        RDF terms: no text of a user is spliced into a query.
        """
        text = self.text
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
            raise SaragError(f"query {self.name} has no empty VALUES block to fill")
        rows = " ".join(
            "(" + " ".join(map(str, v)) + ")" if isinstance(v, tuple) else str(v) for v in values
        )
        return _VALUES.sub(lambda m: f"VALUES {m.group(1)} {{ {rows} }}", text, count=1)


@cache
def query_file(kind: str, name: str) -> QueryFile:
    """Read ``queries/<kind>/<name>.rq``."""
    path = _data_root() / "queries" / kind / f"{name}.rq"
    text = path.read_text(encoding="utf-8")
    header: dict[str, str] = {}
    for line in text.splitlines():
        match = re.match(r"#\+\s*(\w+):\s*(.*)", line)
        if match:
            header[match.group(1)] = match.group(2).strip()
    return QueryFile(name, header, text)


@cache
def query_names(kind: str) -> tuple[str, ...]:
    """Names of all query files of one kind of graph, ascending."""
    return tuple(sorted(p.stem for p in (_data_root() / "queries" / kind).glob("*.rq")))


@cache
def _query_templates() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(_data_root() / "queries"),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701 - values are RDF terms, serialised
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render_query(name: str, **values: Any) -> str:
    """Render ``queries/<name>.rq.j2``; what goes in are serialised RDF terms and names of ours."""
    return _query_templates().get_template(f"{name}.rq.j2").render(**values)


@cache
def _prompts() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(_PACKAGE / "prompts"),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701 - prompts are plain text
        keep_trailing_newline=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render_prompt(name: str, **values: Any) -> str:
    """Render ``prompts/<name>.j2``, special tokens defused; a missing variable raises."""
    return defused(_prompts().get_template(f"{name}.j2").render(**values))


def prompt_hash(*names: str) -> str:
    """SHA-256 of the templates' texts: part of an extraction's identity."""
    digest = hashlib.sha256()
    for name in names:
        digest.update((_PACKAGE / "prompts" / f"{name}.j2").read_bytes() + b"\0")
    return digest.hexdigest()


def template_text(name: str) -> str:
    """Text of a packaged HTML template, ``prompts``' neighbour ``export/<name>``."""
    return (_PACKAGE / "picture" / name).read_text(encoding="utf-8")
