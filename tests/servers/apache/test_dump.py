from httpdyno.servers.apache.survey import parsed_dump
from httpdyno.servers.apache.text import Section

FIRST = """# In file: /etc/apache2/apache2.conf
#   5:
KeepAlive On
# In file: /etc/apache2/sites/shop.conf
#   1:
<VirtualHost *:80>
  #   2:
  ServerName shop.example
  #   4:
  <Directory "/srv/a b">
    #   5:
    AllowOverride None
  </Directory>
</VirtualHost>
# In file: /etc/apache2/apache2.conf
#   9:
Timeout 60
"""
RUN = """ServerRoot: "/etc/apache2"
Main DocumentRoot: "/var/www/html"
Mutex default: dir="/var/run/apache2/" mechanism=default
PidFile: "/var/run/apache2/apache2.pid"
Define: DUMP_CONFIG
User: name="www-data" id=33
Loaded Modules:
 core_module (static)
 ssl_module (shared)
"""
HOSTS = """VirtualHost configuration:
*:80                   shop.example (/etc/apache2/sites/shop.conf:1)
"""


def test_each_directive_has_file_line_and_sections():
    dump = parsed_dump(HOSTS + FIRST + RUN)
    host = Section("VirtualHost", "*:80", "/etc/apache2/sites/shop.conf", 1)
    folder = Section("Directory", '"/srv/a b"', "/etc/apache2/sites/shop.conf", 4)
    assert [(d.name, d.arguments, d.sections, d.file, d.line) for d in dump.directives] == [
        ("KeepAlive", "On", (), "/etc/apache2/apache2.conf", 5),
        ("ServerName", "shop.example", (host,), "/etc/apache2/sites/shop.conf", 2),
        ("AllowOverride", "None", (host, folder), "/etc/apache2/sites/shop.conf", 5),
        ("Timeout", "60", (), "/etc/apache2/apache2.conf", 9),
    ]
    assert dump.modules == ("core_module", "ssl_module")
    assert dump.server_root == "/etc/apache2"


def test_of_several_dumps_the_last_one_counts():
    # A server prints one at each reading: two at its start, one more at each restart.
    second = FIRST.replace("KeepAlive On", "KeepAlive Off")
    dump = parsed_dump(FIRST + FIRST + second)
    assert [d.arguments for d in dump.directives if d.name == "KeepAlive"] == ["Off"]
    assert len(dump.directives) == 4


def test_a_section_without_directives_is_never_closed():
    empty = """# In file: /a
#  1:
<VirtualHost *:80>
  #  2:
  <Directory /srv>
  #  5:
  KeepAlive On
  #  6:
  <Directory /srv/b>
</VirtualHost>
#  9:
Timeout 3
"""
    dump = parsed_dump(empty)
    assert [[s.arguments for s in d.sections] for d in dump.directives] == [["*:80"], []]
