"""What psql 15 asks when TAB is pressed (psql_completion.sql), answered: printed, to be compared with PostgreSQL's."""

import os
from pathlib import Path

import psycopg
from psycopg.pq import DiagnosticField, ExecStatus

here = Path(__file__).parent
schema = """
    CREATE TABLE customer (id int PRIMARY KEY, name text NOT NULL, born date);
    CREATE TABLE "order" (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        customer_id int NOT NULL REFERENCES customer (id), total numeric(12,2) DEFAULT 0 CHECK (total >= 0));
    CREATE INDEX order_by_customer ON "order" (customer_id);
    CREATE UNIQUE INDEX customer_by_name ON customer (name, born);
    CREATE VIEW big_order AS SELECT id, total FROM "order" WHERE total > 100;
    CREATE SEQUENCE ticket;
    CREATE FUNCTION double_it(n int) RETURNS int LANGUAGE sql AS 'SELECT n * 2';
    CREATE PROCEDURE nothing() LANGUAGE sql AS 'SELECT 1'
"""
with psycopg.connect(os.environ["PLANARIA_DSN"], autocommit=True) as conn:
    for statement in schema.split(";"):
        conn.execute(statement)
    for query in (here / "psql_completion.sql").read_text().split(";\n\n"):
        answer = conn.pgconn.exec_(query.strip().rstrip(";").encode())
        print("---", " ".join(line for line in query.split("\n") if not line.startswith("--"))[:100])
        if answer.status == ExecStatus.TUPLES_OK:
            cell = lambda i, j: (answer.get_value(i, j) or b"\\N").decode()
            for line in sorted("|".join(cell(i, j) for j in range(answer.nfields)) for i in range(answer.ntuples)):
                print(line)
        else:
            print(answer.error_field(DiagnosticField.SQLSTATE).decode(), answer.error_message.decode())
    for kind, name in (
        ("VIEW", "big_order"), ("TABLE", '"order"'), ("TABLE", "customer"), ("SEQUENCE", "ticket"),
        ("FUNCTION", "double_it"), ("PROCEDURE", "nothing"),
    ):  # fmt: skip
        conn.execute(f"DROP {kind} {name}")
