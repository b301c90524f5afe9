from tests.report import sample, sample_trouble

from httpdyno.report.study.method import provenance


def test_what_a_run_took_is_held_against_what_ended_it() -> None:
    assert dict(provenance(sample.ladder()))["took"] == "4 min 34 s of 4 min 40 s"
    took = dict(provenance(sample_trouble.out_of_reach()))["took"]
    assert took == "60.4 s, without a limit"
