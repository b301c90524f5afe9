"""What tests try of each knob."""

from httpdyno.model import Level

LEVELS: dict[str, tuple[Level, ...]] = {
    "worker_processes": (1, 2, 8),
    "worker_rlimit_nofile": (16_384, 65_536),
    "worker_connections": (700, 4096, 65_536),
    "multi_accept": (False, True),
    "keepalive_timeout": (5, 65, 0.5),
    "keepalive_requests": (100, 10_000),
    "gzip": (False, True),
    "gzip_comp_level": (1, 6),
    "gzip_min_length": (20, 1000, 1024),
    "gzip_static": ("off", "on"),
    "ssl_buffer_size": (4096, 16_384),
    "client_body_buffer_size": (16_384, 131_072),
    "sendfile": ("off", "on", "on+nopush"),
    "aio": ("off", "threads", "threads+4m"),
    "open_file_cache": ("off", "1000/20s", "10000/60s"),
    "ssl_session_cache": ("none", "1m/5m", "20m/1h"),
    "output_buffers": ("2x32k", "4x64k"),
    "proxy_buffers": ("8x4k", "8x16k", "16x32k"),
    "fastcgi_buffers": ("8x16k", "16x32k"),
    "listen_backlog": (511, 1024, 4096),
    "listen_reuseport": (False, True),
    "access_log_buffer": ("none", "32k/1s", "256k/5s"),
    "upstream_keepalive": (0, 8, 64),
}


def levels_of(name: str, found: Level | None) -> list[Level]:
    """Return the levels of a knob, the one that was found first."""
    levels = list(LEVELS[name.partition("@")[0]])
    return [*([] if found is None or found in levels else [found]), *levels]
