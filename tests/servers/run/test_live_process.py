import os
import signal
import subprocess

from httpdyno.host.procfs import ProcessStat
from httpdyno.servers.run.live_process import end_all, process_info, send, session_members


def test_a_process_says_its_parent_session_and_start():
    info = process_info(os.getpid())
    assert info is not None
    assert info.parent == os.getppid()
    assert info.session == os.getsid(0)
    assert info.started_ticks > 0


def test_a_process_that_is_gone_or_only_a_zombie_is_none():
    with subprocess.Popen(["/bin/true"]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert process_info(process.pid) is None, "a zombie"
        process.wait()
        assert process_info(process.pid) is None, "gone"


def test_a_name_with_parentheses_and_spaces_is_read_right(tmp_path):
    program = tmp_path / "a) R 1 (b"
    program.symlink_to("/bin/sleep")
    with subprocess.Popen([str(program), "600"]) as process:
        info = process_info(process.pid)
        process.kill()
    assert info is not None
    assert info.parent == os.getpid()


def test_a_session_whose_leader_started_at_another_time_is_not_ours():
    with subprocess.Popen(["/bin/sleep", "600"], start_new_session=True) as process:
        info = process_info(process.pid)
        assert info is not None
        ticks = info.started_ticks
        assert [each.pid for each in session_members(process.pid, ticks)] == [process.pid]
        assert session_members(process.pid, ticks - 1) == []
        process.kill()


def test_a_signal_goes_only_to_the_very_same_process():
    with subprocess.Popen(["/bin/sleep", "600"]) as process:
        info = process_info(process.pid)
        assert info is not None
        impostor = ProcessStat(info.text.replace(b" %d " % info.started_ticks, b" 1 "))
        assert (impostor.pid, impostor.started_ticks) == (info.pid, 1)
        send([impostor], signal.SIGKILL)
        assert process.poll() is None
        send([info], signal.SIGKILL)
        assert process.wait(10) == -signal.SIGKILL
        send([info], signal.SIGKILL)  # gone: nothing to do


def test_ending_nothing_is_done_at_once():
    assert end_all(list) == []
