"""SQLAlchemy's ORM, there and back: tables made, rows put in and changed, relationships, reflection."""

import datetime
import decimal
import os

from sqlalchemy import (
    CheckConstraint, Date, ForeignKey, Index, Integer, Numeric, String, UniqueConstraint, create_engine, func, inspect, select, text,
)  # fmt: skip
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import IntegrityError, ProgrammingError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, joinedload, mapped_column, relationship, selectinload


class Base(DeclarativeBase):
    pass


class Customer(Base):
    __tablename__ = "sa_customer"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(40), unique=True)
    born: Mapped[datetime.date | None] = mapped_column(Date)
    orders: Mapped[list["Order"]] = relationship(back_populates="customer", cascade="all, delete-orphan")


class Order(Base):
    __tablename__ = "sa_order"
    __table_args__ = (
        CheckConstraint("total >= 0", name="sa_order_total"),
        UniqueConstraint("customer_id", "number", name="sa_order_number"),
        Index("sa_order_by_total", "total", "number"),
    )
    id: Mapped[int] = mapped_column(primary_key=True)
    customer_id: Mapped[int] = mapped_column(ForeignKey("sa_customer.id", ondelete="CASCADE"))
    number: Mapped[int] = mapped_column(Integer)
    total: Mapped[decimal.Decimal] = mapped_column(Numeric(12, 2), server_default=text("0"))
    customer: Mapped[Customer] = relationship(back_populates="orders")


engine = create_engine(os.environ["PLANARIA_DSN"].replace("postgresql://", "postgresql+psycopg://"))
# A change of the schema is a transaction of its own.
autocommit = engine.execution_options(isolation_level="AUTOCOMMIT")
Base.metadata.drop_all(autocommit)
Base.metadata.create_all(autocommit)
Base.metadata.create_all(autocommit)  # finds them
with Session(engine) as session:
    for i in range(5):
        orders = [Order(number=n, total=decimal.Decimal(i * n) / 2) for n in range(1, 4)]
        session.add(Customer(name=f"customer {i}", born=datetime.date(2000, 1, 1 + i), orders=orders))
    session.commit()
    query = select(Customer).options(selectinload(Customer.orders)).order_by(Customer.id)
    print([(c.name, c.born, [str(o.total) for o in c.orders]) for c in session.scalars(query)])
    query = select(Order).options(joinedload(Order.customer)).where(Order.total > 1).order_by(Order.id)
    print([(o.id, o.customer.name) for o in session.scalars(query)])
    total = func.sum(Order.total).label("total")
    query = select(Customer.name, func.count(), total).join(Customer.orders).group_by(Customer.name).having(total > 2).order_by(total.desc())
    print(session.execute(query).all())
    first = session.get(Customer, 1)
    first.name = "changed"
    first.orders.pop()
    session.delete(session.get(Customer, 2))
    session.commit()
    print(session.scalar(select(func.count()).select_from(Order)), session.get(Customer, 1).name)
    with session.begin_nested():
        session.add(Customer(name="nested"))
    try:
        with session.begin_nested():
            session.add(Customer(name="nested"))
    except IntegrityError as error:
        print(error.orig.sqlstate, error.orig.diag.constraint_name)
    session.commit()
    upsert = insert(Customer).values([{"name": "nested"}, {"name": "new"}])
    upsert = upsert.on_conflict_do_update(index_elements=["name"], set_={"born": datetime.date(1999, 9, 9)})
    print(session.execute(upsert.returning(Customer.name, Customer.born)).all())
    session.commit()
    query = select(Customer.name, func.row_number().over(order_by=Customer.name)).order_by(Customer.name)
    print(session.execute(query).all())
    exists = select(Customer.name).where(~Customer.orders.any()).order_by(Customer.name)
    print(session.scalars(exists).all())
    print(session.execute(select(Customer.name).order_by(Customer.id).offset(1).limit(2)).all())
    print([c.name for c in session.scalars(select(Customer).order_by(Customer.id).execution_options(yield_per=2))])
    try:
        session.execute(text("SELECT nix FROM sa_customer"))
    except ProgrammingError as error:
        print(error.orig.sqlstate)
    session.rollback()
print("--- reflection")
looked = inspect(engine)
print([n for n in sorted(looked.get_table_names()) if n.startswith("sa_")], looked.default_schema_name, looked.has_table("sa_order"))
for table in ("sa_customer", "sa_order"):
    for column in looked.get_columns(table):
        print(table, column["name"], column["type"], column["nullable"], column["default"])
    print(looked.get_pk_constraint(table))
    print(looked.get_foreign_keys(table))
    print(sorted(looked.get_indexes(table), key=lambda i: i["name"]))
    print(looked.get_unique_constraints(table), looked.get_check_constraints(table))
Base.metadata.drop_all(autocommit)
