//! Records: a row's current image beside its protocol header, for optimistic readers.
//!
//! ```text
//!  | header H | descriptor | payload words ...        |
//!                  |  inline:   length of the image in the payload
//!                  '- overflow: pointer to | class, length | payload words ... |
//! ```
//!
//! 1. Everything that changes is an atomic accessed with relaxed loads and stores: a reader that races
//!    with a writer gets a torn image, never undefined behaviour. Whether it is torn is for the
//!    protocol to find out, by its header (Boehm, *Can seqlocks get along with programming language
//!    memory models?*, MSPC 2012).
//! 2. The descriptor is one word, so length and place of the image are always consistent with each
//!    other: no reader follows a pointer that was never one, or reads beyond a block, *whatever the
//!    protocol does*. The payload's size is the block's class, which never changes.
//! 3. An image that outgrew the payload moves to an overflow block, and stays in overflow blocks from
//!    then on; blocks that were replaced are retired.
//!
//! So memory safety asks two things of a protocol: it follows a [`RecordPtr`] only under the pin under
//! which it got it (or while it is the only one who knows it), and retires a record once, after it has
//! been taken out of every index. Both are `unsafe` calls here.

#![allow(unsafe_code)] // raw blocks of varying length

pub(crate) mod copy;

use crate::arena::{Arena, ArenaFull};
use crate::heap::{Block, Heap};
use crate::reclaim::{Lasting, Pinned};
use crate::row::Part;
use crate::versions::VersionStorage;
use planaria_base::CommitTs;
use planaria_base::sync::atomic::{AtomicU64, Ordering};
use std::marker::PhantomData;
use std::ptr::NonNull;

/// What a reader of a snapshot finds in a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Glance {
    /// A commit is changing it: look again.
    Busy,
    /// A row that is as it is since this commit, as long as [`Header::holds`] the word.
    Row(CommitTs, u64),
    /// No row.
    Absent,
}

/// What a protocol keeps with each record: atomics, no larger than a few words.
pub trait Header: Send + Sync + 'static {
    /// How the versions of a row are stored: see [`versions`](crate::versions).
    type Versions: VersionStorage;

    /// Of a record that is [`Glance::Busy`]: whether whoever changes it is going to do so behind `at` in the order of
    /// commits. Only where versions stay as they are ([`VersionStorage::INTACT`]) a reader can do anything with that.
    fn changes_after(&self, at: CommitTs) -> bool {
        let _ = at;
        false
    }
    /// What the record holds at this moment. By default, for headers that know no versions: a row has been
    /// there for ever.
    fn glance(&self) -> Glance {
        if self.is_present() { Glance::Row(CommitTs(0), 0) } else { Glance::Absent }
    }
    /// Whether everything read of the record since [`Glance::Row`] gave `word` belongs together.
    fn holds(&self, word: u64) -> bool {
        let _ = word;
        true
    }
    /// Of a record that no transaction may see yet.
    fn absent() -> Self;
    /// Whether the record holds a row, as far as whoever is alone with the table can tell.
    fn is_present(&self) -> bool;
    /// Makes the record hold a row, or not, while nobody else looks: for loading, replay and tests.
    fn set_present(&self, present: bool);
}

#[repr(C)]
pub(crate) struct Head<H> {
    header: H,
    pub(crate) descriptor: AtomicU64,
}

// Blocks are counted in words and accessed as atomics.
const _: () = assert!(size_of::<AtomicU64>() == 8);

pub(crate) const CLASS_MASK: u64 = 0xff;
const OVERFLOW: u64 = 0x100;
pub(crate) const SHIFT: u32 = 16;

/// The head of an overflow block: class in the low byte, length of the image from [`SHIFT`] on.
type OverflowHead = AtomicU64;

/// An image in an arena: offset and length in words.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Image {
    /// Word offset within the arena.
    pub offset: u32,
    /// Length in words.
    pub len: u32,
}

impl Image {
    /// Its words.
    #[inline]
    pub fn words(self, arena: &Arena) -> &[u64] {
        arena.words(self.offset, self.len)
    }
}

/// The address of a record. Just an address: following it is [`RecordPtr::deref`].
pub struct RecordPtr<H>(NonNull<Head<H>>);

impl<H> Clone for RecordPtr<H> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}
impl<H> Copy for RecordPtr<H> {}
impl<H> PartialEq for RecordPtr<H> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl<H> Eq for RecordPtr<H> {}
impl<H> std::fmt::Debug for RecordPtr<H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
// SAFETY: an address; what it points to is `Send + Sync` (atomics and `H: Send + Sync`).
unsafe impl<H: Header> Send for RecordPtr<H> {}
// SAFETY: as above.
unsafe impl<H: Header> Sync for RecordPtr<H> {}

impl<H> RecordPtr<H> {
    pub(crate) fn head(self) -> *mut Head<H> {
        self.0.as_ptr()
    }

    /// The address, as indexes hold it. Never 0, a multiple of 8.
    #[inline]
    pub fn to_word(self) -> u64 {
        self.0.as_ptr().expose_provenance() as u64
    }

    /// Back from [`RecordPtr::to_word`].
    #[inline]
    pub fn from_word(word: u64) -> RecordPtr<H> {
        let pointer = std::ptr::with_exposed_provenance_mut(word as usize);
        RecordPtr(NonNull::new(pointer).expect("an index entry points to a record"))
    }

    /// Asks the processor to fetch the record's first lines.
    #[inline]
    pub fn prefetch(self) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let line = self.0.as_ptr().cast::<i8>();
            // SAFETY: a prefetch is a hint; it may name any address.
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(line);
                _mm_prefetch::<_MM_HINT_T0>(line.wrapping_add(64));
            }
        }
    }

    /// Asks the processor to fetch the header and this many bytes of the image, of which more than
    /// eight lines would only wait.
    #[inline]
    pub fn prefetch_image(self, bytes: usize) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let start = self.0.as_ptr().cast::<i8>();
            let end = (size_of::<Head<H>>() + bytes).min(8 * 64);
            // Records begin anywhere on a line: the last byte's line is asked for as well.
            for at in (0..end).step_by(64).chain([end]) {
                // SAFETY: a prefetch is a hint; it may name any address.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(at)) };
            }
        }
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        let _ = bytes;
    }

    /// Asks the processor to fetch the header alone.
    #[inline]
    pub fn prefetch_head(self) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: a prefetch is a hint; it may name any address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(self.0.as_ptr().cast::<i8>()) };
        }
    }

    /// Looks at the record for as long as the pin lasts.
    ///
    /// # Safety
    /// It was found in an index, or allocated, under this very pin; or it is in an index of a table
    /// that nobody changes.
    #[inline]
    pub unsafe fn deref<'p>(self, _pin: Pinned<'p>) -> RecordRef<'p, H> {
        RecordRef { head: self.0, _pin: PhantomData }
    }

    /// Looks at the record for as long as somebody's pin lasts.
    ///
    /// # Safety
    /// It was found in an index, or allocated, by a thread that was started during that pin.
    #[inline]
    pub unsafe fn deref_lasting<'p>(self, _pin: Lasting<'p>) -> RecordRef<'p, H> {
        RecordRef { head: self.0, _pin: PhantomData }
    }
}

/// A record that can be looked at.
pub struct RecordRef<'p, H> {
    head: NonNull<Head<H>>,
    _pin: PhantomData<&'p Head<H>>,
}

impl<H> Clone for RecordRef<'_, H> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}
impl<H> Copy for RecordRef<'_, H> {}
// SAFETY: a reference to a head, whose image and header are atomics, for as long as a pin that cannot end
// before `'p` does, whichever thread looks.
unsafe impl<H: Sync> Send for RecordRef<'_, H> {}
// SAFETY: as above.
unsafe impl<H: Sync> Sync for RecordRef<'_, H> {}

/// Words of a record without its payload.
const fn head_words<H>() -> usize {
    assert!(align_of::<Head<H>>() == 8);
    size_of::<Head<H>>() / 8
}

/// Makes an absent record with room for `image`.
pub(crate) fn allocate<H: Header>(heap: &Heap, worker: usize, words: usize) -> RecordPtr<H> {
    let head_words = const { head_words::<H>() };
    let words = H::Versions::room(words);
    // A very long image goes to an overflow block at once: records themselves have a class.
    let payload = if head_words + words > crate::heap::CLASS_WORDS_MAX { 1 } else { words };
    let Block { start, class } = heap.allocate(worker, head_words + payload);
    let head = start.cast::<Head<H>>();
    // SAFETY: the block is ours, aligned to words, and has room for the head. Payload words are
    // atomics that nobody reads before they are written: the length is 0.
    unsafe { head.write(Head { header: H::absent(), descriptor: AtomicU64::new(u64::from(class)) }) };
    // SAFETY: that many words follow the head.
    #[cfg(loom)]
    unsafe {
        make_atomics(start.add(head_words), payload)
    };
    RecordPtr(NonNull::new(head).expect("an allocation"))
}

/// Frees a record that no reader can hold.
///
/// # Safety
/// It is in no index, nobody looks at it, and its heap is alive.
pub(crate) unsafe fn free<H: Header>(record: RecordPtr<H>) {
    // SAFETY: as promised.
    unsafe {
        H::Versions::free(record);
        let descriptor = (*record.head()).descriptor.load(Ordering::Relaxed);
        Heap::free(record.head().cast(), descriptor as u8);
    }
}

/// [`VersionStorage::free`] of records with one image.
///
/// # Safety
/// As for [`free`].
#[inline]
pub(crate) unsafe fn free_overflow<H>(record: RecordPtr<H>) {
    // SAFETY: as promised.
    unsafe {
        let descriptor = (*record.head()).descriptor.load(Ordering::Relaxed);
        if descriptor & OVERFLOW != 0 {
            let block = overflow_block(descriptor);
            Heap::free(block, overflow_class(block));
        }
    }
}

/// Frees a record and its overflow block when no reader can hold it any more.
///
/// # Safety
/// No index leads to it but for entries of who is pinned now; its heap is alive; it is retired once.
pub(crate) unsafe fn retire<H: Header>(record: RecordPtr<H>, pin: Pinned<'_>) {
    // SAFETY: as promised.
    unsafe {
        let descriptor = (*record.head()).descriptor.load(Ordering::Relaxed);
        if descriptor & OVERFLOW != 0 {
            retire_overflow(overflow_block(descriptor), pin);
        }
        retire_head(record, pin);
    }
}

/// The same of the record alone.
///
/// # Safety
/// As for [`retire`].
pub(crate) unsafe fn retire_head<H: Header>(record: RecordPtr<H>, pin: Pinned<'_>) {
    // SAFETY: as promised.
    unsafe {
        let descriptor = (*record.head()).descriptor.load(Ordering::Relaxed);
        Heap::retire(record.head().cast(), descriptor as u8, pin, free_retired::<H>);
    }
}

/// # Safety
/// The deleter of `retire`: `block` is a record that was retired.
unsafe fn free_retired<H>(block: *mut u8) {
    // SAFETY: as promised.
    unsafe {
        let class = (*block.cast::<Head<H>>()).descriptor.load(Ordering::Relaxed) as u8;
        Heap::free_retired(block.cast(), class);
    }
}

#[inline]
fn overflow_block(descriptor: u64) -> *mut u64 {
    std::ptr::with_exposed_provenance_mut((descriptor >> SHIFT) as usize)
}

/// # Safety
/// `block` is an overflow block that is not freed.
unsafe fn overflow_class(block: *mut u64) -> u8 {
    // SAFETY: as promised; the class never changes.
    unsafe { (*block.cast::<OverflowHead>()).load(Ordering::Relaxed) as u8 }
}

/// # Safety
/// No record points to the block any more; retired once; its heap is alive.
unsafe fn retire_overflow(block: *mut u64, pin: Pinned<'_>) {
    unsafe fn free(block: *mut u8) {
        // SAFETY: the deleter runs once for the retired block.
        unsafe { Heap::free_retired(block.cast(), overflow_class(block.cast())) }
    }
    // SAFETY: as promised.
    unsafe { Heap::retire(block, overflow_class(block), pin, free) }
}

impl<'p, H> RecordRef<'p, H> {
    /// Its address.
    #[inline]
    pub fn ptr(self) -> RecordPtr<H> {
        RecordPtr(self.head)
    }

    #[inline]
    pub(crate) fn head(self) -> &'p Head<H> {
        // SAFETY: whoever made this promised that the record lives as long as 'p.
        unsafe { self.head.as_ref() }
    }

    /// The protocol's header.
    #[inline]
    pub fn header(self) -> &'p H {
        &self.head().header
    }

    /// Of a record with one image, that as atomics: of the length that it has at this moment.
    #[inline]
    pub(crate) fn only_image(self) -> &'p [AtomicU64] {
        let descriptor = self.head().descriptor.load(Ordering::Acquire);
        if descriptor & OVERFLOW != 0 {
            return self.overflow_image(descriptor);
        }
        let len = (descriptor >> SHIFT) as usize;
        // SAFETY: an inline descriptor's length is within the block (see `write`), whose words after
        // the head are initialised up to any length that was ever published.
        unsafe {
            let payload = self.head.as_ptr().cast::<AtomicU64>().add(const { head_words::<H>() });
            std::slice::from_raw_parts(payload, len)
        }
    }

    #[cold]
    #[inline(never)]
    fn overflow_image(self, descriptor: u64) -> &'p [AtomicU64] {
        let block = overflow_block(descriptor).cast::<AtomicU64>();
        // SAFETY: the descriptor was published with its block (release/acquire), and the block is
        // retired after the descriptor changed, so the pin keeps it; its length is within it.
        unsafe {
            let len = (*block).load(Ordering::Acquire) >> SHIFT;
            std::slice::from_raw_parts(block.add(1), len as usize)
        }
    }

    /// Replaces the only image. The caller holds the record's lock, or is alone with it.
    #[inline]
    pub(crate) fn overwrite(self, image: &[u64], heap: &Heap, worker: usize, pin: Pinned<'_>) {
        let head_words = const { head_words::<H>() };
        let descriptor = self.head().descriptor.load(Ordering::Relaxed);
        let class = descriptor & CLASS_MASK;
        if descriptor & OVERFLOW == 0 {
            // SAFETY: the record is alive, `class` is its class.
            let room = unsafe { Heap::words(self.head.as_ptr().cast(), class as u8) } - head_words;
            if image.len() <= room {
                // SAFETY: `room` words follow the head.
                let payload = unsafe { self.head.as_ptr().cast::<AtomicU64>().add(head_words) };
                let inline = class | (image.len() as u64) << SHIFT;
                if inline == descriptor {
                    // SAFETY: the record is alive, and that many words of it are initialised.
                    let words = unsafe { std::slice::from_raw_parts(payload, image.len()) };
                    copy::store_changed(words, image);
                } else {
                    // SAFETY: as above; concurrent readers use atomics too.
                    unsafe { store(payload, image) };
                    // Release: whoever reads the new length finds its words initialised.
                    self.head().descriptor.store(inline, Ordering::Release);
                }
                return;
            }
        }
        self.write_overflow(image, descriptor, heap, worker, pin);
    }

    #[cold]
    #[inline(never)]
    fn write_overflow(self, image: &[u64], descriptor: u64, heap: &Heap, worker: usize, pin: Pinned<'_>) {
        if descriptor & OVERFLOW != 0 {
            let block = overflow_block(descriptor);
            // SAFETY: the record points to the block, so it is alive.
            unsafe {
                let class = overflow_class(block);
                if image.len() < Heap::words(block, class) {
                    store(block.cast::<AtomicU64>().add(1), image);
                    let head = u64::from(class) | (image.len() as u64) << SHIFT;
                    (*block.cast::<OverflowHead>()).store(head, Ordering::Release);
                    return;
                }
            }
        }
        // Room to grow by a quarter: what has outgrown its record once may do so again.
        let Block { start, class } = heap.allocate(worker, 1 + image.len() + image.len() / 4);
        // SAFETY: a fresh block that nobody else knows yet.
        unsafe {
            let head = u64::from(class) | (image.len() as u64) << SHIFT;
            start.cast::<OverflowHead>().write(AtomicU64::new(head));
            #[cfg(loom)]
            make_atomics(start.add(1), image.len() + image.len() / 4);
            store(start.cast::<AtomicU64>().add(1), image);
        }
        let address = start.expose_provenance() as u64;
        assert!(address >> (64 - SHIFT) == 0, "user addresses have 48 bits");
        let moved = descriptor & CLASS_MASK | OVERFLOW | address << SHIFT;
        // The swap hands each block to exactly one writer, even if a protocol let two in.
        let old = self.head().descriptor.swap(moved, Ordering::AcqRel);
        if old & OVERFLOW != 0 {
            // SAFETY: just unlinked from the record; by this swap nobody else retires it.
            unsafe { retire_overflow(overflow_block(old), pin) };
        }
    }
}

impl<'p, H: Header> RecordRef<'p, H> {
    /// The newest image as atomics.
    #[inline]
    fn image(self) -> &'p [AtomicU64] {
        H::Versions::newest(self)
    }

    /// The words of the image, for who is alone with the record: they are not copied, so nothing tells
    /// whether they belong together.
    ///
    /// # Safety
    /// Whoever stores to them is alone with the record: nobody reads an older image of it.
    #[inline]
    pub unsafe fn words(self) -> &'p [AtomicU64] {
        self.image()
    }

    /// Copies the image into an arena. The copy may be torn: believe it only after the protocol's
    /// check.
    #[inline(always)]
    pub fn read(self, arena: &mut Arena) -> Result<Image, ArenaFull> {
        let image = self.image();
        let offset = arena.alloc_words(image.len())?;
        let len = image.len() as u32;
        copy::load(image, arena.words_mut(offset, len));
        Ok(Image { offset, len })
    }

    /// The same of a part of the image: what is not wanted may be anything. Of a short image it is the whole.
    #[inline]
    pub fn read_part(self, part: &Part, arena: &mut Arena) -> Result<Image, ArenaFull> {
        let (image, mark) = (self.image(), arena.mark());
        let offset = arena.alloc_words(image.len())?;
        let len = image.len() as u32;
        if part.copy(image, arena.words_mut(offset, len)) {
            return Ok(Image { offset, len });
        }
        arena.truncate(mark);
        self.read(arena)
    }

    /// Appends the image to a vector; as [`RecordRef::read`].
    pub fn read_to_vec(self, out: &mut Vec<u64>) {
        out.extend(self.image().iter().map(|word| word.load(Ordering::Relaxed)));
    }
}

/// # Safety
/// `words.len()` words from `to` on may be written, and are otherwise accessed as atomics only.
#[inline]
pub(crate) unsafe fn store(to: *mut AtomicU64, words: &[u64]) {
    for (i, word) in words.iter().enumerate() {
        // SAFETY: as promised; a fresh block's words become initialised by their first store.
        unsafe { (*to.add(i)).store(*word, Ordering::Relaxed) };
    }
}

/// The model checker's atomics are no mere words: they have to be made.
///
/// # Safety
/// That many words from `start` on are the caller's alone.
#[cfg(loom)]
pub(crate) unsafe fn make_atomics(start: *mut u64, words: usize) {
    for i in 0..words {
        // SAFETY: as promised.
        unsafe { start.add(i).cast::<AtomicU64>().write(AtomicU64::new(0)) };
    }
}

/// Asks for so many lines of memory from where these bytes begin: for buffers that are walked in no order.
#[inline]
pub fn prefetch_bytes(bytes: &[u8], lines: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..lines {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch is a hint; it may name any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(bytes.as_ptr().cast::<i8>().wrapping_add(line * 64)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (bytes, lines);
}

#[cfg(all(test, loom))]
mod model;
