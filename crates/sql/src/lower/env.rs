//! What the verifier, and whoever analyses programs, needs to know of a catalog.

use planaria_base::{IndexId, ProcedureId, SequenceId, SystemId, TableId, Type};
use planaria_catalog::{Catalog, Returns, Table};
use planaria_ir::{IndexShape, Signature, VerifyEnv};

/// The definitions of a catalog, as a program refers to them.
#[derive(Clone, Copy)]
pub struct CatalogEnv<'c>(pub &'c Catalog);

impl<'c> CatalogEnv<'c> {
    fn table(&self, id: TableId) -> Option<&'c Table> {
        self.0.tables.get(id.index())?.as_deref()
    }
}

impl VerifyEnv for CatalogEnv<'_> {
    fn columns(&self, table: TableId) -> Option<Vec<Type>> {
        Some(self.table(table)?.columns.iter().map(|c| super::stored::stored(&c.ty).clone()).collect())
    }
    fn index(&self, table: TableId, index: IndexId) -> Option<IndexShape> {
        let index = self.table(table)?.indexes.get(index.index())?;
        Some(IndexShape { columns: index.columns.clone(), unique: index.unique })
    }
    fn procedure(&self, id: ProcedureId) -> Option<Signature> {
        let procedure = self.0.procedure_if(id)?;
        if procedure.returns == Returns::Trigger {
            let (inputs, outputs) = super::trigger::routine_shape(self.0, procedure)?;
            return Some(Signature { inputs, outputs, set: false });
        }
        let mut outputs: Vec<Type> = match &procedure.returns {
            Returns::Scalar(ty) | Returns::SetOf(ty) => vec![ty.clone()],
            Returns::SetOfTable(table) | Returns::RowOf(table) => {
                self.table(*table)?.visible().map(|(_, c)| c.ty.clone()).collect()
            }
            Returns::Trigger => Vec::new(),
            Returns::Record { columns, .. } => columns.iter().map(|(_, ty)| ty.clone()).collect(),
            Returns::Procedure | Returns::Table | Returns::OutRow | Returns::SetOfOutRow => {
                procedure.outputs().map(|p| p.ty.clone()).collect()
            }
        };
        if procedure.says_row() {
            outputs.push(Type::Bool);
        }
        let inputs = procedure.inputs().map(|p| p.ty.clone()).collect();
        Some(Signature { inputs, outputs, set: procedure.returns_set() })
    }
    fn system(&self, id: SystemId) -> Option<Vec<Type>> {
        let relation = planaria_catalog::system::relations().get(id.index())?;
        Some(relation.columns.iter().map(|c| c.ty.clone()).collect())
    }
    fn sequence(&self, id: SequenceId) -> bool {
        self.0.sequences.get(id.index()).is_some_and(Option::is_some)
    }
}
