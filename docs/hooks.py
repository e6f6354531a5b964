"""MkDocs hooks: repository files that pages link to join the site, which must load nothing else.

Pages link to files outside ``docs/`` by relative paths, so that the links work in a checkout. In
the site such a Markdown file becomes a page under its own path, and any other file is copied to
``source/PATH.txt``.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
_LINK = re.compile(r"(?P<text>!?\[[^\]]*\]\()(?P<path>[^)\s#]*)(?P<rest>[^)\s]*\))")
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_EXTERNAL_ASSET = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["']?https?:"""
    r"""|<link\b(?![^>]*rel=["']?(?:canonical|next|prev))[^>]*\bhref=["']?https?:"""
    r"""|@import\s+(?:url\()?["']?https?:|url\(["']?https?:"""
)


def _in_site(target: Path) -> str:
    """The path within the site's sources of a repository file."""
    path = target.relative_to(ROOT)
    if path.parts[0] == "docs":
        return path.relative_to("docs").as_posix()
    return path.as_posix() if path.suffix == ".md" else f"source/{path.as_posix()}.txt"


def _target(page: Path, path: str) -> Path | None:
    """The repository file that a link leads to; None for URLs and anchors."""
    if not path or re.match(r"[a-z]+:", path):
        return None
    return Path(os.path.normpath(page.parent / path))


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add every repository file that some page links to."""
    pages = [Path(str(file.abs_src_path)) for file in files.documentation_pages()]
    pages += [ROOT / name for name in ("CONTRIBUTING.md", "CHANGELOG.md")]
    pages += sorted((ROOT / "benchmarks").glob("*.md"))
    added: set[Path] = set()
    while pages:
        page = pages.pop()
        if page not in added and "docs" not in page.relative_to(ROOT).parts[:1]:
            added.add(page)
            files.append(File.generated(config, _in_site(page), abs_src_path=str(page)))
        if page.suffix != ".md":
            continue
        for match in _LINK.finditer(_FENCE.sub("", page.read_text("utf-8"))):
            target = _target(page, match["path"])
            if target is None or target.is_relative_to(ROOT / "docs") or target in added:
                continue
            if not target.is_file():
                raise PluginError(f"{page.relative_to(ROOT)}: {match['path']} is not a file")
            pages.append(target)
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Rewrite links from the repository's layout to that of the site."""
    here = Path(str(page.file.abs_src_path))
    folder = PurePosixPath(page.file.src_uri).parent

    def rewrite(match: re.Match[str]) -> str:
        target = _target(here, match["path"])
        if target is None:
            return match[0]
        path = os.path.relpath(_in_site(target), folder)
        return f"{match['text']}{path}{match['rest']}"

    fences = iter(_FENCE.findall(markdown))
    return "".join(_LINK.sub(rewrite, prose) + next(fences, "") for prose in _FENCE.split(markdown))


def on_nav(nav: Navigation, files: Files, **_: object) -> Navigation:
    """Fail for a page of the site that the navigation does not list."""
    listed = {page.file.src_uri for page in nav.pages}
    for file in files.documentation_pages():
        if file.src_uri not in listed and (ROOT / "docs" / file.src_uri).is_file():
            raise PluginError(f"{file.src_uri} is not in the navigation of mkdocs.yml")
    return nav


def on_post_build(config: MkDocsConfig) -> None:
    """Fail if a page or style sheet loads a file over the network."""
    for path in Path(config.site_dir).rglob("*"):
        if path.suffix in {".html", ".css"}:
            found = _EXTERNAL_ASSET.search(path.read_text("utf-8"))
            if found:
                raise PluginError(f"{path.name} loads from the network: {found[0][:200]}")
