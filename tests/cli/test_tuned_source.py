import pytest

from httpdyno.cli import adopt
from httpdyno.cli.app import run
from httpdyno.cli.tune import study_of


@pytest.fixture
def adopted(monkeypatch, tmp_path):
    calls = []

    def command(source, *, output, dry_run=False):
        calls.append((source, output, "dry") if dry_run else (source, output))

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(adopt, "command", command)
    return calls


@pytest.mark.parametrize("words", ["bookmarks", "nowhere", "./study.toml", ""])
def test_what_names_no_server_is_for_a_study(words, adopted):
    assert study_of(words) == words
    assert adopted == []


def test_a_folder_is_a_study_though_a_server_is_called_so(adopted, tmp_path):
    (tmp_path / "nginx").mkdir()
    assert study_of("nginx") == "nginx"
    assert adopted == []


@pytest.mark.parametrize(
    ("words", "folder"),
    [("nginx", "nginx"), (":8080", "8080"), ("unit:shop.service", "unit-shop.service")],
)
def test_a_server_is_adopted_into_a_folder_of_its_name(words, folder, adopted):
    assert study_of(words) == folder
    assert adopted == [([words], folder)]


def test_a_main_file_is_adopted_beside_its_folder(adopted, tmp_path):
    (tmp_path / "shop").mkdir()
    file = tmp_path / "shop/nginx.conf"
    file.write_text("events {}\nhttp { server { listen 8080; } }\n")
    assert study_of(str(file)) == "shop-study"
    assert adopted == [([str(file)], "shop-study")]


def test_what_was_adopted_before_is_used_again(adopted, tmp_path, capsys):
    (tmp_path / "8080").mkdir()
    (tmp_path / "8080/study.toml").write_text("")
    assert study_of(":8080") == "8080"
    assert adopted == []
    assert "made of `:8080` before" in capsys.readouterr().err


def test_in_a_dry_run_a_server_is_only_looked_at(adopted, tmp_path):
    assert study_of(":8080", is_dry_run=True) is None
    assert adopted == [([":8080"], "8080", "dry")]
    assert run(["tune", ":8080", "--dry-run"]) == 0
    assert not (tmp_path / "8080").exists()
