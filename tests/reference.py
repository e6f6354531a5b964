"""The generated parts of the reference: commands and settings from click, queries from headers.

A generated part stands between ``<!-- NAME -->`` and ``<!-- end of NAME -->``.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from sarag_rdf.base.plugins import plugins
from sarag_rdf.base.resources import query_file, query_names
from sarag_rdf.cli.main import cli, command_names, summary
from sarag_rdf.cli.question_commands import _described, form, written
from sarag_rdf.cli.settings_files import Setting
from sarag_rdf.kg.registry import GROUPS

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "docs" / "reference"
SHARED = 3
"""An option of this many commands or more is described once, with the shared options."""

HARMLESS = {True: "yes", "inside": "names and paths in it", False: "if trusted"}
"""Whether the settings file of a folder sets an option, as `Setting.harmless` has it."""


@dataclass(frozen=True)
class Option:
    """One option of a command line as a row of a table."""

    flag: str
    variables: str
    default: str
    meaning: str
    harmless: str


def commands() -> list[tuple[str, click.Command]]:
    """Every command that is not a group, by its full name."""
    return list(_leaves(cli, ""))


def _leaves(group: click.Group, prefix: str) -> Iterator[tuple[str, click.Command]]:
    with click.Context(group) as context:
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            if isinstance(command, click.Group):
                yield from _leaves(command, f"{prefix}{name} ")
            else:
                yield f"{prefix}{name}", command


def options(command: click.Command) -> list[Option]:
    """The options of a command, without ``--version`` of the program and ``--help``."""
    return [
        _row(option)
        for option in command.params
        if isinstance(option, click.Option) and not option.is_eager
    ]


def _row(option: click.Option) -> Option:
    flags = ", ".join(f"`{name}`" for name in sorted(option.opts, key=len))
    variables = [option.envvar] if isinstance(option.envvar, str) else list(option.envvar or ())
    default = option.default
    if option.is_flag:
        shown = "off"
    else:
        given = isinstance(default, int | float | str | Path) and default != ""
        shown = f"`{default}`" if given else ""
    meaning = option.help or ""
    if isinstance(option.type, click.Choice):
        meaning = f"{meaning} One of {', '.join(map(str, option.type.choices))}."
    if option.multiple and "repeated" not in meaning:
        meaning = f"{meaning} May be repeated."
    harmless = HARMLESS[option.harmless] if isinstance(option, Setting) else ""
    names = ", ".join(f"`{name}`" for name in variables)
    return Option(flags, names, shown, meaning.replace("|", "\\|"), harmless)


def _users() -> dict[Option, list[str]]:
    users: dict[Option, list[str]] = {}
    for name, command in commands():
        for option in options(command):
            users.setdefault(option, []).append(name)
    return users


def commands_part() -> str:
    """Every command: usage, description, its own options, and which shared ones it takes."""
    users = _users()
    sections = [_overview()]
    for name, command in commands():
        own = [option for option in options(command) if len(users[option]) < SHARED]
        shared = [
            option.flag.replace(", ", "/")
            for option in options(command)
            if len(users[option]) >= SHARED
        ]
        lines = [f"### sarag {name}", "", "```text", _usage(name, command), "```", ""]
        lines += [_prose(command.help or ""), ""]
        if command.epilog:
            example = command.epilog.removeprefix("Example:").strip()
            lines += [f"Example: `{example}`", ""]
        if own:
            lines += ["| option | default | meaning |", "| --- | --- | --- |"]
            for option in own:
                variable = f" Environment: {option.variables}." if option.variables else ""
                lines.append(f"| {option.flag} | {option.default} | {option.meaning}{variable} |")
            lines.append("")
        if shared:
            lines += [f"[Shared options](#shared-options): {', '.join(shared)}.", ""]
        sections.append("\n".join(lines))
    return "\n".join(sections)


def _overview() -> str:
    """What each command is for; a group links to its commands."""
    lines = ["| command | purpose |", "| --- | --- |"]
    for name in command_names():
        inner = [full for full, _ in commands() if full.split()[0] == name]
        links = ", ".join(f"[{full}](#sarag-{full.replace(' ', '-')})" for full in inner)
        lines.append(f"| {links} | {summary(name)} |")
    return "\n".join([*lines, ""])


def _usage(name: str, command: click.Command) -> str:
    # a command keeps the help option of its first context: -h as well, for tests that come later
    context = click.Context(command, info_name=f"sarag {name}", **cli.context_settings)
    return " ".join([f"sarag {name}", *command.collect_usage_pieces(context)])


def _prose(text: str) -> str:
    """Help as Markdown: a paragraph that click keeps as it is becomes a block."""
    parts = []
    for part in inspect.cleandoc(text).split("\n\n"):
        if part.startswith("\b"):
            parts.append("```text\n" + part.removeprefix("\b\n") + "\n```")
        else:
            parts.append(re.sub(r"([<*|])", r"\\\1", part))
    return "\n\n".join(parts)


def shared_part() -> str:
    """Options of many commands, in one table for each set of commands that take them."""
    groups: dict[tuple[str, ...], list[Option]] = {}
    for option, users in _users().items():
        if len(users) >= SHARED:
            groups.setdefault(tuple(users), []).append(option)
    lines = []
    for names, rows in groups.items():
        taken = "all commands" if len(names) == len(commands()) else ", ".join(names)
        lines += [
            f"**{taken}**",
            "",
            "| option | environment | default | meaning |",
            "| --- | --- | --- | --- |",
        ]
        lines += [
            f"| {row.flag} | {row.variables} | {row.default} | {row.meaning} |" for row in rows
        ]
        lines.append("")
    return "\n".join(lines)


def settings_part() -> str:
    """Every setting: its variable, flag, default and meaning; the key is the flag's name."""
    settings: dict[str, list[tuple[Option, str]]] = {}
    for option, names in {**{row: ["sarag"] for row in options(cli)}, **_users()}.items():
        if option.variables:
            settings.setdefault(option.variables, []).append((option, ", ".join(names)))
    lines = ["| environment | flag | default | file of a folder | meaning |"]
    lines.append("| --- | --- | --- | --- | --- |")
    for variables, rows in sorted(settings.items(), key=lambda item: item[0].replace("`", "")):
        for option, users in rows:
            of = f" ({users})" if len(rows) > 1 else ""
            meaning = option.meaning + of
            cells = (variables, option.flag, option.default, option.harmless, meaning)
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def queries_part() -> str:
    """Every query file that takes part in reading a graph, folder by folder."""
    folders = {path.parent.name for path in (ROOT / "queries").glob("*/*.rq")}
    lines: list[str] = []
    for folder in ["sarag", *sorted(folders - {"sarag"})]:
        if folder == "sarag":
            lines += [
                "### Reading a graph",
                "",
                "The same names, values and variables in `queries/sarag/` and, for imported "
                "graphs, in `queries/imported/`; the summary is that of `queries/sarag/`.",
            ]
        else:
            lines += [f"### queries/{folder}"]
        lines += ["", "| query | values | returns | summary |", "| --- | --- | --- | --- |"]
        for name in query_names(folder):
            header = query_file(folder, name).header
            values, returns = (
                ", ".join(f"`?{word}`" for word in header.get(key, "").split() if word != "none")
                for key in ("params", "returns")
            )
            summary = header["summary"].replace("|", "\\|")
            link = f"[{name}](../../queries/{folder}/{name}.rq)"
            lines.append(f"| {link} | {values} | {returns} | {summary} |")
        lines.append("")
    return "\n".join(lines)


def options_part() -> str:
    """Every strategy with its options and presets."""
    lines: list[str] = []
    for kind, group in GROUPS.items():
        lines.append(f"## {kind.removesuffix('s').capitalize()}s: `--{kind}`\n")
        for plugin in plugins(group).values():
            loaded = plugin.load()
            about = _described(plugin, loaded)
            lines.append(f"### {form(plugin, loaded)}\n\n{about['summary']}\n")
            if about["options"]:
                lines.append("| option | default | allowed | meaning |\n| --- | --- | --- | --- |")
            for name, of in about["options"].items():
                default = written(of["default"]) or "none"
                lines.append(f"| `{name}` | {default} | {of['range']} | {of['meaning']} |")
            lines += [""] if about["options"] else []
            presets = "; ".join(
                f"`{preset}` is " + ", ".join(f"{k} {written(v)}" for k, v in values.items())
                for preset, values in about["presets"].items()
            )
            if presets:
                lines.append(f"Presets (`preset=NAME`; other options override it): {presets}.\n")
    return "\n".join(lines)


GENERATED: Mapping[tuple[Path, str], Callable[[], str]] = {
    (REFERENCE / "command-line.md", "commands"): commands_part,
    (REFERENCE / "command-line.md", "shared options"): shared_part,
    (REFERENCE / "settings.md", "settings"): settings_part,
    (REFERENCE / "queries.md", "queries"): queries_part,
    (REFERENCE / "options.md", "options"): options_part,
}
"""(page, name of the part) -> the function that writes it."""


def part_pattern(name: str) -> re.Pattern[str]:
    """Matches the text between the two marks of a generated part."""
    return re.compile(rf"(?<=<!-- {name} -->\n).*?(?=<!-- end of {name} -->)", re.DOTALL)


def write() -> None:
    """Bring all generated parts up to date."""
    for (page, name), generate in GENERATED.items():
        before, *parts = part_pattern(name).split(page.read_text("utf-8"))
        if len(parts) != 1:
            raise ValueError(f"{page}: expected one part '{name}', found {len(parts)}")
        page.write_text(f"{before}{generate()}{parts[0]}", "utf-8")
