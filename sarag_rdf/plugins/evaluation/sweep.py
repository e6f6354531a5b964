"""Settings of one retriever, to be compared: an option varied alone, or all combinations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.options import RetrieverOptions, Spec
from sarag_rdf.plugins.evaluation.retrieval import Cutoffs, RetrievalMethod
from sarag_rdf.plugins.evaluation.tables import head, percent, table

MOST_SETTINGS: Final = 500
"""Settings of one sweep."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The values of the varied options, as written, and the retriever that has them."""

    values: Mapping[str, str]
    method: RetrievalMethod


def read_variation(text: str) -> tuple[str, tuple[str, ...]]:
    """An option and its distinct values, from ``tau_a=0.2,0.5``; raises `UsageError`."""
    name, equals, values = text.partition("=")
    several = tuple(dict.fromkeys(value.strip() for value in values.split(",") if value.strip()))
    if not (name.strip() and equals and several):
        raise UsageError(f"cannot read --vary {text}: write OPTION=VALUE,VALUE, such as c=0.2,0.4")
    return name.strip(), several


def settings_of(
    retriever: str,
    variations: Sequence[tuple[str, Sequence[str]]],
    read: Callable[[str], RetrieverOptions],
    *,
    is_grid: bool,
) -> list[Setting]:
    """The settings to compare: those of a grid, or each option varied by itself.

    Settings with equal options share one method, under the label of the first.

    `read` makes options of a specification, such as ``sarag-paper:c=0.2``.

    Raises `UsageError` for options that the retriever does not have, and values out of range.
    """
    names = [name for name, _ in variations]
    if len(set(names)) < len(names):
        raise UsageError("--vary names an option twice: give all of its values in one --vary")
    if is_grid:
        chosen = [
            dict(zip(names, values, strict=True)) for values in product(*(v for _, v in variations))
        ]
    else:
        chosen = [{name: value} for name, values in variations for value in values]
    if len(chosen) > MOST_SETTINGS:
        raise UsageError(f"{len(chosen)} settings are too many: vary at most {MOST_SETTINGS}")
    methods: dict[RetrieverOptions, RetrievalMethod] = {}
    settings = []
    for values in chosen:
        method = _method(retriever, values, read)
        settings.append(Setting(values, methods.setdefault(method.options, method)))
    return settings


def distinct_methods(settings: Sequence[Setting]) -> list[RetrievalMethod]:
    """The methods of settings, those with equal options once."""
    return list(dict.fromkeys(setting.method for setting in settings))


def _method(
    retriever: str, values: Mapping[str, str], read: Callable[[str], RetrieverOptions]
) -> RetrievalMethod:
    spec = Spec.parse(retriever)
    options = {**spec.options, **values}
    label = ":".join([spec.name, *(f"{name}={value}" for name, value in options.items())])
    return RetrievalMethod(label, read(label))


def sweep_lines(
    settings: Sequence[Setting],
    report: Mapping[str, Any],
    times: Mapping[str, Any],
    cutoffs: Cutoffs,
) -> Iterator[str]:
    """A line for each setting: its values, recall, coverage, documents and milliseconds."""
    results = {result["method"]: result for result in report["results"]}
    counts = report["setting"]["questions"]
    yield f"Questions: {counts['count']}; with recall: {counts['with_recall']}; figures in percent"
    yield ""
    measures = [f"R@{k}" for k in cutoffs.ks] + [f"coverage@{tokens}" for tokens in cutoffs.tokens]
    rows = []
    for setting in settings:
        result = results[setting.method.label]
        rows.append(
            [
                " ".join(f"{name}={value}" for name, value in setting.values.items()),
                *(percent(result[name]) for name in measures),
                f"{result['returned']:.1f}",
                f"{times['retrieval'][setting.method.label]['median']:.1f}",
            ]
        )
    yield from table(["setting", *map(head, measures), "docs", "ms"], rows)
    yield ""
    yield "the best of several settings on these questions promises more than it keeps on others"


def check_curves(settings: Sequence[Setting]) -> None:
    """Raise `UsageError` for settings that `curves` cannot draw, before anything is run."""
    names = list(settings[0].values)
    if len({tuple(setting.values) for setting in settings}) > 1 or len(names) > 2:
        raise UsageError("--plot needs one --vary, or two with --grid")
    for setting in settings:
        try:
            float(setting.values[names[0]])
        except ValueError as error:
            raise UsageError(f"--plot needs numbers for {names[0]}") from error


def curves(
    settings: Sequence[Setting], report: Mapping[str, Any], cutoffs: Cutoffs
) -> tuple[str, dict[str, list[tuple[float, float]]]]:
    """The varied option, and lines of (value, measure in [0, 1]) to draw.

    One option has a line for each cutoff; of two, the second has a line for each of its values, of
    the recall at the middle cutoff. Others are refused by `check_curves`.
    """
    results = {result["method"]: result for result in report["results"]}
    names = list(settings[0].values)
    middle = f"R@{cutoffs.ks[len(cutoffs.ks) // 2]}"
    lines: dict[str, list[tuple[float, float]]] = {}
    for setting in settings:
        result = results[setting.method.label]
        value = float(setting.values[names[0]])
        if len(names) == 1:
            drawn = {f"R@{k}": f"R@{k}" for k in cutoffs.ks}
        else:
            drawn = {f"{names[1]}={setting.values[names[1]]}": middle}
        for label, measure in drawn.items():
            if result[measure] is not None:
                lines.setdefault(label, []).append((value, result[measure]))
    title = names[0] if len(names) == 1 else f"{names[0]} ({middle})"
    return title, {label: sorted(points) for label, points in lines.items()}
