//! What binds tighter, and how each notation is read: expressions printed as s-expressions.

use planaria_syntax::ast::{
    BinaryOp, Expr, ExprKind, FrameEdge, FunctionCall, IsWhat, OrderItem, Position, QueryBody, SetOp,
    Subscript, TypeName, UnaryOp,
};
use planaria_syntax::parse;

fn list<'a>(items: impl IntoIterator<Item = &'a Expr>) -> String {
    items.into_iter().map(|e| format!(" {}", show(e))).collect()
}

fn ty(t: &TypeName) -> String {
    match &t.kind {
        planaria_syntax::ast::TypeNameKind::Known(known) => known.to_string(),
        other => format!("{other:?}"),
    }
}

fn not(negated: bool) -> &'static str {
    if negated { "not-" } else { "" }
}

fn binary(op: BinaryOp) -> String {
    match op {
        BinaryOp::Regex { insensitive, negated } => {
            format!("{}regex{}", not(negated), if insensitive { "*" } else { "" })
        }
        BinaryOp::Like { insensitive, negated } => {
            format!("{}like{}", not(negated), if insensitive { "*" } else { "" })
        }
        other => format!("{other:?}").to_lowercase(),
    }
}

fn order(items: &[OrderItem]) -> String {
    items
        .iter()
        .map(|i| {
            let direction = if i.descending { " desc" } else { "" };
            let nulls = match i.nulls_first {
                Some(true) => " nulls-first",
                Some(false) => " nulls-last",
                None => "",
            };
            format!(" {}{direction}{nulls}", show(&i.expr))
        })
        .collect()
}

fn call(c: &FunctionCall) -> String {
    let mut s = c.name.parts.join(".");
    if c.star {
        s += " *";
    }
    if c.distinct {
        s += " distinct";
    }
    for arg in &c.args {
        s += &match &arg.name {
            Some(name) => format!(" {name}=>{}", show(&arg.value)),
            None => format!(" {}", show(&arg.value)),
        };
    }
    if c.variadic {
        s += " variadic";
    }
    if !c.order_by.is_empty() {
        s += &format!(" (order{})", order(&c.order_by));
    }
    if let Some(filter) = &c.filter {
        s += &format!(" (filter {})", show(filter));
    }
    if let Some(over) = &c.over {
        s += &format!(" (over {:?}{}", over.name.as_deref().unwrap_or(""), list(&over.partition_by));
        s += &format!(" order{}", order(&over.order_by));
        if let Some(frame) = &over.frame {
            let edge = |edge: &FrameEdge| match edge {
                FrameEdge::Preceding(e) => format!("preceding {}", show(e)),
                FrameEdge::Following(e) => format!("following {}", show(e)),
                plain => format!("{plain:?}").to_lowercase(),
            };
            s += &format!(" {:?} {} to {}", frame.units, edge(&frame.start), edge(&frame.end));
        }
        s.push(')');
    }
    s
}

fn show(e: &Expr) -> String {
    let inner = match &e.kind {
        ExprKind::Null => return "null".into(),
        ExprKind::Bool(b) => return b.to_string(),
        ExprKind::Integer(n) | ExprKind::Decimal(n) => return n.clone(),
        ExprKind::String(s) => return format!("{s:?}"),
        ExprKind::BitString(s) => return format!("bits:{s}"),
        ExprKind::Column(name) => return name.parts.join("."),
        ExprKind::Star(None) => return "*".into(),
        ExprKind::Star(Some(name)) => return format!("{}.*", name.parts.join(".")),
        ExprKind::Parameter(n) => return format!("${n}"),
        ExprKind::Unary(op, e) => match op {
            UnaryOp::Minus => format!("- {}", show(e)),
            UnaryOp::Plus => format!("+ {}", show(e)),
            UnaryOp::BitNot => format!("~ {}", show(e)),
            UnaryOp::Not => format!("not {}", show(e)),
            UnaryOp::Abs => format!("@ {}", show(e)),
            UnaryOp::SquareRoot => format!("|/ {}", show(e)),
            UnaryOp::CubeRoot => format!("||/ {}", show(e)),
            UnaryOp::NotFound => format!("!! {}", show(e)),
        },
        ExprKind::Binary(op, a, b) => format!("{} {} {}", binary(*op), show(a), show(b)),
        ExprKind::Chain(first, rest) => {
            let apply = |left: String, (op, _, right): &(BinaryOp, Position, Expr)| {
                format!("({} {left} {})", binary(*op), show(right))
            };
            return rest.iter().fold(show(first), apply);
        }
        ExprKind::Is { expr, what, negated } => {
            let what = match what {
                IsWhat::Null => "null",
                IsWhat::True => "true",
                IsWhat::False => "false",
                IsWhat::Unknown => "unknown",
            };
            format!("is-{}{what} {}", not(*negated), show(expr))
        }
        ExprKind::IsDistinctFrom { left, right, negated } => {
            format!("{}distinct {} {}", not(*negated), show(left), show(right))
        }
        ExprKind::Between { expr, low, high, negated, symmetric } => {
            let symmetric = if *symmetric { "-symmetric" } else { "" };
            format!("{}between{symmetric} {} {} {}", not(*negated), show(expr), show(low), show(high))
        }
        ExprKind::InList { expr, list: items, negated } => {
            format!("{}in {}{}", not(*negated), show(expr), list(items))
        }
        ExprKind::InQuery { expr, negated, .. } => format!("{}in {} query", not(*negated), show(expr)),
        ExprKind::Quantified { expr, op, all, array } => {
            format!("{}-{} {} {}", binary(*op), if *all { "all" } else { "any" }, show(expr), show(array))
        }
        ExprKind::QuantifiedQuery { expr, op, all, .. } => {
            format!("{}-{} {} query", binary(*op), if *all { "all" } else { "any" }, show(expr))
        }
        ExprKind::Like { expr, pattern, escape, insensitive, negated } => {
            let name = if *insensitive { "ilike" } else { "like" };
            let escape = escape.as_ref().map_or(String::new(), |e| format!(" {}", show(e)));
            format!("{}{name} {} {}{escape}", not(*negated), show(expr), show(pattern))
        }
        ExprKind::Call(c) => call(c),
        ExprKind::SqlValue(name, None) => return name.clone(),
        ExprKind::SqlValue(name, Some(p)) => return format!("{name}({p})"),
        ExprKind::Cast(e, t) => format!("cast {} {}", show(e), ty(t)),
        ExprKind::Case { operand, whens, otherwise } => {
            let operand = operand.as_ref().map_or(String::new(), |e| format!(" {}", show(e)));
            let whens: String = whens.iter().map(|(a, b)| format!(" ({} {})", show(a), show(b))).collect();
            let otherwise = otherwise.as_ref().map_or(String::new(), |e| format!(" else {}", show(e)));
            format!("case{operand}{whens}{otherwise}")
        }
        ExprKind::Coalesce(items) => format!("coalesce{}", list(items)),
        ExprKind::NullIf(a, b) => format!("nullif {} {}", show(a), show(b)),
        ExprKind::Greatest(items) => format!("greatest{}", list(items)),
        ExprKind::Least(items) => format!("least{}", list(items)),
        ExprKind::Array(items) => format!("array{}", list(items)),
        ExprKind::ArrayQuery(_) => "array query".into(),
        ExprKind::Row(items) => format!("row{}", list(items)),
        ExprKind::Subscripts(a, all) => all.iter().fold(show(a), |whole, subscript| {
            let bound = |b: &Option<Expr>| b.as_ref().map_or("_".into(), show);
            match subscript {
                Subscript::Element(i) => format!("at {whole} {}", show(i)),
                Subscript::Slice(low, high) => format!("slice {whole} {} {}", bound(low), bound(high)),
            }
        }),
        ExprKind::Field(e, name) => format!("field {} {name}", show(e)),
        ExprKind::Fields(e) => format!("fields {}", show(e)),
        ExprKind::Subquery(_) => return "query".into(),
        ExprKind::Exists(_) => "exists query".into(),
        ExprKind::AtTimeZone(e, z) => format!("zone {} {}", show(e), show(z)),
        ExprKind::Collate(e, c) => format!("collate {} {}", show(e), c.parts.join(".")),
    };
    format!("({inner})")
}

#[track_caller]
fn check(table: &[(&str, &str)]) {
    for (text, expected) in table {
        match parse::expression(text) {
            Ok(e) => assert_eq!(&show(&e), expected, "{text}"),
            Err(e) => panic!("{text}: {e:?}"),
        }
    }
}

#[test]
fn precedence() {
    check(&[
        ("a OR b AND c OR d", "(or (or a (and b c)) d)"),
        ("NOT a = b AND c", "(and (not (eq a b)) c)"),
        ("NOT NOT a", "(not (not a))"),
        ("a = NOT b = c", "(eq a (not (eq b c)))"),
        ("a IS NULL AND b IS NOT NULL", "(and (is-null a) (is-not-null b))"),
        ("a = b IS NULL", "(is-null (eq a b))"),
        ("a + b ISNULL", "(is-null (add a b))"),
        ("NOT a NOTNULL", "(not (is-not-null a))"),
        ("a IS NULL IS FALSE", "(is-false (is-null a))"),
        ("a IS DISTINCT FROM b = c", "(distinct a (eq b c))"),
        ("a IS NOT DISTINCT FROM b OR c", "(or (not-distinct a b) c)"),
        ("-2 ^ 2", "(pow (- 2) 2)"),
        ("- a::integer", "(- (cast a integer))"),
        ("-a[1] * b", "(mul (- (at a 1)) b)"),
        ("2 ^ 3 ^ 2", "(pow (pow 2 3) 2)"),
        ("2 * - 3 + 1", "(add (mul 2 (- 3)) 1)"),
        ("2*-3", "(mul 2 (- 3))"),
        ("1 - -1", "(sub 1 (- 1))"),
        ("a - b - c", "(sub (sub a b) c)"),
        ("a + b * c % d", "(add a (mod (mul b c) d))"),
        ("a || b = c", "(eq (concat a b) c)"),
        ("a || b || c", "(concat (concat a b) c)"),
        ("a || b + c", "(concat a (add b c))"),
        ("a # b # c", "(bitxor (bitxor a b) c)"),
        ("h # (h >> 15) * 2", "(bitxor h (mul (shr h 15) 2))"),
        ("a & b | c << 2", "(shl (bitor (bitand a b) c) 2)"),
        ("~ a & b", "(bitand (~ a) b)"),
        ("~ a + b", "(~ (add a b))"),
        ("@ -5", "(@ (- 5))"),
        ("a < b AND c >= d", "(and (lt a b) (ge c d))"),
        ("a <> b OR a != c", "(or (ne a b) (ne a c))"),
        ("x::int + 1", "(add (cast x integer) 1)"),
        ("x + 1::numeric(12,2)", "(add x (cast 1 numeric(12,2)))"),
        ("x::text::varchar(3)", "(cast (cast x text) character varying(3))"),
        ("x BETWEEN 1 AND 2 OR y", "(or (between x 1 2) y)"),
        ("x BETWEEN 1 AND 2 AND y", "(and (between x 1 2) y)"),
        ("a + 1 BETWEEN b - 1 AND b + 1", "(between (add a 1) (sub b 1) (add b 1))"),
        ("x NOT BETWEEN SYMMETRIC 2 AND 1", "(not-between-symmetric x 2 1)"),
        ("NOT x BETWEEN 1 AND 2", "(not (between x 1 2))"),
        ("x NOT IN (1, 2) AND y", "(and (not-in x 1 2) y)"),
        ("a + 1 IN (2)", "(in (add a 1) 2)"),
        ("a IN (1) = b", "(eq (in a 1) b)"),
        ("x IN (SELECT 1)", "(in x query)"),
        ("x IN ((SELECT 1), 2)", "(in x query 2)"),
        ("(a, b) IN (SELECT 1, 2)", "(in (row a b) query)"),
        ("a LIKE b ESCAPE c AND d", "(and (like a b c) d)"),
        ("a NOT ILIKE b || '%'", "(not-ilike a (concat b \"%\"))"),
        ("a LIKE b = c", "(eq (like a b) c)"),
        ("a ~ b AND a !~* c", "(and (regex a b) (not-regex* a c))"),
        ("a @> b AND a <@ c OR a && d", "(or (and (contains a b) (containedby a c)) (overlaps a d))"),
        ("a = ANY (b)", "(eq-any a b)"),
        ("a <> ALL (ARRAY[1,2])", "(ne-all a (array 1 2))"),
        ("a < SOME (SELECT 1) AND b", "(and (lt-any a query) b)"),
        ("t AT TIME ZONE 'UTC' + i", "(add (zone t \"UTC\") i)"),
        ("a || b COLLATE \"C\"", "(concat a (collate b C))"),
        ("a OPERATOR(pg_catalog.+) b * c", "(add a (mul b c))"),
        ("a operator(=) b + c", "(eq a (add b c))"),
        ("a=-1", "(eq a (- 1))"),
        ("a<-1", "(lt a (- 1))"),
        ("a.b.c = $1", "(eq a.b.c $1)"),
    ]);
}

#[test]
fn operands() {
    check(&[
        ("NULL", "null"),
        ("TRUE", "true"),
        ("1.50", "1.50"),
        (".5e-3", ".5e-3"),
        ("1.", "1."),
        ("12345678901234567890123", "12345678901234567890123"),
        ("B'0101'", "bits:b0101"),
        ("x'fF'", "bits:xfF"),
        ("Foo.\"Bar\".baz", "foo.Bar.baz"),
        ("U&\"d\\0061t\\+000061\"", "data"),
        ("U&\"d!0061ta\" UESCAPE '!'", "data"),
        ("ÄÖ", "ÄÖ"),
        ("a[1]", "(at a 1)"),
        ("a.b[i + 1].c", "(field (at a.b (add i 1)) c)"),
        ("a[2:3]", "(slice a 2 3)"),
        ("a[:n]", "(slice a _ n)"),
        ("a[n:]", "(slice a n _)"),
        ("a[:]", "(slice a _ _)"),
        ("a[1][2]", "(at at a 1 2)"),
        ("a[1][:2]", "(slice at a 1 _ 2)"),
        ("(a[1])[2]", "(at (at a 1) 2)"),
        ("ARRAY[[1], [2]]", "(array (array 1) (array 2))"),
        ("(r).f", "(field r f)"),
        ("(f(x)).a.b", "(field (field (f x) a) b)"),
        ("f(x)[1]", "(at (f x) 1)"),
        ("(ARRAY[1,2])[1]", "(at (array 1 2) 1)"),
        ("ARRAY[1,2][1]", "(at (array 1 2) 1)"),
        ("ARRAY[]::integer[]", "(cast (array) integer[])"),
        ("ARRAY(SELECT 1)", "(array query)"),
        ("$1[2]", "(at $1 2)"),
        ("(1)", "1"),
        ("((a))", "a"),
        ("(a, b)", "(row a b)"),
        ("ROW(a)", "(row a)"),
        ("ROW()", "(row)"),
        ("row", "row"),
        ("(SELECT 1)", "query"),
        ("((SELECT 1))", "query"),
        ("((SELECT 1) + 1)", "(add query 1)"),
        ("(((SELECT 1)) + 1)", "(add query 1)"),
        ("((SELECT 1) UNION (SELECT 2))", "query"),
        ("((VALUES (1)) LIMIT 1)", "query"),
        ("(SELECT 1).x", "(field query x)"),
        ("NOT EXISTS (SELECT 1)", "(not (exists query))"),
        ("CASE WHEN a THEN 1 ELSE 2 END + 1", "(add (case (a 1) else 2) 1)"),
        ("CASE x WHEN 1 THEN 'a' WHEN 2 THEN 'b' END", "(case x (1 \"a\") (2 \"b\"))"),
        ("CAST(a + 1 AS bigint)", "(cast (add a 1) bigint)"),
        ("date '2026-01-01'", "(cast \"2026-01-01\" date)"),
        (
            "timestamp '2026-01-01' + interval '1 day'",
            "(add (cast \"2026-01-01\" timestamp without time zone) (cast \"1 day\" interval))",
        ),
        ("timestamp with time zone 'x'", "(cast \"x\" timestamp with time zone)"),
        ("interval '2' day", "(cast \"2 day\" interval)"),
        ("numeric(5,2) '1.5'", "(cast \"1.5\" numeric(5,2))"),
        ("double precision '1'", "(cast \"1\" double precision)"),
        ("pg_catalog.int4 '7'", "(cast \"7\" integer)"),
        ("timestamp + time", "(add timestamp time)"),
        ("coalesce(a, 0)", "(coalesce a 0)"),
        ("nullif(a, b)", "(nullif a b)"),
        ("greatest(1, 2)", "(greatest 1 2)"),
        ("least(1)", "(least 1)"),
        ("current_timestamp", "current_timestamp"),
        ("LocalTimestamp(0)", "localtimestamp(0)"),
        ("current_date - 1", "(sub current_date 1)"),
        ("current_schema", "current_schema"),
        ("current_schema()", "(current_schema)"),
    ]);
}

#[test]
fn calls() {
    check(&[
        ("now()", "(now)"),
        ("pg_catalog.lower('A')", "(pg_catalog.lower \"A\")"),
        ("left(a, 2)", "(left a 2)"),
        ("count(*)", "(count *)"),
        ("count(DISTINCT s_i_id)", "(count distinct s_i_id)"),
        ("sum(ALL x)", "(sum x)"),
        ("f(a => 1, b := 2)", "(f a=>1 b=>2)"),
        ("f(1, VARIADIC a)", "(f 1 a variadic)"),
        (
            "string_agg(a, ',' ORDER BY b DESC NULLS LAST, c)",
            "(string_agg a \",\" (order b desc nulls-last c))",
        ),
        ("count(*) FILTER (WHERE a > 1)", "(count * (filter (gt a 1)))"),
        ("rank() OVER w", "(rank (over \"w\" order))"),
        (
            "sum(x) OVER (PARTITION BY a ORDER BY b ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
            "(sum x (over \"\" a order b Rows preceding 1 to current))",
        ),
        ("substring(a FROM 2 FOR 3)", "(substring a 2 3)"),
        ("substring(a FOR 3)", "(substring a 1 3)"),
        ("substring(a FOR 3 FROM 2)", "(substring a 2 3)"),
        ("substring(a, 2)", "(substring a 2)"),
        ("position('x' IN a || b)", "(position (concat a b) \"x\")"),
        ("trim(a)", "(btrim a)"),
        ("trim(BOTH 'x' FROM a)", "(btrim a \"x\")"),
        ("trim(LEADING FROM a)", "(ltrim a)"),
        ("trim(TRAILING 'y' FROM a)", "(rtrim a \"y\")"),
        ("extract(YEAR FROM t)", "(extract \"year\" t)"),
        ("overlay(a PLACING b FROM 1 FOR 2)", "(overlay a b 1 2)"),
    ]);
}

#[test]
fn strings() {
    check(&[
        ("'it''s'", "\"it's\""),
        ("'a\\n'", r#""a\\n""#),
        ("E'a\\n\\t\\\\\\'\\x41\\101\\u00e9\\U0001F600'", "\"a\\n\\t\\\\'AAé😀\""),
        ("E'\\uD83D\\uDE00'", "\"😀\""),
        ("'foo'\n  'bar'", "\"foobar\""),
        ("'foo' -- comment\n 'bar'", "\"foobar\""),
        ("E'a\\''\n'b\\n'", "\"a'b\\n\""),
        ("$$it's$$", "\"it's\""),
        ("$q$a $$ b$q$", "\"a $$ b\""),
        ("$q$a$q1$q$", "\"a$q1\""),
        ("U&'d\\0061t\\+000061 \\\\'", "\"data \\\\\""),
        ("U&'d!0061' UESCAPE '!'", "\"da\""),
        ("N'abc'", "\"abc\""),
        ("''", "\"\""),
        ("'äöü'", "\"äöü\""),
    ]);
}

/// Chains of AND and OR with thousands of operands become balanced trees that keep the order.
#[test]
fn long_chains_are_balanced() {
    fn height(e: &Expr) -> usize {
        match &e.kind {
            ExprKind::Binary(_, a, b) => 1 + height(a).max(height(b)),
            _ => 0,
        }
    }
    fn leaves(e: &Expr, out: &mut Vec<String>) {
        match &e.kind {
            ExprKind::Binary(BinaryOp::Or, a, b) => {
                leaves(a, out);
                leaves(b, out);
            }
            _ => out.push(show(e)),
        }
    }
    let names: Vec<String> = (0..5000).map(|i| format!("a{i}")).collect();
    let e = parse::expression(&names.join(" OR ")).expect("a chain");
    assert!(height(&e) < 16);
    let mut found = Vec::new();
    leaves(&e, &mut found);
    assert_eq!(found, names);
}

/// Others nest to the left at first, and are a list from there on; they mean the same.
#[test]
fn long_chains_of_other_operators_are_lists() {
    for n in [3, 31, 32, 33, 200, 5000] {
        let chain: String = (1..n).map(|i| format!(" {} a{i} * b", ["+", "-"][i % 2])).collect();
        let e = parse::expression(&format!("a0{chain} || x")).expect("a chain");
        let ExprKind::Binary(BinaryOp::Concat, sum, _) = &e.kind else { panic!("not a text") };
        let mut wanted = "a0".to_owned();
        if n <= 200 {
            for i in 1..n {
                wanted = format!("({} {wanted} (mul a{i} b))", ["add", "sub"][i % 2]);
            }
            assert_eq!(show(sum), wanted);
        }
    }
    let unions = format!("SELECT 1{} EXCEPT SELECT 2", " UNION ALL SELECT 1".repeat(100));
    let q = parse::query(&unions).expect("a query");
    let QueryBody::SetOp { op: SetOp::Except, left, .. } = q.body else { panic!("not EXCEPT") };
    let QueryBody::SetOp { op: SetOp::Union, all: true, more, .. } = left.body else {
        panic!("not UNION ALL")
    };
    assert_eq!(more.len(), 68);
}

#[test]
fn positions_are_those_of_operators() {
    let text = "a + b * c IS NULL";
    let e = parse::expression(text).expect("an expression");
    assert_eq!(e.position as usize, text.find("IS").unwrap());
    let ExprKind::Is { expr, .. } = e.kind else { panic!("not IS") };
    assert_eq!(expr.position as usize, text.find('+').unwrap());
    let ExprKind::Binary(_, a, product) = expr.kind else { panic!("not a sum") };
    assert_eq!((a.position, product.position as usize), (0, text.find('*').unwrap()));
}
