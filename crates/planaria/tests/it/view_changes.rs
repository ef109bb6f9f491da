//! Procedures that change views: how their calls are logged, and what every scheme makes of that.

use crate::logged::{logged, replayed_by_all};

const SCHEMA: &str = "
    CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL);
    CREATE SEQUENCE s;
    CREATE TABLE account (id int PRIMARY KEY, owner text NOT NULL, balance int NOT NULL DEFAULT 5, open bool NOT NULL DEFAULT true);
    CREATE VIEW opened AS SELECT id, owner, balance, balance * 2 AS twice FROM account WHERE open;
    CREATE VIEW rich AS SELECT id, balance AS b FROM opened WHERE balance >= 0 WITH CHECK OPTION;
    CREATE TABLE part (account int PRIMARY KEY, n int);
    CREATE VIEW parts AS SELECT a.id, a.owner, p.n FROM account AS a JOIN part AS p ON p.account = a.id;
    CREATE FUNCTION change_parts() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'INSERT' THEN
            INSERT INTO account (id, owner) VALUES (NEW.id, NEW.owner) ON CONFLICT DO NOTHING;
            INSERT INTO part VALUES (NEW.id, NEW.n);
            RETURN NEW;
        END IF;
        IF TG_OP = 'UPDATE' THEN
            UPDATE part SET n = NEW.n WHERE account = OLD.id AND n = OLD.n;
            RETURN NEW;
        END IF;
        DELETE FROM part WHERE account = OLD.id AND n = OLD.n;
        RETURN OLD;
    END $$;
    CREATE TRIGGER change INSTEAD OF INSERT OR UPDATE OR DELETE ON parts FOR EACH ROW EXECUTE FUNCTION change_parts();
    CREATE PROCEDURE enter(p_id int, p_owner text) LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO opened (id, owner) VALUES (p_id, p_owner) ON CONFLICT (id) DO UPDATE SET owner = excluded.owner;
        INSERT INTO parts VALUES (p_id, p_owner, p_id * 10);
    END $$;
    CREATE PROCEDURE pay(p_id int, p_amount int) LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE rich SET b = b + p_amount WHERE id = p_id;
        UPDATE parts SET n = n + p_amount WHERE id = p_id;
    END $$;
    CREATE PROCEDURE pay_or_empty(p_id int, p_amount int) LANGUAGE plpgsql AS $$
    BEGIN
        CALL pay(p_id, p_amount);
    EXCEPTION WHEN with_check_option_violation THEN
        UPDATE opened SET balance = 0 WHERE id = p_id AND twice > 0;
    END $$;
    CREATE PROCEDURE leave(p_id int) LANGUAGE plpgsql AS $$
    BEGIN
        DELETE FROM parts WHERE id = p_id;
        DELETE FROM rich WHERE id = p_id;
    END $$;";

#[test]
fn a_call_that_changes_views_is_logged_as_a_call() {
    let calls = "CALL enter(1, 'Ann'); CALL pay(1, 7); CALL leave(1);";
    let records = logged(&format!("{SCHEMA} {calls}"));
    assert_eq!(records.iter().filter(|record| record.ends_with("call")).count(), 3, "{records:?}");
}

#[test]
fn every_scheme_changes_the_same_rows() {
    replayed_by_all(
        SCHEMA,
        &|db| {
            for id in 1..20 {
                db.call("enter", (id, format!("owner {}", id % 3))).expect("enters");
            }
            for id in [2, 4, 4, 9, 77] {
                db.call("pay", (id, id * 3)).expect("pays");
            }
            db.call("pay_or_empty", (5, -1000)).expect("pays nothing");
            for id in [3, 19, 20] {
                db.call("leave", (id,)).expect("leaves");
            }
        },
        &|db| {
            let text =
                "SELECT string_agg(id || ':' || b, ' ' ORDER BY id) FROM rich WHERE id IN (2, 3, 4, 5)";
            let rows = db.query(text, ()).expect("rows");
            assert_eq!(rows[0].get::<String>(0).expect("a text"), "2:11 4:29 5:0");
        },
    );
}

#[test]
fn materialized_views_come_back_as_they_were() {
    let script = "
        CREATE TABLE sale (id int PRIMARY KEY, shop int NOT NULL, amount int NOT NULL);
        CREATE PROCEDURE sell(p_id int, p_shop int, p_amount int) LANGUAGE plpgsql AS $$
        BEGIN INSERT INTO sale VALUES (p_id, p_shop, p_amount); END $$;
        CREATE MATERIALIZED VIEW totals AS SELECT shop, sum(amount) AS total FROM sale GROUP BY shop;
        CREATE UNIQUE INDEX totals_shop ON totals (shop);
        CREATE MATERIALIZED VIEW unfilled AS SELECT * FROM totals WITH NO DATA;";
    replayed_by_all(
        script,
        &|db| {
            for id in 0..30 {
                db.call("sell", (id, id % 4, id * 10)).expect("sells");
                if id % 10 == 5 {
                    db.execute("REFRESH MATERIALIZED VIEW totals", ()).expect("refreshes");
                }
            }
        },
        &|db| {
            let text = "SELECT string_agg(shop || ':' || total, ' ' ORDER BY shop) FROM totals";
            let totals = db.query(text, ()).expect("rows")[0].get::<String>(0).expect("a text");
            assert_eq!(totals, "0:840 1:910 2:720 3:780");
            let error = db.query("SELECT * FROM unfilled", ()).expect_err("has no rows");
            assert_eq!(error.sqlstate().as_str(), "55000");
        },
    );
}
