//! Rows and values into the variables of a DO block.

use super::{Frame, Steps, Variable, hidden, named};
use planaria_base::shape::Shape;
use planaria_base::types::RowType;
use planaria_base::{Datum, Error, Result, SqlState, Type};
use planaria_syntax::ast::plpgsql::{Stmt, StmtKind};
use planaria_syntax::ast::{Expr, ExprKind, Position};

impl Steps<'_> {
    /// A row, or none, into variables.
    pub(super) fn assign_row(
        &mut self,
        targets: &[Expr],
        columns: &[(String, Type)],
        row: Option<Vec<Datum>>,
        at: Position,
    ) -> Result<()> {
        if let Some(record) = self.record(targets) {
            return self.assign_record(&record, columns, row).map_err(|error| self.placed(error, at));
        }
        let values = match row {
            Some(row) => row,
            None => vec![Datum::Null; columns.len()],
        };
        let values: Vec<(Type, Datum)> = columns.iter().map(|(_, ty)| ty.clone()).zip(values).collect();
        if let [target] = targets
            && self.is_row(target)
        {
            let row = record_type(columns);
            let whole = Datum::Array(values.into_iter().map(|(_, value)| value).collect());
            return self.assign_values(targets, &[(Type::Record(row), whole)], at);
        }
        self.assign_values(targets, &values, at)
    }

    pub(super) fn assign_record(
        &mut self,
        name: &str,
        columns: &[(String, Type)],
        row: Option<Vec<Datum>>,
    ) -> Result<()> {
        let value = row.map_or(Datum::Null, Datum::Array);
        self.set_record(name, Some(Type::Record(record_type(columns))), value)
    }

    pub(super) fn set_record(&mut self, name: &str, ty: Option<Type>, value: Datum) -> Result<()> {
        let variable = self.variable(name).ok_or_else(|| Error::internal("no such record"))?;
        if variable.known.constant {
            let message = format!("variable \"{name}\" is declared CONSTANT");
            return Err(Error::new(SqlState::new("22005"), message));
        }
        if variable.known.not_null && value == Datum::Null {
            let message = format!("null value cannot be assigned to variable \"{name}\" declared NOT NULL");
            return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
        }
        (variable.known.ty, variable.value) = (ty, value);
        Ok(())
    }

    /// Values into variables, converted as an assignment does. Too few are filled with NULL.
    pub(super) fn assign_values(
        &mut self,
        targets: &[Expr],
        values: &[(Type, Datum)],
        at: Position,
    ) -> Result<()> {
        let variables = targets.iter().enumerate().map(|(i, _)| {
            let (ty, value) = values.get(i).cloned().unwrap_or((Type::Text, Datum::Null));
            hidden(&format!("({i})"), ty, value)
        });
        self.frames.push(Frame { label: None, variables: variables.collect() });
        let depth = self.frames.len();
        for (i, target) in targets.iter().enumerate() {
            let value = named(&format!("({i})"), at);
            let assign = StmtKind::Assign { target: target.clone(), value };
            let (found, count) = (self.found, self.row_count);
            self.plain(&Stmt { position: at, end: at, kind: assign })?;
            (self.found, self.row_count) = (found, count);
        }
        self.frames.truncate(depth - 1);
        Ok(())
    }

    /// The fields of a row into several variables.
    pub(super) fn assign_fields(
        &mut self,
        targets: &[Expr],
        ty: &Type,
        value: Datum,
        at: Position,
    ) -> Result<()> {
        let Type::Record(row) = ty else {
            let message = "cannot assign non-composite value to a row variable";
            return Err(self.placed(Error::new(SqlState::DATATYPE_MISMATCH, message), at));
        };
        let mut fields = match value {
            Datum::Array(fields) => fields,
            _ => Vec::new(),
        };
        fields.resize(row.len(), Datum::Null);
        let values: Vec<(Type, Datum)> = row.iter().map(|(_, ty)| ty.clone()).zip(fields).collect();
        self.assign_values(targets, &values, at)
    }

    /// The record variable that a list of targets is.
    pub(super) fn record(&self, targets: &[Expr]) -> Option<String> {
        let [Expr { kind: ExprKind::Column(name), .. }] = targets else { return None };
        let [name] = &name.parts[..] else { return None };
        self.find(name).filter(|v| v.record).map(|_| name.clone())
    }

    pub(super) fn is_row(&self, target: &Expr) -> bool {
        let ExprKind::Column(name) = &target.kind else { return false };
        let [name] = &name.parts[..] else { return false };
        self.find(name).is_some_and(|v| matches!(v.known.ty, Some(Type::Record(_))))
    }

    pub(super) fn find(&self, name: &str) -> Option<&Variable> {
        self.frames.iter().rev().find_map(|f| f.variables.iter().rev().find(|v| v.known.name == name))
    }

    pub(super) fn variable(&mut self, name: &str) -> Option<&mut Variable> {
        self.frames.iter_mut().rev().find_map(|f| f.variables.iter_mut().rev().find(|v| v.known.name == name))
    }
}

pub(super) fn record_type(columns: &[(String, Type)]) -> RowType {
    columns.to_vec().into()
}

/// What FOREACH goes through: the elements of an array, or arrays of so many of its inner dimensions.
pub(super) fn parts(array: Datum, inner: usize) -> Result<Vec<Datum>> {
    let (shape, elements) = match array {
        Datum::Array(elements) if elements.is_empty() => (None, elements),
        Datum::Array(elements) => (Some(Shape::list(elements.len())), elements),
        Datum::Shaped(array) => (Some(*array.shape()), array.into_elements()),
        _ => {
            let message = "FOREACH expression must not be null";
            return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
        }
    };
    let dimensions = shape.as_ref().map_or(&[][..], |shape| shape.dimensions());
    let Some(outer) = dimensions.len().checked_sub(inner) else {
        let count = dimensions.len();
        let message = format!("slice dimension ({inner}) is out of the valid range 0..{count}");
        return Err(Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message));
    };
    let Some(of) = Shape::new(&dimensions[outer..])? else { return Ok(elements) };
    Ok(elements.chunks(of.elements()).map(|part| Datum::array(Some(of), part.to_vec())).collect())
}
