//! What binds a login to the encrypted connection it comes by: `tls-server-end-point` (RFC 5929), a hash of the
//! server's certificate. Whoever stands between client and server shows another certificate, and so another hash.
//!
//! The hash is that of the certificate's own signature, with SHA-256 in place of MD5 and SHA-1. A certificate whose
//! signature names no hash, such as Ed25519, binds nothing, as in PostgreSQL.

use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

/// The one kind of binding, as SCRAM names it.
pub(crate) const KIND: &str = "tls-server-end-point";

const SEQUENCE: u8 = 0x30;
const OBJECT: u8 = 0x06;
/// `[0]` of a constructed type: the hash among the parameters of RSASSA-PSS.
const FIRST: u8 = 0xa0;

/// The hash of a certificate in DER form (`tls-server-end-point`, RFC 5929), if its signature names one.
pub fn of_certificate(der: &[u8]) -> Option<Vec<u8>> {
    let (certificate, _) = element(der, SEQUENCE)?;
    let (_, rest) = element(certificate, SEQUENCE)?;
    let (algorithm, _) = element(rest, SEQUENCE)?;
    let (name, parameters) = element(algorithm, OBJECT)?;
    Some(match hash_of(name, parameters)? {
        Hash::Sha224 => Sha224::digest(der).to_vec(),
        Hash::Sha256 => Sha256::digest(der).to_vec(),
        Hash::Sha384 => Sha384::digest(der).to_vec(),
        Hash::Sha512 => Sha512::digest(der).to_vec(),
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hash {
    Sha224,
    Sha256,
    Sha384,
    Sha512,
}

/// Of an algorithm of signatures.
fn hash_of(name: &[u8], parameters: &[u8]) -> Option<Hash> {
    /// pkcs-1: 1.2.840.113549.1.1
    const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
    /// ecdsa-with: 1.2.840.10045.4
    const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04];
    /// NIST's hashes: 2.16.840.1.101.3.4.2
    const HASHES: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02];
    if let Some(rest) = name.strip_prefix(RSA) {
        return match rest {
            [4 | 5] => Some(Hash::Sha256),
            [10] => match element(parameters, SEQUENCE).and_then(|(all, _)| element(all, FIRST)) {
                None => Some(Hash::Sha256), // SHA-1, where nothing is said.
                Some((hash, _)) => {
                    let (name, _) = element(element(hash, SEQUENCE)?.0, OBJECT)?;
                    match name.strip_prefix(HASHES)? {
                        [1] => Some(Hash::Sha256),
                        [2] => Some(Hash::Sha384),
                        [3] => Some(Hash::Sha512),
                        [4] => Some(Hash::Sha224),
                        _ => None,
                    }
                }
            },
            [11] => Some(Hash::Sha256),
            [12] => Some(Hash::Sha384),
            [13] => Some(Hash::Sha512),
            [14] => Some(Hash::Sha224),
            _ => None,
        };
    }
    match name.strip_prefix(ECDSA)? {
        [1] => Some(Hash::Sha256),
        [3, 1] => Some(Hash::Sha224),
        [3, 2] => Some(Hash::Sha256),
        [3, 3] => Some(Hash::Sha384),
        [3, 4] => Some(Hash::Sha512),
        _ => None,
    }
}

/// The content of the DER element in front, if it is of that type; what stands behind it.
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&first, rest) = der.split_first()?;
    let (&len, rest) = rest.split_first()?;
    let (len, rest) = match len {
        0..=0x7f => (usize::from(len), rest),
        0x81..=0x84 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(len & 0x7f))?;
            (bytes.iter().fold(0, |all, &byte| all << 8 | usize::from(byte)), rest)
        }
        _ => return None,
    };
    if first == tag { rest.split_at_checked(len) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A certificate with nothing but the algorithm of its signature.
    fn certificate(name: &[u8], parameters: &[u8]) -> Vec<u8> {
        let wrap = |tag: u8, content: Vec<u8>| [vec![tag, content.len() as u8], content].concat();
        let algorithm = wrap(SEQUENCE, [wrap(OBJECT, name.to_vec()), parameters.to_vec()].concat());
        wrap(SEQUENCE, [wrap(SEQUENCE, vec![2, 1, 7]), algorithm, wrap(3, vec![0, 1])].concat())
    }

    #[test]
    fn the_hash_is_that_of_the_signature() {
        let rsa = |last| [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, last];
        for (last, bytes) in [(4, 32), (5, 32), (11, 32), (12, 48), (13, 64), (14, 28)] {
            let der = certificate(&rsa(last), &[5, 0]);
            assert_eq!(of_certificate(&der).map(|hash| hash.len()), Some(bytes), "{last}");
        }
        assert_eq!(of_certificate(&certificate(&rsa(1), &[])), None);
        let pss = [0x30, 15, 0xa0, 13, 0x30, 11, 6, 9, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x02];
        let of_pss = |parameters: &[u8]| of_certificate(&certificate(&rsa(10), parameters)).map(|h| h.len());
        assert_eq!((of_pss(&pss), of_pss(&[0x30, 0])), (Some(48), Some(32)));
        for (end, bytes) in [(&[1][..], 32), (&[3, 1], 28), (&[3, 2], 32), (&[3, 3], 48), (&[3, 4], 64)] {
            let name = [&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04], end].concat();
            assert_eq!(of_certificate(&certificate(&name, &[])).map(|h| h.len()), Some(bytes), "{end:?}");
        }
    }

    #[test]
    fn what_is_no_certificate_binds_nothing() {
        let ed25519 = certificate(&[0x2b, 0x65, 0x70], &[]);
        assert_eq!(of_certificate(&ed25519), None);
        for text in [&b""[..], b"0", b"0\x80", b"0\x84\xff\xff\xff\xff", b"0\x85\0\0\0\0\x01", b"0\x020\0"] {
            assert_eq!(of_certificate(text), None, "{text:?}");
        }
        for len in 0..ed25519.len() {
            assert_eq!(of_certificate(&ed25519[..len]), None);
        }
    }
}
