"""Reading JSON dumps: shapes, compression, filters, going on in the middle, broken files."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sarag_rdf.base.errors import InputError
from sarag_rdf.plugins.wikibase.dump import DumpOptions, read_entities
from sarag_rdf.plugins.wikibase.model import best_ranked, statements
from sarag_rdf.plugins.wikibase.rdf import entity_triples
from sarag_rdf.plugins.wikibase.vocabulary import Vocabulary
from tests.wikibase.golden import WIKIDATA, needs_wikidata


def item(number: int, *types: str, **more: Any) -> dict[str, Any]:
    claims = [
        {
            "id": f"Q{number}${place}",
            "type": "statement",
            "rank": "normal",
            "mainsnak": {
                "snaktype": "value",
                "property": "P31",
                "datavalue": {
                    "type": "wikibase-entityid",
                    "value": {"entity-type": "item", "numeric-id": int(type_[1:])},
                },
            },
        }
        for place, type_ in enumerate(types)
    ]
    return {
        "id": f"Q{number}",
        "type": "item",
        "labels": {
            "en": {"language": "en", "value": f"Thing {number}]"},
            "pl": {"language": "pl", "value": f"Rzecz {number}"},
        },
        "descriptions": [],
        "aliases": [],
        "claims": {"P31": claims} if claims else [],
        **more,
    }


ITEMS = [item(1, "Q5"), item(2, "Q515", "Q5119"), item(3)]
ITEMS.append({"id": "P31", "type": "property", "datatype": "wikibase-item", "claims": []})


def array(items: list[dict[str, Any]]) -> bytes:
    return b"[\n" + b",\n".join(json.dumps(i).encode() for i in items) + b"\n]\n"


def lines(items: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(i).encode() + b"\n" for i in items)


def dense(items: list[dict[str, Any]]) -> bytes:
    return json.dumps(items).encode()


def pretty(items: list[dict[str, Any]]) -> bytes:
    return json.dumps(items, indent=2).encode()


def answer(items: list[dict[str, Any]]) -> bytes:
    return json.dumps({"entities": {i["id"]: i for i in items}}).encode()


def windows(items: list[dict[str, Any]]) -> bytes:
    return b"\xef\xbb\xbf" + array(items).replace(b"\n", b"\r\n")


SHAPES = [array, lines, dense, pretty, answer, windows]
PACKED: dict[str, Callable[[bytes], bytes]] = {
    ".json": lambda data: data,
    ".json.gz": gzip.compress,
    ".json.bz2": bz2.compress,
    ".json.xz": lzma.compress,
}


def written(folder: Path, data: bytes, suffix: str = ".json") -> Path:
    file = folder / f"dump{suffix}"
    file.write_bytes(PACKED[suffix](data))
    return file


def ids(file: Path, **options: Any) -> list[str]:
    return [entity.id for entity in read_entities(file, DumpOptions(**options))]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("suffix", PACKED)
def test_shapes_and_compressions(
    tmp_path: Path, shape: Callable[[list[dict[str, Any]]], bytes], suffix: str
) -> None:
    found = list(read_entities(written(tmp_path, shape(ITEMS), suffix)))
    assert [entity.data for entity in found] == ITEMS


def test_one_entity_alone_and_an_empty_array(tmp_path: Path) -> None:
    assert ids(written(tmp_path, json.dumps(ITEMS[0], indent=1).encode())) == ["Q1"]
    assert ids(written(tmp_path, json.dumps(ITEMS[0]).encode())) == ["Q1"]
    assert ids(written(tmp_path, b"[]")) == []
    assert ids(written(tmp_path, b"[\n]\n")) == []


def test_filters(tmp_path: Path) -> None:
    file = written(tmp_path, array(ITEMS))
    assert ids(file, types=("Q5",)) == ["Q1", "P31"]
    assert ids(file, types=("Q5119", "Q5")) == ["Q1", "Q2", "P31"]
    polish = next(iter(read_entities(file, DumpOptions(languages=("pl",)))))
    assert polish.data["labels"] == {"pl": ITEMS[0]["labels"]["pl"]}
    bare = next(iter(read_entities(file, DumpOptions(properties=("P279",), types=("Q5",)))))
    assert bare.data["claims"] == {}


@pytest.mark.parametrize("suffix", PACKED)
@pytest.mark.parametrize("shape", [array, lines])
def test_entities_say_how_much_of_the_file_was_read(
    tmp_path: Path, shape: Callable[[list[dict[str, Any]]], bytes], suffix: str
) -> None:
    file = written(tmp_path, shape(ITEMS), suffix)
    whole = list(read_entities(file))
    assert 0 < whole[-1].consumed <= file.stat().st_size


@pytest.mark.parametrize("cut", [1, 40, 300, -2, -30])
@pytest.mark.parametrize("suffix", PACKED)
def test_a_dump_that_is_cut_off(tmp_path: Path, cut: int, suffix: str) -> None:
    """Cut within the text or within the packed bytes: what came before is given, then an error."""
    many = [item(number) for number in range(1, 40)]
    file = tmp_path / f"dump{suffix}"
    file.write_bytes(PACKED[suffix](array(many))[:cut])
    found: list[str] = []
    with pytest.raises(InputError, match=r"dump\.json.*line \d+, byte \d+.*again") as caught:
        found.extend(entity.id for entity in read_entities(file))
    assert found == [f"Q{number}" for number in range(1, len(found) + 1)]
    assert "\n" not in str(caught.value)
    if found:
        assert f"after {found[-1]}" in str(caught.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"hello\nthere", "line 1, byte 0: the file is not JSON"),
        (b"[\n" + json.dumps(ITEMS[0]).encode() + b",\n{broken},\n]", "line 3.*after Q1.*not JSON"),
        (b"[\n" + json.dumps(ITEMS[0]).encode() + b",\n7,\n]", "line 3.*not an entity document"),
        (array(ITEMS[:1]) + b"{}", "line 4.*after the end of the array"),
        (b'{"labels": {}}', "no id"),
        (b"[\n" + json.dumps({"id": "Q1", "type": "item"}).encode() + b"\xff,\n]", "line 2"),
    ],
)
def test_what_is_no_dump(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ids(written(tmp_path, data))


def test_damaged_documents_and_missing_files(tmp_path: Path) -> None:
    broken = [item(1, claims={"P31": [{"id": "x", "mainsnak": {"snaktype": "value"}}]})]
    file = written(tmp_path, array(broken))
    with pytest.raises(InputError, match="not a valid Wikibase document"):
        ids(file, types=("Q5",))
    (entity,) = read_entities(file)
    with pytest.raises(InputError, match="Q1 is not a valid Wikibase document"):
        list(entity_triples(entity, Vocabulary()))
    with pytest.raises(InputError, match="No such file"):
        ids(tmp_path / "absent.json")
    with pytest.raises(InputError, match="damaged"):
        (tmp_path / "no.json.bz2").write_bytes(b"plain text")
        ids(tmp_path / "no.json.bz2")


@needs_wikidata
@pytest.mark.parametrize(
    ("name", "entities"),
    [("qwikidata_Q42.json", 1), ("wdtk_dump.json", 101), ("wdtk_sample-dump.json.gz", 101)],
)
def test_real_documents_give_the_triples_that_their_statements_call_for(
    name: str, entities: int
) -> None:
    """Counts of triples against counts taken from the documents in another way."""
    own, count = Vocabulary(), 0
    for entity in read_entities(WIKIDATA / name):
        count += 1
        made = [str(triple.predicate) for triple in entity_triples(entity, own)]
        data = entity.data
        groups = [group for _, group in statements(data)]
        assert made.count(f"<{own.top}prop/direct/P31>") <= len(data["claims"].get("P31", []))
        told = sum("/prop/P" in predicate for predicate in made)
        assert told == sum(map(len, groups))
        assert made.count("<http://wikiba.se/ontology#rank>") == told
        derived = sum(
            len({json.dumps(r["snaks"], sort_keys=True) for r in s.get("references", ())})
            for group in groups
            for s in group
        )
        assert made.count("<http://www.w3.org/ns/prov#wasDerivedFrom>") == derived
        labels = data["labels"]
        assert made.count("<http://www.w3.org/2004/02/skos/core#prefLabel>") == len(labels)
        truthy = sum("/prop/direct/P" in predicate for predicate in made)
        values = [
            {
                json.dumps(s["mainsnak"].get("datavalue", s["id"]), sort_keys=True)
                for s in best_ranked(g)
            }
            for g in groups
        ]
        assert truthy == sum(map(len, values))
    assert count == entities
