//! Full-text search in procedures: how calls are logged, and what every scheme makes of that.

use crate::logged::{logged, replayed_by_all};

const SCHEMA: &str = "
    CREATE SEQUENCE s;
    CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL);
    CREATE TABLE doc (id int PRIMARY KEY, title text NOT NULL, body text NOT NULL, tsv tsvector
        GENERATED ALWAYS AS (setweight(to_tsvector('english', title), 'A') || to_tsvector('english', body)) STORED);
    CREATE TABLE hit (q tsquery, id int REFERENCES doc, line text, PRIMARY KEY (q, id));
    CREATE TABLE word (v tsvector PRIMARY KEY, langs regconfig[]);
    CREATE PROCEDURE put(p_id int, p_title text, p_body text) LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO doc VALUES (p_id, p_title, p_body);
    END $$;
    CREATE PROCEDURE find(p_words text) LANGUAGE plpgsql AS $$
    DECLARE
        asked tsquery := websearch_to_tsquery('english', p_words);
        one int;
    BEGIN
        FOR one IN SELECT id FROM doc WHERE tsv @@ asked ORDER BY id LOOP
            INSERT INTO hit SELECT asked, id, ts_headline('english', body, asked) FROM doc WHERE id = one;
        END LOOP;
    END $$;
    CREATE PROCEDURE learn(p_v tsvector, p_lang regconfig) LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO word VALUES (p_v || to_tsvector(p_lang, 'cats'), ARRAY[p_lang]);
    END $$;
    CREATE PROCEDURE by_setting(p_id int, p_title text) LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE doc SET body = to_tsvector(p_title)::text WHERE id = p_id;
    END $$;";

#[test]
fn calls_stay_calls_where_they_name_the_configuration() {
    let all = logged(&format!(
        "{SCHEMA} CALL put(1, 'Cats', 'The cats sat'); CALL find('cats'); CALL by_setting(1, 'Dogs');"
    ));
    let all: Vec<_> = all.iter().filter(|record| **record != "sequence").collect();
    let [put, find, by_setting] = all[all.len() - 3..] else { panic!("{all:?}") };
    assert!(put.ends_with("call") && find.ends_with("call") && !by_setting.ends_with("call"), "{all:?}");
}

#[test]
fn every_scheme_sees_the_same_rows() {
    replayed_by_all(
        SCHEMA,
        &|db| {
            for (id, title, body) in [
                (1, "Cats", "The cats sat on mats"),
                (2, "Dogs", "A dog runs after the cats, and cats run"),
                (3, "Birds", "Birds are well-known: see http://example.com/birds"),
            ] {
                db.call("put", (id, title, body)).expect("puts");
            }
            db.call("find", ("cats -dogs",)).expect("finds");
            db.call("find", ("\"after the cats\" or birds",)).expect("finds");
            db.execute("CALL learn('cat:3A', 'simple')", ()).expect("learns");
            db.execute("CALL learn('', 'english')", ()).expect("learns");
            let there = db.execute("CALL learn('', 'english')", ()).expect_err("is there");
            assert_eq!(there.sqlstate(), planaria::SqlState::UNIQUE_VIOLATION);
            db.call("by_setting", (1, "Dogs")).expect("changes");
        },
        &|db| {
            let one = |text: &str| db.query(text, ()).expect("rows")[0].get::<String>(0).expect("a text");
            assert_eq!(
                one("SELECT string_agg(concat_ws(' ', id, tsv), '; ' ORDER BY id) FROM doc"),
                "1 '1':3 'cat':1A 'dog':2; 2 'cat':7,9 'dog':1A,3 'run':4,10; 3 '/birds':10 'bird':1A,2 'example.com':9 \
                 'example.com/birds':8 'known':6 'see':7 'well':5 'well-known':4"
            );
            assert_eq!(
                one("SELECT string_agg(concat_ws(' ', q, id, line), '; ' ORDER BY q, id) FROM hit"),
                "'cat' | 'bird' 1 The <b>cats</b> sat on mats; 'cat' | 'bird' 2 A dog runs after the <b>cats</b>, and \
                 <b>cats</b> run; 'cat' | 'bird' 3 <b>Birds</b> are well-known: see http://example.com/birds; \
                 'cat' & !'dog' 1 The <b>cats</b> sat on mats"
            );
            assert_eq!(
                one("SELECT string_agg(concat_ws(' ', v, langs[1]::oid), '; ' ORDER BY v) FROM word"),
                "'cat':1 13164; 'cat':3A 'cats':4 3748"
            );
        },
    );
}
