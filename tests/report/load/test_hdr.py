"""HdrHistograms as another implementation reads them."""

import base64
import random
import re
import struct
import zlib
from pathlib import Path

import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from tests.report.sample_load import load_measurement, load_outcome
from tests.rows import each_row

from httpdyno.model import HistogramData
from httpdyno.report.load.histogram import (
    encoded,
    index_of,
    load_hgrm,
    load_hlog,
    n_buckets,
    sub_buckets,
)
from httpdyno.stats.histogram import count

HOUR_NS = 3_600_000_000_000


def recorded(values_ns: list[int], digits: int) -> tuple[HdrHistogram, HistogramData]:
    """Return values recorded by the other implementation, and the same as the engine gives them."""
    theirs = HdrHistogram(1, HOUR_NS, digits)
    for value_ns in values_ns:
        theirs.record_value(value_ns)
    buckets: dict[int, int] = {}
    for value_ns in values_ns:
        bound_ns = theirs.get_highest_equivalent_value(value_ns)
        buckets[bound_ns] = buckets.get(bound_ns, 0) + 1
    bounds = sorted(buckets)
    ours = HistogramData(
        bounds_ns=tuple(bounds),
        counts=tuple(buckets[bound] for bound in bounds),
        sum_s=sum(values_ns) / 1e9,
        max_s=max(values_ns, default=0) / 1e9,
    )
    return theirs, ours


def contents(histogram: HdrHistogram) -> list[tuple[int, int]]:
    return [
        (item.value_iterated_to, item.count_at_value_iterated_to)
        for item in histogram.get_recorded_iterator()
    ]


@pytest.mark.parametrize("digits", [2, 3])
@pytest.mark.parametrize("n", [0, 1, 2, 10_000])
def test_another_implementation_decodes_what_was_recorded(digits: int, n: int) -> None:
    rng = random.Random(7 * n + digits)
    values_ns = [min(HOUR_NS, int(rng.lognormvariate(15, 3)) + 1) for _ in range(n)]
    theirs, ours = recorded(values_ns, digits)
    read = HdrHistogram.decode(encoded(ours, digits=digits))
    assert read.significant_figures == digits
    assert read.get_total_count() == n
    assert contents(read) == contents(theirs)


def test_the_headers_are_what_another_implementation_writes() -> None:
    rng = random.Random(1)
    theirs, ours = recorded([int(rng.expovariate(1e-6)) + 1 for _ in range(5000)], 3)
    headers = []
    for text in (theirs.encode().decode(), encoded(ours, digits=3)):
        packed = base64.b64decode(text)
        cookie, length = struct.unpack(">ii", packed[:8])
        assert cookie == 0x1C849314
        assert length == len(packed) - 8
        body = zlib.decompress(packed[8:])
        (n_payload,) = struct.unpack(">i", body[4:8])
        assert n_payload == len(body) - 40
        headers.append((body[:4], body[8:40]))
    assert headers[0] == headers[1]


@given(st.integers(0, HOUR_NS), st.sampled_from([2, 3]))
def test_a_value_s_index_is_that_of_the_layout(value_ns: int, digits: int) -> None:
    theirs = HdrHistogram(1, HOUR_NS, digits)
    assert index_of(value_ns, digits) == theirs._counts_index_for(value_ns)


@pytest.mark.parametrize("digits", [2, 3])
def test_the_layout_s_size_is_that_of_the_other_implementation(digits: int) -> None:
    theirs = HdrHistogram(1, HOUR_NS, digits)
    assert sub_buckets(digits) == theirs.sub_bucket_count
    assert n_buckets(digits) == theirs.bucket_count


@each_row("n", [1, 2, 127, 128, 2**20, 2**55 - 1, 2**56, 2**61])
def test_counts_of_any_size_survive(n: int) -> None:
    ours = HistogramData(bounds_ns=(500, 1_000_447), counts=(n, 1), sum_s=1.0, max_s=0.001)
    read = HdrHistogram.decode(encoded(ours, digits=3))
    assert [n for _, n in contents(read)] == [n, 1]


def test_a_log_is_read_interval_by_interval(tmp_path: Path) -> None:
    outcome = load_outcome()
    file = tmp_path / "load.hlog"
    file.write_text(load_hlog(outcome), encoding="utf-8")
    reader = HistogramLogReader(str(file), HdrHistogram(1, HOUR_NS, 2))
    batches = outcome.measurement.batches
    seen = []
    while (interval := reader.get_next_interval_histogram()) is not None:
        seen.append(interval)
    reader.input_file.close()
    assert len(seen) == len(batches.latency)
    began_ms = 1_749_634_200_000
    assert reader.get_start_time_sec() * 1e3 == began_ms
    for i, (interval, data) in enumerate(zip(seen, batches.latency, strict=True)):
        assert interval.get_total_count() == count(data)
        assert interval.get_start_time_stamp() == pytest.approx(began_ms + i * 40)
        assert interval.get_max_value() == pytest.approx(data.max_s * 1e9, rel=0.02)


def test_a_log_leaves_out_intervals_in_which_nothing_ended() -> None:
    outcome = load_outcome()
    batches = outcome.measurement.batches
    latency = (batches.latency[0], HistogramData(), batches.latency[2])
    three = structs.replace(batches, latency=latency, interval_s=4.0)
    measurement = structs.replace(outcome.measurement, batches=three)
    lines = [
        line
        for line in load_hlog(structs.replace(outcome, measurement=measurement)).splitlines()
        if line[0].isdigit()
    ]
    # The third one ends with the measured part, after two of its four seconds.
    assert [line.split(",")[:2] for line in lines] == [["0.000", "4.000"], ["8.000", "2.000"]]


def test_percentiles_are_those_of_another_implementation_s_buckets() -> None:
    rng = random.Random(3)
    theirs, ours = recorded([int(rng.lognormvariate(15, 1)) + 1 for _ in range(20_000)], 3)
    text = load_hgrm(load_outcome(structs.replace(load_measurement(), latency=ours)))
    rows = [line.split() for line in text.splitlines() if re.match(r" *\d", line)]
    reached, at = 0, []
    for bound_ns, n in contents(theirs):
        reached += n
        at.append((reached, min(bound_ns, theirs.get_max_value(), ours.max_s * 1e9) / 1e6))
    for value_ms, q, n_there, *_ in rows:
        count_there, expected_ms = next(each for each in at if each[0] >= float(q) * 20_000 - 1e-6)
        assert float(value_ms) == pytest.approx(expected_ms, abs=1e-6)
        assert int(n_there) == count_there
    # As in the plotter's examples: five steps in each half of what is left to 100 %.
    steps = [round(float(q) * 100, 4) for _, q, *_ in rows]
    assert steps[:9] == [0, 10, 20, 30, 40, 50, 55, 60, 65]
    assert steps[10:13] == [75, 77.5, 80]
    assert (steps[-1], len(rows[-1])) == (100, 3)


def test_percentiles_are_in_the_form_that_plotters_read() -> None:
    """The plotter of HdrHistogram takes lines of four numbers that do not begin with #."""
    text = load_hgrm(load_outcome())
    lines = text.splitlines()
    assert lines[0].split() == ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"]
    points = [line.split() for line in lines if line[:1] != "#" and len(line.split()) == 4][1:]
    values = [float(point[0]) for point in points]
    assert values == sorted(values)
    assert [point for point in points if point[1].startswith("0.5000")]
    assert re.search(r"^#\[Mean +=  +4\.22\d, StdDeviation +=  +1\.7\d\d\]$", text, re.MULTILINE)
    assert re.search(r"^#\[Max +=  +18\.869, Total count +=  +12345\]$", text, re.MULTILINE)
    assert lines[-1].split() == ["#[Buckets", "=", "32,", "SubBuckets", "=", "2048]"]


@pytest.mark.parametrize("n", [0, 1])
def test_what_has_no_spread_has_numbers_all_the_same(n: int) -> None:
    text = load_hgrm(load_outcome(load_measurement(completed=n)))
    assert re.search(r"StdDeviation +=  +0\.000\]$", text, re.MULTILINE)


def test_nothing_measured_is_an_empty_list_and_log() -> None:
    outcome = load_outcome(load_measurement(completed=0))
    assert not [line for line in load_hgrm(outcome).splitlines() if re.match(r" *\d", line)]
    assert not [line for line in load_hlog(outcome).splitlines() if line[0].isdigit()]
