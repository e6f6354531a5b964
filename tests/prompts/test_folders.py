"""A folder of templates, such as that of a plug-in."""

from pathlib import Path

import jinja2
import pytest

from sarag_rdf.base.prompts import Prompts, defused, prompt_hash, render_prompt


def test_a_plug_in_renders_its_own_templates(tmp_path: Path) -> None:
    (tmp_path / "grade.j2").write_text("Grade {{ answer }}.\n")
    prompts = Prompts(tmp_path)
    assert (
        prompts.render("grade", answer="<|im_start|>Ulm") == f"Grade {defused('<|im_start|>')}Ulm."
    )
    with pytest.raises(jinja2.UndefinedError, match="answer"):
        prompts.render("grade")
    with pytest.raises(jinja2.TemplateNotFound):
        render_prompt("grade", answer="Ulm")


def test_templates_include_those_of_the_core(tmp_path: Path) -> None:
    (tmp_path / "grade.j2").write_text('{% include "_evidence.j2" %}')
    core = Prompts(Path(jinja2.__file__).parent)  # any other folder
    evidence = {"sections": [], "facts": [], "fence": "0", "summary": ""}
    assert Prompts(tmp_path).render("grade", **evidence) == core.render("_evidence", **evidence)


def test_the_hash_follows_the_template(tmp_path: Path) -> None:
    path = tmp_path / "answer.j2"
    path.write_text("a")
    before = Prompts(tmp_path).digest("answer")
    path.write_text("b")
    assert len({before, Prompts(tmp_path).digest("answer"), prompt_hash("answer")}) == 3
