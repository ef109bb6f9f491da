//! Functions of the extensions `pgcrypto` and `uuid-ossp`; which functions extensions have.
//!
//! They are there without CREATE EXTENSION, but for who has own ones of the same names: those are meant then.
//!
//! What is random is made of UUIDs that are drawn, and logged with the call, as that of `gen_random_uuid` is.

use super::Lowerer;
use super::bound::{Bound, BoundKind};
use super::types::{CastContext, cast_allowed};
use planaria_base::{Datum, Error, Result, Type};
use planaria_catalog::Wanted;
use planaria_ir::{Draw, Func};

/// Namespaces of RFC 4122: the digits of each that differ.
const NAMESPACES: [(&str, u8); 4] =
    [("uuid_ns_dns", 0x10), ("uuid_ns_url", 0x11), ("uuid_ns_oid", 0x12), ("uuid_ns_x500", 0x14)];
const NAMESPACE: [u8; 16] =
    [0x6b, 0xa7, 0xb8, 0x10, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8];

const OF_PGCRYPTO: &[&str] = &[
    "digest",
    "hmac",
    "crypt",
    "gen_salt",
    "gen_random_bytes",
    "gen_random_uuid",
    "encrypt",
    "decrypt",
    "encrypt_iv",
    "decrypt_iv",
    "armor",
    "dearmor",
];
const OF_UUID_OSSP: &[&str] = &[
    "uuid_nil",
    "uuid_ns_dns",
    "uuid_ns_url",
    "uuid_ns_oid",
    "uuid_ns_x500",
    "uuid_generate_v1",
    "uuid_generate_v1mc",
    "uuid_generate_v3",
    "uuid_generate_v4",
    "uuid_generate_v5",
];

/// 0A000 for what pgcrypto has and is not there.
pub(super) fn refused(name: &str) -> Option<Error> {
    const PGP: [&str; 10] = [
        "pgp_sym_encrypt",
        "pgp_sym_encrypt_bytea",
        "pgp_sym_decrypt",
        "pgp_sym_decrypt_bytea",
        "pgp_pub_encrypt",
        "pgp_pub_encrypt_bytea",
        "pgp_pub_decrypt",
        "pgp_pub_decrypt_bytea",
        "pgp_key_id",
        "pgp_armor_headers",
    ];
    PGP.contains(&name).then(|| {
        let hint = "encrypt(data, key, 'aes') encrypts with a key.";
        Error::unsupported(format!("function {name} of OpenPGP is not supported"), hint)
    })
}

impl Lowerer<'_> {
    /// Whether a user has made a function that a call can mean.
    fn has_own(&self, name: &str, args: &[Bound]) -> bool {
        self.catalog.procedures_named(name).any(|p| {
            let fits = |(e, ty): (&Bound, &Type)| {
                e.ty == Type::Unknown || self.castable(&e.ty, ty, CastContext::Implicit)
            };
            !p.is_procedure()
                && p.inputs().count() == args.len()
                && args.iter().zip(p.inputs().map(|q| &q.ty)).all(fits)
        })
    }

    /// A call that names the schema of an extension, which its functions are in as far as names go.
    pub(super) fn extension_function(
        &mut self,
        wanted: Wanted<'_>,
        args: &[Bound],
        variadic: bool,
        position: u32,
    ) -> Result<Option<Bound>> {
        let known = self.catalog.extensions.iter().filter(|e| Some(e.schema) == wanted.schema);
        let has = |extension: &str| match extension {
            "pgcrypto" => OF_PGCRYPTO.contains(&wanted.local),
            "uuid-ossp" => OF_UUID_OSSP.contains(&wanted.local),
            "pg_trgm" => super::trigram::is_function(wanted.local),
            _ => false,
        };
        if !known.map(|e| e.name.as_str()).any(has) {
            return Ok(None);
        }
        match self.crypto_call(wanted.local, args, position)? {
            Some(bound) => Ok(Some(bound)),
            None => self.bind_builtin(wanted.local, args, variadic, position),
        }
    }

    /// A call of one of them; `None` where no such function fits.
    pub(super) fn crypto_function(
        &mut self,
        name: &str,
        args: &[Bound],
        position: u32,
    ) -> Result<Option<Bound>> {
        match OF_PGCRYPTO.contains(&name) || OF_UUID_OSSP.contains(&name) {
            true if !self.has_own(name, args) => self.crypto_call(name, args, position),
            _ => Ok(None),
        }
    }

    /// The same, whatever a user has made.
    fn crypto_call(&mut self, name: &str, args: &[Bound], position: u32) -> Result<Option<Bound>> {
        use Type::{Bytea, Int4, Text, Uuid};
        let uuid = |bytes: [u8; 16]| Bound::constant(Datum::Uuid(bytes), Uuid, position);
        let int = |n: i64| Bound::constant(Datum::Int(n), Int4, position);
        let draw = |input, ty| Bound::new(BoundKind::Draw(input), ty, position);
        let random = || draw(Draw::Uuid, Uuid);
        if args.is_empty() {
            if let Some((_, differs)) = NAMESPACES.iter().find(|(n, _)| *n == name) {
                let mut bytes = NAMESPACE;
                bytes[3] = *differs;
                return Ok(Some(uuid(bytes)));
            }
            return Ok(match name {
                "uuid_nil" => Some(uuid([0; 16])),
                "uuid_generate_v1" | "uuid_generate_v1mc" => {
                    let args = vec![random(), draw(Draw::ClockTimestamp, Type::TimestampTz)];
                    Some(Bound::apply(Func::UuidOfTime, args, Uuid, position))
                }
                _ => None,
            });
        }
        let (func, types, result): (Func, &[Type], Type) = match (name, args.len()) {
            ("hmac", 3) if args[..2].iter().any(|e| e.ty == Bytea) => {
                (Func::BytesHmac, &[Bytea, Bytea, Text], Bytea)
            }
            ("hmac", 3) => (Func::BytesHmac, &[Text, Text, Text], Bytea),
            ("crypt", 2) => (Func::Crypt, &[Text, Text], Text),
            ("gen_salt", 1) => (Func::CryptSalt, &[Text], Text),
            ("gen_salt", 2) => (Func::CryptSalt, &[Text, Int4], Text),
            ("gen_random_bytes", 1) => (Func::RandomBytes, &[Int4], Bytea),
            ("encrypt", 3) => (Func::BytesEncrypt, &[Bytea, Bytea, Text], Bytea),
            ("decrypt", 3) => (Func::BytesDecrypt, &[Bytea, Bytea, Text], Bytea),
            ("encrypt_iv", 4) => (Func::BytesEncrypt, &[Bytea, Bytea, Bytea, Text], Bytea),
            ("decrypt_iv", 4) => (Func::BytesDecrypt, &[Bytea, Bytea, Bytea, Text], Bytea),
            ("armor", 1) => (Func::Armor, &[Bytea], Text),
            ("dearmor", 1) => (Func::Dearmor, &[Text], Bytea),
            ("uuid_generate_v3" | "uuid_generate_v5", 2) => (Func::UuidOfName, &[Uuid, Text], Uuid),
            _ => return Ok(None),
        };
        let fits = |(e, ty): (&Bound, &Type)| {
            e.ty == Type::Unknown || cast_allowed(&e.ty, ty, CastContext::Implicit)
        };
        if !args.iter().zip(types).all(fits) {
            return Ok(None);
        }
        let given = args.iter().zip(types).map(|(e, ty)| self.operand(e.clone(), ty));
        let mut given = given.collect::<Result<Vec<_>>>()?;
        match name {
            "hmac" if types[0] == Text => {
                let bytes = |text: Bound| Bound::apply(Func::TextBytes, vec![text], Bytea, position);
                let hash = given.pop().expect("three");
                given = given.into_iter().map(bytes).collect();
                given.push(hash);
            }
            "gen_salt" => {
                if given.len() == 1 {
                    given.push(int(0));
                }
                given.splice(0..0, [random(), random()]);
            }
            "gen_random_bytes" => drop(given.splice(0..0, [random(), random()])),
            "encrypt" | "decrypt" => {
                given.insert(2, Bound::constant(Datum::Bytea(Vec::new()), Bytea, position));
                given.push(Bound::bool(false, position));
            }
            "encrypt_iv" | "decrypt_iv" => given.push(Bound::bool(true, position)),
            "uuid_generate_v3" => given.push(int(3)),
            "uuid_generate_v5" => given.push(int(5)),
            _ => {}
        }
        Ok(Some(Bound::apply(func, given, result, position)))
    }
}
