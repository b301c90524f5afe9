"""Experiments of the book on real servers: that each comes up, is asked and ends."""

import json
import shlex

import pytest

from httpdyno.book.run import reasons_not
from httpdyno.cli.app import run

pytestmark = pytest.mark.real_server("apache2", "perl")


def found(capsys, line):
    assert run(shlex.split(f"{line} --seed 1 --json -")) == 0
    [row] = json.loads(capsys.readouterr().out)["experiments"]
    return row["now"]


@pytest.mark.real_server("ab", "nginx", "php-fpm8.2", "squid", "strace")
def test_nearly_all_can_run_where_their_packages_are():
    cannot = {name: reason for name, reason in reasons_not().items() if reason}
    assert len(cannot) <= 3, cannot


@pytest.mark.timeout(180)
def test_a_missing_page_is_asked_for_on_fresh_servers_and_no_answer_counts(capsys):
    now = found(capsys, "book run ab-first-run-light --budget 1s")
    assert (now["verdict"], now["ratio"], now["n_starts"]) == ("holds", 1.0, 6)
    assert now["evidence"] == [
        "requests completed in a run 0.0",
        "responses of a run by status 404: 100",
    ]


def test_what_is_left_of_the_environment_is_counted(capsys):
    now = found(capsys, "book run perlsetupenv-off-environment")
    assert now["count"] > 0
    assert "MOD_PERL" in now["says"]


@pytest.mark.real_server("strace")
@pytest.mark.timeout(180)
def test_all_configurations_of_a_table_of_calls_are_counted_and_told(capsys):
    now = found(capsys, "book run syscalls-foo-by-config")
    assert (now["verdict"], now["count"]) == ("not comparable", 4.0)
    # What is counted is the study's own, and so it is of the others: no word is said of them.
    assert len(now["evidence"]) == 5
    assert all(each.endswith(" then") for each in now["evidence"]), now["evidence"]


@pytest.mark.real_server("strace")
def test_the_way_to_a_file_is_counted_as_deep_as_the_document_has_it(capsys):
    now = found(capsys, "book run symlink-lstat-per-segment")
    assert (now["verdict"], now["count"]) == ("holds", 4.0)
