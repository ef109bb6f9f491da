//! Printing.

use super::{is_plain, register_names, type_name};
use crate::{
    Block, Bound, Catch, CollDecl, CollKind, Draw, IfClaimed, Inlined, Op, OpKind, ParamMode, Program,
    ProgramKind, ReadMode, Reg, RegKind, Run, SortKey, StateSource,
};
use planaria_base::{ColumnId, Datum, Numeric, Strength};
use std::fmt::Write;

pub(crate) fn print(program: &Program) -> String {
    let mut p = Printer { regs: register_names(program), out: String::new(), depth: 1 };
    p.header(program);
    p.block(&program.body);
    p.out.push_str("end\n");
    p.out
}

struct Printer {
    regs: Vec<String>,
    out: String,
    depth: usize,
}

/// An identifier, or a quoted string where it is none.
fn ident(name: &str) -> String {
    if is_plain(name) { name.to_owned() } else { quote(name) }
}

pub(super) fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn kind_text(kind: &RegKind) -> String {
    match kind {
        RegKind::Value(ty) => type_name(ty),
        RegKind::Row(t) => format!("row {t}"),
    }
}

fn list<T>(items: &[T], f: impl FnMut(&T) -> String) -> String {
    items.iter().map(f).collect::<Vec<_>>().join(", ")
}

pub(super) fn numeric_text(n: Numeric) -> String {
    let sign = if n.mantissa() < 0 { "-" } else { "" };
    let digits = n.mantissa().unsigned_abs().to_string();
    let scale = n.scale() as usize;
    if scale == 0 {
        return format!("{sign}{digits}n");
    }
    let digits = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    format!("{sign}{whole}.{fraction}n")
}

fn sort_keys(keys: &[SortKey]) -> String {
    let keys = list(keys, |k| {
        let desc = if k.descending { " desc" } else { "" };
        format!("{}{desc}{}", k.column, if k.nulls_first { " nulls_first" } else { "" })
    });
    format!("({keys})")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut s, b| {
        let _ = write!(s, "{b:02x}");
        s
    })
}

/// A constant.
pub(crate) fn datum_text(datum: &Datum) -> String {
    match datum {
        Datum::Null => "null".into(),
        Datum::Bool(b) => b.to_string(),
        Datum::Int(n) => n.to_string(),
        Datum::Float(x) => format!("float '{x:?}'"),
        Datum::Numeric(n) => numeric_text(*n),
        Datum::Long(n) => format!("numeric '{n}'"),
        Datum::Text(t) => quote(t),
        Datum::Jsonb(s) => format!("jsonb {}", quote(s)),
        Datum::Citext(s) => format!("citext {}", quote(s)),
        Datum::Bytea(b) => format!("bytes '{}'", hex(b)),
        Datum::Uuid(u) => format!("uuid '{}'", hex(u)),
        Datum::Interval(i) => format!("interval '{} {} {}'", i.months, i.days, i.micros),
        Datum::Array(of) => format!("[{}]", list(of, datum_text)),
        Datum::Shaped(of) => {
            // Of each dimension its lower bound and its length.
            let shape = list(of.shape().dimensions(), |d| format!("{}, {}", d.lower, d.len));
            format!("shaped [{shape}] [{}]", list(of.elements(), datum_text))
        }
        // Its name belongs to an answer, not to a program.
        Datum::Reg(oid, _) => oid.to_string(),
    }
}

pub(super) fn draw_text(draw: Draw) -> String {
    match draw {
        Draw::TransactionTimestamp => "now".to_owned(),
        Draw::StatementTimestamp => "statement".to_owned(),
        Draw::ClockTimestamp => "clock".to_owned(),
        Draw::Random => "random".to_owned(),
        Draw::Uuid => "uuid".to_owned(),
        Draw::TransactionId => "transaction".to_owned(),
        Draw::LastValue => "lastvalue".to_owned(),
        Draw::Kept => "kept".to_owned(),
        Draw::CurrentUser => "user".to_owned(),
        Draw::SessionUser => "session".to_owned(),
        Draw::CurrentDatabase => "database".to_owned(),
        Draw::Setting => "setting".to_owned(),
        Draw::Permitted(number) => format!("permitted n{number}"),
        Draw::RowSecurity(table) => format!("secured n{}", table.0),
        Draw::ActsAs(role) => format!("actsas n{}", role.0),
        Draw::RowSecurityOff => "unsecured".to_owned(),
    }
}

impl Printer {
    fn line(&mut self, text: impl AsRef<str>) {
        let _ = writeln!(self.out, "{:width$}{}", "", text.as_ref(), width = self.depth * 2);
    }
    fn reg(&self, r: Reg) -> String {
        self.regs.get(r.index()).cloned().unwrap_or_else(|| r.to_string())
    }
    fn regs(&self, regs: &[Reg]) -> String {
        list(regs, |r| self.reg(*r))
    }

    fn header(&mut self, p: &Program) {
        let kind = match p.kind {
            ProgramKind::Procedure => "procedure",
            ProgramKind::Function => "function",
            ProgramKind::SetFunction => "setfunction",
            ProgramKind::Statement => "statement",
        };
        let _ = writeln!(self.out, "{kind} {}", ident(&p.name));
        for (i, decl) in p.regs.iter().enumerate() {
            let quoted = match &decl.name {
                Some(n) if !is_plain(n) => format!(" {}", quote(n)),
                _ => String::new(),
            };
            self.line(format!("reg {}{quoted}: {}", self.regs[i], kind_text(&decl.kind)));
        }
        for (i, CollDecl { kind, keys, values }) in p.colls.iter().enumerate() {
            let kinds = |k: &[RegKind]| format!("({})", list(k, kind_text));
            let text = match kind {
                CollKind::List => format!("list {}", kinds(values)),
                CollKind::Map => format!("map {} -> {}", kinds(keys), kinds(values)),
                CollKind::MultiMap => format!("multimap {} -> {}", kinds(keys), kinds(values)),
            };
            // A list has no keys; were some declared, the text would lose them: the verifier never lets
            // that happen, as no operation could fill them.
            self.line(format!("coll x{i}: {text}"));
        }
        for param in &p.params {
            let mode = match param.mode {
                ParamMode::In => "in",
                ParamMode::Out => "out",
                ParamMode::InOut => "inout",
            };
            let (name, ty) = (ident(&param.name), type_name(&param.ty));
            self.line(format!("param {mode} {name}: {ty} = {}", self.reg(param.reg)));
        }
        for output in &p.outputs {
            self.line(format!("output {}: {}", ident(&output.name), type_name(&output.ty)));
        }
        if !p.outs.is_empty() {
            self.line(format!("outs ({})", self.regs(&p.outs)));
        }
        if let Some(r) = p.row_count {
            self.line(format!("row_count {}", self.reg(r)));
        }
        if p.labels > 0 {
            self.line(format!("labels {}", p.labels));
        }
        for (label, Inlined { procedure, set }) in &p.inlined {
            let set = if *set { " set" } else { "" };
            self.line(format!("inlined {label}: {procedure}{set}"));
        }
        self.out.push_str("begin\n");
    }

    fn block(&mut self, block: &Block) {
        for op in &block.0 {
            self.op(op);
        }
    }
    fn nested(&mut self, head: String, position: u32, body: &Block) {
        self.line(format!("{head}{} {{", at(position)));
        self.inside(body);
        self.line("}");
    }
    fn inside(&mut self, body: &Block) {
        self.depth += 1;
        self.block(body);
        self.depth -= 1;
    }

    fn op(&mut self, op: &Op) {
        match &op.kind {
            OpKind::If { cond, then, otherwise } => {
                self.line(format!("if {}{} {{", self.reg(*cond), at(op.position)));
                self.inside(then);
                if !otherwise.0.is_empty() {
                    self.line("} else {");
                    self.inside(otherwise);
                }
                self.line("}");
            }
            OpKind::Try { body, handlers } => {
                self.line(format!("try{} {{", at(op.position)));
                self.inside(body);
                for h in handlers {
                    let catches = list(&h.catches, |c| match c {
                        Catch::Others => "others".into(),
                        Catch::State(s) => quote(s.as_str()),
                    });
                    let mut regs = self.regs(&[h.sqlstate, h.sqlerrm]);
                    for (what, reg) in &h.diagnostics {
                        regs.push_str(&format!(", {} {}", what.name(), self.regs(&[*reg])));
                    }
                    self.line(format!("}} handle {catches} -> ({regs}) {{"));
                    self.inside(&h.body);
                }
                self.line("}");
            }
            OpKind::Loop { label, body } => self.nested(format!("loop {label}"), op.position, body),
            OpKind::Block { label, body } => self.nested(format!("block {label}"), op.position, body),
            OpKind::Scan { label, body, .. }
            | OpKind::ForEach { label, body, .. }
            | OpKind::ForMatches { label, body, .. } => {
                let head = format!("{} as {label}", self.plain(&op.kind));
                self.nested(head, op.position, body);
            }
            kind => {
                let text = format!("{}{}", self.plain(kind), at(op.position));
                self.line(text);
            }
        }
    }

    fn columns(&self, columns: &[(ColumnId, Reg)]) -> String {
        list(columns, |(c, r)| format!("{c} = {}", self.reg(*r)))
    }
    fn row_and_columns(&self, row: Reg, columns: &[(ColumnId, Reg)]) -> String {
        let sep = if columns.is_empty() { "" } else { ", " };
        format!("{}{sep}{}", self.reg(row), self.columns(columns))
    }

    /// An operation without the blocks it may have.
    fn plain(&self, kind: &OpKind) -> String {
        let reg = |r: &Reg| self.reg(*r);
        match kind {
            OpKind::Const { dst, value } => format!("{} = const {}", reg(dst), datum_text(value)),
            OpKind::Copy { dst, src } => format!("{} = copy {}", reg(dst), reg(src)),
            OpKind::Apply { dst, func, args } => format!("{} = {func}({})", reg(dst), self.regs(args)),
            OpKind::Cast { dst, src, explicit } => {
                format!("{} = {} {}", reg(dst), if *explicit { "convert" } else { "cast" }, reg(src))
            }
            OpKind::Draw { dst, input: Draw::Kept } => format!("{} = kept", reg(dst)),
            OpKind::Draw { dst, input } => format!("{} = draw {}", reg(dst), draw_text(*input)),
            OpKind::NextValue { dst, sequence } => format!("{} = next {sequence}", reg(dst)),
            OpKind::CurrentValue { dst, sequence } => format!("{} = current {sequence}", reg(dst)),
            OpKind::SetValue { sequence, value, is_called } => {
                format!("setval {sequence} ({}, {})", reg(value), reg(is_called))
            }
            OpKind::ArraySet { array, index, value } => {
                format!("set {}[{}] = {}", reg(array), reg(index), reg(value))
            }
            OpKind::Exit { label } => format!("exit {label}"),
            OpKind::Continue { label } => format!("continue {label}"),
            OpKind::Return => "return".into(),
            OpKind::EndTransaction { commit: true } => "commit".into(),
            OpKind::EndTransaction { commit: false } => "rollback".into(),
            OpKind::Notify { channel, payload } => format!("notify {} {}", reg(channel), reg(payload)),
            OpKind::Raise { level, state, message, fields } => {
                let state = match state {
                    StateSource::Known(s) => quote(s.as_str()),
                    StateSource::Computed(r) => reg(r),
                    StateSource::Current => "*".into(),
                };
                let mut text = format!("raise {} {state} {}", level.word(), reg(message));
                for (what, r) in [("detail", &fields.detail), ("hint", &fields.hint)] {
                    if let Some(r) = r {
                        let _ = write!(text, ", {what} = {}", reg(r));
                    }
                }
                let names = [
                    ("constraint", &fields.constraint),
                    ("table", &fields.table),
                    ("column", &fields.column),
                    ("schema", &fields.schema),
                    ("datatype", &fields.datatype),
                ];
                for (what, name) in names {
                    if let Some(name) = name {
                        let _ = write!(text, ", {what} = {}", quote(name));
                    }
                }
                for (field, r) in &fields.computed {
                    let _ = write!(text, ", {} = {}", field.raised_as(), reg(r));
                }
                if fields.found {
                    let _ = write!(text, ", found = {}", quote("statement"));
                }
                text
            }
            OpKind::Call { procedure, args, outs } => {
                format!("call {procedure} ({}) -> ({})", self.regs(args), self.regs(outs))
            }
            OpKind::CallSet { procedure, args, into } => {
                format!("call {procedure} ({}) -> {into}", self.regs(args))
            }
            OpKind::Execute { text, args, rows, row_count, run } => {
                let rows = rows.map(|x| format!(", {x}")).unwrap_or_default();
                let run = match run {
                    Run::Statement => String::new(),
                    Run::Among(names) => {
                        let names: Vec<String> = names.iter().map(|n| quote(n)).collect();
                        format!(" among ({})", names.join(", "))
                    }
                    Run::Fetch(step) => format!(" fetch {}", step.name()),
                    Run::Close => " close".to_owned(),
                    Run::Steps(routine) => format!(" steps {routine}"),
                    Run::Constraints => " constraints".to_owned(),
                    Run::Open { name, columns, forward_only } => {
                        let columns = columns.as_ref().map(|names| {
                            let names: Vec<String> = names.iter().map(|n| quote(n)).collect();
                            format!(" ({})", names.join(", "))
                        });
                        let only = if *forward_only { " forward" } else { "" };
                        format!(" open {}{}{only}", reg(name), columns.unwrap_or_default())
                    }
                };
                format!("execute {} ({}) -> {}{rows}{run}", reg(text), self.regs(args), reg(row_count))
            }
            OpKind::Ask { dst, question, args } => {
                format!("{} = ask {} ({})", reg(dst), quote(question.name()), self.regs(args))
            }
            OpKind::SystemRows { relation, columns, into } => {
                let columns: Vec<String> = columns.iter().map(|c| c.0.to_string()).collect();
                format!("rows {relation} ({}) -> {into}", columns.join(", "))
            }
            OpKind::Emit { values } => format!("emit ({})", self.regs(values)),
            OpKind::Keep { values } => format!("keep {}", self.regs(values)),
            OpKind::Piece { piece, args } => format!("piece {piece} ({})", self.regs(args)),
            OpKind::Get { table, index, key, mode, row, columns } => {
                let (key, mode) = (self.regs(key), read_mode(*mode));
                format!("get {table}.{index} ({key}){mode} -> {}", self.row_and_columns(*row, columns))
            }
            OpKind::Scan { table, index, range, descending, mode, row, columns, .. } => {
                let mut text = format!("scan {table}.{index} ({})", self.regs(&range.prefix));
                let mut bound = |b: &Option<Bound>, closed: &str, open: &str| {
                    if let Some(b) = b {
                        let _ = write!(text, " {} {}", if b.inclusive { closed } else { open }, reg(&b.reg));
                    }
                };
                bound(&range.lower, ">=", ">");
                bound(&range.upper, "<=", "<");
                let desc = if *descending { " desc" } else { "" };
                let mode = read_mode(*mode);
                format!("{text}{desc}{mode} -> {}", self.row_and_columns(*row, columns))
            }
            OpKind::Load { table, row, columns } => {
                format!("load {table} {} -> {}", reg(row), self.columns(columns))
            }
            OpKind::Insert { table, values, row } => {
                let row = row.map(|r| format!(" -> {}", reg(&r))).unwrap_or_default();
                format!("insert {table} ({}){row}", self.regs(values))
            }
            OpKind::Update { table, row, set } => {
                format!("update {table} {} set {}", reg(row), self.columns(set))
            }
            OpKind::Delete { table, row } => format!("delete {table} {}", reg(row)),
            OpKind::Claim { table, row, strength, if_claimed, granted } => {
                let strength = strength_word(*strength);
                let how = match if_claimed {
                    IfClaimed::Wait => "wait",
                    IfClaimed::Refuse => "refuse",
                    IfClaimed::Skip => "skip",
                };
                format!("claim {table} {} {strength} {how} -> {}", reg(row), reg(granted))
            }
            OpKind::Clear { coll } => format!("clear {coll}"),
            OpKind::Fill { coll, rows } => {
                let row = |row: &Vec<Datum>| {
                    let values: Vec<String> = row.iter().map(datum_text).collect();
                    format!("({})", values.join(", "))
                };
                format!("fill {coll} {}", rows.iter().map(row).collect::<Vec<_>>().join(" "))
            }
            OpKind::Push { coll, values } => format!("push {coll} ({})", self.regs(values)),
            OpKind::Len { dst, coll } => format!("{} = len {coll}", reg(dst)),
            OpKind::Sort { coll, keys } => format!("sort {coll} {}", sort_keys(keys)),
            OpKind::Trim { coll, keys, limit, offset, ties } => {
                let first: Vec<Reg> = std::iter::once(*limit).chain(*offset).collect();
                let word = if *ties { "trim_ties" } else { "trim" };
                format!("{word} {coll} {} ({})", sort_keys(keys), self.regs(&first))
            }
            OpKind::MapGet { coll, keys, found, values } => {
                format!("lookup {coll} ({}) -> {} ({})", self.regs(keys), reg(found), self.regs(values))
            }
            OpKind::MapPut { coll, keys, values } => {
                format!("put {coll} ({}) ({})", self.regs(keys), self.regs(values))
            }
            OpKind::ForEach { coll, columns, entry, .. } => {
                let entry = entry.map(|r| format!(" entry {}", reg(&r))).unwrap_or_default();
                format!("foreach {coll} -> ({}){entry}", self.regs(columns))
            }
            OpKind::ForMatches { coll, keys, values, entry, .. } => {
                let entry = entry.map(|r| format!(" entry {}", reg(&r))).unwrap_or_default();
                format!("matches {coll} ({}) -> ({}){entry}", self.regs(keys), self.regs(values))
            }
            OpKind::SetEntry { coll, entry, column, value } => {
                format!("setentry {coll} ({}, {column}) = {}", reg(entry), reg(value))
            }
            OpKind::If { .. } | OpKind::Loop { .. } | OpKind::Block { .. } | OpKind::Try { .. } => {
                String::new()
            }
        }
    }
}

fn at(position: u32) -> String {
    if position == 0 { String::new() } else { format!(" @ {position}") }
}

/// The word for the strength of a claim.
pub(super) fn strength_word(strength: Strength) -> &'static str {
    match strength {
        Strength::KeyShare => "key_share",
        Strength::Share => "share",
        Strength::NoKeyUpdate => "no_key_update",
        Strength::Update => "update",
    }
}

fn read_mode(mode: ReadMode) -> &'static str {
    match mode {
        ReadMode::Plain => "",
        ReadMode::Lenient => " lenient",
        ReadMode::Check => " check",
        ReadMode::Parent => " parent",
        ReadMode::Arbiter => " arbiter",
        ReadMode::Ahead => " ahead",
    }
}
