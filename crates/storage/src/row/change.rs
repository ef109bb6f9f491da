//! Images that differ from another one in some columns.

use super::{ColumnKind, Field, RowLayout};
use planaria_base::{ColumnId, Result};

impl RowLayout {
    /// Makes the image of a row that differs from `old` in `changes`.
    pub fn encode_update(
        &self,
        old: &[u64],
        changes: &[(ColumnId, Field<'_>)],
        out: &mut Vec<u64>,
    ) -> Result<()> {
        self.encode_update_with(old, changes.len(), |i| changes[i].0, |i| changes[i].1, out)
    }

    /// The same, asking for the `count` changes, columns and values, by number. If no variable-length column is among
    /// them, this is a copy and a patch.
    #[inline]
    pub fn encode_update_with<'a>(
        &self,
        old: &'a [u64],
        count: usize,
        changed: impl Fn(usize) -> ColumnId,
        value: impl Fn(usize) -> Field<'a>,
        out: &mut Vec<u64>,
    ) -> Result<()> {
        if !self.numerics.is_empty() && self.moves_long(old, count, &value) {
            let change = |id| (0..count).find(|i| changed(*i) == id);
            return self.encode_with(|id| change(id).map_or_else(|| self.field(old, id), &value), out);
        }
        let moves = (0..count).any(|i| self.column(changed(i)).kind == ColumnKind::Bytes);
        out.clear();
        if !moves {
            out.extend_from_slice(old);
        } else {
            out.extend_from_slice(&old[..(self.fixed_bytes as usize).div_ceil(8)]);
            let tail = self.fixed_bytes as usize % 8;
            if tail != 0 {
                bytemuck::cast_slice_mut::<u64, u8>(out).last_chunk_mut::<8>().expect("a word")[tail..]
                    .fill(0);
            }
        }
        for i in 0..count {
            let column = self.column(changed(i));
            if column.kind != ColumnKind::Bytes {
                self.put_fixed(column, value(i), &mut out[..])?;
            }
        }
        if moves {
            let mut end = self.fixed_bytes as usize;
            for id in &self.variable {
                let change = (0..count).find(|i| changed(*i) == *id);
                let field = change.map_or_else(|| self.field(old, *id), &value);
                end = self.put_variable(self.column(*id), field, end, out)?;
            }
        }
        Ok(())
    }

    /// Changes an image where it is, if all that is in it keeps its place: `false` where it does not, and nothing is changed.
    /// Errors as [`RowLayout::encode_with`]; then it may be changed in part.
    #[inline]
    pub fn patch<'a>(
        &self,
        image: &mut [u64],
        count: usize,
        changed: impl Fn(usize) -> ColumnId,
        value: impl Fn(usize) -> Field<'a>,
    ) -> Result<bool> {
        if !self.numerics.is_empty() && self.moves_long(image, count, &value) {
            return Ok(false);
        }
        for i in 0..count {
            let column = self.column(changed(i));
            if column.kind == ColumnKind::Bytes {
                let len = match value(i) {
                    Field::Bytes(bytes) => bytes.len(),
                    _ => 0,
                };
                if len != column.bytes_range(image).len() {
                    return Ok(false);
                }
            }
        }
        for i in 0..count {
            let (column, value) = (self.column(changed(i)), value(i));
            match (column.kind, value) {
                (ColumnKind::Bytes, Field::Bytes(bytes)) => {
                    column.set_null(false, image);
                    let range = column.bytes_range(image);
                    bytemuck::cast_slice_mut::<u64, u8>(image)[range].copy_from_slice(bytes);
                }
                (ColumnKind::Bytes, _) => column.set_null(true, image),
                _ => self.put_fixed(column, value, image)?,
            }
        }
        Ok(true)
    }

    /// Whether a row has a long numeric, or gets one.
    fn moves_long<'a>(&self, old: &[u64], count: usize, value: &impl Fn(usize) -> Field<'a>) -> bool {
        self.has_long(old) || (0..count).any(|i| matches!(value(i), Field::Long([_, _, ..])))
    }
}
