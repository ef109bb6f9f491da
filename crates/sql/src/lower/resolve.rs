//! The choice between overloads, as PostgreSQL makes it (manual, 10.2 and 10.3).

use super::types::{CastContext, Category, cast_allowed, category, is_preferred, same_base};
use planaria_base::Type;

/// What a choice came to.
pub(super) enum Choice {
    /// The candidate at that position.
    One(usize),
    None,
    Ambiguous,
}

/// Chooses among candidates, each the list of types its arguments would have, for arguments of the
/// given types (`Unknown`: literals without a type).
pub(super) fn choose(candidates: &[Vec<Type>], args: &[Type]) -> Choice {
    choose_by(candidates, args, &|from, to| cast_allowed(from, to, CastContext::Implicit))
}

/// The same where `implicit` says what may become what.
pub(super) fn choose_by(
    candidates: &[Vec<Type>],
    args: &[Type],
    implicit: &dyn Fn(&Type, &Type) -> bool,
) -> Choice {
    let unknown = |i: usize| args[i] == Type::Unknown;
    // 1. An exact match. An operator's unknown operand is first taken to be of the other's type.
    let mut assumed = args.to_vec();
    if let [a, b] = &mut assumed[..] {
        match (*a == Type::Unknown, *b == Type::Unknown) {
            (true, false) => *a = b.clone(),
            (false, true) => *b = a.clone(),
            _ => {}
        }
    }
    let exact = |c: &Vec<Type>, args: &[Type]| c.iter().zip(args).all(|(c, a)| same_base(c, a));
    for wanted in [args, &assumed[..]] {
        if let Some(i) = candidates.iter().position(|c| exact(c, wanted)) {
            return Choice::One(i);
        }
    }
    // 2. Those whose arguments can be reached by implicit conversion.
    let mut left: Vec<usize> = (0..candidates.len())
        .filter(|i| candidates[*i].iter().zip(args).all(|(to, from)| implicit(from, to)))
        .collect();
    match left[..] {
        [] => return Choice::None,
        [one] => return Choice::One(one),
        _ => {}
    }
    // 3. Most exact matches, 4. most preferred types where a conversion is needed.
    let most = |left: &mut Vec<usize>, score: &dyn Fn(&[Type]) -> usize| {
        let best = left.iter().map(|i| score(&candidates[*i])).max().unwrap_or(0);
        left.retain(|i| score(&candidates[*i]) == best);
    };
    most(&mut left, &|c| (0..args.len()).filter(|i| !unknown(*i) && same_base(&c[*i], &args[*i])).count());
    if left.len() > 1 {
        most(&mut left, &|c| {
            (0..args.len())
                .filter(|i| {
                    let same_category = category(&c[*i]) == category(&args[*i]);
                    !unknown(*i) && (same_base(&c[*i], &args[*i]) || same_category && is_preferred(&c[*i]))
                })
                .count()
        });
    }
    if let [one] = left[..] {
        return Choice::One(one);
    }
    // 5. For each unknown argument: strings if any candidate takes them, else the category all agree on;
    // then the preferred type of it.
    let mut narrowed = left.clone();
    let mut resolved = true;
    for i in (0..args.len()).filter(|i| unknown(*i)) {
        let categories: Vec<Category> = left.iter().map(|c| category(&candidates[*c][i])).collect();
        let wanted = if categories.contains(&Category::String) {
            Category::String
        } else if categories.iter().all(|c| *c == categories[0]) {
            categories[0]
        } else {
            resolved = false;
            break;
        };
        let preferred =
            left.iter().any(|c| category(&candidates[*c][i]) == wanted && is_preferred(&candidates[*c][i]));
        narrowed.retain(|c| {
            let ty = &candidates[*c][i];
            category(ty) == wanted && (!preferred || is_preferred(ty))
        });
    }
    if resolved && !narrowed.is_empty() {
        left = narrowed;
    }
    if let [one] = left[..] {
        return Choice::One(one);
    }
    // 6. If all known arguments are of one type, suppose that the unknown ones are too.
    let mut known = args.iter().filter(|t| **t != Type::Unknown);
    if let Some(first) = known.next()
        && known.all(|t| same_base(t, first))
    {
        let fits: Vec<usize> = left
            .iter()
            .copied()
            .filter(|c| candidates[*c].iter().all(|to| cast_allowed(first, to, CastContext::Implicit)))
            .collect();
        if let [one] = fits[..] {
            return Choice::One(one);
        }
    }
    Choice::Ambiguous
}
