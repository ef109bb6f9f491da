//! A part of an image: what a lookup wants of a wide row.

use super::{Column, ColumnKind, RowLayout};
use crate::record::copy::load;
use planaria_base::ColumnId;
use planaria_base::sync::atomic::AtomicU64;

/// Words that are not worth leaving out: a line of memory comes whole.
const FEW: usize = 8;

/// The fixed part of a table's images, and the variable-length columns that are wanted of what is behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Words of the fixed part.
    fixed: u32,
    columns: Box<[Column]>,
}

impl Part {
    /// Copies the part from a record's image, each word to its place; what lies between is left as it is. If others change the image
    /// meanwhile, the copy may be torn, as that of the whole would be: it reads and writes nothing outside. `false`: not worth it,
    /// nothing has been copied.
    #[inline]
    pub(crate) fn copy(&self, image: &[AtomicU64], to: &mut [u64]) -> bool {
        let fixed = self.fixed as usize;
        if image.len() <= fixed + FEW || to.len() != image.len() {
            return false;
        }
        let mut copy = |from: usize, behind: usize| {
            if let (Some(to), Some(image)) = (to.get_mut(from..behind), image.get(from..behind)) {
                load(image, to);
            }
        };
        copy(0, fixed);
        for column in &self.columns {
            let range = column.bytes_range(image);
            copy((range.start / 8).max(fixed), range.end.div_ceil(8));
        }
        true
    }
}

impl RowLayout {
    /// What reading these columns takes; `None`: all of an image.
    pub fn part(&self, wanted: impl IntoIterator<Item = ColumnId>) -> Option<Part> {
        let mut columns = Vec::new();
        for id in wanted {
            let column = *self.column(id);
            match column.kind() {
                ColumnKind::Bytes if columns.contains(&column) => {}
                ColumnKind::Bytes => columns.push(column),
                // It may have bytes behind all others.
                ColumnKind::Numeric => return None,
                _ => {}
            }
        }
        (columns.len() < self.variable.len())
            .then(|| Part { fixed: self.fixed_bytes.div_ceil(8), columns: columns.into() })
    }
}
