"""Text2KGBench: its files, and how it writes the objects of a property.

Text2KGBench compares strings, and writes the same kind of value in many ways: "1923-11-18" with
and without quotation marks, "20 July 2001", "94.0", "94.0 (minutes)"; and an entity as its article
in Wikipedia is called: "Danish_language" where the text has "Danish". The graph holds none of
these; statements are written in the form of the examples only to be compared with the gold ones.
Without examples a literal is written in its lexical form.
"""

from __future__ import annotations

import json
import random
import re
import string
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.base.types import Value
from sarag_rdf.graph.ontology.schema import OntologyClass, OntologyProperty, Schema
from sarag_rdf.plugins.statement_models import soft_text

_LONGEST = 24
"""The longest text around a value that is a form of writing and not part of the value."""

_TEXT = "{text}"
_SEVERAL = 2
"""Objects of different names that make a form one of the property."""


class LiteralStyle:
    """Forms of writing by property, and by kind of value for properties without examples.

    A form counts once for each gold object: the same one stands in many sentences.
    """

    def __init__(self) -> None:
        self._of_property: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._of_kind: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._learned: set[tuple[str, str, str]] = set()

    def learn(self, property_: str, gold: str, text: str, value: Value | None) -> None:
        """Learn from an object of the gold statements and the text or value it stands for."""
        gold = gold.replace("_", " ")
        for name, form in forms_of(text, value):
            around = _around(form, gold)
            if around is not None and len(gold) - len(form) < _LONGEST:
                before, after = (part.replace("{", "{{").replace("}", "}}") for part in around)
                template = f"{before}{{{name}}}{after}"
                if (property_, gold, template) not in self._learned:
                    self._learned.add((property_, gold, template))
                    self._of_property[property_][template] += 1
                    if any(map(str.isalpha, before + after)):  # a unit of this property only
                        template = f"{{{name}}}"
                    self._of_kind[_kind(value)][template] += 1
                return

    def write(self, property_: str, text: str, value: Value | None) -> str:
        """The object of a statement as the examples would write it."""
        if value is None:
            return self._write_name(property_, text)
        forms = dict(forms_of(text, value))
        for counts in (self._of_property.get(property_), self._of_kind.get(_kind(value))):
            for template, _ in (counts or Counter[str]()).most_common():
                names = {name for _, name, _, _ in string.Formatter().parse(template) if name}
                if names <= forms.keys():
                    return template.format(**forms)
        return forms.get("lexical", text)

    def _write_name(self, property_: str, name: str) -> str:
        """The name in the property's usual form, if that is one of several gold objects."""
        [(template, count)] = self._of_property[property_].most_common(1) or [(_TEXT, 0)]
        around = template.replace(_TEXT, "").strip().casefold()
        if count < _SEVERAL or around in name.casefold():
            return name
        return template.format(text=name)


def _around(form: str, gold: str) -> tuple[str, str] | None:
    """What is before and after a form in a text, unless it is part of a longer word or number."""
    for match in re.finditer(re.escape(form), gold):
        before, after = gold[: match.start()], gold[match.end() :]
        if not (before[-1:].isalnum() and form[:1].isalnum()) and not (
            re.match(r"\w|[.,]\d", after) and form[-1:].isalnum()
        ):
            return before, after
    return None


def _kind(value: Value | None) -> str:
    return value.datatype if value else ""


def forms_of(text: str, value: Value | None) -> Iterator[tuple[str, str]]:
    """The forms of a value, the most specific first."""
    if value is not None:
        local = value.datatype.rpartition("#")[2]
        if local in ("integer", "decimal"):
            whole, _, fraction = value.lexical.partition(".")
            yield "decimal", f"{whole}.{fraction or '0'}"
            yield "lexical", value.lexical.removesuffix(".0")
        elif local in ("date", "gYearMonth", "gYear") and not value.lexical.startswith("-"):
            year, month, day = ([int(part) for part in value.lexical.split("-")] + [1, 1])[:3]
            yield "lexical", value.lexical
            yield "english", f"{day:02} {date(2000, month, 1):%B} {year}"
            if local != "gYear":
                yield "year", str(year)
        elif soft_text(value.lexical) != soft_text(text):
            yield "lexical", value.lexical
    yield "text", text


SUITES = ("dbpedia_webnlg", "wikidata_tekgen")
_Row = TypeVar("_Row")
_XSD = "http://www.w3.org/2001/XMLSchema#"
_DATATYPES = {
    "string": "string", "number": "decimal", "date": "date", "year": "gYear", "time": "time",
    "datetime": "dateTime", "boolean": "boolean", "integer": "integer", "url": "anyURI",
}  # fmt: skip
"""Ranges of the benchmark that are no classes -> datatypes."""
_DATE_WORDS = re.compile(r"\b(date|inception|time)\b")


@dataclass(frozen=True, slots=True)
class Triple:
    """A statement in the strings of the benchmark.

    `source` is the text of the object in the sentence where it differs from `object`, as that of a
    normalised date.
    """

    subject: str
    relation: str
    object: str
    source: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence and the statements that it expresses."""

    id: str
    text: str
    triples: tuple[Triple, ...]


@dataclass(frozen=True, slots=True)
class BenchmarkOntology:
    """One ontology of a suite, with its sentences.

    `name` is as in ``9_astronaut``; `relations` maps the IRI of each property to its label in the
    benchmark; `concepts` are the labels of the classes.
    """

    suite: str
    name: str
    schema: Schema
    relations: dict[str, str]
    concepts: tuple[str, ...]
    train: tuple[Sentence, ...]
    test: tuple[Sentence, ...]


def read_benchmark(
    folder: Path, suite: str, names: Sequence[str] | None = None
) -> list[BenchmarkOntology]:
    """The ontologies of one suite that are in the folder, in the order of their numbers.

    Raises `InputError` if the folder has no such suite, and `UsageError` for a name that it lacks.
    """
    files = sorted(
        (folder / suite / "ontologies").glob("*_ontology.json"),
        key=lambda path: int(path.name.partition("_")[0]),
    )
    if not files:
        raise InputError(f"no ontologies in {folder / suite}: give the folder of Text2KGBench")
    paths = {path.name.removesuffix("_ontology.json"): path for path in files}
    for name in names or ():
        if name not in paths:
            raise UsageError(f"no ontology '{name}' in {suite}: choose of {', '.join(paths)}")
    return [_read_ontology(folder / suite, name, paths[name]) for name in names or paths]


def _read_ontology(folder: Path, name: str, path: Path) -> BenchmarkOntology:
    content = _read_json(path)
    schema, relations = schema_of(content)
    return BenchmarkOntology(
        folder.name,
        name,
        schema,
        relations,
        tuple(concept["label"] for concept in content["concepts"]),
        tuple(_read_sentences(folder / "train" / f"ont_{name}_train.jsonl")),
        tuple(_read_sentences(folder / "ground_truth" / f"ont_{name}_ground_truth.jsonl")),
    )


def schema_of(content: dict[str, Any]) -> tuple[Schema, dict[str, str]]:
    """An ontology in the benchmark's JSON as a schema, and the label of each property's IRI.

    IRIs are those of the benchmark's OWL files. Ranges such as ``Date`` and ``number`` become
    datatypes, and so does the range of "publication date", which has none.
    """
    base = f"https://cenguix.github.io/Text2KGBench/{content['id']}/"
    labels = {concept["qid"]: concept["label"] for concept in content["concepts"]}
    classes, properties, relations = {}, {}, {}

    def class_iri(qid: str) -> str:
        iri = f"{base}concepts#{qid}"
        classes[iri] = OntologyClass(iri, words_of(labels.get(qid, qid)))
        return iri

    for qid in labels:
        class_iri(qid)
    for relation in content["relations"]:
        iri = f"{base}relations#{relation['pid']}"
        label, range_ = words_of(relation["label"]), relation["range"]
        datatype = _DATATYPES.get(range_.lower(), "")
        if not range_ and _DATE_WORDS.search(label):
            datatype = "date"
        ranges = (_XSD + datatype,) if datatype else (class_iri(range_),) if range_ else ()
        domains = (class_iri(relation["domain"]),) if relation["domain"] else ()
        relations[iri] = relation["label"]
        properties[iri] = OntologyProperty(
            iri, label, domains=domains, ranges=ranges, is_literal=bool(datatype)
        )
    return Schema.of(classes.values(), properties.values()), relations


def words_of(label: str) -> str:
    """A label as words: "birthPlace" and "birth_place" as "birth place"."""
    words = re.sub(
        r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z0-9])(?=[A-Z][a-z])|(?<=\d)(?=[a-z]{3})", " ", label
    )
    words = " ".join(words.replace("_", " ").split())
    return words if words.isupper() else words.lower()


def _read_sentences(path: Path) -> Iterable[Sentence]:
    """Sentences in the order of the file; training files of TekGen have one statement a line."""
    merged: dict[int | str, list[Sentence]] = {}
    rows = read_lines(path, _sentence, "an id, a sentence and its statements")
    for number, (sentence, is_whole) in enumerate(rows):
        merged.setdefault(number if is_whole else sentence.text, []).append(sentence)
    for first, *further in merged.values():
        triples = dict.fromkeys(t for sentence in (first, *further) for t in sentence.triples)
        yield replace(first, triples=tuple(triples)) if further else first


def _sentence(row: dict[str, Any]) -> tuple[Sentence, bool]:
    """A sentence, and whether the line has all of its statements."""
    if "triples" in row:
        triples = [Triple(t["sub"], t["rel"], t["obj"]) for t in row["triples"]]
    else:
        triples = [Triple(row["sub_label"], row["rel_label"], row["obj_label"])]
    return Sentence(row["id"], row["sent"], tuple(triples)), "triples" in row


def read_lines(path: Path, parse: Callable[[dict[str, Any]], _Row], form: str) -> Iterator[_Row]:
    """JSON Lines as values. Raises `InputError` for a line of another form."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {path}: {error}") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = parse(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{path}, line {number}: each line needs {form}") from error
        yield row


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {path}: {error}") from error


def sample_examples(
    ontology: BenchmarkOntology, per_property: int, seed: int = 0
) -> tuple[Sentence, ...]:
    """Training sentences until each property has `per_property` of them, or no more are left.

    Sentences are visited in a random order that the seed fixes; one is used if a property in it
    still lacks examples. With `per_property` 0 there are none.
    """
    order = list(ontology.train)
    random.Random(f"{seed} {ontology.name}").shuffle(order)
    counts: Counter[str] = Counter()
    chosen = []
    for sentence in order:
        relations = {triple.relation for triple in sentence.triples}
        if any(counts[relation] < per_property for relation in relations):
            counts.update(relations)
            chosen.append(sentence)
    return tuple(chosen)
