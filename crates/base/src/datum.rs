//! An owned SQL value: constants, arguments, results, logged inputs. The executor has its own,
//! register-sized form (`exec::Slot`).

use crate::datetime::{self, DateOrder, Forms, Interval, IntervalForm};
use crate::error::{Error, Result, SqlState};
use crate::limits::NAME_BYTES_MAX as NAME_BYTES;
use crate::numeric::{Long, Number, Numeric};
use crate::range::{self, Range};
use crate::shape::{Shape, Shaped};
use crate::types::{Clock, SystemType, Type};
use crate::{text_io, watch};
use serde::{Deserialize, Serialize};

/// An owned SQL value. Its [`crate::Type`] is known from where it stands.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub enum Datum {
    /// SQL NULL
    #[default]
    Null,
    /// boolean
    Bool(bool),
    /// smallint, integer, bigint; the rank of an enumerated value; date in days, timestamps in microseconds since 2000-01-01
    Int(i64),
    /// double precision
    Float(f64),
    /// numeric
    Numeric(Numeric),
    /// text, varchar, and char without its trailing blanks
    Text(String),
    /// bytea; a range ([`crate::range`]); what is kept as bytes in its order ([`crate::packed`])
    Bytea(Vec<u8>),
    /// uuid, in network order
    Uuid([u8; 16]),
    /// jsonb, in its canonical form
    Jsonb(String),
    /// interval
    Interval(Interval),
    /// array in one dimension whose first element is number 1; the fields of a record
    Array(Vec<Datum>),
    /// any other array ([`Datum::array`])
    Shaped(Box<Shaped>),
    /// a `regclass` and the like, in an answer: the oid with the name it is shown as
    Reg(u32, String),
    /// a numeric that `Numeric` has no room for
    Long(Box<Long>),
    /// citext, as it was written
    Citext(String),
}

impl Datum {
    /// Whether this is SQL NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Datum::Null)
    }

    /// Reads a value of a type from its text form, as a literal or a parameter in text format is
    /// read where nobody has set a style of dates or intervals, or a time zone. Modifiers are applied as an explicit cast does: `varchar(n)` is cut.
    pub fn parse(ty: &Type, text: &str) -> Result<Datum> {
        Ok(match ty {
            Type::Bool => Datum::Bool(text_io::parse_bool(text)?),
            Type::Int2 | Type::Int4 | Type::Int8 => Datum::Int(text_io::parse_int(text, ty)?),
            Type::Numeric(modifier) => {
                let n = Number::parse(text)?;
                match modifier {
                    Some((precision, scale)) => n.rescale(*precision, *scale)?.into(),
                    None => n.into(),
                }
            }
            Type::Float8 => Datum::Float(text_io::parse_float(text)?),
            Type::Float4 => Datum::Float(text_io::parse_real(text)?),
            Type::Text | Type::Unknown | Type::Varchar(None) => Datum::Text(text.to_owned()),
            Type::Citext => Datum::Citext(text.to_owned()),
            Type::Varchar(Some(n)) => Datum::Text(text_io::first_chars(text, *n as usize).to_owned()),
            Type::Char(0) => Datum::Text(text.trim_end_matches(' ').to_owned()),
            Type::Char(n) => {
                Datum::Text(text_io::first_chars(text, *n as usize).trim_end_matches(' ').to_owned())
            }
            Type::Bytea => Datum::Bytea(text_io::parse_bytea(text.as_bytes())?),
            Type::Date => Datum::Int(datetime::parse_date(text, DateOrder::Mdy)?),
            Type::Time => Datum::Int(datetime::parse_time(text, DateOrder::Mdy)?),
            Type::Rounded(clock, digits) => {
                Datum::parse(clock.ty(), &clock.completed(text))?.rounded(*clock, *digits)?
            }
            Type::Timestamp => Datum::Int(datetime::parse_timestamp(text, DateOrder::Mdy)?),
            Type::TimestampTz => Datum::Int(datetime::parse_timestamptz(text, Forms::default())?),
            Type::Interval | Type::OldInterval => {
                Datum::Interval(datetime::parse_interval(text, IntervalForm::Postgres)?)
            }
            Type::Uuid => Datum::Uuid(text_io::parse_uuid(text)?),
            Type::Jsonb => Datum::Jsonb(crate::json::canonical(text)?),
            Type::Range(of) => Datum::Bytea(Range::parse(*of, text, Forms::default())?.encode()),
            Type::Packed(of) => Datum::Bytea(of.parse(text)?),
            Type::Enum(of) => Datum::Int(of.parse(text)?),
            Type::Array(element) => {
                let (shape, texts) = text_io::parse_array(text)?;
                let element = |text: Option<String>| match text {
                    Some(text) => Datum::parse(element, &text),
                    None => Ok(Datum::Null),
                };
                Datum::array(shape, texts.into_iter().map(element).collect::<Result<_>>()?)
            }
            Type::System(system) => return Datum::parse_system(*system, text),
            Type::Record(row) if row.of.is_some() => {
                let texts = text_io::parse_record(text, row.len())?;
                let field = |(text, (_, ty)): (Option<String>, &(String, Type))| match text {
                    Some(text) => Datum::parse(ty, &text),
                    None => Ok(Datum::Null),
                };
                Datum::Array(texts.into_iter().zip(row.iter()).map(field).collect::<Result<_>>()?)
            }
            Type::Record(_) => {
                return Err(Error::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "input of anonymous composite types is not implemented",
                ));
            }
            Type::Void => return Err(text_io::invalid_syntax("void", text)),
        })
    }

    /// The same for a type of the catalogs. Of an alias of oid a number is read here; names are the
    /// business of who knows the catalog.
    fn parse_system(system: SystemType, text: &str) -> Result<Datum> {
        Ok(match system {
            SystemType::Name => Datum::Text(text_io::first_bytes(text, NAME_BYTES).to_owned()),
            SystemType::Char => Datum::Text(text_io::first_chars(text, 1).to_owned()),
            SystemType::Json => {
                crate::json::check(text)?;
                Datum::Text(text.to_owned())
            }
            SystemType::NodeTree | SystemType::AclItem | SystemType::RefCursor => {
                Datum::Text(text.to_owned())
            }
            SystemType::Tid => Datum::Int(text_io::parse_tid(text)?),
            SystemType::Int2Vector | SystemType::OidVector => {
                let element = system.element().expect("vectors have elements");
                let items = text.split_ascii_whitespace().map(|t| Datum::parse(&element, t));
                Datum::Array(items.collect::<Result<_>>()?)
            }
            system if system.is_polymorphic() => {
                let message = format!("cannot accept a value of type {}", system.name());
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
            _ => Datum::Int(i64::from(text_io::parse_oid(text, system)?)),
        })
    }

    /// With so many digits of a second: what a `timestamp` is as a `timestamp(3)`.
    pub fn rounded(self, clock: Clock, digits: u8) -> Result<Datum> {
        Ok(match (self, clock) {
            (Datum::Int(n), Clock::Time) => Datum::Int(datetime::round_seconds(n, digits)),
            (Datum::Int(n), _) => Datum::Int(datetime::round_timestamp(n, digits)?),
            (Datum::Interval(i), clock) => Datum::Interval(clock.fit(i, digits)),
            (other, _) => other,
        })
    }

    /// Appends the text form of a value of a type. NULL appends nothing, as `psql` shows it; within
    /// an array it is `NULL`.
    pub fn write(&self, ty: &Type, out: &mut Vec<u8>) {
        self.write_in(ty, Forms::default(), out);
    }

    /// The same in the forms of a session.
    pub fn write_in(&self, ty: &Type, forms: Forms<'_>, out: &mut Vec<u8>) {
        match (self, ty.plain()) {
            (Datum::Null, _) => {}
            (Datum::Bool(b), _) => out.push(if *b { b't' } else { b'f' }),
            (Datum::Int(n), Type::Date) => datetime::write_date(out, *n, forms.styles),
            (Datum::Int(n), Type::Time) => datetime::write_time(out, *n),
            (Datum::Int(n), Type::Timestamp) => datetime::write_timestamp(out, *n, forms.styles),
            (Datum::Int(n), Type::TimestampTz) => datetime::write_timestamptz(out, *n, forms),
            (Datum::Int(n), Type::Enum(of)) => of.write(out, *n),
            (Datum::Int(n), &Type::TID) => text_io::write_tid(out, *n),
            (Datum::Interval(i), _) => datetime::write_interval(out, *i, forms.styles),
            (Datum::Int(n), _) => text_io::write_int(out, *n),
            (Datum::Float(x), ty) => text_io::write_float_as(out, *x, *ty == Type::Float4, forms.styles),
            (Datum::Numeric(n), _) => n.write(out),
            (Datum::Long(n), _) => n.write(out),
            (Datum::Text(s), Type::Char(n)) => text_io::write_char(out, s.as_bytes(), *n as usize),
            (Datum::Text(s) | Datum::Jsonb(s) | Datum::Citext(s), _) => {
                watch::count(s.len());
                out.extend_from_slice(s.as_bytes());
            }
            (Datum::Bytea(b), Type::Range(_)) => range::write(b, forms, out),
            (Datum::Bytea(b), Type::Packed(of)) => of.write(b, out),
            (Datum::Bytea(b), _) => text_io::write_bytea(out, b, forms.styles.bytes),
            (Datum::Uuid(u), _) => text_io::write_uuid(out, u),
            (Datum::Reg(_, name), _) => out.extend_from_slice(name.as_bytes()),
            (Datum::Array(items), Type::System(system)) => {
                let element = system.element().unwrap_or(Type::Unknown);
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        out.push(b' ');
                    }
                    item.write_in(&element, forms, out);
                }
            }
            (Datum::Array(items), Type::Record(fields)) => {
                out.push(b'(');
                let mut text = Vec::new();
                for (i, (item, (_, ty))) in items.iter().zip(fields.iter()).enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    if !item.is_null() {
                        text.clear();
                        item.write_in(ty, forms, &mut text);
                        text_io::write_record_field(out, &text);
                    }
                }
                out.push(b')');
            }
            (Datum::Array(items), ty) => write_array(None, items, ty, forms, out),
            (Datum::Shaped(of), ty) => write_array(Some(of.shape()), of.elements(), ty, forms, out),
        }
    }

    /// The text form of a value of a type; NULL is empty.
    pub fn display(&self, ty: &Type) -> String {
        let mut out = Vec::new();
        self.write(ty, &mut out);
        // Every writer appends UTF-8.
        String::from_utf8(out).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
    }
}

impl From<Number> for Datum {
    fn from(n: Number) -> Datum {
        match n {
            Number::Short(n) => Datum::Numeric(n),
            Number::Long(n) => Datum::Long(Box::new(n)),
        }
    }
}

fn write_array(shape: Option<&Shape>, items: &[Datum], ty: &Type, forms: Forms<'_>, out: &mut Vec<u8>) {
    let element = if let Type::Array(element) = ty { element } else { &Type::Unknown };
    let mut text = Vec::new();
    text_io::write_array(out, shape, items.len(), |out, i| {
        if items[i].is_null() {
            out.extend_from_slice(b"NULL");
            return;
        }
        text.clear();
        items[i].write_in(element, forms, &mut text);
        text_io::write_array_element(out, &text);
    });
}
