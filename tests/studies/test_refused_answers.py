"""What bundled studies have on show as wrong, with answers of the right status and length."""

import pytest
from msgspec.structs import replace
from tests.conftest import SKIPPED
from tests.studies.test_bundled import study_of

from httpdyno.experiment.design.smoke_test import start_of_arms
from httpdyno.registry import load_target
from httpdyno.report.shared.message import joined

pytestmark = pytest.mark.usefixtures("no_looks")


@pytest.mark.real_server("apache2")
def test_a_cache_that_hands_one_visitors_page_to_the_other_is_refused():
    study = study_of("cache-phases")
    adapter = load_target(study)
    if missing := adapter.missing(study.server):
        pytest.skip(SKIPPED + joined(missing))
    short = tuple(replace(phase, window_s=0.5) for phase in study.method.phases)
    study = replace(study, method=replace(study.method, phases=short, blocks_per_start=1))
    [candidate] = study.candidates
    begin = study.start_configuration()

    record = start_of_arms(adapter, study, (begin, begin.with_values(candidate.values)), seed=5)

    assert record.statuses == ("complete", "unlike"), record.details
    assert "GET /page with another body" in joined(record.details[1])
