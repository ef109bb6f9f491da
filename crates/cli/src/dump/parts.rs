//! Keys, indexes, triggers, policies and comments.

use super::objects::{Object, Objects, PG_CLASS, PG_NAMESPACE, PG_TYPE, class};
use super::source::{Source, literal};
use planaria::Result;
use std::collections::{HashMap, HashSet};

/// What tables get when their rows are there.
#[derive(Default)]
pub struct Keys {
    pub keys: Vec<String>,
    pub indexes: Vec<String>,
    /// Those of materialized views, which come behind them.
    pub of_views: Vec<String>,
    pub foreign: Vec<String>,
}

/// Reads them.
pub fn keys(source: &mut Source, relations: &HashMap<u32, String>, owners: bool) -> Result<Keys> {
    let mut keys = Keys::default();
    // Those of a partitioned table before those of its partitions.
    let query = "SELECT k.conrelid, quote_ident(k.conname), k.contype, pg_get_constraintdef(k.oid), c.relkind
                 FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
                 WHERE k.contype IN ('p', 'u', 'x', 'f') OR k.contype = 'c' AND NOT k.convalidated
                 ORDER BY CASE WHEN c.relispartition THEN (SELECT count(*) FROM pg_partition_ancestors(c.oid)) ELSE 0 END,
                   n.nspname, c.relname, k.contype, k.conname";
    for row in source.rows(query)? {
        let Some(table) = relations.get(&row.oid(0)) else { continue };
        let only = if (row.text(2), row.text(4)) == ("f", "p") { "" } else { "ONLY " };
        let statement = format!("ALTER TABLE {only}{table} ADD CONSTRAINT {} {};", row.text(1), row.text(3));
        match row.text(2) {
            "p" | "u" | "x" => keys.keys.push(statement),
            _ => keys.foreign.push(statement),
        }
    }
    let query = "SELECT i.indrelid, pg_get_indexdef(i.indexrelid, 0, true),
                        (SELECT r.relkind FROM pg_class r WHERE r.oid = i.indrelid)
                 FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
                 WHERE NOT EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conindid = i.indexrelid AND k.contype IN ('p', 'u', 'x'))
                 ORDER BY CASE WHEN c.relispartition THEN (SELECT count(*) FROM pg_partition_ancestors(i.indrelid)) ELSE 0 END,
                   n.nspname, c.relname";
    for row in source.rows(query)?.iter().filter(|row| relations.contains_key(&row.oid(0))) {
        let list = if row.text(2) == "m" { &mut keys.of_views } else { &mut keys.indexes };
        list.push(format!("{};", row.text(1)));
    }
    let query = "SELECT i.indrelid, quote_ident(pn.nspname) || '.' || quote_ident(p.relname),
                        quote_ident(n.nspname) || '.' || quote_ident(c.relname)
                 FROM pg_inherits h JOIN pg_index i ON i.indexrelid = h.inhrelid JOIN pg_class c ON c.oid = h.inhrelid
                 JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_class p ON p.oid = h.inhparent
                 JOIN pg_namespace pn ON pn.oid = p.relnamespace ORDER BY pn.nspname, p.relname, n.nspname, c.relname";
    for row in source.rows(query)?.iter().filter(|row| relations.contains_key(&row.oid(0))) {
        keys.indexes.push(format!("ALTER INDEX {} ATTACH PARTITION {};", row.text(1), row.text(2)));
    }
    let query = "SELECT i.indrelid, quote_ident(c.relname), (SELECT r.relkind FROM pg_class r WHERE r.oid = i.indrelid)
                 FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
                 WHERE i.indisclustered ORDER BY n.nspname, c.relname";
    for row in source.rows(query)? {
        let Some(table) = relations.get(&row.oid(0)) else { continue };
        let list = if row.text(2) == "m" { &mut keys.of_views } else { &mut keys.indexes };
        list.push(format!("ALTER TABLE {table} CLUSTER ON {};", row.text(1)));
    }
    let query = "SELECT s.stxrelid, pg_get_statisticsobjdef(s.oid), quote_ident(n.nspname) || '.' || quote_ident(s.stxname),
                        s.stxstattarget, pg_get_userbyid(s.stxowner) <> pg_get_userbyid(c.relowner), quote_ident(pg_get_userbyid(s.stxowner)),
                        quote_literal(obj_description(s.oid, 'pg_statistic_ext'))
                 FROM pg_statistic_ext s JOIN pg_namespace n ON n.oid = s.stxnamespace JOIN pg_class c ON c.oid = s.stxrelid
                 ORDER BY n.nspname, s.stxname";
    for row in source.rows(query)?.iter().filter(|row| relations.contains_key(&row.oid(0))) {
        keys.indexes.push(format!("{};", row.text(1)));
        if row.text(3) != "-1" {
            keys.indexes.push(format!("ALTER STATISTICS {} SET STATISTICS {};", row.text(2), row.text(3)));
        }
        if owners && row.is(4) {
            keys.indexes.push(format!("ALTER STATISTICS {} OWNER TO {};", row.text(2), row.text(5)));
        }
        if !row.text(6).is_empty() {
            keys.indexes.push(format!("COMMENT ON STATISTICS {} IS {};", row.text(2), row.text(6)));
        }
    }
    Ok(keys)
}

/// Objects as statements, each conversion of users behind the types that it is between.
pub fn with_casts(source: &mut Source, objects: &[&Object]) -> Result<Vec<String>> {
    let query = "SELECT format_type(castsource, NULL), format_type(casttarget, NULL), castcontext, castsource, casttarget
                 FROM pg_cast WHERE oid >= 16384 ORDER BY oid";
    let mut casts = source.rows(query)?;
    let (mut all, mut there) = (Vec::new(), HashSet::new());
    for object in objects {
        all.push(object.text());
        if class(object.kind) != PG_TYPE {
            continue;
        }
        there.insert(object.oid);
        casts.retain(|row| {
            if ![3, 4].into_iter().all(|at| row.oid(at) < 16384 || there.contains(&row.oid(at))) {
                return true;
            }
            let context = match row.text(2) {
                "i" => " AS IMPLICIT",
                "a" => " AS ASSIGNMENT",
                _ => "",
            };
            all.push(format!("CREATE CAST ({} AS {}) WITH INOUT{context};", row.text(0), row.text(1)));
            false
        });
    }
    Ok(all)
}

/// Triggers, and whether they fire.
pub fn triggers(source: &mut Source, relations: &HashMap<u32, String>) -> Result<Vec<String>> {
    let query = "SELECT g.tgrelid, pg_get_triggerdef(g.oid), g.tgenabled, quote_ident(g.tgname)
                 FROM pg_trigger g JOIN pg_class c ON c.oid = g.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
                 WHERE NOT g.tgisinternal ORDER BY n.nspname, c.relname, g.tgname";
    let mut statements = Vec::new();
    for row in source.rows(query)? {
        let Some(table) = relations.get(&row.oid(0)) else { continue };
        statements.push(format!("{};", row.text(1)));
        let state = match row.text(2) {
            "D" => "DISABLE",
            "R" => "ENABLE REPLICA",
            "A" => "ENABLE ALWAYS",
            _ => continue,
        };
        statements.push(format!("ALTER TABLE {table} {state} TRIGGER {};", row.text(3)));
    }
    Ok(statements)
}

/// Policies, and of which tables they hold.
pub fn policies(source: &mut Source, relations: &HashMap<u32, String>) -> Result<Vec<String>> {
    let query = "SELECT p.polrelid, quote_ident(p.polname),
                   CASE WHEN p.polpermissive THEN '' ELSE ' AS RESTRICTIVE' END
                   || CASE p.polcmd WHEN 'r' THEN ' FOR SELECT' WHEN 'a' THEN ' FOR INSERT' WHEN 'w' THEN ' FOR UPDATE'
                                    WHEN 'd' THEN ' FOR DELETE' ELSE '' END
                   || coalesce(' TO ' || (SELECT string_agg(quote_ident(a.rolname), ', ' ORDER BY a.rolname)
                                          FROM pg_roles a WHERE a.oid = ANY (p.polroles)), '')
                   || coalesce(' USING (' || pg_get_expr(p.polqual, p.polrelid) || ')', '')
                   || coalesce(' WITH CHECK (' || pg_get_expr(p.polwithcheck, p.polrelid) || ')', '')
                 FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid JOIN pg_namespace n ON n.oid = c.relnamespace
                 ORDER BY n.nspname, c.relname, p.polname";
    let mut statements = Vec::new();
    for row in source.rows(query)? {
        let Some(table) = relations.get(&row.oid(0)) else { continue };
        statements.push(format!("CREATE POLICY {} ON {table}{};", row.text(1), row.text(2)));
    }
    let query = "SELECT c.oid, x.words FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace,
                   LATERAL (VALUES (c.relrowsecurity, 'ENABLE'), (c.relforcerowsecurity, 'FORCE')) x (is_so, words)
                 WHERE x.is_so ORDER BY n.nspname, c.relname, x.words";
    for row in source.rows(query)? {
        let Some(table) = relations.get(&row.oid(0)) else { continue };
        statements.push(format!("ALTER TABLE {table} {} ROW LEVEL SECURITY;", row.text(1)));
    }
    Ok(statements)
}

/// Comments on everything that is dumped.
pub fn comments(source: &mut Source, objects: &Objects) -> Result<Vec<String>> {
    let mut labels: HashMap<(u32, u32), String> = HashMap::new();
    for object in objects.iter() {
        labels.insert((class(object.kind), object.oid), object.label.clone());
    }
    let query = "SELECT 2615, oid, 'SCHEMA ' || quote_ident(nspname), 0, 0 FROM pg_namespace
         UNION ALL SELECT 2606, oid, 'CONSTRAINT ' || quote_ident(conname) || ' ON ', conrelid, contypid FROM pg_constraint
         UNION ALL SELECT 2620, oid, 'TRIGGER ' || quote_ident(tgname) || ' ON ', tgrelid, 0 FROM pg_trigger
         UNION ALL SELECT 3256, oid, 'POLICY ' || quote_ident(polname) || ' ON ', polrelid, 0 FROM pg_policy
         UNION ALL SELECT 1259, i.indexrelid, 'INDEX ' || quote_ident(n.nspname) || '.' || quote_ident(c.relname), i.indrelid, -1
           FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
         UNION ALL SELECT 2605, oid, 'CAST (' || format_type(castsource, NULL) || ' AS ' || format_type(casttarget, NULL) || ')', castsource, casttarget
           FROM pg_cast WHERE oid >= 16384";
    let names: HashMap<(u32, u32), String> =
        objects.iter().map(|o| ((class(o.kind), o.oid), o.name.clone())).collect();
    for row in source.rows(query)? {
        let label = row.text(2);
        let label = match (row.oid(0), names.get(&(PG_CLASS, row.oid(3)))) {
            (PG_NAMESPACE, _)
                if objects.schemas.contains(&format!("CREATE {label};")) || label == "SCHEMA public" =>
            {
                label.to_owned()
            }
            (2605, _) => {
                let there = |at| row.oid(at) < 16384 || names.contains_key(&(PG_TYPE, row.oid(at)));
                if !there(3) || !there(4) {
                    continue;
                }
                label.to_owned()
            }
            (PG_CLASS, Some(_)) => label.to_owned(),
            (_, Some(table)) => format!("{label}{table}"),
            _ => match names.get(&(1247, row.oid(4))) {
                Some(domain) => format!("{label}DOMAIN {domain}"),
                None => continue,
            },
        };
        labels.insert((row.oid(0), row.oid(1)), label);
    }
    // Columns of a row type without a table.
    for row in source.rows("SELECT typrelid, oid FROM pg_type WHERE typtype = 'c' AND typrelid <> 0")? {
        if let Some(label) = labels.get(&(PG_TYPE, row.oid(1))) {
            labels.insert((PG_CLASS, row.oid(0)), label.clone());
        }
    }
    let query = "SELECT d.classoid, d.objoid, d.objsubid, d.description, quote_ident(a.attname)
                 FROM pg_description d
                 LEFT JOIN pg_attribute a ON d.classoid = 1259 AND a.attrelid = d.objoid AND a.attnum = d.objsubid
                  AND d.objsubid > 0";
    let mut statements = Vec::new();
    for row in source.rows(query)? {
        let Some(label) = labels.get(&(row.oid(0), row.oid(1))) else { continue };
        if label == "SCHEMA public" && (row.text(3) == "standard public schema" || objects.schemas_left_out) {
            continue;
        }
        let label = match row.get(4) {
            Some(column) if row.oid(2) > 0 => {
                let table = label.split_once(' ').map_or("", |(_, name)| name);
                format!("COLUMN {table}.{column}")
            }
            _ => label.clone(),
        };
        statements.push(format!("COMMENT ON {label} IS {};", literal(row.text(3))));
    }
    statements.sort_unstable();
    Ok(statements)
}

/// Tables, each behind those that its foreign keys refer to.
pub fn parents_first<'t>(
    source: &mut Source,
    mut tables: Vec<(u32, &'t str, &'t [String])>,
) -> Result<Vec<(u32, &'t str, &'t [String])>> {
    let mut parents: HashMap<u32, HashSet<u32>> = HashMap::new();
    for row in source.rows("SELECT conrelid, confrelid FROM pg_constraint WHERE contype = 'f'")? {
        if row.oid(0) != row.oid(1) {
            parents.entry(row.oid(0)).or_default().insert(row.oid(1));
        }
    }
    let mut ordered = Vec::with_capacity(tables.len());
    while !tables.is_empty() {
        let waits = |oid: u32| {
            let parents = parents.get(&oid);
            parents.is_some_and(|parents| tables.iter().any(|(other, ..)| parents.contains(other)))
        };
        let next = match tables.iter().position(|(oid, ..)| !waits(*oid)) {
            Some(next) => next,
            None => {
                let name = tables[0].1;
                eprintln!(
                    "WARNING:  the foreign keys of {name} form a cycle: its rows can be loaded only if the keys are deferred or missing"
                );
                0
            }
        };
        ordered.push(tables.remove(next));
    }
    Ok(ordered)
}
