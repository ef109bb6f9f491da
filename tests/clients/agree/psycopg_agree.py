"""What psycopg 3 sees: named cursors, COPY, pipelines, types, errors. Printed, to be compared with PostgreSQL's."""

import logging
import os

import psycopg
from psycopg import sql

# Whether psycopg warns of an aborted pipeline depends on when it hears of the error.
logging.getLogger("psycopg").setLevel(logging.CRITICAL)
dsn = os.environ["PLANARIA_DSN"]


def said(error):
    d = error.diag
    return (d.sqlstate, d.message_primary, d.message_detail, d.statement_position, d.table_name, d.column_name, d.constraint_name)


with psycopg.connect(dsn, autocommit=True) as conn:
    conn.execute("DROP TABLE IF EXISTS ag_line, ag_item")
    conn.execute("CREATE TABLE ag_item (id int PRIMARY KEY, name text NOT NULL, price numeric(12,2) CHECK (price >= 0))")
    conn.execute("CREATE TABLE ag_line (item int REFERENCES ag_item (id), n bigint)")
    with conn.cursor() as cur:
        cur.executemany("INSERT INTO ag_item VALUES (%s, %s, %s)", [(i, f"item {i}", i / 4) for i in range(1, 31)])
        print("executemany", cur.rowcount)

    print("--- named cursors")
    with conn.transaction(), conn.cursor("scan") as cur:
        cur.itersize = 7
        cur.execute("SELECT id, price FROM ag_item WHERE id > %s ORDER BY id", (3,))
        print([(c.name, c.type_code) for c in cur.description])
        print(cur.fetchone(), cur.fetchmany(2), sum(1 for _ in cur))
    with conn.transaction(), conn.cursor("both", scrollable=True, binary=True) as cur:
        cur.execute("SELECT id FROM ag_item ORDER BY id")
        cur.scroll(10)
        print(cur.fetchone())
        cur.scroll(-5)
        print(cur.fetchmany(2))
        cur.scroll(29, mode="absolute")
        print(cur.fetchall())
    with conn.cursor("held", withhold=True) as cur:
        cur.execute("SELECT count(*) FROM ag_item")
        print(cur.fetchall())

    print("--- COPY")
    for options in ("", "(FORMAT csv, HEADER)", "(FORMAT binary)"):
        with conn.cursor() as cur, cur.copy(f"COPY (SELECT id, name, price FROM ag_item ORDER BY id LIMIT 3) TO STDOUT {options}") as copy:
            print(b"".join(bytes(b) for b in copy))
        with conn.cursor() as cur, cur.copy("COPY (SELECT 1::int4, NULL::text, 2.50::numeric) TO STDOUT (FORMAT binary)") as copy:
            copy.set_types(["int4", "text", "numeric"])
            print(list(copy.rows()))
    for rows in ([(100, "a"), (1, "again")], [(101, None)], [("x", "y")]):
        try:
            with conn.cursor() as cur, cur.copy("COPY ag_item (id, name) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        except psycopg.Error as error:
            print(said(error), error.diag.context)
    try:
        with conn.cursor() as cur, cur.copy("COPY ag_item (id, name) FROM STDIN") as copy:
            copy.write_row((102, "b"))
            raise KeyError("of the client")
    except KeyError as error:
        print(error, conn.execute("SELECT count(*) FROM ag_item").fetchone())

    print("--- pipelines")
    with conn.pipeline() as pipeline:
        a = conn.execute("INSERT INTO ag_line VALUES (1, 1) RETURNING n")
        b = conn.execute("SELECT count(*) FROM ag_line")
        pipeline.sync()
        print(a.fetchall(), b.fetchall())
    try:
        with conn.pipeline():
            conn.execute("INSERT INTO ag_line VALUES (3, 3)")
            conn.execute("INSERT INTO ag_line VALUES (999, 1)")
            conn.execute("INSERT INTO ag_line VALUES (2, 2)")
    except psycopg.Error as error:
        print(type(error).__name__, said(error))
    print(conn.execute("SELECT item, n FROM ag_line").fetchall())

    print("--- values")
    for text in (
        "SELECT 1::int2, 2::int4, 3::int8, 1.5::float8, 1.50::numeric(10,2), true, 'x'::text, 'y'::varchar(3), 'z'::char(3)",
        "SELECT '2026-11-21'::date, '2026-11-21 12:30:01.5'::timestamp, '2026-11-21 12:30:01+00'::timestamptz, '1 day 02:03:04'::interval",
        "SELECT '\\xdeadbeef'::bytea, '6f3b7f9a-0d0c-4f0e-8b7c-2a1b3c4d5e6f'::uuid, ARRAY[1,NULL,3], ARRAY['a','b c'], ARRAY[1.50]",
        "SELECT NULL::int4, 'nan'::float8 IS NULL, 0.1::float8 + 0.2, 1e300::float8, -0.0::float8, 10 / 4, 10 / 4.0, 2 ^ 10",
    ):
        for binary in (False, True):
            cur = conn.cursor(binary=binary)
            try:
                print(cur.execute(text).fetchall(), [c.type_code for c in cur.description])
            except psycopg.Error as error:
                print(said(error))
    for value in (1, 2**40, 1.5, "x", b"\x00", None, True, [1, 2], ["a", None]):
        try:
            print(conn.execute("SELECT %s", (value,)).fetchone(), conn.execute("SELECT %b", (value,)).fetchone())
        except psycopg.Error as error:
            print(repr(value), said(error))

    print("--- errors")
    for text in (
        "SELEC 1", "SELECT nix", "SELECT * FROM nix", "SELECT nix(1)", "SELECT 1 +", "SELECT 'a", "SELECT 1/0",
        "SELECT 'x'::int", "SELECT 40000::int2", "INSERT INTO ag_item VALUES (1, 'again', 1)",
        "INSERT INTO ag_item VALUES (200, NULL, 1)", "INSERT INTO ag_item VALUES (200, 'a', -1)",
        "INSERT INTO ag_item VALUES (200)", "INSERT INTO ag_item (nix) VALUES (200)", "INSERT INTO ag_line VALUES (999, 1)",
        "DELETE FROM ag_item WHERE id = 1", "UPDATE ag_item SET id = 2 WHERE id = 3", "SELECT id FROM ag_item GROUP BY name",
        "SELECT max(id) FROM ag_item WHERE max(id) > 1", "CREATE TABLE ag_item (id int)", "DROP TABLE nix", "DROP TABLE ag_item",
        "SELECT id, id FROM ag_item, ag_item AS b", "SELECT (SELECT id FROM ag_item)", "SELECT $1", "CALL nix()", "EXECUTE nix",
        "DEALLOCATE nix", "FETCH ALL FROM nix", "CLOSE nix", "SAVEPOINT a", "ROLLBACK TO a", "DECLARE c CURSOR FOR SELECT 1",
        "SET nix = 1", "SHOW nix", "SELECT 'a' || 1 + 2", "SELECT 1 = 'x'", "SELECT true + 1", "VALUES (1), (2, 3)",
        "SELECT 1 UNION SELECT 1, 2", "SELECT 1 LIMIT -1", "SELECT 99999999999999999999::int8", "SELECT '2026-13-01'::date",
        "SELECT substr('abc', 1, -1)", "SELECT ln(0)", "SELECT sqrt(-1)",
    ):
        try:
            cur = conn.execute(sql.SQL(text))
            print(text, "->", cur.statusmessage, cur.fetchall() if cur.description else None)
        except psycopg.Error as error:
            print(text, "->", said(error), error.diag.message_hint)

    print("--- transactions")
    conn.autocommit = False
    for text in ("SELECT 1/0", "SELECT 1", "ROLLBACK", "SELECT 1"):
        try:
            print(conn.execute(text).statusmessage, conn.info.transaction_status.name)
        except psycopg.Error as error:
            print(said(error), conn.info.transaction_status.name)
    conn.rollback()
    conn.autocommit = True
    conn.execute("DROP TABLE ag_line, ag_item")
