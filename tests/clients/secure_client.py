"""psycopg and asyncpg over TLS with a certificate that is verified, and SCRAM."""

import asyncio
import os

import psycopg

dsn = os.environ["PLANARIA_DSN"]
with psycopg.connect(dsn) as conn:
    assert conn.pgconn.ssl_in_use
    assert conn.execute("SELECT current_user, %s::int", (7,)).fetchone() == ("postgres", 7)
    with conn.cursor() as cur, cur.copy("COPY (SELECT repeat('x', 1000) FROM generate_series(1, 2000)) TO STDOUT") as copy:
        assert sum(1 for _ in copy.rows()) == 2000
for wrong in (dsn.replace("a%20secret", "nix"), dsn.replace("localhost", "127.0.0.1"), dsn.replace("verify-full", "disable").replace("a%20secret", "")):
    try:
        psycopg.connect(wrong)
        raise AssertionError(wrong)
    except psycopg.OperationalError:
        pass
try:
    import asyncpg
except ImportError:
    asyncpg = None


async def main():
    conn = await asyncpg.connect(dsn)
    assert await conn.fetchval("SELECT 6 * $1::int", 7) == 42
    await conn.close()
    try:
        await asyncpg.connect(dsn.replace("a%20secret", "nix"))
        raise AssertionError("a wrong password")
    except asyncpg.InvalidPasswordError:
        pass


if asyncpg:
    asyncio.run(main())
