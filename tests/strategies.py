"""The strategies that are installed: name -> options, by kind."""

from __future__ import annotations

from sarag_rdf.kg.registry import GROUPS, strategies

STRATEGIES = {kind: strategies(kind) for kind in GROUPS}
RETRIEVERS, CONTEXTS, REASONERS, EXTRACTORS, VECTORS = STRATEGIES.values()
