"""What the facade has under a name of its own, imported when it is first used."""

from __future__ import annotations

from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Self

from sarag_rdf.kg.session import Session

if TYPE_CHECKING:
    from sarag_rdf.kg.decisions import Decisions
    from sarag_rdf.kg.links import Links
    from sarag_rdf.kg.ontologies import Ontologies
    from sarag_rdf.kg.quarantine import Quarantine


class Facets:
    """Decisions, links, ontologies and quarantine of a graph."""

    def __init__(self, session: Session) -> None:
        self.session = session

    @cached_property
    def decisions(self) -> Decisions:
        """Which names refer to the same entity, classes of entities, what phrases state."""
        from sarag_rdf.kg.decisions import Decisions

        return Decisions(self.session)

    @cached_property
    def links(self) -> Links:
        """Links from entities to items of other graphs."""
        from sarag_rdf.kg.links import Links

        return Links(self.session)

    @cached_property
    def ontologies(self) -> Ontologies:
        """The ontologies of the graph, and what follows from them."""
        from sarag_rdf.kg.ontologies import Ontologies

        return Ontologies(self.session)

    @cached_property
    def quarantine(self) -> Quarantine:
        """Sources and statements that do not conform to shapes."""
        from sarag_rdf.kg.quarantine import Quarantine

        return Quarantine(self.session)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all files; the graph itself stays."""
        self.session.close()
