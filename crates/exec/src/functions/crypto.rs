//! Functions of PostgreSQL's extensions `pgcrypto` and `uuid-ossp`.
//!
//! Nothing here draws anything: what is random comes as UUIDs, which are drawn and logged as those of `gen_random_uuid` are, and is
//! stretched by SHA-512. Passwords are hashed by bcrypt and by the MD5 of FreeBSD's `crypt`.

use super::bytes::{md5, sha2};
use crate::heap::Heap;
use crate::slot::Slot;
use aes::cipher::generic_array::GenericArray;
use aes::cipher::{BlockDecrypt, BlockEncrypt, KeyInit};
use planaria_base::{Error, Result, SqlState};
use planaria_storage::arena::Bytes;
use sha1::{Digest, Sha1};

mod armor;
mod password;

pub use armor::{armor, dearmor};
pub use password::{crypt, salt};

const BLOCK: usize = 16;
/// Bytes that `gen_random_bytes` gives at most.
const RANDOM_BYTES_MAX: i64 = 1024;

fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

fn failed(message: impl Into<String>) -> Error {
    Error::new(SqlState::EXTERNAL_ROUTINE_INVOCATION, message)
}

/// A hash by its name; `None` where there is none of that name.
fn hash(name: &str, data: &[u8]) -> Result<Option<Vec<u8>>> {
    Ok(Some(match name.to_ascii_lowercase().as_str() {
        "md5" => md5(data)?.to_vec(),
        "sha1" => Sha1::digest(data).to_vec(),
        "sha224" => sha2(data, 224)?,
        "sha256" => sha2(data, 256)?,
        "sha384" => sha2(data, 384)?,
        "sha512" => sha2(data, 512)?,
        _ => return Ok(None),
    }))
}

fn no_hash(name: &str) -> Error {
    invalid(format!("Cannot use \"{name}\": No such hash algorithm"))
}

/// `digest`
pub fn digest(heap: &mut Heap, data: Bytes, name: Bytes) -> Result<Slot> {
    let name = heap.str(name).to_owned();
    let made = hash(&name, heap.bytes(data))?.ok_or_else(|| no_hash(&name))?;
    heap.bytea(&made)
}

/// `hmac` (RFC 2104)
pub fn hmac(heap: &mut Heap, data: Bytes, key: Bytes, name: Bytes) -> Result<Slot> {
    let name = heap.str(name).to_owned();
    let of = |data: &[u8]| hash(&name, data)?.ok_or_else(|| no_hash(&name));
    let block = match name.to_ascii_lowercase().as_str() {
        "sha384" | "sha512" => 128,
        _ => 64,
    };
    let mut key = heap.bytes(key).to_vec();
    if key.len() > block {
        key = of(&key)?;
    }
    key.resize(block, 0);
    let padded = |pad: u8, rest: &[u8]| {
        let mut all: Vec<u8> = key.iter().map(|b| b ^ pad).collect();
        all.extend_from_slice(rest);
        all
    };
    let inner = of(&padded(0x36, heap.bytes(data)))?;
    let made = of(&padded(0x5c, &inner))?;
    heap.bytea(&made)
}

/// So many bytes out of two random UUIDs.
fn stretched(seed: [[u8; 16]; 2], len: usize) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(len + 64);
    for block in 0u32.. {
        if out.len() >= len {
            break;
        }
        let mut input = block.to_le_bytes().to_vec();
        seed.iter().for_each(|uuid| input.extend_from_slice(uuid));
        out.extend(sha2(&input, 512)?);
    }
    out.truncate(len);
    Ok(out)
}

/// `gen_random_bytes`
pub fn random_bytes(heap: &mut Heap, seed: [[u8; 16]; 2], len: i64) -> Result<Slot> {
    if !(1..=RANDOM_BYTES_MAX).contains(&len) {
        return Err(failed("Length not in range"));
    }
    let bytes = stretched(seed, len as usize)?;
    heap.bytea(&bytes)
}

/// A cipher as `encrypt` is told.
struct Cipher {
    chained: bool,
    padded: bool,
}

impl Cipher {
    /// `aes`, `aes-cbc`, `aes-ecb`, and behind that `/pad:pkcs` or `/pad:none`.
    fn parse(text: &str, who: &str) -> Result<Cipher> {
        let cannot = |why: &str| invalid(format!("Cannot use \"{text}\": {why}"));
        let lower = text.to_ascii_lowercase();
        let mut parts = lower.split('/');
        let chained = match parts.next().unwrap_or_default() {
            "aes" | "aes-cbc" | "rijndael" | "rijndael-cbc" => true,
            "aes-ecb" | "rijndael-ecb" => false,
            // PostgreSQL has these by OpenSSL, whose current versions have them no more.
            "bf" | "bf-cbc" | "bf-ecb" | "bf-cfb" | "blowfish" | "des" | "des-cbc" | "des-ecb" | "des3"
            | "3des" | "des3-cbc" | "des3-ecb" | "3des-cbc" | "3des-ecb" | "cast5" | "cast5-cbc"
            | "cast5-ecb" => {
                return Err(failed(format!("{who} error: Cipher cannot be initialized")));
            }
            _ => return Err(cannot("No such cipher algorithm")),
        };
        let mut padded = true;
        for option in parts {
            match option.split_once(':') {
                Some(("pad", "pkcs")) => padded = true,
                Some(("pad", "none")) => padded = false,
                Some(("pad", _)) | None => return Err(cannot("No such cipher algorithm")),
                Some(_) => return Err(cannot("Unknown option")),
            }
        }
        Ok(Cipher { chained, padded })
    }
}

/// AES with a key of any length: filled with zeros, or cut.
enum Aes {
    Short(aes::Aes128),
    Middle(aes::Aes192),
    Long(aes::Aes256),
}

impl Aes {
    fn new(key: &[u8]) -> Aes {
        let filled = |len: usize| {
            let mut all = key[..key.len().min(len)].to_vec();
            all.resize(len, 0);
            all
        };
        match key.len() {
            0..=16 => Aes::Short(aes::Aes128::new(GenericArray::from_slice(&filled(16)))),
            17..=24 => Aes::Middle(aes::Aes192::new(GenericArray::from_slice(&filled(24)))),
            _ => Aes::Long(aes::Aes256::new(GenericArray::from_slice(&filled(32)))),
        }
    }

    fn encrypt(&self, block: &mut [u8; BLOCK]) {
        let block = GenericArray::from_mut_slice(block);
        match self {
            Aes::Short(aes) => aes.encrypt_block(block),
            Aes::Middle(aes) => aes.encrypt_block(block),
            Aes::Long(aes) => aes.encrypt_block(block),
        }
    }

    fn decrypt(&self, block: &mut [u8; BLOCK]) {
        let block = GenericArray::from_mut_slice(block);
        match self {
            Aes::Short(aes) => aes.decrypt_block(block),
            Aes::Middle(aes) => aes.decrypt_block(block),
            Aes::Long(aes) => aes.decrypt_block(block),
        }
    }
}

fn xor(block: &mut [u8; BLOCK], with: &[u8; BLOCK]) {
    block.iter_mut().zip(with).for_each(|(a, b)| *a ^= b);
}

/// `encrypt` and `encrypt_iv`: data, key, initial vector, cipher; which of the two says the error.
pub fn encrypt(heap: &mut Heap, [data, key, iv, cipher]: [Bytes; 4], with_iv: bool) -> Result<Slot> {
    let who = if with_iv { "encrypt_iv" } else { "encrypt" };
    let cipher = Cipher::parse(heap.str(cipher), who)?;
    let aes = Aes::new(heap.bytes(key));
    let mut data = heap.bytes(data).to_vec();
    if cipher.padded {
        let missing = BLOCK - data.len() % BLOCK;
        data.resize(data.len() + missing, missing as u8);
    } else if !data.len().is_multiple_of(BLOCK) {
        return Err(failed(format!("{who} error: Encryption failed")));
    }
    let mut before = vector(heap.bytes(iv));
    for block in data.as_chunks_mut::<BLOCK>().0 {
        if cipher.chained {
            xor(block, &before);
        }
        aes.encrypt(block);
        before = *block;
    }
    heap.bytea(&data)
}

/// `decrypt` and `decrypt_iv`: the same.
pub fn decrypt(heap: &mut Heap, [data, key, iv, cipher]: [Bytes; 4], with_iv: bool) -> Result<Slot> {
    let who = if with_iv { "decrypt_iv" } else { "decrypt" };
    let cipher = Cipher::parse(heap.str(cipher), who)?;
    let aes = Aes::new(heap.bytes(key));
    let mut data = heap.bytes(data).to_vec();
    let wrong = || failed(format!("{who} error: Decryption failed"));
    if !data.len().is_multiple_of(BLOCK) || cipher.padded && data.is_empty() {
        return Err(wrong());
    }
    let mut before = vector(heap.bytes(iv));
    for block in data.as_chunks_mut::<BLOCK>().0 {
        let own = *block;
        aes.decrypt(block);
        if cipher.chained {
            xor(block, &before);
        }
        before = own;
    }
    if cipher.padded {
        let filled = data.last().map_or(0, |b| usize::from(*b));
        let fits = (1..=BLOCK).contains(&filled)
            && data[data.len() - filled..].iter().all(|b| usize::from(*b) == filled);
        if !fits {
            return Err(wrong());
        }
        data.truncate(data.len() - filled);
    }
    heap.bytea(&data)
}

/// An initial vector of any length: filled with zeros, or cut.
fn vector(iv: &[u8]) -> [u8; BLOCK] {
    let mut all = [0; BLOCK];
    let len = iv.len().min(BLOCK);
    all[..len].copy_from_slice(&iv[..len]);
    all
}

/// A UUID of bytes: with its version and variant.
fn marked(mut uuid: [u8; 16], version: u8) -> Slot {
    uuid[6] = uuid[6] & 0x0f | version << 4;
    uuid[8] = uuid[8] & 0x3f | 0x80;
    Slot::Uuid(uuid)
}

/// `uuid_generate_v3` and `uuid_generate_v5`: of a namespace and a name.
pub fn uuid_of_name(heap: &Heap, namespace: [u8; 16], name: Bytes, version: i64) -> Result<Slot> {
    let mut data = namespace.to_vec();
    data.extend_from_slice(heap.bytes(name));
    let digest = if version == 3 { md5(&data)?.to_vec() } else { Sha1::digest(&data).to_vec() };
    let mut uuid = [0; 16];
    uuid.copy_from_slice(&digest[..16]);
    Ok(marked(uuid, version as u8))
}

/// `uuid_generate_v1mc`: of a time and a node, which is random and says so; `micros` since 2000.
pub fn uuid_of_time(random: [u8; 16], micros: i64) -> Slot {
    /// From the beginning of the Gregorian calendar to 2000-01-01, in days.
    const DAYS: i64 = 152_383;
    // In units of 100 ns; the digit below a microsecond is random, so that those of one moment differ.
    // Of a clock that stands at the end of time it is the rest.
    let since = micros.wrapping_add(DAYS * 86_400_000_000);
    let ticks = since.wrapping_mul(10).wrapping_add(i64::from(random[0] % 10)) as u64;
    let mut uuid = random;
    uuid[..4].copy_from_slice(&(ticks as u32).to_be_bytes());
    uuid[4..6].copy_from_slice(&((ticks >> 32) as u16).to_be_bytes());
    uuid[6..8].copy_from_slice(&((ticks >> 48) as u16).to_be_bytes());
    // No card has an address with that bit.
    uuid[10] |= 1;
    marked(uuid, 1)
}
