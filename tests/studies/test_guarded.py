"""Bundled studies notice wrong answers, and knobs that are not in force."""

from httpdyno.catalog import bundled_studies, open_study
from httpdyno.registry import load_adapter
from httpdyno.servers.stack.names import SEPARATOR, shaping_knobs

NAMES = sorted(bundled_studies())
OF_SERVERS = [name for name in NAMES if open_study(name).fragments is None]
WITHOUT_LENGTH = {"asp-bookmarks", "bookmarks"}
"""Their pages tell of sessions and times, and have no one length."""


def test_an_application_with_knobs_of_its_own_says_what_they_are(subtests):
    for name in OF_SERVERS:
        with subtests.test(name):
            study = open_study(name)
            known = load_adapter(study.server.adapter).knobs()
            of_server = [knob for knob in study.knobs if knob.of == "server"]
            # Which servers there are is what httpdyno itself began.
            shape = shaping_knobs(study.server)
            # Companions tell of theirs.
            plain = [knob.name for knob in of_server if SEPARATOR not in knob.name]
            own = [name for name in plain if name not in {*known, *shape}]
            assert bool(study.server.effective_path) == bool(own)


def test_an_answer_of_another_length_is_wrong_or_the_readme_says_why_not(subtests):
    for name in sorted(set(OF_SERVERS) - WITHOUT_LENGTH):
        with subtests.test(name):
            workload = open_study(name).workload
            itself = [workload.requests[step.request] for step in workload.mix]
            lengths = [request.expect_length for request in (*workload.first, *itself)]
            assert any(lengths)
            readme = bundled_studies()[name].with_name("README.md").read_text("utf-8")
            assert all(lengths) or "no `expect_length`" in readme


def test_published_ratios_of_throughput_stand_beside_no_other_figure(subtests):
    for name in NAMES:
        with subtests.test(name):
            study = open_study(name)
            published = [
                study.book_ratio,
                *(ratio for knob in study.knobs for ratio in knob.book_ratio),
            ]
            published += [candidate.book_ratio for candidate in study.candidates]
            if any(ratio is not None for ratio in published):
                assert study.objective.metric == "throughput_per_s"
