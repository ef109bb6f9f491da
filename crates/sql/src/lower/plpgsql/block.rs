//! Blocks: declarations, bodies, handlers.

use super::cursor::REFCURSOR;
use super::{Body, Handled, Region};
use crate::lower::held::Held;
use crate::lower::{CastContext, Declared, Found, Typed, Variable};
use planaria_base::{Error, Result, SqlState, TableId, Type};
use planaria_ir::{Catch, Handler, OpKind, RegKind};
use planaria_syntax::ast::plpgsql::{Condition, Declaration, DeclarationKind, PlBlock};
use planaria_syntax::ast::{Expr, ExprKind, Name, TypeName, TypeNameKind};

impl Body<'_, '_> {
    pub(super) fn block(&mut self, block: &PlBlock) -> Result<()> {
        self.scope.push(block.label.clone());
        for declaration in &block.declarations {
            self.declaration(declaration)?;
        }
        // A labelled block can be left.
        let exit = self.l.label();
        let lower = |s: &mut Self| {
            s.sub_block(|s| {
                s.regions.push(Region { name: block.label.clone(), exit, next: None, closes: None });
                let outcome = if block.handlers.is_empty() {
                    s.statements(&block.body)
                } else {
                    s.with_handlers(block)
                };
                s.regions.pop();
                outcome
            })
        };
        // Whoever leaves a labelled block leaves it from anywhere.
        let body = if block.label.is_some() {
            let mut lost = self.lost_by(&block.body);
            block.handlers.iter().for_each(|h| lost.extend(self.lost_by(&h.body)));
            self.repeated(&[Some(exit), None], &lost, lower)?
        } else {
            lower(self)?
        };
        if block.label.is_some() {
            self.l.emit(OpKind::Block { label: exit, body });
        } else {
            self.l.splice(body);
        }
        self.scope.pop();
        Ok(())
    }

    pub(super) fn declaration(&mut self, declaration: &Declaration) -> Result<()> {
        let before = self.l.at(declaration.position);
        match &declaration.kind {
            DeclarationKind::Variable { ty, constant, not_null, default } => {
                let at = declaration.position;
                self.declare(&declaration.name, ty, *constant, *not_null, default.as_ref(), at)
            }
            DeclarationKind::Alias(of) => self.alias(&declaration.name, of),
            DeclarationKind::Cursor { scroll, parameters, query } => {
                let at = declaration.position;
                self.declare_cursor(&declaration.name, *scroll, parameters, query, at)
            }
        }
        .map_err(|e| e.at(declaration.position))?;
        self.l.at(before);
        Ok(())
    }

    fn with_handlers(&mut self, block: &PlBlock) -> Result<()> {
        let start = self.scope.clone();
        let lost = self.lost_by(&block.body);
        let cursors = self.mark_cursors();
        let body = self.sub_block(|s| s.statements(&block.body))?;
        let mut ends = vec![self.scope.clone()];
        let mut handlers = Vec::new();
        for handler in &block.handlers {
            let mut catches = Vec::new();
            for condition in &handler.conditions {
                catches.push(catch(condition)?);
            }
            let register =
                |s: &mut Self, name: &str| s.l.program.reg(RegKind::Value(Type::Text), Some(name.to_owned()));
            let handled =
                Handled { sqlstate: register(self, "sqlstate"), sqlerrm: register(self, "sqlerrm") };
            let mut diagnostics = Vec::new();
            let body = self.alternative(&start, &lost, &mut ends, |s| {
                s.scope.push(None);
                for (name, reg) in [("sqlstate", handled.sqlstate), ("sqlerrm", handled.sqlerrm)] {
                    s.scope.declare(name, Variable::Scalar(Typed { reg, ty: Type::Text }));
                }
                let outer = s.handled.replace(handled);
                let of_outer = std::mem::take(&mut s.diagnosed);
                let body = s.sub_block(|s| {
                    s.close_since(&cursors)?;
                    s.statements(&handler.body)
                });
                s.handled = outer;
                diagnostics = std::mem::replace(&mut s.diagnosed, of_outer);
                s.scope.pop();
                body
            })?;
            let (sqlstate, sqlerrm) = (handled.sqlstate, handled.sqlerrm);
            handlers.push(Handler { catches, sqlstate, sqlerrm, diagnostics, body });
        }
        if let Some(joined) = ends.iter().cloned().reduce(|a, b| self.join(&a, &b)) {
            self.scope = joined;
        }
        self.l.emit(OpKind::Try { body, handlers });
        Ok(())
    }

    fn alias(&mut self, name: &str, of: &str) -> Result<()> {
        let number = of.strip_prefix('$').and_then(|n| n.parse().ok());
        let variable = match number {
            Some(n) if n > 0 => self.scope.parameter(n).cloned(),
            _ => self.scope.variable(of).cloned(),
        };
        let variable = variable.ok_or_else(|| {
            Error::new(SqlState::UNDEFINED_OBJECT, format!("variable \"{of}\" does not exist"))
        })?;
        self.scope.declare(name, variable);
        Ok(())
    }

    /// 42601 where the block has a variable of that name.
    pub(super) fn refuse_twice(&self, name: &str) -> Result<()> {
        let twice = self.scope.frames().last().is_some_and(|f| f.variables.iter().any(|(n, _)| n == name));
        if twice {
            let message = format!("duplicate declaration at or near \"{name}\"");
            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
        }
        Ok(())
    }

    fn declare(
        &mut self,
        name: &str,
        ty: &TypeName,
        constant: bool,
        not_null: bool,
        default: Option<&Expr>,
        position: u32,
    ) -> Result<()> {
        self.refuse_twice(name)?;
        let mut variable = self.variable(name, ty)?;
        self.begin_row(name, &mut variable, position);
        if let Variable::Scalar(t) = &variable
            && t.ty == REFCURSOR
            && self.add_cursor(name, t.reg, None, position)
            && default.is_none()
            && !not_null
        {
            self.scope.declare(name, variable);
            return Ok(());
        }
        match (&variable, default) {
            (Variable::Scalar(t), Some(default)) => {
                // The name is not known yet in its own default.
                let done = self.l.expr_into(&self.scope, default, t.reg, CastContext::Variable);
                if let Err(error) = done
                    && (!self.checking || super::is_of_creation(&error))
                {
                    return Err(error);
                }
                self.l.check_assigned(t.reg)?;
            }
            (Variable::Scalar(_) | Variable::Row { .. }, None) if self.loops > 0 => {
                for reg in registers(&variable) {
                    self.null(reg);
                }
                self.check_first(&variable)?;
            }
            (_, None) => self.check_first(&variable)?,
            (Variable::Row { .. } | Variable::Unassigned { .. }, Some(default)) => {
                self.scope.declare(name, variable.clone());
                let target = Expr {
                    position: default.position,
                    kind: ExprKind::Column(Name { parts: vec![name.to_owned()], position: default.position }),
                };
                self.assign(&target, default)?;
                // One of a former version could be changed.
                if let (true, false, Some(variable)) =
                    (constant, self.l.rows.former, self.scope.variable(name))
                {
                    self.constants.extend(registers(variable));
                }
                return Ok(());
            }
        }
        if not_null {
            if default.is_none() {
                return Err(Error::new(
                    SqlState::NULL_VALUE_NOT_ALLOWED,
                    format!("variable \"{name}\" must have a default value, since it's declared NOT NULL"),
                ));
            }
            for reg in registers(&variable) {
                self.not_null.push((reg, name.to_owned()));
                self.check_not_null(reg)?;
            }
        }
        if constant {
            self.constants.extend(registers(&variable));
        }
        self.scope.declare(name, variable);
        Ok(())
    }

    /// A variable that begins as NULL, which not every domain has.
    fn check_first(&mut self, variable: &Variable) -> Result<()> {
        match variable {
            Variable::Scalar(t) => self.l.check_assigned(t.reg),
            _ => Ok(()),
        }
    }

    /// Registers for a variable of a type.
    fn variable(&mut self, name: &str, ty: &TypeName) -> Result<Variable> {
        match &ty.kind {
            TypeNameKind::Record => Ok(Variable::Unassigned { id: 0 }),
            TypeNameKind::RowOf(of) => match self.scope.variable(&of.parts[0]).cloned() {
                Some(Variable::Row { fields, table, .. }) if of.parts.len() == 1 => {
                    Ok(self.row_variable(name, fields.iter().map(|(n, t)| (n.clone(), t.ty.clone())), table))
                }
                _ => self.table_variable(name, of),
            },
            TypeNameKind::Named(of) if self.named_table(of).is_some() => self.table_variable(name, of),
            TypeNameKind::OfColumn(of) => {
                let found = match self.scope.lookup(&of.parts).or_else(|| self.numbered(of)) {
                    Some(Found::Variable(Variable::Scalar(t))) | Some(Found::Field(t)) => Some(t.clone()),
                    Some(Found::Variable(Variable::Row { fields, table, .. })) => {
                        let fields: Vec<_> = fields.iter().map(|(n, t)| (n.clone(), t.ty.clone())).collect();
                        let table = *table;
                        return Ok(self.row_variable(name, fields.into_iter(), table));
                    }
                    _ => None,
                };
                match found {
                    Some(of) => {
                        let domain = self.l.domain_of(of.reg);
                        let variable = self.scalar(name, of.ty);
                        registers(&variable).into_iter().for_each(|reg| self.l.declare_domain(reg, domain));
                        Ok(variable)
                    }
                    None if of.parts[0].starts_with('$') => {
                        let message = format!("syntax error at or near \"{}\"", of.parts[0]);
                        Err(Error::new(SqlState::SYNTAX_ERROR, message).at(of.position))
                    }
                    None => self.declared(name, ty),
                }
            }
            _ => self.declared(name, ty),
        }
    }

    /// The parameter that `$n` is.
    fn numbered(&self, name: &Name) -> Option<Found<'_>> {
        let [number] = &name.parts[..] else { return None };
        self.scope.parameter(number.strip_prefix('$')?.parse().ok()?).map(Found::Variable)
    }

    /// A variable of a type that is looked up.
    fn declared(&mut self, name: &str, ty: &TypeName) -> Result<Variable> {
        let declared = self.l.declared(ty)?;
        declared.refuse_row("a variable", ty.position)?;
        let Declared { ty, domain } = declared;
        let variable = self.scalar(name, ty);
        for reg in registers(&variable) {
            self.l.declare_domain(reg, domain);
        }
        Ok(variable)
    }

    pub(super) fn scalar(&mut self, name: &str, ty: Type) -> Variable {
        let reg = self.l.program.reg(RegKind::Value(ty.clone()), Some(name.to_owned()));
        Variable::Scalar(Typed { reg, ty })
    }

    fn named_table(&self, name: &Name) -> Option<TableId> {
        crate::lower::table_of_type(self.l.catalog, name).map(|t| t.id)
    }

    fn table_variable(&mut self, name: &str, of: &Name) -> Result<Variable> {
        let id = self.named_table(of).ok_or_else(|| {
            Error::new(
                SqlState::UNDEFINED_TABLE,
                format!("relation \"{}\" does not exist", of.parts.join(".")),
            )
            .at(of.position)
        })?;
        let fields: Vec<(String, Type)> =
            self.l.catalog.table_by_id(id).visible().map(|(_, c)| (c.name.clone(), c.ty.clone())).collect();
        let variable = self.row_variable(name, fields.into_iter(), Some(id));
        let table = self.l.catalog.table_by_id(id);
        for (reg, (_, column)) in registers(&variable).into_iter().zip(table.visible()) {
            self.l.declare_domain(reg, column.domain);
        }
        Ok(variable)
    }

    pub(super) fn row_variable(
        &mut self,
        name: &str,
        fields: impl Iterator<Item = (String, Type)>,
        table: Option<TableId>,
    ) -> Variable {
        let fields = fields
            .map(|(field, ty)| {
                let full = format!("{name}.{field}");
                let reg = self.l.program.reg(RegKind::Value(ty.clone()), Some(full));
                (field, Typed { reg, ty })
            })
            .collect();
        Variable::Row { fields, table, held: Held::Row, id: 0 }
    }
}

/// All registers of a variable.
pub(super) fn registers(variable: &Variable) -> Vec<planaria_ir::Reg> {
    match variable {
        Variable::Scalar(t) => vec![t.reg],
        Variable::Row { fields, .. } => fields.iter().map(|(_, t)| t.reg).collect(),
        Variable::Unassigned { .. } => Vec::new(),
    }
}

/// What a condition catches.
pub fn catch(condition: &Condition) -> Result<Catch> {
    match condition {
        Condition::Name(name, _) if name == "others" => Ok(Catch::Others),
        Condition::Name(name, position) => {
            SqlState::from_condition_name(name).map(Catch::State).ok_or_else(|| {
                Error::new(SqlState::UNDEFINED_OBJECT, format!("unrecognized exception condition \"{name}\""))
                    .at(*position)
            })
        }
        Condition::State(code, position) => SqlState::parse(code)
            .map(Catch::State)
            .ok_or_else(|| Error::new(SqlState::SYNTAX_ERROR, "invalid SQLSTATE code").at(*position)),
    }
}
