"""`httpdyno doctor`."""

import json
import logging
import re

import pytest
from tests.servers.left import left_by

from httpdyno.catalog import bundled_studies, open_study
from httpdyno.cli import doctor
from httpdyno.cli.app import run
from httpdyno.model import HostFacts
from httpdyno.reason import because
from httpdyno.report.shared.message import text
from httpdyno.servers.limits import limit_group
from httpdyno.servers.run import leftovers, root
from httpdyno.telemetry.host import Noise, measure_noise, spread_ratio

STEADY = Noise(measured_s=0.5, not_running_ratio=0.0, spread_ratio=1.02)


def host(n_cpus: int = 8, load: float = 0.1, open_files: int = 65536) -> HostFacts:
    return HostFacts(
        httpdyno="1",
        python="3",
        kernel="6",
        cpu="a CPU",
        n_cpus=n_cpus,
        memory_bytes=2**30,
        limits={"open_files": open_files},
        load_average=(load, load, load),
    )


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(doctor, "measure_noise", lambda: STEADY)


def test_what_is_missing_for_which_study_is_said(capsys):
    code = run(["doctor", "--json", "-"])
    document = json.loads(capsys.readouterr().out)
    assert {study["name"] for study in document["studies"]} == set(bundled_studies())
    assert code == int(not all(study["can_run"] for study in document["studies"]))
    assert all(study["can_run"] == (study["missing"] == []) for study in document["studies"])
    assert document["host"]["n_cpus"] > 0
    assert set(document["servers"]) >= {"apache", "gunicorn"}
    assert set(document["noise"]) == {"measured_s", "not_running_ratio", "spread_ratio"}


def test_a_study_that_cannot_run_is_1(capsys, monkeypatch):
    class Absent:
        def missing(self, spec):
            return (because("apache.not_installed"),)

        def knobs(self):
            return {}

        def version(self, *_):
            return "none"

    monkeypatch.setattr(doctor, "load_adapter", lambda _: Absent())
    monkeypatch.setattr(doctor, "load_target", lambda _: Absent())
    assert run(["doctor"]) == 1
    out = capsys.readouterr().out
    assert out.startswith(f"0 of {len(bundled_studies())} bundled studies can run here")
    assert out.count("apt-get install apache2") == 1, "once, above all that lack it"
    assert set(bundled_studies()) <= set(re.split(r"[,\s]+", out))


def test_studies_that_can_run_are_counted_and_only_the_others_named(capsys, monkeypatch):
    class Lacking:
        def __init__(self, study):
            self.name = study.name

        def missing(self, spec):
            disk, squid = (because("experiment.said", words=f"no {n}") for n in ("disk", "`squid`"))
            lacks = {"soak": (disk,), "burst": (disk, squid)}
            return lacks.get(self.name, ())

    monkeypatch.setattr(doctor, "load_target", Lacking)
    assert run(["doctor"]) == 1
    out = capsys.readouterr().out
    n_all = len(bundled_studies())
    assert out.startswith(f"{n_all - 2} of {n_all} bundled studies can run here\n")
    assert out.count("can run") == 1
    _, _, named = out.partition("studies that cannot run here\n")
    assert named.startswith("no disk\n    burst, soak\nno `squid`\n    burst\n")
    monkeypatch.setattr(doctor, "load_target", lambda _: Lacking(open_study("bookmarks")))
    assert run(["doctor"]) == 0
    assert "studies that cannot" not in capsys.readouterr().out


def test_the_text_fits_80_columns(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    run(["doctor"])
    assert max(len(line) for line in capsys.readouterr().out.splitlines()) <= 80


NO_CELL = because("sandbox.no_cell", why=because("sandbox.is_container"))
NO_WALL = because("sandbox.no_wall", why=because("sandbox.is_container"))
NO_GROUP = because("limits.no_group_in", names=["cpu"], folder="/sys")
ENDED = because("run.ended_servers", n=3, whose=because("run.unknown_owner"))


def test_what_was_left_behind_is_ended_and_said(capsys, monkeypatch):
    monkeypatch.setattr(root, "has_runs", lambda: True)
    monkeypatch.setattr(leftovers, "reap_leftovers", lambda: [ENDED])
    run(["doctor", "--json", "-"])
    seen = capsys.readouterr()
    assert "ended 3 server processes" in seen.err
    json.loads(seen.out)


def test_a_run_folder_that_is_left_alone_in_doubt_is_named_with_the_way_out(capsys, caplog):
    doubtful = left_by()
    (doubtful / "owner.jsonl").unlink()
    (doubtful / "file").touch()
    run(["doctor", "--json", "-"])
    (remark,) = (r for r in json.loads(capsys.readouterr().out)["remarks"] if "left alone" in r)
    assert remark == (
        f"`{doubtful}` is left alone, since its run may be live: `owner.jsonl` is not there; "
        f"once no httpdyno uses it, run `rm -r {doubtful}`"
    )
    with caplog.at_level(logging.INFO, "httpdyno"):
        run(["-v", "history"])
    assert f"`{doubtful}`: `owner.jsonl` is not there" in caplog.text


def test_a_steady_machine_has_no_remarks():
    assert doctor.host_remarks(host(), STEADY) == []


@pytest.mark.parametrize(
    ("machine", "noise", "words"),
    [
        (host(n_cpus=2), STEADY, "2 cores"),
        (host(n_cpus=2), STEADY, "added to both arms, so ratios are, if anything, nearer to 1"),
        (host(load=7.9), STEADY, "load average 7.90 on 8 cores"),
        (host(open_files=1024), STEADY, "1024 open files"),
        (
            host(),
            Noise(measured_s=0.5, not_running_ratio=0.3, spread_ratio=1.0),
            "taken away for 30%",
        ),
        (host(), Noise(measured_s=0.5, not_running_ratio=0.0, spread_ratio=2.5), "2.50 ×"),
    ],
)
def test_what_makes_results_worse_is_said(machine, noise, words):
    [remark] = doctor.host_remarks(machine, noise)
    assert words in remark


def test_noise_is_measured_for_as_long_as_asked():
    seen = measure_noise(0.02)
    assert seen.measured_s >= 0.02
    assert 0 <= seen.not_running_ratio <= 1
    assert seen.spread_ratio >= 1


def test_spread_is_the_slow_tenth_over_the_fast_tenth():
    assert spread_ratio([1.0] * 100) == 1.0
    assert spread_ratio([*[1.0] * 50, *[2.0] * 50]) == 2.0
    assert spread_ratio([3.0]) == 1.0


@pytest.mark.parametrize(
    ("cell", "wall", "words"),
    [
        (None, None, ["cell possible", "wall possible; a wall does not keep a copy from"]),
        (NO_CELL, NO_WALL, ["cell a cell this is a container", "wall a wall this is a container"]),
    ],
)
def test_which_private_copies_can_be_made_is_said_and_why_not(
    capsys, monkeypatch, cell, wall, words
):
    monkeypatch.setattr(doctor, "cell_complaint", lambda: cell)
    monkeypatch.setattr(doctor, "wall_complaint", lambda: wall)
    run(["doctor"])
    out = " ".join(capsys.readouterr().out.split())
    assert [each for each in words if each not in out] == []
    run(["doctor", "--json", "-"])
    found = json.loads(capsys.readouterr().out)["isolation"]
    open_ways = {name: each.pop("does_not_hold") for name, each in found.items()}
    assert found == {
        "cell": {"possible": not cell, "why_not": cell and text(cell)},
        "wall": {"possible": not wall, "why_not": wall and text(wall)},
        "open": {"possible": True, "why_not": None},
    }
    assert bool(open_ways["wall"]) == (not wall)
    assert open_ways["open"]


def test_whether_servers_can_be_limited_is_said_and_why_not(capsys, monkeypatch):
    monkeypatch.setattr(limit_group, "limit_parents", lambda _: NO_GROUP)
    run(["doctor", "--json", "-"])
    document = json.loads(capsys.readouterr().out)
    why = "limits of servers cannot be set: no group for cpu may be made in `/sys`"
    assert document["hard_limits"] == {
        name: {"possible": False, "why_not": why} for name in ("memory", "cpu")
    }
    run(["doctor"])
    assert why in " ".join(capsys.readouterr().out.split())
