//! Who a client is: SCRAM-SHA-256 (RFC 5802, RFC 7677), as PostgreSQL carries it.
//!
//! ```text
//!  AuthenticationSASL          <-  mechanisms
//!  client-first   n,,n=,r=A    ->
//!  server-first                <-  r=AB,s=salt,i=iterations
//!  client-final   c=biws,r=AB,p=proof  ->
//!  server-final                <-  v=signature
//! ```
//!
//! A role that does not exist, or has no password, is asked the same questions and fails at the same
//! point: the answers tell nobody who is there. Its salt is made from its name and a secret that is kept with
//! the database, so it is the same each time, after a restart, too.
//!
//! Not done: channel binding (SCRAM-SHA-256-PLUS), md5, passwords in clear text.

use crate::read::{Reader, violation};
use planaria::serving::scram::{ITERATIONS, Verifier};
use planaria::{Error, Result, SqlState};

/// The one mechanism.
pub(crate) const MECHANISM: &str = "SCRAM-SHA-256";

const NONCE_BYTES: usize = 18;

/// 28P01
pub(crate) const INVALID_PASSWORD: SqlState = SqlState::new("28P01");

/// An exchange under way.
pub(crate) struct Exchange {
    verifier: Verifier,
    /// The role can log in if the proof is right.
    real: bool,
    /// Sent by the client, then ours.
    nonce: String,
    client_first_bare: String,
    server_first: String,
    gs2_header: String,
}

/// What a role without a password is asked.
pub(crate) fn mock(user: &str, secret: &[u8]) -> Verifier {
    let made = Verifier::with_salt(user, secret, 1);
    Verifier {
        iterations: ITERATIONS,
        salt: made.stored_key[..16].to_vec(),
        stored_key: rand::random(),
        server_key: rand::random(),
    }
}

fn malformed(detail: &str) -> Error {
    violation("malformed SCRAM message").with_detail(detail)
}

/// The value of the attribute `name` in front; what stands behind it.
fn attribute<'a>(text: &'a str, name: &str) -> Result<(&'a str, &'a str)> {
    let value = text
        .strip_prefix(name)
        .and_then(|t| t.strip_prefix('='))
        .ok_or_else(|| malformed(&format!("Expected attribute \"{name}\".")))?;
    Ok(value.split_once(',').unwrap_or((value, "")))
}

impl Exchange {
    /// Takes SASLInitialResponse; answers with server-first.
    pub(crate) fn begin(mut body: Reader<'_>, verifier: Verifier, real: bool) -> Result<(Exchange, String)> {
        let mechanism = body.string()?;
        if mechanism != MECHANISM {
            return Err(violation("client selected an invalid SASL authentication mechanism"));
        }
        let len = usize::try_from(body.i32()?).map_err(|_| malformed("There is no response."))?;
        let message = crate::read::text(body.bytes(len)?)?;
        body.end()?;
        // The header: whether the channel is bound, and on whose behalf the client speaks.
        let mut parts = message.splitn(3, ',');
        let (Some(binding), Some(authzid), Some(bare)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(malformed("The message is too short."));
        };
        match binding {
            "n" | "y" => {}
            _ => return Err(malformed("The client asks for channel binding, which is not supported.")),
        }
        if !authzid.is_empty() {
            return Err(Error::unsupported("client uses authorization identity", "Log in as that role."));
        }
        // The name in here is not looked at: the startup packet says it.
        let (_, rest) = attribute(bare, "n")?;
        let (client_nonce, _) = attribute(rest, "r")?;
        if client_nonce.is_empty() || !client_nonce.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(malformed("The nonce is not printable."));
        }
        let ours = BASE64.encode(rand::random::<[u8; NONCE_BYTES]>());
        let nonce = format!("{client_nonce}{ours}");
        let server_first = format!("r={nonce},s={},i={}", BASE64.encode(&verifier.salt), verifier.iterations);
        let exchange = Exchange {
            verifier,
            real,
            nonce,
            client_first_bare: bare.to_owned(),
            server_first: server_first.clone(),
            gs2_header: format!("{binding},{authzid},"),
        };
        Ok((exchange, server_first))
    }

    /// Takes SASLResponse; answers with server-final, or `None` where the proof is wrong.
    pub(crate) fn end(self, body: Reader<'_>) -> Result<Option<String>> {
        let message = crate::read::text(body.rest())?;
        let (binding, rest) = attribute(message, "c")?;
        if BASE64.decode(binding).ok().as_deref() != Some(self.gs2_header.as_bytes()) {
            return Err(malformed("The channel binding is not what was begun with."));
        }
        let (nonce, _) = attribute(rest, "r")?;
        if nonce != self.nonce {
            return Err(malformed("Nonce does not match."));
        }
        let (without_proof, proof) =
            message.rsplit_once(",p=").ok_or_else(|| malformed("There is no proof."))?;
        let proof = BASE64.decode(proof).map_err(|_| malformed("The proof is not base64."))?;
        let exchanged = format!("{},{},{without_proof}", self.client_first_bare, self.server_first);
        if !(self.verifier.accepts(exchanged.as_bytes(), &proof) && self.real) {
            return Ok(None);
        }
        let signature = self.verifier.server_signature(exchanged.as_bytes());
        Ok(Some(format!("v={}", BASE64.encode(signature))))
    }
}

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

#[cfg(test)]
mod tests {
    use super::*;

    fn first(text: &str) -> Vec<u8> {
        let mut body = format!("{MECHANISM}\0").into_bytes();
        body.extend_from_slice(&(text.len() as i32).to_be_bytes());
        body.extend_from_slice(text.as_bytes());
        body
    }

    #[test]
    fn what_is_no_scram_is_refused() {
        let verifier = Verifier::with_salt("x", b"salt", 1);
        for text in ["", "n,,", "n,,n=", "p=tls-unique,,n=,r=a", "n,a=me,n=,r=a", "n,,n=,r=", "n,,n=,r=\u{7}"]
        {
            assert!(Exchange::begin(Reader::new(&first(text)), verifier.clone(), true).is_err(), "{text}");
        }
        let begin = || Exchange::begin(Reader::new(&first("n,,n=,r=abc")), verifier.clone(), true);
        let (exchange, server_first) = begin().expect("well-formed");
        assert!(server_first.starts_with("r=abc") && server_first.ends_with(",s=c2FsdA==,i=1"));
        let nonce = exchange.nonce.clone();
        let wrong = format!("c=biws,r={nonce},p={}", BASE64.encode([0; 32]));
        assert_eq!(exchange.end(Reader::new(wrong.as_bytes())), Ok(None));
        for text in ["", "c=biws", "c=biws,r=abc,p=AAAA", &format!("c=eSws,r={nonce},p=AAAA")] {
            let (exchange, _) = begin().expect("well-formed");
            assert!(exchange.end(Reader::new(text.as_bytes())).is_err(), "{text}");
        }
    }

    #[test]
    fn a_role_that_is_not_there_has_the_same_salt_each_time() {
        assert_eq!(mock("me", b"s").salt, mock("me", b"s").salt);
        assert_ne!(mock("me", b"s").salt, mock("you", b"s").salt);
    }
}
