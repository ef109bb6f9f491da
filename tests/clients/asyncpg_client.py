"""asyncpg: binary only, types from Describe, prepared statements, COPY of records, transactions."""

import asyncio
import datetime
import decimal
import os

import asyncpg


async def main():
    conn = await asyncpg.connect(os.environ["PLANARIA_DSN"])
    await conn.execute("DROP TABLE IF EXISTS as_item")
    await conn.execute("CREATE TABLE as_item (id int PRIMARY KEY, name text, price numeric(12,2), at timestamptz)")
    at = datetime.datetime(2026, 11, 21, 12, 30, tzinfo=datetime.timezone.utc)
    await conn.execute("INSERT INTO as_item VALUES ($1, $2, $3, $4)", 1, "one", decimal.Decimal("1.50"), at)
    row = await conn.fetchrow("SELECT * FROM as_item WHERE id = $1", 1)
    assert tuple(row) == (1, "one", decimal.Decimal("1.50"), at), row
    statement = await conn.prepare("SELECT name FROM as_item WHERE id = $1")
    assert [p.name for p in statement.get_parameters()] == ["int4"]
    assert await statement.fetchval(1) == "one"
    await conn.executemany("INSERT INTO as_item (id) VALUES ($1)", [(i,) for i in range(10, 20)])
    await conn.copy_records_to_table("as_item", records=[(i, str(i)) for i in range(20, 30)], columns=["id", "name"])
    async with conn.transaction():
        assert await conn.fetchval("SELECT count(*) FROM as_item") == 21
        async for row in conn.cursor("SELECT id FROM as_item ORDER BY id", prefetch=5):
            assert row["id"] > 0
    try:
        async with conn.transaction():
            await conn.execute("INSERT INTO as_item (id) VALUES (1)")
    except asyncpg.UniqueViolationError as error:
        assert error.constraint_name == "as_item_pkey"
    await conn.execute("DROP TABLE as_item")
    await conn.close()
    print("asyncpg", asyncpg.__version__, "ok")


asyncio.run(main())
