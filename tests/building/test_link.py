"""Links to an imported graph: candidates, a review, what is stored, and that it can be undone."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pyoxigraph as ox
import pytest

import sarag_rdf
from sarag_rdf.base.endpoints import ModelEndpoint, SparqlEndpoint
from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.types import Document, Extraction, Mention, Method, Relation, Source
from sarag_rdf.base.vocab import OWL, PROV, SEMAPV, SKOS
from sarag_rdf.building.link_records import EXACT, SAME_AS, read_table, review_table, write_table
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.records import NO_MAPPING, Match
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.fsck import fsck
from sarag_rdf.testing.fakes import HashEmbedder
from tests import servers
from tests.command import Sarag
from tests.fault_server import FaultServer
from tests.sample_graph import CapitalExtractor, graph_of, make_graph, quads_of

MINTER = Minter()
T = "https://thesaurus.example.org/"
SOURCES = (
    Source("Ada founded Orbis. Orbis has its seat in Ulm.", "Ada", "ada.txt"),
    Source("Ulm lies on the Danube. The Danube flows to Tulcea.", "Ulm", "ulm.txt"),
    Source("Boris taught Ada. Budapest lies on the Danube.", "Boris", "boris.txt"),
)
THESAURUS = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix t: <https://thesaurus.example.org/> .
t:ada a skos:Concept ; skos:prefLabel "ADA"@en ; skos:definition "Ada founded Orbis."@en .
t:danube a skos:Concept ; skos:prefLabel "Donau"@de ; skos:altLabel "Danube"@en .
t:ulm-germany a skos:Concept ; skos:prefLabel "Ulm"@en .
t:ulm-montana a skos:Concept ; skos:prefLabel "Ulm"@en .
t:budapest a skos:Concept ; skos:prefLabel "Budapest, city"@en .
t:boris a skos:Concept ; skos:prefLabel "Bruno"@en .
"""


def entity(name: str) -> str:
    return MINTER.entity(name)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("links")
    made = make_graph(root / "kg", SOURCES)
    (root / "places.ttl").write_text(THESAURUS, encoding="utf-8")
    with sarag_rdf.open(made, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.import_graph(root / "places.ttl", "skos", name="places")
    return made


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    """A copy that a test may write to."""
    return shutil.copytree(original, tmp_path / "kg")


@pytest.fixture
def kg(folder: Path) -> Iterator[KnowledgeGraph]:
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as made:
        yield made


def export(kg: KnowledgeGraph) -> str:
    """All that an export holds but the runs."""
    buffer = io.BytesIO()
    kg.export("nquads", buffer)
    lines = buffer.getvalue().decode().splitlines()
    return "\n".join(line for line in lines if MINTER.runs_graph not in line)


def links(folder: Path) -> set[tuple[str, str, str]]:
    """The links that are stored, without what is known of them."""
    linking = {EXACT, SAME_AS, SKOS.closeMatch.value}
    return {
        (str(q.subject)[1:-1], q.predicate.value, str(q.object)[1:-1])
        for q in quads_of(folder)
        if graph_of(q) == MINTER.links_graph and q.predicate.value in linking
    }


# -------------------------------------------------------------------------- Candidates


def test_candidates(kg: KnowledgeGraph) -> None:
    found = {match.pair: match for match in kg.links.candidates("places")}
    proposed = {pair for pair, match in found.items() if match.is_link}
    assert proposed == {
        (entity("ada"), T + "ada"),
        (entity("danube"), T + "danube"),
        (entity("budapest"), T + "budapest"),
    }
    same = found[entity("ada"), T + "ada"]
    assert same.justification == SEMAPV.CompositeMatching.value
    assert same.similarity == 1.0
    alias = found[entity("danube"), T + "danube"]
    assert alias.justification == SEMAPV.LexicalMatching.value
    # An alias (0.95), kinds and texts unknown (0.5 each).
    assert alias.confidence == pytest.approx(0.6 * 0.95 + 0.15 * 0.5 + 0.25 * 0.5)
    assert (same.confidence or 0) > (alias.confidence or 0)
    near = found[entity("budapest"), T + "budapest"]
    assert near.justification == SEMAPV.LexicalSimilarityThresholdMatching.value
    assert 0.6 <= (near.similarity or 0) < 1
    assert (near.confidence or 0) < (alias.confidence or 0)
    assert (entity("boris"), T + "boris") not in found


def test_two_items_that_fit_equally_are_for_a_person_to_decide(kg: KnowledgeGraph) -> None:
    ulm = [m for m in kg.links.candidates("places") if m.subject == entity("ulm")]
    assert [m.object for m in ulm] == [T + "ulm-germany", T + "ulm-montana"]
    assert {m.predicate for m in ulm} == {NO_MAPPING}
    assert all(m.comment.startswith("ambiguous: 2 items fit equally well") for m in ulm)


def test_limits(kg: KnowledgeGraph) -> None:
    everything = kg.links.candidates("places", min_confidence=0.0)
    assert len([m for m in everything if m.subject == entity("ulm")]) == 2
    one = kg.links.candidates("places", per_entity=1)
    assert len({m.subject for m in one}) == len(one)
    sure = kg.links.candidates("places", min_confidence=0.78)
    assert sure
    assert all((m.confidence or 0) >= 0.78 for m in sure)
    exact = kg.links.candidates("places", near="none")
    assert entity("budapest") not in {m.subject for m in exact}
    with pytest.raises(UsageError, match=r"near of the search .* must be one of characters"):
        kg.links.candidates("places", near="far")
    with pytest.raises(UsageError, match=r"no such graph: 'place'.*did you mean places"):
        kg.links.candidates("place")


def test_near_by_embedding(kg: KnowledgeGraph) -> None:
    found = {m.pair: m for m in kg.links.candidates("places", near="embedding")}
    near = found.get((entity("budapest"), T + "budapest"))
    justifications = {m.justification for m in found.values()}
    assert near is None or near.justification == SEMAPV.SemanticSimilarityThresholdMatching.value
    assert SEMAPV.LexicalSimilarityThresholdMatching.value not in justifications


def test_what_is_linked_is_no_candidate_any_more(kg: KnowledgeGraph) -> None:
    first = kg.links.candidates("places")
    kg.links.accept(first)
    left = kg.links.candidates("places")
    assert {m.subject for m in left} == {entity("ulm")}


def test_what_lost_to_a_better_one_is_left_out_again_after_the_better_link(tmp_path: Path) -> None:
    (tmp_path / "rail.ttl").write_text(RAIL, "utf-8")
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        text = "Alm Valley Line\nAlm Valey Line"
        kg.index([Source(text, "", "a.txt")], extractor=Facts())
        kg.import_graph(tmp_path / "rail.ttl", "rdf", name="rail")
        first = kg.links.candidates("rail")
        assert [m.subject_label for m in first if m.is_link] == ["Alm Valley Line"]
        kg.links.accept(first)
        again = kg.links.candidates("rail")
    assert again == [m for m in first if m.subject_label == "Alm Valey Line"]
    assert again[0].predicate == NO_MAPPING
    assert again[0].comment.startswith("another entity fits this item better")


# ------------------------------------------------------------------ Accepting and undoing


def test_a_review_is_stored_and_undone(sarag: Sarag, folder: Path, tmp_path: Path) -> None:
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        before, revision = export(kg), kg.meta().revision
    review = tmp_path / "review.sssom.tsv"
    sarag("link", "--kg", folder, "--near", "none").fails(2, "give one of --to NAME")
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        table = kg.links.table(kg.links.candidates("places"), "candidates/places")
    review.write_text(table, encoding="utf-8")
    accepted = sarag("link", "--kg", folder, "--accept", review)
    assert accepted.out == "3 links accepted, 0 already stored, 2 rows skipped\n"
    assert links(folder) == {
        (entity(name), EXACT, T + name) for name in ("ada", "danube", "budapest")
    }
    again = sarag("link", "--kg", folder, "--accept", review)
    assert again.out == "0 links accepted, 3 already stored, 2 rows skipped\n"
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        assert kg.meta().revision != revision
        assert kg.validate().conforms
        assert export(kg) != before
    assert sarag("link", "--kg", folder, "--undo", review).out == "3 links removed\n"
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        assert kg.meta().revision == revision
        assert export(kg) == before


def test_runs_tell_what_came_and_went(kg: KnowledgeGraph, folder: Path) -> None:
    match = Match(entity("ada"), EXACT, T + "ada")
    node = MINTER.mapping(*match.pair[:1], EXACT, match.object)
    kg.links.accept([match])
    kg.links.undo(None)
    runs = [q for q in quads_of(folder) if graph_of(q) == MINTER.runs_graph]
    made = [q for q in runs if q.predicate == PROV.generated]
    gone = [q for q in runs if q.predicate == PROV.invalidated]
    assert {str(q.object) for q in (*made, *gone)} == {f"<{node}>"}
    assert made[0].subject != gone[0].subject
    ended = {q.subject for q in runs if q.predicate == PROV.endedAtTime}
    assert {made[0].subject, gone[0].subject} <= ended
    assert kg.validate().conforms


def test_no_blank_nodes_and_one_node_a_link(kg: KnowledgeGraph, folder: Path) -> None:
    kg.links.accept(kg.links.candidates("places"))
    stored = [q for q in quads_of(folder) if graph_of(q) == MINTER.links_graph]
    assert not [q for q in stored if isinstance(q.subject, ox.BlankNode)]
    nodes = {q.subject for q in stored if q.object == OWL.Axiom}
    assert len(nodes) == len(links(folder)) == 3


def test_links_follow_a_merge_and_come_back_with_its_undoing(
    kg: KnowledgeGraph, folder: Path
) -> None:
    kg.links.accept(kg.links.candidates("places"))
    before = [q for q in quads_of(folder) if graph_of(q) == MINTER.links_graph]
    kg.decisions.merge("Ulm", "Danube")
    assert fsck(kg).in_order
    assert kg.validate().conforms
    moved = (entity("ulm"), EXACT, T + "danube")
    assert moved in links(folder)
    assert entity("danube") not in {subject for subject, _, _ in links(folder)}
    [mapping] = [m for m in kg.links.mappings().splitlines() if "danube" in m and "#" not in m[0]]
    assert "entity:ulm" in mapping
    kg.decisions.undo("Danube")
    assert [q for q in quads_of(folder) if graph_of(q) == MINTER.links_graph] == before


def test_equal_links_of_merged_entities_are_one_until_the_merge_is_undone(
    kg: KnowledgeGraph, folder: Path
) -> None:
    pairs = [("ulm", 0.5), ("danube", 0.7)]
    matches = [Match(entity(n), EXACT, T + "danube", confidence=c) for n, c in pairs]
    kg.links.accept(matches)
    both = links(folder)
    assert len(both) == 2
    kg.decisions.merge("Ulm", "Danube")
    assert links(folder) == {(entity("ulm"), EXACT, T + "danube")}
    assert fsck(kg).in_order
    assert kg.validate().conforms
    kg.decisions.undo("Danube")
    assert links(folder) == both
    assert kg.validate().conforms


@pytest.mark.parametrize("what", ["entity", "item", "mapping", "all"])
def test_undo_by_iri(kg: KnowledgeGraph, folder: Path, what: str) -> None:
    kg.links.accept(kg.links.candidates("places"))
    ada = (entity("ada"), EXACT, T + "ada")
    iri = {"entity": ada[0], "item": ada[2], "mapping": MINTER.mapping(*ada), "all": None}[what]
    removed = kg.links.undo(iri).removed
    assert (removed, len(links(folder))) == ((3, 0) if what == "all" else (1, 2))
    assert ada not in links(folder)
    with pytest.raises(UsageError, match="no such link: list all links with sarag mappings"):
        kg.links.undo(iri)


def test_undo_on_the_command_line(sarag: Sarag, folder: Path) -> None:
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.links.accept(kg.links.candidates("places"))
    assert sarag("link", "--kg", folder, "--undo", T + "ada").out == "1 link removed\n"
    sarag("link", "--kg", folder, "--undo").fails(2, "--undo --all")
    sarag("link", "--kg", folder, "--all").fails(2, "give one of")
    sarag("link", "--kg", folder, "--undo", T + "ada", "--all").fails(2, "--all requires --undo")
    assert len(links(folder)) == 2
    assert sarag("link", "--kg", folder, "--undo", "--all").out == "2 links removed\n"


def test_same_as_on_request_only_and_instead_of_what_was_there(
    kg: KnowledgeGraph, folder: Path
) -> None:
    close = Match(entity("ulm"), SKOS.closeMatch.value, T + "ulm-germany")
    rows = [Match(entity("ada"), EXACT, T + "ada"), close]
    kg.links.accept(rows)
    report = kg.links.accept(rows, same_as=True)
    assert (report.added, report.unchanged) == (0, 2)
    assert links(folder) == {
        (entity("ada"), SAME_AS, T + "ada"),
        (entity("ulm"), SKOS.closeMatch.value, T + "ulm-germany"),
    }
    assert kg.validate().conforms


@pytest.fixture
def embedded(
    sarag: Sarag, tmp_path: Path, embedding_server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A graph that the command line can embed: by a server."""
    monkeypatch.setenv("SARAG_BASE_URL", embedding_server.base_url)
    endpoint = ModelEndpoint(embedding_server.base_url)
    folder = tmp_path / "embedded"
    with sarag_rdf.open(folder, embedder="openai:one", endpoint=endpoint) as kg:
        kg.index(SOURCES, extractor=CapitalExtractor())
    (tmp_path / "places.ttl").write_text(THESAURUS, encoding="utf-8")
    with sarag_rdf.open(folder, endpoint=endpoint) as kg:
        kg.import_graph(tmp_path / "places.ttl", "skos", name="places")
    return folder


def test_auto_takes_what_is_sure_and_leaves_the_rest(
    sarag: Sarag, embedded: Path, tmp_path: Path
) -> None:
    review = tmp_path / "left.sssom.tsv"
    result = sarag("link", "--kg", embedded, "--to", "places", "--auto", "0.76", "--review", review)
    assert result.code == 0, result
    assert result.out == (
        "5 candidates for 4 entities, 3 of them proposed\n"
        "2 links accepted, with a confidence of at least 0.76\n"
    )
    assert {subject for subject, _, _ in links(embedded)} == {entity("ada"), entity("danube")}
    left = read_table(review)
    assert [m.subject for m in left if m.is_link] == [entity("budapest")]
    assert {m.subject for m in left if not m.is_link} == {entity("ulm")}


def test_auto_never_takes_what_is_ambiguous(sarag: Sarag, embedded: Path) -> None:
    result = sarag("link", "--kg", embedded, "--to", "places", "--auto", "0", "--same-as")
    assert result.code == 0
    assert links(embedded) == {
        (entity(name), SAME_AS, T + name) for name in ("ada", "danube", "budapest")
    }


# ----------------------------------------------------------------------------- Reviews


def table(*rows: str, head: str = "", columns: str = "") -> str:
    names = (
        columns
        or "subject_id\tpredicate_id\tpredicate_modifier\tobject_id\t"
        "mapping_justification\tconfidence"
    )
    return head + "\n".join([names, *rows]) + "\n"


HEAD = f"""#curie_map:
#  entity: "{MINTER.base}entity/"
#  t: {T}
"""
ADA = f"entity:{entity('ada').rpartition('/')[2]}"
GOOD = f"{ADA}\tskos:exactMatch\t\tt:ada\tsemapv:ManualMappingCuration\t0.5"


def test_a_table_made_by_hand(sarag: Sarag, folder: Path, tmp_path: Path) -> None:
    """CURIEs or IRIs, rows that say no, and the justification that the reviewer wrote."""
    file = tmp_path / "mine.tsv"
    ulm = entity("ulm")
    rows = (
        GOOD,
        f"<{ulm}>\tskos:exactMatch\tNot\tt:ulm-montana\tsemapv:ManualMappingCuration\t",
        f"{ulm}\tskos:closeMatch\t\t{T}ulm-germany\tsemapv:ManualMappingCuration\t1",
        "",
        f"{entity('danube')}\tsssom:NoMapping\t\tt:danube\tsemapv:ManualMappingCuration\t",
    )
    file.write_text(table(*rows, head=HEAD), encoding="utf-8")
    result = sarag("link", "--kg", folder, "--accept", file)
    assert result.out == "2 links accepted, 0 already stored, 2 rows skipped\n"
    assert links(folder) == {
        (entity("ada"), EXACT, T + "ada"),
        (ulm, SKOS.closeMatch.value, T + "ulm-germany"),
    }
    assert "semapv:ManualMappingCuration" in sarag("mappings", "--kg", folder).out


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (GOOD.replace(ADA, "entity:E-nobody"), "entity/E-nobody> is not an entity of this graph"),
        (GOOD.replace("t:ada", "t:nothing"), "nothing> is not an entity of an imported graph"),
        (
            GOOD.replace("t:ada", "u:ada"),
            "the prefix of 'u:ada' is not in the curie_map of the file",
        ),
        (GOOD.replace("t:ada", "ada"), "'ada' is neither a CURIE nor an IRI"),
        (GOOD.replace("t:ada", ""), "object_id is empty"),
        (
            GOOD.replace("exactMatch", "broader"),
            "unknown predicate 'skos:broader': use skos:exactMatch",
        ),
        (GOOD.replace("\t\t", "\tMaybe\t"), "predicate_modifier is 'Maybe': use Not"),
        (GOOD.replace("0.5", "1.5"), "confidence is '1.5', not a number from 0 to 1"),
        (GOOD.replace("0.5", "high"), "confidence is 'high', not a number from 0 to 1"),
        (GOOD + "\tmore", "7 cells for 6 columns"),
        (GOOD, "the same link as in row 5"),
    ],
)
def test_what_is_wrong_in_a_review_is_told_by_line(
    sarag: Sarag, folder: Path, tmp_path: Path, row: str, words: str
) -> None:
    before = quads_of(folder)
    file = tmp_path / "wrong.tsv"
    file.write_text(table(GOOD, row, head=HEAD), encoding="utf-8")
    sarag("link", "--kg", folder, "--accept", file).fails(
        1, f"{file}: row 6, ", words, "Nothing was changed"
    )
    assert quads_of(folder) == before


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "it has no column 'subject_id', 'predicate_id', 'object_id', 'mapping_justification'"),
        ("a\tb\n1\t2\n", "is not an SSSOM table"),
        ("#curie_map: [\n" + table(GOOD), "is not YAML"),
        ("#curie_map: text\n" + table(GOOD), "is not a map of prefixes to IRIs"),
    ],
)
def test_what_is_no_table(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "wrong.tsv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=words):
        read_table(file)


def test_there_must_be_something_to_link_to(sarag: Sarag, tmp_path: Path) -> None:
    folder = make_graph(tmp_path / "kg")
    file = tmp_path / "links.tsv"
    file.write_text(table(GOOD, head=HEAD), encoding="utf-8")
    result = sarag("link", "--kg", folder, "--accept", file)
    result.fails(2, "no imported graph to link to")
    sarag("link", "--kg", folder, "--to", "places").fails(2, "choose an output")
    sarag("link", "--kg", tmp_path / "no", "--accept", file).fails(1, "no graph at")
    assert not (tmp_path / "no").exists()


# ------------------------------------------------------------------------------- SSSOM


def test_a_table_reads_as_it_was_written(kg: KnowledgeGraph, tmp_path: Path) -> None:
    found = kg.links.candidates("places")
    file = tmp_path / "candidates.sssom.tsv"
    file.write_text(kg.links.table(found, "candidates/places"), encoding="utf-8")
    assert read_table(file) == found


@pytest.mark.parametrize(
    "name", ['=HYPERLINK("http://x.example")', "+1", "-1", "@A1", "'=1", "\uff1d1"]
)
def test_no_cell_is_a_formula(name: str, tmp_path: Path) -> None:
    match = Match(f"{T}a", EXACT, f"{T}b", SEMAPV.LexicalMatching.value, 1.0, name, name)
    match = replace(match, comment=name)
    graph = GraphReader(OxigraphStore.in_memory(), MINTER)
    for table in (
        write_table([match], {}, {}),
        review_table(graph, [replace(match, accepted=False)]),
    ):
        path = tmp_path / "links.sssom.tsv"
        path.write_text(table, "utf-8")
        cells = [cell for row in csv.reader(table.splitlines(), delimiter="\t") for cell in row]
        assert cells.count(f"'{name}") == 3
        [read] = read_table(path)
        assert (read.subject_label, read.object_label, read.comment) == (name, name, name)


def test_mappings(kg: KnowledgeGraph, tmp_path: Path) -> None:
    found = kg.links.candidates("places")
    kg.links.accept(found)
    file = tmp_path / "mappings.sssom.tsv"
    text = kg.links.mappings()
    file.write_text(text, encoding="utf-8")
    wanted = [replace(m, similarity=None, measure="", comment="") for m in found if m.is_link]
    assert read_table(file) == sorted(wanted, key=lambda match: match.pair)
    labels = {(m.subject_label, m.object_label) for m in read_table(file)}
    assert labels == {("Ada", "ADA"), ("Danube", "Donau"), ("Budapest", "Budapest, city")}
    assert text.startswith(f'#mapping_set_id: "{MINTER.base}mappings"\n#license: ')
    assert kg.links.mappings() == text
    kg.say(title="Places", license="https://example.org/license")
    assert '#license: "https://example.org/license"' in kg.links.mappings()


def test_names_in_mappings_are_those_of_entities(tmp_path: Path) -> None:
    """Of names in several languages, English comes first."""
    turtle = f'<{T}w> a skos:Concept ; skos:prefLabel "Ulm city"@en , "Ciudad de Ulm"@es .'
    prefix = THESAURUS.strip().partition("\n")[0]
    (tmp_path / "s.ttl").write_text(f"{prefix}\n{turtle}", encoding="utf-8")
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index(SOURCES, extractor=CapitalExtractor())
        kg.import_graph(tmp_path / "s.ttl", "skos")
        kg.links.accept([Match(entity("ulm"), EXACT, f"{T}w")])
        [mapping] = [row for row in kg.links.mappings().splitlines() if row.startswith("entity:")]
        assert mapping.split("\t")[1::3][:2] == ["Ulm", kg.entity(f"{T}w").name]
        assert kg.entity(f"{T}w").name == "Ulm city"


def test_nothing_is_linked(kg: KnowledgeGraph, tmp_path: Path) -> None:
    file = tmp_path / "none.sssom.tsv"
    file.write_text(kg.links.mappings(), encoding="utf-8")
    assert read_table(file) == []


_RUN_SSSOM = """
import json, sys
from click.testing import CliRunner
from sssom.cli import main
from sssom.parsers import parse_sssom_table
for file in sys.argv[1:]:
    result = CliRunner().invoke(main, ["validate", file])
    is_valid = result.exit_code == 0 and "ERROR" not in result.output
    print(json.dumps([is_valid, len(parse_sssom_table(file).df), result.output]))
"""


def sssom_results(program: Path, files: list[Path]) -> list[tuple[bool, int, str]]:
    """Whether each table is valid, its rows, and what is said of it: in one process of sssom."""
    command = [str(program.resolve().parent / "python"), "-c", _RUN_SSSOM, *map(str, files)]
    done = subprocess.run(command, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    return [tuple(json.loads(line)) for line in done.stdout.splitlines() if line[:1] == b"["]


@pytest.mark.interop
def test_tables_are_valid_for_others(kg: KnowledgeGraph, tmp_path: Path) -> None:
    sssom = shutil.which("sssom")
    if sssom is None:
        pytest.skip("sssom is not installed: pip install sssom, in an environment of its own")
    found = kg.links.candidates("places")
    kg.links.accept([match for match in found if match.is_link])
    tables = {
        "candidates": kg.links.table(found, "candidates/places"),
        "mappings": kg.links.mappings(),
        "broken": kg.links.mappings().replace("semapv:", "nothing:"),
    }
    files = {name: tmp_path / f"{name}.sssom.tsv" for name in tables}
    for name, text in tables.items():
        files[name].write_text(text, encoding="utf-8")
    results = sssom_results(Path(sssom), list(files.values()))
    for name, (is_valid, _, output) in zip(files, results, strict=True):
        assert is_valid == (name != "broken"), output
    rows = dict(zip(files, (rows for _, rows, _ in results), strict=True))
    assert rows["mappings"] == kg.links.mappings().count("\nentity:") == 3


# ---------------------------------------------------------------------------- Other servers


@pytest.mark.parametrize("server", ["oxigraph_server", "virtuoso_server"])
def test_items_of_an_endpoint(folder: Path, tmp_path: Path, sarag: Sarag, server: str) -> None:
    graph = ox.NamedNode("https://thesaurus.example.org/graph")
    quads = [
        ox.Quad(q.subject, q.predicate, q.object, graph)
        for q in ox.parse(THESAURUS, format=ox.RdfFormat.TURTLE)
    ]
    review = tmp_path / "review.tsv"
    with getattr(servers, server)() as running:
        running.load(ox.serialize(quads, format=ox.RdfFormat.N_QUADS))
        remote = SparqlEndpoint(running.query_url, "", "", "skos", graph.value)
        with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
            found = kg.links.candidates(remote)
            review.write_text(kg.links.table(found, "candidates"), encoding="utf-8")
    proposed = {(m.subject, m.object) for m in found if m.is_link}
    assert proposed == {(entity("danube"), f"{T}danube")}  # By a further name of the item.
    ambiguous = {m.object for m in found if m.subject == entity("ulm")}
    assert ambiguous == {f"{T}ulm-germany", f"{T}ulm-montana"}
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.forget_import("places")
        with pytest.raises(UsageError, match="items with --elsewhere"):
            kg.links.accept(review)
        assert kg.links.accept(review, elsewhere=True).added == 1
        assert "exactMatch" in kg.links.mappings()
        assert kg.search("Where is Ulm?").documents


def test_neighbours_tell_apart_items_of_one_name_and_values_are_no_entities(
    tmp_path: Path,
) -> None:
    films = tmp_path / "films.ttl"
    films.write_text(
        """@prefix f: <https://films.example.org/> .
        @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        f:old rdfs:label "Orbis" ; f:year "1941" ; f:directedBy f:ada .
        f:new rdfs:label "Orbis" ; f:year "1999" ; f:directedBy f:boris .
        f:other rdfs:label "1941" ; f:year "1979" .
        f:ada rdfs:label "Ada" . f:boris rdfs:label "Boris" .""",
        "utf-8",
    )
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index([Source("Orbis opened.", "", "a.txt")], extractor=Directed())
        kg.import_graph(films, "rdf", name="films")
        found = {match.object: match for match in kg.links.candidates("films", min_confidence=0.4)}
    old, new = (found[f"https://films.example.org/{name}"] for name in ("old", "new"))
    assert (old.predicate, new.predicate) == (EXACT, NO_MAPPING)
    assert old.comment.endswith("neighbours 1.00")
    assert "another item fits better" in new.comment
    assert new.comment.endswith("neighbours 0.00")
    assert (old.confidence, new.confidence) == (0.88, 0.48)
    assert "https://films.example.org/other" not in found


def test_a_graph_that_knows_no_neighbour_of_an_entity_says_nothing_by_it(tmp_path: Path) -> None:
    """Such as one of countries, for the directors of films."""
    (tmp_path / "lands.ttl").write_text(
        """@prefix f: <https://films.example.org/> .
        @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        f:orbis rdfs:label "Orbis" ; f:madeIn f:land . f:land rdfs:label "Freedonia" .""",
        "utf-8",
    )
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index([Source("Orbis opened.", "", "a.txt")], extractor=Directed())
        kg.import_graph(tmp_path / "lands.ttl", "rdf", name="lands")
        [match] = kg.links.candidates("lands")
    assert match.object == "https://films.example.org/orbis"
    assert match.confidence == 0.8
    assert "neighbours" not in match.comment


RAIL = """@prefix r: <https://rail.example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
r:lind rdfs:label "Sofia Lind"@en ; r:employer r:avr .
r:avr rdfs:label "Alm Valley Railway"@en . r:nir rdfs:label "Northern Isen Rail"@en .
r:line rdfs:label "Alm Valley Line"@en , "Almtalstrecke"@de .
"""


class Facts:
    """Takes each line of a text as a subject, a phrase and an object."""

    method = Method("facts", "none")

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        for document in documents:
            lines = [line.split(" | ") for line in document.text.splitlines()]
            names = dict.fromkeys(name for line in lines for name in line[::2])
            facts = [line for line in lines if len(line) == 3]
            yield Extraction(
                tuple(Mention(name, "misc") for name in names),
                tuple(Relation(a, p, b, document.text) for a, p, b in facts),
            )


@pytest.mark.parametrize(
    ("facts", "confidence"),
    [
        ("Sofia Lind | works for | Alm Valley Railway", 0.88),
        ("Sofia Lind | met | Northern Isen Rail", 0.776),
        ("Sofia Lind | employer | Northern Isen Rail", 0.48),
        ("Sofia Lind | met | Northern Isen Rail\nSofia Lind | of | 1979", 0.776),
    ],
)
def test_other_facts_say_little_against_the_name_of_one_item(
    tmp_path: Path, facts: str, confidence: float
) -> None:
    """Unless both graphs state something in the same words, and not the same."""
    (tmp_path / "rail.ttl").write_text(RAIL, "utf-8")
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index([Source(facts, "", "a.txt")], extractor=Facts())
        kg.import_graph(tmp_path / "rail.ttl", "rdf", name="rail")
        found = {m.subject_label: m for m in kg.links.candidates("rail", min_confidence=0.4)}
    assert found["Sofia Lind"].predicate == EXACT
    assert found["Sofia Lind"].confidence == confidence


@pytest.mark.parametrize(
    ("class_", "confidence"), [("ObjectProperty", 0.776), ("FunctionalProperty", 0.48)]
)
def test_only_properties_of_one_value_at_a_time_contradict(
    tmp_path: Path, class_: str, confidence: float
) -> None:
    (tmp_path / "loans.ttl").write_text(
        f"""@prefix l: <https://loans.example.org/> .
        @prefix owl: <http://www.w3.org/2002/07/owl#> .
        @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        l:lentTo a owl:{class_} ; rdfs:label "lent to" .
        l:bell rdfs:label "Bressel Bell" ; l:lentTo l:halden . l:halden rdfs:label "Halden Hall" .
        l:thule rdfs:label "Thule House" .""",
        "utf-8",
    )
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.ontologies.add(tmp_path / "loans.ttl")
        kg.index([Source("Bressel Bell | lent to | Thule House", "", "a.txt")], extractor=Facts())
        kg.import_graph(tmp_path / "loans.ttl", "rdf", name="loans")
        found = {m.subject_label: m for m in kg.links.candidates("loans", min_confidence=0.4)}
    assert found["Bressel Bell"].confidence == confidence


def test_a_name_that_contains_another_is_none(tmp_path: Path) -> None:
    (tmp_path / "rail.ttl").write_text(RAIL, "utf-8")
    text = "Press release of the Alm Valley Railway\nAlm Valey Line\nNorthern Isen"
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index([Source(text, "", "a.txt")], extractor=Facts())
        kg.import_graph(tmp_path / "rail.ttl", "rdf", name="rail")
        [match] = kg.links.candidates("rail")
    assert (match.subject_label, match.object_label) == ("Alm Valey Line", "Alm Valley Line")


class Directed:
    """A film with its director, and its year, which is also the name of a film."""

    method = Method("directed", "none")

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        for document in documents:
            mentions = Mention("Orbis", "misc"), Mention("Ada", "person"), Mention("1941", "time")
            ends = (("directed by", "Ada"), ("of", "1941"))
            yield Extraction(
                mentions, tuple(Relation("Orbis", p, o, document.text) for p, o in ends)
            )


def test_own_classes_are_kinds_and_numbers_and_schemes_keep_names_apart(tmp_path: Path) -> None:
    ontology = tmp_path / "own.ttl"
    ontology.write_text(
        "@prefix o: <https://own.example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        'o:Device a owl:Class ; rdfs:label "device" . o:Yard a owl:Class ; rdfs:label "yard" .\n'
        'o:Lathe a owl:Class ; rdfs:subClassOf o:Device ; rdfs:label "lathe" .\n'
    )
    items = tmp_path / "items.ttl"
    items.write_text(
        "@prefix o: <https://own.example.org/> . @prefix t: <https://things.example.org/> .\n"
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"
        't:1 a o:Lathe ; rdfs:label "Heron" . t:2 a o:Yard ; rdfs:label "Plover" .\n'
        't:3 a o:Device ; rdfs:label "dunnock server 01" .\n'
        't:4 a skos:ConceptScheme ; skos:prefLabel "Technologies" ; rdfs:label "Technologies" .\n'
    )

    class Devices:
        method = Method("devices", "none")

        def extract(self, documents: Iterable[Document]) -> Iterator[Extraction]:
            classes = ("https://own.example.org/Device",)
            names = "Heron", "Plover", "Dunnock server 5", "Technologies"
            for _ in documents:
                yield Extraction(tuple(Mention(n, "misc", classes=classes) for n in names))

    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        kg.ontologies.add(ontology)
        text = "Heron, Plover, Dunnock server 5, Technologies."
        kg.index([Source(text, "All", "all.txt")], extractor=Devices())
        kg.import_graph(items, "rdf", name="items")
        found = {match.subject_label: match.comment for match in kg.links.candidates("items")}
        assert kg.query("ASK { GRAPH ?g { ?x a o:Lathe } }") is True  # the prefix of the file
    assert found.keys() == {"Heron", "Plover"}
    assert "kinds same" in found["Heron"]
    assert "kinds different" in found["Plover"]
