//! SCRAM-SHA-256 (RFC 5802, RFC 7677): what is kept of a password, and how a client's proof is held
//! against it.
//!
//! A verifier is kept in the text form of PostgreSQL's `pg_authid.rolpassword`, so it can be moved
//! between the two: `SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>`, the last three in
//! base64. The password cannot be had from it, nor can it be used to log in.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, Mac};
use planaria_base::{Error, Result, SqlState};
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;

/// Iterations of new verifiers: PostgreSQL's, and the least RFC 7677 allows.
pub const ITERATIONS: u32 = 4096;

const SALT_BYTES: usize = 16;

/// What is kept of a password.
///
/// ```
/// use planaria::serving::scram::Verifier;
/// let verifier = Verifier::new("secret")?;
/// assert!(verifier.matches("secret") && !verifier.matches("Secret"));
/// assert_eq!(verifier.to_string().parse::<Verifier>()?, verifier);
/// # Ok::<(), planaria::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier {
    /// Rounds of PBKDF2.
    pub iterations: u32,
    /// Salt, not encoded.
    pub salt: Vec<u8>,
    /// H(HMAC(salted password, "Client Key")): what a client's proof leads to.
    pub stored_key: [u8; 32],
    /// HMAC(salted password, "Server Key"): by which the server shows that it knows the verifier.
    pub server_key: [u8; 32],
}

impl Verifier {
    /// Of a password, with a salt of the system's randomness.
    pub fn new(password: &str) -> Result<Verifier> {
        let mut salt = [0; SALT_BYTES];
        getrandom::fill(&mut salt).map_err(|e| {
            Error::new(SqlState::SYSTEM_ERROR, format!("the system gives no random bytes for a salt: {e}"))
        })?;
        Ok(Verifier::with_salt(password, &salt, ITERATIONS))
    }

    /// Of a password with a given salt.
    pub fn with_salt(password: &str, salt: &[u8], iterations: u32) -> Verifier {
        // As PostgreSQL: what SASLprep refuses is taken as it is.
        let prepared = stringprep::saslprep(password);
        let password = prepared.as_deref().unwrap_or(password);
        let mut round = hmac(password.as_bytes(), &[salt, &1u32.to_be_bytes()]);
        let mut salted = round;
        for _ in 1..iterations {
            round = hmac(password.as_bytes(), &[&round]);
            salted.iter_mut().zip(round).for_each(|(a, b)| *a ^= b);
        }
        let client_key = hmac(&salted, &[b"Client Key"]);
        let server_key = hmac(&salted, &[b"Server Key"]);
        Verifier {
            iterations,
            salt: salt.to_vec(),
            stored_key: Sha256::digest(client_key).into(),
            server_key,
        }
    }

    /// Whether it is that password's.
    pub fn matches(&self, password: &str) -> bool {
        let other = Verifier::with_salt(password, &self.salt, self.iterations);
        same(&other.stored_key, &self.stored_key)
    }

    /// Whether a client's proof over an exchange (`AuthMessage`) shows that it knows the password.
    pub fn accepts(&self, auth_message: &[u8], proof: &[u8]) -> bool {
        let Ok(mut client_key) = <[u8; 32]>::try_from(proof) else { return false };
        let signature = hmac(&self.stored_key, &[auth_message]);
        client_key.iter_mut().zip(signature).for_each(|(a, b)| *a ^= b);
        same(&Sha256::digest(client_key).into(), &self.stored_key)
    }

    /// The server's signature over an exchange.
    pub fn server_signature(&self, auth_message: &[u8]) -> [u8; 32] {
        hmac(&self.server_key, &[auth_message])
    }
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("any length is a key");
    parts.iter().for_each(|p| mac.update(p));
    mac.finalize().into_bytes().into()
}

/// Compares without telling by its time where they differ.
fn same(a: &[u8; 32], b: &[u8; 32]) -> bool {
    a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

impl fmt::Display for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [salt, stored, server] =
            [&self.salt[..], &self.stored_key, &self.server_key].map(|b| BASE64.encode(b));
        write!(f, "SCRAM-SHA-256${}:{salt}${stored}:{server}", self.iterations)
    }
}

/// Nothing of it belongs into a log.
impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verifier")
    }
}

impl FromStr for Verifier {
    type Err = Error;
    fn from_str(text: &str) -> Result<Verifier> {
        let parse = || {
            let (first, second) = text.strip_prefix("SCRAM-SHA-256$")?.split_once('$')?;
            let ((iterations, salt), (stored, server)) = (first.split_once(':')?, second.split_once(':')?);
            let key = |s: &str| BASE64.decode(s).ok()?.try_into().ok();
            Some(Verifier {
                iterations: iterations.parse().ok().filter(|n| *n > 0)?,
                salt: BASE64.decode(salt).ok()?,
                stored_key: key(stored)?,
                server_key: key(server)?,
            })
        };
        parse()
            .ok_or_else(|| Error::new(SqlState::INVALID_PARAMETER_VALUE, "this is no SCRAM-SHA-256 verifier"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exchange of RFC 7677, section 3.
    #[test]
    fn the_exchange_of_the_rfc() {
        let salt = BASE64.decode("W22ZaJ0SNY7soEsUEjb6gQ==").expect("base64");
        let verifier = Verifier::with_salt("pencil", &salt, 4096);
        let nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let message = format!(
            "n=user,r=rOprNGfwEbeRWgbNEkqO,r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r={nonce}"
        );
        let proof = BASE64.decode("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=").expect("base64");
        assert!(verifier.accepts(message.as_bytes(), &proof));
        assert!(!verifier.accepts(&message.as_bytes()[1..], &proof));
        assert!(!verifier.accepts(message.as_bytes(), &proof[1..]));
        let signature = verifier.server_signature(message.as_bytes());
        assert_eq!(BASE64.encode(signature), "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
    }

    #[test]
    fn texts_that_are_no_verifier() {
        let good = Verifier::new("x").expect("random bytes").to_string();
        assert!(planaria_sql::ddl::is_verifier(&good));
        assert!(good.parse::<Verifier>().is_ok());
        for bad in ["", "x", "md5abc", &good[1..], &good[..good.len() - 1], "SCRAM-SHA-256$0:AA==$a:b"] {
            assert!(bad.parse::<Verifier>().is_err(), "{bad}");
            assert!(!planaria_sql::ddl::is_verifier(bad), "{bad}");
        }
    }
}
