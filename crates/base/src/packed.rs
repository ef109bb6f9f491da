//! Types whose values are kept as bytes in their order: addresses of networks and of their cards.
//!
//! Comparing bytes compares values, and equal values have equal bytes, so keys, sorting, grouping, hashing, the log and
//! checkpoints know nothing of these types. What a value means, and what can be done with it, is in a file for each of them.
//!
//! | type | bytes |
//! |---|---|
//! | `inet`, `cidr` | see [`inet`] |
//! | `macaddr`, `macaddr8` | the 6 or 8 bytes of the address |

pub mod inet;
pub mod mac;

use crate::error::Result;
use crate::types::Type;
use inet::Inet;
use serde::{Deserialize, Serialize};

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
}

impl PackedType {
    /// All of them, without modifiers.
    pub const ALL: [PackedType; 4] =
        [PackedType::Inet, PackedType::Cidr, PackedType::MacAddr, PackedType::MacAddr8];

    /// The name in `pg_type`.
    pub const fn name(self) -> &'static str {
        match self {
            PackedType::Inet => "inet",
            PackedType::Cidr => "cidr",
            PackedType::MacAddr => "macaddr",
            PackedType::MacAddr8 => "macaddr8",
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
        }
    }

    /// What it shares operators with.
    pub const fn kind(self) -> PackedKind {
        match self {
            PackedType::Inet | PackedType::Cidr => PackedKind::Network,
            PackedType::MacAddr => PackedKind::MacAddr,
            PackedType::MacAddr8 => PackedKind::MacAddr8,
        }
    }

    /// Reads a value from its text form.
    pub fn parse(self, text: &str) -> Result<Vec<u8>> {
        match self {
            PackedType::Inet => Ok(Inet::parse(text)?.encode()),
            PackedType::Cidr => Ok(Inet::parse_network(text)?.encode()),
            PackedType::MacAddr => mac::parse(text).map(|mac| mac.to_vec()),
            PackedType::MacAddr8 => mac::parse_long(text).map(|mac| mac.to_vec()),
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
            PackedType::MacAddr8 => bytes.len() == 8,
        }
    }

    /// A value of this type as one of another; `explicit`: whether somebody asked for it.
    pub fn convert(self, bytes: &[u8], to: PackedType, explicit: bool) -> Result<Option<Vec<u8>>> {
        let _ = explicit;
        Ok(match (self, to) {
            (PackedType::Inet, PackedType::Cidr) => Inet::decode(bytes).map(|inet| inet.network().encode()),
            (PackedType::Cidr, PackedType::Inet) => Some(bytes.to_vec()),
            (PackedType::MacAddr, PackedType::MacAddr8) => mac::longer(bytes),
            (PackedType::MacAddr8, PackedType::MacAddr) => Some(mac::shorter(bytes)?),
            _ if self == to => Some(bytes.to_vec()),
            _ => None,
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
        }
    }

    /// Reads the binary form of the wire.
    pub fn receive(self, bytes: &[u8]) -> Result<Vec<u8>> {
        match self {
            PackedType::Inet => Ok(Inet::receive(bytes, false)?.encode()),
            PackedType::Cidr => Ok(Inet::receive(bytes, true)?.encode()),
            PackedType::MacAddr => mac::receive(bytes, 6),
            PackedType::MacAddr8 => mac::receive(bytes, 8),
        }
    }

    /// The type.
    pub const fn ty(self) -> Type {
        Type::Packed(self)
    }
}

#[cfg(test)]
mod tests;
