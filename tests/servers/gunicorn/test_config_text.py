import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from httpdyno.errors import AdapterError
from httpdyno.servers.gunicorn.config_text import assignments


def found(text, **environment):
    return assignments(text.encode(), "gunicorn.conf.py", n_cores=4, environment=environment)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x = 3", 3),
        ("x = multiprocessing.cpu_count() * 2 + 1", 9),
        ("n = os.cpu_count() or 1\nx = min(n, 3)", 3),
        ("x = int(os.environ.get('THERE', 2))", 7),
        ("x = int(os.getenv('NOT_THERE', '5'))", 5),
        ("x = ['0.0.0.0:80', 'unix:/run/a']", ["0.0.0.0:80", "unix:/run/a"]),
        ("x = '0.0.0.0:' + os.environ.get('THERE', '80')", "0.0.0.0:7"),
        ("x = f'127.0.0.1:{8000 + 1}'", "127.0.0.1:8001"),
        ("x: int = -1", -1),
        ("x = 1\nx = 2", 2),
        ("x = True", True),
    ],
)
def test_what_can_be_known_without_executing_is_known(text, value):
    assigned = found(text, THERE="7")["x"]
    assert (assigned.is_known, assigned.value) == (True, value)


@each_row(
    "text",
    [
        "x = read_settings()['workers']",
        "x = 1\nif DEBUG:\n    x = 2",
        "x = 1\nfor x in range(3): pass",
        "x = 1 / 0",
        "x = 9 ** 9 ** 9",
        "x = '9' * 999999999",
        "x = int('nine')",
        "x = 1\ndef x(): pass",
        "x = workers",
    ],
)
def test_what_cannot_is_not_guessed_but_shown_as_it_stands(text):
    assigned = found(text)["x"]
    assert not assigned.is_known
    assert assigned.value is None


@given(st.integers(-(10**6), 10**6), st.text("äbc# \n", max_size=20))
def test_the_span_of_a_value_is_of_bytes(number, comment):
    before = "".join(f"# {line}\n" for line in comment.splitlines())
    text = f"{before}name = 'ä'; x = {number}  # after\n"
    origin = found(text)["x"].origin
    assert text.encode()[origin.start : origin.end].decode() == str(number)
    assert origin.line == len(before.splitlines()) + 1


def test_what_is_no_python_is_an_error_with_its_line():
    with pytest.raises(AdapterError, match=r"`gunicorn.conf.py` line 2 is no Python"):
        found("x = 1\nworkers 3\n")
