"""``sarag evaluate entities``: a sample of a graph's things as a table, and what judges find in it.

The table has a row for each thing with its evidence, and four columns for the judgment, `COLUMNS`.
An empty cell, and ``unsure``, is no judgment, with one exception: whoever has judged `wrong_merge`
has judged the identity of the thing, so that an empty `duplicate_of` beside it means no duplicate.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import click

import sarag_rdf
from sarag_rdf.base import tabular
from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.ports import LLM, Progress, Reply
from sarag_rdf.base.prompts import object_of, one_of
from sarag_rdf.base.tabular import TableRow
from sarag_rdf.base.types import Document
from sarag_rdf.base.vocab import RDF, SARAG, iri
from sarag_rdf.cli import flags
from sarag_rdf.cli.output import counted, progress_bars, write_output
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.ontology.schema import Schema, TermNames
from sarag_rdf.graph.texts import documents_of, entity_labels, full_documents
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.evaluation import commands, grading
from sarag_rdf.plugins.evaluation.measures import cohen_kappa, wilson_interval
from sarag_rdf.plugins.evaluation.reporting import percent, rounded, table
from sarag_rdf.plugins.named_sentences import sentences_with_name, split_sentences

Row = dict[str, str]
"""Column -> cell."""
UNSURE: Final = "unsure"
NO_DUPLICATE: Final = frozenset({"no", "none", "-"})
"""Cells of `duplicate_of` that say that there is no duplicate."""
COLUMNS: Final = ("thing", "class", "duplicate_of", "wrong_merge")
"""Columns for the judgment: a thing or not, its class, another entity of the same thing, and
whether several things are in one entity."""
_SENTENCES, _SIMILAR = 3, 3
_DOCUMENTS = 20
"""Documents of an entity in which sentences are looked for."""
_MIN_SIMILARITY = 0.3
"""Minimum cosine of the trigrams of similar names."""
_LENGTH = 400
"""Characters of a sentence."""
EVIDENCE: Final = (
    *("entity", "name", "type", "classes", "documents"),
    *(f"sentence {number}" for number in range(1, _SENTENCES + 1)),
    *(f"similar {number}" for number in range(1, _SIMILAR + 1)),
)
_WORDS: Final[Mapping[str, Mapping[str, bool]]] = {
    "thing": {"yes": True, "y": True, "no": False, "n": False},
    "class": {"right": True, "wrong": False},
    "wrong_merge": {"yes": True, "y": True, "no": False, "n": False},
}
MEASURES: Final = {
    "thing": "things (precision)",
    "class": "classes (precision)",
    "duplicate_of": "duplicates",
    "wrong_merge": "wrong merges",
}


# ----------------------------------------------------------------------------------------- Sample


def sample_rows(kg: KnowledgeGraph, count: int, seed: int) -> list[Row]:
    """Things of the documents drawn at random, in the order of their IRIs, with their evidence.

    The same graph, `count` and `seed` give the same rows; all things if there are not more.
    """
    with kg.session.read() as snapshot:
        reader = snapshot.own
        things = sorted(
            iri(quad.subject)
            for quad in reader.store.quads(reader.minter.kg_graph)
            if quad.predicate == RDF.type and quad.object == SARAG.Entity
        )
        if not things:
            raise InputError("the graph has no entities: index documents first")
        generator = random.Random(seed)  # noqa: S311 - not for cryptography
        sampled = sorted(generator.sample(things, min(count, len(things))))
        labels = {each: name for each, (name, _) in entity_labels(reader, things).items()}
        similar = similar_names(sampled, labels)
        return list(_evidence(reader, sampled, similar, kg.ontologies.schema()))


def _evidence(
    reader: GraphReader,
    sampled: Sequence[str],
    similar: Mapping[str, Sequence[str]],
    schema: Schema,
) -> Iterator[Row]:
    labels = entity_labels(reader, sampled)
    names: dict[str, set[str]] = {entity: set() for entity in sampled}
    for entity, name in reader.rows_for("entity-names", sampled):
        names[entity.value].add(name.value)
    classes: dict[str, list[str]] = {entity: [] for entity in sampled}
    class_names = TermNames("class", schema.classes)
    for entity, class_ in reader.select_provenance_for("entity-classes", sampled):
        classes[entity.value].append(class_names.name(class_.value))
    documents = documents_of(reader, sampled)
    for entity in sampled:
        own = documents.get(entity, [])
        texts = full_documents(reader, own[:_DOCUMENTS]).values()
        name, type_ = labels[entity]
        row = {
            "entity": entity,
            "name": name,
            "type": type_,
            "classes": ", ".join(sorted(classes[entity])),
            "documents": str(len(own)),
        }
        sentences = naming_sentences(names[entity], texts, f"{reader.minter.base}source/")
        row |= {f"sentence {number}": text for number, text in enumerate(sentences, 1)}
        row |= {f"similar {number}": text for number, text in enumerate(similar[entity], 1)}
        yield row


def naming_sentences(
    names: Iterable[str], documents: Iterable[Document], source_base: str = ""
) -> list[str]:
    """Up to three sentences with one of the names, each with its source in brackets.

    Every document gives its first one before any gives its second.
    """
    forms = sorted(names)
    ranked = [
        (place, document.source_iri, sentence)
        for document in documents
        for place, sentence in enumerate(
            sentences_with_name(forms, split_sentences(document.text))[:_SENTENCES]
        )
    ]
    return [
        f"{sentence[:_LENGTH]} [{source.removeprefix(source_base)}]"
        for _, source, sentence in sorted(ranked)[:_SENTENCES]
    ]


def similar_names(entities: Sequence[str], labels: Mapping[str, str]) -> dict[str, list[str]]:
    """Entity -> up to three other entities, each as its name and IRI, most similar names first.

    The similarity is the cosine of character trigrams within words, weighted by TF-IDF.
    """
    import numpy as np
    from sklearn.feature_extraction.text import TfidfVectorizer

    every = sorted(labels)
    texts = [normalize_name(labels[each]) or "-" for each in every]
    matrix = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3)).fit_transform(texts)
    place = {each: number for number, each in enumerate(every)}
    similar: dict[str, list[str]] = {}
    for entity in entities:
        cosines = (matrix @ matrix[place[entity]].T).toarray().ravel()
        cosines[place[entity]] = 0.0
        best = np.argsort(-cosines, kind="stable")[:_SIMILAR]
        similar[entity] = [
            f"{labels[every[number]]} <{every[number]}>"
            for number in best
            if cosines[number] >= _MIN_SIMILARITY
        ]
    return similar


# ------------------------------------------------------------------------------------------ Model


def judge_rows(
    rows: Sequence[Row], llm: LLM, *, threads: int, progress: Progress
) -> tuple[list[Row], int]:
    """The rows as the model judges them, and the number of rows without a valid reply.

    Those stay without a judgment. Raises the errors that end a run.
    """

    def ask(number: int) -> Reply:
        row = rows[number]
        similar = _similar(row)
        numbers = [str(place) for place in range(1, len(similar) + 1)]
        schema = object_of(
            **{
                "thing": one_of(("yes", "no", UNSURE)),
                "class": one_of(("right", "wrong", UNSURE)),
                "duplicate_of": one_of(("none", *numbers, UNSURE)),
                "wrong_merge": one_of(("yes", "no", UNSURE)),
            }
        )
        return llm.complete(entity_prompt(row), schema, name="judge_entity", max_tokens=100)

    replies = grading.ask_each(ask, range(len(rows)), threads, progress, "judging")
    judged = []
    for number, row in enumerate(rows):
        reply = replies[number]
        answers = {} if reply is None else {column: reply.data[column] for column in COLUMNS}
        if str(answers.get("duplicate_of")).isdecimal():
            shown = _similar(row)[int(answers["duplicate_of"]) - 1]
            answers["duplicate_of"] = shown.rpartition("<")[2].removesuffix(">")
        judged.append(row | answers)
    return judged, sum(reply is None for reply in replies.values())


def _similar(row: Mapping[str, str]) -> list[str]:
    cells = (row.get(f"similar {number}", "") for number in range(1, _SIMILAR + 1))
    return [cell for cell in cells if cell]


def entity_prompt(row: Mapping[str, str]) -> str:
    """The prompt by which a model judges a row of the table."""
    sentences = [row.get(f"sentence {number}", "") for number in range(1, _SENTENCES + 1)]
    name, classes = row["name"], ", ".join(filter(None, (row["type"], row["classes"])))
    given = [text for text in sentences if text]
    similar = [text.rpartition(" <")[0] for text in _similar(row)]
    texts = (name, classes, *given, *similar)
    return grading.fenced_prompt(
        "judge_entity", *texts, entity=name, classes=classes, sentences=given, similar=similar
    )


# -------------------------------------------------------------------------------------- Judgments

Judgment = Mapping[str, bool | None]
"""Column -> whether it holds (a thing, the right class, ...); None if that was not judged."""


def read_judgments(path: Path) -> dict[str, Judgment]:
    """Entity -> its judgment. Raises `InputError` with the row and column of each error."""
    rows = tabular.read_table(path, ("entity", *COLUMNS), "a table of judged entities")
    judged: dict[str, Judgment] = {}

    def parse(row: TableRow) -> None:
        entity = row["entity"]
        if not entity:
            raise ValueError("column entity: the IRI of the entity is missing")
        if entity in judged:
            raise ValueError(f"column entity: an earlier row is about {entity} as well")
        values = {column: _verdict(row, column) for column in _WORDS}
        other = row["duplicate_of"].casefold()
        is_duplicate: bool | None = bool(other) and other not in NO_DUPLICATE
        if other == UNSURE or (not other and values["wrong_merge"] is None):
            is_duplicate = None
        judged[entity] = values | {"duplicate_of": is_duplicate}

    tabular.parse_rows(path, rows, parse)
    if not judged:
        raise InputError(f"{path} has no rows: write one with sarag evaluate entities --review")
    return judged


def _verdict(row: TableRow, column: str) -> bool | None:
    word = row[column].casefold()
    if word in ("", UNSURE):
        return None
    if word not in _WORDS[column]:
        words = [each for each in _WORDS[column] if len(each) > 1]
        raise ValueError(
            f"column {column}: '{row[column]}' is no judgment: use {' or '.join(words)}, "
            f"{UNSURE}, or leave it empty"
        )
    return _WORDS[column][word]


def measured(judged: Mapping[str, Judgment]) -> dict[str, Any]:
    """The share of each column with its 95% Wilson interval, and the rows without a judgment.

    Shares are of the rows that were judged, in [0, 1]; None if none was.
    """
    shares = {}
    for column in COLUMNS:
        values = [judgment[column] for judgment in judged.values()]
        known = [value for value in values if value is not None]
        low, high = wilson_interval(sum(known), len(known)) if known else (None, None)
        shares[column] = {
            "yes": sum(known),
            "judged": len(known),
            "not_judged": len(values) - len(known),
            "share": rounded(sum(known) / len(known)) if known else None,
            "low": rounded(low),
            "high": rounded(high),
        }
    empty = sum(set(judgment.values()) == {None} for judgment in judged.values())
    return {"entities": len(judged), "entities_not_judged": empty, **shares}


def agreement(ours: Mapping[str, Judgment], theirs: Mapping[str, Judgment]) -> dict[str, Any]:
    """Column -> the number of entities that both judged, the share of equal judgments, and kappa.

    Both are None without such an entity; kappa (Cohen, "A Coefficient of Agreement for Nominal
    Scales", 1960) is in [-1, 1], and None also if both gave one judgment throughout.
    """
    result = {}
    for column in COLUMNS:
        pairs = [
            (mine, yours)
            for entity in ours.keys() & theirs.keys()
            if (mine := ours[entity][column]) is not None
            and (yours := theirs[entity][column]) is not None
        ]
        equal = sum(mine == yours for mine, yours in pairs)
        result[column] = {
            "both_judged": len(pairs),
            "agreement": rounded(equal / len(pairs)) if pairs else None,
            "kappa": rounded(cohen_kappa(pairs)),
        }
    return result


def report(files: Mapping[str, Mapping[str, Judgment]]) -> dict[str, Any]:
    """Measures of each table, and the agreement of each two."""
    return {
        "version": sarag_rdf.__version__,
        "judges": [{"file": name, **measured(judged)} for name, judged in files.items()],
        "agreement": [
            {"files": [one, other], **agreement(files[one], files[other])}
            for one, other in combinations(files, 2)
        ],
    }


def lines(data: Mapping[str, Any]) -> Iterator[str]:
    """The report as text."""
    for number, judge in enumerate(data["judges"]):
        yield from ("",) if number else ()
        empty = judge["entities_not_judged"]
        open_rows = f"; {empty} not judged" if empty else ""
        entities = "1 entity" if judge["entities"] == 1 else f"{judge['entities']} entities"
        yield f"{judge['file']}: {entities}{open_rows}; figures in percent"
        rows = [
            [
                words,
                percent(judge[column]["share"]),
                _interval(judge[column]),
                f"{judge[column]['yes']}/{judge[column]['judged']}",
                str(judge[column]["not_judged"]),
            ]
            for column, words in MEASURES.items()
        ]
        yield from table(["", "share", "95% interval", "of judged", "not judged"], rows)
    for pair in data["agreement"]:
        yield ""
        yield f"Agreement of {pair['files'][0]} and {pair['files'][1]}"
        rows = [
            [
                column,
                str(pair[column]["both_judged"]),
                percent(pair[column]["agreement"]),
                "-" if pair[column]["kappa"] is None else f"{pair[column]['kappa']:.2f}",
            ]
            for column in COLUMNS
        ]
        yield from table(["column", "both judged", "equal", "kappa"], rows)


def _interval(values: Mapping[str, Any]) -> str:
    low, high = values["low"], values["high"]
    return "-" if low is None else f"[{percent(low)}, {percent(high)}]"


# ---------------------------------------------------------------------------------------- Command


@click.command(
    name="entities",
    epilog="Example:  sarag evaluate entities --kg kg --sample 100 --review entities.tsv  and then "
    " sarag evaluate entities --judged entities.tsv",
)
@click.option(
    "--sample", default=100, show_default=True, type=click.IntRange(1),
    help="Number of things in the table, drawn at random.",
)  # fmt: skip
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Random seed.")
@commands.output_option(
    "--review", "Write the table for the judgment to this file (.tsv, or .csv with commas)."
)
@click.option(
    "--judge", is_flag=True, help="With --review: let the language model fill in the judgment."
)
@click.option(
    "--judged", "judged", multiple=True, type=click.Path(path_type=Path), metavar="FILE",
    help="Report what this table says. May be repeated, for the agreement of judges.",
)  # fmt: skip
@commands.replies_option
@commands.result_options
@flags.kg_option
@flags.embedder_option
@flags.endpoint_options
def command(**options: Any) -> None:
    """Let a person or a model judge a sample of the entities, and report the shares of errors.

    --review writes a table with a row for each entity: its name, type and classes, sentences that
    name it, and entities with similar names. Fill in the columns thing (yes or no), class (right or
    wrong), duplicate_of (a name or an IRI, or empty) and wrong_merge (yes or no), as far as you
    know. --judged reports the shares with 95% Wilson intervals, and the agreement of several
    tables. What was not judged is counted, not guessed.
    """
    review, tables = options["review"], options["judged"]
    if bool(review) == bool(tables):
        raise UsageError("give --review FILE to write a table, or --judged FILE to report on one")
    if options["judge"] and not review:
        raise UsageError("--judge fills in a new table: name its file with --review")
    if tables:
        data = report({str(path): read_judgments(path) for path in dict.fromkeys(tables)})
        commands.show_results(options, data, lines(data))
        return
    endpoint = flags.endpoint_of(options)
    if options["judge"] and endpoint is None:
        raise UsageError("--judge needs a model: give --base-url, or set OPENAI_BASE_URL")
    failed = 0
    with flags.open_graph(options) as kg:
        rows = sample_rows(kg, options["sample"], options["seed"])
    if options["judge"]:
        from sarag_rdf.kg import vectors

        llm = vectors.make_llm(endpoint, options["replies"])
        with commands.interruption(options["replies"]), progress_bars() as progress:
            rows, failed = judge_rows(rows, llm, threads=options["concurrency"], progress=progress)
    text = tabular.write_table((*EVIDENCE, *COLUMNS), rows, tabular.delimiter_for(review))
    write_output(review, text)
    result = {"entities": len(rows), "without_reply": failed, "file": str(review)}
    shown = [f"{review}: {len(rows)} entities"]
    if failed:
        shown.append(f"{counted(failed, 'row')} without a valid reply of the model: not judged")
    commands.show_results(options, result, shown)
