"""``sarag strategies``: retrievers, contexts, reasoners and extractors with their options."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from sarag_rdf.base.errors import PluginError, UsageError
from sarag_rdf.cli.options import json_option

if TYPE_CHECKING:
    from sarag_rdf.base.options import Option
    from sarag_rdf.base.plugins import Plugin

_ARGUMENTS = {"openie": "openie:FILE"}
"""Strategies that are written with an argument instead of options."""


@click.command(name="strategies", epilog="Example:  sarag strategies sarag-paper")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@json_option
@click.option("--markdown", is_flag=True, help="Print the reference page in Markdown.")
def command(names: tuple[str, ...], *, as_json: bool, markdown: bool) -> int:
    """List retrievers, contexts, reasoners and extractors with their options, or those named.

    The options of a strategy follow its name: --retriever sarag:k=5:decay=0.2. --context,
    --reasoner and --extractor, 'sarag evaluate', the Python methods and the parameters of the
    server take the same form.
    """
    from sarag_rdf.base.plugins import loadable
    from sarag_rdf.kg.registry import GROUPS

    found = {kind: [*loadable(group)] for kind, group in GROUPS.items()}
    known = [plugin.name for several in found.values() for plugin, _ in several]
    for name in names:
        if name not in known:
            raise UsageError(f"unknown strategy '{name}': choose from {', '.join(known)}")
    if as_json and markdown:
        raise UsageError("--json and --markdown exclude each other: give one")
    chosen: dict[str, dict[Plugin, Any]] = {kind: {} for kind in found}
    for kind, several in found.items():
        for plugin, loaded in several:
            if names and plugin.name not in names:
                continue
            if isinstance(loaded, PluginError):
                click.echo(f"sarag: {loaded}", err=True)
            else:
                chosen[kind][plugin] = loaded
    if as_json:
        data = {kind: _data(table) for kind, table in chosen.items() if table}
        click.echo(json.dumps(data, ensure_ascii=False, indent=2))
    elif markdown:
        click.echo("\n".join(_page(chosen)))
    else:
        for kind, table in chosen.items():
            for plugin, class_ in table.items():
                _echo(kind, plugin, class_)
    return 0


def _options(class_: Any) -> tuple[Option, ...]:
    from sarag_rdf.base.options import declared_options

    return declared_options(getattr(class_, "options", class_))


def _presets(class_: Any) -> Mapping[str, Mapping[str, Any]]:
    presets: Mapping[str, Mapping[str, Any]] = getattr(class_, "options", class_).presets
    return presets


def _summary(class_: Any) -> str:
    return str(class_.__doc__).splitlines()[0]


def _written(value: Any) -> str:
    """A default as it is written in NAME:KEY=VALUE; empty for none."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _echo(kind: str, plugin: Plugin, class_: Any) -> None:
    formatter = click.HelpFormatter(width=100, max_width=100)
    name = _ARGUMENTS.get(plugin.name, plugin.name)
    with formatter.section(f"--{kind} {name}"):
        formatter.write_text(f"{_summary(class_)} ({plugin.package} {plugin.version})")
        rows = [
            (
                f"{option.name}={_written(option.default)}".rstrip("="),
                f"{option.meaning}  [{option.allowed}]",
            )
            for option in _options(class_)
        ]
        rows += [
            (
                f"preset={preset}",
                ", ".join(f"{key}={_written(value)}" for key, value in values.items()),
            )
            for preset, values in _presets(class_).items()
        ]
        if rows:
            formatter.write_dl(rows)
    click.echo(formatter.getvalue())


def _data(table: dict[Plugin, Any]) -> dict[str, Any]:
    return {
        plugin.name: {
            "package": plugin.package,
            "summary": _summary(class_),
            "options": {
                option.name: {
                    "type": option.kind.__name__,
                    "default": option.default,
                    "range": option.allowed,
                    "meaning": option.meaning,
                }
                for option in _options(class_)
            },
            "presets": {preset: dict(values) for preset, values in _presets(class_).items()},
        }
        for plugin, class_ in table.items()
    }


_INTRODUCTION = """\
# Options of strategies

<!-- Written by: sarag strategies --markdown > docs/reference/options.md -->

A strategy is chosen by its name, and its options follow the name: `NAME:KEY=VALUE:KEY=VALUE`.

```sh
sarag search "Which river flows through Warsaw?" --retriever sarag:k=5:decay=0.2
sarag ask "Which river flows through Warsaw?" --context whole:documents=5 --reasoner cot:steps=2
```

`sarag evaluate`, the Python methods `search` and `ask`, and the parameters of [the
server](server.md#questions) take the same form. In Python, the options of a retriever can also be
keyword arguments or an options object such as `Sarag(k=5)`; for the server they are
parameters of their own, too. An unknown option or a value out of range is an error. `sarag
strategies NAME` prints the options of a strategy."""


def _page(chosen: dict[str, dict[Plugin, Any]]) -> Iterator[str]:
    yield _INTRODUCTION
    for kind, table in chosen.items():
        yield f"\n## {kind.capitalize()}s: `--{kind}`"
        for plugin, class_ in table.items():
            yield f"\n### {_ARGUMENTS.get(plugin.name, plugin.name)}\n\n{_summary(class_)}"
            options = _options(class_)
            if options:
                yield "\n| option | default | allowed | meaning |\n| --- | --- | --- | --- |"
            for option in options:
                default = _written(option.default) or "none"
                yield f"| `{option.name}` | {default} | {option.allowed} | {option.meaning} |"
            presets = "; ".join(
                f"`{preset}` is " + ", ".join(f"{k} {_written(v)}" for k, v in values.items())
                for preset, values in _presets(class_).items()
            )
            if presets:
                yield f"\nPresets (`preset=NAME`; other options override it): {presets}."
