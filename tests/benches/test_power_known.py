"""What part of a request is planted work: how that is gathered, and when it is too coarse."""

import json
import math

import pytest
from benches.engine.process import BenchError
from benches.power import known as asking
from benches.power.figure import THIS, Setting
from benches.power.known import BATCH, CPU, LEAST, MOST, THROUGHPUT, UNITS, Known, known, told_by
from benches.power.program import Ended

ONE = Known(shares={CPU: 0.8, THROUGHPUT: 0.5}, errors={CPU: 0.01, THROUGHPUT: 0.02})


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """Return a function that has servers made up, by batches, and says which seeds they got."""

    def ask(batches):
        lines, seeds = iter(batches), []

        def run(command, **_):
            seeds.append(command[-1])
            return Ended(
                stdout=next(lines), stderr="error: no room\n", took_s=1.0, stolen_cores=0.0
            )

        monkeypatch.setattr(asking, "run", run)
        return Setting(trees={THIS: tmp_path}, folder=tmp_path, seed=1), seeds

    return ask


def batch(*shares, n=BATCH):
    """Return what a batch of servers says; the shares go round."""
    lines = ({CPU: shares[k % len(shares)], THROUGHPUT: 0.5} for k in range(n))
    return "".join(f"{json.dumps(line)}\n" for line in lines)


def test_a_difference_takes_as_much_more_work_as_its_part_of_a_request_is():
    assert ONE.units(0.5, THROUGHPUT) == 2 * UNITS
    assert ONE.units(0.08, CPU) == 1.1 * UNITS
    for size, metric in ((0.5, THROUGHPUT), (0.03, CPU)):
        assert ONE.cost(metric, ONE.units(size, metric)) == pytest.approx(1 + size, abs=1e-4)
    # Beyond, Python's integers take two digits, and a unit costs more.
    assert (asking.MOST_UNITS - 1) ** 2 < 2**30
    with pytest.raises(BenchError, match="too many"):
        Known(shares={CPU: 0.2}, errors={CPU: 0.0}).units(0.5, CPU)


def test_the_error_of_a_truth_is_that_of_its_share():
    more = 2 * UNITS
    high, low = (math.log(1 + share) for share in (0.51, 0.49))
    assert ONE.error_log(THROUGHPUT, UNITS, more) == pytest.approx(high - low, rel=1e-3)
    assert ONE.error_log(THROUGHPUT, more, UNITS) == ONE.error_log(THROUGHPUT, UNITS, more)
    assert ONE.error_log(CPU, UNITS, UNITS) == 0


def test_servers_are_asked_until_there_are_enough_and_no_more(asked):
    setting, seeds = asked([batch(0.80, 0.81)] * 9)
    found = known(setting)
    assert found.n_servers == LEAST
    assert len(set(seeds)) == LEAST / BATCH
    assert found.shares[CPU] == pytest.approx(0.805)
    assert found.errors[CPU] == pytest.approx(0.005 * math.sqrt(8 / 7) / math.sqrt(8))
    assert "80.5% (standard error 0.2%)" in found.words()
    # It is known for the whole bench.
    assert known(setting) == found
    assert len(seeds) == LEAST / BATCH


def test_where_servers_differ_more_of_them_are_asked(asked):
    setting, _ = asked([batch(0.72, 0.82)] * 9)
    found = known(setting)
    assert LEAST < found.n_servers < MOST
    assert found.coarseness_log <= asking.WANTED_LOG


def test_where_it_stays_coarse_it_is_used_with_its_error(asked):
    setting, seeds = asked([batch(0.6, 0.8)] * 40)
    found = known(setting)
    assert found.n_servers == MOST
    assert found.coarseness_log > asking.WANTED_LOG
    assert known(setting) == found
    assert len(seeds) == MOST / BATCH


def test_a_truth_that_is_too_coarse_to_plant_by_is_refused(asked):
    setting, seeds = asked([batch(0.1, 0.9)] * 40)
    for _ in range(2):
        with pytest.raises(BenchError, match=r"gunicorn is known to 1\d% of it, not to 10%"):
            known(setting)
    assert len(seeds) == MOST / BATCH


def test_what_was_measured_before_something_failed_is_kept(asked):
    setting, _ = asked([batch(0.8, 0.81), "", batch(0.8, 0.81, n=2) + '{"cpu', batch(0.8, 0.81)])
    with pytest.raises(BenchError, match="could not be measured: error: no room"):
        known(setting)
    assert known(setting).n_servers == 2 * BATCH + 2


def test_a_line_that_was_cut_off_tells_nothing():
    assert told_by('{"a": 1}\n{"a"') == [{"a": 1}]
    assert told_by("") == []


def test_each_server_is_asked_for_itself(asked):
    setting, _ = asked([batch(0.80, 0.81)] * 2 + [batch(0.60, 0.61)] * 2)
    assert known(setting).shares[CPU] == pytest.approx(0.805)
    assert known(setting, "apache").shares[CPU] == pytest.approx(0.605)
    assert "8 servers, apache: " in known(setting, "apache").words()
    assert known(setting).shares[CPU] == pytest.approx(0.805)
