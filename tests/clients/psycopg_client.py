"""psycopg 3: text and binary, COPY, pipelines, savepoints, server-side cursors' portals, errors."""

import datetime
import decimal
import os
import uuid

import psycopg

with psycopg.connect(os.environ["PLANARIA_DSN"], autocommit=True) as conn:
    conn.execute("DROP TABLE IF EXISTS py_item")
    conn.execute(
        "CREATE TABLE py_item (id int PRIMARY KEY, name text, price numeric(12,2), at timestamp,"
        " day date, key uuid, raw bytea, ok boolean, ratio double precision)"
    )
    row = (
        1,
        "größer",
        decimal.Decimal("12.50"),
        datetime.datetime(2026, 11, 21, 12, 30, 1, 250000),
        datetime.date(2026, 11, 21),
        uuid.UUID(int=7),
        b"\x00\xff",
        True,
        0.1,
    )
    conn.execute("INSERT INTO py_item VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)", row)
    for binary in (False, True):
        with conn.cursor(binary=binary) as cur:
            assert cur.execute("SELECT * FROM py_item WHERE id = %s", (1,)).fetchone() == row, binary
            assert cur.execute("SELECT ARRAY[1, NULL, 3]").fetchone() == ([1, None, 3],)
            assert cur.execute("SELECT %b::int8 + %s::int8", (1, 2)).fetchone() == (3,)
    for i in range(10):  # prepared from the fifth on
        conn.execute("SELECT name FROM py_item WHERE id = %s", (i,))
    with conn.cursor() as cur:
        with cur.copy("COPY py_item (id, name) FROM STDIN") as copy:
            for i in range(2, 100):
                copy.write_row((i, f"item {i}"))
        with cur.copy("COPY py_item (id, name) TO STDOUT") as copy:
            assert len(list(copy.rows())) == 99
        with cur.copy("COPY py_item (id, name) FROM STDIN (FORMAT binary)") as copy:
            copy.set_types(["int4", "text"])
            copy.write_row((100, None))
    with conn.transaction():
        conn.execute("UPDATE py_item SET name = 'x' WHERE id = 2")
        try:
            with conn.transaction():
                conn.execute("INSERT INTO py_item (id) VALUES (1)")
            raise AssertionError("a duplicate")
        except psycopg.errors.UniqueViolation as error:
            assert error.diag.constraint_name == "py_item_pkey"
    assert conn.execute("SELECT name FROM py_item WHERE id = 2").fetchone() == ("x",)
    with conn.transaction():
        conn.execute("DECLARE named CURSOR FOR SELECT id FROM py_item ORDER BY id")
        assert conn.execute("FETCH FORWARD 3 FROM named").fetchall() == [(1,), (2,), (3,)]
        assert len(conn.execute("FETCH ALL FROM named").fetchall()) == 97
        conn.execute("CLOSE named")
    with conn.pipeline(), conn.cursor() as cur:
        cur.executemany("INSERT INTO py_item (id) VALUES (%s)", [(i,) for i in range(200, 250)])
    assert conn.execute("SELECT count(*) FROM py_item").fetchone() == (150,)
    try:
        conn.execute("SELECT nix FROM py_item")
    except psycopg.errors.UndefinedColumn as error:
        assert error.diag.statement_position == "8"
    conn.execute("DROP TABLE py_item")
print("psycopg", psycopg.__version__, "ok")
