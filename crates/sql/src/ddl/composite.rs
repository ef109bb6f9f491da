//! CREATE, ALTER and DROP of composite types: tables that never have a row, and that no statement finds as relations.

use super::alter::Rewrite;
use super::{Change, names};
use planaria_base::{Error, Result, SqlState, TableId};
use planaria_catalog::Object;
use planaria_syntax::ast::{AlterTable, ColumnDef, Name};

impl Change {
    pub(super) fn create_composite(&mut self, name: &Name, attributes: &[ColumnDef]) -> Result<&'static str> {
        let new = names::new(&self.catalog, name)?;
        self.require_create(new.0)?;
        self.check_type_name(new)?;
        if self.catalog.relation_exists(new) {
            return Err(names::relation_exists(new.1));
        }
        let id = self.new_table(new.0, new.1);
        self.table_mut(id).composite = true;
        for def in attributes {
            self.refuse_serial(def)?;
            let (column, _) = self.column(id, def)?;
            if self.table_mut(id).column(&def.name).is_some() {
                let message = format!("column \"{}\" specified more than once", def.name);
                return Err(Error::new(SqlState::DUPLICATE_COLUMN, message).at(def.position));
            }
            self.table_mut(id).columns.push(column);
        }
        super::table::check_columns(attributes.len()).map_err(|e| e.at(name.position))?;
        self.finish_table(id, Vec::new())?;
        Ok("CREATE TYPE")
    }

    /// 42704: `serial` is no type.
    fn refuse_serial(&self, def: &ColumnDef) -> Result<()> {
        let planaria_syntax::ast::TypeNameKind::Serial(of) = &def.ty.kind else { return Ok(()) };
        let name = match of {
            planaria_base::Type::Int8 => "bigserial",
            planaria_base::Type::Int2 => "smallserial",
            _ => "serial",
        };
        let message = format!("type \"{name}\" does not exist");
        Err(Error::new(SqlState::UNDEFINED_OBJECT, message).at(def.ty.position))
    }

    /// The composite type of that name, if there is one and the actor owns it.
    pub(super) fn owned_composite(&self, name: &Name) -> Result<Option<TableId>> {
        let wanted = self.catalog.located(names::wanted(&self.catalog, name)?);
        let Some(found) = self.catalog.composite(wanted) else { return Ok(None) };
        self.catalog.require_owner(self.actor.user, &Object::Table(found.id))?;
        Ok(Some(found.id))
    }

    pub(super) fn alter_composite(&mut self, name: &Name, actions: &[AlterTable]) -> Result<&'static str> {
        let Some(id) = self.owned_composite(name)? else {
            let ty = self.user_type(name)?;
            let message = format!("\"{}\" is not a composite type", ty.name);
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        };
        let mut rewrite = Rewrite::of(self.catalog.table_by_id(id));
        for action in actions {
            if let AlterTable::AddColumn { column, .. } = action {
                self.refuse_serial(column)?;
            }
            self.action(id, action, &mut rewrite)?;
        }
        self.finish_alter(id, rewrite)?;
        Ok("ALTER TYPE")
    }

    /// Renames a composite type.
    pub(super) fn rename_composite(&mut self, id: TableId, to: &str) -> Result<()> {
        self.check_type_name((self.catalog.table_by_id(id).schema, to))?;
        self.rename_table(id, to)
    }
}
