"""What of a dump is kept: entities of certain types, texts in certain languages, certain claims."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from sarag_rdf.wikibase.model import Json, entity_id, mapping

INSTANCE_OF: Final = "P31"
_TEXTS: Final = ("labels", "descriptions", "aliases")


@dataclass(frozen=True, slots=True)
class Filter:
    """Keeps everything where it names nothing.

    `languages` are those of labels, descriptions and aliases; `types` ids of which an item must
    be an instance (P31, not deprecated); `properties` those whose claims are kept. Properties
    themselves are kept whatever the types: items are described with them.
    """

    languages: Collection[str] = ()
    types: Collection[str] = ()
    properties: Collection[str] = ()

    def __call__(self, data: Json) -> dict[str, Any] | None:
        """What is left of a document, or None."""
        if self.types and data.get("type") == "item" and not self._of_type(data):
            return None
        left = dict(data)
        if self.languages:
            for key in _TEXTS:
                texts = mapping(data, key).items()
                left[key] = {code: held for code, held in texts if code in self.languages}
        if self.properties:
            claims = mapping(data, "claims").items()
            left["claims"] = {id_: group for id_, group in claims if id_ in self.properties}
        return left

    def _of_type(self, data: Json) -> bool:
        for statement in mapping(data, "claims").get(INSTANCE_OF, ()):
            snak = statement["mainsnak"]
            if statement.get("rank") == "deprecated" or snak["snaktype"] != "value":
                continue
            if entity_id(snak["datavalue"]["value"]) in self.types:
                return True
        return False
