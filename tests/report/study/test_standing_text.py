import math

from tests.report import sample_figures
from tests.rows import each_row

from httpdyno.report.study.running import outlook_text, standing_text

RATE, CPU = "throughput_per_s", "cpu_s_per_request"


def test_a_standing_is_its_starts_and_its_interval():
    assert standing_text(1, None) == "1 start  no interval yet"
    assert standing_text(4, sample_figures.interval(2.0, 0.1)) == "4 starts  2.00 × (1.80 … 2.22)"


@each_row(
    ("verdict", "metric", "decides_in_s", "allowed_s", "text"),
    [
        ("inconclusive", RATE, 12.4, 60.0, "decided in about 12 s"),
        ("inconclusive", RATE, 12.4, math.inf, "decided in about 12 s"),
        ("inconclusive", RATE, 1260.0, 60.0, "would take about 21 min"),
        ("inconclusive", RATE, None, 60.0, "no end in sight"),
        ("equivalent", CPU, 12.4, 60.0, "equivalent, CPU decided in about 12 s"),
        ("equivalent", CPU, None, 60.0, "equivalent, CPU no end in sight"),
        ("better", "", 0.0, 0.0, "better"),
        ("better", "", 0.0, 60.0, "better, and still narrowing"),
        ("not_measured", "", 0.0, 0.0, "not measured"),
    ],
)
def test_an_outlook_says_what_is_open_and_when_it_would_not_be(
    verdict, metric, decides_in_s, allowed_s, text
):
    said = outlook_text(
        verdict, metric, decides_in_s=decides_in_s, allowed_s=allowed_s, is_few=False
    )
    assert said == text


def test_what_takes_its_fewest_starts_is_not_promised_to_be_decided_then():
    said = outlook_text("inconclusive", RATE, decides_in_s=5.2, allowed_s=60.0, is_few=True)
    assert said == "decided in 5 s at the earliest"
