//! A schema change as the log has it: who made it, and its text.
//!
//! | bytes | |
//! |---|---|
//! | 1 | the version of this form: 24 if the statement has a name of the database, as its client calls it; 23 else |
//! | n + 1 | name of the current user at the time, and a zero byte |
//! | n + 1 | name of the session's user, and a zero byte |
//! | n + 1 | where names were looked for, as numbers of schemas with commas between them, and a zero byte; the first has a `t` before it where it is the one of the session's temporary relations |
//! | the rest | the statement, UTF-8; passwords are replaced by their verifiers |
//!
//! Versions 22 and 21 are these two of before programs of routines had their fifth form, 20 and 19 of before they had their fourth,
//! 18 and 17 of before they had their third, 16 and 15 of before they had their second.
//! Versions 14 and 11 are 16 and 15 of before composite types were made with the default privileges of types.
//! Versions 8 and 7 are 14 and 11 of before programs of routines had forms, a row's partition was found before its BEFORE triggers
//! fire, and a row that moves to another partition was deleted and inserted for triggers: routines and triggers that they make go on
//! as they did, and a key that CREATE TABLE says twice, by two names, is two.
//! Versions 6 and 5 are 8 and 7 of before what RETURNING and ON CONFLICT ask of the table for each row was asked of it as
//! it was before the statement, and a row that a trigger's event does not have was NULL, not one of NULLs: routines and triggers
//! that they make go on so. Then, too, indexes without a name were called by less of their expressions.
//! Before version 6, a database that is not called `planaria` is another: what is said of it did nothing. Version 4 is of before
//! indexes that differ in parentheses alone were the same to a partition: one was made like each. Version 3 is of before indexes that are not made were remembered: its `CREATE INDEX .. USING gin` left nothing. Version 2 is
//! version 3 without the schemas, for names that were looked for in `public` alone. Of version 1, which is otherwise like
//! version 2, are those of before tables kept intervals whole.
//!
//! A later version is refused; none is 9, 10, 12 or 13, with which a text can begin. What begins with a character that a text can begin with is the statement
//! alone: logs from before there were roles. It was the first superuser's, and its OWNER TO named nobody.

use planaria_base::{Error, Result, SchemaId, SqlState};
use planaria_catalog::{Catalog, SearchPath};
use planaria_sql::ddl::Actor;

const VERSION: u8 = 24;
/// The database has its own name.
const OWN_NAME: u8 = 23;
/// Programs of routines had their fourth form. So they had in a 21, where the database has its own name.
const FOURTH_FORM: u8 = 22;
const FOURTH_FORM_OWN_NAME: u8 = 21;
/// Programs of routines had their third form. So they had in a 19, where the database has its own name.
const THIRD_FORM: u8 = 20;
const THIRD_FORM_OWN_NAME: u8 = 19;
/// Programs of routines had their second form. So they had in a 17, where the database has its own name.
const SECOND_FORM: u8 = 18;
const SECOND_FORM_OWN_NAME: u8 = 17;
/// Programs of routines had their first form. So they had in a 15, where the database has its own name.
const FIRST_FORM: u8 = 16;
const FIRST_FORM_OWN_NAME: u8 = 15;
/// Composite types were made without the default privileges of types. So they were in an 11, where the database has its own name.
const PLAIN_COMPOSITES: u8 = 14;
const PLAIN_COMPOSITES_OWN_NAME: u8 = 11;
/// Routines had no forms, and the partition of a row was found behind its BEFORE triggers: so it was in a 7, where the database has
/// its own name.
const BEFORE_FORMS: u8 = 8;
/// What RETURNING asked of the table saw what the statement had changed so far, and a row that a trigger's event does not have
/// was one of NULLs. So it was in a 5, where the database has its own name.
const READ_AFTER: u8 = 6;
/// Indexes of partitions were held against those of their tables by their texts.
const BY_TEXT: u8 = 4;
/// Indexes that are not made were forgotten.
const FORGETFUL: u8 = 3;
/// Names were looked for in `public`, too.
const FROM_HOME: u8 = 2;
/// Tables of before keep intervals in 8 bytes.
const BEFORE_INTERVALS: u8 = 1;

/// See the module's head.
pub(crate) struct SchemaChange<'t> {
    users: Option<[&'t str; 2]>,
    before_intervals: bool,
    forgets_indexes: bool,
    any_database: bool,
    indexes_by_text: bool,
    in_former_ways: bool,
    form: u8,
    routes_late: bool,
    plain_composites: bool,
    path: Option<&'t str>,
    pub(crate) text: &'t str,
}

impl<'t> SchemaChange<'t> {
    /// Reads a logged change; XX001 where it is none.
    pub(crate) fn decode(bytes: &'t [u8]) -> Result<SchemaChange<'t>> {
        let no_text = |_| Error::new(SqlState::DATA_CORRUPTED, "a logged schema change is not text");
        let (bytes, version) = match bytes.split_first() {
            Some((
                &version @ (BEFORE_INTERVALS..=BEFORE_FORMS
                | PLAIN_COMPOSITES_OWN_NAME
                | PLAIN_COMPOSITES
                | FIRST_FORM_OWN_NAME
                | FIRST_FORM
                | SECOND_FORM_OWN_NAME
                | SECOND_FORM
                | THIRD_FORM_OWN_NAME
                | THIRD_FORM
                | FOURTH_FORM_OWN_NAME
                | FOURTH_FORM
                | OWN_NAME
                | VERSION),
                rest,
            )) => (rest, version),
            Some((&version, _)) if version.is_ascii_control() && !version.is_ascii_whitespace() => {
                return Err(Error::unsupported(
                    format!(
                        "a logged schema change has form {version}, this program reads forms up to {VERSION}"
                    ),
                    "Open the database with the version of Planaria that wrote it.",
                ));
            }
            _ => {
                let text = std::str::from_utf8(bytes).map_err(no_text)?;
                return Ok(SchemaChange {
                    users: None,
                    before_intervals: true,
                    forgets_indexes: true,
                    any_database: false,
                    indexes_by_text: true,
                    in_former_ways: true,
                    form: 0,
                    routes_late: true,
                    plain_composites: true,
                    path: None,
                    text,
                });
            }
        };
        let (count, before_intervals) = (3 + usize::from(version > FROM_HOME), version == BEFORE_INTERVALS);
        let forgets_indexes = version <= FORGETFUL;
        let any_database = matches!(
            version,
            VERSION
                | FOURTH_FORM
                | THIRD_FORM
                | SECOND_FORM
                | FIRST_FORM
                | PLAIN_COMPOSITES
                | BEFORE_FORMS
                | READ_AFTER
        );
        let (indexes_by_text, in_former_ways) = (version <= BY_TEXT, version <= READ_AFTER);
        let routes_late = version <= BEFORE_FORMS;
        let parts: Vec<&str> = std::str::from_utf8(bytes).map_err(no_text)?.splitn(count, '\0').collect();
        let (users, path, text) = match (version, &parts[..]) {
            (FORGETFUL..=VERSION, [user, session_user, path, text]) => {
                ([*user, *session_user], Some(*path), *text)
            }
            (BEFORE_INTERVALS | FROM_HOME, [user, session_user, text]) => {
                ([*user, *session_user], None, *text)
            }
            _ => {
                let message = "a logged schema change does not say whose it was";
                return Err(Error::new(SqlState::DATA_CORRUPTED, message));
            }
        };
        let users = Some(users);
        Ok(SchemaChange {
            users,
            before_intervals,
            forgets_indexes,
            any_database,
            indexes_by_text,
            in_former_ways,
            form: [BEFORE_FORMS, FIRST_FORM, SECOND_FORM, THIRD_FORM, FOURTH_FORM]
                .map(|last| u8::from(version > last))
                .iter()
                .sum(),
            routes_late,
            plain_composites: version <= PLAIN_COMPOSITES,
            path,
            text,
        })
    }

    /// Where names were looked for that say no schema.
    pub(crate) fn path(&self) -> Result<SearchPath> {
        let Some(path) = self.path else { return Ok(SearchPath::default()) };
        let wrong = || {
            let message = "a logged schema change does not say where it looked for names";
            Error::new(SqlState::DATA_CORRUPTED, message)
        };
        let (mut schemas, mut temporary) = (Vec::new(), None);
        for id in path.split(',').filter(|id| !id.is_empty()) {
            let own = id.strip_prefix('t');
            let number = SchemaId(own.unwrap_or(id).parse().map_err(|_| wrong())?);
            match own {
                Some(_) => temporary = Some(number),
                None => schemas.push(number),
            }
        }
        let path = SearchPath::new(schemas);
        Ok(temporary.map_or(path.clone(), |temporary| path.with_temporary(temporary)))
    }

    /// Who made it, in the catalog as it was then.
    pub(crate) fn actor(&self, catalog: &Catalog) -> Result<Actor> {
        let Some([user, session_user]) = self.users else {
            let actor = Actor::default();
            let internal = true;
            return Ok(Actor {
                before_roles: true,
                before_intervals: true,
                forgets_indexes: true,
                indexes_by_text: true,
                rows_of_nulls: true,
                former_labels: true,
                reads_after: true,
                form: 0,
                routes_late: true,
                plain_composites: true,
                checks_bodies: false,
                internal,
                ..actor
            });
        };
        let id = |name: &str| {
            catalog.role(name).map(|r| r.id).ok_or_else(|| {
                let message = format!("the log has a schema change of role \"{name}\", which does not exist");
                Error::new(SqlState::DATA_CORRUPTED, message)
            })
        };
        let (before_intervals, forgets_indexes) = (self.before_intervals, self.forgets_indexes);
        let (user, session_user) = (id(user)?, id(session_user)?);
        let (before_roles, checks_bodies, internal) = (false, false, true);
        Ok(Actor {
            user,
            session_user,
            before_roles,
            before_intervals,
            forgets_indexes,
            checks_bodies,
            any_database: self.any_database,
            indexes_by_text: self.indexes_by_text,
            rows_of_nulls: self.in_former_ways,
            former_labels: self.in_former_ways,
            reads_after: self.in_former_ways,
            form: self.form,
            routes_late: self.routes_late,
            plain_composites: self.plain_composites,
            internal,
        })
    }
}

/// A change for the log.
pub(crate) fn encode(catalog: &Catalog, actor: Actor, path: &SearchPath, text: &str) -> Vec<u8> {
    let (user, session_user) = (catalog.role_name(actor.user), catalog.role_name(actor.session_user));
    let mut bytes = vec![if actor.any_database { VERSION } else { OWN_NAME }];
    for part in [&user, &session_user] {
        bytes.extend(part.as_bytes());
        bytes.push(0);
    }
    let temporary = |id: &SchemaId| if path.temporary() == Some(*id) { "t" } else { "" };
    let schemas = path.schemas().iter().map(|id| format!("{}{}", temporary(id), id.0));
    let schemas: Vec<String> = schemas.collect();
    bytes.extend(schemas.join(",").as_bytes());
    bytes.push(0);
    bytes.extend(text.as_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_comes_back() {
        let catalog = Catalog::default();
        let path = |ids: &[u32]| SearchPath::new(ids.iter().copied().map(SchemaId));
        let temporary = path(&[0, 2]).with_temporary(SchemaId(7));
        for path in [path(&[0]), path(&[2, 0]), path(&[]), temporary] {
            let bytes = encode(&catalog, Actor::default(), &path, "CREATE TABLE \u{e4} (a int)");
            let change = SchemaChange::decode(&bytes).expect("decodes");
            assert_eq!(change.text, "CREATE TABLE \u{e4} (a int)");
            assert_eq!(change.path().expect("numbers"), path);
            // Bodies were looked at then, if they were.
            let actor = Actor { checks_bodies: false, internal: true, ..Actor::default() };
            assert_eq!(change.actor(&catalog).expect("known"), actor);
            assert_eq!(bytes[0], OWN_NAME);
        }
        let other = Actor { any_database: true, ..Actor::default() };
        let bytes = encode(&catalog, other, &path(&[0]), "COMMENT ON DATABASE shop IS 'x'");
        let change = SchemaChange::decode(&bytes).expect("decodes");
        assert!(bytes[0] == VERSION && change.actor(&catalog).expect("known").any_database);
    }

    #[test]
    fn a_change_from_before_roles_is_the_superusers() {
        let change = SchemaChange::decode(b"DROP TABLE t").expect("decodes");
        assert_eq!(change.text, "DROP TABLE t");
        assert!(change.actor(&Catalog::default()).expect("known").before_roles);
    }

    #[test]
    fn earlier_forms_forget_indexes() {
        for bytes in
            [&b"\x02postgres\0postgres\0CREATE INDEX"[..], b"\x03postgres\0postgres\x002\0CREATE INDEX"]
        {
            let change = SchemaChange::decode(bytes).expect("decodes");
            assert!(change.actor(&Catalog::default()).expect("known").forgets_indexes);
            assert_eq!(change.text, "CREATE INDEX");
            assert!(change.actor(&Catalog::default()).expect("known").indexes_by_text);
        }
    }

    #[test]
    fn routines_and_triggers_of_earlier_forms_go_on_as_they_did() {
        for (version, any_database) in [
            (BEFORE_FORMS, true),
            (BEFORE_FORMS - 1, false),
            (READ_AFTER, true),
            (READ_AFTER - 1, false),
            (BY_TEXT, false),
        ] {
            let mut bytes = vec![version];
            bytes.extend(b"postgres\0postgres\x002\0CREATE PROCEDURE");
            let change = SchemaChange::decode(&bytes).expect("decodes");
            let actor = change.actor(&Catalog::default()).expect("known");
            let former = version <= READ_AFTER;
            assert_eq!(
                (actor.reads_after, actor.rows_of_nulls, actor.former_labels),
                (former, former, former)
            );
            assert!(actor.routes_late);
            assert_eq!(actor.form, 0);
            assert_eq!((actor.any_database, actor.indexes_by_text), (any_database, version == BY_TEXT));
        }
    }

    #[test]
    fn programs_of_before_forms_have_the_first() {
        for (version, any_database) in [(BEFORE_FORMS, true), (BEFORE_FORMS - 1, false)] {
            let mut bytes = vec![version];
            bytes.extend(b"postgres\0postgres\x000\0CREATE PROCEDURE");
            let actor =
                SchemaChange::decode(&bytes).and_then(|c| c.actor(&Catalog::default())).expect("known");
            assert_eq!((actor.form, actor.any_database, actor.reads_after), (0, any_database, false));
        }
    }

    #[test]
    fn composite_types_of_earlier_forms_have_no_default_privileges() {
        for (version, plain, any_database, form) in [
            (PLAIN_COMPOSITES, true, true, 1),
            (PLAIN_COMPOSITES_OWN_NAME, true, false, 1),
            (FIRST_FORM, false, true, 1),
            (FIRST_FORM_OWN_NAME, false, false, 1),
            (SECOND_FORM, false, true, 2),
            (SECOND_FORM_OWN_NAME, false, false, 2),
            (THIRD_FORM, false, true, 3),
            (THIRD_FORM_OWN_NAME, false, false, 3),
            (FOURTH_FORM, false, true, 4),
            (FOURTH_FORM_OWN_NAME, false, false, 4),
            (VERSION, false, true, 5),
            (OWN_NAME, false, false, 5),
        ] {
            let mut bytes = vec![version];
            bytes.extend(b"postgres\0postgres\x000\0CREATE TYPE");
            let actor =
                SchemaChange::decode(&bytes).and_then(|c| c.actor(&Catalog::default())).expect("known");
            assert_eq!((actor.plain_composites, actor.any_database, actor.form), (plain, any_database, form));
        }
    }

    #[test]
    fn a_later_form_is_refused_by_name() {
        for version in [25, 31] {
            let bytes = [&[version][..], b"postgres\0DROP TABLE t"].concat();
            let error = SchemaChange::decode(&bytes).err().expect("refused");
            assert_eq!(error.sqlstate(), SqlState::FEATURE_NOT_SUPPORTED);
            assert!(error.message().contains(&format!("form {version}")), "{error}");
        }
    }

    #[test]
    fn damage_is_an_error() {
        for bytes in [&b"\x01postgres"[..], b"\x01nobody\0nobody\0DROP TABLE t", b"\xff\xfe"] {
            let outcome = SchemaChange::decode(bytes).and_then(|c| c.actor(&Catalog::default()));
            assert_eq!(outcome.expect_err("refused").sqlstate(), SqlState::DATA_CORRUPTED);
        }
    }
}
