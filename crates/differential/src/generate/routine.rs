//! PL/pgSQL functions and procedures, and calls of them.

use super::{Generator, Name, Statement};
use crate::schema::Ty;
use crate::tree::{Node, expr, list, opt, seq, text};

/// A routine that was made.
#[derive(Clone, Debug)]
pub(super) struct Routine {
    name: String,
    parameters: Vec<Ty>,
    /// `None`: a procedure.
    returns: Option<Ty>,
}

/// Types of parameters and variables.
const TYPES: &[Ty] =
    &[Ty::Int4, Ty::Int4, Ty::Int4, Ty::Int8, Ty::Numeric, Ty::Text, Ty::Text, Ty::Bool, Ty::Date, Ty::Mood];

const CONDITIONS: &[&str] = &[
    "OTHERS",
    "division_by_zero",
    "unique_violation",
    "raise_exception",
    "check_violation OR not_null_violation",
];

/// What the body being written can use.
struct Scope {
    variables: Vec<Name>,
    /// Names of loop variables and the like that were given.
    given: usize,
    returns: Option<Ty>,
    loops: usize,
}

fn statements(all: Vec<Node>, min: usize) -> Node {
    Node::List { items: all, separator: "\n", min }
}

impl Generator {
    pub(super) fn routine(&mut self) -> Statement {
        let n = self.routines.len();
        let parameters: Vec<Ty> = (0..self.rng.between(0, 3)).map(|_| *self.rng.pick(TYPES)).collect();
        let returns = if self.rng.chance(60) { Some(*self.rng.pick(TYPES)) } else { None };
        let mut variables: Vec<Name> = Vec::new();
        for (i, ty) in parameters.iter().enumerate() {
            variables.push(Name { text: format!("p{i}"), ty: *ty });
        }
        let mut declared = Vec::new();
        self.may_fail = true;
        for i in 0..self.rng.between(1, 3) {
            let ty = *self.rng.pick(TYPES);
            let value = match self.rng.chance(70) {
                true => seq([text(" := "), self.expression(ty, &variables, 1)]),
                false => text(""),
            };
            let declared_type = if ty == Ty::Int4 && self.rng.chance(15) { "level" } else { ty.name() };
            declared.push(seq([text(format!("v{i} {declared_type}")), opt(value), text(";")]));
            variables.push(Name { text: format!("v{i}"), ty });
        }
        let mut scope = Scope { variables, given: 0, returns, loops: 0 };
        let body = self.body(&mut scope, 3);
        let last = match returns {
            Some(ty) => seq([text("\nRETURN "), self.expression(ty, &scope.variables, 2), text(";")]),
            None => text(""),
        };
        self.may_fail = false;
        let (kind, name) =
            if returns.is_some() { ("FUNCTION", format!("f{n}")) } else { ("PROCEDURE", format!("r{n}")) };
        let list: Vec<String> =
            parameters.iter().enumerate().map(|(i, ty)| format!("p{i} {}", ty.name())).collect();
        let result = returns.map_or(String::new(), |ty| format!(" RETURNS {}", ty.name()));
        let head =
            format!("CREATE {kind} {name}({}){result} LANGUAGE plpgsql AS $$\nDECLARE\n", list.join(", "));
        self.routines.push(Routine { name, parameters, returns });
        let count = declared.len();
        let node =
            seq([text(head), statements(declared, count), text("\nBEGIN\n"), body, last, text("\nEND $$")]);
        Statement { node, ordered: false }
    }

    fn body(&mut self, scope: &mut Scope, depth: usize) -> Node {
        let count = self.rng.between(1, 4);
        let all = (0..count).map(|_| self.pl_statement(scope, depth)).collect();
        seq([statements(all, 0), text("\nNULL;")])
    }

    /// A table's columns and the variables: no name is both.
    fn with_columns(&self, scope: &Scope, columns: Vec<Name>) -> Vec<Name> {
        let mut all = columns;
        all.extend(scope.variables.iter().cloned());
        all
    }

    fn pl_statement(&mut self, scope: &mut Scope, depth: usize) -> Node {
        let variable = self.rng.pick(&scope.variables).clone();
        match self.rng.below(if depth == 0 { 9 } else { 17 }) {
            0..=2 => {
                let value = self.expression(variable.ty, &scope.variables, 2);
                seq([text(format!("{} := ", variable.text)), value, text(";")])
            }
            3 => {
                let value = self.expression(Ty::Text, &scope.variables, 1);
                let level = *self.rng.pick(&["NOTICE", "NOTICE", "WARNING", "INFO"]);
                seq([
                    text(format!("RAISE {level} 'at % and %', ")),
                    value,
                    text(format!(", {};", variable.text)),
                ])
            }
            4 => {
                let alias = self.alias("q");
                let table = self.rng.pick(&self.tables).clone();
                let names = Self::names(&table, &alias);
                let value = self.expression(variable.ty, &names, 1);
                let both = self.with_columns(scope, names);
                let condition = self.condition(&both, 2);
                let strict = *self.rng.pick(&["", "", " STRICT"]);
                let head = "SELECT ";
                let into = format!(" INTO{strict} {} FROM {} AS {alias} WHERE ", variable.text, table.name);
                // Which row is taken must not be left open.
                seq([text(head), value, text(into), condition, text(" ORDER BY 1 LIMIT 1;")])
            }
            5 => {
                let statement = self.pl_change(scope);
                seq([statement, text(";")])
            }
            6 => {
                let condition = self.expression(Ty::Bool, &scope.variables, 1);
                let code = *self.rng.pick(&["22012", "P0001", "23505", "ZZ001"]);
                let raise = format!(
                    " THEN RAISE EXCEPTION 'raised %', {} USING ERRCODE = '{code}'; END IF;",
                    variable.text
                );
                seq([text("IF "), condition, text(raise)])
            }
            7 if scope.returns.is_some() => {
                let ty = scope.returns.unwrap_or(Ty::Int4);
                let condition = self.condition(&scope.variables, 1);
                let value = self.expression(ty, &scope.variables, 1);
                seq([text("IF "), condition, text(" THEN RETURN "), value, text("; END IF;")])
            }
            8 if scope.loops > 0 => {
                let word = *self.rng.pick(&["EXIT", "CONTINUE"]);
                let condition = self.condition(&scope.variables, 1);
                seq([text(format!("{word} WHEN ")), condition, text(";")])
            }
            7 | 8 => text("PERFORM 1;"),
            9 | 10 => {
                let condition = self.condition(&scope.variables, 2);
                let then = self.body(scope, depth - 1);
                let other = self.body(scope, depth - 1);
                let other = opt(seq([text("\nELSE\n"), other]));
                seq([text("IF "), condition, text(" THEN\n"), then, other, text("\nEND IF;")])
            }
            11 | 12 => {
                let name = format!("i{}", scope.given);
                scope.given += 1;
                let (low, high) = (self.rng.between(-1, 3), self.rng.between(0, 5));
                let reverse = if self.rng.chance(20) {
                    format!("REVERSE {high}..{low}")
                } else {
                    format!("{low}..{high}")
                };
                let inner = self.inside(scope, vec![Name { text: name.clone(), ty: Ty::Int4 }], depth);
                seq([text(format!("FOR {name} IN {reverse} LOOP\n")), inner, text("\nEND LOOP;")])
            }
            13 => {
                let name = format!("w{}", scope.given);
                scope.given += 1;
                let condition = self.condition(&scope.variables, 2);
                let inner = self.inside(scope, Vec::new(), depth);
                let head = format!("DECLARE {name} integer := 0; BEGIN WHILE {name} < 4 AND (");
                let step = format!(") LOOP {name} := {name} + 1;\n");
                seq([text(head), condition, text(step), inner, text("\nEND LOOP; END;")])
            }
            14 => {
                let name = format!("x{}", scope.given);
                scope.given += 1;
                let table = self.rng.pick(&self.tables).clone();
                let columns: Vec<Name> = table
                    .columns
                    .iter()
                    .map(|c| Name {
                        text: format!("{name}.{}", c.name),
                        ty: if c.ty == Ty::Varchar { Ty::Text } else { c.ty },
                    })
                    .collect();
                let order: Vec<&str> = table.columns.iter().map(|c| c.name.as_str()).collect();
                let order = order.join(", ");
                let inner = self.inside(scope, columns, depth);
                let head = format!(
                    "DECLARE {name} record; BEGIN FOR {name} IN SELECT * FROM {} ORDER BY {order} LIMIT 4 LOOP\n",
                    table.name
                );
                seq([text(head), inner, text("\nEND LOOP; END;")])
            }
            _ => {
                let inner = self.body(scope, depth - 1);
                let condition = *self.rng.pick(CONDITIONS);
                let handler = self.body(scope, 0);
                let tell = match self.rng.chance(60) {
                    true => "RAISE NOTICE 'caught % %', sqlstate, sqlerrm;\n",
                    false => "",
                };
                let head = format!("\nEXCEPTION WHEN {condition} THEN\n{tell}");
                seq([text("BEGIN\n"), inner, text(head), handler, text("\nEND;")])
            }
        }
    }

    /// A loop's body, with names of its own.
    fn inside(&mut self, scope: &mut Scope, names: Vec<Name>, depth: usize) -> Node {
        let before = scope.variables.len();
        // They cannot be assigned to, so they are read through an expression.
        let own: Vec<Name> = names;
        scope.loops += 1;
        let tell = match own.first() {
            Some(_) => {
                let value = self.expression(Ty::Text, &own, 2);
                seq([text("RAISE NOTICE 'in loop %', "), value, text(";\n")])
            }
            None => text(""),
        };
        let body = self.body(scope, depth - 1);
        scope.loops -= 1;
        scope.variables.truncate(before);
        seq([opt(tell), body])
    }

    fn pl_change(&mut self, scope: &Scope) -> Node {
        let table = self.rng.pick(&self.tables).clone();
        let alias = self.alias("c");
        let names = self.with_columns(scope, Self::names(&table, &alias));
        let free: Vec<_> = table.columns.iter().filter(|c| !c.key).cloned().collect();
        match self.rng.below(3) {
            0 => {
                let chosen: Vec<_> = table
                    .columns
                    .iter()
                    .filter(|c| !c.serial && (!c.optional || self.rng.chance(60)))
                    .cloned()
                    .collect();
                if chosen.is_empty() {
                    return text("PERFORM 2");
                }
                let columns: Vec<&str> = chosen.iter().map(|c| c.name.as_str()).collect();
                let types: Vec<Ty> =
                    chosen.iter().map(|c| if c.ty == Ty::Varchar { Ty::Text } else { c.ty }).collect();
                let values = self.row(&types, &scope.variables, 1);
                let head = format!("INSERT INTO {} ({}) VALUES (", table.name, columns.join(", "));
                seq([text(head), values, text(")")])
            }
            1 if !free.is_empty() => {
                let column = self.rng.pick(&free).clone();
                let ty = if column.ty == Ty::Varchar { Ty::Text } else { column.ty };
                self.may_fail = false;
                let mut value = self.expression(ty, &names, 2);
                if column.ty == Ty::Varchar {
                    // What is too long is found when PostgreSQL plans, rows or not.
                    value = seq([text("left("), value, text(", 8)")]);
                }
                self.may_fail = true;
                let condition = self.condition(&names, 2);
                let head = format!("UPDATE {} AS {alias} SET {} = ", table.name, column.name);
                seq([text(head), value, text(" WHERE "), condition])
            }
            _ => {
                let condition = self.condition(&names, 3);
                seq([text(format!("DELETE FROM {} AS {alias} WHERE ", table.name)), condition])
            }
        }
    }

    pub(super) fn call(&mut self) -> Statement {
        let routine = self.rng.pick(&self.routines).clone();
        self.may_fail = true;
        let mut args = Vec::new();
        for ty in &routine.parameters {
            args.push(self.expression(*ty, &[], 1));
        }
        self.may_fail = false;
        let min = args.len();
        let args = list(args, min);
        let node = match routine.returns {
            None => seq([text(format!("CALL {}(", routine.name)), args, text(")")]),
            Some(ty) => {
                let call = expr(ty, [text(format!("{}(", routine.name)), args, text(")")]);
                seq([text("SELECT "), call])
            }
        };
        Statement { node, ordered: false }
    }
}
