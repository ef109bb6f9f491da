//! Patterns that are constants: what of them is not supported is refused when the statement is planned, or
//! the routine created, where no handler can swallow it. Other errors of theirs come when they are used, as in PostgreSQL.

use super::bound::Bound;
use planaria_base::{Datum, Result, SqlState, pattern};
use planaria_ir::Func;

/// 0A000 where the function would say so of this constant whatever its other arguments are.
pub(super) fn refuse_unsupported(func: Func, args: &[Bound]) -> Result<()> {
    let last = match func {
        Func::RegexReplace
        | Func::RegexMatch
        | Func::RegexPart
        | Func::RegexSubstr
        | Func::RegexSplit
        | Func::RegexCount
        | Func::RegexLike => args.get(1),
        _ => args.last(),
    };
    let Some(last) = last else { return Ok(()) };
    let Some(Datum::Text(template)) = last.as_const() else { return Ok(()) };
    let tried = match func {
        Func::Regex
        | Func::IRegex
        | Func::RegexReplace
        | Func::RegexMatch
        | Func::RegexPart
        | Func::RegexSubstr
        | Func::RegexSplit
        | Func::RegexCount
        | Func::RegexLike => pattern::translate(template).map(drop),
        _ => Ok(()),
    };
    match tried {
        Err(error) if error.sqlstate() == SqlState::FEATURE_NOT_SUPPORTED => Err(error.at(last.position)),
        _ => Ok(()),
    }
}
