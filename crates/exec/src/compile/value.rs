//! Values: which instruction computes a function, and which casts do nothing.

use super::{Compiler, number, plain};
use crate::code::*;
use planaria_base::{Error, Result, Type};
use planaria_ir::{Func, OpKind, Reg};

/// What a cast from one type to another takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Conversion {
    /// The value is one of the other type as it is.
    Nothing,
    /// A range check to this width.
    Narrow(u8),
    /// A check of scale and digits.
    Rescale,
    /// The cast function.
    General,
}

/// What a cast takes, as far as the types tell.
pub fn conversion(from: &Type, to: &Type) -> Conversion {
    use Type::*;
    match (from, to) {
        _ if from == to => Conversion::Nothing,
        (Int2, Int4 | Int8) | (Int4, Int8) => Conversion::Nothing,
        (Int4 | Int8, Int2) => Conversion::Narrow(2),
        (Int8, Int4) => Conversion::Narrow(4),
        (Text | Varchar(_) | Char(_), Text | Varchar(None)) => Conversion::Nothing,
        (Char(_), Char(0)) => Conversion::Nothing,
        (Varchar(Some(n)) | Char(n @ 1..), Varchar(Some(m))) | (Char(n @ 1..), Char(m)) if n <= m => {
            Conversion::Nothing
        }
        (Numeric(_), Numeric(None)) | (Float4, Float8) => Conversion::Nothing,
        (Rounded(..), _) if from.plain() == to => Conversion::Nothing,
        (_, Rounded(clock, digits)) if clock.keeps(*digits) && from == to.plain() => Conversion::Nothing,
        (Numeric(Some((p, s))), Numeric(Some((q, t)))) if s == t && p <= q => Conversion::Nothing,
        (Numeric(_), Numeric(Some(_))) => Conversion::Rescale,
        _ => Conversion::General,
    }
}

impl Compiler<'_> {
    pub(super) fn value_op(&mut self, kind: &OpKind) -> Result<()> {
        let inst = match kind {
            OpKind::Const { dst, value } => match plain(value) {
                // It stands in the template.
                Some(_) if self.emit.uses.settled[dst.index()] => return Ok(()),
                Some(slot) => {
                    let (dst, src) = (self.emit.reg(*dst)?, self.emit.scalar(slot)?);
                    Inst::Copy { dst, src }
                }
                None => {
                    let dst = self.emit.reg(*dst)?;
                    self.emit.constants.push(value.clone());
                    Inst::Const { dst, constant: (self.emit.constants.len() - 1) as u32 }
                }
            },
            OpKind::Copy { dst, src } => {
                let (dst, src) = (self.emit.reg(*dst)?, self.emit.reg(*src)?);
                self.emit.copy(dst, src);
                return Ok(());
            }
            OpKind::Apply { dst, func, args } => return self.apply(*dst, *func, args),
            OpKind::Cast { dst, src, explicit } => return self.cast(*dst, *src, *explicit),
            OpKind::Draw { dst, input } if input.is_logged() => {
                let ty =
                    self.program.type_of(*dst).ok_or_else(|| Error::internal("a kept value is no row"))?;
                let known = self.kept.iter().position(|t| t == ty);
                let ty = match known {
                    Some(at) => at as u16,
                    None => number(&mut self.kept, ty.clone())?,
                };
                Inst::Kept { dst: self.emit.reg(*dst)?, ty }
            }
            OpKind::Draw { dst, input: of } if of.is_name() => {
                Inst::Name { dst: self.emit.reg(*dst)?, of: *of }
            }
            OpKind::Draw { dst, input } => Inst::Draw { dst: self.emit.reg(*dst)?, input: *input },
            OpKind::NextValue { dst, sequence } => {
                Inst::NextValue { dst: self.emit.reg(*dst)?, sequence: *sequence }
            }
            OpKind::CurrentValue { dst, sequence } => {
                Inst::CurrentValue { dst: self.emit.reg(*dst)?, sequence: *sequence }
            }
            OpKind::SetValue { sequence, value, is_called } => {
                let (value, is_called) = (self.emit.reg(*value)?, self.emit.reg(*is_called)?);
                Inst::SetValue { value, is_called, sequence: *sequence }
            }
            OpKind::ArraySet { array, index, value } => {
                let owner = self.owner(*array).ok_or_else(|| Error::internal("array without owner"))?;
                let (array, index, value) =
                    (self.emit.reg(*array)?, self.emit.reg(*index)?, self.emit.reg(*value)?);
                Inst::ArraySet { array, index, value, owner }
            }
            other => return Err(Error::internal(format!("no instruction for {other:?}"))),
        };
        self.emit.emit(inst);
        Ok(())
    }

    fn apply(&mut self, dst: Reg, func: Func, args: &[Reg]) -> Result<()> {
        let args = self.emit.regs(args)?;
        let dst = self.emit.reg(dst)?;
        let inst = match (func, &args[..]) {
            (Func::Int4Add, &[a, b]) => Inst::AddInt4 { dst, a, b },
            (Func::Int4Sub, &[a, b]) => Inst::SubInt4 { dst, a, b },
            (Func::Int4Mul, &[a, b]) => Inst::MulInt4 { dst, a, b },
            (Func::Int8Add, &[a, b]) => Inst::AddInt8 { dst, a, b },
            (Func::Int8Sub, &[a, b]) => Inst::SubInt8 { dst, a, b },
            (Func::Int8Mul, &[a, b]) => Inst::MulInt8 { dst, a, b },
            (Func::NumAdd, &[a, b]) => Inst::AddNum { dst, a, b },
            (Func::NumSub, &[a, b]) => Inst::SubNum { dst, a, b },
            (Func::NumMul, &[a, b]) => Inst::MulNum { dst, a, b },
            (Func::IntMod, &[a, b]) => Inst::ModInt { dst, a, b },
            (Func::IntAnd, &[a, b]) => Inst::BitsInt { bits: Bits::And, dst, a, b },
            (Func::IntOr, &[a, b]) => Inst::BitsInt { bits: Bits::Or, dst, a, b },
            (Func::IntXor, &[a, b]) => Inst::BitsInt { bits: Bits::Xor, dst, a, b },
            (Func::TextConcat, &[a, b]) => Inst::Concat { dst, a, b },
            (Func::IsNull, &[src]) => Inst::IsNull { dst, src },
            (Func::IsNotNull, &[src]) => Inst::IsNotNull { dst, src },
            (Func::Not, &[src]) => Inst::Not { dst, src },
            (Func::And, &[a, b]) => Inst::And { dst, a, b },
            (Func::Or, &[a, b]) => Inst::Or { dst, a, b },
            (Func::Greatest | Func::Least | Func::Max | Func::Min, &[a, b]) => {
                return self.emit.best(func, dst, a, b);
            }
            (Func::ArrayGet, &[array, index]) => Inst::Element { dst, array, index, nth: false },
            (Func::ArrayNth, &[array, index]) => Inst::Element { dst, array, index, nth: true },
            (_, &[a, b]) if comparison(func).is_some() => match comparison(func) {
                Some((Class::Int, test)) => Inst::CompareInt { test, dst, a, b },
                Some((Class::Num, test)) => Inst::CompareNum { test, dst, a, b },
                Some((Class::Text, test)) => Inst::CompareText { test, dst, a, b },
                None => unreachable!("just seen"),
            },
            (_, &[a]) => Inst::Apply1 { func, dst, a },
            (_, &[a, b]) => Inst::Apply2 { func, dst, a, b },
            (_, args) => Inst::ApplyN { func, dst, args: self.emit.run(args)? },
        };
        self.emit.emit(inst);
        Ok(())
    }

    fn cast(&mut self, dst: Reg, src: Reg, explicit: bool) -> Result<()> {
        let (Some(from), Some(to)) = (self.program.type_of(src), self.program.type_of(dst)) else {
            return Err(Error::internal("a cast of a row handle"));
        };
        let (dst, src) = (self.emit.reg(dst)?, self.emit.reg(src)?);
        let how = conversion(from, to);
        let inst = match how {
            Conversion::Nothing => {
                self.emit.copy(dst, src);
                return Ok(());
            }
            Conversion::Narrow(bytes) => Inst::CastInt { bytes, dst, src },
            Conversion::Rescale | Conversion::General => {
                let (precision, scale) = match to {
                    Type::Numeric(Some((p, s))) => (*p, *s),
                    _ => (0, 0),
                };
                // Every numeric is below 10^36; no bound needs more.
                let bound = 10i128.pow(u32::from(precision).min(36));
                let known =
                    self.casts.iter().position(|c| (&c.from, &c.to, c.explicit) == (from, to, explicit));
                let cast = match known {
                    Some(at) => at as u16,
                    None => {
                        let (from, to) = (from.clone(), to.clone());
                        let desc = CastDesc { from, to, explicit, bound, scale };
                        number(&mut self.casts, desc)?
                    }
                };
                match how {
                    Conversion::Rescale => Inst::CastNum { dst, src, cast },
                    _ => Inst::Cast { dst, src, cast },
                }
            }
        };
        self.emit.emit(inst);
        Ok(())
    }

    /// The hidden register of an array that is assigned by element.
    fn owner(&self, array: Reg) -> Option<R> {
        self.owners.iter().find(|(a, _)| *a == array).map(|(_, owner)| *owner)
    }

    /// Gives up sole ownership of arrays that the operation shares or replaces.
    pub(super) fn disown(&mut self, kind: &OpKind) {
        let mut given_up = Vec::new();
        match kind {
            OpKind::ArraySet { value, .. } => given_up.extend(self.owner(*value)),
            OpKind::Apply { dst, func, args } => {
                given_up.extend(self.owner(*dst));
                let keeps = !matches!(
                    func,
                    Func::ArrayGet
                        | Func::ArrayNth
                        | Func::ArrayAt
                        | Func::ArrayDims
                        | Func::ArrayNdims
                        | Func::ArrayLength
                        | Func::Cardinality
                        | Func::ArrayLower
                        | Func::ArrayUpper
                        | Func::ArrayContainsElement
                        | Func::ArrayPosition
                        | Func::ArrayPositionFrom
                        | Func::ArrayToString
                        | Func::ArrayToStringOr
                        | Func::ArrayEq
                        | Func::ArrayNe
                        | Func::ArrayContains
                        | Func::ArrayOverlaps
                        | Func::ArrayCompare
                        | Func::IsNull
                        | Func::IsNotNull
                );
                if keeps {
                    given_up.extend(args.iter().filter_map(|a| self.owner(*a)));
                }
            }
            _ => {
                kind.reads(&mut |r| given_up.extend(self.owner(r)));
                kind.writes(&mut |r| given_up.extend(self.owner(r)));
            }
        }
        for owner in given_up {
            self.emit.emit(Inst::Disown { owner });
        }
    }
}

/// A comparison that has an instruction of its own: what it compares, and for which outcomes it is true.
pub fn comparison(func: Func) -> Option<(Class, Test)> {
    Some(match func {
        Func::IntEq => (Class::Int, Test::EQ),
        Func::IntNe => (Class::Int, Test::NE),
        Func::IntLt => (Class::Int, Test::LT),
        Func::IntLe => (Class::Int, Test::LE),
        Func::IntGt => (Class::Int, Test::GT),
        Func::IntGe => (Class::Int, Test::GE),
        Func::NumEq => (Class::Num, Test::EQ),
        Func::NumNe => (Class::Num, Test::NE),
        Func::NumLt => (Class::Num, Test::LT),
        Func::NumLe => (Class::Num, Test::LE),
        Func::NumGt => (Class::Num, Test::GT),
        Func::NumGe => (Class::Num, Test::GE),
        Func::TextEq => (Class::Text, Test::EQ),
        Func::TextNe => (Class::Text, Test::NE),
        Func::TextLt => (Class::Text, Test::LT),
        Func::TextLe => (Class::Text, Test::LE),
        Func::TextGt => (Class::Text, Test::GT),
        Func::TextGe => (Class::Text, Test::GE),
        _ => return None,
    })
}
