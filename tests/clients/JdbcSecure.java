// JDBC over TLS with a certificate that is verified, and SCRAM.
import java.sql.*;

public class JdbcSecure {
    public static void main(String[] args) throws Exception {
        try (Connection c = DriverManager.getConnection(args[0], "postgres", "a secret"); Statement s = c.createStatement(); ResultSet r = s.executeQuery("SELECT 6 * 7")) {
            if (!r.next() || r.getInt(1) != 42) throw new AssertionError("an answer");
        }
        try (Connection c = DriverManager.getConnection(args[0], "postgres", "nix")) {
            throw new AssertionError("a wrong password");
        } catch (SQLException e) {
            if (!e.getSQLState().equals("28P01")) throw e;
        }
    }
}
