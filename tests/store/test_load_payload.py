"""A load test that was stored says the same when it is read again."""

from msgspec import structs
from tests.report.plain import plain_text
from tests.report.sample_load import all_404, load_outcome, open_loop, shop, with_timeouts
from tests.rows import each_row

from httpdyno.model import LoadOutcome, Replay, ReplayedLog, TlsSpec
from httpdyno.report.load.caveat import load_caveats
from httpdyno.report.load.json import load_json
from httpdyno.report.load.text import load_text
from httpdyno.store.query import from_text, to_text


def replayed() -> LoadOutcome:
    outcome = shop()
    workload = structs.replace(
        outcome.workload, arrival=Replay(log="access.log"), tls=TlsSpec(server_name="shop.test")
    )
    log = ReplayedLog(n_lines=12, n_malformed=1, first_malformed=3, left_out={"POST": 2})
    return structs.replace(
        outcome, workload=workload, requests=outcome.workload.requests, log=log, is_interrupted=True
    )


@each_row("outcome", [load_outcome(), all_404(), with_timeouts(), open_loop(), shop(), replayed()])
def test_a_load_test_comes_back_with_all_its_reports(outcome):
    read = from_text(to_text(outcome), LoadOutcome, "a load test")
    assert read == outcome
    assert load_caveats(read) == load_caveats(outcome)
    assert load_json(read) == load_json(outcome)
    shown, expected = (plain_text(load_text(each, is_verbose=True)) for each in (read, outcome))
    assert shown == expected
