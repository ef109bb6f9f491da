//! Bound cursors of a body that is carried out by steps: cursors of the session, or of the program that calls the routine, by the
//! names of their variables.

use super::{Flow, Frame, Steps, Variable, hidden, named};
use planaria_base::types::SystemType;
use planaria_base::{Datum, Error, Result, SqlState, Type};
use planaria_syntax::ast::plpgsql::{
    Declaration, DeclarationKind, Opened, PlDirection, StepKind, StepVariable, Stmt, StmtKind,
};
use planaria_syntax::ast::{Expr, ExprKind, Into, Name, Position};
use std::collections::VecDeque;
use std::sync::Arc;

/// Arguments of OPEN, with their names.
type Args = [(Option<String>, Expr)];

impl Steps<'_> {
    pub(super) fn declare_cursor(&mut self, declaration: &Declaration) -> Result<()> {
        let known = StepVariable {
            name: declaration.name.clone(),
            ty: Some(Type::System(SystemType::RefCursor)),
            constant: false,
            not_null: false,
            domain: None,
            as_value: false,
        };
        let (value, cursor) = (Datum::Text(declaration.name.clone()), Some(Arc::new(declaration.clone())));
        let frame =
            self.frames.last_mut().ok_or_else(|| Error::internal("a declaration outside of a block"))?;
        frame.variables.push(Variable { known, value, record: false, cursor });
        Ok(())
    }

    /// OPEN of a bound cursor: its query sees the arguments as variables.
    pub(super) fn open_bound(&mut self, cursor: &Name, args: &Args, at: Position) -> Result<()> {
        let wrong = |message: String| Error::new(SqlState::SYNTAX_ERROR, message);
        let name = cursor.parts.last().map_or("", String::as_str);
        let declared = self.find(name).and_then(|variable| variable.cursor.clone());
        let declared = declared.as_ref().map(|declaration| &declaration.kind);
        let Some(DeclarationKind::Cursor { scroll, parameters, query }) = declared else {
            return Err(self.placed(wrong("syntax error, expected \"FOR\"".to_owned()), at));
        };
        let given = match given(name, parameters, args) {
            Ok(given) => given,
            Err(message) => return Err(self.placed(wrong(message), at)),
        };
        let mut values = Vec::with_capacity(given.len());
        for (place, value) in given.iter().enumerate() {
            let (ty, value) = self.step(StepKind::Value((*value).clone()))?.only()?;
            values.push(hidden(&argument(place), ty, value));
        }
        let depth = self.frames.len();
        self.frames.push(Frame { label: None, variables: values });
        self.frames.push(Frame { label: Some(name.to_owned()), variables: Vec::new() });
        for (place, (parameter, ty)) in parameters.iter().enumerate() {
            let default = Some(named(&argument(place), at));
            let kind =
                DeclarationKind::Variable { ty: ty.clone(), constant: false, not_null: false, default };
            let (name, position, end) = (parameter.clone(), at, at);
            self.declare(&Declaration { name, kind, position, end })?;
        }
        let kind =
            StmtKind::Open { cursor: cursor.clone(), scroll: *scroll, what: Opened::Query(query.clone()) };
        self.simple(&Stmt { position: at, end: at, kind })?;
        self.frames.truncate(depth);
        Ok(())
    }

    /// FOR over a bound cursor.
    pub(super) fn for_cursor(
        &mut self,
        (label, targets, body): (Option<&str>, &[Expr], &[Stmt]),
        (cursor, args): (&Name, &Args),
        at: Position,
    ) -> Result<Flow> {
        let record = match targets {
            [Expr { kind: ExprKind::Column(name), .. }] => name.parts.last().cloned(),
            _ => None,
        };
        let Some(record) = record else {
            let message = "cursor FOR loop must have only one target variable";
            return Err(self.placed(Error::new(SqlState::SYNTAX_ERROR, message), at));
        };
        self.open_bound(cursor, args, at)?;
        let depth = self.frames.len();
        let known = StepVariable {
            name: record.clone(),
            ty: None,
            constant: false,
            not_null: false,
            domain: None,
            as_value: false,
        };
        let variable = Variable { known, value: Datum::Null, record: true, cursor: None };
        self.frames.push(Frame { label: label.map(str::to_owned), variables: vec![variable] });
        let statement = |kind: StmtKind| Stmt { position: at, end: at, kind };
        let into = Into { targets: targets.to_vec(), strict: false, position: at, end: at };
        let fetch = statement(StmtKind::Fetch {
            cursor: cursor.clone(),
            direction: PlDirection::Forward(1),
            into: Some(into),
        });
        let close = statement(StmtKind::Close(cursor.clone()));
        // A transaction that ends in the loop takes the cursor along, so all rows are fetched ahead there.
        let mut ahead = None;
        if self.ends.is_some() {
            let mut rows = VecDeque::new();
            loop {
                self.fetch_record(&fetch, cursor, &record)?;
                if !self.found {
                    break;
                }
                let stands = self.stands(cursor);
                let row = self.find(&record).map(|variable| {
                    let (ty, value) = (variable.known.ty.clone(), variable.value.clone());
                    (ty, value, stands)
                });
                rows.extend(row);
            }
            self.begin_ahead(cursor);
            self.plain(&close)?;
            ahead = Some(rows);
        }
        let open = ahead.is_none();
        let mut any = false;
        let flow = self.repeat(label, body, &mut |s| {
            match &mut ahead {
                None => s.fetch_record(&fetch, cursor, &record)?,
                Some(rows) => {
                    let row = rows.pop_front();
                    s.found = row.is_some();
                    let (ty, value, stands) = row.unwrap_or((None, Datum::Null, None));
                    s.stands_ahead(stands);
                    s.set_record(&record, ty, value).map_err(|error| s.placed(error, at))?;
                }
            }
            any |= s.found;
            Ok(s.found)
        })?;
        self.frames.truncate(depth);
        match open {
            true => self.plain(&close)?,
            false => self.end_ahead(),
        }
        self.found = any;
        Ok(flow)
    }
}

fn argument(place: usize) -> String {
    format!("(argument {place})")
}

/// The argument of each parameter; what is wrong with them.
fn given<'a, T>(name: &str, parameters: &[(String, T)], args: &'a Args) -> Result<Vec<&'a Expr>, String> {
    if parameters.is_empty() && !args.is_empty() {
        return Err(format!("cursor \"{name}\" has no arguments"));
    }
    if !parameters.is_empty() && args.is_empty() {
        return Err(format!("cursor \"{name}\" has arguments"));
    }
    let mut given: Vec<Option<&Expr>> = vec![None; parameters.len()];
    for (i, (named, value)) in args.iter().enumerate() {
        let to = match named {
            Some(named) => parameters
                .iter()
                .position(|(parameter, _)| parameter == named)
                .ok_or_else(|| format!("cursor \"{name}\" has no argument named \"{named}\""))?,
            None => i,
        };
        let Some(place) = given.get_mut(to) else {
            return Err(format!("too many arguments for cursor \"{name}\""));
        };
        if place.replace(value).is_some() {
            let parameter = &parameters[to].0;
            return Err(format!(
                "value for parameter \"{parameter}\" of cursor \"{name}\" specified more than once"
            ));
        }
    }
    let all: Option<Vec<&Expr>> = given.into_iter().collect();
    all.ok_or_else(|| format!("not enough arguments for cursor \"{name}\""))
}
