#!/usr/bin/env python3
"""Planaria and PostgreSQL side by side: pgbench over the wire, on one machine, both syncing every commit.

    cargo build --release -p planaria-cli
    tests/clients/compare.py                                    # everything; about an hour
    tests/clients/compare.py --workloads select --clients 16 --seconds 5 --turns 1

Makes a fresh database of each kind in a directory that is thrown away, loads both by the same SQL, and then
lets them take turns (A B A B ...), so that a machine that grows slower or faster meanwhile does so for both.
Of the turns the median counts. Latencies are pgbench's own, transaction by transaction (--log). CPU is that
of the server's processes alone, user and system.

Workloads (pgbench scripts in crates/workload/sql/pgbench):
    select      pgbench -S: one row by its key
    tpcb        pgbench's TPC-B: BEGIN, five statements, END
    tpcb-call   the same as one call of a function
    smallbank   six procedures: 15/15/15/15/15/25 %
    tpcc        five procedures: 45/43/4/4/4 %
    count-insert, group-insert, sign-up, sign-up-full
                blocks that look, think (--think) and insert, and try again: see conflicts/*.sql

PostgreSQL runs with its own defaults but for what a person would change who wants it fast and safe (SETTINGS,
below; --pg-setting adds to them). Its transactions are READ COMMITTED unless --isolation says otherwise;
Planaria's are always serializable.
"""

import argparse
import json
import os
import pwd
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
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
CONFLICTS = HERE / "conflicts"
BLOCKS = ["count-insert", "group-insert", "sign-up", "sign-up-full"]
SMALLBANK = {
    "sb_balance": 15,
    "sb_deposit_checking": 15,
    "sb_transact_savings": 15,
    "sb_amalgamate": 15,
    "sb_write_check": 15,
    "sb_send_payment": 25,
}
TPCC = {"tpcc_new_order": 45, "tpcc_payment": 43, "tpcc_order_status": 4, "tpcc_delivery": 4, "tpcc_stock_level": 4}


def scripts(shares):
    return [part for name, share in shares.items() for part in ("-f", f"{SQL}/pgbench/{name}.sql@{share}")]


def workloads(o):
    return {
        "select": ["-b", "select-only"],
        "tpcb": ["-b", "tpcb-like"],
        "tpcb-call": ["-s", str(o.scale), "-f", f"{SQL}/pgbench/tpcb.sql"],
        "smallbank": scripts(SMALLBANK) + ["-D", f"N={o.customers}"],
        "tpcc": scripts(TPCC) + ["-D", f"W={o.warehouses}"],
        **{name: ["-f", f"{CONFLICTS}/{name.replace('-', '_')}.sql", "-D", f"think={o.think}"] for name in BLOCKS},
    }


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--workloads", default="select,tpcb,tpcb-call,smallbank,tpcc")
    p.add_argument("--clients", default="1,16,64")
    p.add_argument("--mode", default="prepared", choices=["simple", "extended", "prepared"])
    p.add_argument("--seconds", type=int, default=20, help="of a turn")
    p.add_argument("--turns", type=int, default=3, help="of each system, for each number of clients")
    p.add_argument("--scale", type=int, default=50, help="of pgbench -i")
    p.add_argument("--customers", type=int, default=100_000, help="of SmallBank")
    p.add_argument("--warehouses", type=int, default=4, help="of TPC-C")
    p.add_argument("--think", type=int, default=5, help="milliseconds, of blocks that look and insert")
    p.add_argument("--threads", type=int, default=2, help="of pgbench")
    p.add_argument("--sampling", type=float, default=0.1, help="share of the transactions whose latency is noted")
    return with_servers(p, "read committed")


def with_servers(p, isolation):
    """Parses the command line, with what both servers are started with."""
    p.add_argument("--via", default="tcp", choices=["tcp", "socket"], help="how clients connect: loopback, or Unix domain sockets")
    p.add_argument("--isolation", default=isolation, help="PostgreSQL's default_transaction_isolation")
    p.add_argument("--shared-buffers", default="2GB")
    p.add_argument("--pg-setting", action="append", default=[], metavar="NAME=VALUE")
    p.add_argument("--pg-bin", default=None, help="directory of PostgreSQL's programs; the newest of the machine")
    p.add_argument("--planaria", default=str(ROOT / "target" / "release" / "planaria"))
    p.add_argument("--planaria-option", action="append", default=[], help="of `planaria serve`, e.g. --threads=2")
    p.add_argument("--data", default=None, help="where the databases are made, on the disk that is to be measured")
    p.add_argument("--port", type=int, default=57500, help="this one and the next")
    p.add_argument("--only", choices=["planaria", "postgresql"], help="leave the other one out")
    p.add_argument("--json", default=None, metavar="FILE", help="also write everything there")
    o = p.parse_args()
    if o.pg_bin is None:
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda d: int(d.parent.name))
        at = shutil.which("postgres")
        o.pg_bin = str(found[-1]) if found else str(Path(at).resolve().parent) if at else sys.exit("no PostgreSQL here")
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

    def wait(self):
        for _ in range(600):
            if self.program("psql", "-X", "-c", "SELECT 1").returncode == 0:
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        sys.exit(f"{self.name} did not start; its log: {self.log}")

    def load(self, names):
        start = time.time()
        if {"select", "tpcb", "tpcb-call"} & names:
            made = self.program("pgbench", "-i", "-q", "-s", str(self.o.scale))
            if made.returncode != 0:
                sys.exit(f"{self.name}: pgbench -i: {made.stderr}")
            self.psql("-f", f"{SQL}/tpcb/procedures.sql")
        suites = {"smallbank": f"CALL sb_load({self.o.customers})", "tpcc": f"CALL tpcc_load(1, {self.o.warehouses})"}
        for suite, call in suites.items():
            if suite in names:
                files = [part for f in ("schema", "load", "procedures") for part in ("-f", f"{SQL}/{suite}/{f}.sql")]
                self.psql(*files)
                self.psql("-c", call)
        if names & set(BLOCKS):
            self.psql("-f", f"{CONFLICTS}/schema.sql")
        self.psql("-c", "VACUUM ANALYZE")
        print(f"{self.name}: loaded in {time.time() - start:.0f} s", file=sys.stderr)

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

    def turn(self, options, clients, directory):
        """Runs pgbench once; what it found."""
        for old in directory.glob("log*"):
            old.unlink()
        before = self.cpu()
        o = self.o
        run = self.program(
            "pgbench", "-n", "-M", o.mode, "-c", str(clients), "-j", str(min(clients, o.threads)), "-T", str(o.seconds),
            "--max-tries=0", "--failures-detailed", "--log", "--log-prefix=log", f"--sampling-rate={o.sampling}", *options,
            cwd=directory,
        )  # fmt: skip
        cpu = self.cpu() - before
        if run.returncode != 0:
            sys.exit(f"{self.name}: pgbench: {run.stdout}\n{run.stderr}")

        def number(pattern):
            found = re.search(pattern, run.stdout, re.M)
            return float(found[1]) if found else 0.0

        times = []
        for log in directory.glob("log*"):
            with log.open() as lines:
                fields = (line.split(" ", 3) for line in lines)
                times.extend(int(f[2]) for f in fields if f[2].isdigit())
        times.sort()
        done = number(r"^number of transactions actually processed: (\d+)")
        at = lambda share: times[min(len(times) - 1, int(len(times) * share))] / 1000 if times else 0.0
        return {
            "tps": number(r"^tps = ([\d.]+)"),
            "p50_ms": at(0.5),
            "p99_ms": at(0.99),
            "failed": int(number(r"^number of failed transactions: (\d+)")),
            "retried": int(number(r"^number of transactions retried: (\d+)")),
            "server_cpu_us": cpu * 1e6 / max(done, 1),
        }


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
            user = pwd.getpwnam("postgres")
            os.chown(data, user.pw_uid, user.pw_gid)
            directory.chmod(0o755)
            as_user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        common = {"cwd": data, "stdout": self.log.open("w"), "stderr": subprocess.STDOUT, **as_user}
        made = [f"{self.o.pg_bin}/initdb", "-D", str(data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C"]
        subprocess.run(made, check=True, **common)
        settings = {
            **SETTINGS,
            "shared_buffers": self.o.shared_buffers,
            "default_transaction_isolation": self.o.isolation,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(self.reached(directory)),
            "port": str(self.port),
            **dict(s.split("=", 1) for s in self.o.pg_setting),
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


def median(turns):
    return {key: statistics.median(turn[key] for turn in turns) for key in turns[0]}


def row(name, clients, system, m):
    return (
        f"{name:<13} {clients:>7}  {system:<11} {m['tps']:>9,.0f} {m['p50_ms']:>9.3f} {m['p99_ms']:>9.3f}"
        f" {m['server_cpu_us']:>9.1f} {m['failed']:>7.0f} {m['retried']:>8.0f}"
    )


def main():
    o = arguments()
    wanted = o.workloads.split(",")
    options = workloads(o)
    if unknown := [name for name in wanted if name not in options]:
        sys.exit(f"no such workload: {', '.join(unknown)}; there are {', '.join(options)}")
    systems = [Planaria(o, "planaria", o.port), PostgreSQL(o, "postgresql", o.port + 1)]
    systems = [s for s in systems if o.only in (None, s.name)]
    results = []
    with tempfile.TemporaryDirectory(prefix="compare-", dir=o.data) as made:
        directory = Path(made)
        try:
            for system in systems:
                system.start(directory)
                system.load(set(wanted))
                system.rest()
            version = {s.name: s.psql("-c", "SELECT version()") for s in systems}
            print(f"{'':<13} {'clients':>7}  {'':<11} {'tps':>9} {'p50 ms':>9} {'p99 ms':>9} {'CPU us':>9} {'failed':>7} {'retried':>8}")
            for name in wanted:
                for clients in (int(n) for n in o.clients.split(",")):
                    turns = {s.name: [] for s in systems}
                    for _ in range(o.turns):
                        for system in systems:
                            turns[system.name].append(system.turn(options[name], clients, directory))
                            system.rest()
                    medians = {system: median(found) for system, found in turns.items()}
                    for system, m in medians.items():
                        print(row(name, clients, system, m), flush=True)
                    if len(medians) == 2:
                        ours, theirs = medians["planaria"], medians["postgresql"]
                        print(
                            f"{'':<22} times       {ours['tps'] / theirs['tps']:>9.2f}"
                            f" {theirs['p50_ms'] / max(ours['p50_ms'], 1e-6):>9.2f}"
                            f" {theirs['p99_ms'] / max(ours['p99_ms'], 1e-6):>9.2f}"
                            f" {theirs['server_cpu_us'] / max(ours['server_cpu_us'], 1e-6):>9.2f}",
                            flush=True,
                        )
                    results.append({"workload": name, "clients": clients, "median": medians, "turns": turns})
        finally:
            for system in systems:
                if system.process is not None and system.process.poll() is None:
                    system.stop()
    if o.json:
        report = {"options": vars(o), "cpus": os.cpu_count(), "settings": SETTINGS, "version": version, "results": results}
        Path(o.json).write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
