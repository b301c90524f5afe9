"""What the caches of studies say of their answers, counted beside their windows."""

import pytest
from msgspec.structs import replace
from tests.conftest import SKIPPED
from tests.studies.test_bundled import study_of

from httpdyno.experiment.design.smoke_test import start_of_arms
from httpdyno.registry import load_target
from httpdyno.report.shared.message import joined

pytestmark = pytest.mark.usefixtures("no_looks")


@pytest.mark.real_server("apache2")
def test_nineteen_of_twenty_requests_are_hits_in_a_mix_that_has_so_many():
    off, kept = words_beside_the_start("page-cache-mix", {"cache": "disk"})
    assert (off.counts, off.uncounted) == ({}, ())
    assert off.n_without == off.n_answers > 0
    assert set(kept.counts) == {"HIT", "MISS"}
    assert kept.n_without == 0
    # Of two hundred ten are new addresses, give or take three.
    assert 0 < kept.counts["MISS"] < 0.2 * kept.n_answers


@pytest.mark.real_server("apache2")
def test_a_query_that_counts_makes_each_request_a_miss():
    hits, misses = words_beside_the_start(
        "page-cache", {"cache": "socache", "ignore_query": False}, {"cache": "socache"}
    )
    assert set(hits.counts) == {"HIT"}
    assert set(misses.counts) == {"MISS"}


@pytest.mark.real_server("apache2", "nginx", "squid")
@pytest.mark.parametrize("front", ["nginx", "squid"])
def test_a_proxy_with_room_for_all_pages_has_them_all(front):
    off, kept = words_beside_the_start("proxy-cache", {"front": front})
    assert off.counts == {}
    assert kept.counts["HIT"] > 0.9 * kept.n_answers > 0


@pytest.mark.real_server("apache2")
def test_each_phase_of_a_cache_has_its_words():
    off, kept = words_beside_the_start("cache-phases", {"cache": "disk"})
    assert off.counts == {}
    assert kept.counts["HIT"] > 0.9 * kept.n_answers > 0
    assert kept.beside["cold"].counts["MISS"] > 0
    assert kept.beside["expired"].counts.keys() - {"HIT"}
    assert [*kept.beside] == ["cold", "expired"]


def words_beside_the_start(name, levels, begin=None):
    """Return what answers of a study say as it begins, or with levels, and with others."""
    study = study_of(name)
    adapter = load_target(study)
    if missing := adapter.missing(study.server):
        pytest.skip(SKIPPED + joined(missing))
    # What is counted comes after the windows, however long these are.
    study = replace(study, method=replace(study.method, window_s=0.3, blocks_per_start=1))
    first = study.start_configuration().with_values(begin or {})
    record = start_of_arms(adapter, study, (first, first.with_values(levels)), seed=5)
    assert record.statuses == ("complete", "complete"), record.details
    return record.header_words
