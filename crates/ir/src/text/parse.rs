//! Parsing: recursive descent over [`super::token`].

mod constant;

use super::print::strength_word;
use super::token::{Token, error, tokens};
use super::{register_names, type_name};
use crate::{
    Block, Bound, Catch, Coll, CollDecl, CollKind, Diagnostic, Draw, ErrorFields, Func, Handler, IfClaimed,
    Inlined, Label, Op, OpId, OpKind, Output, Param, ParamMode, Program, ProgramKind, Question, Range,
    ReadMode, Reg, RegDecl, RegKind, Run, SortKey, StateSource, Step,
};
use planaria_base::datetime::IntervalFields;
use planaria_base::enumeration::{self, Enum};
use planaria_base::packed::PackedType;
use planaria_base::range::RangeType;
use planaria_base::{
    ColumnId, IndexId, ProcedureId, Result, RoleId, SequenceId, SqlState, Strength, SystemId, TableId, Type,
};
use planaria_base::{
    Level,
    types::{Clock, RowOf, RowType, SystemType},
};
use std::collections::HashMap;

/// The fields of an interval's type, as `interval_year_to_month` has them.
fn interval_fields(word: &str) -> Option<IntervalFields> {
    let name = word.strip_prefix("interval_")?.replace('_', " ");
    IntervalFields::ALL.into_iter().find(|fields| fields.name() == name)
}

/// Parses the text of a program. Errors are 42601 with their place in the text.
pub fn parse(text: &str) -> Result<Program> {
    let mut p = Parser { tokens: tokens(text)?, next: 0, regs: HashMap::new(), end: text.len() };
    let mut program = p.header()?;
    program.body = p.block("end")?;
    if p.next < p.tokens.len() {
        return p.fail("text after the end");
    }
    program.renumber();
    Ok(program)
}

struct Parser {
    tokens: Vec<(Token, u32)>,
    next: usize,
    regs: HashMap<String, Reg>,
    end: usize,
}

impl Parser {
    fn fail<T>(&self, what: &str) -> Result<T> {
        let position = self.tokens.get(self.next).map_or(self.end, |(_, p)| *p as usize);
        Err(error(what, position))
    }
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next).map(|(t, _)| t)
    }
    fn is_sign(&self, sign: &str) -> bool {
        matches!(self.peek(), Some(Token::Sign(s)) if *s == sign)
    }
    fn sign_if(&mut self, sign: &str) -> bool {
        let yes = self.is_sign(sign);
        self.next += usize::from(yes);
        yes
    }
    fn sign(&mut self, sign: &str) -> Result<()> {
        if self.sign_if(sign) { Ok(()) } else { self.fail(&format!("expected {sign}")) }
    }
    fn word_if(&mut self, word: &str) -> bool {
        let yes = matches!(self.peek(), Some(Token::Word(w)) if w == word);
        self.next += usize::from(yes);
        yes
    }
    fn word(&mut self) -> Result<String> {
        match self.peek() {
            Some(Token::Word(w)) => {
                let w = w.clone();
                self.next += 1;
                Ok(w)
            }
            _ => self.fail("expected a word"),
        }
    }
    fn keyword(&mut self, word: &str) -> Result<()> {
        if self.word_if(word) { Ok(()) } else { self.fail(&format!("expected {word}")) }
    }
    fn quoted(&mut self) -> Result<String> {
        match self.peek() {
            Some(Token::Quoted(q)) => {
                let q = q.clone();
                self.next += 1;
                Ok(q)
            }
            _ => self.fail("expected a quoted string"),
        }
    }
    fn ident(&mut self) -> Result<String> {
        if matches!(self.peek(), Some(Token::Quoted(_))) { self.quoted() } else { self.word() }
    }
    fn number<T: std::str::FromStr>(&mut self) -> Result<T> {
        if let Some(Token::Number(n)) = self.peek()
            && let Ok(n) = n.parse()
        {
            self.next += 1;
            return Ok(n);
        }
        self.fail("expected a number")
    }
    /// A word such as `t3`, `x0`, `l2`: its number.
    fn entity(&mut self, prefix: &str) -> Result<u32> {
        if let Some(Token::Word(w)) = self.peek()
            && let Some(n) = w.strip_prefix(prefix).and_then(|n| n.parse().ok())
        {
            self.next += 1;
            return Ok(n);
        }
        self.fail(&format!("expected {prefix}<number>"))
    }
    fn reg(&mut self) -> Result<Reg> {
        if let Some(Token::Word(w)) = self.peek()
            && let Some(r) = self.regs.get(w)
        {
            let r = *r;
            self.next += 1;
            return Ok(r);
        }
        self.fail("expected a register")
    }
    /// `( a, b )`
    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.sign("(")?;
        let mut all = Vec::new();
        if !self.sign_if(")") {
            loop {
                all.push(item(self)?);
                if !self.sign_if(",") {
                    break;
                }
            }
            self.sign(")")?;
        }
        Ok(all)
    }
    /// What an `execute` does, behind it.
    fn run(&mut self) -> Result<Run> {
        if self.word_if("close") {
            return Ok(Run::Close);
        }
        if self.word_if("steps") {
            return Ok(Run::Steps(ProcedureId(self.entity("p")?)));
        }
        if self.word_if("constraints") {
            return Ok(Run::Constraints);
        }
        if self.word_if("among") {
            return Ok(Run::Among(self.list(Self::quoted)?));
        }
        if self.word_if("fetch") {
            let word = self.word()?;
            let step = Step::ALL.iter().find(|(_, name)| *name == word);
            return match step {
                Some((step, _)) => Ok(Run::Fetch(*step)),
                None => self.fail("expected a step"),
            };
        }
        if !self.word_if("open") {
            return Ok(Run::Statement);
        }
        let name = self.reg()?;
        let columns = if self.is_sign("(") { Some(self.list(Self::quoted)?) } else { None };
        Ok(Run::Open { name, columns, forward_only: self.word_if("forward") })
    }
    fn sort_keys(&mut self) -> Result<Vec<SortKey>> {
        self.list(|p| {
            Ok(SortKey {
                column: p.number()?,
                descending: p.word_if("desc"),
                nulls_first: p.word_if("nulls_first"),
            })
        })
    }
    fn reg_list(&mut self) -> Result<Vec<Reg>> {
        self.list(Self::reg)
    }
    fn table(&mut self) -> Result<TableId> {
        self.entity("t").map(TableId)
    }
    fn coll(&mut self) -> Result<Coll> {
        self.entity("x").map(Coll)
    }
    fn label(&mut self) -> Result<Label> {
        self.entity("l").map(Label)
    }

    // ---- header ----

    fn header(&mut self) -> Result<Program> {
        let kind = match self.word()?.as_str() {
            "procedure" => ProgramKind::Procedure,
            "function" => ProgramKind::Function,
            "setfunction" => ProgramKind::SetFunction,
            "statement" => ProgramKind::Statement,
            _ => return self.fail("expected procedure, function, setfunction or statement"),
        };
        let mut p = Program::new(self.ident()?, kind);
        let mut called = Vec::new();
        loop {
            match self.word()?.as_str() {
                "begin" => break,
                "reg" => called.push(self.declaration(&mut p)?),
                "coll" => {
                    let n = self.entity("x")?;
                    if n as usize != p.colls.len() {
                        return self.fail("collections are numbered in order");
                    }
                    self.sign(":")?;
                    p.colls.push(self.collection()?);
                }
                "param" => {
                    let mode = match self.word()?.as_str() {
                        "in" => ParamMode::In,
                        "out" => ParamMode::Out,
                        "inout" => ParamMode::InOut,
                        _ => return self.fail("expected in, out or inout"),
                    };
                    let name = self.ident()?;
                    self.sign(":")?;
                    let ty = self.ty()?;
                    self.sign("=")?;
                    p.params.push(Param { name, ty, mode, reg: self.reg()? });
                }
                "output" => {
                    let name = self.ident()?;
                    self.sign(":")?;
                    p.outputs.push(Output { name, ty: self.ty()? });
                }
                "outs" => p.outs = self.reg_list()?,
                "row_count" => p.row_count = Some(self.reg()?),
                "inlined" => {
                    let label = self.label()?;
                    self.sign(":")?;
                    let procedure = ProcedureId(self.entity("p")?);
                    p.inlined.insert(label, Inlined { procedure, set: self.word_if("set") });
                }
                "labels" => p.labels = self.number()?,
                _ => return self.fail("expected a declaration or begin"),
            }
        }
        // The names must be those the printer would choose, or what was read would print otherwise.
        match called.iter().zip(&register_names(&p)).find(|(a, b)| a != b) {
            Some((a, b)) => self.fail(&format!("register {a} must be called {b}")),
            None => Ok(p),
        }
    }

    fn declaration(&mut self, p: &mut Program) -> Result<String> {
        let called = self.word()?;
        let reg = Reg::from(p.regs.len());
        let name = if matches!(self.peek(), Some(Token::Quoted(_))) {
            Some(self.quoted()?)
        } else if called == reg.to_string() {
            None
        } else {
            let numbered = called.split_once('.').map(|(name, _)| name.to_owned());
            Some(numbered.unwrap_or_else(|| called.clone()))
        };
        self.sign(":")?;
        let kind = self.kind()?;
        p.regs.push(RegDecl { kind, name });
        if self.regs.insert(called.clone(), reg).is_some() {
            return self.fail(&format!("register {called} is declared twice"));
        }
        Ok(called)
    }

    fn collection(&mut self) -> Result<CollDecl> {
        let kind = match self.word()?.as_str() {
            "list" => CollKind::List,
            "map" => CollKind::Map,
            "multimap" => CollKind::MultiMap,
            _ => return self.fail("expected list, map or multimap"),
        };
        let mut keys = Vec::new();
        if kind != CollKind::List {
            keys = self.list(Self::kind)?;
            self.sign("->")?;
        }
        Ok(CollDecl { kind, keys, values: self.list(Self::kind)? })
    }

    fn kind(&mut self) -> Result<RegKind> {
        if self.word_if("row") { self.table().map(RegKind::Row) } else { self.ty().map(RegKind::Value) }
    }

    fn ty(&mut self) -> Result<Type> {
        const PLAIN: &[Type] = &[
            Type::Bool,
            Type::Int2,
            Type::Int4,
            Type::Int8,
            Type::Float4,
            Type::Float8,
            Type::Text,
            Type::Bytea,
            Type::Date,
            Type::Time,
            Type::Timestamp,
            Type::TimestampTz,
            Type::Interval,
            Type::Uuid,
            Type::Jsonb,
            Type::Citext,
            Type::Unknown,
            Type::Void,
        ];
        let word = self.word()?;
        let mut ty = match word.as_str() {
            "numeric" if self.is_sign("(") => {
                self.sign("(")?;
                let precision = self.number()?;
                self.sign(",")?;
                let scale = self.number()?;
                self.sign(")")?;
                Type::Numeric(Some((precision, scale)))
            }
            "numeric" => Type::Numeric(None),
            "varchar" if !self.is_sign("(") => Type::Varchar(None),
            "varchar" | "char" => {
                self.sign("(")?;
                let n = self.number()?;
                self.sign(")")?;
                if word == "char" { Type::Char(n) } else { Type::Varchar(Some(n)) }
            }
            "enum" => {
                self.sign("(")?;
                let name = self.quoted()?;
                self.sign(",")?;
                let oid = self.number()?;
                self.sign(",")?;
                let array = self.number()?;
                let mut labels = Vec::new();
                while !self.sign_if(")") {
                    self.sign(",")?;
                    labels.push(enumeration::Label { text: self.quoted()?, rank: self.number()? });
                }
                Type::Enum(Enum::from_parts(oid, array, &name, labels))
            }
            _ if let Some(fields) = interval_fields(&word) => {
                self.sign("(")?;
                let digits = self.number()?;
                self.sign(")")?;
                Type::Rounded(Clock::Fields(fields), digits)
            }
            "record" | "row" => {
                self.sign("(")?;
                let mut of = None;
                if word == "row" {
                    let name = self.quoted()?;
                    of = Some(Box::new(RowOf { name, table: TableId(self.number()?), oids: (0, 0) }));
                    self.sign(":")?;
                }
                let mut fields = Vec::new();
                while !self.sign_if(")") {
                    if !fields.is_empty() {
                        self.sign(",")?;
                    }
                    fields.push((self.quoted()?, self.ty()?));
                }
                Type::Record(RowType { of, fields })
            }
            _ => {
                let system = SystemType::ALL.iter().copied().map(Type::System);
                let ranges = RangeType::ALL.into_iter().map(Type::Range);
                let packed = PackedType::ALL.into_iter().map(Type::Packed);
                match PLAIN
                    .iter()
                    .cloned()
                    .chain(ranges)
                    .chain(packed)
                    .chain(system)
                    .find(|t| type_name(t) == word)
                {
                    Some(ty) => ty,
                    None => return self.fail("expected a type"),
                }
            }
        };
        if let Type::Packed(of @ (PackedType::Bit(_) | PackedType::VarBit(_) | PackedType::TimeTz(_))) = ty
            && self.sign_if("(")
        {
            ty = Type::Packed(of.with_limit(self.number()?));
            self.sign(")")?;
        }
        if let Some(clock) = Clock::ALL.into_iter().find(|clock| *clock.ty() == ty)
            && self.sign_if("(")
        {
            ty = Type::Rounded(clock, self.number()?);
            self.sign(")")?;
        }
        while self.sign_if("[") {
            self.sign("]")?;
            ty = Type::Array(Box::new(ty));
        }
        Ok(ty)
    }

    // ---- operations ----

    /// Operations up to a closing word or sign, which is consumed.
    fn block(&mut self, close: &str) -> Result<Block> {
        let mut ops = Vec::new();
        loop {
            let ends = if close == "end" {
                // `end` cannot be a register, so it always ends the program.
                self.word_if("end")
            } else {
                self.sign_if(close)
            };
            if ends {
                return Ok(Block(ops));
            }
            if self.next >= self.tokens.len() {
                return self.fail(&format!("expected {close}"));
            }
            ops.push(self.op()?);
        }
    }
    fn braces(&mut self) -> Result<Block> {
        self.sign("{")?;
        self.block("}")
    }
    fn position(&mut self) -> Result<u32> {
        if self.sign_if("@") { self.number() } else { Ok(0) }
    }

    fn op(&mut self) -> Result<Op> {
        let assigns = matches!(self.tokens.get(self.next + 1), Some((Token::Sign("="), _)));
        if assigns {
            let dst = self.reg()?;
            self.sign("=")?;
            let kind = self.assigned(dst)?;
            return self.done(kind);
        }
        let word = self.word()?;
        match word.as_str() {
            "if" => {
                let cond = self.reg()?;
                let position = self.position()?;
                let then = self.braces()?;
                let otherwise = if self.word_if("else") { self.braces()? } else { Block::default() };
                Ok(Op { id: OpId(0), position, kind: OpKind::If { cond, then, otherwise } })
            }
            "loop" | "block" => {
                let label = self.label()?;
                let position = self.position()?;
                let body = self.braces()?;
                let kind =
                    if word == "loop" { OpKind::Loop { label, body } } else { OpKind::Block { label, body } };
                Ok(Op { id: OpId(0), position, kind })
            }
            "try" => {
                let position = self.position()?;
                let body = self.braces()?;
                let mut handlers = Vec::new();
                while self.word_if("handle") {
                    handlers.push(self.handler()?);
                }
                Ok(Op { id: OpId(0), position, kind: OpKind::Try { body, handlers } })
            }
            "scan" | "foreach" | "matches" => self.region(&word),
            _ => {
                let kind = self.plain(&word)?;
                self.done(kind)
            }
        }
    }

    fn done(&mut self, kind: OpKind) -> Result<Op> {
        Ok(Op { id: OpId(0), position: self.position()?, kind })
    }

    fn handler(&mut self) -> Result<Handler> {
        let mut catches = Vec::new();
        loop {
            if self.word_if("others") {
                catches.push(Catch::Others);
            } else {
                catches.push(Catch::State(self.sqlstate()?));
            }
            if !self.sign_if(",") {
                break;
            }
        }
        self.sign("->")?;
        self.sign("(")?;
        let sqlstate = self.reg()?;
        self.sign(",")?;
        let sqlerrm = self.reg()?;
        let mut diagnostics = Vec::new();
        while self.sign_if(",") {
            let known = Diagnostic::ALL.iter().find(|(_, name)| self.word_if(name));
            let Some((what, _)) = known else { return self.fail("expected what a handler receives") };
            diagnostics.push((*what, self.reg()?));
        }
        self.sign(")")?;
        Ok(Handler { catches, sqlstate, sqlerrm, diagnostics, body: self.braces()? })
    }

    fn sqlstate(&mut self) -> Result<SqlState> {
        let text = self.quoted()?;
        match SqlState::parse(&text) {
            Some(s) => Ok(s),
            None => self.fail("expected a SQLSTATE"),
        }
    }

    /// `t0.i1`
    fn index(&mut self) -> Result<(TableId, IndexId)> {
        let word = self.word()?;
        let ids = word.split_once('.').and_then(|(t, i)| {
            let table = t.strip_prefix('t')?.parse().ok()?;
            Some((TableId(table), IndexId(i.strip_prefix('i')?.parse().ok()?)))
        });
        ids.map_or_else(|| self.fail("expected table.index"), Ok)
    }

    /// `c0 = a, c1 = b`
    fn columns(&mut self) -> Result<Vec<(ColumnId, Reg)>> {
        let mut all = Vec::new();
        // A load without columns is followed by something else than a column.
        while matches!(self.tokens.get(self.next + 1), Some((Token::Sign("="), _)))
            && matches!(self.peek(), Some(Token::Word(w)) if w.starts_with('c') && w[1..].parse::<u32>().is_ok())
        {
            let column = ColumnId(self.entity("c")?);
            self.sign("=")?;
            all.push((column, self.reg()?));
            if !self.sign_if(",") {
                break;
            }
        }
        Ok(all)
    }
    fn row_and_columns(&mut self) -> Result<(Reg, Vec<(ColumnId, Reg)>)> {
        self.sign("->")?;
        let row = self.reg()?;
        let columns = if self.sign_if(",") { self.columns()? } else { Vec::new() };
        Ok((row, columns))
    }
    fn bound(&mut self, closed: &str, open: &str) -> Result<Option<Bound>> {
        let inclusive = self.sign_if(closed);
        if !inclusive && !self.sign_if(open) {
            return Ok(None);
        }
        Ok(Some(Bound { reg: self.reg()?, inclusive }))
    }
    fn read_mode(&mut self) -> ReadMode {
        if self.word_if("lenient") {
            ReadMode::Lenient
        } else if self.word_if("check") {
            ReadMode::Check
        } else if self.word_if("parent") {
            ReadMode::Parent
        } else if self.word_if("arbiter") {
            ReadMode::Arbiter
        } else if self.word_if("ahead") {
            ReadMode::Ahead
        } else {
            ReadMode::Plain
        }
    }
    fn entry(&mut self) -> Result<Option<Reg>> {
        if self.word_if("entry") { self.reg().map(Some) } else { Ok(None) }
    }
    /// `as l0 @ position { .. }`
    fn tail(&mut self) -> Result<(Label, u32, Block)> {
        self.keyword("as")?;
        Ok((self.label()?, self.position()?, self.braces()?))
    }

    fn region(&mut self, word: &str) -> Result<Op> {
        let (position, kind) = match word {
            "scan" => {
                let (table, index) = self.index()?;
                let prefix = self.reg_list()?;
                let lower = self.bound(">=", ">")?;
                let upper = self.bound("<=", "<")?;
                let (descending, mode) = (self.word_if("desc"), self.read_mode());
                let (row, columns) = self.row_and_columns()?;
                let (label, position, body) = self.tail()?;
                let range = Range { prefix, lower, upper };
                let kind = OpKind::Scan { table, index, range, descending, mode, row, columns, label, body };
                (position, kind)
            }
            "foreach" => {
                let coll = self.coll()?;
                self.sign("->")?;
                let columns = self.reg_list()?;
                let entry = self.entry()?;
                let (label, position, body) = self.tail()?;
                (position, OpKind::ForEach { coll, columns, entry, label, body })
            }
            _ => {
                let coll = self.coll()?;
                let keys = self.reg_list()?;
                self.sign("->")?;
                let values = self.reg_list()?;
                let entry = self.entry()?;
                let (label, position, body) = self.tail()?;
                (position, OpKind::ForMatches { coll, keys, values, entry, label, body })
            }
        };
        Ok(Op { id: OpId(0), position, kind })
    }

    /// What stands after `dst =`.
    fn assigned(&mut self, dst: Reg) -> Result<OpKind> {
        let word = self.word()?;
        Ok(match word.as_str() {
            "const" => OpKind::Const { dst, value: self.datum()? },
            "copy" => OpKind::Copy { dst, src: self.reg()? },
            "cast" | "convert" => OpKind::Cast { dst, src: self.reg()?, explicit: word == "convert" },
            "draw" => {
                let input = match self.word()?.as_str() {
                    "now" => Draw::TransactionTimestamp,
                    "statement" => Draw::StatementTimestamp,
                    "clock" => Draw::ClockTimestamp,
                    "random" => Draw::Random,
                    "uuid" => Draw::Uuid,
                    "transaction" => Draw::TransactionId,
                    "lastvalue" => Draw::LastValue,
                    "user" => Draw::CurrentUser,
                    "session" => Draw::SessionUser,
                    "database" => Draw::CurrentDatabase,
                    "setting" => Draw::Setting,
                    "permitted" => Draw::Permitted(self.entity("n")?),
                    "secured" => Draw::RowSecurity(TableId(self.entity("n")?)),
                    "actsas" => Draw::ActsAs(RoleId(self.entity("n")?)),
                    "unsecured" => Draw::RowSecurityOff,
                    _ => {
                        return self.fail(
                            "expected now, statement, clock, random, uuid, user, session, setting, permitted, secured, actsas or unsecured",
                        );
                    }
                };
                OpKind::Draw { dst, input }
            }
            "kept" => OpKind::Draw { dst, input: Draw::Kept },
            "next" => OpKind::NextValue { dst, sequence: SequenceId(self.entity("s")?) },
            "current" => OpKind::CurrentValue { dst, sequence: SequenceId(self.entity("s")?) },
            "ask" => {
                let name = self.quoted()?;
                let Some(question) = Question::parse(&name) else {
                    return self.fail(&format!("{name} is no question"));
                };
                OpKind::Ask { dst, question, args: self.reg_list()? }
            }
            "len" => OpKind::Len { dst, coll: self.coll()? },
            name => match Func::parse(name) {
                Some(func) => OpKind::Apply { dst, func, args: self.reg_list()? },
                None => return self.fail(&format!("{name} is no function")),
            },
        })
    }

    fn plain(&mut self, word: &str) -> Result<OpKind> {
        Ok(match word {
            "setval" => {
                let sequence = SequenceId(self.entity("s")?);
                let regs = self.reg_list()?;
                let [value, is_called] = regs[..] else { return self.fail("expected two registers") };
                OpKind::SetValue { sequence, value, is_called }
            }
            "set" => {
                let array = self.reg()?;
                self.sign("[")?;
                let index = self.reg()?;
                self.sign("]")?;
                self.sign("=")?;
                OpKind::ArraySet { array, index, value: self.reg()? }
            }
            "exit" => OpKind::Exit { label: self.label()? },
            "continue" => OpKind::Continue { label: self.label()? },
            "return" => OpKind::Return,
            "commit" => OpKind::EndTransaction { commit: true },
            "rollback" => OpKind::EndTransaction { commit: false },
            "raise" => self.raise()?,
            "notify" => OpKind::Notify { channel: self.reg()?, payload: self.reg()? },
            "call" => {
                let procedure = ProcedureId(self.entity("p")?);
                let args = self.reg_list()?;
                self.sign("->")?;
                if self.is_sign("(") {
                    OpKind::Call { procedure, args, outs: self.reg_list()? }
                } else {
                    OpKind::CallSet { procedure, args, into: self.coll()? }
                }
            }
            "execute" => {
                let text = self.reg()?;
                let args = self.reg_list()?;
                self.sign("->")?;
                let row_count = self.reg()?;
                let rows = if self.sign_if(",") { Some(self.coll()?) } else { None };
                OpKind::Execute { text, args, rows, row_count, run: self.run()? }
            }
            "rows" => {
                let relation = SystemId(self.entity("sys")?);
                self.sign("(")?;
                let mut columns = Vec::new();
                while !self.sign_if(")") {
                    if !columns.is_empty() {
                        self.sign(",")?;
                    }
                    columns.push(ColumnId(self.number()?));
                }
                self.sign("->")?;
                OpKind::SystemRows { relation, columns, into: self.coll()? }
            }
            "emit" => OpKind::Emit { values: self.reg_list()? },
            "keep" => {
                let mut values = vec![self.reg()?];
                while self.sign_if(",") {
                    values.push(self.reg()?);
                }
                OpKind::Keep { values }
            }
            "piece" => OpKind::Piece { piece: self.number()?, args: self.reg_list()? },
            "get" => {
                let (table, index) = self.index()?;
                let key = self.reg_list()?;
                let mode = self.read_mode();
                let (row, columns) = self.row_and_columns()?;
                OpKind::Get { table, index, key, mode, row, columns }
            }
            "load" => {
                let table = self.table()?;
                let row = self.reg()?;
                self.sign("->")?;
                OpKind::Load { table, row, columns: self.columns()? }
            }
            "insert" => {
                let table = self.table()?;
                let values = self.reg_list()?;
                let row = if self.sign_if("->") { Some(self.reg()?) } else { None };
                OpKind::Insert { table, values, row }
            }
            "update" => {
                let table = self.table()?;
                let row = self.reg()?;
                self.keyword("set")?;
                OpKind::Update { table, row, set: self.columns()? }
            }
            "delete" => OpKind::Delete { table: self.table()?, row: self.reg()? },
            "claim" => {
                let (table, row) = (self.table()?, self.reg()?);
                let stronger = Strength::ALL.into_iter().skip(1);
                let strength = match stronger.rev().find(|s| self.word_if(strength_word(*s))) {
                    Some(strength) => strength,
                    None => {
                        self.keyword(strength_word(Strength::KeyShare))?;
                        Strength::KeyShare
                    }
                };
                let if_claimed = match () {
                    () if self.word_if("wait") => IfClaimed::Wait,
                    () if self.word_if("refuse") => IfClaimed::Refuse,
                    () => {
                        self.keyword("skip")?;
                        IfClaimed::Skip
                    }
                };
                self.sign("->")?;
                OpKind::Claim { table, row, strength, if_claimed, granted: self.reg()? }
            }
            "clear" => OpKind::Clear { coll: self.coll()? },
            "fill" => {
                let coll = self.coll()?;
                let mut rows = Vec::new();
                while matches!(self.peek(), Some(Token::Sign("("))) {
                    rows.push(self.list(Self::datum)?);
                }
                OpKind::Fill { coll, rows: rows.into() }
            }
            "push" => OpKind::Push { coll: self.coll()?, values: self.reg_list()? },
            "sort" => OpKind::Sort { coll: self.coll()?, keys: self.sort_keys()? },
            "trim" | "trim_ties" => {
                let (coll, keys, first) = (self.coll()?, self.sort_keys()?, self.reg_list()?);
                let (limit, offset) = match first[..] {
                    [limit] => (limit, None),
                    [limit, offset] => (limit, Some(offset)),
                    _ => return self.fail("a limit and perhaps an offset"),
                };
                OpKind::Trim { coll, keys, limit, offset, ties: word == "trim_ties" }
            }
            "lookup" => {
                let coll = self.coll()?;
                let keys = self.reg_list()?;
                self.sign("->")?;
                OpKind::MapGet { coll, keys, found: self.reg()?, values: self.reg_list()? }
            }
            "put" => OpKind::MapPut { coll: self.coll()?, keys: self.reg_list()?, values: self.reg_list()? },
            "setentry" => {
                let coll = self.coll()?;
                self.sign("(")?;
                let entry = self.reg()?;
                self.sign(",")?;
                let column = self.number()?;
                self.sign(")")?;
                self.sign("=")?;
                OpKind::SetEntry { coll, entry, column, value: self.reg()? }
            }
            other => {
                self.next -= 1;
                return self.fail(&format!("{other} is no operation"));
            }
        })
    }

    fn raise(&mut self) -> Result<OpKind> {
        let word = self.word()?;
        let Some(level) = Level::ALL.into_iter().find(|level| level.word() == word) else {
            return self.fail("expected a level");
        };
        let state = if self.sign_if("*") {
            StateSource::Current
        } else if matches!(self.peek(), Some(Token::Quoted(_))) {
            StateSource::Known(self.sqlstate()?)
        } else {
            StateSource::Computed(self.reg()?)
        };
        let message = self.reg()?;
        let mut fields = ErrorFields::default();
        while self.sign_if(",") {
            let what = self.word()?;
            self.sign("=")?;
            match what.as_str() {
                "detail" => fields.detail = Some(self.reg()?),
                "hint" => fields.hint = Some(self.reg()?),
                "found" => fields.found = self.quoted()? == "statement",
                name if matches!(self.peek(), Some(Token::Quoted(_))) => {
                    let name = match name {
                        "constraint" => &mut fields.constraint,
                        "table" => &mut fields.table,
                        "column" => &mut fields.column,
                        "schema" => &mut fields.schema,
                        "datatype" => &mut fields.datatype,
                        _ => return self.fail("unknown field"),
                    };
                    *name = Some(self.quoted()?);
                }
                name => match Diagnostic::NAMES.iter().find(|d| d.raised_as() == name) {
                    Some(field) => fields.computed.push((*field, self.reg()?)),
                    None => return self.fail("unknown field"),
                },
            }
        }
        Ok(OpKind::Raise { level, state, message, fields })
    }
}
