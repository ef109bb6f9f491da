"""Planaria and PostgreSQL on one machine: what the scripts that compare them start both with, and how they take turns."""

import argparse
import json
import os
import pwd
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SQL = ROOT / "crates" / "workload" / "sql"
SETTINGS = {
    "synchronous_commit": "on",
    "fsync": "on",
    "max_wal_size": "16GB",
    "checkpoint_timeout": "30min",
    "max_connections": "300",
    "timezone": "UTC",
}


def positive(text):
    """An argument that is a number from 1."""
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1")
    return int(text)


def positives(text):
    """Some of them, with commas."""
    return [positive(part) for part in text.split(",")]


def chosen_of(names):
    """The type of an argument that has some of these names, with commas."""

    def chosen(text):
        wanted = text.split(",")
        if unknown := [name for name in wanted if name not in names]:
            raise argparse.ArgumentTypeError(f"no {', '.join(unknown)}; there are {', '.join(names)}")
        return wanted

    return chosen


def setting(text):
    """NAME=VALUE"""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is no NAME=VALUE")
    return name, value


def with_servers(p, isolation, planaria="target/release/planaria"):
    """Parses the command line, with what both servers are started with."""
    p.add_argument("--via", default="tcp", choices=["tcp", "socket"], help="how clients connect: loopback, or Unix domain sockets")
    p.add_argument("--isolation", default=isolation, help="PostgreSQL's default_transaction_isolation")
    p.add_argument("--shared-buffers", default="2GB")
    p.add_argument("--pg-setting", action="append", default=[], type=setting, metavar="NAME=VALUE")
    p.add_argument("--pg-bin", default=None, help="directory of PostgreSQL's programs; the newest of the machine")
    p.add_argument("--planaria", default=str(ROOT / planaria))
    p.add_argument("--planaria-option", action="append", default=[], help="of `planaria serve`, e.g. --threads=2")
    p.add_argument("--data", default=None, help="where the databases are made, on the disk that is to be measured")
    p.add_argument("--port", type=positive, default=57500, help="this one and the next")
    p.add_argument("--only", choices=["planaria", "postgresql"], help="leave the other one out")
    p.add_argument("--json", default=None, metavar="FILE", help="also write everything there")
    o = p.parse_args()
    if o.pg_bin is None:
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda d: int(d.parent.name))
        at = shutil.which("postgres")
        o.pg_bin = str(found[-1]) if found else str(Path(at).resolve().parent) if at else sys.exit("no PostgreSQL here")
    if not Path(o.pg_bin, "psql").exists():
        sys.exit(f"no PostgreSQL in {o.pg_bin}")
    if o.only != "postgresql" and not Path(o.planaria).exists():
        sys.exit(f"no {o.planaria}: it is made by `cargo build --release -p planaria-cli`")
    return o


class System:
    """A server, its database and how to reach it."""

    def __init__(self, o, name, port):
        self.o, self.name, self.port, self.process = o, name, port, None
        self.host = "127.0.0.1"

    def reached(self, directory):
        """Where Unix domain sockets are made, for everybody."""
        sockets = directory / "sockets"
        sockets.mkdir(exist_ok=True)
        sockets.chmod(0o1777)
        if self.o.via == "socket":
            self.host = sockets
        return sockets

    def environment(self):
        return {**os.environ, "PGHOST": str(self.host), "PGPORT": str(self.port), "PGUSER": "postgres", "PGDATABASE": "postgres"}

    def program(self, name, *args, **kwargs):
        return subprocess.run(
            [f"{self.o.pg_bin}/{name}", *args], env=self.environment(), capture_output=True, text=True, **kwargs
        )

    def psql(self, *args):
        done = self.program("psql", "-X", "-q", "-At", "-v", "ON_ERROR_STOP=1", *args)
        if done.returncode != 0:
            sys.exit(f"{self.name}: psql {' '.join(args)}: {done.stderr}")
        return done.stdout.strip()

    def did_not_start(self):
        sys.exit(f"{self.name} did not start:\n{self.log.read_text()[-2000:]}")

    def wait(self):
        for _ in range(600):
            if self.process.poll() is not None:
                break
            if self.program("psql", "-X", "-c", "SELECT 1").returncode == 0:
                return
            time.sleep(0.1)
        self.did_not_start()

    def cpu(self):
        """CPU seconds of the server's processes so far, those that have ended included."""
        pids, of = [self.process.pid], {}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            of[int(stat.parent.name)] = (int(fields[1]), [int(n) for n in fields[11:15]])
        for pid in pids:
            pids.extend(child for child, (parent, _) in of.items() if parent == pid)
        ticks = sum(sum(of[pid][1]) for pid in pids if pid in of)
        return ticks / os.sysconf("SC_CLK_TCK")


class Planaria(System):
    def start(self, directory):
        self.log = directory / "planaria.log"
        self.process = subprocess.Popen(
            [self.o.planaria, "serve", str(directory / "planaria"), "--listen", f"127.0.0.1:{self.port}"]
            + ["--socket-dir", str(self.reached(directory))]
            + self.o.planaria_option,
            stderr=self.log.open("w"),
        )
        self.wait()

    def rest(self):
        pass

    def stop(self):
        self.process.terminate()
        self.process.wait()


class PostgreSQL(System):
    def start(self, directory):
        data = directory / "postgresql"
        data.mkdir()
        self.log = directory / "postgresql.log"
        as_user = {}
        if os.getuid() == 0:
            # It does not run as root.
            try:
                user = pwd.getpwnam("postgres")
            except KeyError:
                sys.exit("PostgreSQL does not run as root, and there is no user postgres")
            os.chown(data, user.pw_uid, user.pw_gid)
            as_user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        common = {"cwd": data, "stdout": self.log.open("w"), "stderr": subprocess.STDOUT, **as_user}
        made = [f"{self.o.pg_bin}/initdb", "-D", str(data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C"]
        try:
            if subprocess.run(made, **common).returncode != 0:
                self.did_not_start()
        except PermissionError:
            sys.exit(f"the user postgres cannot reach {directory}: --data names a directory that everybody can")
        settings = {
            **SETTINGS,
            "shared_buffers": self.o.shared_buffers,
            "default_transaction_isolation": self.o.isolation,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(self.reached(directory)),
            "port": str(self.port),
            **dict(self.o.pg_setting),
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        self.process = subprocess.Popen([f"{self.o.pg_bin}/postgres", "-D", str(data), *options], **common)
        self.wait()

    def rest(self):
        # What it has put off is not done in the other's turn.
        self.psql("-c", "CHECKPOINT")

    def stop(self):
        self.process.send_signal(2)
        self.process.wait()


def workplace(o):
    """The directory for what is thrown away, made where there is none yet."""
    if o.data is None:
        return
    at = Path(o.data).absolute()
    try:
        for missing in reversed([d for d in (at, *at.parents) if not d.exists()]):
            missing.mkdir()
            # Of the user postgres as well, whatever the mask.
            missing.chmod(0o755)
        if not at.is_dir() or not os.access(at, os.W_OK):
            sys.exit(f"--data {o.data} is no directory to write in")
    except OSError as error:
        sys.exit(f"--data {o.data} cannot be made: {error.strerror}")


@contextmanager
def servers(o, prefix):
    """A directory that is thrown away, and the systems, to be started in it; in the end those that run are stopped."""
    workplace(o)
    systems = [Planaria(o, "planaria", o.port), PostgreSQL(o, "postgresql", o.port + 1)]
    systems = [s for s in systems if o.only in (None, s.name)]
    with tempfile.TemporaryDirectory(prefix=prefix, dir=o.data) as made:
        directory = Path(made)
        directory.chmod(0o755)
        try:
            yield directory, systems
        finally:
            for system in systems:
                if system.process is not None and system.process.poll() is None:
                    system.stop()


def take_turns(o, systems, turn, median, row, times):
    """Lets systems take turns (A B A B ...) and shows the medians of each, and how they compare; all that was found."""
    turns = {s.name: [] for s in systems}
    for _ in range(o.turns):
        for system in systems:
            turns[system.name].append(turn(system))
            system.rest()
    medians = {system: median(found) for system, found in turns.items()}
    for system, m in medians.items():
        print(row(system, m), flush=True)
    if len(medians) == 2:
        print(times(medians["planaria"], medians["postgresql"]), flush=True)
    return {"median": medians, "turns": turns}


def versions(systems):
    return {s.name: s.psql("-c", "SELECT version()") for s in systems}


def ratio(a, b):
    return a / max(b, 1e-6)


def write_report(o, version, results):
    if o.json:
        report = {"options": vars(o), "cpus": os.cpu_count(), "settings": SETTINGS, "version": version, "results": results}
        Path(o.json).write_text(json.dumps(report, indent=2) + "\n")


def medians_of(turns):
    """Of turns that have numbers by name."""
    return {key: statistics.median(turn[key] for turn in turns) for key in turns[0]}
