//! What `random()` and its like are drawn from, and what UUIDs are.
//!
//! One number of `random()` tells all that follow, as in PostgreSQL. A UUID tells nothing of others: it may be the key of
//! a web session, and salts and random bytes are made of UUIDs, while all that a session of a server runs for one client after
//! another is drawn here.

use crate::engine::unforeseen::unforeseen;
use planaria_base::{Error, Result, SqlState};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// splitmix64
fn split(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// xoroshiro128**, which PostgreSQL draws from: a seed gives the numbers that it gives there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seeded(u64, u64);

impl Seeded {
    fn of(seed: f64) -> Seeded {
        let mut seed = (((1u64 << 52) - 1) as f64 * seed) as i64 as u64;
        let first = split(&mut seed);
        Seeded(first, split(&mut seed))
    }

    /// A number from 0 up to 1: 52 bits of it.
    pub(super) fn next(&mut self) -> f64 {
        let Seeded(first, second) = *self;
        let other = second ^ first;
        let drawn = first.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        *self = Seeded(first.rotate_left(24) ^ other ^ (other << 16), other.rotate_left(37));
        (drawn >> 12) as f64 / (1u64 << 52) as f64
    }
}

/// What `random()` draws from: each client has its own.
#[derive(Default)]
pub(crate) struct Chance {
    /// The state of splitmix64; 0: not seeded yet.
    plain: u64,
    /// In its place since `setseed()`.
    seeded: Option<Seeded>,
}

impl Chance {
    /// A number from 0 up to 1.
    pub(super) fn next(&mut self) -> f64 {
        match &mut self.seeded {
            Some(seeded) => seeded.next(),
            // 53 bits: every float8 of the grid in [0, 1) once.
            None => (self.next_plain() >> 11) as f64 / (1u64 << 53) as f64,
        }
    }

    /// splitmix64, seeded by the system's randomness once: `random()` promises no more.
    fn next_plain(&mut self) -> u64 {
        if self.plain == 0 {
            use std::hash::{BuildHasher, Hasher};
            let system = || std::collections::hash_map::RandomState::new().build_hasher().finish();
            self.plain = planaria_base::sync::entropy(system) | 1;
        }
        split(&mut self.plain)
    }

    /// `setseed()`
    pub(super) fn seed(&mut self, seed: f64) -> Result<()> {
        if !(-1.0..=1.0).contains(&seed) {
            let mut shown = Vec::new();
            planaria_base::text_io::write_float(&mut shown, seed);
            let shown = String::from_utf8_lossy(&shown);
            let message = format!("setseed parameter {shown} is out of allowed range [-1,1]");
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
        }
        self.seeded = Some(Seeded::of(seed));
        Ok(())
    }
}

/// ChaCha20, seeded by the system's randomness when a session draws its first UUID: 16 bytes of it take a few nanoseconds, where
/// asking the system each time would take hundreds.
#[derive(Default)]
pub(crate) struct Secret(Option<Box<ChaCha20Rng>>);

impl Secret {
    /// A random UUID (version 4).
    pub(super) fn uuid(&mut self) -> Result<[u8; 16]> {
        let generator = match &mut self.0 {
            Some(generator) => generator,
            none => none.insert(Box::new(ChaCha20Rng::from_seed(unforeseen()?))),
        };
        let mut bytes = [0; 16];
        generator.fill_bytes(&mut bytes);
        bytes[6] = bytes[6] & 0x0F | 0x40;
        bytes[8] = bytes[8] & 0x3F | 0x80;
        Ok(bytes)
    }
}
