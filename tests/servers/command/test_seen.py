from httpdyno.model import Effective
from httpdyno.report.shared.message import text
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.command.seen import SOURCE, ProcessTexts, Reach, seen

REACHES = {
    "threads": Reach(arguments=("--threads=4",), environment={}),
    "workers": Reach(environment={"WEB_CONCURRENCY": "2"}),
    "template": Reach(environment={}),
}
LEVELS = {"threads": 4, "workers": 2, "template": True}


def process(*arguments, **environment):
    return ProcessTexts(pid=7, arguments=arguments, environment=environment)


def test_what_all_processes_have_is_seen_and_the_rest_is_not_known():
    both = [process("node", "--threads=4", WEB_CONCURRENCY="2")] * 2
    values = {"threads": "4", "workers": "2"}
    assert seen(REACHES, LEVELS, both) == Effective(values=values, asked=values, sources=SOURCE)


def test_what_one_of_them_has_not_is_not_known():
    found = seen(REACHES, LEVELS, [process("node", "--threads=4"), process("node: worker")])
    assert found == Effective()


def test_nothing_is_seen_where_nobody_listens():
    assert seen(REACHES, LEVELS, []) == Effective()


def test_a_variable_that_something_set_anew_is_another_value():
    found = seen(REACHES, LEVELS, [process(WEB_CONCURRENCY="1")])
    assert isinstance(found, NotRunning)
    assert found.status == "refused"
    assert text(found.detail) == (
        "WEB_CONCURRENCY is '1' in process 7, which listens, where '2' was given for workers: "
        "something between sets it anew"
    )
