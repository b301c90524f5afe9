"""Whole answers of the kernel, and only those to the present question."""

import errno
import os
import struct
from typing import Any

import pytest
from tests.rows import each_row

from httpdyno.host.sock_diag import answers, messages

HEADER = struct.Struct("=IHHII")
ERROR, DONE, TOLD = 2, 3, 20
CHANGED = 0x10
NO_FAULT = struct.pack("=i", 0)


def message(number, content, kind=TOLD, flags=2):
    padded = content + bytes(-len(content) % 4)
    return HEADER.pack(HEADER.size + len(content), kind, flags, number, 0) + padded


def fault(number, kind):
    return struct.pack("=i", -number), kind


class Kernel:
    """A socket to a kernel that answers each question by a script."""

    def __init__(self, *scripts):
        self._scripts = list(scripts)
        self._lies = []
        self.n_asked = 0

    def send(self, question):
        number = HEADER.unpack_from(question)[3]
        self.n_asked += 1
        self._lies += self._scripts.pop(0)(number)

    def recv(self, _):
        if not self._lies:
            raise TimeoutError
        return self._lies.pop(0)


def whole(*contents):
    return lambda number: [
        b"".join(message(number, each) for each in contents),
        message(number, NO_FAULT, DONE),
    ]


def asked(*scripts):
    kernel: Any = Kernel(*scripts)
    return answers(kernel, TOLD, b"who?"), kernel.n_asked


def test_all_messages_of_an_answer_are_told():
    assert asked(whole(b"one", b"another")) == ([b"one", b"another"], 1)


def test_a_late_answer_to_an_earlier_question_is_none_to_this_one():
    def late(number):
        earlier = [message(number - 1, b"old"), message(number - 1, NO_FAULT, DONE)]
        return [*earlier, *whole(b"new")(number)]

    assert asked(late) == ([b"new"], 1)


def test_a_kernel_that_still_answers_an_earlier_question_is_asked_again():
    def busy(number):
        return [
            message(number - 1, b"old"),
            message(number, *fault(errno.EBUSY, ERROR)),
            message(number - 1, NO_FAULT, DONE),
        ]

    assert asked(busy, whole(b"new")) == ([b"new"], 2)


def test_an_answer_that_changed_meanwhile_is_asked_for_again_and_not_for_ever():
    def changed(number):
        return [message(number, b"old", flags=2 | CHANGED), message(number, NO_FAULT, DONE)]

    assert asked(changed, whole(b"new")) == ([b"new"], 2)
    with pytest.raises(OSError, match=os.strerror(errno.EBUSY)):
        asked(changed, changed, changed)


@pytest.mark.parametrize("kind", [ERROR, DONE])
def test_a_fault_is_told_also_at_the_end(kind):
    with pytest.raises(FileNotFoundError):
        asked(
            lambda number: [message(number, b"some"), message(number, *fault(errno.ENOENT, kind))]
        )


@each_row("length", [0, 15, 999])
def test_what_is_cut_off_is_no_answer_and_read_once(length):
    broken = struct.pack("=I", length) + message(1, b"some")[4:]
    with pytest.raises(OSError, match=os.strerror(errno.EBADMSG)):
        list(messages(broken))
