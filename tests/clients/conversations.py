#!/usr/bin/env python3
"""Planaria and PostgreSQL side by side: transactions that are conversations, statement by statement.

    cargo build --release -p planaria-cli
    tests/clients/conversations.py                                   # everything; about a quarter of an hour
    tests/clients/conversations.py --workloads ycsb --seconds 5 --turns 1

The client is conversations/ (Go, pgx): it says BEGIN, runs prepared statements, says COMMIT, and repeats what
fails with 40001 or 40P01. Databases, turns, medians and CPU are as compare.py has them; both servers run at
SERIALIZABLE and sync every commit.

Workloads: tpcc, smallbank, ycsb, tatp (their sources say what they do), and empty, a statement without a word.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from compare import HERE, SETTINGS, SQL, Planaria, PostgreSQL, with_servers

WORKLOADS = ["empty", "ycsb", "tatp", "smallbank", "tpcc"]
# Of which statement the times are shown.
SHOWN = {"empty": "", "ycsb": "read", "tatp": "get subscriber", "smallbank": "savings", "tpcc": "get item"}


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--workloads", default=",".join(WORKLOADS))
    p.add_argument("--clients", type=int, default=16)
    p.add_argument("--seconds", type=int, default=10, help="of a turn")
    p.add_argument("--turns", type=int, default=5, help="of each system")
    p.add_argument("--program", default=None, help="the client, built already")
    p.add_argument("--option", action="append", default=[], help="of the client, e.g. -warehouses=4")
    return with_servers(p, "serializable")


def client(o, system, workload, *options):
    """Runs the client against a system; what it printed."""
    address = f"host={system.host} port={system.port} user=postgres dbname=postgres sslmode=disable"
    given = ["-dsn", address, "-sql", str(SQL), "-isolation", o.isolation, "-workload", workload, *o.option, *options]
    run = subprocess.run([o.program, *given], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"{system.name}: {run.stderr}")
    return run.stdout


def turn(o, system, workload):
    before = system.cpu()
    found = json.loads(client(o, system, workload, "-clients", str(o.clients), "-seconds", str(o.seconds)))
    found["server_cpu_us"] = (system.cpu() - before) * 1e6 / max(found["statements"], 1)
    return found


def summary(workload, turns):
    """Medians of what is shown."""
    shown = lambda t: t["kinds"].get(SHOWN[workload], {"p50_ms": 0, "p99_ms": 0})
    done = lambda t: t["goodput"] * t["seconds"]
    of = {
        "goodput": lambda t: t["goodput"],
        "statements": lambda t: t["statements"] / t["seconds"],
        "retries_percent": lambda t: 100 * t["retries"] / max(done(t) + t["retries"], 1),
        "p50_ms": lambda t: shown(t)["p50_ms"],
        "p99_ms": lambda t: shown(t)["p99_ms"],
        "server_cpu_us": lambda t: t["server_cpu_us"],
    }
    return {name: statistics.median(f(t) for t in turns) for name, f in of.items()}


def row(workload, system, m):
    return (
        f"{workload:<10} {system:<11} {m['goodput']:>9,.0f} {m['statements']:>10,.0f} {m['retries_percent']:>9.1f}"
        f" {m['p50_ms']:>8.3f} {m['p99_ms']:>8.3f} {m['server_cpu_us']:>9.1f}"
    )


def main():
    o = arguments()
    wanted = o.workloads.split(",")
    if unknown := [name for name in wanted if name not in WORKLOADS]:
        sys.exit(f"no such workload: {', '.join(unknown)}; there are {', '.join(WORKLOADS)}")
    systems = [Planaria(o, "planaria", o.port), PostgreSQL(o, "postgresql", o.port + 1)]
    systems = [s for s in systems if o.only in (None, s.name)]
    results = []
    with tempfile.TemporaryDirectory(prefix="conversations-", dir=o.data) as made:
        directory = Path(made)
        if o.program is None:
            o.program = str(directory / "conversations")
            subprocess.run(["go", "build", "-o", o.program, "."], cwd=HERE / "conversations", check=True)
        try:
            for system in systems:
                system.start(directory)
                for workload in wanted:
                    client(o, system, workload, "-load")
                system.psql("-c", "VACUUM ANALYZE")
                system.rest()
            version = {s.name: s.psql("-c", "SELECT version()") for s in systems}
            print(
                f"{'':<10} {'':<11} {'goodput':>9} {'statements':>10} {'retries %':>9}"
                f" {'p50 ms':>8} {'p99 ms':>8} {'CPU us':>9}"
            )
            for workload in wanted:
                turns = {s.name: [] for s in systems}
                for _ in range(o.turns):
                    for system in systems:
                        turns[system.name].append(turn(o, system, workload))
                        system.rest()
                medians = {system: summary(workload, found) for system, found in turns.items()}
                for system, m in medians.items():
                    print(row(workload, system, m), flush=True)
                if len(medians) == 2:
                    ours, theirs = medians["planaria"], medians["postgresql"]
                    times = lambda a, b: a / max(b, 1e-6)
                    print(
                        f"{'':<10} {'times':<11} {times(ours['goodput'], theirs['goodput']):>9.2f}"
                        f" {times(ours['statements'], theirs['statements']):>10.2f} {'':>9}"
                        f" {times(theirs['p50_ms'], ours['p50_ms']):>8.2f} {times(theirs['p99_ms'], ours['p99_ms']):>8.2f}"
                        f" {times(theirs['server_cpu_us'], ours['server_cpu_us']):>9.2f}",
                        flush=True,
                    )
                results.append({"workload": workload, "median": medians, "turns": turns})
        finally:
            for system in systems:
                if system.process is not None and system.process.poll() is None:
                    system.stop()
    if o.json:
        report = {"options": vars(o), "cpus": os.cpu_count(), "settings": SETTINGS, "version": version, "results": results}
        Path(o.json).write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
