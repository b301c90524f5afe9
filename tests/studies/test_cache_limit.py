"""A cache on disk that htcacheclean keeps within a limit, and one that nobody cleans."""

import os
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from urllib.request import urlopen

import pytest
from tests.studies.test_bundled import begun_with, study_of

from httpdyno.registry import load_target
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.run.folder import new_run_root

LIMIT_BYTES = 64 * 1024
N_PAGES = 200
READY_S = 20.0
CLEANED_S = 20.0
LEFT_ALONE_S = 1.0
"""Longer than from one cleaning to the next."""

pytestmark = pytest.mark.real_server("apache2", "htcacheclean")


def test_a_cache_that_nobody_cleans_keeps_all(filled):
    folder = filled("none")
    sleep(LEFT_ALONE_S)
    assert kept_bytes(folder) > N_PAGES * 1_000 > LIMIT_BYTES


def test_one_within_a_limit_is_cleaned_down_to_it(filled):
    folder, deadline_s = filled("64K"), monotonic() + CLEANED_S
    while kept_bytes(folder) > LIMIT_BYTES:
        assert monotonic() < deadline_s
        sleep(0.1)


@pytest.fixture
def filled():
    """Let a cache within a limit have some hundred pages; return its folder."""
    study = study_of("page-cache")
    [within] = [each for each in study.candidates if "limit" in each.values]
    running = []
    with new_run_root() as root:

        def fill(limit):
            asked = begun_with(study, within.values | {"limit": limit})
            place = root.new_place("arm")
            begun = load_target(asked).spawn(
                asked.server, Path(asked.folder), asked.start_configuration(), place
            )
            assert not isinstance(begun, NotRunning), begun
            running.append(begun)
            answer = begun.await_ready(READY_S)
            assert not isinstance(answer, NotRunning), answer
            for visit in range(N_PAGES):
                with urlopen(f"http://{begun.addresses[0]}/page?visit={visit}") as page:
                    assert len(page.read()) == 1011
            return place.folder / "cache"

        yield fill
        for each in running:
            each.stop()


def kept_bytes(folder):
    size = 0
    # Unlike a glob, it goes on where a folder is deleted under it.
    for path, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                size += Path(path, name).stat().st_size
    return size
