"""Links to a large graph: films with partial statements and other spellings, in MetaQA's films.

    python -m benchmarks.film_links --data FOLDER [--count 1000] [--half first] [--weights 0,0.4]

The films of `kb.tsv` in FOLDER become a graph, one film for each title and year. `--count` of them
are also documents, each of which names the film with its first director, its year, or both. A third
of the titles have one wrong letter, some lack their last word, and a quarter of the films is drawn
from those whose title is that of several. Every fifth film is taken out of the graph, so that no
link is right. Prints precision (right links among the proposed ones), coverage (links that are
right among the films that are in the graph), and for how many of the films taken out nothing is
proposed, from several confidences on. Films are drawn from one half of all, so that weights can be
chosen on the other; `--weights` are those of the neighbours.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pyoxigraph as ox

import sarag_rdf
from benchmarks.noise import misspell
from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.types import Document, Extraction, Mention, Method, Relation, Source
from sarag_rdf.base.vocab import RDF, RDFS
from sarag_rdf.building.link_records import Match
from sarag_rdf.plugins import link_candidates
from sarag_rdf.testing.fakes import HashEmbedder

BASE = "https://example.org/films/"
THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.9)
PEOPLE = ("directed by", "written by", "starred actors")


@dataclass(frozen=True, slots=True)
class Film:
    """A film of the graph: its IRI, title, year and the directors, writers and actors."""

    iri: str
    title: str
    year: str
    people: Mapping[str, Sequence[str]]


def read_films(path: Path) -> list[Film]:
    """The films of a file of triples, one for each title and year."""
    years: defaultdict[str, set[str]] = defaultdict(set)
    people: defaultdict[str, defaultdict[str, list[str]]]
    people = defaultdict(lambda: defaultdict(list))
    for line in path.read_text("utf-8").splitlines():
        title, relation, value = line.replace("_", " ").split("\t")
        if relation == "release year":
            years[title].add(value)
        elif relation in PEOPLE:
            people[title][relation].append(value)
    pairs = [(title, year) for title in sorted(years) for year in sorted(years[title])]
    return [
        Film(f"{BASE}film/{number}", title, year, people[title])
        for number, (title, year) in enumerate(pairs)
    ]


def triples_of(films: Iterable[Film]) -> Iterator[ox.Triple]:
    """The films as RDF: class, label, year and the people, each with a label."""
    for film in films:
        node = ox.NamedNode(film.iri)
        yield ox.Triple(node, RDF.type, ox.NamedNode(f"{BASE}Film"))
        yield ox.Triple(node, RDFS.label, ox.Literal(film.title))
        yield ox.Triple(node, ox.NamedNode(f"{BASE}releaseYear"), ox.Literal(film.year))
        for relation, names in film.people.items():
            property_ = ox.NamedNode(f"{BASE}{relation.replace(' ', '_')}")
            for name in names:
                person = ox.NamedNode(f"{BASE}person/{normalize_name(name).replace(' ', '_')}")
                yield ox.Triple(node, property_, person)
                yield ox.Triple(person, RDFS.label, ox.Literal(name))


@dataclass(frozen=True, slots=True)
class Mentioned:
    """A film as a document names it: the spelling of the title, and a director or year if given."""

    film: Film
    name: str
    director: str
    year: str


def drawn(films: Sequence[Film], count: int, draw: Random) -> list[Mentioned]:
    """Films as documents name them, with different names; half of the titles are of several."""
    titled: defaultdict[str, list[Film]] = defaultdict(list)
    for film in films:
        titled[normalize_name(film.title)].append(film)
    several = [film for film in films if len(titled[normalize_name(film.title)]) > 1]
    chosen = draw.sample(several, min(count // 4, len(several)))
    chosen += draw.sample(films, min(count, len(films)))
    mentioned: dict[str, Mentioned] = {}
    for film in chosen:
        way, told = draw.randrange(6), draw.randrange(3)
        words = film.title.split()
        name = misspell(film.title, draw) if way < 2 else film.title
        if way == 2 and len(words) > 2:
            name = " ".join(words[:-1])
        directors = film.people.get("directed by", ())
        director = directors[0] if directors and told != 1 else ""
        year = film.year if told != 0 or not director else ""
        if len(mentioned) < count:
            mentioned.setdefault(normalize_name(name), Mentioned(film, name, director, year))
    return [*mentioned.values()]


class Told:
    """An extractor that gives what the documents were made of."""

    method = Method("films", "none")

    def __init__(self, mentioned: Iterable[Mentioned]) -> None:
        self._by_title = {each.name: each for each in mentioned}

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        for document in documents:
            each = self._by_title[document.title]
            mentions, relations = [Mention(each.name, "misc")], []
            if each.director:
                mentions.append(Mention(each.director, "person"))
                relations.append(Relation(each.name, "directed by", each.director, document.text))
            if each.year:
                mentions.append(Mention(each.year, "time"))
                relations.append(Relation(each.name, "of", each.year, document.text))
            yield Extraction(tuple(mentions), tuple(relations))


def print_measures(
    matches: Iterable[Match], mentioned: Sequence[Mentioned], out: Container[str]
) -> None:
    """Precision, coverage and films taken out without a proposal, as Markdown."""
    proposed = {normalize_name(m.subject_label): m for m in matches if m.is_link}
    print("| least confidence | proposed | precision | coverage | none for those taken out |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    there = sum(each.film.iri not in out for each in mentioned)
    for least in THRESHOLDS:
        count = right = silent = 0
        for each in mentioned:
            match = proposed.get(normalize_name(each.name))
            if match is not None and (match.confidence or 0) >= least:
                count += 1
                right += match.object == each.film.iri
            else:
                silent += each.film.iri in out
        shares = right / (count or 1), right / (there or 1), silent / (len(mentioned) - there or 1)
        print(f"| {least} | {count} | " + " | ".join(f"{share:.3f}" for share in shares) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--count", type=int, default=1000, help="Number of films in documents.")
    parser.add_argument("--half", choices=("first", "second"), default="second")
    parser.add_argument("--weights", default=str(link_candidates.NEIGHBOUR_WEIGHT))
    arguments = parser.parse_args()
    films = read_films(arguments.data / "kb.tsv")
    half = films[arguments.half == "second" :: 2]
    mentioned = drawn(half, arguments.count, Random(0))
    out = {each.film.iri for each in mentioned[::5]}
    sources = [
        Source(f"{each.name}. {each.director} {each.year}", each.name, f"{number}.txt")
        for number, each in enumerate(mentioned)
    ]
    with (
        tempfile.TemporaryDirectory() as folder,
        sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg,
    ):
        path = Path(folder) / "films.nt"
        there = (film for film in films if film.iri not in out)
        ox.serialize(triples_of(there), str(path), ox.RdfFormat.N_TRIPLES)
        kg.index(sources, extractor=Told(mentioned))
        kg.import_graph(path, "rdf", name="films", embed=False)
        for weight in map(float, arguments.weights.split(",")):
            link_candidates.NEIGHBOUR_WEIGHT = weight
            started = time.perf_counter()
            matches = kg.links.candidates("films")
            seconds = time.perf_counter() - started
            print(f"\n{len(mentioned)} films, {len(out)} of them not among the {len(films)}; "
                  f"weight of neighbours {weight}; {seconds:.0f} s\n")  # fmt: skip
            print_measures(matches, mentioned, out)


if __name__ == "__main__":
    main()
