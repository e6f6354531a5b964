"""Merges and splits: told once, they hold whatever comes and goes, and can be taken back."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise, permutations
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from pyoxigraph import Quad

import sarag_rdf
from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.iris import Minter, normalize_name
from sarag_rdf.base.ports import Table
from sarag_rdf.base.types import Document, EntityType, Extraction, Mention, Method, Relation, Source
from sarag_rdf.base.vocab import SEMAPV
from sarag_rdf.building.link_records import EXACT, Match
from sarag_rdf.building.merge_rules import EntityFeatures, MergeContext
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.duplicates import SHORT_NAMES
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import Sarag
from tests.relation_paths.test_paths import TermsExtractor
from tests.sample_graph import CapitalExtractor, derived

MINTER = Minter()
SOURCES = (
    Source("Marie taught Irene. Marie lived in Paris.", "Marie", "marie.txt"),
    Source("Manya met Pierre. Manya came from Warsaw.", "Manya", "manya.txt"),
    Source("Mercury orbits Sol.", "", "planet.txt"),
    Source("Mercury carried messages to Jove.", "", "god.txt"),
    Source("Mercury melts in Paris.", "", "metal.txt"),
)


@pytest.fixture
def kg(tmp_path: Path) -> Iterator[KnowledgeGraph]:
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), endpoint=None) as graph:
        graph.index(SOURCES, extractor=CapitalExtractor())
        yield graph


def stored(kg: KnowledgeGraph) -> set[Quad]:
    """Evidence and what follows from it; the graph follows, and conforms."""
    derived(kg)
    passing = {MINTER.runs_graph, MINTER.meta_graph}
    with kg.session.read() as snapshot:
        reader = snapshot.own
    return {q for q in reader.store.quads() if str(q.graph_name)[1:-1] not in passing}


def entities(kg: KnowledgeGraph, *names: str) -> list[str]:
    with kg.session.read() as snapshot:
        reader = snapshot.own
    mentions = [MINTER.mention(normalize_name(name)) for name in names]
    found = {m.value: e.value for m, e in reader.select_provenance_for("mention-targets", mentions)}
    return [found.get(mention, "") for mention in mentions]


def found_by(kg: KnowledgeGraph, question: str) -> set[str]:
    result = kg.search(question)
    return {ranked.document.source_iri.rpartition("/")[2] for ranked in result.documents}


def test_merged_entities_are_one_and_a_search_finds_the_documents_of_both(
    kg: KnowledgeGraph,
) -> None:
    before = stored(kg)
    kg.decisions.merge("Marie", "Manya", note="the same woman")
    marie = MINTER.entity("marie")
    assert entities(kg, "Marie", "Manya") == [marie, marie]
    stored(kg)
    for name in ("Marie", "Manya"):
        assert {"marie.txt", "manya.txt"} <= found_by(kg, f"What did {name} do?")
    [told] = kg.decisions.list()
    assert (told.name, told.other, told.note) == ("manya", "marie", "the same woman")
    kg.decisions.undo("Manya")
    assert stored(kg) == before


def test_an_entity_is_found_by_the_names_and_the_iri_that_it_had_before(
    kg: KnowledgeGraph,
) -> None:
    for _ in range(2):
        assert kg.entity("manya").iri == kg.entity("Manya").iri
        kg.decisions.merge("Marie", "Manya")
        for name in ("manya", "Manya", "MARIE", MINTER.entity("manya")):
            assert kg.entity(name).iri == MINTER.entity("marie")
        assert kg.neighbours("manya").entities[0].iri == MINTER.entity("marie")
        kg.decisions.undo("Manya")
    with pytest.raises(UsageError, match="no entity is named 'nobody'"):
        kg.entity("nobody")


def test_a_merge_holds_for_what_comes_later_and_outlives_what_goes(kg: KnowledgeGraph) -> None:
    kg.decisions.merge("Marie", "Manya")
    kg.delete(["manya.txt"])
    assert entities(kg, "Manya") == [""]
    stored(kg)
    kg.index(SOURCES, extractor=CapitalExtractor())
    assert entities(kg, "Manya") == [MINTER.entity("marie")]
    stored(kg)
    kg.delete(["marie.txt"])
    assert entities(kg, "Manya") == [MINTER.entity("manya")]
    stored(kg)


def test_nothing_is_merged_that_was_not_told(kg: KnowledgeGraph) -> None:
    kg.decisions.merge("Marie", "Manya")
    with pytest.raises(UsageError, match="are already the same entity"):
        kg.decisions.merge("Manya", "Marie")
    kg.decisions.merge("Marie", "Irene")
    assert len(set(entities(kg, "Marie", "Manya", "Irene"))) == 1
    stored(kg)


def test_what_others_were_merged_into_is_merged_with_them(
    kg: KnowledgeGraph, tmp_path: Path
) -> None:
    kg.decisions.merge("Marie", "Manya")
    before = stored(kg)
    kg.decisions.merge("Irene", "Manya")  # by the name of one that is Marie
    assert entities(kg, "Marie", "Manya") == [MINTER.entity("irene")] * 2
    assert kg.entity("Marie").name == "Irene"
    stored(kg)
    for one, other in permutations(("Marie", "Manya", "Irene"), 2):
        with pytest.raises(UsageError, match="are already the same entity"):
            kg.decisions.merge(one, other)
    kg.decisions.undo("Irene")
    assert stored(kg) == before
    pairs = [("manya", "marie"), ("marie", "irene"), ("irene", "manya")]
    rows = [
        Match(MINTER.entity(one), EXACT, MINTER.entity(other), SEMAPV.LexicalMatching.value)
        for one, other in pairs
    ]
    kg.decisions.undo("Manya")
    with pytest.raises(UsageError, match="are already the same entity"):
        kg.decisions.accept(rows)
    kg.decisions.accept(rows[:2])
    assert entities(kg, "Marie", "Manya") == [MINTER.entity("irene")] * 2
    stored(kg)
    kg.delete(["marie.txt"])
    stored(kg)


def test_what_is_no_entity_cannot_be_merged(kg: KnowledgeGraph) -> None:
    for name in ("Nobody", MINTER.entity("nobody")):
        with pytest.raises(UsageError, match=r"no entity .* in this graph"):
            kg.decisions.merge("Marie", name)
    with pytest.raises(UsageError, match="no decision about"):
        kg.decisions.undo("Marie")
    assert kg.decisions.list() == []


def test_a_name_that_was_split_is_that_of_several_entities_however_it_is_spelled(
    kg: KnowledgeGraph,
) -> None:
    for count, qualifier in enumerate(("god", "planet", "metal"), start=2):
        kg.decisions.split("Mercury", [f"{qualifier}.txt"], qualifier)
        for name in ("Mercury", "mercury", "MERCURY"):
            with pytest.raises(UsageError, match=f"{min(count, 3)} entities are named '{name}'"):
                kg.entity(name)
        entity = MINTER.entity_of_mention(MINTER.variant("mercury", qualifier))
        assert kg.entity(entity).iri == entity
    with pytest.raises(UsageError, match="was split into 3 entities: give the IRI of one"):
        kg.entity(MINTER.entity("mercury"))
    kg.decisions.undo(None)
    assert kg.entity("MERCURY").iri == MINTER.entity("mercury")
    kg.decisions.split("Jove", ["god.txt"], "god")
    assert kg.entity("jove").iri == MINTER.entity_of_mention(MINTER.variant("jove", "god"))


def test_a_name_is_another_thing_in_some_sources(kg: KnowledgeGraph) -> None:
    before = stored(kg)
    kg.decisions.split("Mercury", ["god.txt"], "god")
    god = MINTER.entity_of_mention(MINTER.variant("mercury", "god"))
    stored(kg)
    rows = kg.query(
        f"SELECT ?text {{ ?d <https://w3id.org/sarag/ontology#describes> <{god}> ; "
        "<https://w3id.org/sarag/ontology#beginIndex> ?b ; "
        "<https://w3id.org/sarag/ontology#text> ?text }"
    )
    assert isinstance(rows, Table)
    assert [row[0].value for row in rows.rows] == ["Mercury carried messages to Jove."]
    assert {"god.txt", "planet.txt"} <= found_by(kg, "What did Mercury do?")
    with pytest.raises(UsageError, match="already"):
        kg.decisions.split("Mercury", ["god.txt"], "messenger")
    kg.decisions.split("Mercury", "planet.txt", "planet", note="it is one")
    kg.decisions.split("Mercury", ["metal.txt"], "metal")
    stored(kg)
    kg.delete(["god.txt"])
    stored(kg)
    kg.index(SOURCES, extractor=CapitalExtractor())
    stored(kg)
    kg.decisions.undo(None)
    assert stored(kg) == before


class Aliasing:
    """Knows of every document what it says."""

    method = CapitalExtractor.method

    def __init__(self, said: Mapping[str, Extraction]) -> None:
        self._said = said

    def extract(self, documents: object) -> Iterator[Extraction]:
        for document in documents:  # type: ignore[attr-defined]
            yield self._said[document.text]


SAID = {
    "one": Extraction(
        (Mention("Ann", "person", ("Nan",)), Mention("Bob"), Mention("John Smith", "person")),
        (Relation("Ann", "met", "Bob"), Relation("John Smith", "met", "Bob")),
    ),
    "two": Extraction(
        (Mention("Nan", "person"), Mention("Bob"), Mention("J. Smith", "person")),
        (Relation("Nan", "met", "Bob"), Relation("J. Smith", "met", "Bob")),
    ),
    "three": Extraction((Mention("Smith, John", "person"), Mention("John Smith", "person"))),
}


@pytest.fixture
def people(tmp_path: Path) -> Iterator[KnowledgeGraph]:
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), endpoint=None) as graph:
        sources = [Source(text, "", f"{text}.txt") for text in SAID]
        graph.index(sources, extractor=Aliasing(SAID))
        yield graph


def test_names_that_an_alias_put_together_are_kept_apart(people: KnowledgeGraph) -> None:
    before = stored(people)
    assert entities(people, "Nan") == [MINTER.entity("ann")]
    people.decisions.keep_apart("Nan", "Ann")
    assert entities(people, "Nan", "Ann") == [MINTER.entity("nan"), MINTER.entity("ann")]
    stored(people)
    with pytest.raises(UsageError, match="kept apart"):
        people.decisions.merge("Ann", "Nan")
    people.decisions.undo("Nan")
    assert stored(people) == before


def test_a_split_is_extended_to_further_sources(kg: KnowledgeGraph) -> None:
    kg.decisions.split("Mercury", ["god.txt"], "god", note="of Rome")
    kg.decisions.split("Mercury", ["metal.txt"], "god")
    [told] = kg.decisions.list()
    sources = [MINTER.source(key, "", "") for key in ("god.txt", "metal.txt")]
    assert (told.sources, told.note) == (tuple(sources), "of Rome")
    stored(kg)
    with pytest.raises(UsageError, match=r"^no such source in the graph: 'nowhere.txt'"):
        kg.decisions.split("Mercury", "nowhere.txt", "god")
    kg.decisions.undo("Mercury")
    kg.decisions.split("Mercury", ["god.txt"], "god")
    with pytest.raises(UsageError, match="to undo, or --undo-all"):
        kg.decisions.undo(" ")
    kg.decisions.undo(None)
    with pytest.raises(UsageError, match="no decision:"):
        kg.decisions.undo(None)


@pytest.mark.parametrize(
    ("rule", "least"), [("near", -1.0), ("initials", 0.9), ("same-words", 0.9)]
)
def test_a_rule_that_was_followed_says_nothing_more(
    people: KnowledgeGraph, tmp_path: Path, rule: str, least: float
) -> None:
    """What was merged shares more neighbours and lies elsewhere: that does not count."""
    rows = people.decisions.propose_merges(rule, least=least)
    table = tmp_path / "review.sssom.tsv"
    table.write_text(people.links.table(rows, f"merges/{rule}"), "utf-8")
    assert len(people.decisions.accept(table).decisions) == len(rows) > 0
    assert people.decisions.propose_merges(rule, least=least) == []
    assert people.decisions.accept(table).decisions == ()


def test_what_a_rule_merged_gives_it_no_further_pair() -> None:
    """Of a chain every second two share a neighbour; of what came of that others would."""
    names = ("Ann", "Bob", "Cleo", "Dora", "Eva", "Fred", "Gus", "Hal", "Ivo", "Jan")
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        pairs = pairwise(names)
        sources = [Source(f"{one} met {two}.", "", f"{one}.txt") for one, two in pairs]
        kg.index(sources, extractor=CapitalExtractor())
        made = kg.decisions.accept(kg.decisions.propose_merges("near", least=-1.0)).decisions
        assert len(made) > 1
        assert kg.decisions.propose_merges("near", least=-1.0) == []
        stored(kg)


SAID_LATER = {
    "before": Extraction(
        (Mention("Maria"), Mention("Anna Bell"), Mention("Manya"), Mention("Marie"))
    ),
    "alias": Extraction(
        (
            Mention("Maria Sklodowska", "misc", ("Maria",)),
            Mention("Marie Curie", "misc", ("Marie",)),
        )
    ),
    "order": Extraction((Mention("Sklodowska Maria"), Mention("Curie Marie"))),
}


def test_a_rule_goes_by_what_names_mean_now() -> None:
    """An alias leads the names of earlier merges to others than those that they were told of."""
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        said = Aliasing(SAID_LATER)
        kg.index(Source("before", "", "before.txt"), extractor=said)
        kg.decisions.merge("Anna Bell", "Maria")
        kg.decisions.merge("Marie", "Manya")
        kg.index([Source(text, "", f"{text}.txt") for text in SAID_LATER], extractor=said)
        one = [set(entities(kg, *pair)) for pair in (("Maria", "Anna Bell"), ("Marie", "Manya"))]
        assert [len(found) for found in one] == [1, 1]
        for row in kg.decisions.propose_merges("same-words"):
            kg.decisions.accept([row, row])
        assert len(set(entities(kg, "Maria", "Anna Bell"))) == 1
        assert len(set(entities(kg, "Marie", "Manya"))) == 1
        assert len(set(entities(kg, "Marie", "Curie Marie"))) == 1
        stored(kg)


def test_a_rule_leaves_alone_what_was_told_apart(kg: KnowledgeGraph) -> None:
    kg.index(Source("Mercurys met Ada.", "", "s.txt"), extractor=CapitalExtractor())
    [row] = kg.decisions.propose_merges("same-words")
    kg.decisions.split("Mercury", "god.txt", "god")
    rows = kg.decisions.propose_merges("same-words")
    assert [{*row.pair} for row in rows] == [{*row.pair}]
    kg.decisions.keep_apart("Mercury", "Mercurys")
    assert kg.decisions.propose_merges("same-words") == []


def test_rules_tell_pairs_that_can_be_reviewed_and_undone(
    people: KnowledgeGraph, tmp_path: Path
) -> None:
    before = stored(people)
    rows = people.decisions.propose_merges("same-words")
    assert [(row.subject_label, row.object_label) for row in rows] == [
        ("Smith, John", "John Smith")
    ]
    rows = people.decisions.propose_merges("initials")
    assert [(row.subject_label, row.object_label) for row in rows] == [("J. Smith", "John Smith")]
    table = tmp_path / "review.sssom.tsv"
    table.write_text(people.links.table(rows, "merges/initials"), "utf-8")
    [made] = people.decisions.accept(table).decisions
    assert (made.name, made.other, made.rule) == ("j smith", "john smith", "initials")
    stored(people)
    assert people.decisions.propose_merges("initials") == []
    people.decisions.accept(people.decisions.propose_merges("same-words"))
    stored(people)
    assert {d.rule for d in people.decisions.list()} == {"initials", "same-words"}
    people.decisions.undo("same-words")
    people.decisions.undo(made.iri(MINTER))
    assert stored(people) == before
    with pytest.raises(UsageError, match="unknown merge rule"):
        people.decisions.propose_merges("guess")


def test_a_rule_merges_only_what_a_reviewer_accepts(
    people: KnowledgeGraph, tmp_path: Path, sarag: Sarag
) -> None:
    """From the table that a rule writes to the decisions in a spreadsheet and back."""
    before = stored(people)
    people.close()
    where = ["--kg", str(tmp_path / "kg")]
    sarag("merge", "--rule", "same-words", *where).fails(2, "--review FILE", "--accept FILE")
    path = tmp_path / "pairs.tsv"
    assert "1 pair proposed" in sarag("merge", "--rule", "same-words", "--review", path, *where).out
    assert stored(people) == before
    [row] = csv.DictReader(path.read_text("utf-8-sig").splitlines(), delimiter="\t")
    assert (row["decision"], row["subject_label"], row["object_label"]) == (
        "", "Smith, John", "John Smith",
    )  # fmt: skip
    assert int(row["subject_documents"]) > 0
    assert "Smith" in row["subject_sample"]
    assert row["subject_id"].startswith("https://")

    def decided(decision: str) -> Path:
        with path.open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, row.keys(), delimiter="\t", quoting=csv.QUOTE_ALL)
            table.writeheader()
            table.writerow({**row, "decision": decision})
        return path

    for decision in ("", "reject"):
        done = sarag("merge", "--accept", decided(decision), *where)
        assert (done.code, done.out.partition(":")[0]) == (0, "0 merged, 1 row skipped")
    sarag("merge", "--accept", decided("maybe"), *where).fails(1, "row 2, column decision: 'maybe'")
    assert stored(people) == before
    accepted = sarag("merge", "--accept", decided("Accept"), *where)
    assert accepted.out == "1 merged, 0 rows skipped\n"
    people.reload()
    [made] = people.decisions.list()
    assert (made.name, made.rule) == ("smith john", "same-words")


def test_what_a_run_decided_is_undone_together(people: KnowledgeGraph) -> None:
    before = stored(people)
    people.decisions.accept(people.decisions.propose_merges("same-words"))
    runs = people.query("SELECT ?run { ?run <http://www.w3.org/ns/prov#generated> ?decision }")
    assert isinstance(runs, Table)
    people.decisions.undo(runs.rows[0][0].value)
    assert stored(people) == before


def test_the_near_rule_asks_the_embedding_model(people: KnowledgeGraph) -> None:
    rows = people.decisions.propose_merges("near", least=-1.0)
    assert rows
    assert {row.tool for row in rows} == {"near"}
    assert people.decisions.propose_merges("near", least=1.0) == []


def test_on_the_command_line(kg: KnowledgeGraph, tmp_path: Path, sarag: Sarag) -> None:
    kg.close()
    where = ["--kg", str(tmp_path / "kg")]
    assert "Manya  is  Marie" in sarag("merge", "Marie", "Manya", *where).out
    split = sarag("split", "Mercury", "--in", "god.txt", "--as", "god", *where).out
    assert "Mercury (god)  in" in split
    assert sarag("split", "Irene", "--from", "Paris", *where).code == 0
    listed = sarag("merge", "--list", *where).out
    iris = [line.rpartition("  <")[2].removesuffix(">") for line in listed.splitlines()]
    assert all(iri.startswith(f"{MINTER.base}mapping/") for iri in iris)
    assert [line.split("  [")[0] for line in listed.splitlines()] == [
        "Irene  is not  Paris",
        "Manya  is  Marie",
        f"Mercury (god)  in  {MINTER.source('god.txt', '', '')}",
    ]
    assert "0 pairs proposed" in sarag("merge", "--rule", "same-words", "--dry-run", *where).out
    assert sarag("validate", *where).code == 0
    sarag("merge", "Marie", "Irene", "--dry-run", *where).fails(2, "--dry-run")
    for blank in ("", " "):
        sarag("merge", "--undo", blank, *where).fails(2, "--undo-all for all decisions")
    assert len(sarag("merge", "--list", *where).out.splitlines()) == 3
    assert sarag("merge", "--undo", "Mercury", *where).out == "1 undone\n"
    assert sarag("split", "--undo-all", *where).out == "2 undone\n"
    assert sarag("merge", "Marie", *where).code == 2


OWN_ALIASES = {
    "bank": Extraction((Mention("Bank of Elm", "misc", ("BoE", "Elm Bank")), Mention("Ada Holt"))),
    "oak": Extraction((Mention("Bank of Oak", "misc", ("BoE",)),)),
    "club": Extraction((Mention("Elm Bank Rovers", "misc", ("Elm Bank",)), Mention("BoE"))),
}


def test_names_that_share_an_alias_are_merged_on_request() -> None:
    """SA-RAG, section 5.3; two claim BoE, and a third is joined to one of them by Elm Bank."""
    names = ("Bank of Elm", "Bank of Oak", "Elm Bank Rovers", "BoE")
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index([Source(t, "", t) for t in OWN_ALIASES], extractor=Aliasing(OWN_ALIASES))
        assert len(set(entities(kg, *names))) == 4
        rows = kg.decisions.propose_merges("shared-alias")
        assert {row.subject_label: row.confidence for row in rows} == {
            "Bank of Elm": 0.7, "Bank of Oak": 0.4, "BoE": 0.4,
        }  # fmt: skip
        kg.decisions.accept(rows)
        assert len(set(entities(kg, *names))) == 1
        assert entities(kg, "Ada Holt") != entities(kg, "BoE")
        assert kg.decisions.propose_merges("shared-alias") == []
        kg.decisions.undo("shared-alias")
        assert len(set(entities(kg, *names))) == 4


def test_a_chain_of_shared_aliases_is_less_sure() -> None:
    said = {
        "one": Extraction((Mention("A", "misc", ("Ann",)), Mention("B", "misc", ("Ann", "Bea")))),
        "two": Extraction((Mention("Cee", "misc", ("Bea",)), Mention("Dee", "misc", ("Dot",)))),
    }
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index([Source(text, "", text) for text in said], extractor=Aliasing(said))
        rows = kg.decisions.propose_merges("shared-alias")
        labels = {(row.subject_label, row.object_label): row.confidence for row in rows}
        assert labels == {("A", "Cee"): 0.4, ("B", "Cee"): 0.7}
        kg.decisions.keep_apart("B", "Cee")
        assert len(kg.decisions.propose_merges("shared-alias")) == 1


def test_a_rule_is_followed_without_review_only_if_that_is_said(
    sarag: Sarag, tmp_path: Path
) -> None:
    where = ("--kg", tmp_path / "kg")
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index([Source(t, "", t) for t in OWN_ALIASES], extractor=Aliasing(OWN_ALIASES))
    sarag("merge", "--unreviewed", *where).fails(2, "give KEEP and MERGED")
    sarag("merge", "A", "B", "--unreviewed", *where).fails(2, "requires --rule")
    sarag("merge", "--rule", "cluster", "--unreviewed", *where).fails(2, "--review FILE")
    out = sarag("merge", "--rule", "shared-alias", "--unreviewed", *where).out
    assert "merged by shared-alias" in out
    assert "undone" in sarag("merge", "--undo", "shared-alias", *where).out


def test_a_note_is_for_a_decision_by_hand(sarag: Sarag) -> None:
    sarag("merge", "--list", "--note", "x").fails(2, "--note is for a decision by hand")
    sarag("retype", "--undo", "Ulm", "--note", "x").fails(2, "omit it with --undo")
    sarag("merge", "Ann").fails(2, "give KEEP and MERGED, or one of --rule")


class PeopleExtractor:
    """Two spellings of a person with a neighbour in common, a place of that name, and a namesake
    in numbers.
    """

    method = Method("people", "none")

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        for document in documents:
            name, _, other = document.text.rstrip(".").partition(" knows ")
            type_: EntityType = "geopolitical" if "Place" in document.title else "person"
            mentions = Mention(name, type_, (), (document.text,)), Mention(other, "person")
            yield Extraction(mentions, (Relation(name, "knows", other, document.text),))


def test_possible_duplicates_have_their_evidence_and_are_merged_after_review(
    tmp_path: Path, sarag: Sarag
) -> None:
    texts = {
        "one.txt": ("Maria Sklodowska knows Ivo Holt.", "One"),
        "two.txt": ("Maria Sklodovska knows Ivo Holt.", "Two"),
        "three.txt": ("Maria Sklodowsky knows Bo Berg.", "A Place"),
        "six.txt": ("Maria Berg knows Ivo Holt.", "Six"),
        "four.txt": ("Apollo 11 knows Ivo Holt.", "Four"),
        "five.txt": ("Apollo 12 knows Ivo Holt.", "Five"),
    }
    sources = [Source(text, title, key) for key, (text, title) in texts.items()]
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index(sources, extractor=PeopleExtractor())
        before = stored(kg)
        [match] = kg.decisions.propose_merges("duplicates")
        assert {match.subject_label, match.object_label} == {"Maria Sklodowska", "Maria Sklodovska"}
        assert match.confidence is not None
        assert 0.6 <= match.confidence <= 1.0
        for words in ("'maria sklodovska' and 'maria sklodowska' (1.00)", "neighbours ivo holt"):
            assert words in match.comment
        assert "descriptions (" in match.comment
        kg.decisions.keep_apart(match.subject_label, match.object_label)
        assert kg.decisions.propose_merges("duplicates") == []
        kg.decisions.undo(None)
        table = tmp_path / "pairs.tsv"
        text = kg.decisions.table([match])
        table.write_text(text, "utf-8")
        assert kg.decisions.accept(table).decisions == ()
        head, row = text.splitlines()
        table.write_text(f"{head}\naccept{row}\n", "utf-8")
        [decision] = kg.decisions.accept(table).decisions
        assert decision.rule == "duplicates"
        assert "shared neighbours" in decision.note
        assert kg.decisions.propose_merges("duplicates") == []
        assert kg.decisions.undo("duplicates") == [decision]
        assert stored(kg) == before
    unreviewed = ("merge", "--kg", tmp_path / "kg", "--rule", "duplicates", "--unreviewed")
    sarag(*unreviewed).fails(2, "are merged only after review")


def test_short_names_are_those_of_one_longer_name(tmp_path: Path) -> None:
    """Not of several, not behind a preposition, and not of what no document names beside it."""
    texts = (
        "Orle Works knows Ivo Holt.", "Orle knows Ivo Holt.", "Architect Bo Lind knows Ann.",
        "Bo Lind knows Ann.", "Hall of Thule knows Cy.", "Thule knows Cy.", "Cy knows Em.",
        "Ann Ek knows Ed.", "Ann Holm knows Ed.",
    )  # fmt: skip
    sources = [Source(text, "One", f"{number}.txt") for number, text in enumerate(texts)]
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index(sources, extractor=PeopleExtractor())
        found = {
            frozenset((match.subject_label, match.object_label)): match.comment
            for match in kg.decisions.propose_merges("short-names")
        }
    assert found.keys() == {
        frozenset(("Orle", "Orle Works")),
        frozenset(("Bo Lind", "Architect Bo Lind")),
    }
    assert "'orle works' is the only name" in found[frozenset(("Orle", "Orle Works"))]


def test_full_names_after_a_title_and_initials_need_no_document_in_common(tmp_path: Path) -> None:
    """Unless the initials fit several."""
    texts = (
        "Warden Bo Lind-Aske knows Ann.", "Bo Lind-Aske knows Ed.", "K. Ray-Voss knows Cy.",
        "Kit Ray-Voss knows Al.", "J. Holm knows Ivo.", "Jan Holm knows Em.", "Jon Holm knows Ole.",
    )  # fmt: skip
    sources = [Source(text, "One", f"{number}.txt") for number, text in enumerate(texts)]
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index(sources, extractor=PeopleExtractor())
        proposed = kg.decisions.propose_merges("short-names")
    found = {match.comment: match.confidence for match in proposed}
    assert found == {
        "'warden bo lind aske' is the only name that has 'bo lind aske' at an end": 0.6,
        "'kit ray voss' alone fits 'k ray voss'": 0.6,
    }


def test_short_names_with_other_dates_are_of_somebody_else(tmp_path: Path) -> None:
    lives = (
        "Ann Ek | died in | {} | deathDate 0.9 |\n\n"
        "Ann Ek, engraver | died in | {} | deathDate 0.9 |"
    )
    for number, years in enumerate(((1821, 2009), (1821, 1821))):
        with sarag_rdf.open(tmp_path / f"{number}", embedder=HashEmbedder(), endpoint=None) as kg:
            source = Source(lives.format(*years), "lives", "lives.txt")
            kg.index([source], extractor=TermsExtractor())
            proposed = kg.decisions.propose_merges("short-names")
            assert len(proposed) == number


def short_names(names: Mapping[str, str]) -> set[tuple[str, str]]:
    """What the rule proposes for entities that one document describes."""
    features = EntityFeatures(names=dict(names))
    for entity in names:
        features.texts[entity].add("document")
    reader = SimpleNamespace(select_provenance_for=lambda *_: iter(()))
    context = cast("MergeContext", SimpleNamespace(features=features, reader=reader))
    return {(match.subject, match.object) for match in SHORT_NAMES.propose(context)}


def test_a_name_that_two_entities_have_is_no_short_name() -> None:
    assert short_names({"a": "bex", "b": "bex works"}) == {("a", "b")}
    assert short_names({"a": "bex", "b": "bex works", "c": "bex"}) == set()


def test_versions_are_no_short_names_and_of_a_chain_the_longest_is_meant() -> None:
    assert short_names({"a": "heron", "b": "heron 12"}) == set()
    chain = {"a": "larch", "b": "larch glass", "c": "larch glass ag"}
    assert short_names(chain) == {("a", "c"), ("b", "c")}


def test_last_names_of_persons_and_first_words_of_companies_need_no_document_in_common() -> None:
    names = {
        "a": "ms lund", "b": "dr ida lund", "c": "i lund", "d": "brook", "e": "bo brook",
        "f": "cy brook", "g": "larch", "h": "larch glass gmbh",
    }  # fmt: skip
    features = EntityFeatures(names=names, persons=set("abcdef"))
    for entity in names:
        features.texts[entity].add(entity)
    reader = SimpleNamespace(select_provenance_for=lambda *_: iter(()))
    context = cast("MergeContext", SimpleNamespace(features=features, reader=reader))
    found = {(match.subject, match.object) for match in SHORT_NAMES.propose(context)}
    assert found == {("a", "b"), ("c", "b"), ("g", "h")}


def test_names_of_many_words_are_compared_by_few_of_them() -> None:
    many = " ".join(map(str, range(20_000)))
    part = " ".join(map(str, range(1000)))
    assert short_names({"a": "0 1", "b": many}) == {("a", "b")}
    assert short_names({"a": part, "b": many}) == set()
