"""``sarag ontology`` and ``retype``: the ontologies of a graph, and the classes of entities."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sarag_rdf.base.errors import UsageError, one_line
from sarag_rdf.base.iris import prefixed_name
from sarag_rdf.base.tabular import delimiter_for
from sarag_rdf.base.types import SchemaUse
from sarag_rdf.base.vocab import PREFIXES
from sarag_rdf.cli import flags
from sarag_rdf.cli.document_commands import add_ontologies
from sarag_rdf.cli.entity_commands import (
    action_of,
    check_review,
    list_or_undo,
    note_option,
    review_options,
    show_decisions,
    undo_options,
    write_review,
)
from sarag_rdf.cli.output import counted, emit, progress_bars, text_lines, write_output
from sarag_rdf.graph.graph_reader import DOCUMENTS
from sarag_rdf.graph.ontology.schema import Schema
from sarag_rdf.graph.store.input_files import RdfReadOptions

if TYPE_CHECKING:
    from sarag_rdf.graph.ontology.check import OntologyFinding
    from sarag_rdf.kg.schemas import StoredOntology

_MOST_EXAMPLES = 3
"""Terms that are printed for a kind of warning."""
_PARSING = ("format", "base_iri", "max_expansion", "max_seconds")
_parsing_options = flags.together(
    flags.of(RdfReadOptions, *_PARSING[:2], once=True),
    flags.of(RdfReadOptions, *_PARSING[2:]),
)


@click.group(epilog="Example:  sarag ontology add museum.ttl --kg kg")
def ontology() -> None:
    """Manage the ontologies of a graph, whose classes and properties extraction uses.

    An ontology is a file in OWL, RDFS, SKOS, the vocabulary of schema.org, or SHACL shapes, as
    Turtle, N-Triples, RDF/XML, JSON-LD or TriG. It is stored in a named graph of its own.
    """


def _parsing(options: dict[str, Any]) -> dict[str, Any]:
    return {name: options[name] for name in _PARSING}


@ontology.command(name="add", epilog="Example:  sarag ontology add museum.ttl --kg kg")
@click.argument("files", nargs=-1, required=True, metavar="FILE|URL...")
@click.option("--name", help="Name of the ontology. Default: the name of the file.")
@flags.switch("--yes", "Replace an ontology of the same name.")
@_parsing_options
@flags.write_options
@flags.base_option
@flags.json_option
def add(files: tuple[str, ...], *, name: str | None, yes: bool, **options: Any) -> int:
    """Add ontologies to a graph, which is created if it does not exist.

    Problems of an ontology are reported, as 'sarag ontology check' does, and do not prevent adding
    it. Sources already in the graph are extracted again the next time they are indexed.
    """
    if name is not None and len(files) > 1:
        raise UsageError("--name requires a single file")
    with flags.open_graph(options, base=options["base"]) as kg:
        arguments = {"name": name, "replace": yes, **_parsing(options)}
        reports = add_ontologies(kg, files, is_silent=options["as_json"], **arguments)
    return emit(options, reports)


@ontology.command(name="list", epilog="Example:  sarag ontology list --kg kg")
@flags.read_options
@flags.json_option
def list_(**options: Any) -> int:
    """List the ontologies of a graph, or the packaged one, which is in force without them."""
    with flags.open_graph(options) as kg:
        ontologies = kg.ontologies.in_force()
    return emit(options, ontologies, *map(_line, ontologies))


@ontology.command(name="show", epilog="Example:  sarag ontology show museum --kg kg")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@flags.read_options
@click.option(
    "--over",
    metavar="NAME",
    help="Show the classes and properties of this imported graph, as found.",
)
@flags.json_option
def show(names: tuple[str, ...], *, over: str | None, **options: Any) -> int:
    """Show the classes and properties of ontologies (default: all), and how they are used.

    Undeclared terms, inherited domains and ranges, and inverse properties are included. Below them
    are the instances of each class, the statements of each property with their distinct subjects
    and objects, the most frequent classes of these, and the terms that are never used. Without
    a stored ontology, the packaged one is shown, which extraction follows then.
    """
    with flags.open_graph(options) as kg:
        if over not in (None, "documents"):
            use = kg.ontologies.use(*names, over=over)
            prefixes = kg.ontologies.prefixes() | PREFIXES
            return emit(options, use, *_terms(Schema(), use, prefixes))
        ontologies = [o for o in kg.ontologies.in_force() if not names or o.name in names]
        schema = kg.ontologies.schema(*names)
        use = kg.ontologies.use(*names)
    data = {
        "ontologies": ontologies,
        "classes": [*schema.classes.values()],
        "properties": [*schema.properties.values()],
        "use": use,
    }
    return emit(options, data, *_terms(schema, use, PREFIXES, *map(_line, ontologies)))


def _line(ontology: StoredOntology) -> str:
    if not ontology.graph:
        return f"{ontology.name}: the packaged ontology, as no other is stored"
    title = " ".join(filter(None, (ontology.title, ontology.version)))
    added = f"added {ontology.added}" if ontology.added else ""
    parts = (title, counted(ontology.triples, "triple"), added, f"<{ontology.graph}>")
    return one_line(f"{ontology.name}: {', '.join(filter(None, parts))}")


def _terms(
    schema: Schema, use: SchemaUse, prefixes: Mapping[str, str], *ontologies: str
) -> Iterator[str]:
    """The declared terms, if there are ontologies, the used ones, and those that are never used."""

    def name(iri: str) -> str:
        term = schema.classes.get(iri) or schema.properties.get(iri)
        return one_line(term.label) if term else prefixed_name(iri, prefixes) or f"<{iri}>"

    classes = [class_ for class_ in use.classes if class_.instances]
    implied = frozenset[str]().union(*(schema.superclasses(class_.iri) for class_ in classes))
    unused = [name(c.iri) for c in use.classes if c.iri not in implied]
    unused += [name(p.iri) for p in use.properties if not p.statements]
    properties = [property_ for property_ in use.properties if property_.statements]
    return text_lines(
        "ontology.j2",
        ontologies=ontologies,
        schema=schema,
        classes=classes,
        properties=properties,
        name=name,
        unused=unused,
    )


@ontology.command(name="remove", epilog="Example:  sarag ontology remove museum --kg kg")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@flags.write_options
@flags.json_option
def remove(names: tuple[str, ...], **options: Any) -> int:
    """Remove ontologies from a graph."""
    with flags.open_graph(options) as kg:
        kg.ontologies.remove(*names)
    removed = list(dict.fromkeys(names))
    return emit(options, {"removed": removed}, f"{counted(len(removed), 'ontology')} removed")


@ontology.command(name="check", epilog="Example:  sarag ontology check museum.ttl")
@click.argument("files", nargs=-1, required=True, metavar="FILE|URL...")
@flags.read_options
@_parsing_options
@flags.json_option
def check(files: tuple[str, ...], **options: Any) -> int:
    """Check ontologies in files; exit code 1 if there are errors.

    Errors are cycles of subclasses or subproperties, terms that RDF, RDFS, OWL and SKOS do not
    define, and an ontology without a class or property. Warnings are undeclared terms, missing
    labels, domains and ranges, equal labels, and owl:imports, which is not followed. They are
    printed by kind; --json prints all. What ontologies of the graph declare counts as declared.
    """
    with flags.open_graph(options) as kg:
        findings = {file: kg.ontologies.check(file, **_parsing(options)) for file in files}
    lines = (line for file in files for line in _finding_lines(file, findings[file]))
    failed = any(f.severity == "error" for of_file in findings.values() for f in of_file)
    return emit(options, findings, *lines, failed=failed)


def _finding_lines(file: str, findings: Sequence[OntologyFinding]) -> Iterator[str]:
    """All errors, a line for each kind of warning, the most frequent first, and counts."""
    counts = Counter(finding.severity for finding in findings)
    warnings: defaultdict[str, list[OntologyFinding]] = defaultdict(list)
    for finding in findings:
        if finding.severity == "error":
            yield one_line(str(finding))
        else:
            warnings[finding.kind].append(finding)
    for kind, alike in sorted(warnings.items(), key=lambda item: -len(item[1])):
        terms = [f"<{finding.term}>" for finding in alike[:_MOST_EXAMPLES]]
        terms += ["..."] * (len(alike) > _MOST_EXAMPLES)
        several = f"warning: {kind} ({len(alike):,}): {', '.join(terms)}"
        yield one_line(several if len(alike) > 1 else str(alike[0]))
    more = " (--json lists all)" if len(warnings) < counts["warning"] else ""
    errors, warned = counted(counts["error"], "error"), counted(counts["warning"], "warning")
    yield f"{file}: {errors}, {warned}{more}"


@ontology.command(name="entail", epilog="Example:  sarag ontology entail --kg kg")
@click.option(
    "--over",
    multiple=True,
    metavar="NAME",
    help="Parts to derive entailments from: documents (default), imported graphs. May be repeated.",
)
@flags.switch("--off", "Delete the entailed triples, and stop materialising them.")
@flags.write_options
@flags.json_option
def entail(*, over: tuple[str, ...], off: bool, **options: Any) -> int:
    """Materialise the entailments of typed statements and ontologies, now and after each write.

    Entailed triples are in a named graph of their own, which queries of the documents include:
    classes by subclasses, domains and ranges; statements by subproperties, inverse, symmetric and
    transitive properties; equivalent classes and properties. Needs sarag-rdf[entailment].
    """
    with flags.open_graph(options) as kg:
        status = kg.ontologies.entail(() if off else over or (DOCUMENTS,))
    data = {"over": status.over, "triples": status.triples}
    count = f"{counted(status.triples, 'entailed triple')}; they follow each write"
    return emit(options, data, "entailment is off" if off else count)


@ontology.command(name="suggest", epilog="Example:  sarag ontology suggest -o phrases.tsv --kg kg")
@flags.read_options
@flags.embedding_options
@flags.output_option(
    "Write the table to this file, tab-separated or .csv. Default: standard output."
)
@click.option(
    "--most", default=100, show_default=True, type=click.IntRange(1), help="Number of phrases."
)
@flags.switch("--all", "all_", "Include phrases that state a property already.")
@flags.json_option
def suggest(*, output: Path | None, most: int, all_: bool, **options: Any) -> int:
    """Suggest properties for the phrases of relationships, as a table for review.

    The phrases that matter most come first: those of many relationships between many names. The
    properties are those of the stored ontologies, or of the packaged one if there are none. Edit
    the columns property and direction, or write no in the column decision; the property none means
    that a phrase states nothing. Then apply the table with 'sarag ontology accept'.
    """
    with flags.open_graph(options) as kg:
        proposals = kg.decisions.propose_phrases(most=most, all_=all_)
        if options["as_json"]:
            return emit(options, proposals)
        table = kg.decisions.table(proposals, "phrases", delimiter_for(output or Path()))
    write_output(output, table)
    return 0


@ontology.command(name="accept", epilog="Example:  sarag ontology accept phrases.tsv --kg kg")
@click.argument("table", required=False, type=click.Path(dir_okay=False, path_type=Path))
@flags.write_options
@undo_options("decisions about phrases")
def accept(table: Path | None, **options: Any) -> int:
    """Decide that phrases state properties, by the TABLE of 'sarag ontology suggest'.

    Rows without a property are skipped, and rows with no in the column decision. The statements of
    all relationships with these phrases are derived; no document is extracted again. Decisions
    also hold for documents that are indexed later, and can be undone.
    """
    action = action_of(options, "a TABLE", is_given=table is not None)
    with flags.open_graph(options) as kg:
        if table is None:
            return list_or_undo(kg, "phrases", action, options)
        accepted = kg.decisions.accept(table, "phrases")
    data = {
        "accepted": len(accepted.decisions),
        "skipped": accepted.skipped,
        "stated_before": accepted.stated_before,
        "stated": accepted.stated,
    }
    return emit(
        options,
        data,
        f"{counted(data['accepted'], 'phrase')} accepted, {counted(data['skipped'], 'row')} "
        f"skipped; {counted(data['stated'], 'relationship')} with a property, "
        f"{data['stated_before']} before",
    )


@click.command(epilog='Example:  sarag retype "Lund University" university')
@click.argument("names", nargs=-1, metavar="[NAME CLASS...]")
@flags.write_options
@flags.model_options
@review_options("entities", "class-in-name or by-model")
@note_option
@undo_options("decisions about classes")
def retype(names: tuple[str, ...], **options: Any) -> int:
    """Decide the classes of the entity NAME: an IRI or a name.

    A CLASS is an IRI, a prefixed name or the label of a class of the ontologies that 'sarag
    ontology show' lists, or one of the entity types person, organization, geopolitical, misc, time,
    quantity and adjective (also sarag:Person and the like). It replaces the classes that follow
    from the documents, including those indexed later. A later decision about the same name
    replaces the earlier one.

    With --rule, entities are found by a rule: class-in-name proposes the class whose label is the
    head of a name, such as university for "Lund University"; with by-model a language model chooses
    among the classes of the ontologies. --dry-run lists them, and --review writes them to a table,
    tab-separated or .csv. Write accept in the column decision, then decide these rows with
    --accept.
    """
    action = action_of(options, "NAME and CLASS", is_given=bool(names), is_complete=len(names) > 1)
    check_review(options, action)
    with flags.open_graph(options) as kg:
        if action in ("--list", "--undo"):
            return list_or_undo(kg, "classes", action, options)
        if action == "--accept":
            count = len(kg.decisions.accept(options["accept"], "classes").decisions)
            hint = "" if count else ": write accept in the column decision to retype an entity"
            return emit(options, {"retyped": count}, f"{count} retyped{hint}")
        if action == "--rule":
            with progress_bars() as progress:
                proposals = kg.decisions.propose_classes(options["rule"], progress)
            write_review(kg, "classes", proposals, options)
            shown = proposals if options["dry_run"] else ()
            return emit(
                options,
                proposals,
                *(f"{each.name}  ->  {each.class_iri}" for each in shown),
                f"{counted(len(proposals), 'entity')} would be retyped by {options['rule']}",
            )
        decisions = kg.decisions.retype(names[0], *names[1:], note=options["note"])
        return show_decisions(kg, decisions, options)
