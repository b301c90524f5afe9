from tests.rows import each_row

from httpdyno.servers.discover.command_line import procfile_command, variables_in

SET = {"WEB_CONCURRENCY": "3", "SECRET": "geheim", "EMPTY": ""}


@each_row(
    ("line", "command"),
    [
        ("gunicorn -b :$PORT shop:app", ("gunicorn", "-b", ":5000", "shop:app")),
        ("gunicorn -b :${PORT:-8000} shop:app", ("gunicorn", "-b", ":8000", "shop:app")),
        ("gunicorn -w ${WEB_CONCURRENCY:-2} a:b", ("gunicorn", "-w", "3", "a:b")),
        (
            "gunicorn -w ${EMPTY-4} ${OPTIONS:---threads 2}",
            ("gunicorn", "-w", "4", "--threads", "2"),
        ),
        ("release; gunicorn -b :$PORT", ("sh", "-c", "release; gunicorn -b :5000")),
        ("app --key $SECRET", ("sh", "-c", "app --key $SECRET")),
        ("app --key ${SECRET:-none}", ("sh", "-c", "app --key ${SECRET:-none}")),
        ("app $UNSET $(nproc)", ("sh", "-c", "app $UNSET $(nproc)")),
        ("PORT=80 app", ("sh", "-c", "PORT=80 app")),
        ("exec app 'a b'", ("app", "a b")),
    ],
)
def test_variables_of_a_procfile_are_what_they_are_where_it_is_started(line, command):
    assert procfile_command(f"web: {line}\n", "", "Procfile", SET) == command


def test_what_is_left_to_a_shell_is_named_and_not_told():
    command = procfile_command("web: app $SECRET ${SECRET:-x} ${OTHER}", "", "Procfile", SET)
    assert variables_in(command) == ("SECRET", "OTHER")
    assert "geheim" not in repr(command)
