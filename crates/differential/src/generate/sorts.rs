//! Types of columns of scripts about what hangs on tables: literals, and expressions over a column (`{}`).

use crate::rng::Rng;

/// A type.
#[derive(Debug)]
pub(super) struct Sort {
    /// Its name.
    pub name: &'static str,
    /// Values.
    pub literals: &'static [&'static str],
    /// Expressions of the same type.
    pub same: &'static [&'static str],
    /// Expressions of other types.
    pub shown: &'static [&'static str],
    /// Conditions.
    pub conditions: &'static [&'static str],
}

impl Sort {
    /// A literal, or NULL.
    pub(super) fn value(&self, rng: &mut Rng) -> String {
        if rng.chance(12) { "NULL".to_owned() } else { (*rng.pick(self.literals)).to_owned() }
    }

    /// A value of the type over a column of it.
    pub(super) fn expression(&self, rng: &mut Rng, column: &str) -> String {
        if rng.chance(35) { self.value(rng) } else { rng.pick(self.same).replace("{}", column) }
    }

    /// A condition over a column.
    pub(super) fn condition(&self, rng: &mut Rng, column: &str) -> String {
        match rng.below(10) {
            0 => format!("{column} IS NULL"),
            1 => format!("{column} = {}", rng.pick(self.literals)),
            2 => format!("{column} IS DISTINCT FROM {}", rng.pick(self.literals)),
            _ => rng.pick(self.conditions).replace("{}", column),
        }
    }
}

macro_rules! sorts {
    ($($name:literal: $literals:expr, $same:expr, $shown:expr, $conditions:expr;)*) => {
        &[$(Sort { name: $name, literals: &$literals, same: &$same, shown: &$shown, conditions: &$conditions },)*]
    };
}

/// What a partition key can be.
pub(super) const KEYS: &[Sort] = sorts! {
    "integer": ["0", "1", "2", "3", "5", "7", "-1"], ["{} + 1", "- {}", "{} % 3"], ["{} * 2", "{} > 2"],
        ["{} > 2", "{} BETWEEN 1 AND 4", "{} IN (1, 2, 5)", "{} % 2 = 0", "{} < 3"];
    "text": ["'a'", "'b'", "'abc'", "''", "'x y'", "'Z'"], ["{} || 'x'", "upper({})", "left({}, 2)"], ["length({})", "md5({})"],
        ["{} < 'b'", "{} LIKE 'a%'", "{} >= 'abc'", "length({}) > 1"];
    "date": ["'2024-01-01'", "'2024-02-29'", "'1999-12-31'", "'2024-07-04'", "'2025-01-01'"], ["{} + 1", "{} - 30"],
        ["extract(month FROM {})", "to_char({}, 'DD.MM.YYYY')", "{} - date '2024-01-01'"],
        ["{} < '2024-03-01'", "{} BETWEEN '2024-01-01' AND '2024-12-31'", "extract(year FROM {}) = 2024"];
    "mood": ["'sad'", "'ok'", "'happy'", "'Very happy'"], ["greatest({}, 'ok')", "coalesce({}, 'sad')"], ["{}::text || '!'"],
        ["{} > 'ok'", "{} IN ('sad', 'happy')", "{} <= 'happy'"];
};

/// What other columns can be.
pub(super) const SORTS: &[Sort] = sorts! {
    "integer": ["0", "1", "2", "3", "5", "8", "-1"], ["{} + 1", "{} * 2", "- {}", "coalesce({}, 4)", "{} % 3"], ["abs({})", "{} > 2"],
        ["{} > 2", "{} BETWEEN 1 AND 4", "{} IN (1, 2, 5)", "{} % 2 = 0"];
    "text": ["'a'", "'b'", "'abc'", "''", "'x y'"], ["{} || 'x'", "upper({})", "left({}, 2)"], ["length({})"],
        ["{} < 'b'", "{} LIKE 'a%'", "{} ~ '^[ab]'"];
    "numeric(8,2)": ["0.00", "1.50", "-2.25", "99.99", "10"], ["{} + 0.25", "round({}, 1)", "{} * 2"], ["{} / 3", "trunc({})"],
        ["{} > 1", "{} BETWEEN 0 AND 10", "{} <> 1.5"];
    "level": ["1", "2", "5", "0", "-2"], ["{} + 1", "{} * 2"], ["{} + 0.5"], ["{} > 1", "{} = 2"];
    "boolean": ["true", "false"], ["NOT {}", "coalesce({}, true)"], ["{}::text"], ["{}", "NOT {}", "{} IS NOT TRUE"];
    "mood": ["'sad'", "'ok'", "'happy'", "'Very happy'"], ["greatest({}, 'ok')", "coalesce({}, 'sad')"], ["{}::text || '!'"],
        ["{} > 'ok'", "{} IN ('sad', 'happy')"];
    "int4range": ["'[1,5)'", "'empty'", "'(,3]'", "'[4,)'", "'[2,2]'", "'[7,9)'"], ["{} * '[2,6)'", "{} + {}", "{} - '[,2)'"],
        ["lower({})", "upper({})", "isempty({})", "upper_inf({})", "lower_inc({})", "range_merge({}, '[3,4)')"],
        ["{} && '[2,4]'", "{} @> 3", "{} << '[5,6)'", "{} -|- '[5,7)'", "{} <@ '[0,9)'", "{} > '[2,3)'", "{} &< '[2,5)'"];
    "daterange": ["'[2024-01-01,2024-02-01)'", "'empty'", "'(,2024-01-15]'", "'[2024-03-01,)'"], ["{} * '[2024-01-10,2024-05-01)'"],
        ["lower({})", "upper({}) - 1", "isempty({})"], ["{} && '[2024-01-20,2024-03-05)'", "{} @> date '2024-01-12'", "{} >> '[2023-01-01,2023-02-01)'"];
    "numrange": ["'[1.5,2.5]'", "'(0,1.5)'", "'empty'", "'(,)'"], ["{} * '[1,2.25)'"], ["lower({})", "upper_inc({})"],
        ["{} @> 1.75", "{} && '[2,3)'", "{} < '[1,2]'"];
    "inet": ["'10.0.0.1'", "'10.0.0.0/8'", "'192.168.1.5/24'", "'::1'", "'2001:db8::/32'"],
        ["{} + 1", "network({})::inet", "set_masklen({}, 16)", "broadcast({})"],
        ["host({})", "masklen({})", "family({})", "text({})", "abbrev({})", "netmask({})", "hostmask({})"],
        ["{} << '10.0.0.0/8'", "{} >>= '10.0.0.1'", "{} && '192.168.0.0/16'", "{} < '11.0.0.0'", "family({}) = 4"];
    "cidr": ["'10.0.0.0/8'", "'192.168.1.0/24'", "'::/0'", "'10.1.0.0/16'"], ["set_masklen({}, 4)", "network({})"],
        ["abbrev({})", "masklen({})", "{}::inet"], ["{} <<= '10.0.0.0/8'", "{} >> '10.1.2.3'", "{} > '10.0.0.0/8'"];
    "macaddr": ["'08:00:2b:01:02:03'", "'ff:ff:ff:00:00:01'", "'00-00-00-00-00-00'"], ["~ {}", "trunc({})"], ["{}::macaddr8", "{}::text"],
        ["{} > '08:00:00:00:00:00'", "trunc({}) = '08:00:2b:00:00:00'"];
    "bit(4)": ["B'0101'", "B'1111'", "X'8'", "B'0000'"], ["~ {}", "{} << 1", "{} & B'0110'", "{} # B'1010'", "{} >> 2", "{} | B'0001'"],
        ["{}::integer", "length({})", "position(B'1' IN {})", "get_bit({}, 0)", "{} || B'1'"],
        ["{} > B'0100'", "({} & B'0001') = B'0001'", "get_bit({}, 1) = 1"];
    "varbit(8)": ["B''", "B'1'", "B'10101'", "X'FF'"], ["{} || B'1'", "~ {}", "substring({} FROM 2)"],
        ["length({})", "octet_length({})", "substring({} FROM 2 FOR 2)"], ["{} > B'1'", "length({}) > 3"];
    "money": ["'$1.25'", "'-3'", "'1,000.00'", "'0'"], ["{} * 2", "{} + '1.10'", "{} / 2", "{} - '$0.05'"], ["{}::numeric", "{} / '$2.50'::money"],
        ["{} > '1'", "{} <> '0'", "{}::numeric < 5"];
    "jsonb": ["'{\"a\": 1, \"b\": \"x\"}'", "'{\"a\": [1, 2]}'", "'[1, \"a\", null]'", "'{}'", "'{\"b\": {\"a\": 2.50}}'"],
        ["{} || '{\"z\": 1}'", "{} - 'a'", "jsonb_strip_nulls({})"],
        ["{} -> 'a'", "{} ->> 'b'", "jsonb_typeof({})", "{} #> '{b,a}'", "{} #>> '{a,1}'", "jsonb_path_query_array({}, 'strict $.**.a')"],
        ["{} @> '{\"a\": 1}'", "{} ? 'a'", "{} ->> 'b' IS NULL", "{} @? '$.a[*] ? (@ > 1)'", "{} @@ '$.b == \"x\"'", "{} ?| '{a,z}'", "{} <@ '[1, \"a\", null]'"];
    "text[]": ["'{}'", "'{a}'", "'{a,b}'", "'{NULL,\"c d\"}'"], ["{} || 'z'::text", "array_remove({}, 'a')", "{} || {}", "array_append({}, 'b')"],
        ["{}[1]", "cardinality({})", "array_to_string({}, '-')", "'a' = ANY ({})", "array_length({}, 1)"],
        ["'a' = ANY ({})", "{} @> '{b}'", "cardinality({}) > 1", "{} && '{a,z}'", "{} < '{b}'"];
    "integer[]": ["'{}'", "'{1}'", "'{3,1,2}'", "'{NULL,5}'"], ["{} || 4", "array_remove({}, 1)", "array_prepend(0, {})"],
        ["{}[2]", "cardinality({})", "array_position({}, 2)"], ["1 = ANY ({})", "{} @> '{1,2}'", "2 < ALL ({})"];
    "interval": ["'1 day'", "'02:30'", "'1 mon'", "'-3 days'"], ["{} * 2", "{} + '1 day'", "- {}"], ["extract(hour FROM {})", "justify_days({})"],
        ["{} > '1 day'", "{} BETWEEN '0' AND '1 mon'"];
    "uuid": ["'00000000-0000-0000-0000-000000000001'", "'ffffffff-0000-0000-0000-000000000001'"], ["coalesce({}, '00000000-0000-0000-0000-000000000002')"],
        ["{}::text"], ["{} > '00000000-0000-0000-0000-000000000001'"];
    "bytea": ["'\\x00ff'", "'\\xdead'", "''"], ["{} || '\\x01'", "substring({} FROM 2)"], ["length({})", "encode({}, 'hex')"], ["{} > '\\x01'", "length({}) = 2"];
    "timestamptz": ["'2024-01-01 00:00+00'", "'2024-07-04 12:30:15.5+02'", "'1999-12-31 23:59:59Z'"], ["{} + interval '1 day'", "date_trunc('month', {})"],
        ["extract(year FROM {})", "{}::date"], ["{} > '2024-01-01 00:00+00'", "{} < '2024-06-01 00:00+00'"];
    "timetz": ["'10:00+02'", "'09:00:30.25+01'", "'23:59:59-08'", "'00:00+00'"], ["{} + interval '90 minutes'", "{} - interval '1 hour'"],
        ["extract(hour FROM {})", "extract(timezone FROM {})", "{}::time", "{} AT TIME ZONE interval '+03:00'"], ["{} > '09:30+02'", "{} <= '10:00+00'"];
    "tsvector": ["'a:1 b:2,3A'", "''", "'cat:4 rat:1B'", "to_tsvector('english', 'The quick brown foxes')"],
        ["{} || 'z:1'::tsvector", "setweight({}, 'B')", "strip({})", "ts_delete({}, 'a')"],
        ["length({})", "tsvector_to_array({})", "ts_rank({}, 'a | cat')", "numnode('a & b'::tsquery)"],
        ["{} @@ 'a & b'::tsquery", "{} @@ to_tsquery('english', 'foxes')", "{} > 'b:1'", "{} @@ 'ca:*'::tsquery"];
    "tsquery": ["'a & b'", "'a | !b'", "'cat <-> rat'", "'ca:*A'"], ["{} && 'z'", "!! {}", "{} || 'a'::tsquery"], ["numnode({})", "querytree({})"],
        ["'a:1 b:2'::tsvector @@ {}", "numnode({}) > 2", "{} @> 'a'"];
    "integer[][]": ["'{{1,2},{3,4}}'", "'{}'", "'[2:3][0:1]={{1,2},{NULL,4}}'", "'{{5}}'"], ["{} || {}", "array_replace({}, 1, 9)"],
        ["{}[1][1]", "array_dims({})", "array_ndims({})", "{}[1:1][1:1]", "array_upper({}, 2)", "cardinality({})"],
        ["4 = ANY ({})", "{} @> '{{2}}'", "array_ndims({}) = 2", "{} > '{{1,3}}'"];
    "mood[]": ["'{}'", "'{sad,happy}'", "'{ok}'"], ["{} || 'ok'::mood"], ["{}[1]", "cardinality({})"], ["'ok' = ANY ({})", "cardinality({}) < 2"];
};
