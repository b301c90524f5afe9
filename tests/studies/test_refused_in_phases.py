"""What goes wrong only after something happened to a server: studies refuse it in a phase."""

import re
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.conftest import SKIPPED
from tests.studies.test_bundled import STUDIES, study_of

from httpdyno.experiment.design.smoke_test import start_of_arms
from httpdyno.registry import load_target
from httpdyno.report.shared.message import joined

pytestmark = pytest.mark.usefixtures("no_looks")


@pytest.mark.real_server("apache2")
def test_a_mount_that_does_not_notice_an_edit_answers_nothing_right_after_it():
    record = beside_the_start("edited-script", {"mount": "registrybb"})

    assert record.statuses == ("complete", "infeasible"), record.details
    assert "wrong length" in joined(record.details[1])
    assert "phase new edition" in joined(record.details[1])


@pytest.mark.real_server("apache2")
def test_one_that_is_restarted_after_the_edit_answers_right():
    [candidate] = study_of("edited-script").candidates

    record = beside_the_start("edited-script", candidate.values)

    assert record.statuses == ("complete", "complete"), record.details
    for window in record.windows:
        assert window.measurement.completed == window.measurement.offered > 0


@pytest.mark.real_server("apache2")
def test_children_that_nobody_waited_for_are_no_gain():
    record = beside_the_start("long-job", {"job": "forgotten"})

    assert record.statuses == ("complete", "infeasible"), record.details
    assert re.search(
        r"(?s)phase left behind: .*\b[1-9]\d* processes that", joined(record.details[1])
    )


def test_where_children_cannot_be_listed_nobody_is_taken_for_clean(tmp_path):
    # As of a kernel that lists none: /proc has no such file of a process that there cannot be.
    most = int(Path("/proc/sys/kernel/pid_max").read_text(encoding="utf-8"))
    file = tmp_path / "httpd.pid"
    file.write_text(f"{most + 1}\n", encoding="utf-8")
    script = STUDIES / "long-job" / "lib" / "zombies.sh"
    ended = subprocess.run(["sh", script, file], capture_output=True, timeout=10.0, check=False)
    assert ended.returncode != 0
    assert b"children" in ended.stderr


def beside_the_start(name, levels):
    """Return a start of a study as it begins, and of these levels beside it."""
    study = study_of(name)
    adapter = load_target(study)
    if missing := adapter.missing(study.server):
        pytest.skip(SKIPPED + joined(missing))
    short = tuple(replace(phase, window_s=0.5) for phase in study.method.phases)
    study = replace(study, method=replace(study.method, phases=short, blocks_per_start=1))
    begin = study.start_configuration()
    return start_of_arms(adapter, study, (begin, begin.with_values(levels)), seed=5)
