//! The value of a register.
//!
//! A [`Slot`] is 24 bytes and `Copy`. What does not fit lies in the worker's [`crate::heap::Heap`] and is
//! immutable once made, so slots may share it freely: copying a register copies no text. The type
//! of a slot is known from where it stands (the register's declaration); the variant is the type's
//! class, not the type.

use planaria_base::datetime::Interval;
use planaria_base::numeric::PackedNumeric;
use planaria_base::{Numeric, Type};
use planaria_storage::arena::Bytes;

/// A register's value. See the module's head.
// With a tag of a whole word every copy is three whole words: with a byte for it, and payloads at several
// offsets, copies overlap what was stored just before and wait for it.
#[derive(Clone, Copy, Debug, Default)]
#[repr(u64)]
pub enum Slot {
    /// SQL NULL
    #[default]
    Null,
    /// boolean
    Bool(bool),
    /// smallint, integer, bigint; date in days, timestamps in microseconds; also row handles
    Int(i64),
    /// double precision
    Float(f64),
    /// numeric
    Numeric(PackedNumeric),
    /// text, varchar, and char without its trailing blanks; UTF-8
    Text(Bytes),
    /// bytea; a range
    Bytea(Bytes),
    /// uuid, in network order
    Uuid([u8; 16]),
    /// interval
    Interval(Interval),
    /// jsonb, in its canonical form
    Jsonb(Bytes),
    /// array
    Array(ArrayRef),
    /// numeric that two words have no room for: its bytes ([`planaria_base::numeric::Long`]). NaN and the infinities have none:
    /// their byte is the place
    Long(Bytes),
    /// citext, as it was written
    Citext(Bytes),
}

/// What the bytes of a row are as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BytesKind {
    /// text, varchar, char, json
    Text,
    /// bytea, ranges; what an array is kept as
    Bytea,
    /// jsonb
    Jsonb,
    /// citext
    Citext,
}

impl BytesKind {
    /// Of a column of a type.
    pub fn of(ty: &Type) -> BytesKind {
        match ty {
            Type::Bytea | Type::Range(_) | Type::Packed(_) | Type::Array(_) | Type::Record(_) => {
                BytesKind::Bytea
            }
            Type::Jsonb => BytesKind::Jsonb,
            Type::Citext => BytesKind::Citext,
            _ => BytesKind::Text,
        }
    }

    /// The value.
    #[inline(always)]
    pub const fn slot(self, bytes: Bytes) -> Slot {
        match self {
            BytesKind::Text => Slot::Text(bytes),
            BytesKind::Bytea => Slot::Bytea(bytes),
            BytesKind::Jsonb => Slot::Jsonb(bytes),
            BytesKind::Citext => Slot::Citext(bytes),
        }
    }
}

/// Where an array's elements lie in the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayRef {
    /// Position of the first element.
    pub offset: u32,
    /// Number of elements.
    pub len: u32,
    /// Of a list from 1 on 0, else the place of its shape in the heap, counted from 1.
    pub shape: u32,
}

impl ArrayRef {
    /// A list from 1 on.
    #[inline]
    pub const fn list(offset: u32, len: u32) -> ArrayRef {
        ArrayRef { offset, len, shape: 0 }
    }

    /// Whether its first element is number 1 and it has one dimension, or is empty.
    #[inline]
    pub const fn is_list(self) -> bool {
        self.shape == 0
    }

    /// Its elements as a list.
    #[inline]
    pub const fn flat(self) -> ArrayRef {
        ArrayRef::list(self.offset, self.len)
    }
}

const _: () = assert!(size_of::<Slot>() <= 24, "a register is three words");

/// A bug of ours: the verifier or the binder let a value of the wrong class through.
#[cold]
#[inline(never)]
fn wrong_class(slot: Slot, wanted: &str) -> ! {
    panic!("a register of class {wanted} holds {slot:?}")
}

impl Slot {
    /// A numeric.
    #[inline]
    pub const fn numeric(n: Numeric) -> Slot {
        Slot::Numeric(n.pack())
    }
    /// Whether this is SQL NULL.
    #[inline]
    pub const fn is_null(self) -> bool {
        matches!(self, Slot::Null)
    }
    /// Whether this is `true`, and neither false nor NULL.
    #[inline]
    pub const fn is_true(self) -> bool {
        matches!(self, Slot::Bool(true))
    }
    /// The boolean; panics on NULL and other classes, as all of these do.
    #[inline]
    pub fn bool(self) -> bool {
        match self {
            Slot::Bool(b) => b,
            other => wrong_class(other, "boolean"),
        }
    }
    /// The integer, date, timestamp or row handle.
    #[inline]
    pub fn int(self) -> i64 {
        match self {
            Slot::Int(n) => n,
            other => wrong_class(other, "integer"),
        }
    }
    /// The double.
    #[inline]
    pub fn float(self) -> f64 {
        match self {
            Slot::Float(x) => x,
            other => wrong_class(other, "float"),
        }
    }
    /// The numeric, unpacked.
    #[inline]
    pub fn num(self) -> Numeric {
        match self {
            Slot::Numeric(n) => n.unpack(),
            other => wrong_class(other, "numeric"),
        }
    }
    /// Where the bytes of a text, bytea or jsonb lie.
    #[inline]
    pub fn bytes(self) -> Bytes {
        match self {
            Slot::Text(b) | Slot::Bytea(b) | Slot::Jsonb(b) | Slot::Citext(b) => b,
            other => wrong_class(other, "text"),
        }
    }
    /// The uuid.
    #[inline]
    pub fn uuid(self) -> [u8; 16] {
        match self {
            Slot::Uuid(u) => u,
            other => wrong_class(other, "uuid"),
        }
    }
    /// The interval.
    #[inline]
    pub fn interval(self) -> Interval {
        match self {
            Slot::Interval(i) => i,
            other => wrong_class(other, "interval"),
        }
    }
    /// The array.
    #[inline]
    pub fn array(self) -> ArrayRef {
        match self {
            Slot::Array(a) => a,
            other => wrong_class(other, "array"),
        }
    }
}
