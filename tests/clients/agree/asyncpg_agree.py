"""asyncpg: COPY in all ways, pools, prepared statements, cursors, types, errors. Printed, to be compared."""

import asyncio
import datetime
import decimal
import io
import os
import uuid

import asyncpg


async def main():
    pool = await asyncpg.create_pool(os.environ["PLANARIA_DSN"], min_size=2, max_size=5)
    async with pool.acquire() as conn:
        await conn.execute("DROP TABLE IF EXISTS ac_item")
        await conn.execute("CREATE TABLE ac_item (id int PRIMARY KEY, name text, price numeric(12,2), at timestamptz, key uuid)")
        records = [
            (i, f"item {i}" if i % 3 else None, decimal.Decimal(i) / 4, datetime.datetime(2026, 1, 1 + i, tzinfo=datetime.timezone.utc), uuid.UUID(int=i))
            for i in range(1, 11)
        ]
        print(await conn.copy_records_to_table("ac_item", records=records))
        out = io.BytesIO()
        print(await conn.copy_from_query("SELECT * FROM ac_item WHERE id > $1 ORDER BY id", 7, output=out))
        print(out.getvalue())
        out = io.BytesIO()
        print(await conn.copy_from_table("ac_item", columns=["id", "name"], output=out, format="csv", header=True, null="-"))
        print(out.getvalue())
        print(await conn.copy_to_table("ac_item", source=io.BytesIO(b"id;name\n50;fifty\n51;\n"), columns=["id", "name"], format="csv", header=True, delimiter=";"))
        for row in await conn.fetch("SELECT * FROM ac_item ORDER BY id"):
            print(tuple(row))
        for bad in (b"1;again\n", b"x;y\n", b"1\n"):
            try:
                await conn.copy_to_table("ac_item", source=io.BytesIO(bad), columns=["id", "name"], format="csv", delimiter=";")
            except asyncpg.PostgresError as error:
                print(error.sqlstate, error.message, error.detail, error.context)
        statement = await conn.prepare("SELECT id, name, price, at, key FROM ac_item WHERE id = ANY($1::int[]) AND price > $2")
        print([p.name for p in statement.get_parameters()], [(a.name, a.type.name) for a in statement.get_attributes()])
        print(len(await statement.fetch([1, 2, 3, 99], decimal.Decimal("0.3"))))
        async with conn.transaction(isolation="serializable"):
            cursor = await conn.cursor("SELECT id FROM ac_item ORDER BY id")
            print(await cursor.fetchrow(), len(await cursor.fetch(4)), await cursor.forward(2), len(await cursor.fetch(100)))
        for text, args in (
            ("SELECT $1::int2, $2::int8, $3::float8, $4::bool", (1, 2**40, 0.1, True)),
            ("SELECT $1::bytea, $2::date, $3::timestamp, $4::interval", (b"\x00\xff", datetime.date(2026, 11, 21), datetime.datetime(2026, 11, 21, 1, 2, 3, 4), datetime.timedelta(days=1, seconds=2))),
            ("SELECT $1::text[], $2::int[], $3::numeric[]", (["a", None], [1, 2], [decimal.Decimal("1.5")])),
        ):
            print(tuple((await conn.fetch(text, *args))[0]))
        for text in ("SELECT 1/0", "SELECT nix", "SELECT $1 + 1", "INSERT INTO ac_item (id) VALUES (1)"):
            try:
                print(await conn.fetch(text, *([1] if "$1" in text else [])))
            except (asyncpg.PostgresError, asyncpg.DataError) as error:
                print(type(error).__name__, getattr(error, "sqlstate", None), error)
        await conn.execute("ALTER TABLE ac_item ADD COLUMN more int")
        print(tuple(await conn.fetchrow("SELECT * FROM ac_item WHERE id = 1")))
    sums = await asyncio.gather(*(pool.fetchval("SELECT sum(id) FROM ac_item WHERE id <> $1", i) for i in range(30)))
    print(sum(sums))
    await pool.execute("DROP TABLE ac_item")
    await pool.close()


asyncio.run(main())
