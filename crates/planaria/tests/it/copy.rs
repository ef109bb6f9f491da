//! A copy of a database: its own rows, its own log, recovered onto the state it began with.

use planaria::lab::LabDatabase;
use planaria::{Database, Options};
use planaria_sim::disk::SimDisk;

const SCHEMA: &str = "
    CREATE TABLE account (id int PRIMARY KEY, owner text UNIQUE, balance int NOT NULL);
    CREATE TABLE journal (at timestamp, what text);
    CREATE SEQUENCE ticket;
    CREATE PROCEDURE pay(p_from int, p_to int, INOUT p_ticket bigint DEFAULT NULL) LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE account SET balance = balance - 1 WHERE id = p_from;
        UPDATE account SET balance = balance + 1 WHERE id = p_to;
        p_ticket := nextval('ticket');
        INSERT INTO journal VALUES (localtimestamp, 'ticket ' || p_ticket);
    END $$;
    INSERT INTO account SELECT i, 'owner ' || i, 100 FROM generate_series(1, 50) AS g(i);
    INSERT INTO journal SELECT NULL, 'old ' || i FROM generate_series(1, 300) AS g(i);
    SELECT nextval('ticket'), nextval('ticket');";

fn pay(db: &Database, calls: i32) -> i64 {
    let mut last = 0;
    for i in 0..calls {
        last = db.call("pay", (i % 50 + 1, (i * 7) % 50 + 1)).expect("pays")[0].get(0).expect("a ticket");
    }
    last
}

#[test]
fn a_copy_is_recovered_onto_what_it_was_copied_from() {
    let base = Database::in_memory().expect("opens");
    base.execute_script(SCHEMA).expect("the schema");
    let before = base.digests().expect("digests");
    let disk = SimDisk::new(1);
    let copy = || base.open_on_copy_device(disk.device(), Options::new()).expect("opens on a copy");

    let db = copy();
    assert!(db.recovery().is_none());
    assert_eq!(db.query("SHOW recovery", ()).expect("shows").len(), 0);
    assert_eq!(db.digests().expect("digests"), before);
    assert_eq!(pay(&db, 20), 22, "sequences go on where they stood");
    db.execute("INSERT INTO account VALUES (51, 'owner 51', 0)", ()).expect("inserts");
    let after = db.digests().expect("digests");
    assert_ne!(after, before);
    db.check().expect("the indexes agree");
    db.close().expect("closes");
    assert_eq!(base.digests().expect("digests"), before, "the original is untouched");

    for round in 0..2 {
        let db = copy();
        assert_eq!(db.recovery().map(|r| r.transactions), Some(21 + round));
        if round == 0 {
            assert_eq!(db.digests().expect("digests"), after);
        }
        db.check().expect("the indexes agree");
        let shown = db.query("SHOW recovery", ()).expect("shows");
        let of = |what: &str| shown.iter().find(|r| r.get::<String>(0).as_deref() == Ok(what));
        let transactions: String = of("transactions").expect("a row").get(1).expect("a text");
        assert_eq!(transactions, (21 + round).to_string());
        assert_eq!(pay(&db, 1), 23 + round as i64, "it goes on");
    }
}
