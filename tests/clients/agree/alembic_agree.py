"""Alembic: two revisions up and down, each in a transaction, and autogenerate, which must find nothing to do after them."""

import os
import tempfile
from pathlib import Path

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import (
    CheckConstraint, Column, DateTime, ForeignKey, Identity, Index, Integer, MetaData, Numeric, String, Table, Text,
    UniqueConstraint, create_engine, func, inspect, text,
)  # fmt: skip
from sqlalchemy.exc import DBAPIError

URL = os.environ["PLANARIA_DSN"].replace("postgresql://", "postgresql+psycopg://")
ENV = """
from alembic import context
from sqlalchemy import create_engine
engine = create_engine(context.config.get_main_option("sqlalchemy.url"))
with engine.connect() as connection:
    context.configure(connection=connection, target_metadata=context.config.attributes.get("metadata"), compare_type=True,
                      compare_server_default=True)
    with context.begin_transaction():
        context.run_migrations()
engine.dispose()
"""
FIRST = """
import sqlalchemy as sa
from alembic import op
revision, down_revision = "al1", None
def upgrade():
    op.create_table(
        "al_customer",
        sa.Column("id", sa.Integer, sa.Identity(), primary_key=True),
        sa.Column("name", sa.String(40), nullable=False),
        sa.Column("old", sa.Integer, server_default="1"),
    )
    op.create_table(
        "al_order",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("customer_id", sa.Integer, sa.ForeignKey("al_customer.id", name="al_order_customer", ondelete="CASCADE"), nullable=False),
        sa.Column("total", sa.Integer),
        sa.UniqueConstraint("customer_id", "total", name="al_order_unique"),
    )
    op.create_index("al_customer_name", "al_customer", ["name"])
    customer = sa.table("al_customer", sa.column("name"))
    op.bulk_insert(customer, [{"name": "a"}, {"name": "b"}])
    op.execute("INSERT INTO al_order (customer_id, total) SELECT id, id * 10 FROM al_customer ORDER BY id")
def downgrade():
    op.drop_table("al_order")
    op.drop_index("al_customer_name", "al_customer")
    op.drop_table("al_customer")
"""
SECOND = """
import sqlalchemy as sa
from alembic import op
revision, down_revision = "al2", "al1"
def upgrade():
    op.add_column("al_customer", sa.Column("email", sa.Text))
    op.execute("UPDATE al_customer SET email = name || '@example.com'")
    op.alter_column("al_customer", "email", nullable=False)
    op.drop_column("al_customer", "old")
    op.drop_index("al_customer_name", "al_customer")
    op.create_index("al_customer_email", "al_customer", ["email"], unique=True)
    op.alter_column("al_customer", "name", type_=sa.String(80), existing_nullable=False, comment="in full")
    op.alter_column("al_order", "total", type_=sa.Numeric(12, 2), server_default="0", nullable=False, postgresql_using="total::numeric / 4")
    op.add_column("al_order", sa.Column("made", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False))
    op.create_check_constraint("al_order_total", "al_order", "total >= 0")
    op.drop_constraint("al_order_unique", "al_order", type_="unique")
    op.alter_column("al_order", "customer_id", new_column_name="customer", existing_type=sa.Integer)
    op.create_table_comment("al_order", "what was ordered")
    op.create_table("al_tag", sa.Column("name", sa.String(10), primary_key=True))
    op.rename_table("al_tag", "al_label")
def downgrade():
    op.drop_table("al_label")
    op.drop_table_comment("al_order", existing_comment="what was ordered")
    op.alter_column("al_order", "customer", new_column_name="customer_id", existing_type=sa.Integer)
    op.create_unique_constraint("al_order_unique", "al_order", ["customer_id", "total"])
    op.drop_constraint("al_order_total", "al_order", type_="check")
    op.drop_column("al_order", "made")
    op.alter_column("al_order", "total", server_default=None)
    op.alter_column("al_order", "total", type_=sa.Integer, nullable=True)
    op.alter_column("al_customer", "name", type_=sa.String(40), comment=None, existing_comment="in full", existing_nullable=False)
    op.drop_index("al_customer_email", "al_customer")
    op.create_index("al_customer_name", "al_customer", ["name"])
    op.add_column("al_customer", sa.Column("old", sa.Integer, server_default="1"))
    op.drop_column("al_customer", "email")
"""
BROKEN = """
import sqlalchemy as sa
from alembic import op
revision, down_revision = "al3", "al2"
def upgrade():
    op.add_column("al_customer", sa.Column("lost", sa.Integer))
    op.create_table("al_lost", sa.Column("id", sa.Integer, primary_key=True))
    op.alter_column("al_customer", "lost", nullable=False)
def downgrade():
    pass
"""
metadata = MetaData()
Table(
    "al_customer",
    metadata,
    Column("id", Integer, Identity(), primary_key=True),
    Column("name", String(80), nullable=False, comment="in full"),
    Column("email", Text, nullable=False),
    Index("al_customer_email", "email", unique=True),
)
Table(
    "al_order",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("customer", Integer, ForeignKey("al_customer.id", name="al_order_customer", ondelete="CASCADE"), nullable=False),
    Column("total", Numeric(12, 2), server_default="0", nullable=False),
    Column("made", DateTime(timezone=True), server_default=func.now(), nullable=False),
    CheckConstraint("total >= 0", name="al_order_total"),
    comment="what was ordered",
)
Table("al_label", metadata, Column("name", String(10), primary_key=True))
engine = create_engine(URL)


def look(title):
    print("---", title)
    looked = inspect(engine)
    for table in sorted(n for n in looked.get_table_names() if n.startswith("al")):
        print(table, [(c["name"], str(c["type"]), c["nullable"], c["default"], c["comment"]) for c in looked.get_columns(table)])
        for what in ("get_foreign_keys", "get_indexes", "get_unique_constraints"):
            print(" ", what[4:], sorted(i["name"] for i in getattr(looked, what)(table)))
    with engine.connect() as connection:
        print(connection.execute(text("SELECT * FROM alembic_version")).all())
        for table in ("al_customer", "al_order"):
            if looked.has_table(table):
                columns = ", ".join(c["name"] for c in looked.get_columns(table) if c["name"] != "made")
                print(table, connection.execute(text(f"SELECT {columns} FROM {table} ORDER BY id")).all())


def differences(target):
    with engine.connect() as connection:
        options = {"compare_type": True, "compare_server_default": True}
        options["include_name"] = lambda name, kind, parents: kind != "table" or name.startswith("al_")
        found = compare_metadata(MigrationContext.configure(connection, opts=options), target)
        return [d if isinstance(d, tuple) else d[0] for d in found]


def named(difference):
    """What one is about, without what SQLAlchemy prints of objects."""
    kind, *rest = difference
    return (kind, *(r if isinstance(r, str) else getattr(r, "name", "") for r in rest if r is not None))


with tempfile.TemporaryDirectory() as made:
    scripts = Path(made)
    (scripts / "versions").mkdir()
    (scripts / "env.py").write_text(ENV)
    (scripts / "script.py.mako").write_text("")
    (scripts / "versions" / "first.py").write_text(FIRST)
    (scripts / "versions" / "second.py").write_text(SECOND)
    config = Config(attributes={"metadata": metadata})
    config.set_main_option("script_location", made)
    config.set_main_option("path_separator", "os")
    config.set_main_option("sqlalchemy.url", URL)
    command.upgrade(config, "al1")
    look("al1")
    print("to do:", sorted(named(d) for d in differences(metadata)))
    command.upgrade(config, "head")
    look("head")
    print("to do:", differences(metadata))
    command.check(config)
    (scripts / "versions" / "third.py").write_text(BROKEN)
    try:
        command.upgrade(config, "head")
    except DBAPIError as error:
        print("broken:", error.orig.sqlstate, error.orig.diag.message_primary)
    print("to do:", differences(metadata))
    command.downgrade(config, "al1")
    look("al1 again")
    command.downgrade(config, "base")
    look("base")
    # All of it anew in one go, as a deployment does it.
    (scripts / "versions" / "third.py").unlink()
    command.upgrade(config, "head")
    command.current(config)
    print("to do:", differences(metadata))
    command.downgrade(config, "base")
    with engine.begin() as connection:
        connection.execute(text("DROP TABLE alembic_version"))
