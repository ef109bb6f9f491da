//! Types whose values are kept as bytes in their order: addresses of networks and of their cards, strings of bits, money,
//! what full-text search works with.
//!
//! Comparing bytes compares values, and equal values have equal bytes, so keys, sorting, grouping, hashing, the log and
//! checkpoints know nothing of these types. What a value means, and what can be done with it, is in a file for each of them.
//!
//! | type | bytes |
//! |---|---|
//! | `inet`, `cidr` | see [`inet`] |
//! | `macaddr`, `macaddr8` | the 6 or 8 bytes of the address |
//! | `bit`, `bit varying` | see [`bits`] |
//! | `money` | see [`money`] |
//! | `timetz` | see [`timetz`] |
//! | `jsonpath` | its text with all parentheses, see [`Path::to_stored`]; it has no order |
//! | `tsvector` | see [`tsvector`] |
//! | `tsquery` | see [`tsquery`] |

pub mod bits;
pub mod inet;
pub mod mac;
pub mod money;
pub mod timetz;
pub mod tsquery;
pub mod tsvector;
pub mod words;

use crate::datetime::Forms;
use crate::error::{Error, Result, SqlState};
use crate::json::path::Path;
use crate::types::Type;
use bits::Bits;
use inet::Inet;
use serde::{Deserialize, Serialize};
use timetz::TimeTz;
use tsquery::TsQuery;
use tsvector::TsVector;

/// The types there are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub enum PackedType {
    /// `inet`: an address, perhaps with the length of its network's mask
    Inet,
    /// `cidr`: a network
    Cidr,
    /// `macaddr`
    MacAddr,
    /// `macaddr8`
    MacAddr8,
    /// `bit`, or `bit(n)`
    Bit(Option<u32>),
    /// `bit varying`, or `bit varying(n)`
    VarBit(Option<u32>),
    /// `money`
    Money,
    /// `jsonpath`
    JsonPath,
    /// `timetz`, or `timetz(n)`: with so many digits of seconds
    TimeTz(Option<u32>),
    /// `tsvector`
    TsVector,
    /// `tsquery`
    TsQuery,
}

/// What shares operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PackedKind {
    /// `inet`, `cidr`
    Network,
    /// `macaddr`
    MacAddr,
    /// `macaddr8`
    MacAddr8,
    /// `bit`, `bit varying`
    Bits,
    /// `money`
    Money,
    /// `jsonpath`
    JsonPath,
    /// `timetz`
    TimeTz,
    /// `tsvector`
    TsVector,
    /// `tsquery`
    TsQuery,
}

impl PackedType {
    /// All of them, without modifiers.
    pub const ALL: [PackedType; 11] = [
        PackedType::Inet,
        PackedType::Cidr,
        PackedType::MacAddr,
        PackedType::MacAddr8,
        PackedType::Bit(None),
        PackedType::VarBit(None),
        PackedType::Money,
        PackedType::JsonPath,
        PackedType::TimeTz(None),
        PackedType::TsVector,
        PackedType::TsQuery,
    ];

    /// The name in `pg_type`.
    pub const fn name(self) -> &'static str {
        match self {
            PackedType::Inet => "inet",
            PackedType::Cidr => "cidr",
            PackedType::MacAddr => "macaddr",
            PackedType::MacAddr8 => "macaddr8",
            PackedType::Bit(_) => "bit",
            PackedType::VarBit(_) => "varbit",
            PackedType::Money => "money",
            PackedType::JsonPath => "jsonpath",
            PackedType::TimeTz(_) => "timetz",
            PackedType::TsVector => "tsvector",
            PackedType::TsQuery => "tsquery",
        }
    }

    /// By its name in `pg_type`.
    pub fn by_name(name: &str) -> Option<PackedType> {
        PackedType::ALL.into_iter().find(|of| of.name() == name)
    }

    /// The name of its operator family.
    pub const fn operator_family(self) -> &'static str {
        match self {
            PackedType::Inet | PackedType::Cidr => "network_ops",
            PackedType::MacAddr => "macaddr_ops",
            PackedType::MacAddr8 => "macaddr8_ops",
            PackedType::Bit(_) => "bit_ops",
            PackedType::VarBit(_) => "varbit_ops",
            PackedType::Money => "money_ops",
            // It has none.
            PackedType::JsonPath => "jsonpath_ops",
            PackedType::TimeTz(_) => "timetz_ops",
            PackedType::TsVector => "tsvector_ops",
            PackedType::TsQuery => "tsquery_ops",
        }
    }

    /// What it shares operators with.
    pub const fn kind(self) -> PackedKind {
        match self {
            PackedType::Inet | PackedType::Cidr => PackedKind::Network,
            PackedType::MacAddr => PackedKind::MacAddr,
            PackedType::MacAddr8 => PackedKind::MacAddr8,
            PackedType::Bit(_) | PackedType::VarBit(_) => PackedKind::Bits,
            PackedType::Money => PackedKind::Money,
            PackedType::JsonPath => PackedKind::JsonPath,
            PackedType::TimeTz(_) => PackedKind::TimeTz,
            PackedType::TsVector => PackedKind::TsVector,
            PackedType::TsQuery => PackedKind::TsQuery,
        }
    }

    /// Whether its values can be told apart and have an order.
    pub const fn is_ordered(self) -> bool {
        !matches!(self, PackedType::JsonPath)
    }

    /// Without its length.
    pub const fn plain(self) -> PackedType {
        match self {
            PackedType::Bit(_) => PackedType::Bit(None),
            PackedType::VarBit(_) => PackedType::VarBit(None),
            PackedType::TimeTz(_) => PackedType::TimeTz(None),
            other => other,
        }
    }

    /// Its length.
    pub const fn limit(self) -> Option<u32> {
        match self {
            PackedType::Bit(limit) | PackedType::VarBit(limit) | PackedType::TimeTz(limit) => limit,
            _ => None,
        }
    }

    /// The same with a length, of a type that has one.
    pub const fn with_limit(self, limit: u32) -> PackedType {
        match self {
            PackedType::Bit(_) => PackedType::Bit(Some(limit)),
            PackedType::VarBit(_) => PackedType::VarBit(Some(limit)),
            PackedType::TimeTz(_) => PackedType::TimeTz(Some(limit)),
            other => other,
        }
    }

    /// Whether each of its values is one of the other type as it is.
    pub fn is_relabel(self, to: PackedType) -> bool {
        use PackedType::{Bit, Cidr, Inet, TimeTz, VarBit};
        match (self, to) {
            (TimeTz(_), TimeTz(None | Some(6..))) => true,
            (TimeTz(Some(n)), TimeTz(Some(m))) => n <= m,
            (Cidr, Inet) | (Bit(_) | VarBit(_), Bit(None) | VarBit(None)) => true,
            (Bit(Some(n)) | VarBit(Some(n)), VarBit(Some(m))) => n <= m,
            _ => self == to,
        }
    }

    /// Reads a value from its text form, in UTC; one with a length is cut or filled as by an explicit cast.
    pub fn parse(self, text: &str) -> Result<Vec<u8>> {
        self.read(text, true)
    }

    /// The same; `explicit`: whether somebody asked for the type, so that what does not have its length gets it.
    pub fn read(self, text: &str, explicit: bool) -> Result<Vec<u8>> {
        match self {
            PackedType::Bit(_) | PackedType::VarBit(_) => self.fitted(Bits::parse(text)?, explicit),
            PackedType::Money => Ok(money::encode(money::parse(text)?).to_vec()),
            PackedType::Inet => Ok(Inet::parse(text)?.encode()),
            PackedType::Cidr => Ok(Inet::parse_network(text)?.encode()),
            PackedType::MacAddr => mac::parse(text).map(|mac| mac.to_vec()),
            PackedType::MacAddr8 => mac::parse_long(text).map(|mac| mac.to_vec()),
            PackedType::JsonPath => Path::parse(text).map(|path| path.to_stored()),
            PackedType::TimeTz(digits) => {
                Ok(TimeTz::parse(text, Forms::default())?.rounded(digits).encode().to_vec())
            }
            PackedType::TsVector => Ok(TsVector::parse(text)?.encode()),
            PackedType::TsQuery => Ok(TsQuery::parse(text)?.encode()),
        }
    }

    /// Appends the text form of a value; of bytes that are none, nothing.
    pub fn write(self, bytes: &[u8], out: &mut Vec<u8>) {
        match self {
            PackedType::Inet | PackedType::Cidr => {
                if let Some(inet) = Inet::decode(bytes) {
                    inet.write(self == PackedType::Cidr, out);
                }
            }
            PackedType::MacAddr | PackedType::MacAddr8 => mac::write(bytes, out),
            PackedType::Bit(_) | PackedType::VarBit(_) => {
                if let Some(bits) = Bits::decode(bytes) {
                    bits.write(out);
                }
            }
            PackedType::Money => {
                if let Some(cents) = money::decode(bytes) {
                    money::write(cents, out);
                }
            }
            PackedType::JsonPath => {
                if let Some(path) = path(bytes) {
                    path.write(out);
                }
            }
            PackedType::TimeTz(_) => {
                if let Some(time) = TimeTz::decode(bytes) {
                    time.write(out);
                }
            }
            PackedType::TsVector => {
                if let Some(vector) = TsVector::decode(bytes) {
                    vector.write(out);
                }
            }
            PackedType::TsQuery => {
                if let Some(query) = TsQuery::decode(bytes) {
                    query.write(out);
                }
            }
        }
    }

    /// Appends what a value is as a text: unlike its text form, that of an `inet` always has its mask.
    pub fn write_cast(self, bytes: &[u8], out: &mut Vec<u8>) {
        match self {
            PackedType::Inet => PackedType::Cidr.write(bytes, out),
            _ => self.write(bytes, out),
        }
    }

    /// Whether bytes are a value of the type.
    pub fn is_value(self, bytes: &[u8]) -> bool {
        match self {
            PackedType::Inet => Inet::decode(bytes).is_some(),
            PackedType::Cidr => Inet::decode(bytes).is_some_and(|inet| inet.network() == inet),
            PackedType::MacAddr => bytes.len() == 6,
            PackedType::MacAddr8 | PackedType::Money => bytes.len() == 8,
            PackedType::Bit(limit) => {
                Bits::decode(bytes).is_some_and(|bits| limit.is_none_or(|limit| bits.len == limit as usize))
            }
            PackedType::VarBit(limit) => {
                Bits::decode(bytes).is_some_and(|bits| limit.is_none_or(|limit| bits.len <= limit as usize))
            }
            PackedType::JsonPath => path(bytes).is_some(),
            PackedType::TimeTz(digits) => {
                TimeTz::decode(bytes).is_some_and(|time| time.rounded(digits) == time)
            }
            PackedType::TsVector => TsVector::decode(bytes).is_some(),
            PackedType::TsQuery => TsQuery::decode(bytes).is_some(),
        }
    }

    /// A value of this type as one of another; `explicit`: whether somebody asked for it.
    pub fn convert(self, bytes: &[u8], to: PackedType, explicit: bool) -> Result<Option<Vec<u8>>> {
        if self.kind() == PackedKind::Bits && to.kind() == PackedKind::Bits {
            return Bits::decode(bytes).map(|bits| to.fitted(bits, explicit)).transpose();
        }
        Ok(match (self, to) {
            (PackedType::TimeTz(_), PackedType::TimeTz(digits)) => {
                TimeTz::decode(bytes).map(|time| time.rounded(digits).encode().to_vec())
            }
            (PackedType::Inet, PackedType::Cidr) => Inet::decode(bytes).map(|inet| inet.network().encode()),
            (PackedType::Cidr, PackedType::Inet) => Some(bytes.to_vec()),
            (PackedType::MacAddr, PackedType::MacAddr8) => mac::longer(bytes),
            (PackedType::MacAddr8, PackedType::MacAddr) => Some(mac::shorter(bytes)?),
            _ if self == to => Some(bytes.to_vec()),
            _ => None,
        })
    }

    /// A string of bits as a value of the type, see [`Bits::fitted`].
    pub fn fitted(self, bits: Bits, explicit: bool) -> Result<Vec<u8>> {
        let varying = matches!(self, PackedType::VarBit(_));
        Ok(match self.limit() {
            Some(limit) => bits.fitted(limit, varying, explicit)?.encode(),
            None => bits.encode(),
        })
    }

    /// Appends the binary form of the wire.
    pub fn send(self, bytes: &[u8], out: &mut Vec<u8>) {
        match self {
            PackedType::Inet | PackedType::Cidr => {
                if let Some(inet) = Inet::decode(bytes) {
                    inet.send(self == PackedType::Cidr, out);
                }
            }
            PackedType::MacAddr | PackedType::MacAddr8 => out.extend_from_slice(bytes),
            PackedType::Bit(_) | PackedType::VarBit(_) => {
                if let Some(bits) = Bits::decode(bytes) {
                    bits.send(out);
                }
            }
            PackedType::Money => {
                if let Some(cents) = money::decode(bytes) {
                    out.extend_from_slice(&cents.to_be_bytes());
                }
            }
            PackedType::JsonPath => {
                out.push(JSONPATH_VERSION);
                self.write(bytes, out);
            }
            PackedType::TimeTz(_) => {
                if let Some(time) = TimeTz::decode(bytes) {
                    time.send(out);
                }
            }
            PackedType::TsVector => {
                if let Some(vector) = TsVector::decode(bytes) {
                    vector.send(out);
                }
            }
            PackedType::TsQuery => {
                if let Some(query) = TsQuery::decode(bytes) {
                    query.send(out);
                }
            }
        }
    }

    /// Reads the binary form of the wire.
    pub fn receive(self, bytes: &[u8]) -> Result<Vec<u8>> {
        match self {
            PackedType::Inet => Ok(Inet::receive(bytes, false)?.encode()),
            PackedType::Cidr => Ok(Inet::receive(bytes, true)?.encode()),
            PackedType::MacAddr => mac::receive(bytes, 6),
            PackedType::MacAddr8 => mac::receive(bytes, 8),
            PackedType::Bit(_) | PackedType::VarBit(_) => self.fitted(Bits::receive(bytes)?, false),
            PackedType::Money => money::receive(bytes).map(|cents| money::encode(cents).to_vec()),
            PackedType::JsonPath => match bytes.split_first() {
                Some((&JSONPATH_VERSION, text)) => match std::str::from_utf8(text) {
                    Ok(text) => self.parse(text),
                    Err(_) => Err(Error::new(
                        SqlState::CHARACTER_NOT_IN_REPERTOIRE,
                        "invalid byte sequence for encoding \"UTF8\"",
                    )),
                },
                Some((version, _)) => {
                    let message = format!("unsupported jsonpath version number: {version}");
                    Err(Error::new(SqlState::new("XX000"), message))
                }
                None => Err(Error::new(SqlState::new("08P01"), "no data left in message")),
            },
            PackedType::TimeTz(digits) => {
                TimeTz::receive(bytes).map(|time| time.rounded(digits).encode().to_vec())
            }
            PackedType::TsVector => Ok(TsVector::receive(bytes)?.encode()),
            PackedType::TsQuery => Ok(TsQuery::receive(bytes)?.encode()),
        }
    }

    /// The type.
    pub const fn ty(self) -> Type {
        Type::Packed(self)
    }
}

/// What the binary form of a path begins with.
const JSONPATH_VERSION: u8 = 1;

/// The path that is kept as these bytes.
fn path(bytes: &[u8]) -> Option<Path> {
    Path::parse(std::str::from_utf8(bytes).ok()?).ok()
}

impl std::fmt::Display for PackedType {
    /// As `format_type` of PostgreSQL prints it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PackedType::Bit(Some(n)) => write!(f, "bit({n})"),
            PackedType::VarBit(None) => f.write_str("bit varying"),
            PackedType::VarBit(Some(n)) => write!(f, "bit varying({n})"),
            PackedType::TimeTz(None) => f.write_str("time with time zone"),
            PackedType::TimeTz(Some(n)) => write!(f, "time({n}) with time zone"),
            other => f.write_str(other.name()),
        }
    }
}

#[cfg(test)]
mod tests;
