"""Importers, exporters and rules are plug-ins; commands and Python take what they declare."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.exchange import Setting, values_of
from sarag_rdf.base.plugins import load, plugins
from sarag_rdf.building.importer import Importer
from sarag_rdf.building.merge_rules import MergeRule
from sarag_rdf.documents.format import Format
from sarag_rdf.graph.exporter import Exporter
from sarag_rdf.plugins.tables.mapping import MappingLanguage

SETTINGS = (
    Setting("size", "How many.", 3),
    Setting("names", "Which.", (), "--name"),
    Setting("kind", "Of which kind.", "full", choices=("full", "short")),
    Setting("length", "Of a text.", read=lambda text: len(text)),
)


def test_settings_have_defaults_names_and_values() -> None:
    assert values_of("it", SETTINGS, {}) == {
        "size": 3, "names": (), "kind": "full", "length": None,
    }  # fmt: skip
    given = {"names": ["a", "b"], "kind": "short", "length": "four"}
    assert values_of("it", SETTINGS, given) == {
        "size": 3, "names": ("a", "b"), "kind": "short", "length": 4,
    }  # fmt: skip
    assert [setting.option for setting in SETTINGS] == ["--size", "--name", "--kind", "--length"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sise": 1}, "'sise' does not apply to it: its own options are size, names, kind, length"),
        ({"kind": "long"}, "--kind is 'long': choose from full, short"),
    ],
)
def test_settings_that_are_not_there(given: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        values_of("it", SETTINGS, given)


@pytest.mark.parametrize(
    ("group", "type_", "count"),
    [
        ("formats", Format, 16),
        ("importers", Importer, 5),
        ("mapping_languages", MappingLanguage, 3),
        ("exporters", Exporter, 10),
        ("merge_rules", MergeRule, 5),
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
