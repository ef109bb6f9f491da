import jakarta.persistence.*;
import java.math.BigDecimal;
import java.time.*;
import java.util.*;
import java.util.concurrent.*;
import org.hibernate.*;
import org.hibernate.annotations.*;
import org.hibernate.boot.*;
import org.hibernate.boot.registry.*;
import org.hibernate.cfg.*;
import org.hibernate.type.SqlTypes;

/** Hibernate as an application has it: a schema made from entities, validated, used. Prints what it saw. */
public class HibernateAgree {
    public enum State { NEW, PAID, SENT }

    @jakarta.persistence.Entity(name = "Customer") @jakarta.persistence.Table(name = "customer", indexes = @jakarta.persistence.Index(name = "customer_name", columnList = "name"))
    public static class Customer {
        @Id @GeneratedValue(strategy = GenerationType.IDENTITY) public Long id;
        @Column(nullable = false, length = 40) public String name;
        @Column(unique = true) public String email;
        @jakarta.persistence.Version public int version;
        public boolean active = true;
        @Column(precision = 12, scale = 3) public BigDecimal credit;
        public LocalDate born;
        public Instant seen;
        public OffsetDateTime signed;
        public LocalDateTime local;
        public LocalTime at;
        public Duration took;
        public UUID token;
        public byte[] photo;
        public Double ratio;
        public float small;
        public short tiny;
        @JdbcTypeCode(SqlTypes.JSON) public Map<String, Object> doc;
        public List<String> tags;
        public int[] numbers;
        @Column(length = 100000) public String story;
        @CreationTimestamp public Instant created;
        @jakarta.persistence.Embedded public Address address;
        @ElementCollection @CollectionTable(name = "nickname") @OrderColumn public List<String> nicknames = new ArrayList<>();
        @OneToMany(mappedBy = "customer", cascade = jakarta.persistence.CascadeType.ALL, orphanRemoval = true) @jakarta.persistence.OrderBy("id") public List<Order> orders = new ArrayList<>();
    }

    @Embeddable public static class Address { public String street; public String city; }

    @jakarta.persistence.Entity(name = "Order") @jakarta.persistence.Table(name = "orders", uniqueConstraints = @UniqueConstraint(name = "order_number", columnNames = {"customer_id", "number"}))
    public static class Order {
        @Id @GeneratedValue(strategy = GenerationType.SEQUENCE) public Long id;
        @ManyToOne(fetch = FetchType.LAZY, optional = false) public Customer customer;
        public int number;
        @Enumerated(EnumType.STRING) public State state;
        @Enumerated(EnumType.STRING) public State kind;
        @org.hibernate.annotations.Check(constraints = "total >= 0") @Column(precision = 12, scale = 2) public BigDecimal total;
        @ManyToMany @JoinTable(name = "order_product") public Set<Product> products = new HashSet<>();
    }

    @jakarta.persistence.Entity(name = "Product") @Inheritance(strategy = InheritanceType.JOINED)
    public static class Product {
        @Id @GeneratedValue(strategy = GenerationType.UUID) public UUID id;
        @NaturalId public String code;
        @ColumnDefault("7") public int stock;
        @Generated @Column(insertable = false, updatable = false, columnDefinition = "integer generated always as (stock * 2) stored") public int doubled;
    }

    @jakarta.persistence.Entity(name = "Book") public static class Book extends Product { public String isbn; }
    @jakarta.persistence.Entity(name = "Toy") public static class Toy extends Product { public int age; }

    /** Asks for a type of its own, with casts from and to varchar. */
    @jakarta.persistence.Entity(name = "Coloured") public static class Coloured { @Id public Long id; @Enumerated @JdbcTypeCode(SqlTypes.NAMED_ENUM) public State state; }

    /** Are large objects. */
    @jakarta.persistence.Entity(name = "Letter") public static class Letter { @Id public Long id; @Lob public String text; @Lob public byte[] photo; }

    static SessionFactory factory(String url, String action) { return factory(url, action, Customer.class, Order.class, Product.class, Book.class, Toy.class); }

    static SessionFactory factory(String url, String action, Class<?>... classes) {
        var registry = new StandardServiceRegistryBuilder()
            .applySetting("jakarta.persistence.jdbc.url", url).applySetting("jakarta.persistence.jdbc.user", "postgres")
            .applySetting("hibernate.hbm2ddl.auto", action).applySetting("hibernate.hbm2ddl.halt_on_error", "true")
            .applySetting("hibernate.jdbc.batch_size", "20").applySetting("hibernate.hikari.maximumPoolSize", "6").applySetting("hibernate.connection.provider_class", "hikari")
            .applySetting("hibernate.jdbc.time_zone", "UTC").build();
        return new MetadataSources(registry).addAnnotatedClasses(classes).buildMetadata().buildSessionFactory();
    }

    interface Work { void run(Session s) throws Exception; }

    static void step(String name, SessionFactory f, Work w) {
        try (var s = f.openSession()) {
            var t = s.beginTransaction();
            try { w.run(s); t.commit(); } catch (Throwable e) { if (t.isActive()) t.rollback(); throw e; }
            System.out.println(name + ": ok");
        } catch (Throwable e) {
            System.out.println(name + ": " + why(e));
        }
    }

    static String why(Throwable e) {
        var b = new StringBuilder(e.getClass().getName());
        for (var c = e; c != null; c = c.getCause() == c ? null : c.getCause()) {
            if (c instanceof org.hibernate.exception.ConstraintViolationException v) b.append(" constraint=").append(v.getConstraintName()).append(" kind=").append(v.getKind());
            if (c instanceof java.sql.SQLException q) return b.append(" ").append(q.getSQLState()).append(" ").append(q.getMessage().replace('\n', ' ').replaceAll("Batch entry .* was aborted: ", "").replaceAll("tuple \\(.*?\\)", "tuple")).toString();
        }
        return b.append(" ").append(e.getMessage()).toString();
    }

    public static void main(String[] args) throws Exception {
        TimeZone.setDefault(TimeZone.getTimeZone("Europe/Berlin"));
        java.util.logging.LogManager.getLogManager().reset();
        var url = args[0];
        for (var action : List.of("create", "validate", "update", "validate")) {
            try (var f = factory(url, action)) { System.out.println("schema " + action + ": ok"); }
            catch (Throwable e) { System.out.println("schema " + action + ": " + why(e)); }
        }
        try (var c = java.sql.DriverManager.getConnection(url, "postgres", "")) {
            for (var table : List.of("customer", "orders", "product", "book", "order_product", "nickname")) {
                var r = c.getMetaData().getColumns(null, "public", table, null);
                while (r.next()) System.out.println(table + "." + r.getString(4) + " " + r.getString(6) + " " + r.getInt(7) + " " + r.getInt(9) + " " + r.getString(18) + " " + r.getString(13) + " " + r.getString(23) + " " + r.getString(24));
                r = c.getMetaData().getImportedKeys(null, "public", table);
                while (r.next()) System.out.println(table + " -> " + r.getString(3) + " " + r.getString(4) + " " + r.getString(8) + " " + r.getString(12));
                r = c.getMetaData().getIndexInfo(null, "public", table, false, false);
                while (r.next()) System.out.println(table + " index " + r.getString(6) + " " + r.getString(9) + " " + r.getBoolean(4));
            }
            var r = c.createStatement().executeQuery("select conrelid::regclass::text, pg_get_constraintdef(oid) from pg_constraint where contype = 'c' and connamespace = 'public'::regnamespace order by 1, 2");
            while (r.next()) System.out.println(r.getString(1) + " " + r.getString(2));
        }
        try (var f = factory(url, "validate")) { use(f); }
        try (var f = factory(url, "drop")) { System.out.println("drop: ok"); } catch (Throwable e) { System.out.println("drop: " + why(e)); }
        try (var f = factory(url, "create-drop", Coloured.class)) {
            step("named enum", f, s -> { var c = new Coloured(); c.id = 1L; c.state = State.PAID; s.persist(c); s.flush(); s.clear(); System.out.println("  " + s.find(Coloured.class, 1L).state); });
            step("named enum, odd", f, s -> s.createNativeMutationQuery("update Coloured set state = 'ODD'").executeUpdate());
        } catch (Throwable e) { System.out.println("named enum: " + why(e)); }
        System.out.println("and the other:");
        try (var f = factory(url, "create-drop", Letter.class)) {
            step("large objects", f, s -> { var l = new Letter(); l.id = 1L; l.text = "long ".repeat(3); l.photo = new byte[] {0, 1, (byte) 255}; s.persist(l); s.flush(); s.clear(); l = s.find(Letter.class, 1L); System.out.println("  " + l.text + Arrays.toString(l.photo)); });
        } catch (Throwable e) { System.out.println("large objects: " + why(e)); }
    }

    static Customer customer(int n) {
        var c = new Customer();
        c.name = "c" + n; c.email = "c" + n + "@example.org"; c.credit = new BigDecimal("12.345"); c.born = LocalDate.of(1980, 2, 29);
        c.seen = Instant.parse("2024-03-31T01:30:00.123456Z"); c.signed = OffsetDateTime.parse("2024-10-27T02:30:00+02:00"); c.local = LocalDateTime.of(2024, 1, 2, 3, 4, 5, 678901000);
        c.at = LocalTime.of(23, 59, 59); c.took = Duration.ofSeconds(90, 5); c.token = new UUID(1, n); c.photo = new byte[] {0, 1, (byte) 255, (byte) n}; c.ratio = 1.0 / 3; c.small = 0.1f; c.tiny = (short) n;
        c.doc = new TreeMap<>(Map.of("n", n, "list", List.of(1, "two", true), "deep", Map.of("x", 1.5))); c.tags = List.of("a", "b,c", "d\"e"); c.numbers = new int[] {1, 2, n};
        c.story = "long ".repeat(5); c.address = new Address(); c.address.city = "Ulm"; c.nicknames.addAll(List.of("nick", "name" + n));
        return c;
    }

    static void use(SessionFactory f) throws Exception {
        step("insert", f, s -> {
            for (int n = 1; n <= 50; n++) {
                var c = customer(n);
                for (int k = 1; k <= 3; k++) { var o = new Order(); o.customer = c; o.number = k; o.state = State.values()[k % 3]; o.kind = State.values()[n % 3]; o.total = new BigDecimal(n * k + ".50"); c.orders.add(o); }
                s.persist(c);
            }
            var b = new Book(); b.code = "b1"; b.isbn = "978"; b.stock = 3; s.persist(b);
            var t = new Toy(); t.code = "t1"; t.age = 4; t.stock = 5; s.persist(t);
            s.flush();
            System.out.println("  generated " + b.doubled + " " + t.doubled);
            s.createQuery("from Order where number = 1 and customer.id < 4", Order.class).getResultList().forEach(o -> { o.products.add(b); o.products.add(t); });
        });
        step("read", f, s -> {
            var c = s.find(Customer.class, 7L);
            System.out.println("  " + c.id + " " + c.name + " " + c.version + " " + c.active + " " + c.credit + " " + c.born + " " + c.seen + " " + c.signed.toInstant() + " " + c.local + " " + c.at + " " + c.took + " " + c.token + " " + Arrays.toString(c.photo) + " " + c.ratio + " " + c.small + " " + c.tiny + " " + c.doc + " " + c.tags + " " + Arrays.toString(c.numbers) + " " + c.story + " " + c.address.city + " " + c.nicknames + " " + c.orders.size() + " " + (c.created != null));
        });
        step("join fetch", f, s -> s.createQuery("select distinct c from Customer c join fetch c.orders o left join fetch o.products where c.id < 3 order by c.id", Customer.class).getResultList().forEach(c -> System.out.println("  " + c.name + " " + c.orders.size() + " " + c.orders.get(0).products.size())));
        step("page", f, s -> System.out.println("  " + s.createQuery("select c.name from Customer c order by c.id desc", String.class).setFirstResult(5).setMaxResults(4).getResultList()));
        step("aggregate", f, s -> s.createQuery("select o.state, count(*), sum(o.total), avg(o.total), min(o.total), listagg(str(o.number), ',') within group (order by o.id) filter (where o.customer.id < 3) from Order o group by o.state having count(*) > 1 order by o.state", Object[].class).getResultList().forEach(r -> System.out.println("  " + Arrays.toString(r))));
        step("window", f, s -> s.createQuery("select o.id, row_number() over (partition by o.customer order by o.total desc), rank() over (order by o.total) from Order o where o.customer.id < 3 order by o.id", Object[].class).getResultList().forEach(r -> System.out.println("  " + Arrays.toString(r))));
        step("functions", f, s -> System.out.println("  " + Arrays.toString(s.createQuery("select upper(c.name), concat(c.name, '-', c.email), substring(c.email, 1, 3), length(c.name), coalesce(c.address.street, 'none'), extract(year from c.born), c.born + 3 day, (c.local - 2 hour), cast(c.credit as string), mod(c.tiny, 4), round(c.credit, 1), locate('@', c.email), trim(both 'c' from c.name), replace(c.name, 'c', 'k'), format(c.born as 'yyyy-MM-dd'), floor(c.ratio), power(2, 3), sign(-c.tiny), overlay(c.name placing 'z' from 1), pad(c.name with 5 leading), trunc(c.local, month), array_length(c.tags), array_contains(c.tags, 'a'), array_to_string(c.tags, '|') from Customer c where c.id = 7", Object[].class).getSingleResult())));
        step("json and arrays", f, s -> System.out.println("  " + s.createQuery("select c.id from Customer c where array_contains(c.numbers, 9) or 'zz' in elements(c.nicknames) or array_contains(c.tags, 'nope')", Long.class).getResultList()));
        step("time arithmetic", f, s -> System.out.println("  " + s.createQuery("select (c.local - cast(c.born as LocalDateTime)) by day, timestampdiff(hour, c.local, c.local + 30 hour), extract(day of week from c.born), extract(week from c.born), extract(epoch from c.seen) from Customer c where c.id = 1", Object[].class).getResultList().stream().map(Arrays::toString).toList()));
        step("cte", f, s -> System.out.println("  " + s.createQuery("with big as (select o.customer.id as cid, sum(o.total) as t from Order o group by o.customer.id) select b.cid, b.t from big b where b.t > 290 order by b.t desc, b.cid", Object[].class).getResultList().stream().map(Arrays::toString).toList()));
        step("recursive cte", f, s -> System.out.println("  " + s.createQuery("with nums as (select c.id as n from Customer c where c.id = 1 union all select n.n + 1 as n from nums n where n.n < 5) select n.n from nums n order by n.n", Long.class).getResultList()));
        step("union, lateral, except", f, s -> {
            System.out.println("  " + s.createQuery("select c.id from Customer c where c.id < 4 except select o.id from Order o where o.id = 2", Long.class).getResultList().stream().sorted().toList());
            System.out.println("  " + s.createQuery("select c.id, x.t from Customer c join lateral (select o.total as t from c.orders o order by o.total desc limit 1) x where c.id < 4 order by c.id", Object[].class).getResultList().stream().map(Arrays::toString).toList());
        });
        step("update, delete by query", f, s -> {
            System.out.println("  " + s.createMutationQuery("update Customer c set c.credit = c.credit + 1, c.version = c.version + 1 where c.id in (select o.customer.id from Order o where o.total > 100)").executeUpdate());
            System.out.println("  " + s.createMutationQuery("update Product p set p.stock = p.stock + 1 where p.code like '%1'").executeUpdate());
            System.out.println("  " + s.createMutationQuery("update Book b set b.isbn = 'x', b.stock = 9").executeUpdate());
            System.out.println("  " + s.createMutationQuery("delete from Order o where o.number = 3 and o.customer.id = 50").executeUpdate());
            System.out.println("  " + s.createMutationQuery("insert into Order (customer, number, state, kind, total) select c, 9, HibernateAgree$State.NEW, HibernateAgree$State.PAID, 1.0 from Customer c where c.id < 4").executeUpdate());
        });
        step("insert ... on conflict", f, s -> {
            System.out.println("  " + s.createMutationQuery("insert into Customer (name, email, version, active, small, tiny) values ('again', 'c1@example.org', 0, true, 0, 0) on conflict (email) do update set name = 'upserted'").executeUpdate());
            System.out.println("  " + s.createMutationQuery("insert into Customer (name, email, version, active, small, tiny) values ('again', 'c2@example.org', 0, true, 0, 0) on conflict do nothing").executeUpdate());
            System.out.println("  " + s.createQuery("select name from Customer where email = 'c1@example.org'").getSingleResult());
        });
        step("subclasses", f, s -> s.createQuery("select p.code, p.doubled, type(p), treat(p as Book).isbn from Product p order by p.code", Object[].class).getResultList().forEach(r -> System.out.println("  " + Arrays.toString(r))));
        step("upsert", f, s -> { try (var st = f.openStatelessSession()) { var t = st.beginTransaction(); var o = st.get(Customer.class, 3L); o.name = "stateless"; st.update(o); var p = new Toy(); p.id = new UUID(9, 9); p.code = "up"; p.age = 1; st.upsert(p); p.age = 2; st.upsert(p); t.commit(); } });
        step("duplicate", f, s -> { var c = customer(1); s.persist(c); s.flush(); });
        step("null", f, s -> { var c = customer(200); c.name = null; s.persist(c); s.flush(); });
        step("null, the database's", f, s -> s.createNativeMutationQuery("insert into customer (name, version, active, small, tiny) values (null, 0, true, 0, 0)").executeUpdate());
        step("too long", f, s -> { var c = customer(201); c.name = "x".repeat(41); s.persist(c); s.flush(); });
        step("check", f, s -> { s.createQuery("from Order where id = 1", Order.class).getSingleResult().total = new BigDecimal("-1"); s.flush(); });
        step("foreign key", f, s -> s.createNativeMutationQuery("delete from customer where id = 4").executeUpdate());
        step("enum check", f, s -> s.createNativeMutationQuery("update orders set state = 'ODD' where id = 1").executeUpdate());
        step("cascade", f, s -> s.remove(s.find(Customer.class, 49L)));
        step("stale", f, s -> {
            var c = s.find(Customer.class, 8L);
            try (var other = f.openSession()) { var t = other.beginTransaction(); other.find(Customer.class, 8L).name = "other"; t.commit(); }
            c.name = "mine"; s.flush();
        });
        step("lock", f, s -> {
            var c = s.find(Customer.class, 9L, LockModeType.PESSIMISTIC_WRITE);
            step("  lock, nowait", f, o -> o.find(Customer.class, 9L, LockModeType.PESSIMISTIC_WRITE, Map.of("jakarta.persistence.lock.timeout", 0)));
            step("  lock, skip", f, o -> System.out.println("  " + o.createQuery("select c.id from Customer c where c.id between 9 and 11 order by c.id", Long.class).setHint("jakarta.persistence.lock.timeout", -2).setLockMode("c", LockMode.UPGRADE_SKIPLOCKED).getResultList()));
            step("  lock, lock_timeout", f, o -> { o.createNativeMutationQuery("set local lock_timeout = '100ms'").executeUpdate(); o.find(Customer.class, 9L, LockModeType.PESSIMISTIC_READ); });
        });
        step("statement timeout", f, s -> s.createNativeQuery("select 1 from (select pg_sleep(5)) x", Integer.class).setTimeout(1).getResultList());
        step("scroll", f, s -> { try (var r = s.createQuery("select c.id from Customer c order by c.id", Long.class).setFetchSize(10).scroll(ScrollMode.FORWARD_ONLY)) { long n = 0; while (r.next()) n += r.get(); System.out.println("  " + n); } });
        step("native", f, s -> System.out.println("  " + Arrays.deepToString(s.createNativeQuery("select id, name, credit, born, seen, doc, tags, numbers, token, photo, took, kind from customer join lateral (select kind from orders where customer_id = customer.id order by number limit 1) k on true where customer.id = :id").setParameter("id", 7).getResultList().toArray())));
        step("savepoint", f, s -> s.doWork(c -> {
            try (var st = c.createStatement()) {
                st.executeUpdate("update customer set name = 'sp' where id = 10");
                var sp = c.setSavepoint("one");
                try { st.executeUpdate("insert into customer (name) values (null)"); } catch (java.sql.SQLException e) { System.out.println("  " + e.getSQLState()); c.rollback(sp); }
                var r = st.executeQuery("select name from customer where id = 10"); r.next(); System.out.println("  " + r.getString(1));
            }
        }));
        var pool = Executors.newFixedThreadPool(6);
        var done = new ArrayList<Future<Integer>>();
        for (int i = 0; i < 6; i++) done.add(pool.submit(() -> {
            int tries = 0;
            for (int k = 0; k < 10; ) {
                tries++;
                try (var s = f.openSession()) {
                    var t = s.beginTransaction();
                    try { s.find(Customer.class, 11L, LockModeType.PESSIMISTIC_WRITE).tiny++; t.commit(); k++; }
                    catch (RuntimeException e) { t.rollback(); }
                }
            }
            return tries;
        }));
        int tries = 0;
        for (var d : done) tries += d.get(60, TimeUnit.SECONDS);
        pool.shutdown();
        step("counted", f, s -> System.out.println("  " + s.createQuery("select tiny from Customer where id = 11").getSingleResult()));
        step("count at the end", f, s -> System.out.println("  " + s.createQuery("select count(*) from Customer").getSingleResult() + " " + s.createQuery("select count(*) from Order").getSingleResult()));
    }
}
