"""Bundled studies run, as short as they can: from a first server to a report of what is stored."""

import json
import re

import pytest

from httpdyno.cli.app import run

SHORT = {
    "code-fragments": ("fragment=method", "perl"),
    "database-connection": ("persistent=true", "apache2"),
    "file-options": ("allow_override=None", "apache2"),
    "form-parsing": ("parser=own", "apache2"),
    "output-buffering": ("output=once", "apache2"),
    "request-path": ("alias_root=true", "apache2"),
}
"""A change of each that soon shows, and what it takes."""
ENOUGH = re.compile(r"hint: `--budget (\S+)` is enough")
LIKE_ANOTHER = {"file-options", "form-parsing", "output-buffering"}
"""Of the same adapter, and with no part that another one lacks."""


@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    ("name", "change"),
    [
        pytest.param(
            name,
            change,
            marks=(
                pytest.mark.real_server(program),
                *((pytest.mark.every_study,) if name in LIKE_ANOTHER else ()),
            ),
        )
        for name, (change, program) in SHORT.items()
    ],
)
def test_a_short_run_measures_both_sides_and_can_be_reported(name, change, capsys, tmp_path):
    command = ["compare", name, "--b", change, "--seed", "1", "--json", "-", "--budget"]
    if run([*command, "60s"]) != 0:
        # On a busy machine that may be too short, which is said with what is enough there.
        [budget] = ENOUGH.findall(capsys.readouterr().err)
        assert run([*command, budget]) == 0, capsys.readouterr().err
    found = json.loads(capsys.readouterr().out)
    assert (found["study"], found["status"]) == (name, "complete")
    final = found["final"]
    assert final["verdict"] in {"better", "worse", "equivalent", "inconclusive"}
    # In the midst of other tests nothing is said of how much came of it.
    assert final["n_starts"] >= 1
    for arm in (final["a"], final["b"]):
        assert (arm["status"], arm["error_ratio"]) == ("complete", 0.0)
        assert arm["figures"].get("throughput_per_s") or arm["calls"]["n_calls"] > 0
    page = tmp_path / "report.html"
    assert run(["report", found["id"], "--html", str(page)]) == 0
    assert found["plan"]["title"] in page.read_text("utf-8")
