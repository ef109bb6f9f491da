#!/usr/bin/env python3
"""Planaria and PostgreSQL side by side: reports, which are queries over many rows, by one client.

    cargo build --release -p planaria-cli
    tests/clients/queries.py                                    # everything; some minutes
    tests/clients/queries.py --queries q1,q6 --turns 1
    tests/clients/queries.py --scale 1 --json queries.json      # ten times the rows of TPC-H's tables

Makes rows, the same ones each time, and a fresh database of each kind in a directory that is thrown away, loads both
with COPY, and lets them take turns with each query (A B A B ...). In a turn one psql sends the query --warm-ups times
and then --runs times. The time is that of psql's \\timing, which ends when the whole answer is there; of the runs the
median counts, and of the turns the median of those; the ratio is Planaria's time by PostgreSQL's, so below 1 Planaria
is faster. Answers must be the same in both, in whatever order their lines come; where they are not, what differs is
shown, and the exit status is 1.

Queries:
    q1, q3, q6, q12, q14, q18
                those of TPC-H, with the values that the specification validates them with
    wide1, wide90
                225 of 250 columns, of 1 % and of 90 % of 50,000 rows
    count, group100, group100k, groupnum, grouptext
                1,000,000 rows, counted or grouped: by 100 values and by 100,000, sums of numeric, by text
    hashjoin, hashjoinleft
                the same rows, joined with 100,000 that have no index

This is no audited TPC-H, nor are the rows those of its dbgen: the tables that these queries need, without foreign
keys, have the numbers of rows, keys, dates, prices and flags of the specification, but texts are words in any order,
and a part is had from any supplier.

A statement of Planaria runs on one thread. So does one of PostgreSQL here, and it has memory enough to sort and hash in
(SETTINGS; --pg-setting changes them, and turns off what else PostgreSQL does by itself, e.g. jit=off).
"""

import argparse
import math
import re
import statistics
import sys
import time
from collections import Counter
from contextlib import ExitStack
from datetime import date, timedelta
from random import Random

from side_by_side import chosen_of, positive, ratio, servers, versions, with_servers, write_report

SETTINGS = {"max_parallel_workers_per_gather": "0", "work_mem": "256MB"}
WIDE_ROWS, WIDE_COLUMNS = 50_000, 250
FACTS_ROWS, DIM_ROWS = 1_000_000, 100_000

TABLES = {
    "part": """
        p_partkey integer PRIMARY KEY, p_name varchar(55) NOT NULL, p_mfgr char(25) NOT NULL, p_brand char(10) NOT NULL,
        p_type varchar(25) NOT NULL, p_size integer NOT NULL, p_container char(10) NOT NULL,
        p_retailprice numeric(15,2) NOT NULL, p_comment varchar(23) NOT NULL""",
    "customer": """
        c_custkey integer PRIMARY KEY, c_name varchar(25) NOT NULL, c_address varchar(40) NOT NULL,
        c_nationkey integer NOT NULL, c_phone char(15) NOT NULL, c_acctbal numeric(15,2) NOT NULL,
        c_mktsegment char(10) NOT NULL, c_comment varchar(117) NOT NULL""",
    "orders": """
        o_orderkey integer PRIMARY KEY, o_custkey integer NOT NULL, o_orderstatus char(1) NOT NULL,
        o_totalprice numeric(15,2) NOT NULL, o_orderdate date NOT NULL, o_orderpriority char(15) NOT NULL,
        o_clerk char(15) NOT NULL, o_shippriority integer NOT NULL, o_comment varchar(79) NOT NULL""",
    "lineitem": """
        l_orderkey integer NOT NULL, l_partkey integer NOT NULL, l_suppkey integer NOT NULL,
        l_linenumber integer NOT NULL, l_quantity numeric(15,2) NOT NULL, l_extendedprice numeric(15,2) NOT NULL,
        l_discount numeric(15,2) NOT NULL, l_tax numeric(15,2) NOT NULL, l_returnflag char(1) NOT NULL,
        l_linestatus char(1) NOT NULL, l_shipdate date NOT NULL, l_commitdate date NOT NULL,
        l_receiptdate date NOT NULL, l_shipinstruct char(25) NOT NULL, l_shipmode char(10) NOT NULL,
        l_comment varchar(44) NOT NULL, PRIMARY KEY (l_orderkey, l_linenumber)""",
    "wide": "id integer PRIMARY KEY, " + ", ".join(f"c{i} integer NOT NULL" for i in range(1, WIDE_COLUMNS + 1)),
    "facts": """
        id integer PRIMARY KEY, g100 integer NOT NULL, g100k integer NOT NULL, v integer NOT NULL,
        x numeric(12,2) NOT NULL, t text NOT NULL""",
    "dim": "k integer NOT NULL, name text NOT NULL",
}

WIDE = "SELECT " + ", ".join(f"max(c{i})" for i in range(2, 227)) + " FROM wide"
# Where they are cut short by LIMIT, the order says which rows are left.
QUERIES = {
    "q1": """
        SELECT l_returnflag, l_linestatus, sum(l_quantity) AS sum_qty, sum(l_extendedprice) AS sum_base_price,
            sum(l_extendedprice * (1 - l_discount)) AS sum_disc_price,
            sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge, avg(l_quantity) AS avg_qty,
            avg(l_extendedprice) AS avg_price, avg(l_discount) AS avg_disc, count(*) AS count_order
        FROM lineitem WHERE l_shipdate <= date '1998-12-01' - interval '90' day
        GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus""",
    "q3": """
        SELECT l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority
        FROM customer, orders, lineitem
        WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey
            AND o_orderdate < date '1995-03-15' AND l_shipdate > date '1995-03-15'
        GROUP BY l_orderkey, o_orderdate, o_shippriority ORDER BY revenue DESC, o_orderdate LIMIT 10""",
    "q6": """
        SELECT sum(l_extendedprice * l_discount) AS revenue FROM lineitem
        WHERE l_shipdate >= date '1994-01-01' AND l_shipdate < date '1994-01-01' + interval '1' year
            AND l_discount BETWEEN 0.06 - 0.01 AND 0.06 + 0.01 AND l_quantity < 24""",
    "q12": """
        SELECT l_shipmode,
            sum(CASE WHEN o_orderpriority = '1-URGENT' OR o_orderpriority = '2-HIGH' THEN 1 ELSE 0 END) AS high_line_count,
            sum(CASE WHEN o_orderpriority <> '1-URGENT' AND o_orderpriority <> '2-HIGH' THEN 1 ELSE 0 END) AS low_line_count
        FROM orders, lineitem
        WHERE o_orderkey = l_orderkey AND l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate
            AND l_shipdate < l_commitdate AND l_receiptdate >= date '1994-01-01'
            AND l_receiptdate < date '1994-01-01' + interval '1' year
        GROUP BY l_shipmode ORDER BY l_shipmode""",
    "q14": """
        SELECT 100.00 * sum(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END)
            / sum(l_extendedprice * (1 - l_discount)) AS promo_revenue
        FROM lineitem, part
        WHERE l_partkey = p_partkey
            AND l_shipdate >= date '1995-09-01' AND l_shipdate < date '1995-09-01' + interval '1' month""",
    "q18": """
        SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity)
        FROM customer, orders, lineitem
        WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING sum(l_quantity) > 300)
            AND c_custkey = o_custkey AND o_orderkey = l_orderkey
        GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice
        ORDER BY o_totalprice DESC, o_orderdate LIMIT 100""",
    "wide1": f"{WIDE} WHERE c1 < 1",
    "wide90": f"{WIDE} WHERE c1 < 90",
    "count": "SELECT count(*) FROM facts WHERE v % 3 = 0",
    "group100": "SELECT g100, count(*), sum(v), max(v) FROM facts GROUP BY g100",
    "group100k": """
        SELECT count(*), max(s) FROM (SELECT g100k, count(*) AS n, sum(v) AS s FROM facts GROUP BY g100k) AS q""",
    "groupnum": "SELECT g100, sum(x), avg(x) FROM facts GROUP BY g100",
    "grouptext": "SELECT t, count(*) FROM facts GROUP BY t ORDER BY 2 DESC, 1 LIMIT 3",
    "hashjoin": "SELECT count(*), sum(f.v) FROM facts AS f JOIN dim AS d ON d.k = f.g100k",
    "hashjoinleft": "SELECT count(d.name), count(*) FROM facts AS f LEFT JOIN dim AS d ON d.k = f.v",
}

WORDS = """furiously slyly carefully quickly blithely ironic regular express final pending bold deposits requests accounts
    packages theodolites instructions foxes pinto beans dependencies special even silent unusual courts ideas platelets""".split()
SEGMENTS = ["AUTOMOBILE", "BUILDING", "FURNITURE", "MACHINERY", "HOUSEHOLD"]
PRIORITIES = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"]
INSTRUCTIONS = ["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"]
MODES = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"]
TYPES = [
    ["STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"],
    ["ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"],
    ["TIN", "NICKEL", "BRASS", "STEEL", "COPPER"],
]
CONTAINERS = [
    ["SM", "LG", "MED", "JUMBO", "WRAP"],
    ["CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM"],
]
FIRST_DAY, LAST_DAY, TODAY = date(1992, 1, 1), date(1998, 12, 31), date(1995, 6, 17)
DAYS = [str(FIRST_DAY + timedelta(n)) for n in range((LAST_DAY - FIRST_DAY).days + 1)]


def share(text):
    """An argument that is a number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")
    return number


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--queries", default=list(QUERIES), type=chosen_of(QUERIES))
    p.add_argument("--turns", type=positive, default=3, help="of each system, for each query")
    p.add_argument("--runs", type=positive, default=5, help="of a query in a turn, that are timed")
    p.add_argument("--warm-ups", type=positive, default=2, help="and before them")
    p.add_argument("--scale", type=share, default=0.1, help="of TPC-H's tables; 1: 6,000,000 lines of orders")
    o = with_servers(p, "read committed")
    o.pg_setting = [*SETTINGS.items(), *o.pg_setting]
    return o


class Dice:
    """Random values, the same for a name each time: random() alone has a sequence that no version of Python changes."""

    def __init__(self, name):
        self.random = Random(name).random
        self.words = " ".join(self.of(WORDS) for _ in range(20_000))

    def number(self, low, high):
        """From low to high, both included."""
        return low + int(self.random() * (high - low + 1))

    def of(self, values):
        return values[int(self.random() * len(values))]

    def each(self, lists):
        return " ".join(self.of(values) for values in lists)

    def text(self, low, high):
        """That many characters."""
        length = self.number(low, high)
        at = self.number(0, len(self.words) - length)
        return self.words[at : at + length]


def rows_of(scale, rows):
    return max(1, round(scale * rows))


def money(cents):
    return f"{cents / 100:.2f}"


def retail_price(part):
    """In cents."""
    return 90_000 + part // 10 % 20_001 + 100 * (part % 1000)


def make_parts(scale):
    dice = Dice("part")
    for key in range(1, rows_of(scale, 200_000) + 1):
        maker = dice.number(1, 5)
        yield "part", (
            key, dice.text(25, 50), f"Manufacturer#{maker}", f"Brand#{maker}{dice.number(1, 5)}", dice.each(TYPES),
            dice.number(1, 50), dice.each(CONTAINERS), money(retail_price(key)), dice.text(5, 22),
        )  # fmt: skip


def make_customers(scale):
    dice = Dice("customer")
    for key in range(1, rows_of(scale, 150_000) + 1):
        nation = dice.number(0, 24)
        phone = f"{10 + nation}-{dice.number(100, 999)}-{dice.number(100, 999)}-{dice.number(1000, 9999)}"
        yield "customer", (
            key, f"Customer#{key:09}", dice.text(10, 40), nation, phone, money(dice.number(-99_999, 999_999)),
            dice.of(SEGMENTS), dice.text(29, 116),
        )  # fmt: skip


def order_key(n):
    """Of the n-th, from 0: the first eight of every 32 keys are used."""
    return n // 8 * 32 + n % 8 + 1


def ordering(dice, customers):
    """A customer; one in three orders nothing."""
    while True:
        customer = dice.number(1, customers)
        if customer % 3 != 0:
            return customer


def make_orders(scale):
    """The orders, each behind its lines."""
    dice = Dice("orders")
    customers, parts, suppliers, clerks = (rows_of(scale, rows) for rows in (150_000, 200_000, 10_000, 1_000))
    today = (TODAY - FIRST_DAY).days
    for n in range(rows_of(scale, 1_500_000)):
        key, ordered = order_key(n), dice.number(0, len(DAYS) - 1 - 151)
        total, states = 0, set()
        for line in range(1, dice.number(1, 7) + 1):
            part, quantity = dice.number(1, parts), dice.number(1, 50)
            price, discount, tax = quantity * retail_price(part), dice.number(0, 10), dice.number(0, 8)
            shipped = ordered + dice.number(1, 121)
            received = shipped + dice.number(1, 30)
            state = "O" if shipped > today else "F"
            total += price * (100 - discount) * (100 + tax)
            states.add(state)
            yield "lineitem", (
                key, part, dice.number(1, suppliers), line, quantity, money(price), money(discount), money(tax),
                dice.of("RA") if received <= today else "N", state, DAYS[shipped], DAYS[ordered + dice.number(30, 90)],
                DAYS[received], dice.of(INSTRUCTIONS), dice.of(MODES), dice.text(10, 43),
            )  # fmt: skip
        yield "orders", (
            key, ordering(dice, customers), "P" if len(states) > 1 else states.pop(), money(total / 10_000), DAYS[ordered],
            dice.of(PRIORITIES), f"Clerk#{dice.number(1, clerks):09}", 0, dice.text(19, 78),
        )  # fmt: skip


def make_wide(_scale):
    dice = Dice("wide")
    for key in range(1, WIDE_ROWS + 1):
        # Of the first column a value is a percent of the rows.
        yield "wide", (key, dice.number(0, 99), *(dice.number(0, 999_999) for _ in range(WIDE_COLUMNS - 1)))


def make_facts(_scale):
    dice = Dice("facts")
    for key in range(1, FACTS_ROWS + 1):
        group, value, cents = dice.number(0, DIM_ROWS - 1), dice.number(0, 999_999), dice.number(0, 9_999_999)
        yield "facts", (key, dice.number(0, 99), group, value, money(cents), f"tag {dice.number(0, 999)}")


def make_dim(_scale):
    for key in range(DIM_ROWS):
        yield "dim", (key, f"name {key}")


# What each makes, as pairs of a table and a row.
MAKERS = {
    make_parts: ["part"],
    make_customers: ["customer"],
    make_orders: ["orders", "lineitem"],
    make_wide: ["wide"],
    make_facts: ["facts"],
    make_dim: ["dim"],
}


def tables_of(queries):
    """Those that the queries name, in the order of TABLES."""
    named = {word for query in queries for word in re.findall(r"\w+", QUERIES[query])}
    return [table for table in TABLES if table in named]


def file_of(directory, table):
    return directory / f"{table}.copy"


def make(directory, tables, scale):
    """Writes a file for each table, as COPY reads it."""
    start = time.time()
    for maker, made in MAKERS.items():
        if set(made).isdisjoint(tables):
            continue
        with ExitStack() as opened:
            files = {table: opened.enter_context(file_of(directory, table).open("w")) for table in made}
            for table, row in maker(scale):
                files[table].write("\t".join(map(str, row)) + "\n")
    print(f"rows made in {time.time() - start:.0f} s", file=sys.stderr)


def load(system, directory, tables):
    start = time.time()
    for table in tables:
        system.psql("-c", f"CREATE TABLE {table} ({TABLES[table]})")
        with file_of(directory, table).open() as rows:
            copied = system.program("psql", "-X", "-q", "-c", f"COPY {table} FROM STDIN", stdin=rows)
        if copied.returncode != 0:
            sys.exit(f"{system.name}: COPY {table}: {copied.stderr}")
    system.psql("-c", "VACUUM ANALYZE")
    system.rest()
    print(f"{system.name}: loaded in {time.time() - start:.0f} s", file=sys.stderr)


def turn(system, query):
    """Runs a query again and again; the median of the times in milliseconds, and the answers, each as sorted lines."""
    o = system.o
    script = "\\timing on\n" + f"{QUERIES[query]};\n" * (o.warm_ups + o.runs)
    done = system.program("psql", "-X", "-q", "-At", "-v", "ON_ERROR_STOP=1", input=script)
    if done.returncode != 0:
        sys.exit(f"{system.name}: {query}: {done.stderr}")
    # An answer, its time, an answer, its time, ... and nothing behind the last.
    found = re.split(r"^Time: ([\d.]+) ms.*\n", done.stdout, flags=re.M)
    answers, times = found[0:-1:2], [float(ms) for ms in found[1::2]]
    assert len(times) == o.warm_ups + o.runs, f"{system.name}: {query}: psql gave {len(times)} times"
    return statistics.median(times[o.warm_ups :]), {tuple(sorted(answer.splitlines())) for answer in answers}


def some_lines(lines):
    """The first of them, and of each what fits."""
    shown = [line if len(line) <= 200 else f"{line[:200]}..." for line in sorted(lines.elements())]
    return shown[:5] + ([f"... and {len(shown) - 5} more lines"] if len(shown) > 5 else [])


def difference(query, answers):
    """What differs between the answers that systems gave, or nothing where all gave one; by answer who did."""
    if len(answers) == 1:
        return ""
    (one, by_one), (other, by_other) = list(answers.items())[:2]
    only = lambda a, b: "\n".join(f"    {line}" for line in some_lines(Counter(a) - Counter(b)))
    return (
        f"{query}: answers differ\n  only {by_one} ({len(one)} lines):\n{only(one, other)}\n"
        f"  only {by_other} ({len(other)} lines):\n{only(other, one)}"
    )


def compare(o, systems, query):
    """Lets systems take turns; the medians of each, all times, and what differs."""
    turns, answers = {s.name: [] for s in systems}, {}
    for _ in range(o.turns):
        for system in systems:
            ms, given = turn(system, query)
            system.rest()
            turns[system.name].append(ms)
            for answer in given:
                answers.setdefault(answer, system.name)
    medians = {system: statistics.median(ms) for system, ms in turns.items()}
    return {"query": query, "median_ms": medians, "turns_ms": turns, "difference": difference(query, answers)}


def head(systems):
    return f"{'milliseconds':<13}" + "".join(f" {s.name:>11}" for s in systems) + ("   ratio" if len(systems) == 2 else "")


def row(systems, found):
    medians = found["median_ms"]
    line = f"{found['query']:<13}" + "".join(f" {medians[s.name]:>11.1f}" for s in systems)
    return line + (f" {ratio(medians['planaria'], medians['postgresql']):>7.2f}" if len(systems) == 2 else "")


def main():
    o = arguments()
    tables, results = tables_of(o.queries), []
    with servers(o, "queries-") as (directory, systems):
        make(directory, tables, o.scale)
        for system in systems:
            system.start(directory)
            load(system, directory, tables)
        version = versions(systems)
        print(head(systems))
        for query in o.queries:
            found = compare(o, systems, query)
            print(row(systems, found), flush=True)
            if found["difference"]:
                print(found["difference"], file=sys.stderr, flush=True)
            results.append(found)
    write_report(o, version, results)
    if differ := [found["query"] for found in results if found["difference"]]:
        sys.exit(f"answers differ: {', '.join(differ)}")


if __name__ == "__main__":
    main()
