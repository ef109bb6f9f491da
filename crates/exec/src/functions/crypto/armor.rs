//! `armor`, `dearmor`: the text form of OpenPGP (RFC 4880), without headers.

use super::failed;
use crate::heap::Heap;
use crate::slot::Slot;
use planaria_base::{Result, limits};
use planaria_storage::arena::Bytes;

const BEGIN: &str = "-----BEGIN PGP MESSAGE-----";
const END: &str = "-----END PGP MESSAGE-----";
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const LINE: usize = 76;
const _: () = assert!(limits::TEXT_BYTES_MAX < usize::MAX / 2, "lengths do not overflow");

fn checksum(data: &[u8]) -> [u8; 3] {
    let crc = data.iter().fold(0x00b7_04ce_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte) << 16, |crc, _| {
            let next = crc << 1;
            if next & 0x0100_0000 == 0 { next } else { next ^ 0x0186_4cfb }
        })
    });
    let [_, a, b, c] = crc.to_be_bytes();
    [a, b, c]
}

fn encoded(data: &[u8], out: &mut Vec<u8>) {
    for part in data.chunks(3) {
        let mut three = [0; 3];
        three[..part.len()].copy_from_slice(part);
        let word = u32::from_be_bytes([0, three[0], three[1], three[2]]);
        for digit in 0..4 {
            let value = (word >> (18 - 6 * digit) & 63) as usize;
            out.push(if digit <= part.len() { DIGITS[value] } else { b'=' });
        }
    }
}

fn decoded(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let digits: Vec<u8> = text.iter().copied().filter(|b| !b.is_ascii_whitespace()).collect();
    if !digits.len().is_multiple_of(4) {
        return None;
    }
    let end = digits.iter().position(|b| *b == b'=').unwrap_or(digits.len());
    if digits.len() - end > 2 || digits[end..].iter().any(|b| *b != b'=') {
        return None;
    }
    for part in digits[..end].chunks(4) {
        let mut word = 0;
        for digit in part {
            word = word << 6 | DIGITS.iter().position(|d| d == digit)? as u32;
        }
        let bytes = (word << (6 * (4 - part.len()))).to_be_bytes();
        out.extend_from_slice(&bytes[1..part.len()]);
    }
    Some(out)
}

/// `armor`
pub fn armor(heap: &mut Heap, data: Bytes) -> Result<Slot> {
    heap.build_text(|heap, out| {
        let data = heap.bytes(data);
        let mut digits = Vec::new();
        encoded(data, &mut digits);
        out.extend_from_slice(BEGIN.as_bytes());
        out.extend_from_slice(b"\n\n");
        for line in digits.chunks(LINE) {
            out.extend_from_slice(line);
            out.push(b'\n');
        }
        out.push(b'=');
        encoded(&checksum(data), out);
        out.push(b'\n');
        out.extend_from_slice(END.as_bytes());
        out.push(b'\n');
    })
}

/// `dearmor`
pub fn dearmor(heap: &mut Heap, text: Bytes) -> Result<Slot> {
    let found = unarmored(heap.str(text)).ok_or_else(|| failed("Corrupt ascii-armor"))?;
    heap.bytea(&found)
}

fn unarmored(text: &str) -> Option<Vec<u8>> {
    let mut lines = text.lines().map(str::trim_end);
    lines.find(|line| line.starts_with("-----BEGIN") && line.ends_with("-----"))?;
    // Headers end with an empty line.
    lines.by_ref().take_while(|line| !line.is_empty()).for_each(drop);
    let (mut body, mut sum) = (String::new(), None);
    for line in lines {
        match line.strip_prefix('=') {
            _ if line.starts_with("-----END") => {
                let data = decoded(body.as_bytes())?;
                return (decoded(sum?)? == checksum(&data)).then_some(data);
            }
            Some(digits) => sum = Some(digits.as_bytes()),
            None => body.push_str(line),
        }
    }
    None
}
