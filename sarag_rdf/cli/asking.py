"""Options of the commands that search and ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from sarag_rdf.cli.options import setting


def retrieval_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """--retriever and its parameters; what is not given is the retriever's default."""
    for decorate in reversed(
        [
            setting(
                "--retriever",
                default="sarag",
                help="sarag, sarag-paper, bm25, dense, rrf, khop or ppr.",
            ),
            setting("--preset", help="sarag-paper: musique (k 3, n 4) or 2wiki (k 10, n 3)."),
            setting(
                "-k",
                "--k",
                type=int,
                help="How many of the nearest to start at: documents (sarag), descriptions "
                "(sarag-paper, khop), relationships (ppr). For rrf its constant.",
            ),
            setting("-n", "--n", type=int, help="Rounds (sarag), or hops (sarag-paper, khop)."),
            setting(
                "--c",
                type=float,
                help="Similarity up to which a relationship passes nothing: a quantile (sarag), or "
                "a cosine (sarag-paper).",
            ),
            setting("--limit", default=10, type=click.IntRange(1), help="Documents at most."),
            setting(
                "--engine",
                default="auto",
                type=click.Choice(["auto", "memory", "sparql"]),
                help="What follows the graph's links: arrays in memory, kept between runs, or a "
                "SPARQL query a step. auto: memory for a folder, sparql for an endpoint.",
            ),
        ]
    ):
        function = decorate(function)
    return function


def retriever_arguments(options: dict[str, Any]) -> dict[str, Any]:
    """What was given of `retrieval_options`, as keyword arguments of `search`."""
    names = ("retriever", "preset", "k", "n", "c", "limit")
    return {name: options[name] for name in names if options.get(name) is not None}


def reasoning_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """--reasoner, and what a model is given."""
    for decorate in reversed(
        [
            setting(
                "--reasoner",
                default="single",
                help="single, cot, decompose, sparql-cot, sparql-grounded, generic-cot, self-ask, "
                "closed-book or route; options as NAME:KEY=VALUE. See docs/reasoning.md.",
            ),
            setting(
                "--context",
                default="whole",
                help="What the model is given of what was found: whole documents, selected "
                "sentences, or a graph-walk; options as NAME:KEY=VALUE.",
            ),
            setting(
                "--budget",
                type=click.IntRange(1),
                help="Tokens of a context at most. Default: none (whole), 400 (selected), 4000 "
                "(graph-walk).",
            ),
            setting(
                "--tokenizer",
                help="Counts tokens: a folder or the name of a model. Default: a word between "
                "white space counts as 4/3 tokens.",
            ),
        ]
    ):
        function = decorate(function)
    return function


def reasoning_arguments(options: dict[str, Any]) -> dict[str, Any]:
    """What was given of `reasoning_options`, as keyword arguments of `ask`."""
    names = ("reasoner", "context", "budget", "tokenizer")
    return {name: options[name] for name in names if options.get(name) is not None}
