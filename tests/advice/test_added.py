"""How many files a knob, a formula and a rule touch: each is added to a copy of the program."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import httpdyno

PROGRAM = Path(httpdyno.__file__).parent
KNOB = 'sample_knob = { summary = "sampled", kind = "integer", default = 7, minimum = 1 }\n'
FORMULA = """
[sample]
title = "Sample"
question = "How much is twice a number?"
expression = "twice = 2 × n"
answer = "{twice} is twice {n}"
inputs = [{ name = "n", kind = "count", example = "3", meaning = "A number" }]
steps = [{ name = "twice", kind = "count", expression = "2 * n", meaning = "Twice that" }]
warnings = ["a sample"]
"""
RULE = """
[sample-rule]
kinds = ["nginx"]
severity = "hint"
checks = "A sample"
why = "It matters."
says = "a sample of {kind}"
fix = "take it out"
risks = "nothing"
unless = "it is no sample"
source = "nobody"
"""
LOOK = """

@rule("sample-rule")
def _sample(facts: Facts) -> Iterator[Seen]:
    yield Seen(what=because("rules.sample-rule", kind=facts.kind))
"""
FINDINGS = """
from httpdyno.advice.rules import all_rules
from httpdyno.advice.rules.facts import Facts
from httpdyno.advice.rules.declaration import findings_of
from httpdyno.model import Survey
from httpdyno.report.shared.message import text
for each in findings_of(Facts(kind="nginx", survey=Survey(version="")), all_rules()):
    print(each.name, text(each.what), sep="; ")
"""


@pytest.mark.parametrize(
    ("added", "n_files", "arguments", "shown"),
    [
        (
            {"servers/gunicorn/settings.toml": KNOB},
            1,
            ("-m", "httpdyno", "knobs", "gunicorn"),
            "sample_knob  1 or more; 7 unless set",
        ),
        (
            {"advice/formula/formulas.toml": FORMULA},
            1,
            ("-m", "httpdyno", "formula", "sample", "--n", "21"),
            "42 is twice 21",
        ),
        (
            {"advice/rules/rules.toml": RULE, "advice/rules/nginx.py": LOOK},
            2,
            ("-c", FINDINGS),
            "sample-rule; a sample of nginx",
        ),
    ],
    ids=["knob", "formula", "rule"],
)
def test_it_touches_no_more_files(tmp_path, added, n_files, arguments, shown):
    assert len(added) == n_files
    copy = tmp_path / PROGRAM.name
    ignored = shutil.ignore_patterns("studies")
    shutil.copytree(PROGRAM, copy, copy_function=os.symlink, ignore=ignored)
    for name, text in added.items():
        (copy / name).unlink()
        (copy / name).write_text((PROGRAM / name).read_text() + text)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    said = subprocess.run(
        [sys.executable, *arguments],
        env=environment,
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    assert shown in said.stdout
