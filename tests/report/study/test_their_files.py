from msgspec import structs
from rich.console import Console
from tests.report.plain import plain_text
from tests.report.sample_trouble import own_site

from httpdyno.report.study.text import outcome_text
from httpdyno.report.study.their_files import MOST_LINES, diff_text, patch_text, proof_text

FILE = "--- /etc/a.conf\n+++ /etc/a.conf\n@@ -1 +1 @@\n-- old\n+-- new\n"
NEW = "--- /dev/null\n+++ /etc/b.conf\n@@ -0,0 +1 @@\n+b\n"
COMMAND = "--- command line of shop\n+++ command line of shop\n@@ -1 +1,2 @@\n shop\n+/x\n"
VARIABLE = "--- environment\n+++ environment\n@@ -0,0 +1 @@\n+shop: A=1\n"


def test_a_patch_is_of_files_alone():
    assert patch_text(VARIABLE + FILE + COMMAND + NEW) == FILE + NEW
    assert patch_text(COMMAND + VARIABLE) == ""
    assert patch_text("") == ""


def test_lines_that_look_like_names_of_files_stay_where_they_are():
    # `-- x` taken out reads `--- x`.
    tricky = "--- /etc/a\n+++ /etc/a\n@@ -1,2 +1 @@\n--- x\n-y\n"
    assert patch_text(tricky) == tricky


def test_context_takes_one_line_and_what_is_changed_is_whole():
    words = " word" * 20
    console = Console(width=40, color_system=None)
    with console.capture() as shown:
        console.print(diff_text(f"@@ -1,2 +1,2 @@\n {words}\n-a{words}\n+b{words}\n"))
    lines = shown.get().splitlines()
    [context] = [line for line in lines if line.startswith(" ")]
    assert context.endswith("…")
    assert len(context) <= 40
    changed = " ".join(" ".join(lines[2:]).split())
    assert changed == f"-a{words} +b{words}"


def test_a_knob_that_was_changed_twice_has_the_proof_of_both_steps():
    outcome = own_site()
    first, second = [step for step in outcome.steps if step.kept][:2]
    alone = [proof_text(outcome, step.knob) for step in (first, second)]
    assert alone[0] != alone[1]
    steps = tuple(
        structs.replace(step, knob=first.knob) if step is second else step for step in outcome.steps
    )
    both = structs.replace(outcome, steps=steps)
    assert proof_text(both, first.knob) == ", then ".join(alone)
    assert proof_text(both, second.knob) == "not tried alone"


def test_the_first_lines_say_what_to_change_and_what_that_gains():
    head = plain_text(outcome_text(own_site())).splitlines()[:25]
    text = "\n".join(head)
    assert "4.90 × the throughput of the start (4.59 … 5.23)" in head[0]
    for told in ("proven changes", "+worker_processes auto;", "`patch -p1 -d / < tuned.patch`"):
        assert told in text
    assert any(line.startswith("change ") for line in head)


def test_of_a_long_difference_the_first_changes_are_told_and_how_to_have_all():
    n = 2 * MOST_LINES
    lines = "".join(f" kept {each}\n+new {each}\n" for each in range(n))
    outcome = structs.replace(
        own_site(), overlay_diff=f"--- /etc/a\n+++ /etc/a\n@@ -1,{n} +1,{2 * n} @@\n{lines}"
    )
    text = plain_text(outcome_text(outcome))
    assert "kept 0" not in text
    assert f"+new {MOST_LINES - 3}" in text
    assert f"+new {MOST_LINES - 2}" not in text
    assert f"… {n + 2 - MOST_LINES} lines more with `--verbose`" in text
    assert f"+new {n - 1}" in plain_text(outcome_text(outcome, is_verbose=True))
