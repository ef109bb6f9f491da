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
    count-insert, group-insert, sign-up, sign-up-full, sign-up-ascending, sign-up-ascending-full
                blocks that look, think (--think) and insert, and try again: see conflicts/*.sql

PostgreSQL runs with its own defaults but for what a person would change who wants it fast and safe (SETTINGS
of side_by_side; --pg-setting adds to them). Its transactions are READ COMMITTED unless --isolation says otherwise;
Planaria's calls and single statements are serializable, and so are its blocks unless they ask for less.
"""

import argparse
import re
import sys
import time

from side_by_side import (
    HERE,
    SQL,
    chosen_of,
    medians_of,
    positive,
    positives,
    ratio,
    servers,
    take_turns,
    versions,
    with_servers,
    write_report,
)

CONFLICTS = HERE / "conflicts"
BLOCKS = [
    "count-insert",
    "group-insert",
    "sign-up",
    "sign-up-full",
    "sign-up-ascending",
    "sign-up-ascending-full",
]
SMALLBANK = {
    "sb_balance": 15,
    "sb_deposit_checking": 15,
    "sb_transact_savings": 15,
    "sb_amalgamate": 15,
    "sb_write_check": 15,
    "sb_send_payment": 25,
}
TPCC = {"tpcc_new_order": 45, "tpcc_payment": 43, "tpcc_order_status": 4, "tpcc_delivery": 4, "tpcc_stock_level": 4}
STANDARD = ["select", "tpcb", "tpcb-call", "smallbank", "tpcc"]
WORKLOADS = STANDARD + BLOCKS


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
    p.add_argument("--workloads", default=STANDARD, type=chosen_of(WORKLOADS))
    p.add_argument("--clients", default=[1, 16, 64], type=positives)
    p.add_argument("--mode", default="prepared", choices=["simple", "extended", "prepared"])
    p.add_argument("--seconds", type=positive, default=20, help="of a turn")
    p.add_argument("--turns", type=positive, default=3, help="of each system, for each number of clients")
    p.add_argument("--scale", type=positive, default=50, help="of pgbench -i")
    p.add_argument("--customers", type=positive, default=100_000, help="of SmallBank")
    p.add_argument("--warehouses", type=positive, default=4, help="of TPC-C")
    p.add_argument("--think", type=int, default=5, help="milliseconds, of blocks that look and insert")
    p.add_argument("--threads", type=positive, default=2, help="of pgbench")
    p.add_argument("--sampling", type=float, default=0.1, help="share of the transactions whose latency is noted")
    return with_servers(p, "read committed")


def load(system, names):
    start, o = time.time(), system.o
    if {"select", "tpcb", "tpcb-call"} & names:
        made = system.program("pgbench", "-i", "-q", "-s", str(o.scale))
        if made.returncode != 0:
            sys.exit(f"{system.name}: pgbench -i: {made.stderr}")
        system.psql("-f", f"{SQL}/tpcb/procedures.sql")
    suites = {"smallbank": f"CALL sb_load({o.customers})", "tpcc": f"CALL tpcc_load(1, {o.warehouses})"}
    for suite, call in suites.items():
        if suite in names:
            files = [part for f in ("schema", "load", "procedures") for part in ("-f", f"{SQL}/{suite}/{f}.sql")]
            system.psql(*files)
            system.psql("-c", call)
    if names & set(BLOCKS):
        system.psql("-f", f"{CONFLICTS}/schema.sql")
    system.psql("-c", "VACUUM ANALYZE")
    print(f"{system.name}: loaded in {time.time() - start:.0f} s", file=sys.stderr)


def turn(system, options, clients, directory):
    """Runs pgbench once; what it found."""
    for old in directory.glob("log*"):
        old.unlink()
    before = system.cpu()
    o = system.o
    run = system.program(
        "pgbench", "-n", "-M", o.mode, "-c", str(clients), "-j", str(min(clients, o.threads)), "-T", str(o.seconds),
        "--max-tries=0", "--failures-detailed", "--log", "--log-prefix=log", f"--sampling-rate={o.sampling}", *options,
        # Names that ascend begin behind those of the turn before.
        "-D", "turn=0", "-D", f"start={time.time_ns() // 1000}",
        cwd=directory,
    )  # fmt: skip
    cpu = system.cpu() - before
    if run.returncode != 0:
        sys.exit(f"{system.name}: pgbench: {run.stdout}\n{run.stderr}")

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


def row(name, clients, system, m):
    return (
        f"{name:<13} {clients:>7}  {system:<11} {m['tps']:>9,.0f} {m['p50_ms']:>9.3f} {m['p99_ms']:>9.3f}"
        f" {m['server_cpu_us']:>9.1f} {m['failed']:>7.0f} {m['retried']:>8.0f}"
    )


def times(ours, theirs):
    return (
        f"{'':<22} times       {ratio(ours['tps'], theirs['tps']):>9.2f}"
        f" {ratio(theirs['p50_ms'], ours['p50_ms']):>9.2f} {ratio(theirs['p99_ms'], ours['p99_ms']):>9.2f}"
        f" {ratio(theirs['server_cpu_us'], ours['server_cpu_us']):>9.2f}"
    )


def main():
    o = arguments()
    options, results = workloads(o), []
    with servers(o, "compare-") as (directory, systems):
        for system in systems:
            system.start(directory)
            load(system, set(o.workloads))
            system.rest()
        version = versions(systems)
        print(f"{'':<13} {'clients':>7}  {'':<11} {'tps':>9} {'p50 ms':>9} {'p99 ms':>9} {'CPU us':>9} {'failed':>7} {'retried':>8}")
        for name in o.workloads:
            for clients in o.clients:
                found = take_turns(
                    o,
                    systems,
                    lambda system: turn(system, options[name], clients, directory),
                    medians_of,
                    lambda system, m: row(name, clients, system, m),
                    times,
                )
                results.append({"workload": name, "clients": clients, **found})
    write_report(o, version, results)


if __name__ == "__main__":
    main()
