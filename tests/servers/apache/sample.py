"""An Apache configuration in memory, and what the adapter makes of it. Nothing is run."""

from collections.abc import Mapping

from httpdyno.model import ChangeSet, Level, Member, Survey
from httpdyno.servers.apache import Apache
from httpdyno.servers.stack.adapter import MemberFiles
from httpdyno.servers.stack.snapshot import edited_files, unified_diff

MAIN = "/etc/apache2/apache2.conf"
MEMBER = Member(name="front", kind="apache", main=MAIN)
EVENT = """LoadModule mpm_event_module m/mod_mpm_event.so
StartServers 2
MinSpareThreads 25
MaxSpareThreads 75
ThreadsPerChild 25
MaxRequestWorkers 150
KeepAlive On
"""
PREFORK = """LoadModule mpm_prefork_module m/mod_mpm_prefork.so
<IfModule mpm_prefork_module>
    MaxRequestWorkers  150
</IfModule>
KeepAlive On
"""


def files(main: str, others: Mapping[str, str] | None = None) -> MemberFiles:
    texts = {MAIN: main, **(others or {})}
    return MemberFiles(texts={path: text.encode() for path, text in texts.items()})


def surveyed(member_files: MemberFiles) -> Survey:
    survey = Apache().survey(MEMBER, member_files, None)
    assert isinstance(survey, Survey)
    return survey


def changed(member_files: MemberFiles, values: Mapping[str, Level]) -> ChangeSet:
    return Apache().change_set(surveyed(member_files), member_files, values)


def difference(member_files: MemberFiles, values: Mapping[str, Level]) -> list[str]:
    """Return the lines that a change takes away and puts in, without their surroundings."""
    texts = member_files.texts
    after = edited_files(texts, changed(member_files, values).edits)
    lines = unified_diff({path: texts[path] for path in after}, after).splitlines()
    return [line for line in lines if line[:1] in "+-" and line[:3] not in {"+++", "---"}]


def text_of(survey: Survey, name: str, scope: str = "") -> str:
    reading = survey.reading(name, scope)
    assert reading is not None, f"nothing sets {name} in `{scope}`"
    return reading.text
