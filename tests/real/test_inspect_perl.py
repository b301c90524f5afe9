"""What Apache2::SizeLimit counts of a process, as itself says it and as `inspect` shows it."""

import json
import re
import shutil
import urllib.request
from pathlib import Path

import pytest
from tests.conftest import PROGRAM_PATH
from tests.real.foreground import await_children, free_port, started_in

from httpdyno.cli.app import run

MODULES = Path("/usr/lib/apache2/modules")
pytestmark = [
    pytest.mark.real_server("apache2"),
    pytest.mark.skipif(not (MODULES / "mod_perl.so").exists(), reason="without mod_perl"),
]
N_WORKERS, PRELOADED_MIB, MIB = 2, 20, 1 << 20
MAIN = f"""
ServerRoot {{folder}}
ServerName shop.example
PidFile {{folder}}/pid
DefaultRuntimeDir {{folder}}
Mutex posixsem
ErrorLog {{folder}}/error.log
LoadModule mpm_prefork_module {MODULES}/mod_mpm_prefork.so
LoadModule authz_core_module {MODULES}/mod_authz_core.so
LoadModule perl_module {MODULES}/mod_perl.so
Listen 127.0.0.1:{{port}}
User nobody
Group nogroup
StartServers {N_WORKERS}
MinSpareServers {N_WORKERS}
MaxSpareServers {N_WORKERS + 1}
MaxRequestWorkers {N_WORKERS}
<Perl>
use Apache2::SizeLimit;
use Apache2::RequestIO ();
use Apache2::RequestRec ();
@Shop::loaded = map {{{{ 'x' x 4096 }}}} 1 .. {256 * PRELOADED_MIB};
Apache2::SizeLimit->set_max_unshared_size(15_000);
sub Shop::size {{{{ shift->print(join ' ', $$, (Apache2::SizeLimit->_check_size)[2]); 0 }}}}
</Perl>
<Location /size>
SetHandler modperl
PerlResponseHandler Shop::size
</Location>
"""


def test_both_counts_are_those_of_size_limit_and_of_the_kernel(own_folders, capsys):
    program = shutil.which("apache2", path=PROGRAM_PATH)
    assert program
    port, file = free_port(), own_folders / "apache.conf"
    file.write_text(MAIN.format(folder=own_folders, port=port))
    with started_in(own_folders) as start:
        root_pid = start([program, "-f", str(file), "-D", "FOREGROUND"], port)
        await_children(N_WORKERS, root_pid)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/size", timeout=10) as answer:
            pid, counted_kb = map(int, answer.read().split())
        assert run(["inspect", f"pid:{root_pid}", "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    [own_bytes] = [each["uss_bytes"] for each in document["workers"] if each["pid"] == pid]
    assert counted_kb * 1024 > own_bytes + (PRELOADED_MIB - 4) * MIB
    [found] = [each for each in document["findings"] if each["name"] == "size-limit-by-statm"]
    match = re.search(r"counts ([\d.]+) MiB of process (\d+) as unshared", found["what"])
    assert match
    # Between the count and the end of its answer it touches some pages of files more.
    assert float(match[1]) == pytest.approx(counted_kb / 1024, abs=0.5)
    assert int(match[2]) == pid
    assert f"{N_WORKERS} of {N_WORKERS} are over its limit of 14.6 MiB" in found["what"]
    assert found["severity"] == "bad"
