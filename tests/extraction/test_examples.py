"""Examples of statements in files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sarag_rdf.base.errors import InputError
from sarag_rdf.graph.ontology.schema import OntologyProperty, Schema
from sarag_rdf.plugins.statement_models import ExampleStatement, read_examples

EX = "https://example.org/"
SCHEMA = Schema.of(
    [],
    [
        OntologyProperty(f"{EX}birthPlace", "birth place"),
        OntologyProperty(f"{EX}teacher", "teacher"),
    ],
)


def test_examples_are_read(tmp_path: Path) -> None:
    path = tmp_path / "examples.jsonl"
    rows = [
        {"text": "A.", "statements": [{"subject": "A", "property": "Birth place", "object": "B"}]},
        {"text": "C.", "statements": [{"subject": "C", "property": f"{EX}teacher", "object": "D"}]},
    ]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    first, second = read_examples(path, SCHEMA)
    assert first.statements == (ExampleStatement("A", f"{EX}birthPlace", "B"),)
    assert second.statements[0].property == f"{EX}teacher"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1]", "line 1: not an object"),
        ("{", "line 1: not an object"),
        ('{"text": 1, "statements": []}', "line 1: not an object"),
        ('{"text": "", "statements": [{"subject": "", "property": "birth plaec", "object": ""}]}',
         "no property 'birth plaec' in the ontology: did you mean 'birth place'?"),
    ],
)  # fmt: skip
def test_faulty_examples_are_errors(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "examples.jsonl"
    path.write_text(line)
    with pytest.raises(InputError, match=message.replace("?", r"\?")):
        read_examples(path, SCHEMA)
    with pytest.raises(InputError, match="cannot read"):
        read_examples(tmp_path / "none.jsonl", SCHEMA)
