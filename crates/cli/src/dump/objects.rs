//! What is made by one `CREATE`: types, routines, sequences, tables and views, each behind what it needs.

use super::select::{Selection, USERS};
use super::source::{Row, Source, literal};
use planaria::Result;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write;

/// OIDs of the catalogs that `pg_depend` and `pg_description` speak of.
pub const PG_CLASS: u32 = 1259;
pub const PG_PROC: u32 = 1255;
pub const PG_TYPE: u32 = 1247;
pub const PG_NAMESPACE: u32 = 2615;

/// Kinds, in the order in which they come where nothing else says which is first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    Type,
    Routine,
    Sequence,
    Table,
    View,
}

/// One of them.
pub struct Object {
    pub kind: Kind,
    pub oid: u32,
    /// With its schema, quoted.
    pub name: String,
    /// As COMMENT ON has it: `TABLE public.t`.
    pub label: String,
    /// Who it belongs to, quoted.
    pub owner: String,
    /// Its rights; `None`: those that all have.
    pub acl: Option<String>,
    /// Columns that COPY is to have, quoted.
    pub columns: Vec<String>,
    /// It is a view, or needs one.
    pub needs_view: bool,
    create: String,
    alter: Vec<String>,
    /// It comes with a table's column, and has no CREATE of its own.
    is_part: bool,
}

impl Object {
    /// Its statements.
    pub fn text(&self) -> String {
        let mut text = self.create.clone();
        for statement in &self.alter {
            text.push('\n');
            text.push_str(statement);
        }
        text.push('\n');
        text
    }
}

/// See the module's head.
pub struct Objects {
    objects: Vec<Object>,
    /// Schemas that are not `public`.
    pub schemas: Vec<String>,
    /// `ALTER SEQUENCE .. OWNED BY`
    pub owned: Vec<String>,
    /// Nothing but relations was chosen.
    pub schemas_left_out: bool,
    order: Vec<usize>,
}

fn owner(label: &str, owner: &str, wanted: bool) -> Vec<String> {
    if wanted { vec![format!("ALTER {label} OWNER TO {owner};")] } else { Vec::new() }
}

impl Objects {
    /// Reads them.
    pub fn read(source: &mut Source, selection: &Selection, owners: bool) -> Result<Objects> {
        let mut objects = Objects {
            objects: Vec::new(),
            schemas: Vec::new(),
            owned: Vec::new(),
            schemas_left_out: !selection.has_all_kinds() || !selection.has_schema("public"),
            order: Vec::new(),
        };
        if selection.has_all_kinds() {
            objects.read_schemas(source, selection, owners)?;
            objects.read_types(source, selection, owners)?;
            objects.read_routines(source, selection, owners)?;
            objects.read_aggregates(source, selection, owners)?;
        }
        objects.read_sequences(source, selection, owners)?;
        objects.read_relations(source, selection, owners)?;
        objects.read_partitions(source)?;
        objects.sort(source)?;
        Ok(objects)
    }

    fn read_schemas(&mut self, source: &mut Source, selection: &Selection, owners: bool) -> Result<()> {
        let query = format!(
            "SELECT n.nspname, quote_ident(n.nspname), quote_ident(pg_get_userbyid(n.nspowner)) FROM pg_namespace n
             WHERE n.nspname <> 'public' AND {USERS} ORDER BY n.nspname"
        );
        for row in source.rows(&query)?.iter().filter(|row| selection.has_schema(row.text(0))) {
            self.schemas.push(format!("CREATE SCHEMA {};", row.text(1)));
            self.schemas.extend(owner(&format!("SCHEMA {}", row.text(1)), row.text(2), owners));
        }
        Ok(())
    }

    fn read_types(&mut self, source: &mut Source, selection: &Selection, owners: bool) -> Result<()> {
        let mut labels: HashMap<u32, Vec<String>> = HashMap::new();
        for row in
            source.rows("SELECT enumtypid, enumlabel FROM pg_enum ORDER BY enumtypid, enumsortorder")?
        {
            labels.entry(row.oid(0)).or_default().push(format!("    {}", literal(row.text(1))));
        }
        let mut checks: HashMap<u32, String> = HashMap::new();
        let query = "SELECT contypid, quote_ident(conname), pg_get_constraintdef(oid) FROM pg_constraint
                     WHERE contypid <> 0 ORDER BY conname";
        for row in source.rows(query)? {
            let _ = write!(
                checks.entry(row.oid(0)).or_default(),
                "\n    CONSTRAINT {} {}",
                row.text(1),
                row.text(2)
            );
        }
        let mut attributes: HashMap<u32, Vec<String>> = HashMap::new();
        let query = "SELECT a.attrelid, quote_ident(a.attname), format_type(a.atttypid, a.atttypmod)
                     FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
                     WHERE c.relkind = 'c' AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attrelid, a.attnum";
        for row in source.rows(query)? {
            attributes.entry(row.oid(0)).or_default().push(format!("    {} {}", row.text(1), row.text(2)));
        }
        // Of row types, those that have no table.
        let query = format!(
            "SELECT t.oid, n.nspname, quote_ident(n.nspname) || '.' || quote_ident(t.typname),
                    quote_ident(pg_get_userbyid(t.typowner)), t.typtype, format_type(t.typbasetype, t.typtypmod),
                    t.typnotnull, t.typdefault, t.typacl::text, t.typrelid
             FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace LEFT JOIN pg_class c ON c.oid = t.typrelid
             WHERE (t.typtype IN ('e', 'd') OR c.relkind = 'c') AND {USERS}"
        );
        for row in source.rows(&query)?.iter().filter(|row| selection.has_schema(row.text(1))) {
            let (oid, name) = (row.oid(0), row.text(2));
            let (label, create) = if row.text(4) == "e" {
                let labels = labels.remove(&oid).unwrap_or_default().join(",\n");
                (format!("TYPE {name}"), format!("CREATE TYPE {name} AS ENUM (\n{labels}\n);"))
            } else if row.text(4) == "c" {
                let attributes = attributes.remove(&row.oid(9)).unwrap_or_default().join(",\n");
                (format!("TYPE {name}"), format!("CREATE TYPE {name} AS (\n{attributes}\n);"))
            } else {
                let mut create = format!("CREATE DOMAIN {name} AS {}", row.text(5));
                if row.is(6) {
                    create.push_str(" NOT NULL");
                }
                if let Some(default) = row.get(7) {
                    let _ = write!(create, " DEFAULT {default}");
                }
                create.push_str(checks.get(&oid).map_or("", String::as_str));
                (format!("DOMAIN {name}"), create + ";")
            };
            let alter = owner(&label, row.text(3), owners);
            self.add(Kind::Type, oid, name, label, row.text(3), row.get(8), create, alter);
        }
        Ok(())
    }

    fn read_routines(&mut self, source: &mut Source, selection: &Selection, owners: bool) -> Result<()> {
        let query = format!(
            "SELECT p.oid, n.nspname, quote_ident(n.nspname) || '.' || quote_ident(p.proname),
                    quote_ident(pg_get_userbyid(p.proowner)), p.prokind, pg_get_function_identity_arguments(p.oid),
                    pg_get_functiondef(p.oid), p.proacl::text
             FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE p.prokind IN ('f', 'p') AND {USERS}"
        );
        for row in source.rows(&query)?.iter().filter(|row| selection.has_schema(row.text(1))) {
            let what = if row.text(4) == "p" { "PROCEDURE" } else { "FUNCTION" };
            let name = format!("{}({})", row.text(2), row.text(5));
            let label = format!("{what} {name}");
            let create = format!("{};\n", row.text(6).trim_end());
            let alter = owner(&label, row.text(3), owners);
            self.add(Kind::Routine, row.oid(0), &name, label, row.text(3), row.get(7), create, alter);
        }
        Ok(())
    }

    fn read_aggregates(&mut self, source: &mut Source, selection: &Selection, owners: bool) -> Result<()> {
        let function = |column: &str| {
            format!(
                "(SELECT coalesce((SELECT quote_ident(fn.nspname) || '.' || quote_ident(f.proname) FROM pg_proc f
                  JOIN pg_namespace fn ON fn.oid = f.pronamespace WHERE f.oid = {column}::oid), {column}::text)
                  WHERE {column}::oid <> 0)"
            )
        };
        let query = format!(
            "SELECT p.oid, n.nspname, quote_ident(n.nspname) || '.' || quote_ident(p.proname),
                    quote_ident(pg_get_userbyid(p.proowner)),
                    CASE WHEN p.pronargs = 0 THEN '*' ELSE pg_get_function_identity_arguments(p.oid) END,
                    {}, format_type(a.aggtranstype, NULL), {}, a.aggfinalextra, a.aggfinalmodify, {},
                    quote_literal(a.agginitval), (SELECT o.oprname FROM pg_operator o WHERE o.oid = a.aggsortop),
                    p.proparallel, a.aggtransspace, p.proacl::text, a.aggkind = 'h',
                    CASE WHEN a.aggkind <> 'n' THEN (SELECT string_agg(format_type(u.t, NULL), ', ' ORDER BY u.n)
                     FROM unnest(p.proargtypes) WITH ORDINALITY u(t, n)) END,
                    {}, {}, CASE WHEN a.aggmtranstype <> 0 THEN format_type(a.aggmtranstype, NULL) END, {},
                    quote_literal(a.aggminitval), nullif(a.aggmtransspace, 0), a.aggmfinalextra, a.aggmfinalmodify
             FROM pg_aggregate a JOIN pg_proc p ON p.oid = a.aggfnoid::oid
             JOIN pg_namespace n ON n.oid = p.pronamespace WHERE {USERS}",
            function("a.aggtransfn"),
            function("a.aggfinalfn"),
            function("a.aggcombinefn"),
            function("a.aggmtransfn"),
            function("a.aggminvtransfn"),
            function("a.aggmfinalfn"),
        );
        for row in source.rows(&query)?.iter().filter(|row| selection.has_schema(row.text(1))) {
            let name = format!("{}({})", row.text(2), row.text(4));
            let label = format!("AGGREGATE {name}");
            let mut create = format!(
                "CREATE AGGREGATE {name} (\n    SFUNC = {},\n    STYPE = {}",
                row.text(5),
                row.text(6)
            );
            if let Some(last) = row.get(7) {
                let _ = write!(create, ",\n    FINALFUNC = {last}");
                create.push_str(if row.is(8) { ",\n    FINALFUNC_EXTRA" } else { "" });
                create.push_str(match row.text(9) {
                    "s" => ",\n    FINALFUNC_MODIFY = SHAREABLE",
                    "w" => ",\n    FINALFUNC_MODIFY = READ_WRITE",
                    _ => "",
                });
            }
            let values = [
                (10, "COMBINEFUNC"),
                (11, "INITCOND"),
                (12, "SORTOP"),
                (18, "MSFUNC"),
                (19, "MINVFUNC"),
                (20, "MSTYPE"),
                (21, "MFINALFUNC"),
                (22, "MINITCOND"),
                (23, "MSSPACE"),
            ];
            for (at, word) in values {
                if let Some(value) = row.get(at) {
                    let _ = write!(create, ",\n    {word} = {value}");
                }
            }
            if row.get(21).is_some() {
                create.push_str(if row.is(24) { ",\n    MFINALFUNC_EXTRA" } else { "" });
                create.push_str(match row.text(25) {
                    "s" => ",\n    MFINALFUNC_MODIFY = SHAREABLE",
                    "w" => ",\n    MFINALFUNC_MODIFY = READ_WRITE",
                    _ => "",
                });
            }
            create.push_str(match row.text(13) {
                "s" => ",\n    PARALLEL = SAFE",
                "r" => ",\n    PARALLEL = RESTRICTED",
                _ => "",
            });
            if row.text(14) != "0" {
                let _ = write!(create, ",\n    SSPACE = {}", row.text(14));
            }
            create.push_str(if row.is(16) { ",\n    HYPOTHETICAL" } else { "" });
            create.push_str("\n);");
            let alter = owner(&label, row.text(3), owners);
            // Privileges name it as a function.
            let label = match row.get(17) {
                Some(types) => format!("FUNCTION {}({types})", row.text(2)),
                None => format!("FUNCTION {}", name.replace("(*)", "()")),
            };
            self.add(Kind::Routine, row.oid(0), &name, label, row.text(3), row.get(15), create, alter);
        }
        Ok(())
    }

    fn read_sequences(&mut self, source: &mut Source, selection: &Selection, owners: bool) -> Result<()> {
        let query = format!(
            "SELECT c.oid, n.nspname, quote_ident(n.nspname) || '.' || quote_ident(c.relname),
                    quote_ident(pg_get_userbyid(c.relowner)), format_type(s.seqtypid, NULL), s.seqstart, s.seqincrement,
                    s.seqmin, s.seqmax, s.seqcache, s.seqcycle, d.deptype,
                    quote_ident(tn.nspname) || '.' || quote_ident(t.relname), quote_ident(a.attname), a.attidentity,
                    c.relacl::text
             FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_sequence s ON s.seqrelid = c.oid
             LEFT JOIN pg_depend d ON d.classid = 1259 AND d.objid = c.oid AND d.refclassid = 1259
              AND d.refobjsubid > 0 AND d.deptype IN ('a', 'i')
             LEFT JOIN pg_class t ON t.oid = d.refobjid LEFT JOIN pg_namespace tn ON tn.oid = t.relnamespace
             LEFT JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
             WHERE c.relkind = 'S' AND c.relpersistence <> 't' AND {USERS}
             ORDER BY n.nspname, c.relname"
        );
        for row in source.rows(&query)?.iter().filter(|r| selection.has_relation(r.oid(0), r.text(1))) {
            let (name, table, column) = (row.text(2), row.text(12), row.text(13));
            let options = format!(
                "START WITH {} INCREMENT BY {} MINVALUE {} MAXVALUE {} CACHE {}{}",
                row.text(5),
                row.text(6),
                row.text(7),
                row.text(8),
                row.text(9),
                if row.is(10) { " CYCLE" } else { "" }
            );
            let label = format!("SEQUENCE {name}");
            let is_part = row.text(11) == "i";
            let (create, alter) = if is_part {
                let when = if row.text(14) == "a" { "ALWAYS" } else { "BY DEFAULT" };
                self.owned.push(format!(
                    "ALTER TABLE {table} ALTER COLUMN {column} ADD GENERATED {when} AS IDENTITY (SEQUENCE NAME {name} {options});"
                ));
                (String::new(), Vec::new())
            } else {
                if row.get(11).is_some() {
                    self.owned.push(format!("ALTER SEQUENCE {name} OWNED BY {table}.{column};"));
                }
                let create = format!("CREATE SEQUENCE {name} AS {} {options};", row.text(4));
                (create, owner(&label, row.text(3), owners))
            };
            self.add(Kind::Sequence, row.oid(0), name, label, row.text(3), row.get(15), create, alter);
            if let Some(last) = self.objects.last_mut() {
                last.is_part = is_part;
            }
        }
        Ok(())
    }

    fn read_relations(&mut self, source: &mut Source, selection: &Selection, owners: bool) -> Result<()> {
        let mut columns: HashMap<u32, Vec<Row>> = HashMap::new();
        let query = "SELECT a.attrelid, quote_ident(a.attname), format_type(a.atttypid, a.atttypmod), a.attnotnull,
                            a.attgenerated, pg_get_expr(d.adbin, d.adrelid)
                     FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
                     LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
                     WHERE (c.relkind IN ('r', 'p') OR c.relkind = 'v' AND a.atthasdef) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attrelid, a.attnum";
        for row in source.rows(query)? {
            columns.entry(row.oid(0)).or_default().push(row);
        }
        let mut checks: HashMap<u32, Vec<String>> = HashMap::new();
        let query = "SELECT conrelid, quote_ident(conname), pg_get_constraintdef(oid) FROM pg_constraint
                     WHERE contype = 'c' AND conrelid <> 0 AND convalidated ORDER BY conname";
        for row in source.rows(query)? {
            let check = format!("    CONSTRAINT {} {}", row.text(1), row.text(2));
            checks.entry(row.oid(0)).or_default().push(check);
        }
        let query = format!(
            "SELECT c.oid, n.nspname, quote_ident(n.nspname) || '.' || quote_ident(c.relname),
                    quote_ident(pg_get_userbyid(c.relowner)), c.relkind, c.relpersistence,
                    array_to_string(c.reloptions, ', '), c.relacl::text,
                    CASE WHEN c.relkind IN ('v', 'm') THEN pg_get_viewdef(c.oid) END, c.relispopulated,
                    pg_get_partkeydef(c.oid)
             FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE c.relkind IN ('r', 'p', 'v', 'm') AND c.relpersistence <> 't' AND {USERS}"
        );
        for row in source.rows(&query)?.iter().filter(|r| selection.has_relation(r.oid(0), r.text(1))) {
            let (oid, name) = (row.oid(0), row.text(2));
            if matches!(row.text(4), "v" | "m") {
                let stored = row.text(4) == "m";
                let kind = if stored { "MATERIALIZED VIEW" } else { "VIEW" };
                let label = format!("{kind} {name}");
                let options = row.get(6).map_or(String::new(), |options| format!(" WITH ({options})"));
                let query = row.text(8).trim_end().trim_end_matches(';');
                // Its rows are those that the query has where it is loaded.
                let filled = if stored && row.text(9) == "f" { "\nWITH NO DATA" } else { "" };
                let mut create = format!("CREATE {kind} {name}{options} AS\n{query}{filled};");
                for column in columns.remove(&oid).unwrap_or_default() {
                    create.push_str(&format!(
                        "\nALTER VIEW {name} ALTER COLUMN {} SET DEFAULT {};",
                        column.text(1),
                        column.text(5)
                    ));
                }
                let alter = owner(&label, row.text(3), owners);
                self.add(Kind::View, oid, name, label, row.text(3), row.get(7), create, alter);
                continue;
            }
            let columns = columns.remove(&oid).unwrap_or_default();
            let mut lines: Vec<String> = columns.iter().map(column).collect();
            lines.extend(checks.remove(&oid).unwrap_or_default());
            let unlogged = if row.text(5) == "u" { "UNLOGGED " } else { "" };
            let by = row.get(10).map_or(String::new(), |key| format!("\nPARTITION BY {key}"));
            let create = format!("CREATE {unlogged}TABLE {name} (\n{}\n){by};", lines.join(",\n"));
            let label = format!("TABLE {name}");
            let alter = owner(&label, row.text(3), owners);
            self.add(Kind::Table, oid, name, label, row.text(3), row.get(7), create, alter);
            // The rows of a partitioned table are those of its partitions.
            if let Some(last) = self.objects.last_mut().filter(|_| row.text(4) == "r") {
                let stored = columns.iter().filter(|c| c.text(4).is_empty());
                last.columns = stored.map(|c| c.text(1).to_owned()).collect();
            }
        }
        Ok(())
    }

    /// Partitions are tables of their own until they are attached.
    fn read_partitions(&mut self, source: &mut Source) -> Result<()> {
        // By names, as OIDs are others where it is loaded.
        let query = "SELECT i.inhrelid, i.inhparent, pg_get_expr(c.relpartbound, c.oid)
                     FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_namespace n ON n.oid = c.relnamespace
                     JOIN pg_class p ON p.oid = i.inhparent JOIN pg_namespace pn ON pn.oid = p.relnamespace
                     WHERE c.relkind IN ('r', 'p')
                     ORDER BY (SELECT count(*) FROM pg_partition_ancestors(p.oid)), pn.nspname, p.relname, n.nspname, c.relname";
        for row in source.rows(query)? {
            let named = |oid: u32| {
                self.objects.iter().find(|o| o.kind == Kind::Table && o.oid == oid).map(|o| o.name.clone())
            };
            if let (Some(partition), Some(parent)) = (named(row.oid(0)), named(row.oid(1))) {
                self.owned
                    .push(format!("ALTER TABLE ONLY {parent} ATTACH PARTITION {partition} {};", row.text(2)));
            }
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments, reason = "the fields of an object, in their order")]
    fn add(
        &mut self,
        kind: Kind,
        oid: u32,
        name: &str,
        label: String,
        owner: &str,
        acl: Option<&str>,
        create: String,
        alter: Vec<String>,
    ) {
        self.objects.push(Object {
            kind,
            oid,
            name: name.to_owned(),
            label,
            owner: owner.to_owned(),
            acl: acl.map(str::to_owned),
            columns: Vec::new(),
            needs_view: false,
            create,
            alter,
            is_part: false,
        });
    }

    /// What needs what: object by object, by their places.
    fn needs(&self, source: &mut Source) -> Result<Vec<BTreeSet<usize>>> {
        let mut places: HashMap<(u32, u32), usize> = HashMap::new();
        for (at, object) in self.objects.iter().enumerate() {
            places.insert((class(object.kind), object.oid), at);
        }
        // Defaults, checks and rules are parts of an object; a row type is its relation's, but a composite type's relation is
        // the type's; an array is its element's.
        let query = "SELECT 2604, oid, 1259, adrelid FROM pg_attrdef
                     UNION ALL SELECT 2618, oid, 1259, ev_class FROM pg_rewrite
                     UNION ALL SELECT 2606, oid, 1259, conrelid FROM pg_constraint WHERE contype = 'c' AND conrelid <> 0
                     UNION ALL SELECT 2606, oid, 1247, contypid FROM pg_constraint WHERE contypid <> 0
                     UNION ALL SELECT 1259, typrelid, 1247, oid FROM pg_type WHERE typrelid <> 0
                     UNION ALL SELECT 1247, oid, 1259, typrelid FROM pg_type WHERE typrelid <> 0";
        for row in source.rows(query)? {
            if let Some(at) = places.get(&(row.oid(2), row.oid(3))) {
                places.insert((row.oid(0), row.oid(1)), *at);
            }
        }
        // The columns of a row type without a table are those of its relation.
        for row in source.rows("SELECT typrelid, oid FROM pg_type WHERE typtype = 'c' AND typrelid <> 0")? {
            if let Some(at) = places.get(&(PG_TYPE, row.oid(1))) {
                places.insert((PG_CLASS, row.oid(0)), *at);
            }
        }
        for row in source.rows("SELECT oid, typelem FROM pg_type WHERE typelem <> 0 AND oid >= 16384")? {
            if let Some(at) = places.get(&(PG_TYPE, row.oid(1))) {
                places.insert((PG_TYPE, row.oid(0)), *at);
            }
        }
        let mut needs = vec![BTreeSet::new(); self.objects.len()];
        // A sequence that belongs to a column needs nothing: it is told so when both are there.
        let query = "SELECT classid, objid, refclassid, refobjid FROM pg_depend
                      WHERE NOT (classid = 1259 AND deptype IN ('a', 'i') AND refobjsubid > 0)
                     UNION ALL SELECT 1259, attrelid, 1247, atttypid FROM pg_attribute WHERE attnum > 0 AND atttypid >= 16384
                     UNION ALL SELECT 1247, oid, 1247, typbasetype FROM pg_type WHERE typbasetype >= 16384
                     UNION ALL SELECT 1255, oid, 1247, prorettype FROM pg_proc WHERE prorettype >= 16384";
        let mut edges: Vec<[(u32, u32); 2]> = Vec::new();
        for row in source.rows(query)? {
            edges.push([(row.oid(0), row.oid(1)), (row.oid(2), row.oid(3))]);
        }
        let query = "SELECT oid, proargtypes::text, array_to_string(proallargtypes, ' ') FROM pg_proc WHERE oid >= 16384";
        for row in source.rows(query)? {
            for oid in [row.text(1), row.text(2)].iter().flat_map(|oids| oids.split_whitespace()) {
                edges.push([(PG_PROC, row.oid(0)), (PG_TYPE, oid.parse().unwrap_or(0))]);
            }
        }
        for [of, on] in edges {
            if let (Some(of), Some(on)) = (places.get(&of), places.get(&on))
                && of != on
            {
                needs[*of].insert(*on);
            }
        }
        // What texts of types name is not among the dependencies: routines in the conditions of domains.
        let routines = self.objects.iter().enumerate().filter(|(_, o)| o.kind == Kind::Routine);
        for (routine, object) in routines {
            let call = &object.name[..=object.name.find('(').unwrap_or(object.name.len() - 1)];
            for (at, other) in self.objects.iter().enumerate() {
                if other.kind == Kind::Type && other.create.contains(call) && !needs[routine].contains(&at) {
                    needs[at].insert(routine);
                }
            }
        }
        Ok(needs)
    }

    /// Puts each behind what it needs; where that leaves a choice, by kind and name.
    fn sort(&mut self, source: &mut Source) -> Result<()> {
        let needs = self.needs(source)?;
        let rank = |at: usize| (self.objects[at].kind, self.objects[at].name.clone(), at);
        let mut left: BTreeMap<_, usize> = (0..self.objects.len()).map(|at| (rank(at), at)).collect();
        let (mut done, mut order) = (HashSet::new(), Vec::new());
        while !left.is_empty() {
            let ready = left.iter().find(|(_, at)| needs[**at].iter().all(|on| done.contains(on)));
            // Of a ring, the first: nothing can be right there.
            let next = ready.or_else(|| left.iter().next()).map(|(rank, at)| (rank.clone(), *at));
            let Some((rank, at)) = next else { break };
            left.remove(&rank);
            done.insert(at);
            order.push(at);
        }
        for at in &order {
            let needs_view = needs[*at].iter().any(|on| self.objects[*on].needs_view);
            let object = &mut self.objects[*at];
            object.needs_view = needs_view || object.kind == Kind::View;
        }
        self.order = order;
        Ok(())
    }

    /// Those that have a CREATE of their own, in an order that loads.
    pub fn in_order(&self) -> Vec<&Object> {
        self.order.iter().map(|at| &self.objects[*at]).filter(|o| !o.is_part).collect()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Object> {
        self.objects.iter()
    }

    /// Names of tables and views by OID.
    pub fn relations(&self) -> HashMap<u32, String> {
        let relations = self.objects.iter().filter(|o| matches!(o.kind, Kind::Table | Kind::View));
        relations.map(|o| (o.oid, o.name.clone())).collect()
    }

    /// Where sequences stand.
    pub fn values(&self, source: &mut Source) -> Result<Vec<String>> {
        let mut values = Vec::new();
        let mut names: Vec<&str> =
            self.objects.iter().filter(|o| o.kind == Kind::Sequence).map(|o| o.name.as_str()).collect();
        names.sort_unstable();
        for name in names {
            for row in source.rows(&format!("SELECT last_value, is_called FROM {name}"))? {
                let called = if row.is(1) { "true" } else { "false" };
                values.push(format!(
                    "SELECT pg_catalog.setval({}, {}, {called});",
                    literal(name),
                    row.text(0)
                ));
            }
        }
        Ok(values)
    }
}

/// The catalog that a kind is in.
pub fn class(kind: Kind) -> u32 {
    match kind {
        Kind::Type => PG_TYPE,
        Kind::Routine => PG_PROC,
        Kind::Sequence | Kind::Table | Kind::View => PG_CLASS,
    }
}

/// A line of CREATE TABLE.
fn column(row: &Row) -> String {
    let mut line = format!("    {} {}", row.text(1), row.text(2));
    match (row.text(4), row.get(5)) {
        ("s", Some(expression)) => {
            let _ = write!(line, " GENERATED ALWAYS AS ({expression}) STORED");
        }
        (_, Some(default)) => {
            let _ = write!(line, " DEFAULT {default}");
        }
        _ => {}
    }
    if row.is(3) {
        line.push_str(" NOT NULL");
    }
    line
}
