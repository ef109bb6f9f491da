// JDBC: prepared statements (named and binary from the fifth use on), batches, fetch size, savepoints,
// calls, generated keys, errors.
import java.math.BigDecimal;
import java.sql.*;

public class JdbcClient {
    static void check(boolean ok, String what) {
        if (!ok) throw new AssertionError(what);
    }

    public static void main(String[] args) throws Exception {
        try (Connection c = DriverManager.getConnection(args[0], "postgres", "x")) {
            try (Statement s = c.createStatement()) {
                s.execute("DROP TABLE IF EXISTS jdbc_item");
                s.execute("CREATE TABLE jdbc_item (id int PRIMARY KEY, name text, price numeric(12,2), at timestamp, n bigint)");
                s.execute("CREATE OR REPLACE PROCEDURE jdbc_add(p_id int, p_name text) LANGUAGE sql AS 'INSERT INTO jdbc_item (id, name) VALUES (p_id, p_name)'");
                s.execute("CREATE OR REPLACE FUNCTION jdbc_double(n int) RETURNS int LANGUAGE sql AS 'SELECT n * 2'");
            }
            c.setAutoCommit(false);
            try (PreparedStatement p = c.prepareStatement("INSERT INTO jdbc_item VALUES (?, ?, ?, ?, ?)")) {
                for (int i = 1; i <= 100; i++) {
                    p.setInt(1, i);
                    p.setString(2, "item " + i);
                    p.setBigDecimal(3, new BigDecimal("1.50"));
                    p.setTimestamp(4, Timestamp.valueOf("2026-11-21 12:30:00.25"));
                    p.setLong(5, 1L << 40);
                    p.addBatch();
                }
                check(p.executeBatch().length == 100, "a batch");
            }
            c.commit();
            try (PreparedStatement p = c.prepareStatement("SELECT * FROM jdbc_item WHERE id = ?")) {
                for (int i = 1; i <= 10; i++) {
                    p.setInt(1, i);
                    try (ResultSet r = p.executeQuery()) {
                        check(r.next() && r.getString("name").equals("item " + i), "a row");
                        check(r.getBigDecimal("price").equals(new BigDecimal("1.50")), "a numeric");
                        check(r.getTimestamp("at").equals(Timestamp.valueOf("2026-11-21 12:30:00.25")), "a timestamp");
                        check(r.getLong("n") == 1L << 40, "a bigint");
                    }
                }
            }
            try (Statement s = c.createStatement()) {
                s.setFetchSize(7);
                int rows = 0;
                try (ResultSet r = s.executeQuery("SELECT id FROM jdbc_item ORDER BY id")) {
                    while (r.next()) check(r.getInt(1) == ++rows, "in order");
                }
                check(rows == 100, "all rows, a few at a time");
            }
            Savepoint savepoint = c.setSavepoint();
            try (Statement s = c.createStatement()) {
                s.execute("INSERT INTO jdbc_item (id) VALUES (1)");
                check(false, "a duplicate");
            } catch (SQLException e) {
                check(e.getSQLState().equals("23505"), e.getSQLState());
            }
            c.rollback(savepoint);
            c.commit();
            c.setAutoCommit(true);
            try (CallableStatement p = c.prepareCall("call jdbc_add(?, ?)")) {
                p.setInt(1, 1000);
                p.setString(2, "called");
                p.execute();
            }
            try (CallableStatement p = c.prepareCall("{? = call jdbc_double(?)}")) {
                p.registerOutParameter(1, Types.INTEGER);
                p.setInt(2, 21);
                p.execute();
                check(p.getInt(1) == 42, "a function's value");
            }
            try (PreparedStatement p = c.prepareStatement("INSERT INTO jdbc_item (id) VALUES (?)", Statement.RETURN_GENERATED_KEYS)) {
                p.setInt(1, 2000);
                p.executeUpdate();
                try (ResultSet keys = p.getGeneratedKeys()) {
                    check(keys.next() && keys.getInt("id") == 2000, "a generated key");
                }
            }
            c.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
            check(c.isValid(5), "valid");
            try (Statement s = c.createStatement()) {
                s.execute("DROP TABLE jdbc_item");
            }
        }
        System.out.println("JDBC ok");
    }
}
