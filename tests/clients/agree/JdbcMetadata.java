// What JDBC's DatabaseMetaData says, as tools such as DBeaver ask for it: every call that has rows, and those that
// answer for the server. Printed, to be compared with PostgreSQL's.
import java.sql.*;
import java.util.*;

public class JdbcMetadata {
    interface Ask {
        ResultSet rows() throws SQLException;
    }

    /** Columns that hold what belongs to a server and not to its schema. */
    static final Set<String> OWN = Set.of("SPECIFIC_NAME", "TABLE_CAT", "FUNCTION_CAT", "PROCEDURE_CAT", "TYPE_CAT", "PKTABLE_CAT", "FKTABLE_CAT", "CARDINALITY", "PAGES");

    static void show(String name, Ask ask) {
        System.out.println("--- " + name);
        try (ResultSet r = ask.rows()) {
            ResultSetMetaData m = r.getMetaData();
            List<String> lines = new ArrayList<>();
            StringBuilder head = new StringBuilder();
            for (int i = 1; i <= m.getColumnCount(); i++) head.append(m.getColumnLabel(i)).append(OWN.contains(m.getColumnLabel(i).toUpperCase()) ? "" : ":" + m.getColumnTypeName(i)).append(' ');
            while (r.next()) {
                StringBuilder line = new StringBuilder();
                for (int i = 1; i <= m.getColumnCount(); i++) line.append(OWN.contains(m.getColumnLabel(i).toUpperCase()) ? "*" : r.getString(i)).append('|');
                lines.add(line.toString());
            }
            System.out.println(head);
            lines.forEach(System.out::println);
        } catch (SQLException e) {
            System.out.println(e.getSQLState() + " " + e.getMessage());
        }
    }

    public static void main(String[] args) throws Exception {
        try (Connection c = DriverManager.getConnection(args[0], "postgres", "x"); Statement s = c.createStatement()) {
            for (String sql : new String[] {
                "DROP VIEW IF EXISTS jm_big", "DROP TABLE IF EXISTS jm_line, jm_order, jm_customer",
                "CREATE TABLE jm_customer (id int PRIMARY KEY, name varchar(40) NOT NULL, born date, key uuid, raw bytea, ratio double precision, ok boolean DEFAULT true, note text DEFAULT 'none')",
                "CREATE TABLE jm_order (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, customer int NOT NULL REFERENCES jm_customer (id) ON DELETE CASCADE, total numeric(12,2) DEFAULT 0 CHECK (total >= 0), at timestamp, UNIQUE (customer, at))",
                "CREATE TABLE jm_line (order_id bigint, n smallint, label char(8), PRIMARY KEY (order_id, n), FOREIGN KEY (order_id) REFERENCES jm_order (id))",
                "CREATE INDEX jm_order_by_total ON jm_order (total DESC, at)",
                "CREATE VIEW jm_big AS SELECT id, total FROM jm_order WHERE total > 100",
                "CREATE OR REPLACE FUNCTION jm_double(n int) RETURNS int LANGUAGE sql AS 'SELECT n * 2'",
                "CREATE OR REPLACE PROCEDURE jm_note(p_id int, INOUT p_note text DEFAULT 'x') LANGUAGE plpgsql AS 'BEGIN NULL; END'",
            }) s.execute(sql);
            DatabaseMetaData m = c.getMetaData();
            show("getTables", () -> m.getTables(null, "public", "jm%", null));
            show("getTables of a kind", () -> m.getTables(null, null, "jm%", new String[] {"VIEW"}));
            show("getTableTypes", () -> m.getTableTypes());
            show("getColumns", () -> m.getColumns(null, "public", "jm%", null));
            show("getColumns of a name", () -> m.getColumns(null, null, "jm_order", "t%"));
            show("getPrimaryKeys", () -> m.getPrimaryKeys(null, "public", "jm_line"));
            show("getImportedKeys", () -> m.getImportedKeys(null, "public", "jm_order"));
            show("getExportedKeys", () -> m.getExportedKeys(null, "public", "jm_order"));
            show("getCrossReference", () -> m.getCrossReference(null, "public", "jm_customer", null, "public", "jm_order"));
            show("getIndexInfo", () -> m.getIndexInfo(null, "public", "jm_order", false, true));
            show("getIndexInfo, unique", () -> m.getIndexInfo(null, "public", "jm_order", true, true));
            show("getBestRowIdentifier", () -> m.getBestRowIdentifier(null, "public", "jm_line", DatabaseMetaData.bestRowSession, true));
            show("getVersionColumns", () -> m.getVersionColumns(null, "public", "jm_line"));
            show("getTablePrivileges", () -> m.getTablePrivileges(null, "public", "jm_order"));
            show("getColumnPrivileges", () -> m.getColumnPrivileges(null, "public", "jm_line", "n"));
            show("getFunctions", () -> m.getFunctions(null, "public", "jm%"));
            show("getFunctionColumns", () -> m.getFunctionColumns(null, "public", "jm%", null));
            show("getProcedures", () -> m.getProcedures(null, "public", "jm%"));
            show("getProcedureColumns", () -> m.getProcedureColumns(null, "public", "jm%", null));
            show("getUDTs", () -> m.getUDTs(null, "public", "%", null));
            show("getSuperTables", () -> c.createStatement().executeQuery("SELECT 1 AS n"));
            show("getClientInfoProperties", () -> m.getClientInfoProperties());
            show("getCatalogs has one", () -> c.createStatement().executeQuery("SELECT count(*) > 0 AS some FROM pg_database"));
            System.out.println("--- the server");
            System.out.println(m.getDatabaseProductName() + " " + m.getDatabaseMajorVersion());
            System.out.println(m.getMaxColumnNameLength() + " " + m.getMaxColumnsInIndex() + " " + m.getMaxTableNameLength() + " " + m.getMaxConnections());
            System.out.println(m.getIdentifierQuoteString() + m.getSearchStringEscape() + " " + m.getSchemaTerm() + " " + m.storesLowerCaseIdentifiers());
            System.out.println(m.supportsTransactions() + " " + m.supportsSavepoints() + " " + m.supportsBatchUpdates() + " " + m.supportsStoredProcedures());
            List<String> types = new ArrayList<>();
            try (ResultSet r = m.getTypeInfo()) {
                while (r.next()) types.add(r.getString("TYPE_NAME"));
            }
            System.out.println(types.containsAll(List.of("int2", "int4", "int8", "numeric", "float8", "text", "varchar", "bool", "date", "timestamp", "uuid", "bytea")));
            try (ResultSet r = m.getSchemas()) {
                List<String> names = new ArrayList<>();
                while (r.next()) names.add(r.getString(1));
                System.out.println(names.containsAll(List.of("public", "pg_catalog", "information_schema")));
            }
            System.out.println(c.getSchema() + " " + c.isValid(1) + " " + c.isReadOnly() + " " + c.getHoldability());
            try (PreparedStatement p = c.prepareStatement("SELECT o.id, c.name AS who, o.total FROM jm_order o JOIN jm_customer c ON c.id = o.customer WHERE o.total > ? AND c.name = ?")) {
                ParameterMetaData pm = p.getParameterMetaData();
                System.out.println(pm.getParameterTypeName(1) + " " + pm.getParameterTypeName(2));
                ResultSetMetaData rm = p.getMetaData();
                for (int i = 1; i <= rm.getColumnCount(); i++)
                    System.out.println(rm.getColumnLabel(i) + " " + rm.getColumnTypeName(i) + " " + rm.getPrecision(i) + " " + rm.getScale(i) + " " + rm.getColumnClassName(i));
            }
            try (Statement t = c.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE)) {
                t.execute("INSERT INTO jm_customer (id, name) VALUES (1, 'one'), (2, 'two')");
                ResultSet r = t.executeQuery("SELECT id, name FROM jm_customer ORDER BY id");
                r.last();
                r.updateString("name", "changed");
                r.updateRow();
                r.moveToInsertRow();
                r.updateInt("id", 3);
                r.updateString("name", "three");
                r.insertRow();
                r.first();
                r.deleteRow();
            } catch (SQLException e) {
                System.out.println(e.getSQLState() + " " + e.getMessage());
            }
            show("rows changed through a result", () -> c.createStatement().executeQuery("SELECT id, name, ok, note FROM jm_customer ORDER BY id"));
            for (String sql : new String[] {"DROP VIEW jm_big", "DROP TABLE jm_line, jm_order, jm_customer", "DROP FUNCTION jm_double", "DROP PROCEDURE jm_note"}) s.execute(sql);
        }
    }
}
