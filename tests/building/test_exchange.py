"""Importers, exporters and rules are plug-ins; commands and Python take what they declare."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass

import pytest

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.options import option
from sarag_rdf.base.plugins import load, plugins
from sarag_rdf.building.graph_import import Importer, ImportOptions
from sarag_rdf.building.merge_rules import MergeRule
from sarag_rdf.documents.format import Format
from sarag_rdf.graph.exporter import Exporter
from sarag_rdf.plugins.tables.mapping import MappingLanguage


@dataclass(frozen=True, kw_only=True)
class ThingOptions(ImportOptions):
    name = "things"
    size: int = option(3, "How many.", ge=0)
    names: tuple[str, ...] = option((), "Which.", flag="--thing")
    sort: str = option("full", "Of which kind.", choices=("full", "short"))


def test_own_options_are_beside_the_common_ones() -> None:
    assert ThingOptions.of({}).own() == {}
    given = ThingOptions.of({"names": ["a", "b"], "sort": "short", "languages": ["EN"]}, kind="rdf")
    assert given.own() == {"--thing": ("a", "b"), "--sort": "short"}
    assert given.given == {"--language": ("en",), **given.own()}
    assert given.identity == "as=rdf; format=; base=; --language=en; --sort=short; --thing=a,b"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sise": 1}, "unknown option 'sise' of things: choose from size, names, sort, "),
        ({"sort": "long"}, "sort of things must be one of full, short, not 'long'"),
        ({"base_iri": "here"}, "'here' is not an absolute IRI"),
    ],
)
def test_options_that_are_not_there(given: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ThingOptions.of(given)


@pytest.mark.parametrize(
    ("group", "type_", "count"),
    [
        ("formats", Format, 16),
        ("importers", Importer, 5),
        ("mapping_languages", MappingLanguage, 3),
        ("exporters", Exporter, 12),
        ("merge_rules", MergeRule, 7),
    ],
)
def test_plugins_of_this_package_are_what_their_group_says(
    group: str, type_: type, count: int
) -> None:
    own = [name for name, plugin in plugins(group).items() if plugin.package == "sarag-rdf"]
    assert len(own) == count
    assert all(isinstance(load(group, name), type_) for name in own)


def test_opening_a_graph_loads_no_plugin_for_imports_and_exports() -> None:
    code = (
        "import sys, sarag_rdf.kg.graph;"
        "print([m for m in sys.modules if m.startswith(('sarag_rdf.plugins.wikibase',"
        " 'sarag_rdf.plugins.tables', 'sarag_rdf.plugins.papers.articles'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
