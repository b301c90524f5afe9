"""Memory by age: on the terminal and on the page."""

from msgspec import structs
from tests.report import sample_second
from tests.report.page import shown
from tests.report.plain import plain_text
from tests.report.sample_figures import with_figures

from httpdyno.model import ArmSummary, Phase, WorkersSeen
from httpdyno.report.study.page import outcome_html
from httpdyno.report.study.text import outcome_text

MIB = 2**20


def workers(private_mib):
    return WorkersSeen(
        program="apache2",
        n=8.0,
        median_uss_bytes=private_mib * MIB,
        largest_uss_bytes=private_mib * MIB,
        youngest_s=1.0,
        median_age_s=2.0,
        oldest_s=3.0,
        once_bytes=23 * MIB,
        kernel_bytes=MIB,
    )


def aged(n_last=1000):
    """Return a comparison whose three phases each end with a number of requests."""
    whole = sample_second.phased()
    assert whole.final is not None
    method = structs.replace(
        whole.plan.study.method,
        phases=(
            *(Phase(name=name, n_requests=1000) for name in ("cold", "warm")),
            Phase(name="expired", n_requests=n_last),
        ),
        warm_up_s=0.0,
        blocks_per_start=1,
    )

    def sized(each, private_mib):
        pss_bytes = (23.0 + 8 * private_mib) * MIB
        if isinstance(each, ArmSummary):
            each = with_figures(each, pss_bytes=pss_bytes)
        else:
            each = structs.replace(each, pss_bytes=pss_bytes)
        return structs.replace(
            each,
            n_processes=9.0,
            workers=(workers(private_mib),),
            requests_per_turn=1000.0,
        )

    def grown(arm):
        phases = {"cold": sized(arm.phases["cold"], 1), "warm": sized(arm.phases["warm"], 10)}
        return structs.replace(sized(arm, 20), phases=phases)

    final = structs.replace(whole.final, a=grown(whole.final.a), b=grown(whole.final.b))
    study = structs.replace(whole.plan.study, method=method)
    return structs.replace(whole, plan=structs.replace(whole.plan, study=study), final=final)


def test_terminal_and_page_have_each_age_with_how_many_would_fit():
    text = plain_text(outcome_text(aged()))
    rows = [line.split() for line in text.splitlines()]
    assert ["cold", "a", "1,000", "31.0", "MiB", "24.0", "MiB", "2.00", "MiB", "500"] in rows
    assert ["warm", "a", "2,000", "103", "MiB", "24.0", "MiB", "11.0", "MiB", "90"] in rows
    assert ["expired", "a", "3,000", "183", "MiB", "24.0", "MiB", "21.0", "MiB", "47"] in rows
    assert "n = (T − P)/u(r)" in " ".join(text.split())
    assert "both with what the kernel keeps for a process" in " ".join(text.split())
    page = shown(outcome_html(aged()))
    assert "Memory by age" in page
    assert "n = (T − P)/u(r)" in page


def test_a_pool_that_is_younger_than_its_phase_is_called_is_named():
    said = "a window was over before: “expired” (3,000 of 34,000)"
    assert said in " ".join(plain_text(outcome_text(aged(32_000))).split())
    assert said in " ".join(shown(outcome_html(aged(32_000))).split())
    for as_old in (aged(), aged(1_010)):
        assert "was over before" not in plain_text(outcome_text(as_old))
        assert "was over before" not in shown(outcome_html(as_old))


def test_phases_that_time_ends_have_no_ages():
    outcome = sample_second.phased()
    assert "u(r)" not in plain_text(outcome_text(outcome))
    assert "Memory by age" not in shown(outcome_html(outcome))
