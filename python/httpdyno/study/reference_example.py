"""An example of each table of a study file, for the reference; together they are three studies."""

from collections.abc import Mapping

EXAMPLES: Mapping[str, str] = {
    "": """
format = 2
name = "shop"
title = "The shop, as gunicorn serves it"
about = "Which of its settings cost us the most on a Friday evening?"
""",
    "[server]": """
[server]
adapter = "gunicorn"
ready_path = "/health"
settings = { application = "shop:app", directory = "app" }
environment = { SHOP_CACHE = "{{ knob.cache }}" }
""",
    "[server.limits]": """
[server.limits]
memory = "{knob.memory}"    # how much does it need? `none` is no limit
cpu = 1.5
""",
    "[[server.prepare]]": """
[[server.prepare]]
run = ["sh", "-c", "echo 'create table items (name text)' > {run}/shop.sql"]
timeout = "30s"
""",
    "[[server.finish]]": """
[[server.finish]]
run = ["rm", "-f", "{memory}/shop.lock"]
""",
    "[[server.files]]": """
[[server.files]]
from = "app"
to = "app"
""",
    "[[server.templates]]": """
[[server.templates]]
source = "shop.ini.j2"
to = "{{ run }}/shop.ini"
""",
    "[[companions]]": """
[[companions]]              # the server's templates have it as {{ peer.db.port }}
name = "db"
adapter = "command"
command = ["redis-server", "{run}/redis.conf"]
ready = "tcp"
""",
    "[companions.limits]": """
[companions.limits]
memory = "256MiB"
""",
    "[[companions.templates]]": """
[[companions.templates]]    # in it: port {{ port }}
source = "redis.conf.j2"
to = "redis.conf"
""",
    "[[companions.files]]": """
[[companions.files]]
from = "data"
to = "data"
""",
    "[[companions.prepare]]": """
[[companions.prepare]]
run = ["mkdir", "{memory}/snapshots"]
""",
    "[[companions.finish]]": """
[[companions.finish]]
run = ["rm", "-f", "{run}/data/dump.rdb"]
""",
    "[network]": """
[network]                   # nobody but the resolver knows who 127.0.0.1 is
hosts = ["127.0.0.2 mail.example"]
""",
    "[network.resolver]": """
[network.resolver]
answers = "{{ '50ms' if knob.cache == 'disk' else 'at once' }}"
names = { "client.example" = "127.0.0.1", "shop.example" = ["192.0.2.1", "2001:db8::1"] }
""",
    "[site]": """
[site]
listener = "443"
host = "shop.example"
writes = ["/var/lib/php/sessions", "/var/www/shop/cache"]
""",
    "[[site.prepare]]": """
[[site.prepare]]            # built once for a run …
run = ["php", "bin/console", "shop:demo-data", "--to", "{shared}/shop.sqlite"]
each = "run"
timeout = "10m"
folder = "/var/www/shop"
user = "www-data"

[[site.prepare]]            # … and copied for each start
run = ["cp", "{shared}/shop.sqlite", "/var/www/shop/cache/shop.sqlite"]
user = "www-data"
""",
    "[[site.finish]]": """
[[site.finish]]
run = ["php", "bin/console", "shop:forget", "test-orders"]
folder = "/var/www/shop"
user = "www-data"
""",
    "[[site.members]]": """
[[site.members]]
name = "front"
kind = "nginx"
main = "/etc/nginx/nginx.conf"
unit = "nginx.service"

[[site.members]]
name = "php"
kind = "php-fpm"
main = "/etc/php/8.2/fpm/php-fpm.conf"
serves = ["unix:/run/php/php8.2-fpm.sock"]
""",
    "[site.members.limits]": """
[site.members.limits]       # of the member above it, as MemoryMax= and CPUQuota= of its unit
memory = "1GiB"
cpu = 2
""",
    "[[site.doors]]": """
[[site.doors]]
to = "unix:/run/postgresql/.s.PGSQL.5432"
through = "unix:/srv/throwaway/.s.PGSQL.5432"
why = "a throwaway copy of the database"
""",
    "[fragments]": """
[fragments]
command = ["perl", "bodies.pl"]
knob = "body"
empty = "empty"
environment = { PERL_HASH_SEED = "{knob.hash_seed}" }
""",
    "[[fragments.files]]": """
[[fragments.files]]
from = "bodies.pl"
to = "bodies.pl"
""",
    "[[knobs]]": """
[[knobs]]
name = "workers"
start = 1
levels = [2, 4]

[[knobs]]
name = "worker_class"       # without levels: a candidate sets it
start = "sync"

[[knobs]]
name = "threads"
start = 1

[[knobs]]
name = "cache"              # the application's own, which reads SHOP_CACHE
start = "disk"
levels = ["memory"]
why = "every page writes a session"

[[knobs]]
name = "memory"             # of its limits
start = "none"
levels = ["256MiB", "128MiB"]
""",
    "[[candidates]]": """
[[candidates]]
name = "with threads"
set = { workers = 2, worker_class = "gthread", threads = 4 }
why = "requests wait for the database most of the time"
""",
    "[workload]": """
[workload]
connections = 20
keep_alive = false
timeout = "5s"
may_differ = ["made in [0-9.]+ ms"]
""",
    "[[workload.first]]": """
[[workload.first]]
path = "/login"
form = { name = "user{user}" }
expect_status = 302
""",
    "[[workload.requests]]": """
[[workload.requests]]
path = "/list"
weight = 8

[[workload.requests]]
path = "/buy"
method = "POST"
body = "item={random}"
expect_status = 303
""",
    "[objective]": """
[objective]
metric = "throughput_per_s"
max_p99 = "300ms"
""",
    "[method]": """
[method]
kind = "ladder"
min_starts = 8
""",
    "[[method.phases]]": """
[[method.phases]]           # without any: windows of a steady load
name = "warm"

[[method.phases]]           # the last one decides, unless `method.decides` names another
name = "idle, then all at once"
pause = "5s"
window = "2s"
""",
    "[budget]": """
[budget]
time = "10m"
""",
}
