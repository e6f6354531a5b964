"""Title star: each thing of a document is joined to its topic by the words before the thing.

It needs no parse to hold, and it finds most of the pairs that a language model's extraction
has: in an encyclopedia nearly every sentence speaks of the article's subject. The sentence of
such a relation must not say of the topic what the document says of another, so a clause with a
subject of its own follows a colon: "Marie Curie: Pierre Curie was born in Paris".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spacy.tokens import Token

from sarag_rdf.index.spacy_mentions import SUBJECTS, Sighting
from sarag_rdf.index.spacy_parse import Parse, word

MAX_WORDS = 8
_DROPPED_FIRST = frozenset({"and", "but", "or", "who", "which", "that"})
_EMPTY = frozenset({"and", "or", "the", "a", "an", "of", "also"})


def title_star(parse: Parse, joined: set[frozenset[str]]) -> Iterator[tuple[str, str, str]]:
    """Yield (words, thing, sentence) for each thing that no pair in `joined` joins to the topic.

    The words are up to eight from the thing before it, or from the clause's start; a member of
    a list has the words before the list. What only qualifies a noun is left out ("Polish" in "a
    Polish physicist"): of such pairs GPT-3.5's extraction has one in twenty.
    """
    topic = parse.naming.topic
    if not topic:
        return
    done = {topic}
    words: Sequence[Token] = ()
    previous: Sighting | None = None
    for sighting in parse.naming.sightings:
        fresh = _words_before(parse, sighting, previous)
        if fresh or not _continues(parse, previous, sighting):
            words = fresh or _words_before(parse, sighting, None)
        previous = sighting
        if parse.root(sighting).dep_ == "amod":
            continue
        if sighting.name not in done and frozenset((topic, sighting.name)) not in joined:
            done.add(sighting.name)
            phrase = " ".join(map(word, words)) or "mentions"
            subject = _other_subject(parse, words)
            yield phrase, sighting.name, f"{topic}{subject} {phrase} {sighting.name}"


def _continues(parse: Parse, previous: Sighting | None, sighting: Sighting) -> bool:
    """Tell whether a thing is a further member of a list, or the place of a place."""
    if previous is None or parse.doc[sighting.begin - 1].text == "(":
        return False
    root = parse.root(sighting)
    tokens = range(previous.begin, previous.end)
    return root.head.i in tokens or any(token.i in tokens for token in root.conjuncts)


def _words_before(parse: Parse, sighting: Sighting, previous: Sighting | None) -> list[Token]:
    begin = parse.doc[sighting.begin].sent.start
    if previous is not None:
        begin = max(begin, previous.end)
    words: list[Token] = []
    for token in reversed(parse.doc[begin : max(begin, sighting.begin)]):
        if (token.text in (";", ":") and words) or len(words) == MAX_WORDS:
            break
        if any(character.isalnum() for character in token.text):
            words.append(token)
    words.reverse()
    while words and (
        words[0].lower_ in _DROPPED_FIRST
        or words[0].tag_ == "POS"
        or words[0].i in parse.naming.pronouns
    ):
        del words[0]
    return words if any(token.lower_ not in _EMPTY for token in words) else []


def _other_subject(parse: Parse, words: Sequence[Token]) -> str:
    """What comes between topic and words: a colon, and whom the words speak of instead of it."""
    if not words:
        return ""
    if any(token.dep_ in SUBJECTS for token in words):
        return ":"
    before = parse.doc[words[0].sent.start : words[0].i]
    spoken_of = [token.head for token in words if token.dep_ == "appos"] + [
        token for token in reversed(before) if token.dep_ in SUBJECTS
    ]
    names = parse.subject_names(spoken_of[0]) if spoken_of else []
    return f": {names[0]}" if names and parse.naming.topic not in names else ""
