"""Groups of words in a parse: a verb with its auxiliaries, and a noun with its modifiers."""

from __future__ import annotations

from collections.abc import Sequence

from spacy.tokens import Token

from sarag_rdf.extraction.entity_typing import SUBJECTS
from sarag_rdf.extraction.names import english, english_pattern
from sarag_rdf.extraction.normal_phrases import Word

Words = tuple[Word, ...]
VERBS = ("VERB", "AUX")
_VERB_WORDS = ("aux", "auxpass", "neg", "prt")
_NOUN_WORDS = ("det", "amod", "compound", "nummod", "nmod")
DENIALS = english("phrases", "denials")
_BACK_THEN = english_pattern("phrases", "back_then")
QUALIFIED = english("phrases", "qualified")
_GRADED = english("phrases", "graded")
LEAVING = english("phrases", "leaving")


def is_fact_of(verb: Token) -> bool:
    """Whether a clause is stated: no negation, no possibility, condition, wish or purpose."""
    for child in verb.children:
        if child.dep_ == "neg" or (child.dep_ == "aux" and child.tag_ == "MD"):
            return False
        beside = (child, *child.lefts) if child.dep_ == "attr" else (child,)
        if any(each.dep_ in ("advmod", "neg") and each.lower_ in DENIALS for each in beside):
            return False
        if child.dep_ == "mark" and child.lower_ in ("if", "whether", "unless", "that", "to"):
            return False
    if is_passive_verb(verb) and _BACK_THEN.search(verb.doc[verb.sent.start : verb.i].text):
        return False
    if verb.dep_ in ("ccomp", "pcomp", "csubj"):
        return verb.dep_ == "ccomp" and verb.head.pos_ in VERBS and verb.i < verb.head.i
    return not (verb.tag_ == "VBG" and verb.dep_ in ("xcomp", "pcomp", "amod"))


def objects_of(verb: Token) -> list[Token]:
    """The objects of a verb; for a relative pronoun, the noun before its clause."""
    objects = (child for child in verb.children if child.dep_ == "dobj")
    is_relative = verb.dep_ == "relcl"
    return [verb.head if is_relative and o.tag_ in ("WDT", "WP") else o for o in objects]


def is_of_one(verb: Token) -> bool:
    """Whether what modifies a noun is of one thing: "who was", "who lives", "(born in Ulm)"."""
    words = [verb, *(child for child in verb.children if child.dep_ in ("aux", "auxpass"))]
    is_singular = any(word.tag_ == "VBZ" or word.lower_ == "was" for word in words)
    return is_singular or verb.doc[verb.i - 1].text == "("


def is_infinitive(verb: Token) -> bool:
    return any(child.dep_ == "aux" and child.lower_ == "to" for child in verb.children)


def is_passive_verb(verb: Token) -> bool:
    """Whether a verb is passive, also by the auxiliary of the verb before "and"."""
    labels = {child.dep_ for child in verb.children}
    if labels & {"auxpass", "nsubjpass"} or (verb.tag_, verb.dep_) == ("VBN", "acl"):
        return True
    is_bare = (verb.tag_, verb.dep_, verb.pos_) == ("VBN", "conj", "VERB") and not labels & {
        "aux",
        *SUBJECTS,
    }
    return is_bare and verb.head.pos_ in VERBS and is_passive_verb(verb.head)


def verb_words(verb: Token) -> Words:
    """A verb with its auxiliaries and particle: "was born", "did not visit", "began to teach".

    A passive without an auxiliary gets one, that of its head in "X is a town located in Y".
    Auxiliaries other than "be" and "to" are optional.
    """
    group = [verb, *(child for child in verb.children if child.dep_ in _VERB_WORDS)]
    if verb.lower_ in ("go", "goes", "went", "gone"):  # "live", "online"
        group += [c for c in verb.children if c.dep_ in ("advmod", "acomp") and c.i == verb.i + 1]
    words = tuple(
        Word(_text(token), token.dep_ == "aux" and token.lower_ != "to")
        for token in sorted(group, key=lambda token: token.i)
    )
    if is_passive_verb(verb) and not any(child.dep_ == "auxpass" for child in verb.children):
        is_attribute = (verb.dep_, verb.head.dep_) == ("acl", "attr")
        words = (Word(_text(verb.head.head) if is_attribute else "was"), *words)
    if is_infinitive(verb) and verb.head.pos_ in VERBS:
        if verb.lower_ == "become" and verb.head.lower_ in LEAVING:  # "left to become head"
            return (Word("became"),)
        if verb.dep_ == "xcomp":
            words = verb_words(verb.head) + words
    return words


def _text(token: Token) -> str:
    """The text of a token, without the capital letter of a first word that is not a name."""
    return token.lower_ if token.is_sent_start and token.pos_ != "PROPN" else token.text


def noun_words(noun: Token) -> Words:
    """A noun with its articles and modifiers.

    They are optional but in "deputy director"; in "product manager" they make another office.
    """
    firm = QUALIFIED if noun.lower_ not in _GRADED else ()
    is_office = noun.lower_.endswith(("er", "or"))
    words = [
        Word(_text(left), left.lower_ not in firm, is_office and left.tag_ == "NN")
        for left in noun.lefts
        if left.dep_ in _NOUN_WORDS
    ]
    return (*words, Word(_text(noun)))


def noun_texts(noun: Token) -> Sequence[str]:
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
