"""Django: migrations there and back (its own applications' and a small one's), models, queries, inspectdb."""

import datetime
import decimal
import io
import os
import sys
import tempfile
import textwrap
import uuid
from pathlib import Path
from urllib.parse import urlsplit

import django
from django.conf import settings

FIRST = """
import uuid
from django.db import models
from django.db.models import Q

class Author(models.Model):
    name = models.CharField(max_length=80, db_index=True)
    email = models.EmailField(unique=True)
    born = models.DateField(null=True, blank=True)
    class Meta:
        ordering = ["name"]

class Tag(models.Model):
    slug = models.SlugField(max_length=30, primary_key=True)

class Book(models.Model):
    token = models.UUIDField(default=uuid.UUID(int=7))
    title = models.CharField(max_length=120)
    text = models.TextField(blank=True)
    author = models.ForeignKey(Author, on_delete=models.CASCADE, related_name="books")
    sequel = models.OneToOneField("self", on_delete=models.SET_NULL, null=True)
    tags = models.ManyToManyField(Tag)
    price = models.DecimalField(max_digits=8, decimal_places=2)
    pages = models.PositiveIntegerField(default=0)
    weight = models.FloatField(null=True)
    sold = models.BooleanField(default=False)
    cover = models.BinaryField(null=True)
    made = models.DateTimeField()
    class Meta:
        unique_together = [("author", "title")]
        indexes = [models.Index(fields=["-made", "price"], name="shop_book_by_made")]
        constraints = [models.CheckConstraint(condition=Q(price__gte=0), name="shop_book_price")]
"""
SECOND = FIRST.replace("max_length=120", "max_length=200, db_comment='as printed'").replace(
    "text = models.TextField(blank=True)", "subtitle = models.CharField(max_length=50, default='none')"
) + """
class Review(models.Model):
    book = models.ForeignKey(Book, on_delete=models.PROTECT)
    stars = models.SmallIntegerField(db_default=3, db_comment="one to five")
    class Meta:
        db_table_comment = "what readers say"
"""

where = urlsplit(os.environ["PLANARIA_DSN"])
settings.configure(
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "HOST": where.hostname, "PORT": where.port, "USER": where.username, "NAME": where.path[1:],
        }
    },
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "django.contrib.sessions", "shop"],
    USE_TZ=True,
    TIME_ZONE="UTC",
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
)  # fmt: skip
work = tempfile.TemporaryDirectory()
app = Path(work.name) / "shop"
(app / "migrations").mkdir(parents=True)
for package in (app, app / "migrations"):
    (package / "__init__.py").write_text("")
(app / "models.py").write_text(FIRST)
sys.path.insert(0, work.name)
sys.dont_write_bytecode = True
# A process knows one version of an application: the migration to the first one is made in another.
child = os.fork()
if child == 0:
    django.setup()
    from django.core.management import call_command

    call_command("makemigrations", "shop", name="first", verbosity=0)
    sys.stdout.flush()
    os._exit(0)
os.waitpid(child, 0)
(app / "models.py").write_text(SECOND)
django.setup()

from django.contrib.auth.models import Group, Permission, User  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import DatabaseError, IntegrityError, connection, transaction  # noqa: E402
from django.db.models import Avg, CharField, Count, Exists, F, Max, OuterRef, Prefetch, Q, Subquery, Sum, Value, Window  # noqa: E402
from django.db.models.functions import Coalesce, Concat, ExtractYear, Length, Lower, Rank, TruncMonth, Upper  # noqa: E402
from shop.models import Author, Book, Review, Tag  # noqa: E402


def command(*words, **options):
    print("$", *words)
    out = io.StringIO()
    call_command(*words, stdout=out, no_color=True, **options)
    print(textwrap.indent(out.getvalue().replace(work.name, "").rstrip(), "  "))


def tables():
    introspection = connection.introspection
    with connection.cursor() as cursor:
        for table in sorted(introspection.get_table_list(cursor)):
            if table.name.startswith("shop"):
                print(table)
                for c in introspection.get_table_description(cursor, table.name):
                    print("  ", c.name, c.type_code, c.internal_size, c.precision, c.scale, c.null_ok, c.default, c.collation, c.is_autofield, c.comment)
                for name, c in sorted(introspection.get_constraints(cursor, table.name).items()):
                    what = [k for k in ("primary_key", "unique", "index", "check") if c[k]]
                    print("  ", name, c["columns"], what, c["foreign_key"], c.get("orders"), c.get("type"), c.get("options"))
                print("  ", introspection.get_sequences(cursor, table.name), introspection.get_relations(cursor, table.name))


def rows(title, query):
    try:
        print(title, list(query))
    except DatabaseError as error:
        print(title, getattr(error.__cause__, "sqlstate", None), str(error).splitlines()[0])


def refused(title, change):
    try:
        with transaction.atomic():
            change()
        print(title, "was not refused")
    except IntegrityError as error:
        print(title, error.__cause__.sqlstate, error.__cause__.diag.constraint_name)


def day(n):
    return datetime.datetime(2024, 1 + n % 3, 1 + n, 12, 30, tzinfo=datetime.timezone.utc)


command("makemigrations", "shop", name="second", verbosity=0)
command("migrate", "shop", "0001")
tables()
with connection.cursor() as cursor:
    cursor.execute("INSERT INTO shop_author (name, email) VALUES (%s, %s) RETURNING id", ["Zoe", "zoe@example.com"])
    zoe = cursor.fetchone()[0]
    cursor.execute(
        "INSERT INTO shop_book (token, title, text, author_id, price, pages, sold, made) VALUES (%s, 'Old', '', %s, 1, 2, true, %s)",
        [uuid.UUID(int=1), zoe, day(0)],
    )
command("migrate")
command("makemigrations", check=True)
command("showmigrations", "shop")
tables()
command("inspectdb", "shop_author", "shop_book", "shop_review", "shop_book_tags")
print("--- models")
ann = Author.objects.create(name="Ann", email="ann@example.com", born=datetime.date(1970, 5, 17))
bob = Author.objects.create(name="Bob", email="bob@example.com")
tags = Tag.objects.bulk_create([Tag(slug=s) for s in ("new", "old", "rare")])
books = Book.objects.bulk_create(
    Book(title=f"Book {n}", author=(ann, bob)[n % 2], price=decimal.Decimal(n) * 7 / 4, pages=n * 10, made=day(n),
         weight=n / 2 if n else None, cover=bytes([n]), token=uuid.UUID(int=n))
    for n in range(6)
)  # fmt: skip
books[0].sequel = books[1]
books[0].save(update_fields=["sequel"])
for n, book in enumerate(books):
    book.tags.set(tags[: n % 4])
Review.objects.create(book=books[2])
Review.objects.create(book=books[2], stars=5)
rows("values", Book.objects.order_by("id").values_list("title", "subtitle", "price", "pages", "weight", "sold", "made", "token"))
rows("cover", [bytes(b.cover) for b in Book.objects.exclude(cover=None).order_by("id")])
rows("join", Book.objects.filter(author__name__startswith="A", tags__slug="old").order_by("title").values_list("title", flat=True))
rows("case", Author.objects.filter(name__icontains="O").values_list("name", flat=True))
rows("regex", Author.objects.filter(email__iregex=r"^(ann|BOB)@").values_list("name", flat=True))
rows("in", Book.objects.filter(pk__in=[b.pk for b in books[:3]]).exclude(Q(pages=0) | Q(title="x")).values_list("title", flat=True))
rows("count", Author.objects.annotate(n=Count("books", distinct=True), t=Count("books__tags")).values_list("name", "n", "t"))
rows("sum", Author.objects.annotate(total=Coalesce(Sum("books__price"), Value(decimal.Decimal(0)))).filter(total__gt=5).values_list("name", "total"))
rows("aggregate", sorted(Book.objects.aggregate(Avg("pages"), Max("price"), Sum("weight")).items()))
rows("month", Book.objects.annotate(month=TruncMonth("made")).values("month").annotate(n=Count("id")).order_by("month").values_list("month", "n"))
rows("year", Book.objects.annotate(y=ExtractYear("made")).values_list("y", flat=True).distinct())
rows("dates", Book.objects.filter(made__date__gte=datetime.date(2024, 2, 1), made__year=2024).order_by("id").dates("made", "month"))
newest = Book.objects.filter(author=OuterRef("pk")).order_by("-made").values("title")[:1]
rows("subquery", Author.objects.annotate(newest=Subquery(newest)).values_list("name", "newest"))
rows("exists", Author.objects.filter(Exists(Review.objects.filter(book__author=OuterRef("pk")))).values_list("name", flat=True))
window = Window(Rank(), partition_by="author", order_by=F("price").desc())
rows("window", Book.objects.annotate(rank=window).order_by("author_id", "rank", "id").values_list("title", "rank"))
rows("text", Author.objects.annotate(s=Concat(Upper("name"), Value(": "), Lower("email"), output_field=CharField()), l=Length("name")).values_list("s", "l"))
rows("union", Author.objects.values_list("name").union(Tag.objects.values_list("slug"), all=True).order_by("name"))
rows("prefetch", [(a.name, [(b.title, [t.slug for t in b.tags.all()]) for b in a.books.all()]) for a in Author.objects.prefetch_related(Prefetch("books", Book.objects.order_by("id")), Prefetch("books__tags", Tag.objects.order_by("slug")))])
rows("related", [(b.title, b.author.name, b.sequel and b.sequel.title) for b in Book.objects.select_related("author", "sequel").order_by("id")])
rows("slice", Book.objects.order_by("-price", "id").values_list("title", flat=True)[1:4])
rows("chunks", [b.title for b in Book.objects.order_by("id").iterator(chunk_size=2)])
rows("update", [Book.objects.filter(author=bob).update(price=F("price") + 1, pages=F("pages") * 2)])
rows("bulk_update", [Book.objects.bulk_update([Book(pk=b.pk, subtitle=f"s{b.pages}") for b in books], ["subtitle"])])
rows("upsert", [Author.objects.update_or_create(email="ann@example.com", defaults={"name": "Anna"})[1], Author.objects.get_or_create(email="new@example.com", defaults={"name": "New"})[1]])
rows("conflicts", [len(Tag.objects.bulk_create([Tag(slug="new"), Tag(slug="more")], ignore_conflicts=True)), Tag.objects.count()])
upsert = {"update_conflicts": True, "unique_fields": ["email"], "update_fields": ["name"]}
rows("conflicts", [len(Author.objects.bulk_create([Author(name="Bobby", email="bob@example.com")], **upsert)), Author.objects.get(email="bob@example.com").name])
with transaction.atomic():
    rows("lock", Book.objects.select_for_update().filter(author=ann).order_by("id").values_list("title", flat=True))
    rows("lock", Book.objects.select_for_update(skip_locked=True, of=("self",)).select_related("author").order_by("id")[:1].values_list("title", flat=True))
refused("unique", lambda: Author.objects.create(name="x", email="ann@example.com"))
refused("unique together", lambda: Book.objects.create(title="Book 0", author=ann, price=1, made=day(1)))
refused("check", lambda: Book.objects.filter(pk=books[0].pk).update(price=-1))
refused("positive", lambda: Book.objects.filter(pk=books[0].pk).update(pages=-1))
refused("null", lambda: Book.objects.filter(pk=books[0].pk).update(title=None))
# Django's foreign keys are deferred: they are looked at when the transaction ends.
refused("foreign key", lambda: Book.objects.filter(pk=books[0].pk).update(author_id=999))
with transaction.atomic():
    Review.objects.create(book_id=999, stars=1)
    Book.objects.create(id=999, title="late", author=ann, price=1, made=day(1))
print("late", Review.objects.filter(book_id=999).count())
with transaction.atomic():
    Book.objects.filter(pk=books[1].pk).update(author_id=998)
    try:
        with transaction.atomic():
            connection.check_constraints()
    except IntegrityError as error:
        print("checked", error.__cause__.sqlstate, error.__cause__.diag.constraint_name)
    Book.objects.filter(pk=books[1].pk).update(author=bob)
Review.objects.all().delete()
rows("delete", [ann.delete(), sorted(Book.objects.values_list("title", flat=True)), Book.objects.get(title="Book 1").sequel])
print("--- users")
user = User.objects.create_user("ada", "ada@example.com", "secret")
user.groups.add(Group.objects.create(name="staff"))
user.user_permissions.set(Permission.objects.filter(codename__in=["add_book", "change_book"]))
user = User.objects.get(username="ada")
rows("rights", sorted(user.get_all_permissions()))
rows("user", [user.check_password("secret"), user.is_active, user.last_login, user.groups.get().name])
print("--- and back")
command("sqlsequencereset", "shop")
command("flush", interactive=False, verbosity=0)
print(Author.objects.count(), User.objects.count(), Permission.objects.count() > 20)
command("migrate", "shop", "0001")
command("migrate", "shop", "zero")
for other in ("sessions", "auth", "contenttypes"):
    command("migrate", other, "zero")
with connection.cursor() as cursor:
    cursor.execute("DROP TABLE django_migrations")
    print(connection.introspection.table_names(cursor))
