"""Knobs that set a pool's size, or how long its workers live, say so, and so do studies' knobs."""

from pathlib import Path

from tests.rows import each_row

import httpdyno
from httpdyno.registry import load_adapter
from httpdyno.servers.php_fpm.knob import KNOBS as PHP_KNOBS
from httpdyno.study.file import load_study

ROLES = {
    "apache": {
        "MaxRequestWorkers": "workers",
        "MaxConnectionsPerChild": "connections",
        "FcgidMaxProcesses": "workers",
        "FcgidMaxRequestsPerProcess": "requests",
    },
    "gunicorn": {"workers": "workers", "max_requests": "requests"},
    "uvicorn": {"workers": "workers", "limit_max_requests": "requests"},
}
MAXCLIENTS = Path(httpdyno.__file__).parent / "studies" / "maxclients" / "study.toml"


@each_row("adapter", ROLES)
def test_each_server_says_which_of_its_knobs_these_are(adapter):
    told = {name: info.pool for name, info in load_adapter(adapter).knobs().items() if info.pool}
    assert told == ROLES[adapter]


def test_a_person_s_own_pools_have_the_same():
    told = {name: knob.info.pool for name, knob in PHP_KNOBS.items() if knob.info.pool}
    assert told == {"pm.max_children": "workers", "pm.max_requests": "requests"}


def test_a_study_s_knob_has_it_of_its_server():
    study = load_study(MAXCLIENTS, lambda name: load_adapter(name).knobs())
    assert study.knob("MaxRequestWorkers").pool == "workers"
