import pytest
from tests.rows import each_row
from tests.servers.php_fpm.sample import (
    FOLDER,
    INI_TEXT,
    MAIN,
    MAIN_TEXT,
    OPCACHE,
    PHP_INI,
    POOL,
    POOL_TEXT,
    files,
    surveyed,
)

from httpdyno.errors import AdapterError
from httpdyno.model import Member
from httpdyno.report.shared.message import text
from httpdyno.servers.php_fpm import PhpFpm
from httpdyno.servers.php_fpm.survey import listen_address, pool_names, survey_of_files

SECOND = """[shop]
user = shop
listen = 127.0.0.1:9001
pm = static
pm.max_children = 7
access.log = /var/log/$pool.log
"""


def text_of(survey, name, scope=""):
    reading = survey.reading(name, scope)
    assert reading is not None, f"{name} {scope}"
    return reading.text


def origin_of(survey, name):
    origin = survey.reading(name).origin
    assert origin is not None
    return origin


def test_debians_files_are_read_with_the_places_of_all_values():
    survey = surveyed(files())
    origin = origin_of(survey, "pm.max_children")
    assert (origin.file, origin.line) == (POOL, 8)
    assert files().texts[POOL][origin.start : origin.end] == b"5"
    assert text_of(survey, "pm.spare_servers") == "2/1/3"
    assert text_of(survey, "opcache.jit") == "off"
    assert any(r.name == "pm.max_requests" and r.origin is None for r in survey.readings)
    assert [listener.address for listener in survey.listeners] == ["unix:/run/php/php8.2-fpm.sock"]
    assert survey.writes == ("/run/php", "/var/lib/php/sessions", "/var/log")
    assert survey.notices == ()


def test_with_several_pools_each_value_has_its_pool():
    survey = surveyed(files({f"{FOLDER}/pool.d/shop.conf": SECOND}))
    assert pool_names(survey) == ("shop", "www")  # in the order of the files' names
    assert text_of(survey, "pm.max_children", "shop") == "7"
    assert text_of(survey, "pm.max_children", "www") == "5"
    assert survey.reading("pm.max_children") is None
    assert survey.logs[0].path == "/var/log/shop.log"
    knobs = PhpFpm().knobs(survey)
    assert knobs["pm@shop"].default == "static"
    assert knobs["pm.max_children@shop"].default == 7
    assert "pm.max_children" not in knobs
    assert knobs["opcache.memory_consumption"].default == 128


@each_row(
    ("later", "children"),
    [
        ("[www]\npm.max_children = 9\n", "9"),
        ("[WWW]\nPM.Max_Children = 9\n", "9"),
        # The section that was open in the included file goes on behind the include.
        ("pm.max_children = 9\n", "9"),
        ("[other]\nlisten=9\npm.max_children = 9\n", None),
    ],
)
def test_a_section_that_comes_again_goes_on_and_the_last_value_counts(later, children):
    survey = surveyed(files({MAIN: MAIN_TEXT + later}))
    if children is None:
        assert text_of(survey, "pm.max_children", "www") == "5"
    else:
        assert text_of(survey, "pm.max_children") == children
        assert origin_of(survey, "pm.max_children").file == MAIN


def test_of_a_pools_ini_values_the_first_counts_and_the_admins_before_the_users():
    pool = (
        f"{POOL_TEXT}php_value[realpath_cache_ttl] = 1\n"
        "php_admin_value[realpath_cache_ttl] = 2\nphp_admin_value[realpath_cache_ttl] = 3\n"
    )
    assert text_of(surveyed(files({POOL: pool})), "realpath_cache_ttl") == "2"


def test_what_counts_at_a_path_alone_is_not_in_force_for_the_server():
    assert "realpath_cache_ttl = 5" in INI_TEXT
    assert text_of(surveyed(files()), "realpath_cache_ttl") == "120"


def test_a_pools_value_for_opcaches_memory_is_said_to_change_nothing():
    pool = f"{POOL_TEXT}php_admin_value[opcache.memory_consumption] = 512\n"
    survey = surveyed(files({POOL: pool}))
    assert text_of(survey, "opcache.memory_consumption") == "128"
    [notice] = survey.notices
    assert "changes nothing" in text(notice.why)
    assert notice.origin
    assert notice.origin.line == 13


@pytest.mark.parametrize(("pool_says", "is_on"), [("off", False), ("on", True)])
def test_a_pool_may_do_without_opcache(pool_says, is_on):
    pool = f"{POOL_TEXT}php_admin_flag[opcache.enable] = {pool_says}\n"
    found = surveyed(files({POOL: pool}))
    assert PhpFpm().knobs(found)["opcache.enable"].default is is_on


def test_without_opcache_its_knobs_are_not_there_and_it_is_said():
    survey = surveyed(files({OPCACHE: ""}))
    assert not [name for name in PhpFpm().knobs(survey) if name.startswith("opcache.")]
    assert [text(n.why) for n in survey.notices] == [
        "OPcache is not loaded: every request compiles its scripts anew"
    ]


@each_row(
    ("line", "folders"),
    [
        ("session.save_path = /srv/sessions", {"/srv/sessions"}),
        ('session.save_path = "5;0600;/srv/sessions"', {"/srv/sessions"}),
        ("session.save_path = tcp://127.0.0.1:6379", set()),
        ("", {"/var/lib/php/sessions"}),
    ],
)
def test_where_sessions_are_kept_is_written(line, folders):
    survey = surveyed(files({PHP_INI: f"{line}\n"}))
    assert set(survey.writes) - {"/run/php", "/var/log"} == folders


@each_row(
    ("text", "address"),
    [
        ("9000", "0.0.0.0:9000"),
        ("127.0.0.1:9000", "127.0.0.1:9000"),
        ("[::1]:9000", "[::1]:9000"),
        ("*:9000", "0.0.0.0:9000"),
        ("/run/php.sock", "unix:/run/php.sock"),
        ("var/php.sock", "unix:/usr/var/php.sock"),
    ],
)
def test_where_a_pool_listens(text, address):
    assert listen_address(text, "/usr") == address


@each_row(
    ("changed", "words"),
    [
        ({POOL: ""}, "no pool"),
        ({POOL: POOL_TEXT.replace("listen = /", "; listen = /")}, "the pool `www` has no `listen`"),
        ({POOL: f'{POOL_TEXT}x = "\n'}, r"quote is not closed \(.*www\.conf:13\)"),
        ({MAIN: f"include={MAIN}\n"}, "includes go too deep"),
        ({MAIN: ""}, "is not there"),
    ],
)
def test_what_cannot_be_read_is_named(changed, words):
    with pytest.raises(AdapterError, match=words):
        surveyed(files(changed))


def test_a_pattern_that_nothing_matches_is_a_notice():
    survey = surveyed(files({MAIN: f"include=/nowhere/*.conf\n{MAIN_TEXT}"}))
    assert text(survey.notices[0].why) == "nothing matches `include = /nowhere/*.conf`"


@each_row(
    ("program", "arguments", "main"),
    [
        (
            "/usr/sbin/php-fpm8.2",
            ["php-fpm: master process (/etc/php/8.2/fpm/php-fpm.conf)"],
            "/etc/php/8.2/fpm/php-fpm.conf",
        ),
        ("/usr/sbin/php-fpm", ["php-fpm", "-F", "-y", "my.conf"], "/srv/my.conf"),
        ("/usr/sbin/php-fpm", ["php-fpm", "--fpm-config=/x.conf"], "/x.conf"),
        ("/usr/sbin/nginx", ["nginx", "-y", "/x.conf"], None),
    ],
)
def test_a_master_process_is_known_by_its_title_or_its_arguments(program, arguments, main):
    member = PhpFpm().of_process(program, arguments, "/srv")
    assert (member.main if member else None) == main
    if member:
        assert (member.kind, member.program) == ("php-fpm", program)


def test_a_main_file_is_known_by_what_it_holds(tmp_path):
    main, other = tmp_path / "any.conf", tmp_path / "nginx.conf"
    main.write_text("[global]\n[www]\nlisten = 9000\npm.max_children = 5\n")
    other.write_text("events {}\n")
    member = PhpFpm().at(str(main))
    assert member is not None
    assert member.serves == ("0.0.0.0:9000",)
    assert PhpFpm().at(str(other)) is None
    assert PhpFpm().at(str(tmp_path / "none")) is None


def test_files_are_read_from_disk_with_all_that_they_include(tmp_path):
    (tmp_path / "pool.d").mkdir()
    (tmp_path / "conf.d").mkdir()
    (tmp_path / "mods").mkdir()
    main = tmp_path / "php-fpm.conf"
    main.write_text(f"[global]\ninclude={tmp_path}/pool.d/*.conf\n")
    for name in ("b.conf", "a.conf", ".hidden.conf", "c.txt"):
        (tmp_path / "pool.d" / name).write_text(f"[{name}]\nlisten = 9000\n")
    (tmp_path / "mods" / "opcache.ini").write_text("zend_extension=opcache.so\n")
    (tmp_path / "conf.d" / "10-opcache.ini").symlink_to(tmp_path / "mods" / "opcache.ini")
    (tmp_path / "php.ini").write_text("")
    member = Member(name="php", kind="php-fpm", main=str(main), program="/nowhere/php-fpm")
    read = PhpFpm().read(member)
    assert [path.removeprefix(f"{tmp_path}/") for path in read.texts] == [
        *("php-fpm.conf", "pool.d/a.conf", "pool.d/b.conf", "php.ini", "conf.d/10-opcache.ini")
    ]
    assert read.real[f"{tmp_path}/conf.d/10-opcache.ini"] == f"{tmp_path}/mods/opcache.ini"
    assert pool_names(survey_of_files(member, read)) == ("a.conf", "b.conf")
