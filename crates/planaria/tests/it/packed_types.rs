//! Types that are kept as bytes in their order, as keys, columns, arguments and variables: how calls with them are logged, and
//! what every scheme makes of that.

use crate::logged::{logged, replayed_by_all};
use planaria::SqlState;

const SCHEMA: &str = "
    CREATE SEQUENCE s;
    CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL);
    CREATE TABLE host (ip inet PRIMARY KEY, net cidr NOT NULL, mac macaddr UNIQUE, seen int NOT NULL DEFAULT 0, ips inet[]);
    CREATE TABLE visit (net cidr, ip inet REFERENCES host, long macaddr8, PRIMARY KEY (net, ip));
    CREATE INDEX ON host (net, ip);
    CREATE PROCEDURE put(p_ip inet, p_mac macaddr) LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO host (ip, net, mac, ips) VALUES (p_ip, network(set_masklen(p_ip, 16)), p_mac, ARRAY[p_ip, p_ip + 1]);
    END $$;
    CREATE PROCEDURE visited(p_net cidr) LANGUAGE plpgsql AS $$
    DECLARE one inet;
    BEGIN
        FOR one IN SELECT ip FROM host WHERE ip << p_net ORDER BY ip LOOP
            UPDATE host SET seen = seen + 1 WHERE ip = one;
            INSERT INTO visit SELECT net, ip, mac FROM host WHERE ip = one;
        END LOOP;
    END $$;
    CREATE TABLE item (flags bit(4), name bit varying(8), price money NOT NULL DEFAULT 0, PRIMARY KEY (flags, name));
    CREATE INDEX ON item (price);
    CREATE PROCEDURE add_item(p_flags bit, p_name bit varying, p_price money) LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO item VALUES (p_flags, p_name, p_price);
    END $$;
    CREATE PROCEDURE mark_up(p_mask bit, p_by float8) LANGUAGE plpgsql AS $$
    DECLARE total money;
    BEGIN
        UPDATE item SET price = price * p_by, name = B'1' || name WHERE (flags & p_mask) = p_mask;
        SELECT sum(price) INTO total FROM item;
        IF total > '1000' THEN
            UPDATE item SET price = price - (total - '1000') / 2 WHERE price = (SELECT max(price) FROM item);
        END IF;
    END $$;
    CREATE PROCEDURE moved(p_ip inet, p_by bigint) LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE host SET ip = ip + p_by, net = set_masklen(net, 8) WHERE ip = p_ip;
    END $$;";

/// What the calls below leave.
const ITEMS: &str = "0011 101 -$1.50; 0011 1010 $3.50; 1000 1 $1,183.94; 1010 11 $18.75";
const BY_PRICE: &str = "1 11 1010";

#[test]
fn calls_stay_calls() {
    let all = logged(&format!(
        "{SCHEMA} CALL put('10.1.2.3', '08:00:2b:01:02:03'); CALL visited('10.0.0.0/8'); \
         CALL add_item(B'1010', B'1', '12.5');"
    ));
    let all: Vec<_> = all.iter().filter(|record| **record != "sequence").collect();
    assert!(all.iter().rev().take(3).all(|record| record.ends_with("call")), "{all:?}");
}

#[test]
fn every_scheme_sees_the_same_rows() {
    replayed_by_all(
        SCHEMA,
        &|db| {
            for (ip, mac) in [
                ("10.1.2.3", "08:00:2b:01:02:03"),
                ("10.1.9.9", "08:00:2b:01:02:04"),
                ("10.7.0.0/20", "08:00:2b:01:02:05"),
                ("::1", "08:00:2b:01:02:06"),
                ("2001:db8::7/64", "08:00:2b:01:02:07"),
            ] {
                db.call("put", (ip, mac)).expect("puts");
            }
            let there = db.call("put", ("10.1.2.3/32", "08:00:2b:01:02:08")).expect_err("is there");
            assert_eq!(there.sqlstate(), SqlState::UNIQUE_VIOLATION);
            let there = db.call("put", ("10.1.2.8", "08002b010203")).expect_err("is there");
            assert_eq!(there.sqlstate(), SqlState::UNIQUE_VIOLATION);
            db.call("visited", ("10.1.0.0/16",)).expect("visits");
            db.call("visited", ("::/0",)).expect("visits");
            db.call("moved", ("10.7.0.0/20", 5)).expect("moves");
            for (flags, name, price) in [
                ("1010", "1", "12.50"),
                ("1000", "", "$1,200"),
                ("0011", "01", "-3"),
                ("0011", "010", "7.005"),
            ] {
                db.call("add_item", (flags, name, price)).expect("adds");
            }
            let wrong = db.call("add_item", ("101", "1", "1")).expect_err("is too short");
            assert_eq!(wrong.sqlstate(), SqlState::STRING_DATA_LENGTH_MISMATCH);
            let wrong = db.call("add_item", ("1011", "101010101", "1")).expect_err("is too long");
            assert_eq!(wrong.sqlstate(), SqlState::STRING_DATA_RIGHT_TRUNCATION);
            db.call("mark_up", ("1000", 1.5)).expect("marks up");
            db.call("mark_up", ("0001", 0.5)).expect("marks up");
            db.execute("UPDATE host SET mac = mac | '00:00:00:f0:00:00' WHERE ip >>= '10.7.0.5'", ())
                .expect("changes");
        },
        &|db| {
            let one = |text: &str| db.query(text, ()).expect("rows")[0].get::<String>(0).expect("a text");
            assert_eq!(
                one("SELECT string_agg(concat_ws(' ', ip, net, mac, seen, ips), '; ' ORDER BY ip) FROM host"),
                "10.1.2.3 10.1.0.0/16 08:00:2b:01:02:03 1 {10.1.2.3,10.1.2.4}; \
                 10.1.9.9 10.1.0.0/16 08:00:2b:01:02:04 1 {10.1.9.9,10.1.9.10}; \
                 10.7.0.5/20 10.0.0.0/8 08:00:2b:f1:02:05 0 {10.7.0.0/20,10.7.0.1/20}; \
                 ::1 ::/16 08:00:2b:01:02:06 1 {::1,::2}; \
                 2001:db8::7/64 2001::/16 08:00:2b:01:02:07 1 {2001:db8::7/64,2001:db8::8/64}"
            );
            assert_eq!(
                one("SELECT string_agg(concat_ws(' ', net, ip, long), '; ' ORDER BY net, ip) FROM visit"),
                "10.1.0.0/16 10.1.2.3 08:00:2b:ff:fe:01:02:03; 10.1.0.0/16 10.1.9.9 08:00:2b:ff:fe:01:02:04; \
                 ::/16 ::1 08:00:2b:ff:fe:01:02:06; 2001::/16 2001:db8::7/64 08:00:2b:ff:fe:01:02:07"
            );
            assert_eq!(
                one(
                    "SELECT string_agg(concat_ws(' ', flags, name, price), '; ' ORDER BY flags, name) FROM item"
                ),
                ITEMS
            );
            assert_eq!(
                one("SELECT string_agg(name::text, ' ' ORDER BY price DESC) FROM item WHERE price > '0'"),
                BY_PRICE
            );
            // Keys are in force.
            for (refused, why) in [
                ("INSERT INTO host VALUES ('10.7.0.5/20', '::/0')", SqlState::UNIQUE_VIOLATION),
                ("INSERT INTO visit VALUES ('::/0', '10.1.2.4')", SqlState::FOREIGN_KEY_VIOLATION),
                ("INSERT INTO item VALUES (B'1010', B'11')", SqlState::UNIQUE_VIOLATION),
                ("DELETE FROM host WHERE ip = '::1'", SqlState::FOREIGN_KEY_VIOLATION),
            ] {
                assert_eq!(db.execute(refused, ()).expect_err(refused).sqlstate(), why, "{refused}");
            }
        },
    );
}
