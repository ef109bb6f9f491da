//! The stars of a view's text, written out: its columns are those that there were when it was made, whatever its tables
//! get later.

use super::Lowerer;
use super::bind_query::star_columns;
use super::bound::Bound;
use super::names::Names;
use super::scope::Scope;
use planaria_base::Result;
use planaria_base::text_io::quote_ident;
use planaria_catalog::Catalog;
use planaria_ir::{Output, ProgramKind};
use planaria_syntax::ast::{ExprKind, SelectItem};

/// What stars stand for, by their places in the text.
pub(super) type Stars = Vec<(u32, String)>;

/// The columns of a query, and its text with every star of a select list written out.
pub(crate) fn written_out(catalog: &Catalog, text: &str) -> Result<(Vec<Output>, String)> {
    let query = planaria_syntax::parse::query(text)?;
    let mut lowerer = Lowerer::new(catalog, "view", ProgramKind::Statement);
    lowerer.stars = Some(Vec::new());
    let columns = lowerer.describe(&Scope::new(), &query)?;
    let mut stars = lowerer.stars.take().unwrap_or_default();
    stars.sort_unstable();
    stars.dedup();
    let mut out = text.to_owned();
    for (position, columns) in stars.into_iter().rev() {
        let start = position as usize;
        if let Some(len) = star(&text[start..]) {
            out.replace_range(start..start + len, &columns);
        }
    }
    Ok((columns, out))
}

/// Bytes of the `*` or `t.*` that a text begins with. What a function in FROM stands for may have stars that are not written.
fn star(text: &str) -> Option<usize> {
    let end = text.find('*')?;
    let mut before = text[..end].trim_end();
    while let Some(name) = before.strip_suffix('.') {
        let name = name.trim_end();
        before = match name.strip_suffix('"') {
            Some(quoted) => quoted[..quoted.rfind('"')?].trim_end(),
            None => name.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_' || c == '$').trim_end(),
        };
    }
    before.is_empty().then_some(end + 1)
}

impl Lowerer<'_> {
    /// Remembers what the stars of a select list stand for, where somebody wants to know. Those of a view that the
    /// query reads are in another text.
    pub(super) fn note_stars(
        &mut self,
        level: &Names<'_>,
        items: &[SelectItem],
        star: &[(String, Bound)],
    ) -> Result<()> {
        if self.stars.is_none() || !self.expanding.is_empty() {
            return Ok(());
        }
        for item in items {
            let ExprKind::Star(qualifier) = &item.expr.kind else { continue };
            let columns = star_columns(level, qualifier.as_ref(), star, item.expr.position)?;
            let shown = |(name, e): &(String, Bound)| {
                let of = |s: &&super::names::Source| {
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
            if !columns.is_empty()
                && let Some(stars) = &mut self.stars
            {
                stars.push((item.expr.position, columns.join(", ")));
            }
        }
        Ok(())
    }
}
