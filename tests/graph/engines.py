"""Three SHACL engines that are asked the same: shacl, pySHACL and rdf-validate-shacl."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import pyoxigraph as ox
import pytest
import rdflib
from pyshacl import validate as pyshacl_validate
from pyshacl.errors import ReportableRuntimeError
from rdflib.namespace import SH

from sarag_rdf.graph.store.shacl import Shapes, parse_shapes, validate

ROOT = Path(__file__).parent.parent.parent
SHAPES = (ROOT / "ontology" / "shapes.ttl",)
EVIDENCE_SHAPES = (*SHAPES, ROOT / "ontology" / "evidence-shapes.ttl")

Finding = tuple[str, str, str]
"""Focus node, path and constraint component; a blank node is ``_:``, no path is empty."""

_NODE = r"""
import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'
const require = createRequire(process.env.NODE_PATH + '/')
const n3 = require('n3')
const found = await import(require.resolve('rdf-validate-shacl'))
const Validator = found.default.default ?? found.default
const read = file => new n3.Parser().parse(readFileSync(file, 'utf8'))
const [shapes, ...files] = process.argv.slice(2)
const validator = new Validator(new n3.Store(read(shapes)))
const say = term => !term ? '' : term.termType === 'BlankNode' ? '_:' : term.value
for (const file of files) {
  const report = await validator.validate(new n3.Store(read(file)))
  console.log(JSON.stringify(report.results.map(r =>
    [say(r.focusNode), say(r.path), say(r.sourceConstraintComponent)])))
}
"""


def ours(shapes: Sequence[Path], data: bytes) -> Counter[Finding]:
    triples = (q.triple for q in ox.parse(data, format=ox.RdfFormat.TURTLE))
    report = validate(_parsed(tuple(shapes)), triples, engine="shacl")
    found = list(ox.parse(report.turtle, format=ox.RdfFormat.TURTLE))
    by_result: dict[object, dict[str, object]] = {}
    for quad in found:
        by_result.setdefault(quad.subject, {})[quad.predicate.value] = quad.object
    findings = Counter(
        (
            _say(result[str(SH.focusNode)]),
            _say(result.get(str(SH.resultPath))),
            _say(result[str(SH.sourceConstraintComponent)]),
        )
        for result in by_result.values()
        if str(SH.focusNode) in result
    )
    assert findings.total() == len(report.violations)
    return findings


@cache
def _parsed(shapes: tuple[Path, ...]) -> Shapes:
    return parse_shapes(*(path.read_bytes() for path in shapes))


def _say(term: object) -> str:
    if term is None:
        return ""
    return "_:" if isinstance(term, ox.BlankNode) else str(getattr(term, "value", term))


def pyshacl(shapes: Sequence[Path], data: bytes) -> Counter[Finding] | None:
    """None where pySHACL gives up: it cannot compare all that may be compared."""
    graph = rdflib.Graph().parse(data=data, format="turtle")
    try:
        _, report, _ = pyshacl_validate(graph, shacl_graph=_rdflib_shapes(tuple(shapes)))
    except (ReportableRuntimeError, TypeError) as error:
        assert re.search("Cannot use sh:lessThanOrEquals|'<=' not supported", str(error))
        return None
    assert isinstance(report, rdflib.Graph)

    def say(result: rdflib.term.Node, predicate: rdflib.URIRef) -> str:
        node = report.value(result, predicate)
        return "" if node is None else "_:" if isinstance(node, rdflib.BNode) else str(node)

    return Counter(
        (
            say(result, SH.focusNode),
            say(result, SH.resultPath),
            say(result, SH.sourceConstraintComponent),
        )
        for result in report.objects(None, SH.result)
    )


@cache
def _rdflib_shapes(shapes: tuple[Path, ...]) -> rdflib.Graph:
    graph = rdflib.Graph()
    for path in shapes:
        graph.parse(path, format="turtle")
    return graph


def rdf_validate_shacl(
    shapes: Sequence[Path], data: Mapping[str, bytes], folder: Path
) -> dict[str, Counter[Finding]]:
    """Findings of each Turtle text, all asked in one process."""
    node, modules = shutil.which("node"), os.environ.get("NODE_PATH", "")
    if node is None or not (Path(modules) / "rdf-validate-shacl").is_dir():
        pytest.skip(
            "needs Node.js and the npm packages rdf-validate-shacl@0.6 and n3@2, in the folder "
            "that NODE_PATH names"
        )
    script, joined = folder / "validate.mjs", folder / "shapes.ttl"
    script.write_text(_NODE, encoding="utf-8")
    joined.write_bytes(b"\n".join(path.read_bytes() for path in shapes))
    files = []
    for place, text in enumerate(data.values()):
        files.append(folder / f"data{place}.ttl")
        files[-1].write_bytes(text)
    command = [node, str(script), str(joined), *map(str, files)]
    done = subprocess.run(command, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr.decode()
    lines = done.stdout.decode("utf-8").splitlines()
    assert len(lines) == len(data)
    return {
        name: Counter(tuple(row) for row in json.loads(line))
        for name, line in zip(data, lines, strict=True)
    }
