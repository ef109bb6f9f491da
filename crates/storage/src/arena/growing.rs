//! Room behind what grows: how appending in a loop takes time linear in the result.
//!
//! Everything in an arena is immutable, and shared freely. So `s || x` makes a new text, and a loop of it would
//! copy `s` each time. Instead, what is put together from something long gets as much room behind it again, and
//! this table remembers, by where it begins, how long its longest version is and how much room it has. Whoever
//! appends to the longest version writes behind it; whoever has a shorter one still has it, and a copy is made
//! when he appends to it. There is no limit to how many grow at a time, as groups of `string_agg` do.
//!
//! Lengths, positions and rooms are in whatever unit the owner counts in.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::BuildHasherDefault;

/// See the module's head.
#[derive(Default)]
pub struct Growing {
    // Without random keys: nobody chooses positions, and an arena is made at compile time.
    rooms: HashMap<u32, Room, BuildHasherDefault<DefaultHasher>>,
    /// Where the last room ends.
    end: usize,
}

#[derive(Clone, Copy)]
struct Room {
    /// Length of the longest version.
    len: usize,
    /// Length that it may have.
    room: usize,
}

impl Growing {
    /// Nothing grows.
    pub const fn new() -> Growing {
        Growing { rooms: HashMap::with_hasher(BuildHasherDefault::new()), end: 0 }
    }

    /// The longest version of what begins at `at` is `len` long and has room until `at + room`.
    pub fn remember(&mut self, at: u32, len: usize, room: usize) {
        debug_assert!(len <= room);
        self.rooms.insert(at, Room { len, room });
        self.end = self.end.max(at as usize + room);
    }

    /// Whether what begins at `at` and is `len` long may be appended to in place until it is `to` long; it is
    /// from now on.
    #[inline]
    pub fn extend(&mut self, at: u32, len: usize, to: usize) -> bool {
        match self.rooms.get_mut(&at) {
            Some(room) if room.len == len && to <= room.room => {
                room.len = to;
                true
            }
            _ => false,
        }
    }

    /// The room of what begins at `at`, if this is the length of its longest version.
    #[inline]
    pub fn room(&self, at: u32, len: usize) -> Option<usize> {
        self.rooms.get(&at).filter(|room| room.len == len).map(|room| room.room)
    }

    /// What begins at `end` or later is gone.
    #[inline]
    pub fn truncate(&mut self, end: usize) {
        if self.end > end {
            self.forget(end);
        }
    }

    #[cold]
    fn forget(&mut self, end: usize) {
        if end == 0 {
            // One giant transaction must not pin its memory, nor make each reset walk an empty table.
            *self = Growing::new();
            return;
        }
        self.rooms.retain(|at, _| (*at as usize) < end);
        self.end = end;
    }
}

/// The room to give to something of this length that grows; `max` is the longest that may be.
pub fn room_for(len: usize, max: usize) -> usize {
    (2 * len).min(max).max(len)
}
