"""What a command needs besides its first word, and what stands for its version."""

import sys

import pytest

from httpdyno.errors import AdapterError
from httpdyno.model import ServerSpec
from httpdyno.report.shared.message import text
from httpdyno.servers.command import Command


def spec_of(programs, **environment):
    return ServerSpec(
        adapter="command",
        command=("sh", "{run}/serve.sh", "{port}"),
        settings={"programs": programs},
        environment=environment,
    )


def test_programs_that_a_command_runs_are_missed_by_name():
    [missing] = Command().missing(spec_of("sh nowhere-to-be-found"))
    assert text(missing).startswith("`nowhere-to-be-found` is not a program that is installed here")


def test_what_a_bundled_study_lacks_is_named_with_its_package():
    *_, missing = Command().missing(spec_of("htcacheclean", PATH="/nowhere"))
    assert text(missing).startswith("`htcacheclean` is not a program")
    assert text(missing).endswith(" (Debian: apache2-utils)")


def test_the_version_is_that_of_the_programs_and_not_of_the_shell(tmp_path):
    (tmp_path / "python3").symlink_to(sys.executable)
    said = Command().version(spec_of("python3", PATH=f"{tmp_path}:/usr/bin:/bin"))
    assert said.startswith("Python 3.")
    with pytest.raises(AdapterError, match="`nowhere-to-be-found` is not a program"):
        Command().version(spec_of("nowhere-to-be-found"))
