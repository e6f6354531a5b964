"""Checks of an ontology: undeclared terms, cycles, missing domains, ranges and labels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Final, Literal

from pyoxigraph import NamedNode, Triple

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.iris import local_name, namespace
from sarag_rdf.base.vocab import OWL, RDF, RDFS, SH, SKOS, XSD, text_of
from sarag_rdf.graph.ontology.schema import (
    ANNOTATIONS,
    OntologyClass,
    OntologyProperty,
    Schema,
    has_rules,
    is_code,
    is_datatype,
    named_datatype,
    rules_of,
)
from sarag_rdf.graph.ontology.schema_reader import (
    ANNOTATION_TYPES,
    CLASS_TYPES,
    DATATYPE_TYPES,
    DOMAINS,
    INVERSES,
    LABELS,
    PROPERTY_TYPES,
    RANGES,
    TripleIndex,
    schema_of,
)
from sarag_rdf.graph.store.input_files import is_skolem_iri

Severity = Literal["error", "warning"]
_MOST_NAMED: Final = 5
"""Terms that a finding about several names."""


@dataclass(frozen=True, slots=True)
class OntologyFinding:
    """A problem of an ontology and, if it has one, its term; `kind` says it without names."""

    severity: Severity
    term: str
    message: str
    kind: str

    def __str__(self) -> str:
        about = f"<{self.term}>: " if self.term else ""
        return f"{self.severity}: {about}{self.message}"


def _warning(term: str, message: str, kind: str = "") -> OntologyFinding:
    return OntologyFinding("warning", term, message, kind or message)


def check(
    triples: Iterable[Triple], repaired: Sequence[str] = (), beside: Iterable[Triple] = ()
) -> tuple[OntologyFinding, ...]:
    """Findings about the triples of an ontology, errors first.

    Errors are cycles of subclasses and subproperties, terms that RDF, RDFS, OWL and SKOS do not
    define, an ontology without a class or property, and activation weights that are not allowed.
    `repaired` are the namespaces of `OntologyFile.repaired`. What ontologies `beside` it declare
    may be used.
    """
    triples = tuple(triples)
    index, schema = TripleIndex(triples), schema_of(triples)
    findings = []
    for name in repaired:
        message = f"the namespace lacks its '#': read as {name}#, correct the prefix"
        findings.append(_warning(name, message, "namespaces lack their '#': correct the prefixes"))
    for imported in sorted({iri for _, iri in index.pairs(OWL.imports.value)}):
        message = "owl:imports is not followed: download the ontology, and add it"
        findings.append(_warning(imported, message))
    if not (schema.classes or schema.properties or has_rules(triples)):
        message = "no class or property: check that this is OWL, RDFS, SKOS or SHACL"
        findings.append(OntologyFinding("error", "", message, "no class or property"))
    elif not (schema.properties or has_rules(triples)):
        message = "no property: entities can be classified, but no statement can be typed"
        findings.append(_warning("", message, "no property"))
    findings += [
        *_cycles("subclass", {c.iri: c.parents for c in schema.classes.values()}),
        *_cycles("subproperty", {p.iri: p.parents for p in schema.properties.values()}),
        *_unknown_terms(triples),
        *_undeclared(index, _declared(TripleIndex(beside))),
        *_labels(index, schema),
        *_activation_rules(triples),
    ]
    for property_ in schema.properties.values():
        findings += _domain_and_range(property_)
    findings.sort(key=lambda finding: (finding.severity, finding.term))
    return tuple(dict.fromkeys(findings))


def _activation_rules(triples: Iterable[Triple]) -> Iterator[OntologyFinding]:
    for triple in triples:
        if triple.predicate in ANNOTATIONS:
            try:
                rules_of([(triple.subject, triple.predicate, triple.object)])
            except UsageError as error:
                message = str(error).removesuffix(": correct the ontology")
                yield OntologyFinding(
                    "error", text_of(triple.subject), message, "a wrong activation weight"
                )


def _cycles(kind: str, parents: Mapping[str, Sequence[str]]) -> Iterator[OntologyFinding]:
    """One finding for each set of terms in cycles; a term may be its own parent."""
    import networkx as nx

    pairs = ((child, parent) for child in sorted(parents) for parent in parents[child])
    graph = nx.DiGraph(pair for pair in pairs if pair[0] != pair[1])
    for terms in nx.strongly_connected_components(graph):
        if len(terms) > 1:
            cycle = [child for child, _ in nx.find_cycle(graph.subgraph(terms), min(terms))]
            shown = " -> ".join(local_name(term) for term in [*cycle, cycle[0]])
            what = f"a cycle of {kind} axioms"
            yield OntologyFinding("error", cycle[0], f"{what}: {shown}", what)


@cache
def _terms() -> dict[str, frozenset[str]]:
    """Namespace of RDF, RDFS, OWL and SKOS -> local names of its terms."""
    from rdflib import namespace as known

    terms = {
        str(vocabulary): frozenset(term.removeprefix(str(vocabulary)) for term in dir(vocabulary))
        for vocabulary in (known.RDF, known.RDFS, known.OWL, known.SKOS)
    }
    terms[RDF.base] |= {"dirLangString", "reifies"}  # of RDF 1.2
    return terms


def _unknown_terms(triples: Iterable[Triple]) -> Iterator[OntologyFinding]:
    """Terms in the namespaces of RDF, RDFS, OWL and SKOS that these do not define."""
    terms = (term for triple in triples for term in triple)
    iris = {term.value for term in terms if isinstance(term, NamedNode)}
    for iri in sorted(iris):
        space = namespace(iri)
        name = iri.removeprefix(space)
        is_member = space == RDF.base and name.startswith("_")
        if name in _terms().get(space, (name,)) or not name or is_member:
            continue
        closest = get_close_matches(name, sorted(_terms()[space]), 1)
        hint = f"did you mean {closest[0]}?" if closest else "check its spelling"
        message = f"{space} has no term {name}: {hint}"
        yield OntologyFinding("error", iri, message, "terms that their vocabulary lacks")


def _declared(index: TripleIndex) -> set[str]:
    types = CLASS_TYPES | DATATYPE_TYPES | PROPERTY_TYPES | ANNOTATION_TYPES
    declared = index.instances(types) | {iri for _, iri in index.pairs(SH.targetClass.value)}
    return declared | {
        iri for iri, _ in index.pairs(RDFS.subClassOf.value, RDFS.subPropertyOf.value)
    }


def _undeclared(index: TripleIndex, beside: Set[str]) -> Iterator[OntologyFinding]:
    """Terms in axioms that have no declaration; those of other vocabularies by namespace."""
    declared = _declared(index)
    used = {
        name
        for _, node in index.pairs(*DOMAINS, *RANGES, RDFS.subClassOf.value)
        for name in index.named(node)
    }
    used |= {iri for pair in index.pairs(RDFS.subPropertyOf.value, *INVERSES) for iri in pair}
    used |= {iri for iri, _ in index.pairs(*DOMAINS, *RANGES)}
    used |= {iri for _, iri in index.pairs(SKOS.broader.value)}
    own = {namespace(iri) for iri in declared if not is_skolem_iri(iri)}
    foreign: defaultdict[str, list[str]] = defaultdict(list)
    known = (*_terms(), XSD.base, SH.base)
    for iri in sorted(used - declared - beside):
        if is_skolem_iri(iri) or iri.startswith(known) or is_datatype(iri):
            continue
        if named_datatype(iri):
            datatype = named_datatype(iri).removeprefix(XSD.base)
            what = "not declared; read as {}, declare that as the range"
            yield _warning(iri, what.format(f"xsd:{datatype}"), what.format("a datatype of XSD"))
        elif namespace(iri) in own:
            yield _warning(iri, "used in an axiom, but not declared")
        else:
            foreign[namespace(iri)].append(local_name(iri))
    for space, names in foreign.items():
        shown = ", ".join(names[:_MOST_NAMED]) + (", ..." if len(names) > _MOST_NAMED else "")
        what = "1 term is" if len(names) == 1 else f"{len(names)} terms are"
        message = f"{what} used but not declared: {shown}; add the ontology of this namespace too"
        kind = "terms of other namespaces are not declared: add the ontologies of these too"
        yield _warning(space, message, kind)


def _labels(index: TripleIndex, schema: Schema) -> Iterator[OntologyFinding]:
    shapes: defaultdict[str, list[str]] = defaultdict(list)
    for shape, path in index.pairs(SH.path.value):
        shapes[path].append(shape)
    by_label: defaultdict[str, list[str]] = defaultdict(list)
    for iri, property_ in schema.properties.items():
        by_label[property_.label.casefold()].append(iri)
    terms: tuple[OntologyClass | OntologyProperty, ...]
    terms = (*schema.classes.values(), *schema.properties.values())
    for term in terms:
        iri = term.iri
        if any(index.objects(node, *LABELS) for node in (iri, *shapes.get(iri, ()))):
            continue
        if is_code(local_name(iri)):
            message = f"no label, and {term.label} is not a word: add rdfs:label"
            kind = "no label, and the name is not a word: add rdfs:label"
        elif iri in schema.properties:
            message = f"no label: '{term.label}' is taken from its IRI"
            kind = "no label: it is taken from the IRI"
        else:
            continue
        yield _warning(iri, message, kind)
    for iris in by_label.values():
        for iri in iris[1:]:
            label = schema.properties[iri].label
            message = f"the property <{iris[0]}> has the same label, '{label}'"
            yield _warning(iri, message, "another property has the same label")


def _domain_and_range(property_: OntologyProperty) -> Iterator[OntologyFinding]:
    objects = "literal" if property_.is_literal else "entity"
    if not (property_.domains or property_.ranges):
        kind, means = "no domain or range", f"any entity may be a subject, any {objects} an object"
    elif not property_.domains:
        kind, means = "no domain", "any entity may be a subject"
    elif not property_.ranges:
        kind, means = "no range", f"any {objects} may be an object"
    else:
        return
    yield _warning(property_.iri, f"{kind}: {means}", kind)
