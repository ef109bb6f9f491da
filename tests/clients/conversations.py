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
import shutil
import statistics
import subprocess
import sys

from side_by_side import HERE, SQL, chosen_of, positive, ratio, servers, take_turns, versions, with_servers, write_report

WORKLOADS = ["empty", "ycsb", "tatp", "smallbank", "tpcc"]
# Of which statement the times are shown.
SHOWN = {"empty": "", "ycsb": "read", "tatp": "get subscriber", "smallbank": "savings", "tpcc": "get item"}


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--workloads", default=WORKLOADS, type=chosen_of(WORKLOADS))
    p.add_argument("--clients", type=positive, default=16)
    p.add_argument("--seconds", type=positive, default=10, help="of a turn")
    p.add_argument("--turns", type=positive, default=5, help="of each system")
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


def times(ours, theirs):
    return (
        f"{'':<10} {'times':<11} {ratio(ours['goodput'], theirs['goodput']):>9.2f}"
        f" {ratio(ours['statements'], theirs['statements']):>10.2f} {'':>9}"
        f" {ratio(theirs['p50_ms'], ours['p50_ms']):>8.2f} {ratio(theirs['p99_ms'], ours['p99_ms']):>8.2f}"
        f" {ratio(theirs['server_cpu_us'], ours['server_cpu_us']):>9.2f}"
    )


def build(o, directory):
    """The client, built there if there is none yet."""
    if o.program is not None:
        return
    if shutil.which("go") is None:
        sys.exit("no Go here to build the client with; --program names one that is built already")
    o.program = str(directory / "conversations")
    if subprocess.run(["go", "build", "-o", o.program, "."], cwd=HERE / "conversations").returncode != 0:
        sys.exit("the client does not build")


def main():
    o = arguments()
    if o.program is not None and shutil.which(o.program) is None:
        sys.exit(f"no program {o.program}")
    results = []
    with servers(o, "conversations-") as (directory, systems):
        build(o, directory)
        for system in systems:
            system.start(directory)
            for workload in o.workloads:
                client(o, system, workload, "-load")
            system.psql("-c", "VACUUM ANALYZE")
            system.rest()
        version = versions(systems)
        print(
            f"{'':<10} {'':<11} {'goodput':>9} {'statements':>10} {'retries %':>9}"
            f" {'p50 ms':>8} {'p99 ms':>8} {'CPU us':>9}"
        )
        for workload in o.workloads:
            found = take_turns(
                o,
                systems,
                lambda system: turn(o, system, workload),
                lambda turns: summary(workload, turns),
                lambda system, m: row(workload, system, m),
                times,
            )
            results.append({"workload": workload, **found})
    write_report(o, version, results)


if __name__ == "__main__":
    main()
