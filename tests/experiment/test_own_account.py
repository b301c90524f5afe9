"""Servers asked for their status page while somebody looks at them."""

from threading import Event
from typing import Any, cast

import pytest
from msgspec import structs
from tests.rows import each_row
from tests.words import words

from httpdyno.experiment.trial import look as own_account
from httpdyno.experiment.trial.look import Asking
from httpdyno.model import Look, OfWorkers, OwnAccount

DEADLINE_S = 10.0
SEEN = Look(seconds=0.5, n_samples=9, hidden=("before",))
APACHE = "Total Accesses: 9\nScoreboard: WWK_...\n"


class Onlooking:
    """An onlooker that sees always the same, once it is told to end."""

    def start(self):
        pass

    def stop(self):
        return SEEN


class Page:
    """One that says what it is told to; the last of it for ever."""

    def __init__(self, *answers, is_apart=False):
        self.is_apart = is_apart
        self._answers = list(answers)
        self.n_asked = 0
        self.has_told = Event()
        """It is asked once more after all of them."""

    def workers_text(self, _timeout_s):
        return ""

    def text(self, timeout_s):
        if self.n_asked >= len(self._answers):
            self.has_told.set()
        answer = self._answers[min(self.n_asked, len(self._answers) - 1)]
        self.n_asked += 1
        if isinstance(answer, OSError):
            raise answer
        return answer


@pytest.fixture(autouse=True)
def _often(monkeypatch):
    monkeypatch.setattr(own_account, "_EVERY_S", 0.001)


def looked(*pages):
    """Look until the last of the pages has told all that it has."""
    asking = Asking(Onlooking(), cast(Any, pages))
    asking.start()
    assert pages[-1].has_told.wait(DEADLINE_S)
    return asking.stop()


def test_what_it_says_is_added_up_without_the_one_that_answers():
    look = looked(Page(APACHE))
    [account] = look.own
    assert structs.replace(account, n_answers=1) == OwnAccount(
        server="Apache",
        of="workers",
        n_answers=1,
        states={"W answering": 1.0, "K keep-alive": 1.0, "_ waiting": 1.0},
    )
    assert look.hidden == SEEN.hidden


class Detailed(Page):
    """One that has each worker, too."""

    def workers_text(self, _timeout_s):
        row = "<tr><td><b>{n}-0</b></td><td>{pid}</td><td>0/{served}/90</td></tr>"
        rows = [row.format(n=n, pid=50 + n, served=served) for n, served in enumerate((4, 9, 2))]
        return "\n".join(rows)


def test_what_each_worker_answered_is_asked_for_once_where_a_page_tells_it():
    [account] = looked(Detailed(APACHE)).own
    assert account.requests == OfWorkers(median=4.0, largest=9.0)
    [account] = looked(Page(APACHE)).own
    assert account.requests is None


def test_one_that_answers_from_apart_is_not_taken_out():
    page = Page('{"active processes": 3, "idle processes": 0}', is_apart=True)
    [account] = looked(page).own
    assert (account.server, account.states) == ("php-fpm", {"active": 3.0})


@each_row("answer", [ConnectionError("it answers `403`"), "<html>", ""])
def test_what_is_no_status_page_is_asked_once_and_told_of_nowhere(answer):
    page = Page(answer)
    look = looked(page, Page(TimeoutError("timed out"), APACHE))
    assert page.n_asked == 1
    assert [each.server for each in look.own] == ["Apache"]
    assert look.hidden == SEEN.hidden


def test_a_page_that_never_answers_in_time_is_told():
    look = looked(Page(TimeoutError("timed out")))
    assert look.own == ()
    before, no_answer = look.hidden
    assert before == "before"
    assert words(no_answer) == "what its status page says: there was no answer in time"


def test_what_comes_after_the_load_is_of_another_moment():
    is_asked, may_answer = Event(), Event()

    class Late(Page):
        def text(self, timeout_s):
            is_asked.set()
            assert may_answer.wait(DEADLINE_S)
            return APACHE

    class Ending(Onlooking):
        def stop(self):
            asking._is_over.set()
            may_answer.set()
            return SEEN

    asking = Asking(Ending(), [cast(Any, Late(APACHE))])
    asking.start()
    assert is_asked.wait(DEADLINE_S)
    assert asking.stop().own == ()
