//! Expressions of a given type over given names.

use super::{Generator, Name};
use crate::schema::Ty;
use crate::tree::{Node, expr, list, text};

/// A function's form, with `$` where an expression of the type named goes.
macro_rules! forms {
    ($($form:literal $($ty:ident)*;)*) => { &[$(($form, &[$(Ty::$ty),*] as &[Ty])),*] };
}

type Forms = &'static [(&'static str, &'static [Ty])];

fn forms(ty: Ty) -> Forms {
    match ty {
        Ty::Bool => forms! {
            "($ AND $)" Bool Bool; "($ OR $)" Bool Bool; "(NOT $)" Bool;
            "($ IS NULL)" Int4; "($ IS NOT NULL)" Text; "($ IS TRUE)" Bool; "($ IS NOT FALSE)" Bool;
            "($ = $)" Int4 Int4; "($ < $)" Int4 Int4; "($ <> $)" Numeric Numeric; "($ >= $)" Numeric Numeric;
            "($ = $)" Text Text; "($ < $)" Text Text; "($ > $)" Date Date; "($ <= $)" Timestamp Timestamp;
            "($ = $)" Uuid Uuid; "($ < $)" Interval Interval; "($ = $)" Interval Interval; "($ <> $)" Bool Bool; "($ > $)" Float8 Float8;
            "($ < $)" Time Time; "($ = $)" Time Time; "($ > $)" Real Real; "($ = $)" Real Float8;
            "($ = $)" Int8 Int4; "($ < $)" Int4 Numeric; "($ >= $)" Int2 Int8; "($ < $)" Float8 Int4;
            "($ IS DISTINCT FROM $)" Int4 Int4; "($ IS NOT DISTINCT FROM $)" Text Text;
            "($ BETWEEN $ AND $)" Int4 Int4 Int4; "($ NOT BETWEEN $ AND $)" Date Date Date;
            "($ IN ($, $))" Int4 Int4 Int4; "($ NOT IN ($, $))" Text Text Text;
            "($ LIKE 'a%')" Text; "($ ILIKE '%B_')" Text; "($ NOT LIKE $)" Text Text;
            "($ ~ '^(.)\\1')" Text; "($ ~* 'A(?!b)')" Text; "($ !~ '(?<=a)b|^x')" Text; "($ IS NFC NORMALIZED)" Text;
            "($ = ANY (ARRAY[$, $]))" Int4 Int4 Int4; "($ <> ALL (ARRAY[$, $]))" Text Text Text;
            "(($, $) = ($, $))" Int4 Text Int4 Text; "(($, $) < ($, $))" Int4 Int4 Int4 Int4;
            "starts_with($, $)" Text Text; "coalesce($, $)" Bool Bool;
            "($ = $)" Jsonb Jsonb; "($ < $)" Jsonb Jsonb; "($ @> $)" Jsonb Jsonb; "($ ? $)" Jsonb Text;
            "($ ?| ARRAY[$, 'a'])" Jsonb Text; "($ ?& ARRAY['b', $])" Jsonb Text; "($ IS NULL)" Jsonb;
            "($ = ANY ($))" Text Texts; "($ <> ALL ($))" Text Texts; "($ @> $)" Texts Texts; "($ <@ $)" Texts Texts; "($ && $)" Texts Texts;
            "($ = $)" Texts Texts; "($ < $)" Texts Texts; "($ = $)" Mood Mood; "($ < $)" Mood Mood; "($ IN ($, 'ok'))" Mood Mood; "($ = ANY (enum_range($, $)))" Mood Mood Mood;
        },
        Ty::Int2 => forms! { "abs($)" Int2; "coalesce($, $)" Int2 Int2; "greatest($, $)" Int2 Int2; },
        Ty::Int4 => forms! {
            "($ + $)" Int4 Int4; "($ - $)" Int4 Int4; "(- $)" Int4; "abs($)" Int4; "($ % 7)" Int4;
            "length($)" Text; "char_length($)" Text; "octet_length($)" Text; "ascii($)" Text;
            "position($ IN $)" Text Text; "strpos($, $)" Text Text;
            "regexp_count($, '[ab](?=.)')" Text; "regexp_instr($, '(\\w)(\\W|x)', 1, 1, 0, '', 2)" Text;
            "coalesce($, $)" Int4 Int4; "nullif($, $)" Int4 Int4; "greatest($, $)" Int4 Int4; "least($, $)" Int4 Int4;
            "extract(year FROM $)::integer" Date; "extract(dow FROM $)::integer" Timestamp; "($ - $)" Date Date;
            "extract(hour FROM $)::integer" Time; "extract(month FROM $)::integer" Interval; "extract(day FROM $)::integer" Interval;
            "(CASE WHEN $ THEN $ ELSE $ END)" Bool Int4 Int4; "(CASE WHEN $ THEN $ END)" Bool Int4;
            "(CASE $ WHEN $ THEN $ ELSE $ END)" Int4 Int4 Int4 Int4; "($)::integer" Bool;
            "($ & $)" Int4 Int4; "($ | $)" Int4 Int4; "($ # $)" Int4 Int4; "mod($, 3)" Int4; "sign($)::integer" Numeric;
            "($ + $)" Int2 Int4; "cardinality(ARRAY[$, $])" Int4 Int4; "cardinality($)" Texts; "array_position(enum_range(NULL::mood), $)" Mood; "array_length($, 1)" Texts; "array_position($, ($)::text)" Texts Text; "(ARRAY[$, $])[2]" Int4 Int4; "($ / 2)" Int4;
        },
        Ty::Int8 => forms! {
            "($)::bigint" Int4; "($ + $)" Int8 Int4; "abs($)" Int8; "coalesce($, $)" Int8 Int8; "($ % 5)" Int8;
            "greatest($, $)" Int8 Int4; "(CASE WHEN $ THEN $ ELSE $ END)" Bool Int8 Int4; "(- $)" Int8;
        },
        Ty::Numeric => forms! {
            "($ + $)" Numeric Numeric; "($ - $)" Numeric Numeric; "($ * $)" Numeric Numeric; "(- $)" Numeric;
            "abs($)" Numeric; "round($)" Numeric; "round($, 1)" Numeric; "trunc($, 1)" Numeric; "floor($)" Numeric;
            "ceil($)" Numeric; "mod($, 3.5)" Numeric; "($ / 4)" Numeric; "($ / 3.0)" Int4; "($)::numeric" Int4;
            "($)::numeric" Real; "($)::numeric(14,1)" Numeric; "coalesce($, $)" Numeric Int4; "greatest($, $)" Numeric Numeric;
            "least($, $)" Int4 Numeric; "(CASE WHEN $ THEN $ ELSE $ END)" Bool Numeric Int4; "($ * 1.10)" Int8;
            "sign($)" Numeric; "($ % 2)" Numeric; "nullif($, $)" Numeric Numeric; "div($, 3)" Numeric;
            "power($, 2)" Numeric; "trunc($)" Numeric;
        },
        Ty::Float8 => forms! {
            "($ + $)" Float8 Float8; "($ * $)" Float8 Float8; "($)::double precision" Int4; "abs($)" Float8;
            "floor($)" Float8; "ceil($)" Float8; "round($)" Float8; "coalesce($, $)" Float8 Float8; "(- $)" Float8;
            "($)::double precision" Real; "($ * $)" Real Float8; "($ + $)" Int4 Real;
            "trunc($)" Float8; "($ / 2)" Float8; "sign($)" Float8; "($)::double precision" Numeric;
        },
        Ty::Real => forms! {
            "($ + $)" Real Real; "($ - $)" Real Real; "($)::real" Int4;
            "($)::real" Numeric; "abs($)" Real; "(- $)" Real; "coalesce($, $)" Real Real; "greatest($, $)" Real Real;
            "(CASE WHEN $ THEN $ ELSE $ END)" Bool Real Real;
        },
        Ty::Time => forms! {
            "($ + $)" Time Interval; "($ - $)" Time Interval; "($)::time" Timestamp; "($)::time" Interval;
            "($)::time(0)" Time; "coalesce($, $)" Time Time; "least($, $)" Time Time;
            "(CASE WHEN $ THEN $ ELSE $ END)" Bool Time Time;
        },
        Ty::Text | Ty::Varchar => forms! {
            "($ || $)" Text Text; "($ || $)" Text Int4; "upper($)" Text; "lower($)" Text; "initcap($)" Text;
            "substr($, 2)" Text; "substring($ FROM 1 FOR 2)" Text; "left($, 2)" Text; "right($, -1)" Text;
            "trim($)" Text; "ltrim($, 'a ')" Text; "rtrim($)" Text; "replace($, 'a', $)" Text Text;
            "repeat($, 2)" Text; "lpad($, 5, '*')" Text; "rpad($, 4)" Text; "reverse($)" Text; "md5($)" Text;
            "split_part($, ' ', 1)" Text; "translate($, 'abc', 'xy')" Text; "concat($, $)" Text Int4;
            "concat_ws('-', $, $, $)" Text Int4 Bool; "format('%s:%s', $, $)" Text Numeric; "quote_literal($)" Text;
            "quote_nullable($)" Text; "format('%L', $)" Text; "quote_ident($)" Text;
            "($)::text" Int4; "($)::text" Numeric; "($)::text" Bool; "($)::text" Date; "($)::text" Timestamp;
            "($)::text" Uuid; "($)::text" Float8; "($)::text" Interval; "($)::varchar(3)" Text;
            "($)::text" Real; "($)::text" Time; "($)::text" Mood; "($ || $)" Mood Text;
            "($)::text" Jsonb; "($ ->> 'a')" Jsonb; "($ ->> $ % 3)" Jsonb Int4; "($ ->> $)" Jsonb Text; "jsonb_typeof($)" Jsonb;
            "($ #>> ARRAY['b', $])" Jsonb Text;
            "($)[1]" Texts; "array_to_string($, ',')" Texts; "($)::text" Texts; "array_to_string($, $, '*')" Texts Text;
            "coalesce($, $)" Text Text; "nullif($, $)" Text Text; "greatest($, $)" Text Text; "chr(97 + abs($ % 20))" Int4;
            "(CASE WHEN $ THEN $ ELSE $ END)" Bool Text Text; "to_char($, 'YYYY-MM-DD HH24:MI')" Timestamp;
            "to_char($, 'FM999990.00')" Numeric; "to_char($, 'Day DD Mon YYYY')" Date;
            "array_to_string(ARRAY[$, $], ',')" Text Text; "btrim($, ' x')" Text;
            "regexp_replace($, '(.)\\1|([a-c]+?)', '<\\1\\2>', 'g')" Text; "regexp_substr($, '(a|ab)(c|bc)*')" Text;
            "array_to_string(regexp_match($, '(\\w*?)(\\s*)(.*)'), '|', '-')" Text; "normalize($, NFD)" Text;
        },
        Ty::Date => forms! {
            "($ + $ % 40)" Date Int4; "($)::date" Timestamp; "coalesce($, $)" Date Date; "greatest($, $)" Date Date;
            "(CASE WHEN $ THEN $ ELSE $ END)" Bool Date Date; "($ - 3)" Date;
        },
        Ty::Timestamp => forms! {
            "($ + $)" Timestamp Interval; "($ - $)" Timestamp Interval; "date_trunc('month', $)" Timestamp;
            "date_trunc('hour', $)" Timestamp; "($)::timestamp" Date; "coalesce($, $)" Timestamp Timestamp;
            "($ + $)" Date Interval; "least($, $)" Timestamp Timestamp; "($ + $)" Date Time; "($)::timestamp(1)" Timestamp;
        },
        Ty::Interval => forms! {
            "($ - $)" Time Time; "($)::interval" Time; "($)::interval(0)" Interval;
            "($ + $)" Interval Interval; "($ - $)" Timestamp Timestamp; "(- $)" Interval; "($ * 2)" Interval;
            "coalesce($, $)" Interval Interval; "justify_interval($)" Interval; "age($, $)" Timestamp Timestamp;
            "($ * 1.5)" Interval; "($ / 3)" Interval; "date_trunc('month', $)" Interval; "greatest($, $)" Interval Interval;
        },
        Ty::Uuid => forms! { "coalesce($, $)" Uuid Uuid; "nullif($, $)" Uuid Uuid; },
        Ty::Mood => forms! {
            "coalesce($, $)" Mood Mood; "nullif($, $)" Mood Mood; "greatest($, $)" Mood Mood; "least($, $)" Mood Mood;
            "(CASE WHEN $ THEN $ ELSE $ END)" Bool Mood Mood; "($)::text::mood" Mood; "(enum_range($, $))[1]" Mood Mood;
        },
        Ty::Texts => forms! {
            "enum_range($, $)::text[]" Mood Mood; "ARRAY[($)::text, $]" Text Text; "($ || $)" Texts Texts; "($ || ($)::text)" Texts Text; "array_append($, ($)::text)" Texts Text;
            "array_remove($, ($)::text)" Texts Text; "string_to_array($, ' ')" Text; "($)[1:1]" Texts; "coalesce($, $)" Texts Texts;
            "(CASE WHEN $ THEN $ ELSE $ END)" Bool Texts Texts; "array_prepend(($)::text, $)" Text Texts; "($)::text::text[]" Texts;
        },
        Ty::Jsonb => forms! {
            "to_jsonb($)" Texts; "to_jsonb($)" Mood; "($ || $)" Jsonb Jsonb; "($ -> 'a')" Jsonb; "($ -> $ % 3)" Jsonb Int4; "($ -> $)" Jsonb Text; "to_jsonb($)" Int4;
            "to_jsonb(($)::text)" Text; "to_jsonb($)" Numeric; "to_jsonb($)" Date; "to_jsonb($)" Timestamp; "to_jsonb($)" Bool; "($ #> '{b,a}')" Jsonb;
            "jsonb_build_object('a', $, 'b', $)" Numeric Text; "jsonb_build_array($, $, $)" Int4 Jsonb Text;
            "jsonb_strip_nulls($)" Jsonb; "coalesce($, $)" Jsonb Jsonb; "greatest($, $)" Jsonb Jsonb; "nullif($, $)" Jsonb Jsonb;
            "(CASE WHEN $ THEN $ ELSE $ END)" Bool Jsonb Jsonb; "($)::text::jsonb" Jsonb; "to_jsonb(ARRAY[$, $])" Int4 Int4;
        },
    }
}

/// Forms that fail for some values.
fn risky(ty: Ty) -> Forms {
    match ty {
        Ty::Int4 => forms! {
            "($ / $)" Int4 Int4; "($ % $)" Int4 Int4; "($ + 2147483647)" Int4; "($ - 2147483648)::integer" Int4;
            "(-(-2147483648) - $)::integer" Int4; "abs($ % 2 - 2147483647 - 1)" Int4; "($ * $)" Int4 Int4; "($)::integer" Numeric; "($)::integer" Text;
            "($)::integer" Int8; "($)::integer" Float8; "($)::integer" Jsonb; "jsonb_array_length($)" Jsonb;
        },
        Ty::Int2 => forms! { "($)::smallint" Int4; "($ * $)" Int2 Int2; },
        Ty::Int8 => forms! { "($ * $)" Int8 Int8; "($ / $)" Int8 Int4; "($)::bigint" Numeric; },
        Ty::Numeric => {
            forms! { "($ / $)" Numeric Numeric; "mod($, $)" Numeric Int4; "($)::numeric(4,2)" Numeric; "sqrt($)" Numeric; }
        }
        Ty::Float8 => forms! { "($ / $)" Float8 Float8; "sqrt($)" Float8; },
        Ty::Real => forms! { "($ / $)" Real Real; "($ * $)" Real Real; "($)::real" Float8; },
        Ty::Bool => forms! { "($)::boolean" Text; "($)::boolean" Int4; },
        Ty::Text => forms! { "repeat($, $ % 5)" Text Int4; },
        Ty::Jsonb => forms! {
            "($ - $)" Jsonb Text; "($ - $)" Jsonb Int4; "($)::jsonb" Text; "jsonb_set($, ARRAY['a'], $)" Jsonb Jsonb;
            "jsonb_insert($, ARRAY['0'], $)" Jsonb Jsonb; "($ #- ARRAY['a', '0'])" Jsonb;
        },
        _ => &[],
    }
}

impl Generator {
    /// An expression of a type, at most `depth` deep.
    pub(super) fn expression(&mut self, ty: Ty, names: &[Name], depth: usize) -> Node {
        if depth == 0 || self.rng.chance(25) {
            return self.leaf(ty, names);
        }
        if self.may_fail && self.rng.chance(10) {
            return self.risky_expression(ty, names, depth);
        }
        let form = self.rng.pick(forms(ty));
        self.filled(ty, form, names, depth, None)
    }

    /// An expression that may fail. PostgreSQL computes what is constant when it plans, even if the value
    /// is not asked for: so a name is in it, or nothing around it can leave it out.
    pub(super) fn risky_expression(&mut self, ty: Ty, names: &[Name], depth: usize) -> Node {
        let fits: Vec<(&'static str, &'static [Ty])> = risky(ty)
            .iter()
            .filter(|(_, args)| names.is_empty() || names.iter().any(|n| n.ty == args[0]))
            .copied()
            .collect();
        if fits.is_empty() {
            return self.leaf(ty, names);
        }
        let form = *self.rng.pick(&fits);
        let first: Vec<&Name> = names.iter().filter(|n| n.ty == form.1[0]).collect();
        let first = (!first.is_empty()).then(|| text(self.rng.pick(&first).text.clone()));
        self.filled(ty, &form, names, depth, first)
    }

    /// A form with its holes filled, the first as given.
    fn filled(
        &mut self,
        ty: Ty,
        form: &(&'static str, &'static [Ty]),
        names: &[Name],
        depth: usize,
        mut first: Option<Node>,
    ) -> Node {
        // Constants that fail stand alone.
        let before = self.may_fail;
        self.may_fail &= !names.is_empty();
        let mut parts = Vec::new();
        let mut args = form.1.iter();
        for (i, piece) in form.0.split('$').enumerate() {
            if i > 0
                && let Some(arg) = args.next()
            {
                let part = first.take();
                parts.push(part.unwrap_or_else(|| self.expression(*arg, names, depth.saturating_sub(1))));
            }
            parts.push(text(piece));
        }
        self.may_fail = before;
        expr(ty, parts)
    }

    fn leaf(&mut self, ty: Ty, names: &[Name]) -> Node {
        let same = |n: &&Name| n.ty == ty || ty == Ty::Text && n.ty == Ty::Varchar;
        let fitting: Vec<&Name> = names.iter().filter(same).collect();
        if !fitting.is_empty() && self.rng.chance(75) {
            return expr(ty, [text(self.rng.pick(&fitting).text.clone())]);
        }
        // PostgreSQL computes nothing beside a constant NULL, not even what fails.
        if !self.may_fail && self.rng.chance(6) {
            return expr(ty, [text(format!("NULL::{}", ty.name()))]);
        }
        expr(ty, [text(ty.literal(&mut self.rng))])
    }

    /// A condition that raises no error.
    pub(super) fn condition(&mut self, names: &[Name], depth: usize) -> Node {
        let before = std::mem::replace(&mut self.may_fail, false);
        let node = self.expression(Ty::Bool, names, depth);
        self.may_fail = before;
        node
    }

    /// A type to be selected, compared, stored.
    pub(super) fn some_type(&mut self, names: &[Name]) -> Ty {
        if !names.is_empty() && self.rng.chance(70) {
            return match self.rng.pick(names).ty {
                Ty::Varchar => Ty::Text,
                ty => ty,
            };
        }
        match *self.rng.pick(Ty::COLUMNS) {
            Ty::Varchar => Ty::Text,
            ty => ty,
        }
    }

    /// An aggregate over rows, of a type; it must not depend on their order.
    pub(super) fn aggregate(&mut self, names: &[Name]) -> (Ty, Node) {
        let depth = self.rng.below(2);
        let over = |g: &mut Self, form: &str, result: Ty, ty: Ty| {
            let (before, after) = form.split_once('$').unwrap_or((form, ""));
            let inner = g.expression(ty, names, depth);
            let distinct = if before.ends_with('(') && g.rng.chance(15) { "DISTINCT " } else { "" };
            (result, expr(result, [text(before), text(distinct), inner, text(after)]))
        };
        let (ty, node) = match self.rng.below(18) {
            0 => (Ty::Int8, expr(Ty::Int8, [text("count(*)")])),
            1 => over(self, "count($)", Ty::Int8, Ty::Text),
            2 => over(self, "sum($)", Ty::Int8, Ty::Int4),
            3 => over(self, "sum($)", Ty::Numeric, Ty::Numeric),
            4 => over(self, "avg($)", Ty::Numeric, Ty::Int4),
            5 => over(self, "avg($)", Ty::Numeric, Ty::Numeric),
            6 => over(self, "min($)", Ty::Int4, Ty::Int4),
            7 => over(self, "max($)", Ty::Text, Ty::Text),
            8 => over(self, "max($)", Ty::Date, Ty::Date),
            9 => over(self, "bool_or($)", Ty::Bool, Ty::Bool),
            10 => over(self, "min($)", Ty::Numeric, Ty::Numeric),
            11 => over(self, "sum($)", Ty::Numeric, Ty::Int8),
            12 => over(self, "bit_or($)", Ty::Int4, Ty::Int4),
            13 => over(self, "stddev($)", Ty::Numeric, Ty::Int4),
            14 => over(self, "var_pop($)", Ty::Numeric, Ty::Int4),
            15 => over(self, "percentile_disc(0.5) WITHIN GROUP (ORDER BY $)", Ty::Int4, Ty::Int4),
            16 => over(self, "mode() WITHIN GROUP (ORDER BY $)", Ty::Text, Ty::Text),
            _ => {
                let inner = self.expression(Ty::Text, names, depth);
                let order = text(inner.render());
                (
                    Ty::Text,
                    expr(Ty::Text, [text("string_agg("), inner, text(", ',' ORDER BY "), order, text(")")]),
                )
            }
        };
        if !matches!(node.render().as_str(), s if s.starts_with("string_agg")) && self.rng.chance(12) {
            let filter = self.condition(names, 1);
            return (ty, expr(ty, [node, text(" FILTER (WHERE "), filter, text(")")]));
        }
        (ty, node)
    }

    /// Expressions in a list.
    pub(super) fn row(&mut self, types: &[Ty], names: &[Name], depth: usize) -> Node {
        let items = types.iter().map(|ty| self.expression(*ty, names, depth)).collect::<Vec<_>>();
        let min = items.len();
        list(items, min)
    }
}
