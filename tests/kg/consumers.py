"""Other people's RDF readers, each as a function from a file to the quads that it found there."""

from __future__ import annotations

import os
import shutil
import subprocess
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from unittest.mock import patch

import pyoxigraph as ox
import pytest
import rdflib

Read = Callable[[Path, str], list[ox.Quad]]
"""Takes a file and the name of its format; triples come as quads of the default graph."""

BASE = "http://example.org/base/"
FORMATS = {
    "turtle": ox.RdfFormat.TURTLE,
    "trig": ox.RdfFormat.TRIG,
    "ntriples": ox.RdfFormat.N_TRIPLES,
    "nquads": ox.RdfFormat.N_QUADS,
    "jsonld": ox.RdfFormat.JSON_LD,
    "rdfxml": ox.RdfFormat.RDF_XML,
}
_RDFLIB = {
    "turtle": "turtle",
    "trig": "trig",
    "ntriples": "nt",
    "nquads": "nquads",
    "jsonld": "json-ld",
    "rdfxml": "xml",
}
_N3 = r"""
const n3 = require('n3')
const [file, format] = process.argv.slice(1)
const quads = new n3.Parser({ format }).parse(require('fs').readFileSync(file, 'utf8'))
const writer = new n3.Writer({ format: 'N-Quads' })
writer.addQuads(quads)
writer.end((error, text) => { if (error) throw error; process.stdout.write(text) })
"""
_N3_FORMATS = {
    "turtle": "text/turtle",
    "trig": "application/trig",
    "ntriples": "application/n-triples",
    "nquads": "application/n-quads",
}


def need(program: str, package: str) -> str:
    """The path of a program; the test is skipped without it."""
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed: it is in the package {package}")
    return found


def run(*command: str | Path) -> bytes:
    done = subprocess.run(list(map(str, command)), capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    assert b"rror" not in done.stderr, done.stderr.decode()
    return done.stdout


def by_pyoxigraph(file: Path, format_: str) -> list[ox.Quad]:
    return list(ox.parse(path=str(file), format=FORMATS[format_]))


def by_rdflib(file: Path, format_: str) -> list[ox.Quad]:
    data = rdflib.Dataset()
    with patch.object(rdflib, "NORMALIZE_LITERALS", False), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # rdflib's parsers use its own past
        data.parse(file, format=_RDFLIB[format_], publicID=BASE)
        text = data.serialize(format="nquads")
    quads = list(ox.parse(text.encode(), format=ox.RdfFormat.N_QUADS))
    if format_ in ("trig", "nquads"):
        return quads
    return [ox.Quad(q.subject, q.predicate, q.object) for q in quads]


def by_rapper(file: Path, format_: str) -> list[ox.Quad]:
    rapper = need("rapper", "raptor2-utils")
    text = run(rapper, "-q", "-i", format_, "-o", "nquads", file, BASE)
    return list(ox.parse(text, format=ox.RdfFormat.N_QUADS))


def by_serdi(file: Path, format_: str) -> list[ox.Quad]:
    text = run(need("serdi", "serdi"), "-i", format_, "-o", "nquads", file, BASE)
    return list(ox.parse(text, format=ox.RdfFormat.N_QUADS))


def by_n3(file: Path, format_: str) -> list[ox.Quad]:
    node = need("node", "nodejs")
    if subprocess.run([node, "-e", "require('n3')"], capture_output=True).returncode:
        where = os.environ.get("NODE_PATH", "nothing")
        pytest.skip(f"node does not find the package n3: npm install n3 (NODE_PATH is {where})")
    text = run(node, "-e", _N3, "--", file, _N3_FORMATS[format_])
    return list(ox.parse(text, format=ox.RdfFormat.N_QUADS))


CONSUMERS: Mapping[str, tuple[Read, tuple[str, ...]]] = {
    "pyoxigraph": (by_pyoxigraph, tuple(FORMATS)),
    "rdflib": (by_rdflib, tuple(FORMATS)),
    "rapper": (by_rapper, ("turtle", "trig", "ntriples", "nquads", "rdfxml")),
    "serdi": (by_serdi, ("turtle", "trig", "ntriples", "nquads")),
    "n3": (by_n3, tuple(_N3_FORMATS)),
}
"""Name -> reader, and the formats that it knows."""
