//! 256-bit intermediates: what a quotient's numerator or a radicand may need before the result is
//! known to fit. Also the limb arithmetic that [`super::power`] runs on.

use std::cmp::Ordering;

/// Little-endian 32-bit limbs. Small enough that every step fits 64-bit arithmetic, and the rare
/// path: nearly every operation of a workload stays in 128 bits.
pub(super) type Wide = [u32; 8];

fn limbs(n: u128) -> [u32; 4] {
    [n as u32, (n >> 32) as u32, (n >> 64) as u32, (n >> 96) as u32]
}

/// `a * b`.
pub(super) fn mul(a: u128, b: u128) -> Wide {
    let mut product = [0u32; 8];
    mul_limbs(&limbs(a), &limbs(b), &mut product);
    product
}

/// `a * b`, `None` beyond 256 bits.
pub(super) fn checked_mul(a: &Wide, b: u128) -> Option<Wide> {
    let mut product = [0u32; 12];
    mul_limbs(a, &limbs(b), &mut product);
    product[8..].iter().all(|l| *l == 0).then(|| std::array::from_fn(|i| product[i]))
}

/// Quotient (`None` if it exceeds 128 bits) and remainder.
pub(super) fn div_rem(a: &Wide, divisor: u128) -> (Option<u128>, u128) {
    let mut rest = [0u32; 9];
    rest[..8].copy_from_slice(a);
    let mut quotient = [0u32; 9];
    div_rem_limbs(&mut rest, &limbs(divisor), &mut quotient);
    let fits = quotient[4..].iter().all(|l| *l == 0);
    (fits.then(|| low(&quotient)), low(&rest))
}

fn low(limbs: &[u32]) -> u128 {
    limbs[..4].iter().rev().fold(0, |n, limb| n << 32 | u128::from(*limb))
}

/// The whole square root, and whether the next one is nearer; `None` if it exceeds 127 bits.
pub(super) fn sqrt_round(n: &Wide) -> Option<u128> {
    // One bit of the root at a time, from the top: 127 steps of one multiplication.
    let mut root = 0u128;
    for bit in (0..127).rev() {
        let candidate = root | 1 << bit;
        if compare(&mul(candidate, candidate), n) != Ordering::Greater {
            root = candidate;
        }
    }
    // n nearer to (root+1)^2 than to root^2  <=>  n > root^2 + root.
    let half = mul(root, root.checked_add(1)?);
    let root = if compare(n, &half) == Ordering::Greater { root + 1 } else { root };
    (root < 1 << 127).then_some(root)
}

fn compare(a: &Wide, b: &Wide) -> Ordering {
    a.iter().rev().cmp(b.iter().rev())
}

/// `out = a * b`; `out` has at least the limbs of both together and starts as zero.
pub(super) fn mul_limbs(a: &[u32], b: &[u32], out: &mut [u32]) {
    for (i, x) in a.iter().enumerate() {
        let mut carry = 0u64;
        for (j, y) in b.iter().enumerate() {
            let sum = u64::from(*x) * u64::from(*y) + u64::from(out[i + j]) + carry;
            out[i + j] = sum as u32;
            carry = sum >> 32;
        }
        out[i + b.len()] = carry as u32;
    }
}

/// Schoolbook division (Knuth, TAOCP 4.3.1, algorithm D). `rest` holds the dividend with one zero
/// limb above it and becomes the remainder; `quotient` has as many limbs as `rest`. `divisor` must
/// not be zero.
pub(super) fn div_rem_limbs(rest: &mut [u32], divisor: &[u32], quotient: &mut [u32]) {
    let size = divisor.iter().rposition(|l| *l != 0).expect("a divisor is not zero") + 1;
    let divisor = &divisor[..size];
    quotient.fill(0);
    if let [single] = divisor {
        let mut carry = 0u64;
        for i in (0..rest.len()).rev() {
            let current = carry << 32 | u64::from(rest[i]);
            quotient[i] = (current / u64::from(*single)) as u32;
            carry = current % u64::from(*single);
            rest[i] = 0;
        }
        rest[0] = carry as u32;
        return;
    }
    // Normalized so that the top bit of the divisor is set, which bounds the error of the guess.
    let shift = divisor[size - 1].leading_zeros();
    let top = |at: usize, below: usize, from: &[u32]| -> u64 {
        let word = u64::from(from[at]) << 32 | if below < at { u64::from(from[below]) } else { 0 };
        (word << shift) >> 32 & 0xffff_ffff
    };
    let normalized = |at: usize, from: &[u32]| top(at, at.wrapping_sub(1), from);
    let (d1, d0) = (normalized(size - 1, divisor), normalized(size - 2, divisor));
    for at in (size..rest.len()).rev() {
        // The three top limbs of the current remainder, shifted alike.
        let high = (u64::from(rest[at]) << 32 | u64::from(rest[at - 1])) as u128;
        let triple = (high << 32 | u128::from(rest[at - 2])) << shift
            | if at >= 3 && shift > 0 { u128::from(rest[at - 3]) >> (32 - shift) } else { 0 };
        let two = (triple >> 32) as u64;
        let third = triple as u64 & 0xffff_ffff;
        let mut guess = (two / d1).min(0xffff_ffff);
        let mut left = two - guess * d1;
        while left <= 0xffff_ffff && guess * d0 > (left << 32 | third) {
            guess -= 1;
            left += d1;
        }
        if sub_mul(&mut rest[at - size..=at], divisor, guess) {
            guess -= 1;
            add_back(&mut rest[at - size..=at], divisor);
        }
        quotient[at - size] = guess as u32;
    }
}

/// `rest -= divisor * factor`; whether that went below zero.
fn sub_mul(rest: &mut [u32], divisor: &[u32], factor: u64) -> bool {
    let mut carry = 0u64;
    let mut borrow = 0i64;
    for (i, limb) in rest.iter_mut().enumerate() {
        let product = divisor.get(i).map_or(0, |d| u64::from(*d)) * factor + carry;
        carry = product >> 32;
        let difference = i64::from(*limb) - (product & 0xffff_ffff) as i64 + borrow;
        *limb = difference as u32;
        borrow = difference >> 32;
    }
    borrow < 0 || carry > 0
}

fn add_back(rest: &mut [u32], divisor: &[u32]) {
    let mut carry = 0u64;
    for (i, limb) in rest.iter_mut().enumerate() {
        let sum = u64::from(*limb) + divisor.get(i).map_or(0, |d| u64::from(*d)) + carry;
        *limb = sum as u32;
        carry = sum >> 32;
    }
}
