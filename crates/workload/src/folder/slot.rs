//! Where a drawn value stands until the engine takes it: its buffers are used again.

use planaria::{Numeric, Param, ParamRef, Params};

/// A drawn value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slot {
    kind: Kind,
    whole: i64,
    float: f64,
    uuid: [u8; 16],
    text: String,
    items: Items,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Kind {
    #[default]
    Null,
    Bool,
    Int,
    /// As it is kept: dates in days, timestamps in microseconds.
    Stored,
    /// With so many digits after the point.
    Decimal(u8),
    Float,
    Text,
    Uuid,
    Array,
}

/// The values of an array; more may be there for later.
#[derive(Clone, Debug, Default)]
pub(crate) struct Items {
    pub(crate) slots: Vec<Slot>,
    pub(crate) used: usize,
}

impl Slot {
    pub(crate) fn set_null(&mut self) {
        self.kind = Kind::Null;
    }

    pub(crate) fn set_bool(&mut self, value: bool) {
        (self.kind, self.whole) = (Kind::Bool, i64::from(value));
    }

    #[inline]
    pub(crate) fn set_int(&mut self, value: i64) {
        (self.kind, self.whole) = (Kind::Int, value);
    }

    pub(crate) fn set_stored(&mut self, value: i64) {
        (self.kind, self.whole) = (Kind::Stored, value);
    }

    pub(crate) fn set_decimal(&mut self, mantissa: i64, scale: u8) {
        (self.kind, self.whole) = (Kind::Decimal(scale), mantissa);
    }

    pub(crate) fn set_float(&mut self, value: f64) {
        (self.kind, self.float) = (Kind::Float, value);
    }

    pub(crate) fn set_uuid(&mut self, value: [u8; 16]) {
        (self.kind, self.uuid) = (Kind::Uuid, value);
    }

    /// Becomes a text; the buffer is empty.
    pub(crate) fn set_text(&mut self) -> &mut String {
        self.kind = Kind::Text;
        self.text.clear();
        &mut self.text
    }

    /// Becomes an array, of what is made of it.
    pub(crate) fn set_array(&mut self) -> &mut Items {
        self.kind = Kind::Array;
        &mut self.items
    }

    /// As expressions take it; what is no number is 0.
    pub(crate) fn whole(&self) -> i64 {
        match self.kind {
            Kind::Int | Kind::Stored | Kind::Bool | Kind::Decimal(_) => self.whole,
            _ => 0,
        }
    }

    /// Whether two are the same value.
    pub(crate) fn equals(&self, other: &Slot) -> bool {
        self.kind == other.kind
            && match self.kind {
                Kind::Text => self.text == other.text,
                Kind::Float => self.float == other.float,
                Kind::Uuid => self.uuid == other.uuid,
                Kind::Null => true,
                Kind::Array => false,
                _ => self.whole == other.whole,
            }
    }

    /// Order among values of one generator.
    pub(crate) fn order(&self, other: &Slot) -> std::cmp::Ordering {
        match self.kind {
            Kind::Text => self.text.cmp(&other.text),
            Kind::Float => self.float.total_cmp(&other.float),
            Kind::Uuid => self.uuid.cmp(&other.uuid),
            _ => self.whole.cmp(&other.whole),
        }
    }
}

impl Param for Slot {
    #[inline]
    fn as_param(&self) -> ParamRef<'_> {
        match self.kind {
            Kind::Null => ParamRef::Null,
            Kind::Bool => ParamRef::Bool(self.whole != 0),
            Kind::Int => ParamRef::Int(self.whole),
            Kind::Stored => ParamRef::Stored(self.whole),
            Kind::Decimal(scale) => {
                Numeric::from_parts(i128::from(self.whole), scale).map_or(ParamRef::Null, ParamRef::Numeric)
            }
            Kind::Float => ParamRef::Float(self.float),
            Kind::Text => ParamRef::Text(&self.text),
            Kind::Uuid => ParamRef::Uuid(self.uuid),
            Kind::Array => ParamRef::Array(&self.items),
        }
    }
}

impl Params for Items {
    fn count(&self) -> usize {
        self.used
    }
    fn param(&self, i: usize) -> ParamRef<'_> {
        self.slots[i].as_param()
    }
}

/// Some of the values, in an order, as parameters.
pub(crate) struct Chosen<'a> {
    pub(crate) slots: &'a [Slot],
    pub(crate) order: &'a [usize],
}

impl Params for Chosen<'_> {
    fn count(&self) -> usize {
        self.order.len()
    }
    #[inline]
    fn param(&self, i: usize) -> ParamRef<'_> {
        self.slots[self.order[i]].as_param()
    }
}
