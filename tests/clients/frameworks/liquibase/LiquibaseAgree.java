import java.nio.file.*;
import java.sql.*;
import java.util.*;
import java.io.*;
import liquibase.*;
import liquibase.changelog.*;
import liquibase.database.*;
import liquibase.database.jvm.JdbcConnection;
import liquibase.diff.*;
import liquibase.diff.compare.CompareControl;
import liquibase.diff.output.*;
import liquibase.diff.output.changelog.DiffToChangeLog;
import liquibase.diff.output.report.DiffToReport;
import liquibase.resource.*;
import liquibase.snapshot.*;

/** Liquibase: change sets, twice, rollback, generateChangeLog, snapshot, diff, dropAll. Prints what it saw. */
public class LiquibaseAgree {
    static Path dir;
    static String url;

    interface Work { Object run(Liquibase l, Database d) throws Exception; }

    static void step(String name, Work w) {
        try (var c = DriverManager.getConnection(url, "postgres", "")) {
            var d = DatabaseFactory.getInstance().findCorrectDatabaseImplementation(new JdbcConnection(c));
            try (var l = new Liquibase(name.equals("generate") ? dir + "/made.yaml" : "log.xml", new DirectoryResourceAccessor(dir), d)) { System.out.println(name + ": " + w.run(l, d)); }
        } catch (Throwable e) {
            var b = new StringBuilder(e.getClass().getName());
            for (var k = e; k != null; k = k.getCause()) if (k instanceof SQLException q) { b.append(" ").append(q.getSQLState()).append(" ").append(q.getMessage()); break; }
            System.out.println(name + ": " + b.append(" | ").append(String.valueOf(e.getMessage()).replaceAll("\\s+", " ")));
        }
    }

    /** The change sets in the order of their texts: they are made in the order of what depends on what, which leaves much open. */
    static String sets(String yaml) {
        var b = new TreeSet<String>();
        for (var x : yaml.split("(?m)^- (?=changeSet:)")) b.add(x.strip().replaceAll("id: '?[0-9]+-[0-9]+", "id: 'N"));
        return String.join("\n", b);
    }

    static void rows(String sql) throws Exception {
        try (var c = DriverManager.getConnection(url, "postgres", ""); var s = c.createStatement(); var r = s.executeQuery(sql)) {
            while (r.next()) { var b = new StringBuilder("  "); for (int i = 1; i <= r.getMetaData().getColumnCount(); i++) b.append(r.getString(i)).append(" | "); System.out.println(b); }
        } catch (SQLException e) { System.out.println("  " + e.getSQLState() + " " + e.getMessage()); }
    }

    static final String HEAD = "<databaseChangeLog xmlns='http://www.liquibase.org/xml/ns/dbchangelog' xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance' xsi:schemaLocation='http://www.liquibase.org/xml/ns/dbchangelog http://www.liquibase.org/xml/ns/dbchangelog/dbchangelog-latest.xsd'>\n";

    static void log(String body) throws Exception { Files.writeString(dir.resolve("log.xml"), HEAD + body + "</databaseChangeLog>\n"); }

    static final String FIRST = """
        <changeSet id='1' author='a'><createTable tableName='person' remarks='people'>
          <column name='id' type='bigint' autoIncrement='true'><constraints primaryKey='true' primaryKeyName='person_pk'/></column>
          <column name='name' type='varchar(50)' remarks='a name'><constraints nullable='false'/></column>
          <column name='email' type='varchar(100)'><constraints unique='true' uniqueConstraintName='person_email'/></column>
          <column name='born' type='date'/><column name='seen' type='timestamp with time zone' defaultValueComputed='now()'/>
          <column name='score' type='decimal(10,2)' defaultValueNumeric='1.5'/><column name='active' type='boolean' defaultValueBoolean='true'/>
          <column name='data' type='jsonb'/><column name='u' type='uuid'/><column name='note' type='clob'/><column name='photo' type='blob'/><column name='d' type='double'/><column name='t' type='tinyint'/><column name='tags' type='text[]'/>
        </createTable></changeSet>
        <changeSet id='2' author='a'><createTable tableName='item'>
          <column name='id' type='int'><constraints primaryKey='true'/></column>
          <column name='person_id' type='bigint'><constraints nullable='false' foreignKeyName='item_person' references='person(id)' deleteCascade='true'/></column>
          <column name='kind' type='varchar(10)' defaultValue='new'/></createTable>
          <createIndex tableName='item' indexName='item_kind'><column name='kind'/><column name='person_id' descending='true'/></createIndex>
          <createSequence sequenceName='free_seq' startValue='100' incrementBy='5'/>
          <addUniqueConstraint tableName='item' columnNames='person_id, kind' constraintName='item_once'/></changeSet>
        <changeSet id='3' author='b'><insert tableName='person'><column name='name' value="O'Neil"/><column name='born' valueDate='1980-02-29'/><column name='data' value='{"a": 1}'/></insert>
          <insert tableName='person'><column name='name' value='Two'/><column name='score' valueNumeric='3.25'/></insert>
          <loadData tableName='item' file='items.csv'><column name='id' type='numeric'/><column name='person_id' type='numeric'/><column name='kind' type='string'/></loadData>
          <rollback><delete tableName='item'/><delete tableName='person'/></rollback></changeSet>
        <changeSet id='4' author='b'><createView viewName='names' remarks='a view'>select id, upper(name) as name from person where active</createView>
          <createProcedure>create or replace function add_one(n int) returns int language sql as $$ select n + 1; $$</createProcedure><rollback>drop function add_one(int); drop view names;</rollback></changeSet>
        <changeSet id='5' author='b' runInTransaction='false'><sql>create index concurrently person_name on person (lower(name))</sql><rollback>drop index person_name</rollback></changeSet>
        """;
    static final String SECOND = """
        <changeSet id='6' author='c'><preConditions onFail='MARK_RAN'><not><columnExists tableName='person' columnName='age'/></not><tableExists tableName='item'/><foreignKeyConstraintExists foreignKeyName='item_person'/><primaryKeyExists tableName='person'/><indexExists indexName='item_kind'/><sequenceExists sequenceName='free_seq'/><viewExists viewName='names'/><sqlCheck expectedResult='2'>select count(*) from person</sqlCheck></preConditions>
          <addColumn tableName='person'><column name='age' type='int' valueNumeric='7'><constraints nullable='false'/></column></addColumn></changeSet>
        <changeSet id='7' author='c'><preConditions onFail='MARK_RAN'><tableExists tableName='nowhere'/></preConditions><dropTable tableName='nowhere'/></changeSet>
        <changeSet id='8' author='c'><renameColumn tableName='person' oldColumnName='note' newColumnName='remark'/><modifyDataType tableName='person' columnName='name' newDataType='varchar(80)'/><addDefaultValue tableName='person' columnName='born' defaultValueDate='2000-01-01'/><addNotNullConstraint tableName='person' columnName='score' defaultNullValue='0'/><dropDefaultValue tableName='item' columnName='kind'/><renameTable oldTableName='item' newTableName='thing'/><addLookupTable existingTableName='thing' existingColumnName='kind' newTableName='kinds' newColumnName='code' constraintName='thing_kind'/></changeSet>
        <changeSet id='9' author='c'><mergeColumns tableName='person' column1Name='name' joinString=' - ' column2Name='age' finalColumnName='both' finalColumnType='varchar(200)'/><rollback/></changeSet>
        """;

    public static void main(String[] args) throws Exception {
        java.util.logging.LogManager.getLogManager().reset();
        url = args[0];
        dir = Files.createTempDirectory("liq");
        Files.writeString(dir.resolve("items.csv"), "id,person_id,kind\n1,1,a\n2,1,\"b, c\"\n3,2,NULL\n");
        Scope.child(Map.of("liquibase.analytics.enabled", false, "liquibase.ui.type", "LOGGER", Scope.Attr.ui.name(), new liquibase.ui.LoggerUIService()), () -> { all(); return null; });
    }

    static void all() throws Exception {
        step("drop all", (l, d) -> { l.dropAll(); return "ok"; });
        log(FIRST);
        step("update", (l, d) -> { l.update(""); return l.listUnrunChangeSets(null, null).size(); });
        step("tag", (l, d) -> { l.tag("one"); return l.tagExists("one"); });
        step("again", (l, d) -> { l.update(""); return l.listUnrunChangeSets(null, null).size(); });
        rows("select id, author, filename, orderexecuted, exectype, md5sum, description, comments, tag, liquibase from databasechangelog order by orderexecuted");
        rows("select locked, lockgranted is null, lockedby from databasechangeloglock");
        rows("select id, name, born, score, active, data from person order by id");
        rows("select * from item order by id");
        log(FIRST + SECOND);
        step("status", (l, d) -> l.listUnrunChangeSets(null, null).stream().map(c -> c.getId()).toList());
        step("update", (l, d) -> { l.update(""); return "ok"; });
        rows("select id, exectype, md5sum from databasechangelog order by orderexecuted");
        rows("select id, \"both\", score, remark, born from person order by id");
        step("snapshot", (l, d) -> {
            var s = SnapshotGeneratorFactory.getInstance().createSnapshot(d.getDefaultSchema(), d, new SnapshotControl(d));
            var all = new StringBuilder();
            for (var k : List.of(liquibase.structure.core.Table.class, liquibase.structure.core.View.class, liquibase.structure.core.Column.class, liquibase.structure.core.Index.class, liquibase.structure.core.PrimaryKey.class, liquibase.structure.core.ForeignKey.class, liquibase.structure.core.UniqueConstraint.class, liquibase.structure.core.Sequence.class)) {
                var b = new TreeSet<String>();
                for (var o : s.get(k)) b.add( k.getSimpleName() + " " + o + " " + (o instanceof liquibase.structure.core.Column c ? c.getType() + " " + c.isNullable() + " " + c.getDefaultValue() + " " + c.getRemarks() + " " + (c.getAutoIncrementInformation() != null) : "") + (o instanceof liquibase.structure.core.Sequence q ? q.getStartValue() + " " + q.getIncrementBy() + " " + q.getMaxValue() : "") + (o instanceof liquibase.structure.core.View v ? " " + v.getDefinition().replaceAll("\\s+", " ") : ""));
                all.append("\n  ").append(String.join("; ", b));
            }
            return all;
        });
        step("generate", (l, d) -> {
            var out = new ByteArrayOutputStream();
            var w = new DiffToChangeLog(new DiffOutputControl(false, false, false, null));
            w.setChangeSetAuthor("gen"); w.setIdRoot("1");
            l.generateChangeLog(d.getDefaultSchema(), w, new PrintStream(out), new liquibase.serializer.core.yaml.YamlChangeLogSerializer());
            var made = dir.resolve("made.yaml"); return "\n" + out + (Files.exists(made) ? sets(Files.readString(made)) : "");
        });
        step("diff", (l, d) -> {
            var r = l.diff(d, d, new CompareControl());
            return r.areEqual() + " " + r.getMissingObjects().size() + " " + r.getUnexpectedObjects().size() + " " + r.getChangedObjects().size();
        });
        step("rollback to tag", (l, d) -> { l.rollback("one", ""); return l.listUnrunChangeSets(null, null).size(); });
        step("rollback 2", (l, d) -> { l.rollback(2, ""); return l.listUnrunChangeSets(null, null).size(); });
        log(FIRST);
        step("update again", (l, d) -> { l.update(""); return l.listUnrunChangeSets(null, null).size(); });
        step("rollback all", (l, d) -> { l.rollback(5, ""); return l.listUnrunChangeSets(null, null).size(); });
        step("update again", (l, d) -> { l.update(""); return l.listUnrunChangeSets(null, null).size(); });
        log(FIRST + "<changeSet id='bad' author='x'><sql>create table half (id int); insert into nowhere values (1)</sql></changeSet>");
        step("bad", (l, d) -> { l.update(""); return "ok"; });
        rows("select to_regclass('half'), (select locked from databasechangeloglock)");
        log(FIRST.replace("varchar(50)", "varchar(60)"));
        step("changed", (l, d) -> { l.validate(); return "valid"; });
        step("clear", (l, d) -> { l.clearCheckSums(); l.update(""); return "ok"; });
        log(FIRST);
        step("sync", (l, d) -> { l.clearCheckSums(); l.changeLogSync(""); return "ok"; });
        step("drop all", (l, d) -> { l.dropAll(); return "ok"; });
        rows("select relname from pg_class where relnamespace = 'public'::regnamespace");
    }
}
