"""`limits` of a server in a study file."""

import pytest

from httpdyno.errors import StudyFileError
from httpdyno.model import KnobInfo, ServerLimits
from httpdyno.study.file import load_study

HEAD = """
format = 2
name = "shop"
title = "The shop"

[[knobs]]
name = "memory"
start = "none"
levels = ["64MiB"]

"""
SERVER = """
[server]
adapter = "command"
command = ["shop", "{port}"]
"""
SITE = """
[[site.members]]
name = "front"
kind = "nginx"
main = "/etc/nginx/nginx.conf"
"""


def read(folder, text):
    (folder / "snapshot").mkdir(exist_ok=True)
    (folder / "study.toml").write_text(HEAD + text)
    info = KnobInfo(name="memory", summary="", kind="text", default="none")
    return load_study(folder, lambda _: {}, lambda *_: {"front:memory": info})


def test_each_server_has_limits_of_its_own(tmp_path):
    study = read(
        tmp_path,
        f"""{SERVER}
[server.limits]
memory = "{{knob.memory}}"
cpu = 1.5

[[companions]]
name = "db"
adapter = "command"
command = ["db", "{{port}}"]
limits = {{ memory = "256MiB", cpu = "0.5", cpu_period = "20ms" }}
""",
    )
    assert study.server.limits == ServerLimits(memory="{knob.memory}", cpu="1.5")
    [db] = study.server.companions
    assert db.limits == ServerLimits(memory="256MiB", cpu="0.5", cpu_period_s=0.02)
    assert study.limit_words == (
        "server: memory {knob.memory}, cpu 1.5; db: memory 256MiB, cpu 0.5"
    )


def test_members_of_a_site_have_limits_too(tmp_path):
    study = read(tmp_path, f'{SITE}limits = {{ memory = "1GiB", cpu = 2 }}\n')
    assert dict(study.limits) == {"front": ServerLimits(memory="1GiB", cpu="2")}
    assert study.limit_words == "front: memory 1GiB, cpu 2"


def test_without_any_nothing_is_said(tmp_path):
    study = read(tmp_path, SERVER)
    assert (study.limits, study.limit_words) == ((), "")


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ('memory = "half"', "server.limits.memory is 'half'; expected a size"),
        ('memory = "4KiB"', "expected at least 4.00 MiB"),
        ('cpu = "fast"', "server.limits.cpu is 'fast'"),
        ("cpu = 0", "server.limits.cpu is '0'; expected at least 0.01"),
        ("cpu = -1.5", "server.limits.cpu is '-1.5'"),
        ("cpu = nan", "server.limits.cpu is nan; expected a finite"),
        ('cpu_period = "2s"', "server.limits.cpu_period is '2s'; expected 1ms to 1s"),
        ("swap = 1", "swap"),
    ],
)
def test_what_is_no_limit_is_refused(tmp_path, limits, words):
    with pytest.raises(StudyFileError) as refused:
        read(tmp_path, f"{SERVER}limits = {{ {limits} }}\n")
    assert words in f"{refused.value} {refused.value.hint}"


def test_a_member_has_no_knob_for_it(tmp_path):
    with pytest.raises(StudyFileError, match=r"limits\.memory is '.knob\.memory.'; expected no kn"):
        read(tmp_path, f'{SITE}limits = {{ memory = "{{knob.memory}}" }}\n')


@pytest.mark.parametrize(
    ("limits", "method", "expected"),
    [
        ("cpu = 1", "", (1.0, 0.1)),
        ('cpu = 1\ncpu_period = "10ms"', "", (0.1, 0.02)),
        ('cpu = 1\ncpu_period = "10ms"', 'window = "2s"\nlead_in = "300ms"', (2.0, 0.3)),
        ("cpu = 1", 'lead_in = "0s"\nwarm_up = "0s"', (1.0, 0.0)),
        ('memory = "64MiB"', "", (0.05, 0.02)),
    ],
)
def test_a_window_holds_whole_periods_of_a_cpu_limit(tmp_path, limits, method, expected):
    study = read(tmp_path, f"{SERVER}[server.limits]\n{limits}\n[method]\n{method}\n")
    assert (study.method.window_s, study.method.lead_in_s) == pytest.approx(expected)


def test_a_window_that_is_a_phases_own_holds_whole_periods_too(tmp_path):
    phases = [f'[[method.phases]]\nname = "{n}"\n' for n in ("short", "long", "as the method's")]
    windows = ('window = "200ms"\n', 'window = "3s"\n', "")
    text = "".join(map("".join, zip(phases, windows, strict=True)))
    method = read(tmp_path, f"{SERVER}limits = {{ cpu = 1 }}\n{text}").method
    assert [method.window_of(phase) for phase in method.phases] == [1.0, 3.0, 1.0]
