"""How activation found documents and an answer, as RDF in terms of PROV-O.

Seeds, steps and results are entities; a search, the rounds of a model's selections, its calls, and
the answering of a question are activities. Each step was derived from the seed or step before it,
so that ``prov:wasDerivedFrom+`` leads from a document back to the seeds. IRIs are digests of the
content: the same search of the same graph gives the same bytes. All is in a named graph of its own,
which nothing traverses.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from operator import attrgetter

import pyoxigraph as ox
from pyoxigraph import Literal, NamedNode, Quad

from sarag_rdf.base.iris import Minter, sha256_hex
from sarag_rdf.base.prompts import CORE_PROMPTS, Prompts
from sarag_rdf.base.types import Activation, Answer, Excerpt, Retrieved, Seed, Usage
from sarag_rdf.base.vocab import PROV, RDF, RDFS, SARAG, XSD, Term
from sarag_rdf.kg.evidence import RetrievedEvidence
from sarag_rdf.kg.rdf_export import prefixes_under
from sarag_rdf.kg.registry import strategies

_key = attrgetter("round", "origin", "target", "relationship")
"""What identifies a step."""


def activation_trig(result: Retrieved | Answer, minter: Minter) -> bytes:
    """A search, or all that led to an answer, as TriG: one named graph, in a fixed order."""
    # whether replies were cached does not matter
    content = replace(result, usage=Usage()) if isinstance(result, Answer) else result
    digest = sha256_hex(json.dumps(asdict(content), sort_keys=True, default=str))
    graph = NamedNode(minter.activation_graph(digest))
    writer = _Writer()
    node = minter.search(digest)
    if isinstance(result, Answer):
        writer.answering(node, result)
    else:
        writer.search(node, result)
    quads = [Quad(*triple, graph) for triple in sorted(writer.triples, key=_order)]
    terms = {term for triple in writer.triples for term in triple}
    iris = tuple(term.value for term in terms if isinstance(term, NamedNode))
    known = {**prefixes_under(minter.base), "search": f"{minter.base}search/"}
    prefixes = {
        name: base for name, base in known.items() if any(iri.startswith(base) for iri in iris)
    }
    return ox.serialize(quads, format=ox.RdfFormat.TRIG, prefixes=prefixes) or b""


def _order(triple: tuple[NamedNode, NamedNode, Term]) -> tuple[str, bool, str, str]:
    subject, predicate, value = triple
    return str(subject), predicate != RDF.type, str(predicate), str(value)


class _Writer:
    """Collects triples, each once."""

    def __init__(self) -> None:
        self.triples: set[tuple[NamedNode, NamedNode, Term]] = set()

    def _add(self, node: NamedNode, *pairs: tuple[NamedNode, Term]) -> None:
        self.triples |= {(node, predicate, value) for predicate, value in pairs}

    def _label(self, names: Mapping[str, str], iris: Iterable[str]) -> None:
        for iri in iris:
            if names.get(iri):
                self._add(NamedNode(iri), (RDFS.label, Literal(" ".join(names[iri].split()))))

    def search(self, iri: str, retrieved: Retrieved) -> None:
        """One search: its seeds, the steps of all chains, and the documents in order."""
        node = NamedNode(iri)
        settings = " ".join(f"{name}={value}" for name, value in retrieved.settings.items())
        self._add(
            node,
            (RDF.type, SARAG.Search),
            (SARAG.question, Literal(retrieved.query.text)),
            (SARAG.retriever, Literal(retrieved.retriever)),
            *([(SARAG.settings, Literal(settings))] if settings else ()),
        )
        seeds = self._seeds(node, f"{iri}#seed-", retrieved.seeds)
        chains = [entity.chain for entity in retrieved.entities]
        chains += [document.chain for document in retrieved.documents]
        steps = {_key(step): step for chain in chains for step in chain}
        resources = {
            key: NamedNode(f"{iri}#step-{number}")
            for number, key in enumerate(sorted(steps), start=1)
        }
        for key, step in steps.items():
            self._add(
                resources[key],
                (RDF.type, SARAG.ActivationStep),
                (SARAG.origin, NamedNode(step.origin)),
                (SARAG.target, NamedNode(step.target)),
                (SARAG.via, NamedNode(step.relationship)),
                (SARAG.round, Literal(step.round)),
                (SARAG.weight, Literal(step.weight)),
                (SARAG.amount, Literal(step.amount)),
                (PROV.wasGeneratedBy, node),
            )
        for chain in chains:
            before = seeds.get(chain[0].origin) if chain else None
            for step in chain:
                if before is not None:
                    self._add(resources[_key(step)], (PROV.wasDerivedFrom, before))
                before = resources[_key(step)]
        evidence = RetrievedEvidence(retrieved)
        places = {rank: n for n, (rank, _) in enumerate(evidence.chain, start=1)}
        for ranked in retrieved.documents:
            resource = NamedNode(f"{iri}#result-{ranked.rank}")
            document = NamedNode(ranked.document.iri)
            start = seeds.get(ranked.entity) or seeds.get(ranked.document.iri)
            last = resources[_key(ranked.chain[-1])] if ranked.chain else start
            self._add(
                resource,
                (RDF.type, SARAG.SearchResult),
                (SARAG.document, document),
                (SARAG.rank, Literal(ranked.rank)),
                (SARAG.score, Literal(ranked.score)),
                (SARAG.similarity, Literal(ranked.similarity)),
                (PROV.wasGeneratedBy, node),
                *([(PROV.wasDerivedFrom, last)] if last is not None else ()),
            )
            self._evidence(resource, evidence.excerpts[ranked.rank - 1], places.get(ranked.rank))
            title = ranked.document.title or " ".join(ranked.document.text[:60].split())
            self._label({ranked.document.iri: title}, [ranked.document.iri])
        names = {entity.iri: entity.name for entity in retrieved.entities}
        names |= {seed.node: seed.name for seed in retrieved.seeds}
        names = {**retrieved.names, **names}
        ends = {end for step in steps.values() for end in (step.origin, step.target)}
        spoken = {s.relationship for s in steps.values() if s.kind == "related_to"}
        self._label(names, {*ends, *spoken, *seeds})

    def _evidence(self, result: NamedNode, evidence: Excerpt, place: int | None) -> None:
        """The sentences that a result shows; `place` is that of the document in the chain."""
        document = evidence.document
        for number, (begin, end) in enumerate(evidence.spans, start=1):
            resource = NamedNode(f"{result.value}-evidence-{number}")
            text = Literal(document.text[begin:end], language=document.language or None)
            self._add(result, (SARAG.evidence, resource))
            self._add(
                resource,
                (RDF.type, SARAG.Evidence),
                (SARAG.text, text),
                (SARAG.beginIndex, Literal(document.begin + begin)),
                (SARAG.endIndex, Literal(document.begin + end)),
                (PROV.wasDerivedFrom, NamedNode(document.iri)),
                *([(SARAG.order, Literal(place))] if place else ()),
            )

    def answering(self, iri: str, answer: Answer) -> None:
        """An answer with its searches, activations and calls, in the order of the trace."""
        node, question = NamedNode(iri), answer.retrieved.query.text
        self._add(node, (RDF.type, SARAG.Answering), (SARAG.question, Literal(question)))
        evidence = iter(answer.evidence)
        calls: dict[int, NamedNode] = {}
        for position, stage in enumerate(answer.trace):
            if stage.kind == "note":
                continue
            is_call = stage.kind == "call"
            name = f"{iri}#call-{position + 1}" if is_call else f"{iri}/{position + 1}"
            step = NamedNode(name)
            self._add(node, (PROV.wasInformedBy, step))
            self._add(step, (SARAG.order, Literal(position + 1)))
            if is_call:
                calls[position] = step
                self._add(
                    step,
                    (RDF.type, SARAG.ModelCall),
                    (SARAG.prompt, Literal(stage.name)),
                    (SARAG.promptHash, Literal(prompts_with(stage.name).digest(stage.name))),
                    (SARAG.model, Literal(answer.model)),
                )
            else:
                self.search(name, next(evidence).retrieved)
        if not answer.trace:  # no model is configured
            for number, each in enumerate(answer.evidence, start=1):
                self._add(node, (PROV.wasInformedBy, NamedNode(f"{iri}/{number}")))
                self._add(NamedNode(f"{iri}/{number}"), (SARAG.order, Literal(number)))
                self.search(f"{iri}/{number}", each.retrieved)
        for number, activation in enumerate(answer.activations, start=1):
            place_ = NamedNode(f"{iri}#activation-{number}")
            self._add(node, (PROV.wasInformedBy, place_))
            self._activation(place_, activation, calls)
        if answer.outcome == "answered":
            given = NamedNode(f"{iri}#answer")
            self._add(
                given,
                (RDF.type, SARAG.Answer),
                (PROV.value, Literal(answer.text)),
                (PROV.wasGeneratedBy, node),
                *((PROV.wasDerivedFrom, NamedNode(c.document)) for c in answer.citations),
            )
            if answer.confidence is not None:
                confidence = f"{answer.confidence:.4f}"
                self._add(given, (SARAG.confidence, Literal(confidence, datatype=XSD.decimal)))

    def _activation(
        self, node: NamedNode, activation: Activation, calls: Mapping[int, NamedNode]
    ) -> None:
        """The rounds of one question: seeds, and the selected statements with their calls."""
        self._add(
            node, (RDF.type, SARAG.Activation), (SARAG.question, Literal(activation.question))
        )
        origins = self._seeds(node, f"{node.value}-seed-", activation.seeds)
        names = {seed.node: seed.name for seed in activation.seeds}
        for selection in activation.selections:
            resource = NamedNode(f"{node.value}-step-{selection.order}")
            self._add(
                resource,
                (RDF.type, SARAG.ActivationStep),
                (SARAG.origin, NamedNode(selection.start)),
                (SARAG.target, NamedNode(selection.end)),
                (SARAG.via, NamedNode(selection.statement.iri)),
                (SARAG.round, Literal(selection.round)),
                (SARAG.order, Literal(selection.order)),
                (PROV.wasGeneratedBy, calls[selection.call]),
            )
            self._add(node, (PROV.wasInformedBy, calls[selection.call]))
            if selection.start in origins:
                self._add(resource, (PROV.wasDerivedFrom, origins[selection.start]))
            origins.setdefault(selection.end, resource)
            statement = selection.statement
            self._add(
                NamedNode(statement.iri),
                (RDF.type, RDF.Statement),
                (RDF.subject, NamedNode(statement.subject)),
                (RDF.object, NamedNode(statement.object)),
                *([(RDF.predicate, NamedNode(statement.predicate))] if statement.predicate else ()),
            )
            names[statement.subject] = statement.subject_name
            names[statement.object] = statement.object_name
            names[statement.iri] = statement.text
        self._label(names, names)

    def _seeds(self, node: NamedNode, prefix: str, seeds: Iterable[Seed]) -> dict[str, NamedNode]:
        """The seeds that `node` starts from, with numbered IRIs: entity or document -> seed."""
        resources: dict[str, NamedNode] = {}
        for number, seed in enumerate(seeds, start=1):
            resource = NamedNode(f"{prefix}{number}")
            resources.setdefault(seed.node, resource)
            self._add(
                resource,
                (RDF.type, SARAG.Seed),
                (SARAG.node, NamedNode(seed.node)),
                (SARAG.amount, Literal(seed.activation)),
                (SARAG.similarity, Literal(seed.similarity)),
                (PROV.wasGeneratedBy, node),
            )
        return resources


def prompts_with(name: str) -> Prompts:
    """The prompts of the installed reasoners that have a template of that name, or the core's."""
    for options in strategies("reasoner").values():
        prompts: Prompts | None = getattr(options, "prompts", None)
        if prompts is not None and prompts.has(name):
            return prompts
    return CORE_PROMPTS
