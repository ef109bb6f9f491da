//! The text of a view, changed where it stands.
//!
//! A view is kept as it was written, but for what another shape of its tables would change: `*` and NATURAL are written
//! out when it is made. When a table, a view or a column gets another name, that is changed in the texts that
//! mention it. What a text mentions is known to who binds it: a name alone does not tell a table from a CTE.

use super::Lowerer;
use super::bind_query::star_columns;
use super::bound::{Bound, RelKind};
use super::names::{Names, Source};
use super::scope::Scope;
use planaria_base::text_io::quote_ident;
use planaria_base::{ColumnId, Result, SchemaId, TableId};
use planaria_catalog::Catalog;
use planaria_ir::{Output, ProgramKind};
use planaria_syntax::ast::{ExprKind, SelectItem};
use std::collections::{BTreeMap, BTreeSet};

/// What a text mentions, by its places.
#[derive(Default)]
pub(super) struct Mentions {
    /// The text. What a call stands for was written by nobody: it has places of its own, or none.
    written: String,
    /// What stars stand for.
    stars: BTreeMap<u32, String>,
    /// NATURAL: where the join ends, and its columns.
    naturals: BTreeMap<u32, (u32, Vec<String>)>,
    /// Tables and views of FROM, and whether they have an alias.
    relations: BTreeMap<u32, (SchemaId, String, bool)>,
    /// Columns that stand alone: what qualifies them, and whether another column could come to have their name.
    bare: BTreeMap<u32, (String, bool)>,
    /// Columns of tables: which, and of how many parts their name is.
    columns: BTreeMap<u32, (TableId, usize, usize)>,
    /// Outputs that are called as their column is.
    items: BTreeSet<u32>,
}

/// What gets another name.
#[derive(Clone, Copy)]
pub(crate) enum Renamed<'n> {
    /// A table or view of a schema.
    Relation(SchemaId, &'n str),
    /// A column of a table.
    Column(TableId, ColumnId),
}

/// A change of a text: bytes from, to, what they become.
pub(super) type Edit = (usize, usize, String);

/// The columns of a query, and its text with every star of a select list and every NATURAL written out; columns are
/// qualified where another table could come to have one of that name.
pub(crate) fn written_out(catalog: &Catalog, text: &str) -> Result<(Vec<Output>, String)> {
    let (columns, mentions) = mentions(catalog, text)?;
    let mut edits: Vec<Edit> = Vec::new();
    for (position, columns) in mentions.stars {
        let start = position as usize;
        edits.extend(star_bytes(&text[start..]).map(|len| (start, start + len, columns)));
    }
    for (position, (end, columns)) in mentions.naturals {
        let (start, end) = (position as usize, end as usize);
        // A join of no common column is one of all rows.
        let using: Vec<String> = columns.iter().map(|c| quote_ident(c)).collect();
        let condition = match using.is_empty() {
            true => " ON true".to_owned(),
            false => format!(" USING ({})", using.join(", ")),
        };
        if let Some((_, word)) = identifier(text, start, 0) {
            let blanks = text[word..].len() - text[word..].trim_start().len();
            edits.push((start, word + blanks, String::new()));
            edits.push((end, end, condition));
        }
    }
    for (position, (alias, needed)) in mentions.bare {
        let start = position as usize;
        if needed {
            edits.push((start, start, format!("{}.", quote_ident(&alias))));
        }
    }
    Ok((columns, edited(text, edits)))
}

/// The text with another name for something, as the catalog before has it.
pub(crate) fn renamed(catalog: &Catalog, text: &str, what: &Renamed<'_>, to: &str) -> Result<String> {
    let (_, mentions) = mentions(catalog, text)?;
    let to = quote_ident(to);
    let mut edits: Vec<Edit> = Vec::new();
    match what {
        Renamed::Relation(schema, from) => {
            for (position, (of, name, aliased)) in &mentions.relations {
                let start = *position as usize;
                if (of, name.as_str()) != (schema, *from) {
                    continue;
                }
                if let Some((start, end)) = last_identifier(text, start) {
                    let new = if *aliased { to.clone() } else { format!("{to} AS {}", quote_ident(from)) };
                    edits.push((start, end, new));
                }
            }
        }
        Renamed::Column(table, column) => {
            let from = &catalog.table_by_id(*table).columns[column.index()].name;
            for (position, (of, index, parts)) in &mentions.columns {
                let start = *position as usize;
                let Some((part, end)) = identifier(text, start, parts - 1) else { continue };
                if (of, *index) != (table, column.index()) || !spells(&text[part..end], from) {
                    continue;
                }
                let mut new = match mentions.bare.get(position) {
                    Some((alias, _)) => format!("{}.{to}", quote_ident(alias)),
                    None => to.clone(),
                };
                // Who reads the output knows it by the old name.
                if mentions.items.contains(position) {
                    new.push_str(" AS ");
                    new.push_str(&quote_ident(from));
                }
                edits.push((part, end, new));
            }
        }
    }
    Ok(edited(text, edits))
}

fn mentions(catalog: &Catalog, text: &str) -> Result<(Vec<Output>, Box<Mentions>)> {
    let query = planaria_syntax::parse::query(text)?;
    let mut lowerer = Lowerer::new(catalog, "view", ProgramKind::Statement).of_kept_text();
    lowerer.text = Some(Box::new(Mentions { written: text.to_owned(), ..Mentions::default() }));
    let columns = lowerer.describe(&Scope::new(), &query)?;
    Ok((columns, lowerer.text.take().unwrap_or_default()))
}

pub(super) fn edited(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort();
    let mut out = text.to_owned();
    for (start, end, new) in edits.into_iter().rev() {
        out.replace_range(start..end, &new);
    }
    out
}

/// Bytes of the `*` or `t.*` that a text begins with.
fn star_bytes(text: &str) -> Option<usize> {
    let mut qualifiers = 0;
    while let Some((_, end)) = identifier(text, 0, qualifiers) {
        if end == 0 || text[..end].trim_end().ends_with('.') {
            break;
        }
        qualifiers += 1;
    }
    let before = match qualifiers {
        0 => 0,
        n => identifier(text, 0, n - 1)?.1,
    };
    let rest = text[before..].trim_start();
    let rest = if qualifiers > 0 { rest.strip_prefix('.')?.trim_start() } else { rest };
    rest.starts_with('*').then(|| text.len() - rest.len() + 1)
}

/// Where the `part`-th identifier of a dotted name stands.
pub(crate) fn identifier(text: &str, position: usize, part: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut at = position;
    for n in 0.. {
        while bytes.get(at)?.is_ascii_whitespace() {
            at += 1;
        }
        let start = at;
        if bytes[at] == b'"' {
            at += 1;
            while !(*bytes.get(at)? == b'"' && bytes.get(at + 1) != Some(&b'"')) {
                at += if bytes[at] == b'"' { 2 } else { 1 };
            }
            at += 1;
        } else {
            let end = text[at..].find(|c: char| !c.is_alphanumeric() && c != '_' && c != '$');
            at += end.unwrap_or(text.len() - at);
        }
        if n == part {
            return (at > start).then_some((start, at));
        }
        while bytes.get(at)?.is_ascii_whitespace() {
            at += 1;
        }
        if bytes[at] != b'.' {
            return None;
        }
        at += 1;
    }
    None
}

/// The last identifier of the dotted name at a place.
fn last_identifier(text: &str, position: usize) -> Option<(usize, usize)> {
    (0..).map_while(|part| identifier(text, position, part)).last()
}

/// Whether an identifier as it is written is that name.
fn spells(written: &str, name: &str) -> bool {
    match written.strip_prefix('"').and_then(|w| w.strip_suffix('"')) {
        Some(quoted) => quoted.replace("\"\"", "\"") == name,
        None => written.to_lowercase() == name,
    }
}

impl Mentions {
    /// Whether a name, or the first part of one, is what the text has at a place.
    fn has(&self, position: u32, name: &str) -> bool {
        let Some(written) = self.written.get(position as usize..) else { return false };
        identifier(written, 0, 0).is_some_and(|(start, end)| start == 0 && spells(&written[..end], name))
    }
}

impl Lowerer<'_> {
    /// Where mentions go, if they are wanted. Those of a view that the query reads are in another text.
    fn text(&mut self) -> Option<&mut Mentions> {
        if self.expanding.is_empty() { self.text.as_deref_mut() } else { None }
    }

    /// Remembers what the stars of a select list stand for, and which of its outputs are called as their column is.
    pub(super) fn note_items(
        &mut self,
        level: &Names<'_>,
        items: &[SelectItem],
        star: &[(String, Bound)],
    ) -> Result<()> {
        let Some(text) = self.text() else { return Ok(()) };
        for item in items {
            let position = item.expr.position;
            let qualifier = match &item.expr.kind {
                ExprKind::Star(qualifier) => match text.written.get(position as usize..) {
                    Some(written) if star_bytes(written).is_some() => qualifier.as_ref(),
                    _ => continue,
                },
                ExprKind::Column(name) if item.alias.is_none() => {
                    if text.has(position, &name.parts[0]) {
                        text.items.insert(position);
                    }
                    continue;
                }
                _ => continue,
            };
            let columns = star_columns(level, qualifier, star, position)?;
            // Two columns of one query that have one name can be called by no other; and a query stays as it is.
            let twice = |s: &Source| {
                let names: BTreeSet<&str> = s.columns.iter().map(|c| c.name.as_str()).collect();
                names.len() < s.columns.len()
            };
            let covers =
                |s: &Source| qualifier.is_none_or(|of| of.parts.last().is_some_and(|part| *part == s.alias));
            if level.sources.iter().any(|source| covers(source) && twice(source)) {
                continue;
            }
            let shown = |(name, e): &(String, Bound)| {
                let of = |s: &&Source| {
                    !s.alias.is_empty()
                        && s.columns.iter().any(|c| !c.merged && c.name == *name && c.expr == *e)
                };
                match level.sources.iter().find(of) {
                    Some(source) => format!("{}.{}", quote_ident(&source.alias), quote_ident(name)),
                    None => quote_ident(name),
                }
            };
            let columns: Vec<String> = columns.iter().map(shown).collect();
            // Of a table without columns there is nothing to write.
            if !columns.is_empty() {
                text.stars.insert(position, columns.join(", "));
            }
        }
        Ok(())
    }

    pub(super) fn note_natural(&mut self, position: u32, end: u32, columns: &[String]) {
        if let Some(text) = self.text().filter(|text| text.has(position, "natural")) {
            text.naturals.insert(position, (end, columns.to_vec()));
        }
    }

    pub(super) fn note_relation(
        &mut self,
        position: u32,
        parts: &[String],
        (schema, name): (SchemaId, &str),
        aliased: bool,
    ) {
        if let Some(text) = self.text().filter(|text| text.has(position, &parts[0])) {
            text.relations.insert(position, (schema, name.to_owned(), aliased));
        }
    }

    /// Remembers a column.
    pub(super) fn note_column(&mut self, names: &Names<'_>, parts: &[String], bound: &Bound) {
        let position = bound.position;
        if self.text().is_none_or(|text| !text.has(position, &parts[0])) {
            return;
        }
        let Some(name) = parts.last() else { return };
        if let ([_], Some((source, level))) = (parts, names.source_with(name))
            && !source.alias.is_empty()
            && names.source(&source.alias).is_some_and(|(_, depth)| depth == level.depth())
        {
            let needed = level.depth() < names.depth() || level.sources.len() > 1;
            let alias = source.alias.clone();
            if let Some(text) = self.text() {
                text.bare.insert(position, (alias, needed));
            }
        }
        let Some((rel, column)) = bound.as_column() else { return };
        // What the row's number is of has another name.
        if name == "ctid" {
            return;
        }
        let RelKind::Table(table) = self.rel(rel).kind else { return };
        // By its own name.
        if names.source_of(rel).is_some_and(|source| column >= source.renamed)
            && let Some(text) = self.text()
        {
            text.columns.insert(position, (table, column, parts.len()));
        }
    }
}
