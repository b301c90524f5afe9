"""What users of ab, curl, hey, k6 and wrk type by habit, and what says the same here."""

HABITS = {
    "-k": "keep-alive is on unless `--no-keepalive` says otherwise; curl's -k is `--insecure` here",
    "-t": "ab's time limit is `-d 30s` here, wrk's threads are `--threads 2`",
    "-z": "hey's duration is `-d 30s` here",
    "-q": "hey's rate is `--rate 500/s` here, for all connections together",
    "-R": "wrk2's rate is `--rate 500/s` here",
    "-s": "ab's timeout is `--timeout 5s` here; what wrk scripts do, `--mix` and `--sessions` say",
    "-m": "the method is `-X PUT` here",
    "-i": "HEAD requests are `-X HEAD` here",
    "-p": "ab's body is `--data @FILE` here",
    "-D": "hey's body is `--data @FILE` here",
    "-T": "the type of a body is `-H 'Content-Type: application/json'` here",
    "-C": "a cookie is `-H 'Cookie: NAME=VALUE'` here",
    "-A": "credentials are `-u NAME:PASSWORD` here, curl's -A is `-H 'User-Agent: NAME'`",
    "-a": "credentials are `-u NAME:PASSWORD` here",
    "-l": "answers may have any length unless `--expect-length` says which",
    "-r": "errors never end a test; `--fail-if` says how many are too many",
    "-g": "ab's plot data are `--hgrm FILE` here, the course of the test `--csv FILE`",
    "-e": "ab's percentiles are `--hgrm FILE` here",
    "-o": "hey's output is `--json FILE` or `--csv FILE` here",
    "-w": "a page is `--html FILE` here",
    "-x": "there are no proxies: load one like a server, with `-H 'Host: NAME'`",
    "--proxy": "there are no proxies: load one like a server, with `-H 'Host: NAME'`",
    "--http2": "only HTTP/1.1 is spoken, also to servers that know HTTP/2: leave it out",
    "--concurrency": "users are connections: `-c 50`",
    "--qps": "a rate is `--rate 500/s` here, for all connections together",
    "--rps": "a rate is `--rate 500/s` here, for all connections together",
    "--metric": "a test fails by `--fail-if 'p95 > 200ms'`, and every figure is in `--json FILE`",
    "--http1.1": "HTTP/1.1 is what is spoken: leave it out",
    "-I": "HEAD requests are `-X HEAD` here",
    "--head": "HEAD requests are `-X HEAD` here",
    "--request": "the method is `-X PUT` here",
    "--data-raw": "a body is `--data TEXT` here",
    "--data-binary": "a body is `--data TEXT` or `--data @FILE` here",
    "--data-urlencode": "a body is `--data TEXT` here, encoded as it is to be sent",
    "--body": "a body is `--data TEXT` here",
    "--body-file": "a body is `--data @FILE` here",
    "-F": "a body is `--data @FILE` here, with its type in `-H 'Content-Type: …'`",
    "--form": "a body is `--data @FILE` here, with its type in `-H 'Content-Type: …'`",
    "-b": "a cookie is `-H 'Cookie: NAME=VALUE'` here",
    "--cookie": "a cookie is `-H 'Cookie: NAME=VALUE'` here",
    "--user-agent": "it is `-H 'User-Agent: NAME'` here",
    "--max-time": "the timeout is `--timeout 5s` here, the length of the test `-d 30s`",
    "--connect-timeout": "the timeout is `--timeout 5s` here, from the first moment on",
    "--resolve": "load the address itself, with `-H 'Host: NAME'`, and `--sni NAME` for https",
    "--connect-to": "load the address itself, with `-H 'Host: NAME'`, and `--sni NAME` for https",
    "--warmup": "it is `--warm-up 5s` here",
    "-v": "`--verbose` shows all that was measured",
    "-f": "the version of TLS is `--tls1.2` or `--tls1.3` here",
    "--latency": "percentiles are always shown; `--histogram` shows the whole distribution",
    "--script": "what wrk scripts do, `--mix`, `--url-file` and `--sessions` say here",
    "--iterations": "a number of requests is `-n 1000` here",
    "--reps": "a number of requests is `-n 1000` here, for all connections together",
    "--time": "the length of the test is `-d 30s` here",
    "--arrivalRate": "a rate is `--rate 500/s` here, for all connections together",
    "--targets": "several URLs are `--url-file FILE` here, or `--mix PATH` each",
    "--urls": "several URLs are `--url-file FILE` here, or `--mix PATH` each",
    "--file": "several URLs are `--url-file FILE` here, or `--mix PATH` each",
    "--max-workers": "connections are `-c 50` here",
    "--no-tui": "nothing is drawn where the output is no terminal: leave it out",
    "--benchmark": "users pause only where `--sessions` says so: leave it out",
    "--keepalive": "keep-alive is on unless `--no-keepalive` says otherwise",
    "--vus": "users are connections: `-c 50`",
    "--disable-keepalive": "a connection for each request is `--no-keepalive` here",
}
"""By option: a sentence. It names options that there are, which a test holds."""


def habit(option: str) -> str:
    """Return what to say here instead of an option that there is not; empty where nobody knows."""
    return HABITS.get(option, "")


def habit_of_duration(text: str) -> str:
    """Return what to say instead of `-d`, where a body stands behind it; else empty."""
    is_body = any(each in text for each in '@={["')
    return "curl's body is `--data TEXT` or `--data @FILE` here" if is_body else ""
