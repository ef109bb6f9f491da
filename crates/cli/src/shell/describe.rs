//! `\d` and its family: questions to the catalogs, and answers that look as psql's do.

use super::client::{Client, Failure};
use crate::table::{Column, Style, Table};

/// What is printed.
pub struct Listing {
    title: String,
    table: Table,
    /// Below the table; without, how many rows it has.
    footers: Option<Vec<String>>,
}

impl Listing {
    pub fn print(&self, style: &Style) -> String {
        self.table.print(style, Some(&self.title), self.footers.as_deref())
    }
}

/// What is asked for: a pattern, and what letters behind the command add.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    pub pattern: &'a str,
    /// `S`: what is the system's, too.
    pub system: bool,
    /// `+`: more about each.
    pub more: bool,
}

/// A condition that a name, and that of its schema, match a pattern: `*` is anything, `?` a character, capitals count between
/// double quotes.
fn matches(pattern: &str, schema: &str, name: &str) -> String {
    let (mut parts, mut quoted) = (vec![String::new()], false);
    for c in pattern.chars() {
        match c {
            '"' => {
                quoted = !quoted;
                continue;
            }
            '.' if !quoted => parts.push(String::new()),
            _ => {}
        }
        let last = parts.len() - 1;
        let part = &mut parts[last];
        match c {
            '.' if !quoted => {}
            '*' if !quoted => part.push_str(".*"),
            '?' if !quoted => part.push('.'),
            c if r"\^$.|()[]{}*+?".contains(c) => part.extend(['\\', c]),
            c if quoted => part.push(c),
            c => part.extend(c.to_lowercase()),
        }
    }
    let is = |column: &str, part: &String| format!("{column} ~ {}", quote(&format!("^({part})$")));
    match parts.as_slice() {
        [.., of_schema, of_name] => format!("{} AND {}", is(schema, of_schema), is(name, of_name)),
        [of_name] => is(name, of_name),
        [] => "true".to_owned(),
    }
}

/// A text as SQL has it.
pub fn quote(text: &str) -> String {
    let doubled = text.replace('\'', "''");
    if text.contains('\\') { format!("E'{}'", doubled.replace('\\', "\\\\")) } else { format!("'{doubled}'") }
}

const NOT_SYSTEM: &str = "n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema'";

/// `\dt`, `\di`, `\dv`, `\dm`, `\ds`, or several kinds at once.
pub fn relations(client: &mut Client, kinds: &str, asked: Asked) -> Result<Option<Listing>, Failure> {
    let letters: Vec<String> = kinds
        .chars()
        .flat_map(|kind| match kind {
            't' => "rp".chars(),
            'v' => "v".chars(),
            'm' => "m".chars(),
            'i' => "i".chars(),
            _ => "S".chars(),
        })
        .map(|kind| quote(kind.to_string().as_str()))
        .collect();
    let (of_index, joins) = match kinds {
        "i" => (
            ", c2.relname AS \"Table\"",
            "LEFT JOIN pg_catalog.pg_index i ON i.indexrelid = c.oid
             LEFT JOIN pg_catalog.pg_class c2 ON i.indrelid = c2.oid",
        ),
        _ => ("", ""),
    };
    let which = found_by(asked, "c.relname", "pg_catalog.pg_table_is_visible(c.oid)");
    let more = match asked.more {
        true => {
            ", pg_catalog.pg_size_pretty(pg_catalog.pg_table_size(c.oid)) AS \"Size\",
            pg_catalog.obj_description(c.oid, 'pg_class') AS \"Description\""
        }
        false => "",
    };
    let table = client.query(&format!(
        "SELECT n.nspname AS \"Schema\", c.relname AS \"Name\",
            CASE c.relkind WHEN 'r' THEN 'table' WHEN 'p' THEN 'partitioned table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view'
                WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' END AS \"Type\",
            pg_catalog.pg_get_userbyid(c.relowner) AS \"Owner\"{of_index}{more}
         FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace {joins}
         WHERE c.relkind IN ({}) AND {which} ORDER BY 1, 2",
        letters.join(", ").replace("'S'", if kinds.contains('s') { "'S'" } else { "''" })
    ))?;
    if table.rows.is_empty() {
        return Ok(None);
    }
    Ok(Some(Listing { title: "List of relations".to_owned(), table, footers: None }))
}

/// `\df`
pub fn functions(client: &mut Client, asked: Asked) -> Result<Listing, Failure> {
    let which = found_by(asked, "p.proname", "pg_catalog.pg_function_is_visible(p.oid)");
    let more = match asked.more {
        true => {
            ", CASE p.provolatile WHEN 'i' THEN 'immutable' WHEN 's' THEN 'stable' ELSE 'volatile' END AS \"Volatility\",
            pg_catalog.pg_get_userbyid(p.proowner) AS \"Owner\",
            CASE WHEN p.prosecdef THEN 'definer' ELSE 'invoker' END AS \"Security\",
            l.lanname AS \"Language\", p.prosrc AS \"Source code\",
            pg_catalog.obj_description(p.oid, 'pg_proc') AS \"Description\""
        }
        false => "",
    };
    let table = client.query(&format!(
        "SELECT n.nspname AS \"Schema\", p.proname AS \"Name\",
            pg_catalog.pg_get_function_result(p.oid) AS \"Result data type\",
            pg_catalog.pg_get_function_arguments(p.oid) AS \"Argument data types\",
            CASE p.prokind WHEN 'a' THEN 'agg' WHEN 'w' THEN 'window' WHEN 'p' THEN 'proc' ELSE 'func' END AS \"Type\"{more}
         FROM pg_catalog.pg_proc p LEFT JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
         LEFT JOIN pg_catalog.pg_language l ON l.oid = p.prolang
         WHERE {which} ORDER BY 1, 2, 4"
    ))?;
    Ok(Listing { title: "List of functions".to_owned(), table, footers: None })
}

/// What is found of objects in schemas: without a pattern, what needs no schema to be named and is not the system's.
fn found_by(asked: Asked, name: &str, visible: &str) -> String {
    match asked.pattern {
        "" if asked.system => visible.to_owned(),
        "" => format!("{NOT_SYSTEM} AND {visible}"),
        pattern if pattern.contains('.') => matches(pattern, "n.nspname", name),
        pattern => format!("{} AND {visible}", matches(pattern, "n.nspname", name)),
    }
}

/// `\dT`
pub fn types(client: &mut Client, asked: Asked) -> Result<Listing, Failure> {
    let which = found_by(asked, "t.typname", "pg_catalog.pg_type_is_visible(t.oid)");
    let table = client.query(&format!(
        "SELECT n.nspname AS \"Schema\", pg_catalog.format_type(t.oid, NULL) AS \"Name\",
            pg_catalog.obj_description(t.oid, 'pg_type') AS \"Description\"
         FROM pg_catalog.pg_type t LEFT JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
         LEFT JOIN pg_catalog.pg_class c ON c.oid = t.typrelid
         WHERE coalesce(c.relkind = 'c', true) AND t.typcategory <> 'A' AND {which} ORDER BY 1, 2"
    ))?;
    Ok(Listing { title: "List of data types".to_owned(), table, footers: None })
}

/// `\dD`
pub fn domains(client: &mut Client, asked: Asked) -> Result<Listing, Failure> {
    let which = found_by(asked, "t.typname", "pg_catalog.pg_type_is_visible(t.oid)");
    let table = client.query(&format!(
        "SELECT n.nspname AS \"Schema\", t.typname AS \"Name\",
            pg_catalog.format_type(t.typbasetype, t.typtypmod) AS \"Type\", CAST(NULL AS text) AS \"Collation\",
            CASE WHEN t.typnotnull THEN 'not null' END AS \"Nullable\", t.typdefault AS \"Default\",
            (SELECT string_agg(pg_catalog.pg_get_constraintdef(k.oid, true), ' ' ORDER BY k.conname)
             FROM pg_catalog.pg_constraint k WHERE k.contypid = t.oid) AS \"Check\"
         FROM pg_catalog.pg_type t LEFT JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
         WHERE t.typtype = 'd' AND {which} ORDER BY 1, 2"
    ))?;
    Ok(Listing { title: "List of domains".to_owned(), table, footers: None })
}

/// `\dx`
pub fn extensions(client: &mut Client, asked: Asked) -> Result<Listing, Failure> {
    let which = match asked.pattern {
        "" => "true".to_owned(),
        pattern => matches(pattern, "n.nspname", "e.extname"),
    };
    let table = client.query(&format!(
        "SELECT e.extname AS \"Name\", e.extversion AS \"Version\", n.nspname AS \"Schema\",
            coalesce(d.description, a.comment) AS \"Description\"
         FROM pg_catalog.pg_extension e LEFT JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace
         LEFT JOIN pg_catalog.pg_available_extensions a ON a.name = e.extname
         LEFT JOIN pg_catalog.pg_description d
            ON d.objoid = e.oid AND d.classoid = 'pg_catalog.pg_extension'::regclass
         WHERE {which} ORDER BY 1"
    ))?;
    Ok(Listing { title: "List of installed extensions".to_owned(), table, footers: None })
}

/// `\dp`, `\z`
pub fn privileges(client: &mut Client, asked: Asked) -> Result<Listing, Failure> {
    let which = found_by(asked, "c.relname", "pg_catalog.pg_table_is_visible(c.oid)");
    let table = client.query(&format!(
        "SELECT n.nspname AS \"Schema\", c.relname AS \"Name\",
            CASE c.relkind WHEN 'r' THEN 'table' WHEN 'p' THEN 'partitioned table' WHEN 'v' THEN 'view'
                WHEN 'm' THEN 'materialized view' WHEN 'S' THEN 'sequence' END AS \"Type\",
            pg_catalog.array_to_string(c.relacl, E'\\n') AS \"Access privileges\",
            (SELECT string_agg(a.attname || E':\\n  ' || pg_catalog.array_to_string(a.attacl, E'\\n  '), E'\\n'
                               ORDER BY a.attnum)
             FROM pg_catalog.pg_attribute a
             WHERE a.attrelid = c.oid AND NOT a.attisdropped AND a.attacl IS NOT NULL) AS \"Column privileges\",
            (SELECT string_agg(p.polname || CASE WHEN p.polpermissive THEN '' ELSE ' (RESTRICTIVE)' END
                               || CASE p.polcmd WHEN '*' THEN ':' ELSE ' (' || p.polcmd || '):' END
                               || coalesce(E'\\n  (u): ' || pg_catalog.pg_get_expr(p.polqual, p.polrelid), '')
                               || coalesce(E'\\n  (c): ' || pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid), '')
                               || coalesce(E'\\n  to: ' || (SELECT string_agg(r.rolname, ', ' ORDER BY r.rolname)
                                   FROM pg_catalog.pg_roles r WHERE r.oid = ANY (p.polroles)), ''),
                               E'\\n' ORDER BY p.polname)
             FROM pg_catalog.pg_policy p WHERE p.polrelid = c.oid) AS \"Policies\"
         FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
         WHERE c.relkind IN ('r', 'p', 'v', 'm', 'S') AND {which} ORDER BY 1, 2"
    ))?;
    Ok(Listing { title: "Access privileges".to_owned(), table, footers: None })
}

/// `\sf NAME`, `\sv NAME`: the statement that makes a function, or a view; or why there is none.
pub fn source(client: &mut Client, command: &str, name: &str) -> Result<Result<String, String>, Failure> {
    let name = name.trim().trim_end_matches(';');
    let found = match command {
        "sf" => {
            let kind = if name.contains('(') { "regprocedure" } else { "regproc" };
            client.query(&format!("SELECT pg_catalog.pg_get_functiondef({}::{kind}::oid), ''", quote(name)))?
        }
        _ => client.query(&format!(
            "SELECT CASE c.relkind WHEN 'v' THEN 'CREATE OR REPLACE VIEW ' || pg_catalog.quote_ident(n.nspname) || '.'
                || pg_catalog.quote_ident(c.relname) || E' AS\\n' || rtrim(pg_catalog.pg_get_viewdef(c.oid, true), ';') END,
                n.nspname || '.' || c.relname
             FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
             WHERE c.oid = {}::regclass",
            quote(name)
        ))?,
    };
    let mut cells = found.rows.into_iter().next().unwrap_or_default().into_iter().flatten();
    Ok(match (cells.next(), cells.next()) {
        (Some(text), Some(_)) if text.ends_with('\n') => Ok(text),
        (Some(text), Some(_)) => Ok(text + "\n"),
        (name, _) => Err(format!("\"{}\" is not a view", name.unwrap_or_default())),
    })
}

/// `\dn`
pub fn schemas(client: &mut Client, pattern: &str) -> Result<Listing, Failure> {
    let which = match pattern {
        "" => "n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'".to_owned(),
        pattern => matches(pattern, "n.nspname", "n.nspname"),
    };
    let table = client.query(&format!(
        "SELECT n.nspname AS \"Name\", pg_catalog.pg_get_userbyid(n.nspowner) AS \"Owner\"
         FROM pg_catalog.pg_namespace n WHERE {which} ORDER BY 1"
    ))?;
    Ok(Listing { title: "List of schemas".to_owned(), table, footers: None })
}

/// `\l`
pub fn databases(client: &mut Client) -> Result<Listing, Failure> {
    let table = client.query(
        "SELECT d.datname AS \"Name\", pg_catalog.pg_get_userbyid(d.datdba) AS \"Owner\",
            pg_catalog.pg_encoding_to_char(d.encoding) AS \"Encoding\", d.datcollate AS \"Collate\",
            d.datctype AS \"Ctype\", pg_catalog.array_to_string(d.datacl, E'\\n') AS \"Access privileges\"
         FROM pg_catalog.pg_database d ORDER BY 1",
    )?;
    Ok(Listing { title: "List of databases".to_owned(), table, footers: None })
}

/// `\du`
pub fn roles(client: &mut Client, pattern: &str) -> Result<Listing, Failure> {
    let which = match pattern {
        "" => "r.rolname !~ '^pg_'".to_owned(),
        pattern => matches(pattern, "r.rolname", "r.rolname"),
    };
    let found = client.query(&format!(
        "SELECT r.rolname, r.rolsuper, r.rolinherit, r.rolcreaterole, r.rolcreatedb, r.rolcanlogin,
            r.rolreplication, r.rolbypassrls, r.rolconnlimit, r.rolvaliduntil,
            ARRAY(SELECT b.rolname FROM pg_catalog.pg_auth_members m
                  JOIN pg_catalog.pg_roles b ON m.roleid = b.oid WHERE m.member = r.oid ORDER BY 1) AS memberof
         FROM pg_catalog.pg_roles r WHERE {which} ORDER BY 1"
    ))?;
    let text = |row: &[Option<String>], i: usize| row[i].clone().unwrap_or_default();
    let rows = found.rows.iter().map(|row| {
        let words = [
            (1, "t", "Superuser"),
            (2, "f", "No inheritance"),
            (3, "t", "Create role"),
            (4, "t", "Create DB"),
            (5, "f", "Cannot login"),
            (6, "t", "Replication"),
            (7, "t", "Bypass RLS"),
        ];
        let said = words.iter().filter(|(i, when, _)| text(row, *i) == *when).map(|(_, _, word)| *word);
        let mut attributes = said.collect::<Vec<_>>().join(", ");
        match text(row, 8).as_str() {
            "-1" => {}
            "0" => attributes += "\nNo connections",
            "1" => attributes += "\n1 connection",
            n => attributes += &format!("\n{n} connections"),
        }
        if let Some(until) = &row[9] {
            attributes += &format!("\nPassword valid until {until}");
        }
        vec![row[0].clone(), Some(attributes.trim_start().to_owned()), row[10].clone()]
    });
    let columns = ["Role name", "Attributes", "Member of"];
    let columns = columns.map(|name| Column { name: name.to_owned(), right: false }).to_vec();
    let table = Table { columns, rows: rows.collect() };
    Ok(Listing { title: "List of roles".to_owned(), table, footers: Some(Vec::new()) })
}

/// `\d NAME`: each relation that matches.
pub fn relation(client: &mut Client, Asked { pattern, more, .. }: Asked) -> Result<Vec<Listing>, Failure> {
    let visible = if pattern.contains('.') { "" } else { "AND pg_catalog.pg_table_is_visible(c.oid)" };
    let found = client.query(&format!(
        "SELECT c.oid, n.nspname, c.relname, c.relkind FROM pg_catalog.pg_class c
         LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
         WHERE {} {visible} ORDER BY 2, 3",
        matches(pattern, "n.nspname", "c.relname")
    ))?;
    let mut listings = Vec::new();
    for row in found.rows {
        let [Some(oid), Some(schema), Some(name), Some(kind)] = &row[..] else { continue };
        let named = format!("\"{schema}.{name}\"");
        listings.push(match kind.as_str() {
            "S" => sequence(client, oid, &named)?,
            "i" => index(client, oid, &named)?,
            kind => columns(client, oid, &named, kind, more)?,
        });
    }
    Ok(listings)
}

fn sequence(client: &mut Client, oid: &str, named: &str) -> Result<Listing, Failure> {
    let table = client.query(&format!(
        "SELECT pg_catalog.format_type(seqtypid, NULL) AS \"Type\", seqstart AS \"Start\", seqmin AS \"Minimum\",
            seqmax AS \"Maximum\", seqincrement AS \"Increment\",
            CASE WHEN seqcycle THEN 'yes' ELSE 'no' END AS \"Cycles?\", seqcache AS \"Cache\"
         FROM pg_catalog.pg_sequence WHERE seqrelid = {oid}"
    ))?;
    let owner = client.query(&format!(
        "SELECT CASE d.deptype WHEN 'i' THEN 'Sequence for identity column: ' ELSE 'Owned by: ' END
            || pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname) || '.'
            || pg_catalog.quote_ident(a.attname)
         FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_class c ON c.oid = d.refobjid
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
         JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.refobjsubid
         WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.refclassid = 'pg_catalog.pg_class'::regclass
            AND d.objid = {oid} AND d.deptype IN ('a', 'i')"
    ))?;
    Ok(Listing { title: format!("Sequence {named}"), table, footers: Some(texts(owner)) })
}

fn index(client: &mut Client, oid: &str, named: &str) -> Result<Listing, Failure> {
    let table = client.query(&format!(
        "SELECT a.attname AS \"Column\", pg_catalog.format_type(a.atttypid, a.atttypmod) AS \"Type\",
            CASE WHEN a.attnum <= i.indnkeyatts THEN 'yes' ELSE 'no' END AS \"Key?\",
            pg_catalog.pg_get_indexdef(i.indexrelid, a.attnum, true) AS \"Definition\"
         FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_index i ON i.indexrelid = a.attrelid
         WHERE a.attrelid = {oid} AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"
    ))?;
    let about = client.query(&format!(
        "SELECT CASE WHEN i.indisprimary THEN 'primary key, ' WHEN i.indisunique THEN 'unique, ' ELSE '' END
            || 'btree, for table \"' || n.nspname || '.' || c.relname || '\"'
            || coalesce(', predicate (' || pg_catalog.pg_get_expr(i.indpred, i.indrelid) || ')', '')
         FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indrelid
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE i.indexrelid = {oid}"
    ))?;
    Ok(Listing { title: format!("Index {named}"), table, footers: Some(texts(about)) })
}

/// The first column.
fn texts(table: Table) -> Vec<String> {
    table.rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect()
}

/// The policies of a table, as psql has them; nothing where there are none and none are asked for.
fn policies(client: &mut Client, oid: &str) -> Result<Vec<String>, Failure> {
    let lines = texts(client.query(&format!(
        "SELECT 'POLICY \"' || polname || '\"' || CASE WHEN polpermissive THEN '' ELSE ' AS RESTRICTIVE' END
            || CASE polcmd WHEN 'r' THEN ' FOR SELECT' WHEN 'a' THEN ' FOR INSERT' WHEN 'w' THEN ' FOR UPDATE'
                           WHEN 'd' THEN ' FOR DELETE' ELSE '' END
            || coalesce(E'\\n      TO ' || (SELECT string_agg(rolname, ',' ORDER BY rolname)
                                          FROM pg_catalog.pg_roles r WHERE r.oid = ANY (polroles)), '')
            || coalesce(E'\\n      USING (' || pg_catalog.pg_get_expr(polqual, polrelid) || ')', '')
            || coalesce(E'\\n      WITH CHECK (' || pg_catalog.pg_get_expr(polwithcheck, polrelid) || ')', '')
         FROM pg_catalog.pg_policy WHERE polrelid = {oid} ORDER BY polname"
    ))?);
    let state = texts(client.query(&format!(
        "SELECT CASE WHEN NOT relrowsecurity THEN 'disabled' WHEN relforcerowsecurity THEN 'forced' ELSE 'enabled' END
         FROM pg_catalog.pg_class WHERE oid = {oid}"
    ))?);
    let head = match (state.first().map(String::as_str), lines.is_empty()) {
        (Some("enabled"), false) => "Policies:",
        (Some("enabled"), true) => "Policies (row security enabled): (none)",
        (Some("forced"), false) => "Policies (forced row security enabled):",
        (Some("forced"), true) => "Policies (forced row security enabled): (none)",
        (_, false) => "Policies (row security disabled):",
        (_, true) => return Ok(Vec::new()),
    };
    let mut all = vec![head.to_owned()];
    all.extend(lines.iter().flat_map(|text| text.lines().enumerate()).map(|(at, line)| match at {
        0 => format!("    {line}"),
        _ => line.to_owned(),
    }));
    Ok(all)
}

fn columns(client: &mut Client, oid: &str, named: &str, kind: &str, more: bool) -> Result<Listing, Failure> {
    let (what, is_table) = match kind {
        "v" => ("View", false),
        "m" => ("Materialized view", true),
        "c" => ("Composite type", false),
        "p" => ("Partitioned table", true),
        _ => ("Table", true),
    };
    let described = match more {
        true => {
            ", CASE a.attstorage WHEN 'p' THEN 'plain' WHEN 'm' THEN 'main' WHEN 'x' THEN 'extended'
                ELSE 'external' END AS \"Storage\",
            pg_catalog.col_description(a.attrelid, a.attnum) AS \"Description\""
        }
        false => "",
    };
    let table = client.query(&format!(
        "SELECT a.attname AS \"Column\", pg_catalog.format_type(a.atttypid, a.atttypmod) AS \"Type\",
            CAST(NULL AS text) AS \"Collation\", CASE WHEN a.attnotnull THEN 'not null' ELSE '' END AS \"Nullable\",
            CASE WHEN a.attidentity = 'a' THEN 'generated always as identity'
                WHEN a.attidentity = 'd' THEN 'generated by default as identity'
                WHEN a.attgenerated = 's' THEN
                    'generated always as (' || pg_catalog.pg_get_expr(d.adbin, d.adrelid) || ') stored'
                ELSE pg_catalog.pg_get_expr(d.adbin, d.adrelid) END AS \"Default\"{described}
         FROM pg_catalog.pg_attribute a
         LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
         WHERE a.attrelid = {oid} AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"
    ))?;
    let mut footers = Vec::new();
    if more {
        let definition = texts(client.query(&format!(
            "SELECT pg_catalog.pg_get_viewdef(c.oid, true) FROM pg_catalog.pg_class c
             WHERE c.oid = {oid} AND c.relkind IN ('v', 'm')"
        ))?);
        if !definition.is_empty() {
            footers.push("View definition:".to_owned());
            footers.extend(definition.iter().flat_map(|text| text.lines()).map(str::to_owned));
        }
    }
    if is_table {
        // What it is a part of, and by what it is divided.
        footers.extend(texts(client.query(&format!(
            "SELECT 'Partition of: ' || i.inhparent::regclass || ' ' || pg_catalog.pg_get_expr(c.relpartbound, c.oid)
             FROM pg_catalog.pg_class c JOIN pg_catalog.pg_inherits i ON i.inhrelid = c.oid
             WHERE c.oid = {oid} AND c.relispartition
             UNION ALL
             SELECT 'Partition key: ' || pg_catalog.pg_get_partkeydef(c.oid)
             FROM pg_catalog.pg_class c WHERE c.oid = {oid} AND c.relkind = 'p'"
        ))?));
        let sections = [
            (
                "Indexes:",
                format!(
                    "SELECT '\"' || c2.relname || '\"'
                        || CASE WHEN i.indisprimary THEN ' PRIMARY KEY,' WHEN con.contype = 'u' THEN
                            ' UNIQUE CONSTRAINT,' WHEN i.indisunique THEN ' UNIQUE,' ELSE '' END || ' '
                        || substr(pg_catalog.pg_get_indexdef(i.indexrelid, 0, true),
                                  strpos(pg_catalog.pg_get_indexdef(i.indexrelid, 0, true), ' USING ') + 7)
                        || CASE WHEN con.condeferrable THEN ' DEFERRABLE' ELSE '' END
                        || CASE WHEN con.condeferred THEN ' INITIALLY DEFERRED' ELSE '' END
                     FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c2 ON c2.oid = i.indexrelid
                     LEFT JOIN pg_catalog.pg_constraint con
                        ON con.conrelid = i.indrelid AND con.conindid = i.indexrelid AND con.contype IN ('p', 'u', 'x')
                     WHERE i.indrelid = {oid} ORDER BY i.indisprimary DESC, c2.relname"
                ),
            ),
            (
                "Check constraints:",
                format!(
                    "SELECT '\"' || conname || '\" ' || pg_catalog.pg_get_constraintdef(oid, true)
                     FROM pg_catalog.pg_constraint WHERE conrelid = {oid} AND contype = 'c' ORDER BY conname"
                ),
            ),
            (
                "Foreign-key constraints:",
                format!(
                    "SELECT '\"' || conname || '\" ' || pg_catalog.pg_get_constraintdef(oid, true)
                     FROM pg_catalog.pg_constraint WHERE conrelid = {oid} AND contype = 'f' ORDER BY conname"
                ),
            ),
            (
                "Referenced by:",
                format!(
                    "SELECT 'TABLE \"' || c.relname || '\" CONSTRAINT \"' || k.conname || '\" '
                        || pg_catalog.pg_get_constraintdef(k.oid, true)
                     FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_class c ON c.oid = k.conrelid
                     WHERE k.confrelid = {oid} AND k.contype = 'f' ORDER BY k.conname"
                ),
            ),
        ];
        for (head, query) in sections {
            let lines = texts(client.query(&query)?);
            if !lines.is_empty() {
                footers.push(head.to_owned());
                footers.extend(lines.into_iter().map(|line| format!("    {line}")));
            }
        }
        footers.extend(policies(client, oid)?);
        let triggers = client.query(&format!(
            "SELECT pg_catalog.pg_get_triggerdef(oid, true) FROM pg_catalog.pg_trigger
             WHERE tgrelid = {oid} AND NOT tgisinternal ORDER BY tgname"
        ))?;
        let lines = texts(triggers);
        if !lines.is_empty() {
            footers.push("Triggers:".to_owned());
            let short = |line: &String| {
                line.split_once(" TRIGGER ").map_or(line.clone(), |(_, rest)| rest.to_owned())
            };
            footers.extend(lines.iter().map(|line| format!("    {}", short(line))));
        }
        let partitions = texts(client.query(&format!(
            "SELECT c.oid::regclass || ' ' || pg_catalog.pg_get_expr(c.relpartbound, c.oid)
                || CASE WHEN c.relkind = 'p' THEN ', PARTITIONED' ELSE '' END
             FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid
             WHERE i.inhparent = {oid} AND c.relispartition
             ORDER BY pg_catalog.pg_get_expr(c.relpartbound, c.oid) = 'DEFAULT', c.oid::regclass::text"
        ))?);
        if more && !partitions.is_empty() {
            // Aligned with the first.
            footers.push(format!("Partitions: {}", partitions.join(",\n            ")));
        } else if kind == "p" {
            let hint = if partitions.is_empty() { "" } else { " (Use \\d+ to list them.)" };
            footers.push(format!("Number of partitions: {}{hint}", partitions.len()));
        }
    }
    Ok(Listing { title: format!("{what} {named}"), table, footers: Some(footers) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_psqls() {
        let condition = |pattern| matches(pattern, "s", "n");
        assert_eq!(condition("Ab*"), "n ~ '^(ab.*)$'");
        assert_eq!(condition("x?.\"Y.\"z"), "s ~ '^(x.)$' AND n ~ E'^(Y\\\\.z)$'");
        assert_eq!(condition("a'b"), "n ~ '^(a''b)$'");
    }
}
