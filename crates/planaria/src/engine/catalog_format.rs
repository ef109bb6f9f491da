//! The catalog as checkpoints have it is JSON of the definitions. What was written once must be read for ever, and
//! mean the same: `tests/formats/catalog-N.json` is the schema below, as it was written first (1) and since intervals have
//! months (2).
//!
//! Whoever adds a field gives it a default that says what there was before; whoever takes one away, or means something
//! else by it, reads the old form, too. `PLANARIA_BLESS=1` writes a file that is not there yet: for a new number.

use crate::Database;
use planaria_catalog::Catalog;
use serde_json::Value;
use std::path::Path;

const SCHEMA: &str = "
    CREATE ROLE owner; CREATE ROLE reader LOGIN; GRANT reader TO owner;
    CREATE SEQUENCE numbers AS int START WITH 5 INCREMENT BY 3 MINVALUE 2 MAXVALUE 1000 CYCLE;
    CREATE TABLE parent (
        a int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        b varchar(20) NOT NULL DEFAULT 'b' UNIQUE,
        c numeric(10,2) CHECK (c > 0), d timestamptz DEFAULT now(), f uuid, g bytea, h bool);
    CREATE TABLE child (
        id serial, parent int REFERENCES parent ON DELETE CASCADE ON UPDATE SET NULL,
        other text REFERENCES parent (b) DEFERRABLE INITIALLY DEFERRED, n bigint,
        CONSTRAINT both_or_none CHECK ((parent IS NULL) = (other IS NULL)), PRIMARY KEY (id, n));
    CREATE TABLE bare (x double precision, y date, z interval);
    CREATE INDEX child_n ON child (n DESC, other);
    CREATE UNIQUE INDEX bare_x ON bare (x);
    CREATE VIEW paired AS SELECT p.a, c.n FROM parent p JOIN child c ON c.parent = p.a;
    CREATE FUNCTION twice(i int DEFAULT 1, OUT o int) LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN o := 2 * i; END $$;
    CREATE FUNCTION rows_of() RETURNS SETOF parent LANGUAGE sql AS 'SELECT * FROM parent';
    CREATE PROCEDURE put(v text, INOUT k bigint) LANGUAGE plpgsql AS $$
        BEGIN INSERT INTO parent (b) VALUES (v) RETURNING a INTO k; EXCEPTION WHEN unique_violation THEN k := -1; END $$;
    CREATE OR REPLACE PROCEDURE put(v text, INOUT k bigint) LANGUAGE plpgsql AS $$ BEGIN k := length(v); END $$;
    ALTER TABLE child OWNER TO owner; GRANT SELECT, UPDATE ON parent TO reader; GRANT EXECUTE ON FUNCTION twice TO PUBLIC;
    COMMENT ON TABLE parent IS 'the parents'; COMMENT ON COLUMN child.n IS 'a number';
    DROP INDEX bare_x; ALTER TABLE bare ADD COLUMN w text DEFAULT 'w', DROP COLUMN y;";

fn value(catalog: &Catalog) -> Value {
    let mut value = serde_json::to_value(catalog).expect("it is data");
    as_before(&mut value);
    value
}

/// What was made then goes on as it did: these say that something does not.
fn as_before(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for since in
                ["reads_before", "form", "knows_absent_rows", "routes_first", "computed_anew", "dropped"]
            {
                fields.remove(since);
            }
            // Sequences did not say which type they were declared with.
            if fields.contains_key("increment") {
                fields.remove("ty");
            }
            fields.values_mut().for_each(as_before);
        }
        Value::Array(items) => items.iter_mut().for_each(as_before),
        _ => {}
    }
}

#[test]
fn a_catalog_that_was_written_once_is_read_and_means_the_same() {
    let db = Database::in_memory().expect("opens");
    db.execute_script(SCHEMA).expect("the schema");
    let now = value(&db.engine().catalog());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats");
    let path = folder.join("catalog-2.json");
    if std::env::var_os("PLANARIA_BLESS").is_some() && !path.exists() {
        std::fs::write(&path, format!("{now:#}\n")).expect("writes");
    }
    let read = |name: &str| -> Catalog {
        let written = std::fs::read(folder.join(name)).expect("the file is there");
        serde_json::from_slice(&written).expect("it is read")
    };
    assert!(value(&read("catalog-2.json")) == now, "what was written then is another schema now");
    // Tables of then keep intervals as they did.
    let first = value(&read("catalog-1.json")).to_string();
    assert_eq!(first.matches("\"Interval\"").count(), 1);
    let first: Value =
        serde_json::from_str(&first.replace("\"Interval\"", "\"IntervalParts\"")).expect("it is data");
    assert!(first == now, "what was written first is another schema now");
}
