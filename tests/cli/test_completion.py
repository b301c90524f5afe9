"""Shells complete commands, options and the names of studies."""

import io
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from tests.conformance.record import sample_load

from httpdyno.cli.app import run
from httpdyno.store import Store

SHELLS = ("bash", "zsh", "fish")
NO_DETECTION = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
PROGRAM = Path(sys.executable).with_name("httpdyno")


def output_of(*words: str, **environment: str) -> str:
    """Return what the program prints, with the environment that a shell's script gives it."""
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed):
        for name, value in environment.items():
            patch.setenv(name, value)
        with pytest.raises(SystemExit) as ended:
            run(words)
    assert not ended.value.code
    return printed.getvalue()


def script(shell: str) -> str:
    return output_of("--show-completion", shell, **NO_DETECTION)


def completions(shell: str, line: str) -> set[str]:
    """Return what the program offers, as the shell's script asks it and reads its answer."""
    if shell == "bash":
        words = line.split(" ")
        asked = {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
        return set(output_of(_HTTPDYNO_COMPLETE="complete_bash", **asked).split())
    if shell == "zsh":
        answer = output_of(_HTTPDYNO_COMPLETE="complete_zsh", _TYPER_COMPLETE_ARGS=line)
        if not answer.startswith("_arguments"):
            assert answer.strip() == "_files"
            return set()
        return {part.split('"')[0] for part in answer.partition("((")[2].split('\n"')} | {
            part.split('"')[1] for part in answer.partition("((")[2].splitlines()
        }
    answer = output_of(
        _HTTPDYNO_COMPLETE="complete_fish",
        _TYPER_COMPLETE_ARGS=line,
        _TYPER_COMPLETE_FISH_ACTION="get-args",
    )
    return {each.partition("\t")[0] for each in answer.splitlines() if each}


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_gets_a_script_that_it_can_read(shell, tmp_path):
    text = script(shell)
    assert f"complete_{shell}" in text
    if shutil.which(shell):
        file = tmp_path / "completion"
        file.write_text(text)
        subprocess.run([shell, "-n", str(file)], check=True)


@pytest.mark.parametrize("shell", SHELLS)
def test_options_of_a_command_are_completed(shell):
    offered = completions(shell, "httpdyno load --re")
    assert {
        "--replay", "--replay-methods", "--replay-spread", "--requests", "--requests-per-connection"
    } <= offered  # fmt: skip
    assert not any(each.startswith("--rate") for each in offered)


@pytest.mark.parametrize("shell", SHELLS)
def test_commands_are_completed(shell):
    assert {"demo", "doctor"} <= completions(shell, "httpdyno d")


@pytest.mark.parametrize("shell", SHELLS)
def test_formulas_and_what_they_take_are_completed(shell):
    assert "max-clients" in completions(shell, "httpdyno formula max")
    assert "--shared" in completions(shell, "httpdyno formula max-clients --sh")
    assert "--shared" not in completions(shell, "httpdyno formula no-such --sh")


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("command", ["tune", "compare", "study show", "study run"])
def test_names_of_studies_are_completed(shell, command):
    offered = completions(shell, f"httpdyno {command} book")
    assert "bookmarks" in offered
    assert "maxclients" not in offered


@pytest.mark.parametrize("shell", SHELLS)
def test_a_choice_is_completed(shell):
    assert "burst" in completions(shell, "httpdyno load --replay-spread b")


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_itself_completes_with_the_script(tmp_path):
    file = tmp_path / "completion.sh"
    file.write_text(script("bash"))
    ask = (
        f"source {file}; COMP_WORDS=(httpdyno tune max); COMP_CWORD=2; "
        f'_httpdyno_completion {PROGRAM}; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(["bash", "--norc", "-c", ask], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["maxclients"]


@pytest.mark.parametrize(
    ("shell", "written"),
    [
        ("bash", ".bash_completions/httpdyno.sh"),
        ("zsh", ".zfunc/_httpdyno"),
        ("fish", ".config/fish/completions/httpdyno.fish"),
    ],
)
def test_completion_is_installed_for_the_user(shell, written, tmp_path):
    said = output_of(
        "--install-completion", shell, HOME=str(tmp_path), **NO_DETECTION, XDG_CONFIG_HOME=""
    )
    assert "installed" in said
    assert f"complete_{shell}" in (tmp_path / written).read_text()


@pytest.mark.parametrize("shell", SHELLS)
def test_stored_runs_are_completed_and_looking_makes_no_store(shell, own_folders):
    assert "1" not in completions(shell, "httpdyno report ")
    assert not (own_folders / "data").exists()
    with Store.open() as store:
        run_id = store.save_load(sample_load("http://a/"))
    assert run_id in completions(shell, "httpdyno report ")
    assert run_id in completions(shell, "httpdyno tune --resume ")


@pytest.mark.parametrize("shell", SHELLS)
def test_knobs_of_the_study_are_completed(shell):
    offered = completions(shell, "httpdyno compare bookmarks --b work")
    assert "workers=" in offered
    assert not any("threads" in each for each in offered)
    assert completions(shell, "httpdyno compare no-such-study --b work") <= {"work"}


@pytest.mark.parametrize("shell", ["zsh", "fish"])  # bash takes a word with `=` apart
def test_levels_and_further_knobs_are_completed(shell):
    line = "httpdyno compare bookmarks --b "
    levels = completions(shell, f"{line}workers=")
    assert {"workers=1", "workers=4"} <= levels
    further = completions(shell, f"{line}workers=4,")
    assert "workers=4,workers=" not in further
    assert any(each.startswith("workers=4,") and each.endswith("=") for each in further)
