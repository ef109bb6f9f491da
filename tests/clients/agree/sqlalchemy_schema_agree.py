"""SQLAlchemy's schemas: tables made and dropped in transactions, and what reflection finds of everything in them."""

import datetime
import decimal
import os
import uuid

from sqlalchemy import (
    BigInteger, Boolean, CheckConstraint, Column, Date, DateTime, Float, ForeignKey, ForeignKeyConstraint,
    Identity, Index, Integer, LargeBinary, MetaData, Numeric, PrimaryKeyConstraint, Sequence, SmallInteger, String, Table,
    Text, UniqueConstraint, Uuid, create_engine, func, inspect, select, text,
)  # fmt: skip
from sqlalchemy.exc import DBAPIError

engine = create_engine(os.environ["PLANARIA_DSN"].replace("postgresql://", "postgresql+psycopg://"))
metadata = MetaData(
    naming_convention={
        "ix": "ix_%(column_0_label)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)
region = Table(
    "ss_region",
    metadata,
    Column("code", String(3), primary_key=True),
    Column("name", Text, nullable=False, unique=True, comment="as it is printed"),
    comment="where we sell",
)
numbers = Sequence("ss_numbers", start=100, increment=5, metadata=metadata)
account = Table(
    "ss_account",
    metadata,
    Column("id", BigInteger, Identity(always=True, start=10, increment=10), primary_key=True),
    Column("small", SmallInteger, Identity(start=3), nullable=False),
    Column("region", ForeignKey("ss_region.code", ondelete="SET NULL", onupdate="CASCADE"), index=True),
    Column("number", Integer, numbers, server_default=numbers.next_value(), nullable=False),
    Column("name", String(40), server_default="no name", nullable=False),
    Column("active", Boolean, server_default=text("true"), nullable=False),
    Column("rate", Float(53), server_default=text("0.5")),
    Column("balance", Numeric(12, 2), server_default=text("0"), nullable=False),
    Column("born", Date, server_default=func.current_date()),
    Column("made", DateTime(timezone=True), server_default=func.now(), nullable=False),
    Column("seen", DateTime),
    Column("secret", LargeBinary),
    Column("token", Uuid),
    Column("owner", BigInteger, ForeignKey("ss_account.id")),
    CheckConstraint("balance >= -100", name="overdrawn"),
    CheckConstraint("name <> '' AND number > 0", name="named"),
    UniqueConstraint("region", "name"),
    Index("ss_account_by_balance", "balance", "id"),
    Index("ss_account_by_made", "made", unique=True),
)
line = Table(
    "ss_line",
    metadata,
    Column("account", BigInteger, nullable=False),
    Column("line", Integer, nullable=False),
    Column("other_account", BigInteger),
    Column("other_line", Integer),
    PrimaryKeyConstraint("account", "line"),
    ForeignKeyConstraint(["account"], ["ss_account.id"], ondelete="CASCADE"),
    ForeignKeyConstraint(["other_account", "other_line"], ["ss_line.account", "ss_line.line"]),
)
# Two tables that refer to each other: the key of one is added when both are there.
Table("ss_left", metadata, Column("id", Integer, primary_key=True), Column("other", ForeignKey("ss_right.id", use_alter=True)))
Table("ss_right", metadata, Column("id", Integer, primary_key=True), Column("other", ForeignKey("ss_left.id")))


def look(of):
    looked = inspect(of)
    print(sorted(n for n in looked.get_table_names() if n.startswith("ss_")))
    print(sorted(n for n in looked.get_sequence_names() if n.startswith("ss_")), looked.get_schema_names())
    for table in sorted(n for n in looked.get_table_names() if n.startswith("ss_")):
        print("---", table, looked.get_table_comment(table))
        for c in looked.get_columns(table):
            print(c["name"], repr(c["type"]), c["nullable"], c["default"], c["autoincrement"], c.get("identity"), c["comment"])
        print("pk", looked.get_pk_constraint(table))
        for what in ("get_foreign_keys", "get_indexes", "get_unique_constraints", "get_check_constraints"):
            print(what[4:], sorted(getattr(looked, what)(table), key=lambda i: i["name"]))


def shown(title, sql, *parameters):
    with engine.connect() as connection:
        try:
            print(title, connection.execute(text(sql), *parameters).all())
        except DBAPIError as error:
            print(title, error.orig.sqlstate, error.orig.diag.message_primary, error.orig.diag.constraint_name)


metadata.drop_all(engine)
metadata.create_all(engine)
metadata.create_all(engine)
look(engine)
print("--- a reflected schema is the same schema")
again = MetaData()
again.reflect(engine, only=lambda name, _: name.startswith("ss_"))
for _, table in sorted(again.tables.items()):
    print(table.name, [(c.name, str(c.type), c.primary_key, [f.target_fullname for f in c.foreign_keys]) for c in table.columns])
with engine.begin() as connection:
    connection.execute(region.insert(), [{"code": "N", "name": "north"}, {"code": "S", "name": "south"}])
    made = connection.execute(account.insert().values(region="N", born=datetime.date(2000, 2, 29)).returning(account.c.id, account.c.number))
    print(made.all())
    made = connection.execute(
        account.insert().returning(account.c.id, account.c.small, account.c.number, account.c.balance, sort_by_parameter_order=True),
        [
            {"name": f"n{i}", "region": "S", "balance": decimal.Decimal(i) / 4, "token": uuid.UUID(int=i), "secret": bytes([i]),
             "made": datetime.datetime(2020, 1, 1 + i, tzinfo=datetime.timezone.utc), "number": i + 1}
            for i in range(5)
        ],
    )  # fmt: skip
    print(made.all())
    connection.execute(line.insert(), [{"account": 10, "line": 1}, {"account": 10, "line": 2, "other_account": 10, "other_line": 1}])
    print(connection.execute(select(account.c.name, account.c.active, account.c.rate, account.c.token).order_by(account.c.id)).all())
    print(connection.execute(select(func.count()).select_from(line.join(account))).scalar())
shown("check", "UPDATE ss_account SET balance = -101 WHERE id = 10 RETURNING id")
shown("unique", "UPDATE ss_account SET name = 'n0' WHERE region = 'S' RETURNING id")
shown("foreign key", "INSERT INTO ss_line VALUES (11, 1) RETURNING 1")
shown("always", "INSERT INTO ss_account (id, name) VALUES (1, 'x') RETURNING id")
shown("parent", "DELETE FROM ss_line WHERE line = 1 RETURNING 1")
with engine.begin() as connection:
    connection.execute(text("UPDATE ss_region SET code = 'NN' WHERE code = 'N'"))
    connection.execute(text("DELETE FROM ss_region WHERE code = 'S'"))
shown("actions", "SELECT id, region FROM ss_account ORDER BY id")
print("--- a change that is taken back")
with engine.connect() as connection:
    connection.execute(text("ALTER TABLE ss_region ADD COLUMN size integer DEFAULT 7 NOT NULL"))
    print([c["name"] for c in inspect(connection).get_columns("ss_region")])
    print(connection.execute(text("SELECT code, size FROM ss_region ORDER BY code")).all())
    connection.rollback()
    print([c["name"] for c in inspect(connection).get_columns("ss_region")])
try:
    with engine.begin() as connection:
        metadata.drop_all(connection)
        print([n for n in inspect(connection).get_table_names() if n.startswith("ss_")])
        raise KeyError
except KeyError:
    pass
print(sorted(n for n in inspect(engine).get_table_names() if n.startswith("ss_")))
with engine.begin() as connection:
    connection.execute(text("CREATE VIEW ss_rich AS SELECT id, balance FROM ss_account WHERE balance > 0"))
looked = inspect(engine)
print(looked.get_view_names(), [(c["name"], str(c["type"])) for c in looked.get_columns("ss_rich")], looked.has_table("ss_rich"))
try:
    account.drop(engine)
except DBAPIError as error:
    print(error.orig.sqlstate, error.orig.diag.message_primary, "|", error.orig.diag.message_detail)
with engine.begin() as connection:
    connection.execute(text("DROP VIEW ss_rich"))
metadata.drop_all(engine)
looked = inspect(engine)
print([n for n in looked.get_table_names() + looked.get_sequence_names() if n.startswith("ss_")])
