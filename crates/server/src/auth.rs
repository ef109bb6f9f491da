//! Who a client is: SCRAM-SHA-256 and SCRAM-SHA-256-PLUS (RFC 5802, RFC 7677), as PostgreSQL carries them.
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
//! With SCRAM-SHA-256-PLUS, which is offered on encrypted connections, the client proves that the certificate it was
//! shown is the server's ([`crate::binding`]): `p=tls-server-end-point,,` stands in place of `n,,`, and `c=` has the
//! certificate's hash behind it. `y,,` says that a client could do so, but was not offered it: somebody has tampered.
//!
//! Not done: md5, passwords in clear text.

use crate::binding;
use crate::read::{Reader, violation};
use planaria::serving::scram::{ITERATIONS, Verifier};
use planaria::{Error, Result, SqlState};

const MECHANISM: &str = "SCRAM-SHA-256";
const MECHANISM_PLUS: &str = "SCRAM-SHA-256-PLUS";

/// What a client may choose from, the best first.
pub(crate) fn mechanisms(can_bind: bool) -> &'static [&'static str] {
    if can_bind { &[MECHANISM_PLUS, MECHANISM] } else { &[MECHANISM] }
}

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
    /// What `c=` has to be: the header, and what it is bound by.
    bound: Vec<u8>,
    binds: bool,
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
    /// Takes SASLInitialResponse; answers with server-first. `binding`: what a client can bind itself to.
    pub(crate) fn begin(
        mut body: Reader<'_>,
        verifier: Verifier,
        real: bool,
        binding: Option<&[u8]>,
    ) -> Result<(Exchange, String)> {
        let mechanism = body.string()?;
        if !mechanisms(binding.is_some()).contains(&mechanism) {
            return Err(violation("client selected an invalid SASL authentication mechanism"));
        }
        let binding_chosen = binding.filter(|_| mechanism == MECHANISM_PLUS);
        let len = usize::try_from(body.i32()?).map_err(|_| malformed("There is no response."))?;
        let message = crate::read::text(body.bytes(len)?)?;
        body.end()?;
        // The header: whether the channel is bound, and on whose behalf the client speaks.
        let mut parts = message.splitn(3, ',');
        let (Some(flag), Some(authzid), Some(bare)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(malformed("The message is too short."));
        };
        match (flag.split_once('='), binding_chosen) {
            (None, Some(_)) if matches!(flag, "n" | "y") => {
                return Err(malformed(
                    "The client selected SCRAM-SHA-256-PLUS, but the SCRAM message does not include channel binding data.",
                ));
            }
            (None, None) if flag == "y" && binding.is_some() => {
                let message = "SCRAM channel binding negotiation error";
                return Err(Error::new(SqlState::INVALID_AUTHORIZATION_SPECIFICATION, message).with_detail(
                    "The client supports SCRAM channel binding but thinks the server does not.  \
                     However, this server does support channel binding.",
                ));
            }
            (None, None) if matches!(flag, "n" | "y") => {}
            (Some(("p", _)), None) => {
                return Err(malformed(
                    "The client selected SCRAM-SHA-256 without channel binding, but the SCRAM message includes channel binding data.",
                ));
            }
            (Some(("p", kind)), Some(_)) if kind != binding::KIND => {
                return Err(violation(format!("unsupported SCRAM channel-binding type \"{kind}\"")));
            }
            (Some(("p", _)), Some(_)) => {}
            _ => return Err(malformed(&format!("Unexpected channel-binding flag \"{flag}\"."))),
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
        let mut bound = format!("{flag},{authzid},").into_bytes();
        bound.extend_from_slice(binding_chosen.unwrap_or_default());
        let exchange = Exchange {
            verifier,
            real,
            nonce,
            client_first_bare: bare.to_owned(),
            server_first: server_first.clone(),
            bound,
            binds: binding_chosen.is_some(),
        };
        Ok((exchange, server_first))
    }

    /// Takes SASLResponse; answers with server-final, or `None` where the proof is wrong.
    pub(crate) fn end(self, body: Reader<'_>) -> Result<Option<String>> {
        let message = crate::read::text(body.rest())?;
        let (binding, rest) = attribute(message, "c")?;
        if BASE64.decode(binding).ok().as_deref() != Some(&self.bound[..]) {
            if self.binds {
                let message = "SCRAM channel binding check failed";
                return Err(Error::new(SqlState::INVALID_AUTHORIZATION_SPECIFICATION, message));
            }
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
            assert!(
                Exchange::begin(Reader::new(&first(text)), verifier.clone(), true, None).is_err(),
                "{text}"
            );
        }
        let begin = || Exchange::begin(Reader::new(&first("n,,n=,r=abc")), verifier.clone(), true, None);
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
    fn a_login_is_bound_to_the_certificate() {
        let verifier = Verifier::with_salt("x", b"salt", 1);
        let begin = |mechanism: &str, text: &str, binding| {
            let body =
                [mechanism.as_bytes(), b"\0", &(text.len() as i32).to_be_bytes(), text.as_bytes()].concat();
            Exchange::begin(Reader::new(&body), verifier.clone(), true, binding)
        };
        let binding = Some(&b"hash"[..]);
        let state = |outcome: Result<(Exchange, String)>| outcome.err().map(|e| e.sqlstate().to_string());
        let bound = "p=tls-server-end-point,,n=,r=abc";
        for (mechanism, text, binding, expected) in [
            (MECHANISM, "n,,n=,r=abc", binding, None),
            (MECHANISM, "y,,n=,r=abc", binding, Some("28000")),
            (MECHANISM, "y,,n=,r=abc", None, None),
            (MECHANISM, bound, binding, Some("08P01")),
            (MECHANISM, bound, None, Some("08P01")),
            (MECHANISM_PLUS, bound, None, Some("08P01")),
            (MECHANISM_PLUS, "n,,n=,r=abc", binding, Some("08P01")),
            (MECHANISM_PLUS, "y,,n=,r=abc", binding, Some("08P01")),
            (MECHANISM_PLUS, "p=tls-unique,,n=,r=abc", binding, Some("08P01")),
            (MECHANISM_PLUS, "q,,n=,r=abc", binding, Some("08P01")),
            (MECHANISM_PLUS, bound, binding, None),
        ] {
            assert_eq!(state(begin(mechanism, text, binding)).as_deref(), expected, "{mechanism} {text}");
        }
        for (hash, expected) in
            [("hash", Ok(None)), ("other", Err("28000".to_owned())), ("", Err("28000".to_owned()))]
        {
            let (exchange, _) = begin(MECHANISM_PLUS, bound, binding).expect("well-formed");
            let header = BASE64.encode(format!("p=tls-server-end-point,,{hash}"));
            let wrong = format!("c={header},r={},p={}", exchange.nonce, BASE64.encode([0; 32]));
            let outcome = exchange.end(Reader::new(wrong.as_bytes()));
            assert_eq!(outcome.map_err(|e| e.sqlstate().to_string()), expected, "{hash}");
        }
    }

    #[test]
    fn a_role_that_is_not_there_has_the_same_salt_each_time() {
        assert_eq!(mock("me", b"s").salt, mock("me", b"s").salt);
        assert_ne!(mock("me", b"s").salt, mock("you", b"s").salt);
    }
}
