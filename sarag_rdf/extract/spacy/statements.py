"""Typed statements of a parsed document: clauses and noun phrases matched with an ontology.

Each candidate joins a name to another name, a date, a number or a common noun by normalised words:
the verb with its auxiliaries, its object if the argument comes after it, and the prepositions and
nouns on the way. Whether the words state a property is decided by `PhraseMatcher`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from spacy.tokens import Token

from sarag_rdf.extract.spacy.mentions import SUBJECTS, MentionSpan
from sarag_rdf.extract.spacy.relations import ParsedDocument, RuleMatch
from sarag_rdf.extract.typed.phrases import (
    COPULA,
    NAME,
    Argument,
    PhraseMatch,
    PhraseMatcher,
    Word,
    is_function_word,
    normalize_phrase,
    normalize_words,
)
from sarag_rdf.extract.values import parse_value
from sarag_rdf.types import EntityType, Relation

_CONFIDENCE = 0.9
"""The confidence of typed statements; of those of the example corpus marked by hand, at least .95
are correct."""
_MODALS = frozenset({"MD"})
_REAL_VERBS = frozenset({"begin", "began", "begun", "continue", "continued", "go", "went"})
"""Verbs whose infinitive complement is a fact: "began to teach"."""
_BE = frozenset({"is", "was", "are", "were", "be", "been", "being"})
_DIRECT = ("dobj", "attr", "oprd")
_MAX_NOUNS = 3


@dataclass(frozen=True, slots=True)
class Candidate:
    """What may be a statement: `words` between a subject and an object, at a token."""

    subject: str
    phrase: tuple[Word, ...]
    object: Argument
    token: int

    @property
    def words(self) -> tuple[Word, ...]:
        """The normalised words of the phrase."""
        return normalize_words(self.phrase)

    @property
    def text(self) -> str:
        """The phrase as in the text, without its optional words."""
        return " ".join(word.stem for word in self.phrase if word.stem != NAME)


@dataclass(frozen=True, slots=True)
class Statement:
    """A candidate with the property that it states."""

    candidate: Candidate
    match: PhraseMatch


class StatementFinder:
    """Finds the typed statements of one document."""

    def __init__(self, parse: ParsedDocument, matcher: PhraseMatcher) -> None:
        self._parse = parse
        self._matcher = matcher
        self._types: dict[str, EntityType] = {
            name: "misc" if _is_acronym(name) and cluster.type == "geopolitical" else cluster.type
            for name, cluster in parse.coreference.clusters.items()
        }
        self.classes: dict[str, tuple[str, ...]] = {}
        """The classes of names that are certain, most specific ones only."""

    @property
    def types(self) -> dict[str, EntityType]:
        """The entity types of all names, corrected by what is stated of them."""
        return self._types

    def find(self) -> list[Statement]:
        """All statements, without duplicates, in the order of the text."""
        candidates = sorted(self._candidates(), key=lambda candidate: candidate.token)
        self._find_classes(candidates)
        self._retype(self._matched(candidates))
        statements = self._matched(candidates)
        self._retype(statements)
        unique: dict[tuple[str, str, str], Statement] = {}
        for s in statements:
            subject, object_ = s.candidate.subject, s.candidate.object.text
            if subject == object_ or not self._agrees(s):
                continue
            if s.match.is_inverse:
                subject, object_ = object_, subject
            unique.setdefault((subject, s.match.property.iri, object_), s)
        return list(_longest(unique.values()))

    def _matched(self, candidates: Sequence[Candidate]) -> list[Statement]:
        statements = []
        for candidate in candidates:
            object_ = candidate.object
            if object_.kind == "name":
                object_ = self._argument(object_.text)
            match = self._matcher.match(
                candidate.words, self._argument(candidate.subject), object_
            )
            if match is not None:
                statements.append(Statement(replace(candidate, object=object_), match))
        return statements

    def _argument(self, name: str) -> Argument:
        cluster = self._parse.coreference.clusters.get(name)
        if cluster is not None and cluster.is_date:
            return Argument(name, "value", value=parse_value(name, "date"))
        type_ = self._types.get(name, "misc")
        return Argument(name, "name", type_, self.classes.get(name, ()))

    # ------------------------------------------------------------------ types and classes

    def _find_classes(self, candidates: Sequence[Candidate]) -> None:
        """Classes by nouns that stand for a name ("is a city"), and by words of the name."""
        found: dict[str, dict[str, None]] = {}
        for name, cluster in self._parse.coreference.clusters.items():
            is_person = cluster.type == "person" and " " in name
            class_ = "" if cluster.is_date or is_person else self._matcher.class_of_name(name)
            if class_:
                found.setdefault(name, {})[class_] = None
        for candidate in candidates:
            stems = [word.stem for word in candidate.words]
            if candidate.object.kind == "noun" and stems in ([COPULA], ["become"]):
                class_ = self._matcher.class_of_noun(candidate.object.text)
                if class_ and self._is_possible(candidate.subject, class_):
                    found.setdefault(candidate.subject, {})[class_] = None
        for name, classes in found.items():
            above = {
                parent
                for class_ in classes
                for parent in self._matcher.schema.superclasses(class_) - {class_}
            }
            self.classes[name] = tuple(class_ for class_ in classes if class_ not in above)
            self._set_type(name, self.classes[name])

    def _is_possible(self, name: str, class_: str) -> bool:
        """A noun after "is" does not make a person of a city, nor the reverse."""
        types = self._matcher.entity_types(class_)
        known = self._types.get(name, "misc")
        return known == "misc" or (known == "person") == ("person" in types)

    def _set_type(self, name: str, classes: Sequence[str]) -> None:
        types = {t for class_ in classes for t in self._matcher.entity_types(class_)}
        if len(types) == 1 and name in self._types:
            self._types[name] = next(iter(types))

    def _retype(self, statements: Sequence[Statement]) -> None:
        """Correct entity types by the domains and ranges of statements.

        Where they disagree about a name, places win over organizations ("studied at Freiburg",
        "died in Freiburg"), and persons over both.
        """
        votes: dict[str, set[EntityType]] = {}
        for s in statements:
            ends = [(s.candidate.subject, s.match.property.domains)]
            other = (s.candidate.object.text, s.match.property.ranges)
            if s.candidate.object.kind == "name" and not s.match.property.is_literal:
                ends.append(other)
            if s.match.is_inverse and len(ends) == 2:
                ends = [(ends[0][0], other[1]), (other[0], ends[0][1])]
            for name, admitted in ends:
                types = {t for class_ in admitted for t in self._matcher.entity_types(class_)}
                if len(types) == 1 and name not in self.classes:
                    votes.setdefault(name, set()).update(types)
        topic = self._parse.coreference.topic
        for name, types in votes.items():
            known = self._types.get(name)
            if known is None or known in types or (name == topic and known == "person"):
                continue
            for type_ in ("geopolitical", "person", "organization"):
                if type_ in types:
                    self._types[name] = type_
                    break

    def _agrees(self, statement: Statement) -> bool:
        """Whether the corrected types fit the domain and the range."""
        subject = self._argument(statement.candidate.subject)
        object_ = statement.candidate.object
        if object_.kind == "name":
            object_ = self._argument(object_.text)
        property_ = statement.match.property
        if statement.match.is_inverse:
            subject, object_ = object_, subject
        is_literal = property_.is_literal or object_.kind != "name"
        return self._fits(subject, property_.domains) and (
            is_literal or self._fits(object_, property_.ranges)
        )

    def _fits(self, argument: Argument, admitted: Sequence[str]) -> bool:
        if argument.classes or not admitted:
            return self._matcher.fit(argument, admitted) >= 0
        types = {t for class_ in admitted for t in self._matcher.entity_types(class_)}
        return argument.type in ("misc", *types) or types == {"misc"}

    # ------------------------------------------------------------------ candidates

    def _candidates(self) -> Iterator[Candidate]:
        for token in self._parse.doc:
            if token.pos_ in ("VERB", "AUX"):
                yield from self._clause(token)
            elif token.dep_ == "poss":
                yield from self._possessive(token)
            elif token.dep_ == "appos":
                yield from self._apposition(token)
        for mention_span in self._parse.coreference.mention_spans:
            yield from self._titles(mention_span)
            yield from self._prepositions(mention_span)

    def _clause(self, verb: Token) -> Iterator[Candidate]:
        if not _is_fact(verb) or self._is_doubtful_modifier(verb):
            return
        subjects = self._parse.subjects(verb)
        children = list(verb.children)
        own_subject = next((child for child in children if child.dep_ in SUBJECTS), None)
        if own_subject is not None and own_subject.tag_ in ("WDT", "WP"):
            if self._is_doubtful_modifier(verb):
                return
        words = _verb_words(verb)
        is_passive = len(words) > 1 and words[0].stem in _BE
        arguments = list(self._arguments(verb, words))
        for subject in subjects:
            for argument_words, argument, token in arguments:
                yield Candidate(subject, tuple(argument_words), argument, token)
        if not is_passive:
            yield from self._passive(verb, arguments)
        if not subjects and own_subject is not None and is_passive is False:
            yield from self._inverted(verb, own_subject)

    def _passive(
        self, verb: Token, arguments: Sequence[tuple[list[Word], Argument, int]]
    ) -> Iterator[Candidate]:
        """What a clause with an object says of the object: "X founded it in 1546"."""
        objects = [
            name
            for child in verb.children
            if child.dep_ == "dobj"
            for name in self._parse.names(child)
        ]
        for name in objects:
            for words, argument, token in arguments:
                stems = [word.stem for word in words]
                if len(stems) == 3 and stems[1] == NAME and argument.text != name:
                    passive = [Word("was"), words[0], words[2]]
                    yield Candidate(name, tuple(passive), argument, token)

    def _inverted(self, verb: Token, subject: Token) -> Iterator[Candidate]:
        """As in "The capital of Poland is Warsaw"; "Its Polish name is Wisla"."""
        if verb.lower_ not in _BE:
            return
        for predicate in verb.children:
            if predicate.dep_ != "attr":
                continue
            for name in self._parse.names(predicate):
                for words, argument, token in self._below(subject, [Word("is"), *_noun(subject)]):
                    yield Candidate(name, tuple(words), argument, token)

    def _arguments(
        self, verb: Token, words: list[Word]
    ) -> Iterator[tuple[list[Word], Argument, int]]:
        direct: list[Word] = []
        for child in verb.children:
            if child.dep_ in ("dobj", "attr") and child.i > verb.i:
                direct = [Word(NAME)] if self._parse.names(child) else _noun(child)
                break
        for child in verb.children:
            if child.dep_ in _DIRECT and child.i > verb.i:
                names = self._parse.names(child)
                yield from ((words, Argument(name), child.i) for name in names)
                if not names:
                    for noun in (child, *child.conjuncts):
                        yield from self._noun_arguments(noun, words)
                yield from self._below(child, words + direct)
            elif child.dep_ in ("prep", "agent"):
                yield from self._prepositional(child, words + direct)
            elif child.dep_ == "acomp":
                yield from self._measure(child, words)
                yield from self._below(child, [*words, Word(child.lower_)])
            elif child.dep_ in ("npadvmod", "pobj"):
                names = self._parse.names(child)
                yield from ((words + direct, Argument(name), child.i) for name in names)

    def _prepositional(
        self, preposition: Token, words: list[Word], depth: int = 0
    ) -> Iterator[tuple[list[Word], Argument, int]]:
        words = [*words, Word(preposition.lower_)]
        for child in preposition.children:
            if child.dep_ in ("prep", "agent"):
                yield from self._prepositional(child, words, depth)
            elif child.dep_ in ("pobj", "pcomp"):
                for name in self._parse.names(child):
                    yield words, Argument(name), child.i
                yield from self._numbers(child, words)
                if self._parse.mention_span(child):
                    yield from self._below(child, words[:-1], depth)
                elif child.pos_ in ("NOUN", "PROPN"):
                    for noun in (child, *child.conjuncts):
                        yield from self._noun_arguments(noun, words)
                    if depth < _MAX_NOUNS:
                        yield from self._below(child, words + _noun(child), depth + 1)

    def _below(
        self, noun: Token, words: list[Word], depth: int = 0
    ) -> Iterator[tuple[list[Word], Argument, int]]:
        """The arguments of the prepositions and possessives of a noun."""
        own = self._parse.mention_span(noun)
        for child in noun.children:
            if own is not None and self._parse.mention_span(child) is own:
                continue
            if child.dep_ in ("prep", "agent"):
                yield from self._prepositional(child, words, depth)
            elif child.dep_ == "poss" and own is None:
                for name in self._parse.names(child):
                    yield [*words, Word("of")], Argument(name), child.i
            elif child.dep_ == "conj" and own is None and child.pos_ in ("NOUN", "PROPN"):
                if not self._parse.mention_span(child) and words and depth < _MAX_NOUNS:
                    joined = [w for w in words if w.stem != noun.lower_] + _noun(child)
                    yield from self._below(child, joined, depth + 1)
                    if not any(other.dep_ == "prep" for other in noun.children):
                        yield from self._below(child, words, depth + 1)

    def _noun_arguments(
        self, noun: Token, words: list[Word]
    ) -> Iterator[tuple[list[Word], Argument, int]]:
        """A common noun as a value: alone, with its compounds, and as a whole phrase."""
        is_joined = noun.dep_ == "conj" and noun.head.dep_ == "attr"
        if not (noun.pos_ in ("NOUN", "PROPN") or is_joined) or self._parse.mention_span(noun):
            return
        for text in _noun_texts(noun):
            yield words, Argument(text, "noun"), noun.i
        for child in noun.children:
            if child.pos_ == "NOUN" and child.dep_ == "nmod" and any(
                other.dep_ == "cc" for other in child.children
            ):
                yield from self._noun_arguments(child, words)
            if child.dep_ == "amod" and child.text[:1].isupper():
                yield words, Argument(child.text, "noun"), child.i
            elif child.dep_ in ("compound", "nmod") and child.text[:1].isupper():
                yield words, Argument(child.text, "noun"), child.i

    def _numbers(
        self, noun: Token, words: list[Word]
    ) -> Iterator[tuple[list[Word], Argument, int]]:
        """Numbers that a noun phrase consists of or ends in: "atomic number 72"."""
        for token in (noun, *noun.children):
            if token.like_num and token.dep_ in ("nummod", "appos", "pobj", "npadvmod"):
                value = parse_value(token.text, "number")
                if value is not None and not self._parse.mention_span(token):
                    named = [] if token is noun else [*_noun(noun)]
                    yield [*words, *named], Argument(token.text, "value", value=value), token.i

    def _measure(
        self, adjective: Token, words: list[Word]
    ) -> Iterator[tuple[list[Word], Argument, int]]:
        """A quantity before an adjective: "161 metres high"."""
        for child in adjective.children:
            if child.dep_ == "npadvmod":
                span = adjective.doc[child.left_edge.i : child.i + 1]
                numbers = [token for token in span if token.like_num]
                if not numbers:
                    continue
                text = adjective.doc[numbers[0].i : child.i + 1].text
                value = parse_value(text, "quantity")
                if value is not None:
                    yield (
                        [*words, Word(adjective.lower_)],
                        Argument(text, "value", value=value),
                        child.i,
                    )

    def _possessive(self, owner: Token) -> Iterator[Candidate]:
        """As in "his wife, Mary", "his student Walther": has wife, has student."""
        noun = owner.head
        for name, kind in self._parse.possessions(owner):
            if not kind:
                continue
            words = [Word("has")] + [Word(k.lower_, True) for k in kind[:-1]]
            words.append(Word(kind[-1].lower_))
            for subject in self._parse.names(owner):
                yield Candidate(subject, tuple(words), Argument(name), noun.i)

    def _apposition(self, noun: Token) -> Iterator[Candidate]:
        """As in "Warsaw, the capital of Poland"; "Marc Seguin, an engineer"; "Paris, France"."""
        outer, inner = self._parse.mention_span(noun.head), self._parse.mention_span(noun)
        if outer is None or outer.is_date:
            return
        if inner is None:
            nouns = [noun, *(c for c in noun.conjuncts if not self._parse.mention_span(c))]
            for each in nouns:
                if each.pos_ != "NOUN":
                    continue
                for words, argument, token in self._noun_arguments(each, [Word("is")]):
                    yield Candidate(outer.name, tuple(words), argument, token)
                for words, argument, token in self._below(each, [Word("is"), *_noun(each)]):
                    yield Candidate(outer.name, tuple(words), argument, token)
        elif not inner.is_date:
            is_after_comma = noun.doc[outer.end : outer.end + 1].text == ","
            is_place = inner.type == "geopolitical" and outer.type in (
                "geopolitical",
                "organization",
            )
            if is_place and is_after_comma and inner.begin == outer.end + 1:
                words = (Word("is"), Word("in"))
                yield Candidate(outer.name, words, Argument(inner.name), noun.i)

    def _titles(self, mention_span: MentionSpan) -> Iterator[Candidate]:
        """Nouns before a name: "the Danish astronomer Ole R\u00f8mer"."""
        doc = self._parse.doc
        if mention_span.is_date or mention_span.begin == 0:
            return
        noun = doc[mention_span.begin - 1]
        root = self._parse.root(mention_span)
        if noun.pos_ != "NOUN" or self._parse.mention_span(noun):
            return
        is_modifier = noun.dep_ in ("compound", "nmod", "amod") and noun.head == root
        if not (is_modifier or root.dep_ == "appos" and root.head == noun):
            return
        if any(child.dep_ == "poss" for child in (*noun.children, *root.children)):
            return
        before = doc[max(0, mention_span.begin - 2) : mention_span.begin - 1]
        texts = [noun.text]
        for token in before:
            if token.pos_ in ("NOUN", "ADJ") and not self._parse.mention_span(token):
                texts.append(f"{token.text} {noun.text}")
            if token.text[:1].isupper() and token.pos_ in ("ADJ", "PROPN"):
                texts.append(token.text)
        for text in texts:
            words = (Word("is"),)
            yield Candidate(mention_span.name, words, Argument(text, "noun"), noun.i)

    def _prepositions(self, mention_span: MentionSpan) -> Iterator[Candidate]:
        """As in "the Radium Institute in Paris"."""
        if mention_span.is_date or not self._matcher.class_of_name(mention_span.name):
            return
        for preposition in self._parse.root(mention_span).children:
            if preposition.dep_ != "prep" or preposition.i != mention_span.end:
                continue
            for noun in preposition.children:
                place = self._parse.mention_span(noun)
                if place is None or place.is_date or preposition.lower_ not in ("in", "at"):
                    continue
                words = (Word("is"), Word(preposition.lower_))
                yield Candidate(mention_span.name, words, Argument(place.name), noun.i)

    def _is_doubtful_modifier(self, verb: Token) -> bool:
        """A participle or relative clause after "a noun of Name" may belong to either noun."""
        if verb.dep_ not in ("acl", "relcl"):
            return False
        head = verb.head
        between = verb.doc[head.i + 1 : verb.i]
        return head.dep_ == "pobj" and not any(token.text in (",", "(") for token in between)


def _longest(statements: Iterable[Statement]) -> Iterator[Statement]:
    """Of several readings of one noun ("scientist", "computer scientist") the longest."""
    best: dict[tuple[str, str, int], Statement] = {}
    for s in statements:
        kind = s.candidate.object.kind
        key = (s.candidate.subject, s.match.property.iri, s.candidate.token)
        if kind == "noun":
            if key not in best or len(best[key].candidate.object.text) < len(s.candidate.object.text):
                best[key] = s
    for s in statements:
        key = (s.candidate.subject, s.match.property.iri, s.candidate.token)
        if s.candidate.object.kind != "noun" or best[key] is s:
            yield s


def _is_acronym(name: str) -> bool:
    """Whether a name is an acronym too long for that of a country."""
    return name.isupper() and name.isalpha() and len(name) > 3


def _is_fact(verb: Token) -> bool:
    """Whether a clause is stated: no negation, no possibility, condition, wish or purpose."""
    for child in verb.children:
        if child.dep_ == "neg" or (child.dep_ == "aux" and child.tag_ in _MODALS):
            return False
        if child.dep_ == "mark" and child.lower_ in ("if", "whether", "unless", "that", "to"):
            return False
        if child.dep_ == "aux" and child.lower_ == "to":
            is_real = verb.dep_ == "xcomp" and verb.head.lower_ in _REAL_VERBS
            if not is_real:
                return False
    if verb.dep_ in ("ccomp", "pcomp", "csubj"):
        return verb.dep_ == "ccomp" and verb.head.pos_ == "VERB" and verb.i < verb.head.i
    is_gerund = verb.tag_ == "VBG" and verb.dep_ in ("xcomp", "pcomp", "amod")
    if verb.dep_ in ("conj", "xcomp") and verb.head.pos_ in ("VERB", "AUX"):
        own = any(child.dep_ in SUBJECTS for child in verb.children)
        return not is_gerund and (own or verb.dep_ == "xcomp" or _is_fact(verb.head))
    return not is_gerund


def _verb_words(verb: Token) -> list[Word]:
    """The verb with "be" if it is passive, its particle, and the verb that it completes."""
    children = list(verb.children)
    is_passive = any(child.dep_ in ("auxpass", "nsubjpass") for child in children)
    is_participle = verb.tag_ == "VBN" and verb.dep_ == "acl"
    if not is_passive and verb.tag_ == "VBN" and verb.dep_ == "conj":
        has_aux = any(child.dep_ in ("aux", "auxpass", *SUBJECTS) for child in children)
        is_passive = not has_aux and _verb_words(verb.head)[0].stem in _BE
    auxiliary = next((child.lower_ for child in children if child.dep_ == "auxpass"), "was")
    words = [Word(auxiliary)] if is_passive or is_participle else []
    words.append(Word(verb.lower_))
    words += [Word(child.lower_) for child in children if child.dep_ == "prt"]
    if verb.dep_ == "xcomp" and verb.head.lower_ in _REAL_VERBS:
        words = [Word(verb.head.lower_), Word("to"), *words]
    return words


def _noun(noun: Token) -> list[Word]:
    """A noun with its modifiers, which are optional."""
    modifiers = [
        left
        for left in noun.lefts
        if left.dep_ in ("amod", "compound", "nmod", "nummod") and not is_function_word(left.lower_)
    ]
    return [*(Word(left.lower_, True) for left in modifiers), Word(noun.lower_)]


def _noun_texts(noun: Token) -> list[str]:
    """The texts of a noun phrase: the noun, with the words before it, and with its complement."""
    begin = noun.i
    texts = [noun.text]
    while begin > noun.left_edge.i and noun.doc[begin - 1].pos_ in ("NOUN", "ADJ", "PROPN"):
        begin -= 1
        texts.append(noun.doc[begin : noun.i + 1].text)
    of = next((r for r in noun.rights if r.dep_ == "prep" and r.lower_ == "of"), None)
    if of is not None:
        texts.append(noun.doc[begin : of.right_edge.i + 1].text)
    return texts


def typed_relations(
    parse: ParsedDocument, matches: Sequence[RuleMatch], finder: StatementFinder
) -> list[Relation]:
    """The relations of a document, with properties where statements have the same ends.

    Statements that no relation joins are appended.
    """
    relations = [match.relation for match in matches]
    places: dict[tuple[str, str], list[int]] = {}
    for index, match in enumerate(matches):
        places.setdefault((match.subject, match.object), []).append(index)
    added: list[Relation] = []
    for statement in finder.find():
        candidate, found = statement.candidate, statement.match
        typed = {
            "predicate": found.property.iri,
            "inverse": found.is_inverse and not found.property.is_symmetric,
            "confidence": _CONFIDENCE,
        }
        verbs = _content(candidate.words)
        same = [
            index
            for index in places.get((candidate.subject, candidate.object.text), ())
            if not relations[index].predicate and matches[index].rule != "star"
            if verbs & _content(normalize_phrase(matches[index].phrase))
        ]
        if same:
            relations[same[0]] = replace(relations[same[0]], value=found.value, **typed)
        else:
            added.append(
                Relation(
                    candidate.subject,
                    candidate.text,
                    candidate.object.text,
                    value=found.value,
                    **typed,
                )
            )
    return relations + added


def _content(words: Sequence[Word]) -> set[str]:
    return {word.stem for word in words} - {"be", "have", "of", "in", "at", "on", "to", "by"}
