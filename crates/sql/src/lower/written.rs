//! Functions that are queries: their texts, with the arguments of a call put in.

use super::json::{EVEN, GIVEN, ITEM, KEYS, PAIR_AT, TEXTS, VALUES};
use super::search::{POSITIONS, WEIGHTS};
use planaria_base::{Error, Result};
use planaria_syntax::ast::{Expr, ExprKind, FunctionCall, Query, QueryBody, TableRef};

/// The channels that the session listens to, as an array.
pub(super) const CHANNELS: &str = "channels of session";

/// A relation with its partitions (`tree`), or with those that it is a partition of, as an array.
pub(super) const PARTITIONS: &str = "partitions of relation";

/// `unnest` of a `tsvector`.
pub(super) const OF_VECTOR: &str = "lexemes of vector";

/// The name of a result that has that of its function.
pub(super) const FOUND: &str = "found";

/// Functions that former versions did not have: one of somebody's own by such a name goes on to be meant, since logs have
/// calls of it.
pub(super) const LATER: &[&str] = &[
    "aclexplode",
    "current_query",
    "oidvectortypes",
    "pg_current_xact_id",
    "pg_identify_object",
    "pg_relation_filenode",
    "pg_sequence_last_value",
    "pg_sequence_parameters",
    "pg_sleep_for",
    "pg_sleep_until",
    "setseed",
    "timeofday",
];

/// A function that returns rows; `None` where a call means none of these.
pub(super) fn rows(name: &str, call: &FunctionCall, position: u32) -> Result<Option<Query>> {
    let text = match (name, call.args.len()) {
        ("regexp_split_to_table", 2 | 3) => {
            "SELECT pg_catalog.unnest(pg_catalog.regexp_split_to_array($a, $b, $c)) AS found
             FROM (SELECT '' AS $a, '' AS $b, '' AS $c) AS given"
                .to_owned()
        }
        ("citext regexp_matches" | "citext regexp_split_to_table", 2 | 3) => {
            let function = name.trim_start_matches("citext ");
            format!(
                "SELECT pg_catalog.{function}($a::pg_catalog.text, $b::pg_catalog.text,
                            CASE WHEN pg_catalog.strpos($c, 'c') = 0 THEN $c || 'i' ELSE $c END) AS found
                 FROM (SELECT '' AS $a, '' AS $b, '' AS $c) AS given"
            )
        }
        // Parts of equal length of an array that has them all, one behind the other.
        ("regexp_matches", 2 | 3) => {
            "SELECT $f[($i - 1) * (cardinality($f) / $n) + 1 : $i * (cardinality($f) / $n)] AS found
             FROM (SELECT '' AS $a, '' AS $b, '' AS $c) AS given,
                  LATERAL (SELECT \"regexp all\"($a, $b, $c) AS $f, \"regexp all count\"($a, $b, $c) AS $n) AS matches,
                  pg_catalog.generate_series(1, $n) AS $i"
                .to_owned()
        }
        ("json_each" | "jsonb_each" | "json_each_text" | "jsonb_each_text", 1) => {
            let values = if name.ends_with("text") { TEXTS } else { VALUES };
            format!(
                "SELECT pg_catalog.unnest(\"{KEYS}\"($a, '{name}')) AS key,
                        pg_catalog.unnest(\"{values}\"($a, '{name}')) AS value
                 FROM (SELECT \"{GIVEN}\"('', '{name}') AS $a) AS given"
            )
        }
        ("string_to_table", 2) => {
            "SELECT pg_catalog.unnest(pg_catalog.string_to_array($a, $b)) AS found
             FROM (SELECT '' AS $a, '' AS $b) AS given"
                .to_owned()
        }
        ("string_to_table", 3) => {
            "SELECT pg_catalog.unnest(pg_catalog.string_to_array($a, $b, $c)) AS found
             FROM (SELECT '' AS $a, '' AS $b, '' AS $c) AS given"
                .to_owned()
        }
        (OF_VECTOR, 1) => {
            format!(
                "SELECT $l AS lexeme, \"{POSITIONS}\"($a, $l) AS positions, \"{WEIGHTS}\"($a, $l) AS weights
                 FROM (SELECT NULL::pg_catalog.tsvector AS $a) AS given,
                      pg_catalog.unnest(pg_catalog.tsvector_to_array($a)) AS $l"
            )
        }
        ("pg_listening_channels", 0) => {
            format!("SELECT pg_catalog.unnest(\"{CHANNELS}\"()) AS found FROM (SELECT 1) AS given")
        }
        ("pg_partition_tree", 1) => {
            format!(
                "SELECT $p AS relid,
                        (SELECT $i.inhparent::pg_catalog.regclass FROM pg_catalog.pg_inherits AS $i
                         WHERE $i.inhrelid = $p) AS parentrelid,
                        (SELECT $c.relkind NOT IN ('p', 'I') FROM pg_catalog.pg_class AS $c WHERE $c.oid = $p) AS isleaf,
                        pg_catalog.cardinality(\"{PARTITIONS}\"($p, 'ancestors'::text))
                        - pg_catalog.cardinality(\"{PARTITIONS}\"($a, 'ancestors'::text)) AS level
                 FROM (SELECT NULL::pg_catalog.regclass AS $a) AS given,
                      pg_catalog.unnest(\"{PARTITIONS}\"($a, 'tree'::text)) AS $p"
            )
        }
        ("pg_sequence_parameters", 1) => {
            "SELECT $s.seqstart AS start_value, $s.seqmin AS minimum_value, $s.seqmax AS maximum_value,
                    $s.seqincrement AS increment, $s.seqcycle AS cycle_option, $s.seqcache AS cache_size,
                    $s.seqtypid AS data_type
             FROM (SELECT NULL::pg_catalog.regclass AS $a) AS given, pg_catalog.pg_sequence AS $s
             WHERE $s.seqrelid = $a::pg_catalog.regclass"
                .to_owned()
        }
        // The letters of a privilege, each with a star behind it where it may be granted.
        ("aclexplode", 1) => {
            "SELECT coalesce((SELECT $r.oid FROM pg_catalog.pg_authid AS $r WHERE $r.rolname = $p[3]), 0::oid) AS grantor,
                    coalesce((SELECT $r.oid FROM pg_catalog.pg_authid AS $r WHERE $r.rolname = $p[1]), 0::oid) AS grantee,
                    CASE pg_catalog.substr($p[2], $n, 1)
                        WHEN 'a' THEN 'INSERT' WHEN 'r' THEN 'SELECT' WHEN 'w' THEN 'UPDATE' WHEN 'd' THEN 'DELETE'
                        WHEN 'D' THEN 'TRUNCATE' WHEN 'x' THEN 'REFERENCES' WHEN 't' THEN 'TRIGGER'
                        WHEN 'X' THEN 'EXECUTE' WHEN 'U' THEN 'USAGE' WHEN 'C' THEN 'CREATE' WHEN 'T' THEN 'TEMPORARY'
                        WHEN 'c' THEN 'CONNECT' WHEN 's' THEN 'SET' WHEN 'A' THEN 'ALTER SYSTEM'
                    END AS privilege_type,
                    pg_catalog.substr($p[2], $n + 1, 1) = '*' AS is_grantable
             FROM (SELECT NULL::aclitem[] AS $a) AS given, pg_catalog.unnest($a::aclitem[]) AS $i,
                  LATERAL (SELECT ARRAY(
                      SELECT CASE WHEN $q LIKE '\"%'
                             THEN pg_catalog.replace(pg_catalog.substr($q, 2, pg_catalog.length($q) - 2), '\"\"', '\"')
                             ELSE $q END
                      FROM pg_catalog.unnest(pg_catalog.regexp_match(
                          $i::text, '^(\"(?:[^\"]|\"\")*\"|[^=]*)=([^/]*)/(.*)')) AS $q) AS $p) AS parts,
                  pg_catalog.generate_series(1, pg_catalog.length($p[2])) AS $n
             WHERE pg_catalog.substr($p[2], $n, 1) <> '*'"
                .to_owned()
        }
        ("pg_identify_object", 3) => super::identify::object(),
        ("pg_options_to_table", 1) => {
            "SELECT pg_catalog.split_part($o, '=', 1) AS option_name,
                    pg_catalog.substr($o, pg_catalog.strpos($o, '=') + 1) AS option_value
             FROM (SELECT NULL::text[] AS $a) AS given, pg_catalog.unnest($a) AS $o"
                .to_owned()
        }
        _ => return Ok(None),
    };
    filled(&text, call, position).map(Some)
}

/// The rows with their numbers, of WITH ORDINALITY.
pub(super) fn numbered(rows: Query) -> Result<Query> {
    let text = "SELECT *, pg_catalog.row_number() OVER () AS ordinality FROM (SELECT 1) AS given";
    let mut query = planaria_syntax::parse::query(text)?;
    if let QueryBody::Select(select) = &mut query.body
        && let Some(TableRef::Derived { query, .. }) = select.from.first_mut()
    {
        **query = rows;
    }
    Ok(query)
}

/// The same of one that returns a value.
pub(super) fn value(name: &str, call: &FunctionCall, position: u32) -> Result<Option<Query>> {
    let text = match (name, call.args.len()) {
        // What an object's owner and everybody may do with it, as long as nobody has granted anything.
        ("acldefault", 2) => {
            "SELECT CASE $t::\"char\"
                 WHEN 'c' THEN '{}'
                 WHEN 'r' THEN ARRAY[$r || '=arwdDxt/' || $r]
                 WHEN 's' THEN ARRAY[$r || '=rwU/' || $r]
                 WHEN 'd' THEN ARRAY['=Tc/' || $r, $r || '=CTc/' || $r]
                 WHEN 'f' THEN ARRAY['=X/' || $r, $r || '=X/' || $r]
                 WHEN 'l' THEN ARRAY['=U/' || $r, $r || '=U/' || $r]
                 WHEN 'T' THEN ARRAY['=U/' || $r, $r || '=U/' || $r]
                 WHEN 'L' THEN ARRAY[$r || '=rw/' || $r]
                 WHEN 'n' THEN ARRAY[$r || '=UC/' || $r]
                 WHEN 't' THEN ARRAY[$r || '=C/' || $r]
                 WHEN 'F' THEN ARRAY[$r || '=U/' || $r]
                 WHEN 'S' THEN ARRAY[$r || '=U/' || $r]
                 WHEN 'p' THEN ARRAY[$r || '=sA/' || $r]
             END::pg_catalog.aclitem[] AS acldefault
             FROM (SELECT '' AS $t, 0 AS $o) AS given,
                  LATERAL (SELECT pg_catalog.quote_ident(pg_catalog.pg_get_userbyid($o::pg_catalog.oid)::text) AS $r) AS role"
        }
        ("oidvectortypes", 1) => {
            "SELECT pg_catalog.array_to_string(
                        ARRAY(SELECT pg_catalog.format_type($t, NULL) FROM pg_catalog.unnest($a) AS $t), ', ')
                        AS oidvectortypes
             FROM (SELECT NULL::pg_catalog.oidvector AS $a) AS given"
        }
        ("pg_sequence_last_value", 1) => {
            "SELECT (SELECT $s.last_value FROM pg_catalog.pg_sequences AS $s
                     WHERE pg_catalog.format('%I.%I', $s.schemaname, $s.sequencename)::pg_catalog.regclass = $a::pg_catalog.regclass)
                     AS pg_sequence_last_value
             FROM (SELECT NULL::pg_catalog.regclass AS $a) AS given"
        }
        ("current_query", 0) => {
            "SELECT (SELECT $s.query FROM pg_catalog.pg_stat_activity AS $s WHERE $s.pid = pg_catalog.pg_backend_pid())
                    AS current_query
             FROM (SELECT 1) AS given"
        }
        ("pg_current_xact_id", 0) => {
            "SELECT pg_catalog.txid_current() AS pg_current_xact_id FROM (SELECT 1) AS given"
        }
        ("pg_relation_filenode", 1) => {
            "SELECT (SELECT $c.relfilenode FROM pg_catalog.pg_class AS $c WHERE $c.oid = $a::pg_catalog.regclass AND $c.relfilenode <> 0)
                    AS pg_relation_filenode
             FROM (SELECT NULL::pg_catalog.regclass AS $a) AS given"
        }
        ("pg_sleep_for", 1) => {
            "SELECT pg_catalog.pg_sleep(pg_catalog.date_part('epoch', $a::interval)) AS pg_sleep_for
             FROM (SELECT NULL::interval AS $a) AS given"
        }
        ("pg_sleep_until", 1) => {
            "SELECT pg_catalog.pg_sleep(pg_catalog.date_part('epoch', $a::timestamptz) -
                                        pg_catalog.date_part('epoch', pg_catalog.clock_timestamp())) AS pg_sleep_until
             FROM (SELECT NULL::timestamptz AS $a) AS given"
        }
        ("timeofday", 0) => {
            "SELECT pg_catalog.to_char(pg_catalog.clock_timestamp(), 'Dy Mon DD HH24:MI:SS.US YYYY TZ') AS timeofday
             FROM (SELECT 1) AS given"
        }
        ("pg_partition_root", 1) => {
            return filled(
                &format!(
                    "SELECT \"{PARTITIONS}\"($a, 'ancestors'::text)[
                                pg_catalog.cardinality(\"{PARTITIONS}\"($a, 'ancestors'::text))] AS pg_partition_root
                     FROM (SELECT NULL::pg_catalog.regclass AS $a) AS given"
                ),
                call,
                position,
            )
            .map(Some);
        }
        // A label without a type is one of the other's.
        ("enum_range", 2) if call.args.iter().any(|a| matches!(a.value.kind, ExprKind::String(_))) => {
            let mut typed = call.clone();
            for at in 0..2 {
                let other = call.args[1 - at].value.clone();
                let position = call.args[at].value.position;
                let arg = &mut typed.args[at].value;
                match arg.kind {
                    ExprKind::String(_) if !matches!(other.kind, ExprKind::String(_)) => {
                        let both = vec![arg.clone(), other];
                        *arg = Expr { kind: ExprKind::Coalesce(both), position };
                    }
                    _ => {}
                }
            }
            return filled(ENUM_RANGE, &typed, position).map(Some);
        }
        // An end that is NULL is none. A bare NULL does not even say of which type.
        ("enum_range", 2) => match [0, 1].map(|i| matches!(call.args[i].value.kind, ExprKind::Null)) {
            [true, _] => {
                "SELECT ARRAY(SELECT $v FROM pg_catalog.unnest(pg_catalog.enum_range($b)) AS $v
                              WHERE $b IS NULL OR $v <= $b ORDER BY $v) AS enum_range
                 FROM (SELECT NULL AS $a, NULL AS $b) AS given"
            }
            [false, true] => {
                "SELECT ARRAY(SELECT $v FROM pg_catalog.unnest(pg_catalog.enum_range($a)) AS $v
                              WHERE $a IS NULL OR $v >= $a ORDER BY $v) AS enum_range
                 FROM (SELECT NULL AS $a, NULL AS $b) AS given"
            }
            [false, false] => ENUM_RANGE,
        },
        _ => return Ok(None),
    };
    filled(text, call, position).map(Some)
}

/// The same of `VARIADIC array`: objects and arrays of JSON made of its elements.
pub(super) fn of_array(name: &str, call: &FunctionCall, position: u32) -> Result<Option<Query>> {
    let (ty, sign) = if name.starts_with("jsonb") { ("jsonb", "-") } else { ("json", "") };
    let text = match name {
        "json_build_array" | "jsonb_build_array" => format!(
            "SELECT CASE WHEN $a IS NOT NULL THEN (
                 '[' || coalesce((SELECT pg_catalog.string_agg(\"{ITEM}\"($e), ', ' ORDER BY $i)
                                  FROM pg_catalog.unnest($a) WITH ORDINALITY AS u($e, $i)), '') || ']'
             )::pg_catalog.{ty} END AS {name}
             FROM (SELECT NULL AS $a) AS given"
        ),
        "json_build_object" | "jsonb_build_object" => format!(
            "SELECT CASE WHEN $a IS NOT NULL THEN (
                 \"{EVEN}\"(pg_catalog.cardinality($l), {sign}{max}) || '{{' || coalesce((
                     SELECT pg_catalog.string_agg(\"{PAIR_AT}\"({sign}(2 * $i - 1), $l[2 * $i - 1], $l[2 * $i]), ', ' ORDER BY $i)
                     FROM pg_catalog.generate_series(1, pg_catalog.cardinality($l) / 2) AS $i), '') || '}}'
             )::pg_catalog.{ty} END AS {name}
             FROM (SELECT NULL AS $a) AS given, LATERAL (SELECT ARRAY(SELECT pg_catalog.unnest($a)) AS $l) AS flat",
            max = i64::MAX
        ),
        "num_nulls" | "num_nonnulls" => {
            let not = if name == "num_nulls" { "" } else { "NOT " };
            format!(
                "SELECT CASE WHEN $a IS NOT NULL THEN (
                     SELECT pg_catalog.count(*) FROM pg_catalog.unnest($a) AS $e WHERE $e IS {not}NULL
                 )::int4 END AS {name}
                 FROM (SELECT NULL AS $a) AS given"
            )
        }
        _ => return Ok(None),
    };
    filled(&text, call, position).map(Some)
}

/// `enum_range` from one label to another.
const ENUM_RANGE: &str =
    "SELECT ARRAY(SELECT $v FROM pg_catalog.unnest(pg_catalog.enum_range(coalesce($a, $b))) AS $v
                  WHERE ($a IS NULL OR $v >= $a) AND ($b IS NULL OR $v <= $b) ORDER BY $v) AS enum_range
     FROM (SELECT NULL AS $a, NULL AS $b) AS given";

/// The text with its own names: what follows a `$`. They have a blank, so that no variable around the call is one of them.
fn named(text: &str) -> String {
    let mut parts = text.split('$');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(part.len());
        out.push_str(&format!("\"our {}\"{}", &part[..end], &part[end..]));
    }
    out
}

/// A query with the arguments in the place of what the first of its FROM items selects.
pub(super) fn filled(text: &str, call: &FunctionCall, position: u32) -> Result<Query> {
    let mut query = planaria_syntax::parse::query(&named(text)).map_err(|e| e.at(position))?;
    let given = match &mut query.body {
        QueryBody::Select(select) => match select.from.first_mut() {
            Some(TableRef::Derived { query, .. }) => match &mut query.body {
                QueryBody::Select(given) => Some(&mut given.items),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    };
    let given = given.ok_or_else(|| Error::internal("a query of our own"))?;
    for (item, arg) in given.iter_mut().zip(&call.args) {
        // A call that says of which type an argument is stays around it.
        match &mut item.expr.kind {
            ExprKind::Call(around) => around.args[0].value = arg.value.clone(),
            _ => item.expr = arg.value.clone(),
        }
    }
    Ok(query)
}
