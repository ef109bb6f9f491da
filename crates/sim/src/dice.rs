//! Chance, by seed.

/// SplitMix64 (G. Steele, D. Lea, C. Flood, OOPSLA 2014): the same numbers from the same seed, whatever the machine.
#[derive(Clone, Default, Debug)]
pub struct Dice(u64);

impl Dice {
    /// From a seed alone.
    pub fn of_seed(seed: u64) -> Dice {
        Dice(seed)
    }

    /// From a seed and a number within what it is for.
    pub fn new(seed: u64, number: u64) -> Dice {
        let mut dice = Dice(seed ^ number.wrapping_mul(0xd134_2543_de82_ef95));
        dice.draw();
        dice
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `n`, which is not 0.
    pub fn below(&mut self, n: u64) -> u64 {
        self.draw() % n
    }

    /// One of these.
    pub fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// Whether something happens that does so `percent` times in a hundred.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}
