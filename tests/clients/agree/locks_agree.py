"""Who waits for whom: what a transaction holds, and what another one gets beside it. Printed, to be compared with PostgreSQL's."""

import os

import psycopg

dsn = os.environ["PLANARIA_DSN"]
MODES = [
    "ACCESS SHARE",
    "ROW SHARE",
    "ROW EXCLUSIVE",
    "SHARE UPDATE EXCLUSIVE",
    "SHARE",
    "SHARE ROW EXCLUSIVE",
    "EXCLUSIVE",
    "ACCESS EXCLUSIVE",
]
STRENGTHS = ["KEY SHARE", "SHARE", "NO KEY UPDATE", "UPDATE"]
HELD = [
    *(f"SELECT v FROM lk_parent WHERE id = 1 FOR {strength}" for strength in STRENGTHS),
    "UPDATE lk_parent SET v = v + 1 WHERE id = 1",
    "UPDATE lk_parent SET id = 100 WHERE id = 1",
    "UPDATE lk_parent SET name = 'other' WHERE id = 1",
    "DELETE FROM lk_parent WHERE id = 1",
    "INSERT INTO lk_child VALUES (1, 1)",
    "INSERT INTO lk_parent VALUES (5, 'five', 0)",
    "SELECT count(*) FROM lk_parent",
    *(f"LOCK TABLE lk_parent IN {mode} MODE" for mode in MODES),
    "SELECT pg_advisory_xact_lock(7)",
    "SELECT pg_advisory_xact_lock_shared(7)",
    "SELECT pg_advisory_xact_lock(0, 7)",
]
ASKED = [
    *(f"SELECT id FROM lk_parent WHERE id = 1 FOR {strength} NOWAIT" for strength in STRENGTHS),
    *(f"SELECT id FROM lk_parent WHERE id < 3 ORDER BY id FOR {strength} SKIP LOCKED" for strength in STRENGTHS),
    "UPDATE lk_parent SET v = 7 WHERE id = 1",
    "DELETE FROM lk_parent WHERE id = 1",
    "INSERT INTO lk_child VALUES (2, 1)",
    "INSERT INTO lk_parent VALUES (5, 'five', 0)",
    "SELECT v FROM lk_parent WHERE id = 1",
    *(f"LOCK TABLE lk_parent IN {mode} MODE NOWAIT" for mode in MODES),
    "SELECT pg_try_advisory_xact_lock(7), pg_try_advisory_xact_lock_shared(7), pg_try_advisory_xact_lock(0, 7)",
]
# Rows that are locked are no rows of pg_locks in PostgreSQL, and every transaction has a lock on itself.
LOCKS = """SELECT locktype, coalesce(relation::regclass::text, ''), mode, granted, classid, objid, objsubid FROM pg_locks
    WHERE pid = %s AND (locktype = 'advisory' OR locktype = 'relation' AND relation::regclass::text IN ('lk_parent', 'lk_child'))
    ORDER BY 1, 2, 3"""


def answer(conn, statement):
    try:
        cursor = conn.execute(statement)
        return cursor.fetchall() if cursor.description else cursor.statusmessage
    except psycopg.Error as error:
        return error.diag.sqlstate, error.diag.message_primary


with psycopg.connect(dsn, autocommit=True) as holder, psycopg.connect(dsn, autocommit=True) as other:
    holder.execute("DROP TABLE IF EXISTS lk_child, lk_parent")
    holder.execute("CREATE TABLE lk_parent (id int PRIMARY KEY, name text UNIQUE, v int)")
    holder.execute("CREATE TABLE lk_child (id int PRIMARY KEY, parent int REFERENCES lk_parent (id))")
    holder.execute("INSERT INTO lk_parent VALUES (1, 'one', 0), (2, 'two', 0)")
    other.execute("SET lock_timeout = '60ms'")
    for held in HELD:
        print("===", held)
        holder.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
        print(answer(holder, held))
        for lock in other.execute(LOCKS, (holder.info.backend_pid,)).fetchall():
            print("holds", *lock)
        for asked in ASKED:
            other.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
            print(f"{asked}:", answer(other, asked))
            other.execute("ROLLBACK")
        holder.execute("ROLLBACK")
    print("=== waits")
    holder.execute("BEGIN")
    holder.execute("LOCK TABLE lk_parent")
    print(other.execute("SELECT pg_blocking_pids(%s)", (other.info.backend_pid,)).fetchone())
    holder.execute("ROLLBACK")
    holder.execute("DROP TABLE lk_child, lk_parent")
