"""How the benchmark writes the objects of a property: learned from the examples it comes with.

Text2KGBench compares strings, and writes the same kind of value in many ways: "1923-11-18" with
and without quotation marks, "20 July 2001", "94.0", "94.0 (minutes)"; and an entity as its article
in Wikipedia is called: "Danish_language" where the text has "Danish". The graph holds none of
these; statements are written in the form of the examples only to be compared with the gold ones.
Without examples a literal is written in its lexical form.
"""

from __future__ import annotations

import re
import string
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import date

from sarag_rdf.extract.typed.matching import soft_text
from sarag_rdf.types import Value

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
    """What is before and after a form in a text, if it is no part of a longer word or number."""
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
