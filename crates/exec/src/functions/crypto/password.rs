//! `crypt` and `gen_salt`: bcrypt, and the MD5 of FreeBSD's `crypt`.

use super::{invalid, stretched};
use crate::functions::bytes::md5;
use crate::heap::Heap;
use crate::slot::Slot;
use blowfish::Blowfish;
use planaria_base::{Error, Result, watch};
use planaria_storage::arena::Bytes;

/// The digits of salts and hashes: of bcrypt, and of all others.
const BCRYPT_DIGITS: &[u8; 64] = b"./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const DIGITS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const ROUNDS_DEFAULT: u32 = 6;
const SALT_DIGITS: usize = 22;
/// Bytes of a password that bcrypt knows.
const PASSWORD_BYTES_MAX: usize = 72;
const MD5_SALT_MAX: usize = 8;

fn unsupported() -> Error {
    Error::unsupported("passwords hashed by DES are not supported", "Use gen_salt('bf').")
}

/// `gen_salt`: of an algorithm and a number of rounds, 0 for the usual one.
pub fn salt(heap: &mut Heap, seed: [[u8; 16]; 2], name: Bytes, rounds: i64) -> Result<Slot> {
    let wrong = || invalid("gen_salt: Incorrect number of rounds");
    let made = match heap.str(name).to_ascii_lowercase().as_str() {
        "bf" => {
            let rounds = match rounds {
                0 => ROUNDS_DEFAULT,
                4..=31 => rounds as u32,
                _ => return Err(wrong()),
            };
            let mut made = format!("$2a${rounds:02}$").into_bytes();
            bcrypt_digits(&stretched(seed, 16)?, &mut made);
            made
        }
        "md5" => {
            if !matches!(rounds, 0 | 1000) {
                return Err(wrong());
            }
            let digits = stretched(seed, MD5_SALT_MAX)?;
            let mut made = b"$1$".to_vec();
            made.extend(digits.iter().map(|b| DIGITS[usize::from(b % 64)]));
            made
        }
        "des" | "xdes" => return Err(unsupported()),
        _ => return Err(invalid("gen_salt: Unknown salt algorithm")),
    };
    heap.text(&String::from_utf8_lossy(&made))
}

/// `crypt`: of a password and a salt, or a hash with its salt in front.
pub fn crypt(heap: &mut Heap, password: Bytes, setting: Bytes) -> Result<Slot> {
    let (password, setting) = (heap.bytes(password).to_vec(), heap.bytes(setting).to_vec());
    let made = match &setting[..] {
        [b'$', b'2', variant @ (b'a' | b'x'), b'$', rest @ ..] => {
            // That variant takes other letters for negative numbers.
            if *variant == b'x' && !password.is_ascii() {
                return Err(Error::unsupported("passwords hashed as $2x$ are not supported", "Use $2a$."));
            }
            let (cost, salt) = bcrypt_setting(rest).ok_or_else(|| invalid("invalid salt"))?;
            let mut made = setting[..7 + SALT_DIGITS - 1].to_vec();
            // Of the last digit two bits count.
            let last = BCRYPT_DIGITS.iter().position(|d| *d == setting[7 + SALT_DIGITS - 1]).unwrap_or(0);
            made.push(BCRYPT_DIGITS[last & 0x30]);
            bcrypt_digits(&bcrypt(&password, cost, salt)?[..23], &mut made);
            made
        }
        [b'$', b'2', b'$', ..] => return Err(invalid("invalid salt")),
        [b'$', b'1', b'$', rest @ ..] => {
            let end = rest.iter().position(|b| *b == b'$').unwrap_or(rest.len());
            md5_crypt(&password, &rest[..end.min(MD5_SALT_MAX)])?
        }
        [] | [_] => return Err(invalid("invalid salt")),
        _ => return Err(unsupported()),
    };
    heap.text(&String::from_utf8_lossy(&made))
}

/// The cost and the salt of what follows `$2a$`.
fn bcrypt_setting(rest: &[u8]) -> Option<(u32, [u8; 16])> {
    let [tens @ b'0'..=b'3', ones @ b'0'..=b'9', b'$', digits @ ..] = rest else { return None };
    let cost = u32::from(tens - b'0') * 10 + u32::from(ones - b'0');
    if !(4..=31).contains(&cost) {
        return None;
    }
    let mut bits = 0u128;
    for digit in digits.get(..SALT_DIGITS - 1)? {
        bits = bits << 6 | BCRYPT_DIGITS.iter().position(|d| d == digit)? as u128;
    }
    let last =
        BCRYPT_DIGITS.iter().position(|d| *d == digits[SALT_DIGITS - 1..].first().copied().unwrap_or(0))?;
    Some((cost, (bits << 2 | last as u128 >> 4).to_be_bytes()))
}

fn bcrypt_digits(data: &[u8], out: &mut Vec<u8>) {
    for part in data.chunks(3) {
        let mut three = [0; 3];
        three[..part.len()].copy_from_slice(part);
        let word = u32::from_be_bytes([0, three[0], three[1], three[2]]);
        out.extend((0..=part.len()).map(|digit| BCRYPT_DIGITS[(word >> (18 - 6 * digit) & 63) as usize]));
    }
}

/// Provos and Mazières, A Future-Adaptable Password Scheme (1999).
fn bcrypt(password: &[u8], cost: u32, salt: [u8; 16]) -> Result<[u8; 24]> {
    let mut key = password[..password.len().min(PASSWORD_BYTES_MAX)].to_vec();
    if key.len() < PASSWORD_BYTES_MAX {
        key.push(0);
    }
    let mut state: Blowfish = Blowfish::bc_init_state();
    state.salted_expand_key(&salt, &key);
    for round in 0..1u64 << cost {
        state.bc_expand_key(&key);
        state.bc_expand_key(&salt);
        if round % 16 == 0 {
            watch::check()?;
        }
    }
    let mut text = *b"OrpheanBeholderScryDoubt";
    for block in text.as_chunks_mut::<8>().0 {
        let [a, b] =
            [0, 4].map(|at| u32::from_be_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]]));
        let mut both = [a, b];
        for _ in 0..64 {
            both = state.bc_encrypt(both);
        }
        block[..4].copy_from_slice(&both[0].to_be_bytes());
        block[4..].copy_from_slice(&both[1].to_be_bytes());
    }
    Ok(text)
}

/// Poul-Henning Kamp's, of FreeBSD 2.0.
fn md5_crypt(password: &[u8], salt: &[u8]) -> Result<Vec<u8>> {
    let inner = md5(&[password, salt, password].concat())?;
    let mut text = [password, b"$1$", salt].concat();
    text.extend(inner.iter().cycle().take(password.len()));
    let mut bits = password.len();
    while bits != 0 {
        text.push(if bits & 1 == 1 { 0 } else { password[0] });
        bits >>= 1;
    }
    let mut hash = md5(&text)?;
    for round in 0..1000 {
        let mut text = Vec::new();
        text.extend_from_slice(if round % 2 == 1 { password } else { &hash });
        if round % 3 != 0 {
            text.extend_from_slice(salt);
        }
        if round % 7 != 0 {
            text.extend_from_slice(password);
        }
        text.extend_from_slice(if round % 2 == 1 { &hash } else { password });
        hash = md5(&text)?;
    }
    let mut made = [b"$1$", salt, b"$"].concat();
    let mut push = |mut word: u32, digits: usize| {
        for _ in 0..digits {
            made.push(DIGITS[(word & 63) as usize]);
            word >>= 6;
        }
    };
    for [a, b, c] in [[0, 6, 12], [1, 7, 13], [2, 8, 14], [3, 9, 15], [4, 10, 5]] {
        push(u32::from_be_bytes([0, hash[a], hash[b], hash[c]]), 4);
    }
    push(hash[11].into(), 2);
    Ok(made)
}
