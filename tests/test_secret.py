"""What of a study nobody else should read."""

import json

import msgspec
import pytest
from msgspec.structs import replace
from tests.report.sample import ladder
from tests.report.sample_load import shop

from httpdyno.cli import launch
from httpdyno.cli.app import run
from httpdyno.errors import UsageError
from httpdyno.model import RequestSpec
from httpdyno.secret import (
    KEPT_BACK,
    has_digests,
    load_without_values,
    with_digests,
    with_secrets_of,
    without_values,
)
from httpdyno.store import Store

SECRETS = ("s3cret", "t0ken", "c00kie", "pa55/word", "env1ronment")
HEADERS = (
    ("AUTHORIZATION", "Bearer t0ken"),
    ("Cookie", "id=c00kie"),
    ("Accept", "text/html"),
    ("X-Origin", "https://me:s3cret@host/"),
)


@pytest.fixture
def plan():
    plan = ladder().plan
    study = plan.study
    server = replace(
        study.server,
        environment={"KEY": "env1ronment", "EMPTY": ""},
        settings={"dsn": "postgresql://me:pa55/word@db/shop", "port": 1},
    )
    workload = replace(study.workload, requests=(RequestSpec(path="/x", headers=HEADERS),))
    return replace(plan, study=replace(study, server=server, workload=workload))


def text_of(record):
    return msgspec.json.encode(record).decode()


def test_names_stay_and_values_go(plan):
    shown = without_values(plan)
    assert [each for each in SECRETS if each in text_of(shown)] == []
    assert shown.study.server.environment == {"KEY": KEPT_BACK, "EMPTY": ""}
    headers = dict(shown.study.workload.requests[0].headers)
    assert headers["Accept"] == "text/html"
    assert headers["Cookie"] == KEPT_BACK
    assert headers["X-Origin"] == f"https://me:{KEPT_BACK}@host/"
    assert shown.study.server.settings["dsn"] == f"postgresql://me:{KEPT_BACK}@db/shop"


def test_a_digest_depends_on_the_secret_and_the_salt_and_is_taken_once(plan):
    first = with_digests(plan, "0" * 8)
    assert [each for each in SECRETS if each in text_of(first)] == []
    assert with_digests(first, "1" * 8) == first
    assert with_digests(plan, "1" * 8) != first
    assert has_digests(first.study)
    assert not has_digests(plan.study)


def test_the_study_file_gives_the_secrets_back_if_they_are_the_same(plan):
    stored = with_digests(plan, "0" * 8).study
    assert with_secrets_of(stored, plan.study) == plan.study
    other = replace(plan.study.server, environment={"KEY": "another"})
    with pytest.raises(UsageError, match=r"server.environment.KEY of the study is not what it was"):
        with_secrets_of(stored, replace(plan.study, server=other))


def test_no_secret_is_in_the_store_nor_in_any_report(plan, own_folders, tmp_path, capsys):
    outcome = replace(ladder(), plan=plan)
    with Store.open() as store:
        run_id = store.create_run(plan, outcome.host)
        store.save_outcome(run_id, replace(outcome, id=run_id))
    html = tmp_path / "report.html"
    assert run(["report", run_id, "--json", "-", "--html", str(html)]) == 0
    written = [file.read_bytes() for file in (own_folders / "data").iterdir()]
    for content in (*written, html.read_bytes(), capsys.readouterr().out.encode()):
        assert [each for each in SECRETS if each.encode() in content] == []


def test_no_secret_is_in_what_a_load_test_reports():
    outcome = shop()
    sent = (RequestSpec(headers=HEADERS),)
    outcome = replace(outcome, requests=sent, workload=replace(outcome.workload, requests=sent))
    shown = load_without_values(outcome)
    assert [each for each in SECRETS if each in text_of((shown.workload, shown.requests))] == []
    assert shown.measurement is outcome.measurement


@pytest.mark.parametrize(("extra", "is_there"), [([], False), (["--with-secrets"], True)])
def test_values_are_written_when_they_are_asked_for(capsys, extra, is_there):
    assert run(["tune", "bookmarks", "--dry-run", "--json", "-", *extra]) == 0
    study = json.loads(capsys.readouterr().out)["study"]
    assert (study["server"]["environment"]["BOOKMARKS_DEBUG"] != KEPT_BACK) is is_there


def test_a_run_that_goes_on_has_its_secrets_from_the_study_file(monkeypatch):
    plans = []

    def keep(plan, *_, **_options):
        plans.append(plan)
        return 0

    monkeypatch.setattr(launch, "run_and_report", keep)
    assert run(["tune", "bookmarks", "--seed", "1"]) == 0
    with Store.open() as store:
        run_id = store.create_run(plans[0], ladder().host)
        assert has_digests(store.plan(run_id).study)
    assert run(["tune", "--resume", run_id]) == 0
    assert plans[1] == plans[0]


def test_what_is_sent_to_log_in_is_kept_back(plan):
    login = RequestSpec(path="/login", method="POST", body="name=user{user}&password=s3cret")
    study = replace(plan.study, workload=replace(plan.study.workload, first=(login,)))
    assert [each.body for each in without_values(study).workload.first] == [KEPT_BACK]
    kept = with_digests(study, "0123abcd")
    assert "s3cret" not in msgspec.json.encode(kept).decode()
    assert has_digests(kept)
    assert with_secrets_of(kept, study) == study
    # Nor is a knob of that name one.
    step = replace(ladder().steps[0], changed={"first": (1, 2)})
    assert without_values(replace(ladder(), steps=(step,))).steps[0].changed == {"first": (1, 2)}
    outcome = replace(shop(), workload=replace(shop().workload, first=(login,)))
    assert "s3cret" not in msgspec.json.encode(with_digests(outcome, "0123abcd")).decode()
    assert load_without_values(outcome).workload.first[0].body == KEPT_BACK
