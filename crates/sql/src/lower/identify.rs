//! `pg_identify_object`, as a query of the catalogs.

/// Types that have names of their own in SQL: the schema is not said with them.
const OF_SQL: &str = "'bit', 'bool', 'bpchar', 'float4', 'float8', 'int2', 'int4', 'int8', 'interval', 'numeric', 'time', \
                      'timetz', 'timestamp', 'timestamptz', 'varbit', 'varchar'";

/// The name of a type with its schema.
fn type_of(oid: &str) -> String {
    format!(
        "(SELECT CASE WHEN $n.nspname = 'pg_catalog' AND $t.typname IN ({OF_SQL})
                 THEN pg_catalog.format_type($t.oid, NULL)
                 ELSE pg_catalog.quote_ident($n.nspname) || '.' || pg_catalog.quote_ident($t.typname) END
                 || CASE WHEN $t.oid = $e.oid THEN '' ELSE '[]' END
          FROM pg_catalog.pg_type AS $e
          JOIN pg_catalog.pg_type AS $t ON $t.oid = CASE WHEN $e.typelem <> 0 AND $e.typlen = -1
                                                          AND $e.typname LIKE '\\_%' THEN $e.typelem ELSE $e.oid END
          JOIN pg_catalog.pg_namespace AS $n ON $n.oid = $t.typnamespace
          WHERE $e.oid = {oid})"
    )
}

/// The name of a relation with its schema.
fn relation(oid: &str) -> String {
    format!(
        "(SELECT pg_catalog.quote_ident($n.nspname) || '.' || pg_catalog.quote_ident($r.relname)
          FROM pg_catalog.pg_class AS $r JOIN pg_catalog.pg_namespace AS $n ON $n.oid = $r.relnamespace
          WHERE $r.oid = {oid})"
    )
}

/// An object that has a name of its own, and no schema: the relation of the catalogs, its OID, the column, the kind.
const NAMED: [(&str, u32, &str, &str); 6] = [
    ("pg_namespace", 2615, "nspname", "schema"),
    ("pg_authid", 1260, "rolname", "role"),
    ("pg_database", 1262, "datname", "database"),
    ("pg_extension", 3079, "extname", "extension"),
    ("pg_language", 2612, "lanname", "language"),
    ("pg_am", 2601, "amname", "access method"),
];

/// One in a schema, with a name.
const IN_SCHEMAS: [(&str, u32, &str, &str, &str); 2] = [
    ("pg_statistic_ext", 3381, "stxname", "stxnamespace", "statistics object"),
    ("pg_collation", 3456, "collname", "collnamespace", "collation"),
];

/// One of a relation: its name is no name by itself.
const OF_RELATIONS: [(&str, u32, &str, &str, &str); 3] = [
    ("pg_trigger", 2620, "tgname", "tgrelid", "trigger"),
    ("pg_policy", 3256, "polname", "polrelid", "policy"),
    ("pg_rewrite", 2618, "rulename", "ev_class", "rule"),
];

/// The query.
pub(super) fn object() -> String {
    let of_class = "SELECT CASE $k.relkind WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index'
                           WHEN 'I' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 'c' THEN 'composite type' WHEN 'f' THEN 'foreign table'
                           ELSE 'table' END || CASE WHEN $c = 0 THEN '' ELSE ' column' END AS $w,
                    pg_catalog.quote_ident($s.nspname) AS $x, pg_catalog.quote_ident($k.relname) AS $y,
                    pg_catalog.quote_ident($s.nspname) || '.' || pg_catalog.quote_ident($k.relname)
                    || CASE WHEN $c = 0 THEN '' ELSE (SELECT '.' || pg_catalog.quote_ident($l.attname)
                       FROM pg_catalog.pg_attribute AS $l WHERE $l.attrelid = $k.oid AND $l.attnum = $c) END AS $z
             FROM pg_catalog.pg_class AS $k JOIN pg_catalog.pg_namespace AS $s ON $s.oid = $k.relnamespace
             WHERE $a::pg_catalog.oid = 1259 AND $k.oid = $b::pg_catalog.oid";
    let mut all = vec![of_class.to_owned()];
    all.push(format!(
        "SELECT CASE $k.prokind WHEN 'p' THEN 'procedure' WHEN 'a' THEN 'aggregate' ELSE 'function' END,
                pg_catalog.quote_ident($s.nspname), NULL,
                pg_catalog.quote_ident($s.nspname) || '.' || pg_catalog.quote_ident($k.proname) || '('
                || pg_catalog.array_to_string(ARRAY(SELECT {} FROM pg_catalog.unnest($k.proargtypes) AS $u), ',') || ')'
         FROM pg_catalog.pg_proc AS $k JOIN pg_catalog.pg_namespace AS $s ON $s.oid = $k.pronamespace
         WHERE $a::pg_catalog.oid = 1255 AND $k.oid = $b::pg_catalog.oid",
        type_of("$u")
    ));
    all.push(format!(
        "SELECT 'type', pg_catalog.quote_ident($s.nspname), pg_catalog.quote_ident($k.typname), {}
         FROM pg_catalog.pg_type AS $k JOIN pg_catalog.pg_namespace AS $s ON $s.oid = $k.typnamespace
         WHERE $a::pg_catalog.oid = 1247 AND $k.oid = $b::pg_catalog.oid",
        type_of("$k.oid")
    ));
    all.push(format!(
        "SELECT CASE WHEN $k.conrelid = 0 THEN 'domain constraint' ELSE 'table constraint' END,
                pg_catalog.quote_ident($s.nspname), NULL,
                pg_catalog.quote_ident($k.conname) || ' on ' || CASE WHEN $k.conrelid = 0 THEN {} ELSE {} END
         FROM pg_catalog.pg_constraint AS $k JOIN pg_catalog.pg_namespace AS $s ON $s.oid = $k.connamespace
         WHERE $a::pg_catalog.oid = 2606 AND $k.oid = $b::pg_catalog.oid",
        type_of("$k.contypid"),
        relation("$k.conrelid")
    ));
    all.push(format!(
        "SELECT 'default value', NULL, NULL, 'for ' || {} || '.' || pg_catalog.quote_ident($l.attname)
         FROM pg_catalog.pg_attrdef AS $k
         JOIN pg_catalog.pg_attribute AS $l ON $l.attrelid = $k.adrelid AND $l.attnum = $k.adnum
         WHERE $a::pg_catalog.oid = 2604 AND $k.oid = $b::pg_catalog.oid",
        relation("$k.adrelid")
    ));
    all.push(format!(
        "SELECT 'cast', NULL, NULL, '(' || {} || ' AS ' || {} || ')' FROM pg_catalog.pg_cast AS $k
         WHERE $a::pg_catalog.oid = 2605 AND $k.oid = $b::pg_catalog.oid",
        type_of("$k.castsource"),
        type_of("$k.casttarget")
    ));
    for (from, class, name, kind) in NAMED {
        all.push(format!(
            "SELECT '{kind}', NULL, pg_catalog.quote_ident($k.{name}), pg_catalog.quote_ident($k.{name})
             FROM pg_catalog.{from} AS $k WHERE $a::pg_catalog.oid = {class} AND $k.oid = $b::pg_catalog.oid"
        ));
    }
    for (from, class, name, schema, kind) in IN_SCHEMAS {
        all.push(format!(
            "SELECT '{kind}', pg_catalog.quote_ident($s.nspname), pg_catalog.quote_ident($k.{name}),
                    pg_catalog.quote_ident($s.nspname) || '.' || pg_catalog.quote_ident($k.{name})
             FROM pg_catalog.{from} AS $k JOIN pg_catalog.pg_namespace AS $s ON $s.oid = $k.{schema}
             WHERE $a::pg_catalog.oid = {class} AND $k.oid = $b::pg_catalog.oid"
        ));
    }
    for (from, class, name, of, kind) in OF_RELATIONS {
        all.push(format!(
            "SELECT '{kind}', NULL, NULL, pg_catalog.quote_ident($k.{name}) || ' on ' || {}
             FROM pg_catalog.{from} AS $k WHERE $a::pg_catalog.oid = {class} AND $k.oid = $b::pg_catalog.oid",
            relation(&format!("$k.{of}"))
        ));
    }
    format!(
        "SELECT coalesce($o.$w, CASE $a::pg_catalog.oid WHEN 1259 THEN 'relation' WHEN 1255 THEN 'routine' WHEN 1247 THEN 'type'
                                WHEN 2606 THEN 'constraint' END) AS type,
                $o.$x AS schema, $o.$y AS name, $o.$z AS identity
         FROM (SELECT 0 AS $a, 0 AS $b, 0 AS $c) AS given, (SELECT 1) AS $h LEFT JOIN LATERAL ({}) AS $o ON true",
        all.join(" UNION ALL ")
    )
}
