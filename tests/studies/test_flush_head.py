"""A head that is flushed goes out before the rest of its page."""

from urllib.request import urlopen

import pytest
from tests.conftest import SKIPPED
from tests.studies.test_bundled import study_of

from httpdyno.experiment.design.smoke_test import one_server
from httpdyno.registry import load_target
from httpdyno.report.shared.message import joined

HEAD_BYTES, PAGE_BYTES = 1000, 4000


@pytest.mark.real_server("apache2")
@pytest.mark.parametrize("is_flushed", [False, True], ids=["kept", "flushed"])
def test_only_a_head_that_is_flushed_is_a_chunk_of_its_own(is_flushed):
    study = study_of("flush-head")
    adapter = load_target(study)
    if missing := adapter.missing(study.server):
        pytest.skip(SKIPPED + joined(missing))
    asked = study.start_configuration().with_values({"flush_head": is_flushed})
    with (
        one_server(adapter, study, asked) as up,
        urlopen(f"http://{up.running.addresses[0]}/page") as page,
    ):
        first = page.read1()
        whole = first + page.read()
    assert (len(first) == HEAD_BYTES) == is_flushed
    assert len(whole) == PAGE_BYTES
