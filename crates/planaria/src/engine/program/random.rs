//! What `random()` and its like are drawn from.

use super::inputs::Inputs;

impl Inputs {
    /// splitmix64, seeded by the system's randomness once a session: `random()` promises no more.
    pub(super) fn next_random(&mut self) -> u64 {
        if self.random == 0 {
            use std::hash::{BuildHasher, Hasher};
            let system = || std::collections::hash_map::RandomState::new().build_hasher().finish();
            self.random = planaria_base::sync::entropy(system) | 1;
        }
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}
