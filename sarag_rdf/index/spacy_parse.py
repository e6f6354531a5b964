"""What a parse says about the things of one document: who does what, in which words."""

from __future__ import annotations

from collections.abc import Iterator

from spacy.tokens import Doc, Token

from sarag_rdf.index.spacy_coreference import Naming
from sarag_rdf.index.spacy_mentions import SUBJECTS, Sighting

_OBJECTS = ("dobj", "dative", "attr", "oprd", "pobj", "pcomp", "npadvmod")
_VERB_WORDS = ("aux", "auxpass", "neg", "prt")
_NOUN_WORDS = ("det", "amod", "compound", "nummod", "nmod")
_MAX_NOUNS = 2
_MAX_VERBS = 4

Path = tuple[Token, ...]
"""The prepositions and nouns that lead from a verb or noun to a thing."""


def word(token: Token) -> str:
    """A token as it reads inside a sentence: not capitalised for being the first one."""
    return token.lower_ if token.is_sent_start and token.pos_ != "PROPN" else token.text


class Parse:
    """A parsed document with the things it names (ClearNLP dependency labels, as in English)."""

    def __init__(self, doc: Doc, naming: Naming) -> None:
        self.doc = doc
        self.naming = naming
        self._owner = {
            index: sighting
            for sighting in naming.sightings
            for index in range(sighting.begin, sighting.end)
        }

    def sighting(self, token: Token) -> Sighting | None:
        """The innermost sighting that a token belongs to."""
        return self._owner.get(token.i)

    def root(self, sighting: Sighting) -> Token:
        return self.doc[sighting.begin : sighting.end].root

    def names(self, noun: Token) -> list[str]:
        """The things that a noun phrase names: itself with its conjuncts, or its apposition.

        A place brings the places it lies in: what is in "Chicago, Illinois, USA" is in all three.
        """
        names: list[str] = []
        for token in (noun, *noun.conjuncts) if noun.dep_ != "conj" else (noun,):
            sighting = self.sighting(token)
            if token.i in self.naming.pronouns:
                names.append(self.naming.pronouns[token.i])
            elif sighting is not None:
                names.extend((sighting.name, *self._larger_places(token)))
            else:
                names.extend(inner.name for _, inner in self._appositions(token))
        return list(dict.fromkeys(names))

    def _appositions(self, token: Token) -> Iterator[tuple[Token, Sighting]]:
        for child in token.children:
            if child.dep_ == "appos" and (inner := self.sighting(child)):
                yield child, inner

    def _larger_places(self, token: Token) -> Iterator[str]:
        place = self.sighting(token)
        if place and place.type == "geopolitical":
            for child, inner in self._appositions(token):
                if inner.type == "geopolitical":
                    yield inner.name
                    yield from self._larger_places(child)

    def subjects(self, verb: Token, depth: int = 0) -> list[str]:
        """The things that are a verb's subject, its own or that of the verb it hangs on."""
        own = [child for child in verb.children if child.dep_ in SUBJECTS]
        if own:
            return [name for child in own for name in self.subject_names(child)]
        if verb.dep_ in ("acl", "relcl"):
            return self.subject_names(verb.head)
        is_chained = verb.dep_ in ("conj", "xcomp", "advcl") and verb.head.pos_ in ("VERB", "AUX")
        return self.subjects(verb.head, depth + 1) if is_chained and depth < _MAX_VERBS else []

    def subject_names(self, noun: Token) -> list[str]:
        """The things that a subject stands for, also a relative pronoun or a predicate noun."""
        names = self.names(noun)
        if names:
            return names
        if noun.tag_ in ("WDT", "WP"):
            return self.subject_names(noun.head.head) if noun.head.dep_ == "relcl" else []
        if noun.dep_ == "attr":
            return self.subjects(noun.head)
        return self.names(noun.head) if noun.dep_ == "appos" else []

    def targets(self, token: Token, path: Path = (), nouns: int = 0) -> Iterator[tuple[str, Path]]:
        """Yield the things below a verb or noun, each with the words that lead there."""
        own = self.sighting(token)
        for child in token.children:
            if own is not None and self.sighting(child) is own:
                continue
            if child.dep_ in ("prep", "agent"):
                yield from self.targets(child, (*path, child), nouns)
            elif child.dep_ in _OBJECTS:
                for name in self.names(child):
                    yield name, path
                if self.sighting(child):
                    yield from self.targets(child, path[:-1], _MAX_NOUNS)
                elif nouns < _MAX_NOUNS and child.pos_ in ("NOUN", "PROPN", "VERB"):
                    yield from self.targets(child, (*path, child), nouns + 1)

    def verb_phrase(self, verb: Token, path: Path) -> str:
        """Words such as "was born in" and "is the capital of".

        In "X is a town located in Y" the participle borrows the "is".
        """
        group = [verb, *(child for child in verb.children if child.dep_ in _VERB_WORDS)]
        words = [word(token) for token in sorted(group, key=lambda token: token.i)]
        if (verb.dep_, verb.tag_, verb.head.dep_) == ("acl", "VBN", "attr"):
            words.insert(0, verb.head.head.text)
        return " ".join((*words, *self.noun_words(path)))

    def noun_words(self, path: Path) -> Iterator[str]:
        """The words of a path, nouns with what stands before them."""
        for token in path:
            if token.pos_ in ("NOUN", "PROPN"):
                yield from (word(left) for left in token.lefts if left.dep_ in _NOUN_WORDS)
            yield word(token)
