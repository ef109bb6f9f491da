//! What slots point to: texts, byteas and arrays of one worker, for the time of one transaction.
//!
//! Nothing is freed one by one. Texts lie in an [`Arena`], array elements in a side vector of
//! [`Slot`]s. Everything is immutable once made (but for [`Heap::array_set_in_place`], whose caller
//! owns the array), so slots share freely and a copy of a register is a copy of three words. What is appended to
//! grows in place all the same, behind what others see of it ([`planaria_storage::arena::growing`]).
//!
//! When a long-running program has made much garbage, the machine compacts at a safe point: it
//! copies every live slot with [`Heap::relocate`] into a second heap, swaps the two and clears the
//! old one. Sharing is not kept by that; a text reached from two registers becomes two.

use crate::slot::{ArrayRef, Slot};
use planaria_base::datetime::{BytesForm, Forms, Styles, Zone};
use planaria_base::numeric::{Long, Number};
use planaria_base::shape::{Dimension, Shape, too_many_elements};
use planaria_base::{Datum, Error, Result, SqlState, Type, limits, watch};
use planaria_storage::Field;
use planaria_storage::arena::growing::{Growing, room_for};
use planaria_storage::arena::{Arena, ArenaFull, Bytes};
use std::sync::Arc;

/// Texts, byteas and arrays of one worker. See the module's head.
#[derive(Default)]
pub struct Heap {
    /// Texts and byteas (and row images, which the machine copies here).
    pub arena: Arena,
    elements: Vec<Slot>,
    /// Of arrays that are no lists from 1 on.
    shapes: Vec<Shape>,
    /// Arrays with room behind them; positions and lengths in elements.
    growing: Growing,
    /// Where functions build a result before it is pushed; empty between calls.
    scratch: Vec<u8>,
    /// Nothing big is made here: constants are folded.
    small: bool,
    /// The time zone of the session, if it is not UTC.
    zone: Option<Arc<Zone>>,
    /// Its styles of dates and intervals.
    styles: Styles,
    /// Whether anything was computed with that zone, or with styles that are not the default, since it was last asked.
    forms_used: bool,
}

impl Heap {
    /// An empty heap.
    pub fn new() -> Heap {
        Heap::default()
    }

    /// An empty heap in which nothing of [`watch::STEP`] bytes can be made.
    pub(crate) fn small() -> Heap {
        Heap { small: true, ..Heap::default() }
    }

    /// The time zone of whoever computes here, where `None` is UTC, and the styles. A log of calls does not have them, so
    /// they are UTC and the default in replay: who logs a call asks [`Heap::used_forms`] before.
    pub fn set_forms(&mut self, zone: Option<Arc<Zone>>, styles: Styles) {
        self.zone = zone;
        self.styles = styles;
    }

    /// Takes zone and styles over from another heap, in whose place this one comes.
    pub(crate) fn take_forms_of(&mut self, other: &mut Heap) {
        self.zone = other.zone.take();
        self.styles = other.styles;
        self.forms_used |= other.used_forms();
    }

    /// Whether something depended on a zone that is not UTC, or on styles that are not the default; then it starts anew.
    pub fn used_forms(&mut self) -> bool {
        std::mem::take(&mut self.forms_used)
    }

    /// What runs depends on something that no call has in the log.
    pub(crate) fn depends_on_forms(&mut self) {
        self.forms_used = true;
    }

    /// What is done here is an input of what runs, whatever it depends on: it is not noted.
    pub fn unnoticed<R>(&mut self, f: impl FnOnce(&mut Heap) -> R) -> R {
        let used = self.forms_used;
        let result = f(self);
        self.forms_used = used;
        result
    }

    /// The same, for whoever keeps what it shows.
    pub fn shared_zone(&self) -> Option<Arc<Zone>> {
        self.zone.clone()
    }

    /// For messages, and for who has noted that it depends on it.
    pub fn shown_zone(&self) -> Option<&Zone> {
        self.zone.as_deref()
    }

    /// The styles, for whoever shows something, or has noted that it depends on them.
    #[inline]
    pub fn styles(&self) -> Styles {
        self.styles
    }

    /// Both, for the same.
    #[inline]
    pub fn forms(&self) -> Forms<'_> {
        Forms { zone: self.zone.as_deref(), styles: self.styles }
    }

    /// For whoever depends on it.
    pub(crate) fn zone(&mut self) -> Option<Arc<Zone>> {
        self.forms_used |= self.zone.is_some();
        self.zone.clone()
    }

    /// The styles, for whoever reads a text by them.
    pub(crate) fn read_styles(&mut self) -> Styles {
        self.forms_used |= self.styles.reads_otherwise();
        self.styles
    }

    /// A value of the type is going to be written for good.
    pub(crate) fn writes(&mut self, ty: &Type) {
        if ty.has_zone() {
            self.forms_used |= self.zone.is_some();
        }
        self.forms_used |= self.styles.writes_otherwise() && ty.has_style();
        self.forms_used |= self.styles.bytes != BytesForm::Hex && ty.has_bytes();
        self.forms_used |= self.styles.fewer_digits > 0 && ty.has_floats();
    }

    /// To be asked before so many bytes are made: 53200 where there is no memory for them, 57014 where the
    /// statement is to end.
    #[inline]
    pub fn admit(&self, bytes: usize) -> Result<()> {
        if bytes < watch::STEP { Ok(()) } else { self.admit_much(bytes) }
    }

    #[cold]
    fn admit_much(&self, bytes: usize) -> Result<()> {
        if self.small {
            return Err(ArenaFull.into());
        }
        watch::room(self.used().saturating_add(bytes))
    }

    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        self.arena.reset();
        self.elements.clear();
        self.shapes.clear();
        self.growing.truncate(0);
        // As the arena does: one giant transaction must not pin its memory.
        if self.elements.capacity() > ELEMENTS_KEPT_MAX {
            self.elements = Vec::new();
        }
        if self.shapes.capacity() > SHAPES_KEPT_MAX {
            self.shapes = Vec::new();
        }
    }

    /// Bytes in use, texts and array elements; what the machine bounds and decides to compact by.
    #[inline]
    pub fn used(&self) -> usize {
        self.arena.used_words() * 8
            + self.elements.len() * size_of::<Slot>()
            + self.shapes.len() * size_of::<Shape>()
    }

    /// Bytes that it takes, in use or not.
    pub fn capacity(&self) -> usize {
        self.arena.capacity()
            + self.elements.capacity() * size_of::<Slot>()
            + self.shapes.capacity() * size_of::<Shape>()
    }

    /// The bytes of a text or bytea.
    #[inline]
    pub fn bytes(&self, at: Bytes) -> &[u8] {
        self.arena.bytes(at)
    }

    /// Bytes that a slot points to, elements of arrays included.
    pub fn bytes_of(&self, slot: Slot) -> usize {
        match slot {
            Slot::Text(b) | Slot::Bytea(b) | Slot::Jsonb(b) | Slot::Citext(b) | Slot::Long(b) => {
                b.len as usize
            }
            Slot::Array(a) => {
                let of = |e: &Slot| size_of::<Datum>() + self.bytes_of(*e);
                self.elements(a).iter().map(of).sum()
            }
            _ => 0,
        }
    }

    /// A text as `str`.
    #[inline]
    pub fn str(&self, at: Bytes) -> &str {
        // Checked, because a `str` of other bytes would be undefined behaviour; all-ASCII texts
        // (nearly all) are checked 16 bytes at a time.
        std::str::from_utf8(self.arena.bytes(at)).expect("a text is UTF-8")
    }

    /// Copies a text in.
    #[inline]
    pub fn text(&mut self, s: &str) -> Result<Slot> {
        check_length(s.len())?;
        self.admit(s.len())?;
        Ok(Slot::Text(self.arena.push_bytes(s.as_bytes())?))
    }

    /// Copies a bytea in.
    #[inline]
    pub fn bytea(&mut self, b: &[u8]) -> Result<Slot> {
        check_length(b.len())?;
        self.admit(b.len())?;
        Ok(Slot::Bytea(self.arena.push_bytes(b)?))
    }

    /// Copies a jsonb in, which is in its canonical form.
    #[inline]
    pub fn jsonb(&mut self, s: &str) -> Result<Slot> {
        check_length(s.len())?;
        self.admit(s.len())?;
        Ok(Slot::Jsonb(self.arena.push_bytes(s.as_bytes())?))
    }

    /// Copies a citext in.
    #[inline]
    pub fn citext(&mut self, s: &str) -> Result<Slot> {
        self.text(s).map(|text| Slot::Citext(text.bytes()))
    }

    /// Copies the bytes of a numeric in that has no room in two words ([`Long::encode`]).
    #[cold]
    pub fn long_bytes(&mut self, bytes: &[u8]) -> Result<Slot> {
        if let [special] = bytes {
            return Ok(Slot::Long(Bytes { offset: u32::from(*special), len: 0 }));
        }
        self.admit(bytes.len())?;
        Ok(Slot::Long(self.arena.push_bytes(bytes)?))
    }

    /// A numeric, in two words if they have room for it.
    pub fn number(&mut self, n: Number) -> Result<Slot> {
        match n {
            Number::Short(n) => Ok(Slot::numeric(n)),
            Number::Long(n) => {
                let mut bytes = Vec::new();
                n.encode(&mut bytes);
                self.long_bytes(&bytes)
            }
        }
    }

    /// The bytes of a numeric that has no room in two words.
    pub fn long(&self, at: Bytes) -> &[u8] {
        if at.len == 0 { Long::special_bytes(at.offset as u8) } else { self.bytes(at) }
    }

    /// A numeric, or an integer as one, with room for everything; `None` of anything else.
    #[cold]
    pub fn to_long(&self, slot: Slot) -> Option<Long> {
        Some(match slot {
            Slot::Numeric(n) => n.unpack().into(),
            Slot::Long(at) => Long::from_bytes(self.long(at)),
            Slot::Int(n) => Long::whole(n),
            _ => return None,
        })
    }

    /// Builds bytes out of others of this heap: `fill` reads the heap and appends to the buffer.
    #[inline]
    pub fn build(&mut self, fill: impl FnOnce(&Heap, &mut Vec<u8>) -> Result<()>) -> Result<Bytes> {
        let mut buffer = std::mem::take(&mut self.scratch);
        buffer.clear();
        let built = match fill(self, &mut buffer) {
            Ok(()) => check_length(buffer.len())
                .and_then(|()| self.admit(buffer.len()))
                .and_then(|()| Ok(self.arena.push_bytes(&buffer)?)),
            Err(e) => Err(e),
        };
        // A giant is not kept: the scratch is the worker's, for good.
        if buffer.capacity() <= SCRATCH_KEPT_BYTES_MAX {
            self.scratch = buffer;
        }
        built
    }

    /// The same where so many bytes at most will be built: what is too long, or for what there is no memory, is
    /// refused before anything of it is made.
    pub fn build_within(
        &mut self,
        bytes: usize,
        fill: impl FnOnce(&Heap, &mut Vec<u8>) -> Result<()>,
    ) -> Result<Bytes> {
        // The scratch, and the copy.
        self.admit(bytes.saturating_mul(2))?;
        self.build(fill)
    }

    /// Texts or byteas of this heap, one behind the other. Appending to what was put together before takes the
    /// time of what is appended.
    #[inline]
    pub fn concat(&mut self, first: Bytes, others: impl Iterator<Item = Bytes> + Clone) -> Result<Bytes> {
        let len = others.clone().fold(first.len as usize, |len, part| len + part.len as usize);
        check_length(len)?;
        // Once for each step that it grows by: loops append byte by byte.
        if len / watch::STEP > first.len as usize / watch::STEP {
            self.admit(len)?;
        }
        Ok(self.arena.concat(first, others)?)
    }

    /// [`Heap::build`] of a text out of steps that cannot fail.
    #[inline]
    pub fn build_text(&mut self, fill: impl FnOnce(&Heap, &mut Vec<u8>)) -> Result<Slot> {
        let built = self.build(|heap, out| {
            fill(heap, out);
            Ok(())
        });
        built.map(Slot::Text)
    }

    /// A slot of this heap as a column's value. Panics on an array: no column is one.
    #[inline(always)]
    pub fn field(&self, slot: Slot) -> Field<'_> {
        match slot {
            Slot::Null => Field::Null,
            Slot::Bool(b) => Field::Bool(b),
            Slot::Int(n) => Field::Int(n),
            Slot::Float(x) => Field::Float(x),
            Slot::Numeric(n) => Field::Numeric(n.unpack()),
            Slot::Text(b) | Slot::Bytea(b) | Slot::Jsonb(b) | Slot::Citext(b) => Field::Bytes(self.bytes(b)),
            Slot::Long(b) => Field::Long(self.long(b)),
            Slot::Uuid(u) => Field::Uuid(u),
            Slot::Interval(i) => Field::Interval(i),
            Slot::Array(_) => unreachable!("no column is an array"),
        }
    }

    /// The elements of an array.
    #[inline]
    pub fn elements(&self, array: ArrayRef) -> &[Slot] {
        &self.elements[array.offset as usize..][..array.len as usize]
    }

    /// The shape of an array that is no list from 1 on.
    #[inline]
    pub fn shape(&self, array: ArrayRef) -> Option<&Shape> {
        if array.is_list() { None } else { self.shapes.get(array.shape as usize - 1) }
    }

    /// The dimensions of an array; none if it is empty.
    pub fn dimensions(&self, array: ArrayRef) -> Option<Shape> {
        match self.shape(array) {
            Some(shape) => Some(*shape),
            None if array.len == 0 => None,
            None => Some(Shape::list(array.len as usize)),
        }
    }

    /// The elements of an array in another shape, which has as many. Without one they are a list from 1 on.
    pub fn shaped(&mut self, array: ArrayRef, shape: Option<Shape>) -> Result<Slot> {
        let Some(shape) = shape.filter(|shape| !shape.is_list()) else {
            return Ok(Slot::Array(array.flat()));
        };
        assert_eq!(shape.elements(), array.len as usize, "an array has as many elements as its shape");
        if self.shape(array) == Some(&shape) {
            return Ok(Slot::Array(array));
        }
        if (self.shapes.len() + 1) * size_of::<Shape>() > limits::ARENA_BYTES_MAX {
            return Err(ArenaFull.into());
        }
        self.shapes.push(shape);
        Ok(Slot::Array(ArrayRef { shape: self.shapes.len() as u32, ..array }))
    }

    /// An array of these elements with the shape of another that has as many.
    pub fn array_like(&mut self, other: ArrayRef, elements: &[Slot]) -> Result<Slot> {
        let made = self.array(elements)?.array();
        debug_assert_eq!(made.len, other.len, "an array has as many elements as its shape");
        Ok(Slot::Array(ArrayRef { shape: other.shape, ..made }))
    }

    /// An array of these elements (slots of this heap).
    pub fn array(&mut self, elements: &[Slot]) -> Result<Slot> {
        let offset = self.room_for(elements.len())?;
        self.elements.extend_from_slice(elements);
        Ok(Slot::Array(ArrayRef::list(offset, elements.len() as u32)))
    }

    /// The same, of as many as there are.
    pub fn array_of(&mut self, elements: impl Iterator<Item = Slot>) -> Result<Slot> {
        let offset = self.room_for(elements.size_hint().1.unwrap_or(0))?;
        self.elements.extend(elements);
        let len = self.elements.len() as u32 - offset;
        Ok(Slot::Array(ArrayRef::list(offset, len)))
    }

    /// A slice of the elements of an array, which shares them: a list.
    #[inline]
    pub fn slice(&self, array: ArrayRef, from: usize, to: usize) -> Slot {
        debug_assert!(from <= to && to <= array.len as usize);
        Slot::Array(ArrayRef::list(array.offset + from as u32, (to - from) as u32))
    }

    /// The elements of an array with one more, as a list. Appending to what was put together before takes the time of what is
    /// appended; others who hold the shorter array do not notice.
    pub fn append(&mut self, array: ArrayRef, element: Slot) -> Result<Slot> {
        let grown = self.longer(array, array.len as usize + 1)?;
        self.elements[grown.offset as usize + array.len as usize] = element;
        Ok(Slot::Array(grown))
    }

    /// The same with all elements of another array.
    pub fn append_all(&mut self, array: ArrayRef, others: ArrayRef) -> Result<Slot> {
        let grown = self.longer(array, array.len as usize + others.len as usize)?;
        let from = others.offset as usize;
        let to = grown.offset as usize + array.len as usize;
        self.elements.copy_within(from..from + others.len as usize, to);
        Ok(Slot::Array(grown))
    }

    /// An array that begins with the elements of this one; those behind them are arbitrary. `array` may be in
    /// any state, also empty.
    fn longer(&mut self, array: ArrayRef, len: usize) -> Result<ArrayRef> {
        let (old, end) = (array.len as usize, self.elements.len());
        if len > limits::ARRAY_ELEMENTS_MAX {
            return Err(too_large());
        }
        let grown = ArrayRef::list(array.offset, len as u32);
        if old >= GROWING_ELEMENTS_MIN && self.growing.extend(array.offset, old, len) {
            return Ok(grown);
        }
        if old > 0 && array.offset as usize + old == end {
            // The newest of the heap needs no room but what comes.
            self.room_for(len - old)?;
            self.elements.resize(end + len - old, Slot::Null);
            return Ok(grown);
        }
        let room = if len < GROWING_ELEMENTS_MIN { len } else { room_for(len, limits::ARRAY_ELEMENTS_MAX) };
        let new = self.alloc_elements(len, room)?;
        self.elements.copy_within(array.offset as usize..array.offset as usize + old, new.offset as usize);
        Ok(new)
    }

    /// An array of arbitrary elements with room to grow, if there is any.
    fn alloc_elements(&mut self, len: usize, room: usize) -> Result<ArrayRef> {
        let (offset, room) = match self.room_for(room) {
            Ok(offset) => (offset, room),
            Err(_) => (self.room_for(len)?, len),
        };
        self.elements.resize(offset as usize + room, Slot::Null);
        if room > len {
            self.growing.remember(offset, len, room);
        }
        Ok(ArrayRef::list(offset, len as u32))
    }

    /// `array[index] = value` as a new array: for `array` NULL or empty, one that has only that element; beyond its bounds,
    /// NULLs fill the gap. 2202E where it has more dimensions.
    pub fn array_set(&mut self, array: Slot, index: i64, value: Slot) -> Result<Slot> {
        let old = self.assigned(array);
        let Some(shape) = self.dimensions(old) else {
            let one = self.array(&[value])?.array();
            let shape = Shape::new(&[Dimension { lower: int4(index)?, len: 1 }])?;
            return self.shaped(one, shape);
        };
        let &[dimension] = shape.dimensions() else { return Err(wrong_number_of_subscripts()) };
        if let Some(at) = dimension.place(index) {
            let copy = self.copy(old)?;
            self.elements[copy.offset as usize + at] = value;
            return Ok(Slot::Array(copy));
        }
        let index = int4(index)?;
        let lower = dimension.lower.min(index);
        let before = i64::from(dimension.lower) - i64::from(lower);
        let len = i64::from(index).max(dimension.upper()) - i64::from(lower) + 1;
        let shape = Shape::new(&[Dimension { lower, len: u32::try_from(len).map_err(|_| too_large())? }])?;
        let (len, old_len) = (len as usize, old.len as usize);
        if before > 0 {
            let made = self.alloc_elements(len, len)?;
            let (start, from) = (made.offset as usize, old.offset as usize);
            self.elements[start..start + before as usize].fill(Slot::Null);
            self.elements[start] = value;
            self.elements.copy_within(from..from + old_len, start + before as usize);
            return self.shaped(made, shape);
        }
        let grown = self.longer(old, len)?;
        let start = grown.offset as usize;
        self.elements[start + old_len..start + len - 1].fill(Slot::Null);
        self.elements[start + len - 1] = value;
        self.shaped(grown, shape)
    }

    /// [`Heap::array_set`] that overwrites. Only for an array that no other slot shares: the
    /// machine makes its own copy ([`Heap::copy`]) of the first one it assigns into.
    #[inline]
    pub fn array_set_in_place(&mut self, array: Slot, index: i64, value: Slot) -> Result<Slot> {
        match array {
            Slot::Array(a) if a.is_list() && index >= 1 && index <= i64::from(a.len) => {
                self.elements[a.offset as usize + index as usize - 1] = value;
                Ok(array)
            }
            other => self.array_set(other, index, value),
        }
    }

    /// The same with a subscript for each dimension. An array of several does not grow: 2202E beyond its bounds.
    pub fn array_set_at(&mut self, array: Slot, subscripts: ArrayRef, value: Slot) -> Result<Slot> {
        let subscripts: Vec<i64> = self.elements(subscripts).iter().map(|s| s.int()).collect();
        if let &[index] = &subscripts[..] {
            return self.array_set_in_place(array, index, value);
        }
        let old = self.assigned(array);
        let Some(shape) = self.dimensions(old) else {
            let dimension = |index: &i64| Ok(Dimension { lower: int4(*index)?, len: 1 });
            let shape = Shape::new(&subscripts.iter().map(dimension).collect::<Result<Vec<_>>>()?)?;
            let one = self.array(&[value])?.array();
            return self.shaped(one, shape);
        };
        if shape.dimensions().len() != subscripts.len() {
            return Err(wrong_number_of_subscripts());
        }
        let at = shape.place(subscripts.into_iter()).ok_or_else(subscript_out_of_range)?;
        self.elements[old.offset as usize + at] = value;
        Ok(Slot::Array(old))
    }

    fn assigned(&self, array: Slot) -> ArrayRef {
        match array {
            Slot::Array(a) => a,
            _ => ArrayRef::list(0, 0),
        }
    }

    /// The same array with elements of its own.
    pub fn copy(&mut self, array: ArrayRef) -> Result<ArrayRef> {
        let offset = self.room_for(array.len as usize)?;
        self.elements.extend_from_within(array.offset as usize..(array.offset + array.len) as usize);
        Ok(ArrayRef { offset, ..array })
    }

    fn room_for(&self, elements: usize) -> Result<u32> {
        let offset = self.elements.len();
        if elements > limits::ARRAY_ELEMENTS_MAX {
            return Err(too_large());
        }
        if (offset + elements) * size_of::<Slot>() > limits::ARENA_BYTES_MAX {
            return Err(ArenaFull.into());
        }
        self.admit(elements * size_of::<Slot>())?;
        Ok(offset as u32)
    }

    /// Copies a slot of `from`, with everything it points to, into `to`.
    pub fn relocate(slot: Slot, from: &Heap, to: &mut Heap) -> Result<Slot> {
        Ok(match slot {
            Slot::Text(b) => Slot::Text(to.arena.push_from(&from.arena, b)?),
            Slot::Bytea(b) => Slot::Bytea(to.arena.push_from(&from.arena, b)?),
            Slot::Jsonb(b) => Slot::Jsonb(to.arena.push_from(&from.arena, b)?),
            Slot::Citext(b) => Slot::Citext(to.arena.push_from(&from.arena, b)?),
            Slot::Long(b) if b.len > 0 => Slot::Long(to.arena.push_from(&from.arena, b)?),
            Slot::Array(a) => {
                // The room is taken first: elements that are arrays themselves push behind it.
                let len = a.len as usize;
                let room = from.growing.room(a.offset, len).unwrap_or(len);
                let offset = to.alloc_elements(len, room)?.offset as usize;
                to.elements[offset..offset + len].copy_from_slice(from.elements(a));
                for i in offset..offset + a.len as usize {
                    to.elements[i] = Heap::relocate(to.elements[i], from, to)?;
                }
                to.shaped(ArrayRef::list(offset as u32, a.len), from.shape(a).copied())?
            }
            plain => plain,
        })
    }

    /// From an owned value.
    pub fn push_datum(&mut self, datum: &Datum) -> Result<Slot> {
        Ok(match datum {
            Datum::Null => Slot::Null,
            Datum::Bool(b) => Slot::Bool(*b),
            Datum::Int(n) => Slot::Int(*n),
            Datum::Float(x) => Slot::Float(*x),
            Datum::Numeric(n) => Slot::numeric(*n),
            Datum::Long(n) => self.number((**n).clone().narrow())?,
            Datum::Text(s) => self.text(s)?,
            Datum::Bytea(b) => self.bytea(b)?,
            Datum::Jsonb(s) => self.jsonb(s)?,
            Datum::Citext(s) => self.citext(s)?,
            Datum::Uuid(u) => Slot::Uuid(*u),
            Datum::Interval(i) => Slot::Interval(*i),
            Datum::Reg(oid, _) => Slot::Int(i64::from(*oid)),
            Datum::Array(items) => Slot::Array(self.push_all(items)?),
            Datum::Shaped(of) => {
                let elements = self.push_all(of.elements())?;
                self.shaped(elements, Some(*of.shape()))?
            }
        })
    }

    fn push_all(&mut self, items: &[Datum]) -> Result<ArrayRef> {
        let offset = self.room_for(items.len())? as usize;
        self.elements.resize(offset + items.len(), Slot::Null);
        for (i, item) in items.iter().enumerate() {
            self.elements[offset + i] = self.push_datum(item)?;
        }
        Ok(ArrayRef::list(offset as u32, items.len() as u32))
    }

    /// Into an owned value.
    pub fn to_datum(&self, slot: Slot) -> Datum {
        match slot {
            Slot::Null => Datum::Null,
            Slot::Bool(b) => Datum::Bool(b),
            Slot::Int(n) => Datum::Int(n),
            Slot::Float(x) => Datum::Float(x),
            Slot::Numeric(n) => Datum::Numeric(n.unpack()),
            Slot::Long(b) => Datum::Long(Box::new(Long::from_bytes(self.long(b)))),
            Slot::Text(b) => Datum::Text(self.str(b).to_owned()),
            Slot::Bytea(b) => Datum::Bytea(self.bytes(b).to_vec()),
            Slot::Jsonb(b) => Datum::Jsonb(self.str(b).to_owned()),
            Slot::Citext(b) => Datum::Citext(self.str(b).to_owned()),
            Slot::Uuid(u) => Datum::Uuid(u),
            Slot::Interval(i) => Datum::Interval(i),
            Slot::Array(a) => {
                let elements = self.elements(a).iter().map(|e| self.to_datum(*e)).collect();
                Datum::array(self.shape(a).copied(), elements)
            }
        }
    }
}

/// Arrays that are shorter get no room.
const GROWING_ELEMENTS_MIN: usize = 8;
const SCRATCH_KEPT_BYTES_MAX: usize = 64 << 10;
const ELEMENTS_KEPT_MAX: usize = 1 << 19;
const SHAPES_KEPT_MAX: usize = 1 << 16;
const _: () =
    assert!(limits::ARENA_BYTES_MAX / size_of::<Slot>() <= u32::MAX as usize, "positions are 32 bits");

/// 54000 for what is longer than a text or bytea may be.
#[inline]
pub(crate) fn check_length(bytes: usize) -> Result<()> {
    if bytes > limits::TEXT_BYTES_MAX { Err(text_too_large()) } else { Ok(()) }
}

#[cold]
fn text_too_large() -> Error {
    Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "requested length too large")
}

#[cold]
pub(crate) fn too_large() -> Error {
    too_many_elements()
}

/// 2202E
#[cold]
pub(crate) fn wrong_number_of_subscripts() -> Error {
    Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, "wrong number of array subscripts")
}

/// 2202E
#[cold]
pub(crate) fn subscript_out_of_range() -> Error {
    Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, "array subscript out of range")
}

fn int4(subscript: i64) -> Result<i32> {
    i32::try_from(subscript).map_err(|_| too_large())
}
