//! ALTER TABLE.

use super::{
    ColumnDef, Constraint, Expr, Name, PartitionSpec, Position, RoleSpec, SequenceOptions, TriggerNames,
    TypeName,
};

/// ALTER TABLE actions.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "fields are named after the clause in the line above them")]
pub enum AlterTable {
    /// ADD [COLUMN]
    AddColumn { column: ColumnDef, if_not_exists: bool },
    /// DROP [COLUMN]
    DropColumn { name: String, if_exists: bool, cascade: bool },
    /// ADD constraint
    AddConstraint(Constraint),
    /// DROP CONSTRAINT
    DropConstraint { name: String, if_exists: bool, cascade: bool },
    /// ALTER COLUMN c SET DEFAULT (`None`: DROP DEFAULT)
    SetDefault { column: String, default: Option<(Expr, String)> },
    /// ALTER COLUMN c ADD GENERATED .. AS IDENTITY
    AddIdentity { column: String, always: bool, options: SequenceOptions, position: Position },
    /// ALTER COLUMN c SET GENERATED .. | SET option | RESTART ..
    SetIdentity { column: String, always: Option<bool>, options: SequenceOptions },
    /// ALTER COLUMN c DROP IDENTITY [IF EXISTS]
    DropIdentity { column: String, if_exists: bool },
    /// ALTER CONSTRAINT .. [NOT] DEFERRABLE ..
    AlterConstraint { name: String, check: planaria_catalog::CheckTime },
    /// VALIDATE CONSTRAINT
    ValidateConstraint(String),
    /// ALTER COLUMN c DROP EXPRESSION [IF EXISTS]
    DropExpression { column: String, if_exists: bool },
    /// ALTER COLUMN c SET / DROP NOT NULL
    SetNotNull { column: String, not_null: bool },
    /// ALTER COLUMN c TYPE t [COLLATE name] [USING e]
    SetType { column: String, ty: TypeName, collation: Option<String>, using: Option<(Expr, String)> },
    /// RENAME TO
    RenameTable(String),
    /// RENAME [COLUMN] a TO b
    RenameColumn { from: String, to: String },
    /// RENAME CONSTRAINT a TO b
    RenameConstraint { from: String, to: String },
    /// ENABLE TRIGGER, DISABLE TRIGGER
    EnableTrigger { names: TriggerNames, enabled: planaria_catalog::TriggerEnabled },
    /// ENABLE, DISABLE ROW LEVEL SECURITY
    RowSecurity(bool),
    /// FORCE, NO FORCE ROW LEVEL SECURITY
    ForceRowSecurity(bool),
    /// OWNER TO
    OwnerTo(RoleSpec),
    /// CLUSTER ON index (`None`: SET WITHOUT CLUSTER)
    ClusterOn(Option<String>),
    /// Accepted, nothing to do
    Ignored(String),
    /// SET (parameters), RESET (parameters)
    Parameters { parameters: Vec<Parameter>, reset: bool },
    /// REPLICA IDENTITY (`None`: DEFAULT)
    ReplicaIdentity(Option<planaria_catalog::ReplicaIdentity>),
    /// ALTER COLUMN c SET STATISTICS | STORAGE | COMPRESSION | (parameters)
    ColumnTold { column: String, told: Told },
    /// ATTACH PARTITION
    Attach { partition: Name, bound: PartitionSpec },
    /// DETACH PARTITION
    Detach(Name),
    /// The rest
    Unsupported(String, Position),
}

/// A storage parameter: its name, with what stands before it and a point (`toast.`), and its value.
#[derive(Clone, PartialEq, Debug)]
pub struct Parameter {
    /// Name.
    pub name: String,
    /// What stands behind `=`.
    pub value: Option<String>,
}

/// What ALTER COLUMN says of how a column is stored.
#[derive(Clone, PartialEq, Debug)]
pub enum Told {
    /// SET STATISTICS
    Statistics(i64),
    /// SET STORAGE
    Storage(String),
    /// SET COMPRESSION
    Compression(String),
    /// SET, RESET (parameters); `None`: whatever stood there, which former versions passed over
    Parameters(Option<Vec<Parameter>>, bool),
}

/// ALTER INDEX, but for names, owners and partitions.
#[derive(Clone, PartialEq, Debug)]
pub enum AlterIndex {
    /// SET (parameters), RESET (parameters)
    Parameters(Vec<Parameter>, bool),
    /// ALTER [COLUMN] n SET STATISTICS
    Statistics(i64, i64),
    /// SET TABLESPACE
    Tablespace,
}
