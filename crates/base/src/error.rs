//! Errors as PostgreSQL gives them: SQLSTATE, message, detail, hint, position.

use std::fmt;

/// A five-character SQLSTATE.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SqlState(pub [u8; 5]);

impl SqlState {
    /// From a literal such as `"23505"`.
    pub const fn new(code: &str) -> SqlState {
        let b = code.as_bytes();
        assert!(b.len() == 5, "a SQLSTATE has five characters");
        SqlState([b[0], b[1], b[2], b[3], b[4]])
    }
    /// From text at run time: five digits or upper-case letters.
    pub fn parse(code: &str) -> Option<SqlState> {
        let b: [u8; 5] = code.as_bytes().try_into().ok()?;
        b.iter().all(|c| c.is_ascii_digit() || c.is_ascii_uppercase()).then_some(SqlState(b))
    }
    /// The five characters.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or("XX000")
    }
    /// Whether the transaction may succeed if it is run again from its beginning: 40001, 40P01.
    pub fn is_retryable(self) -> bool {
        self == SqlState::SERIALIZATION_FAILURE || self == SqlState::DEADLOCK_DETECTED
    }
    /// The first two characters: its class.
    pub fn class(&self) -> [u8; 2] {
        [self.0[0], self.0[1]]
    }
}

impl fmt::Display for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
impl fmt::Debug for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

macro_rules! sqlstates {
    ($($konst:ident $code:literal $name:literal;)*) => {
        impl SqlState {
            $(#[doc = concat!("`", $code, "` ", $name)] pub const $konst: SqlState = SqlState::new($code);)*
            /// The code of a condition name of PL/pgSQL (`unique_violation`), if there is one.
            pub fn from_condition_name(name: &str) -> Option<SqlState> {
                match name {
                    $($name => Some(SqlState::$konst),)*
                    _ => {
                        let known = crate::conditions::NAMES.iter().find(|(_, known)| *known == name)?;
                        SqlState::parse(known.0)
                    }
                }
            }
            /// The condition name of the code, if it has one.
            pub fn condition_name(self) -> Option<&'static str> {
                match self {
                    $(SqlState::$konst => Some($name),)*
                    _ => {
                        let known = crate::conditions::NAMES.iter().find(|(code, _)| *code == self.as_str())?;
                        Some(known.1)
                    }
                }
            }
        }
    };
}

sqlstates! {
    SUCCESSFUL_COMPLETION "00000" "successful_completion";
    WARNING "01000" "warning";
    PRIVILEGE_NOT_REVOKED "01006" "privilege_not_revoked";
    PRIVILEGE_NOT_GRANTED "01007" "privilege_not_granted";
    NO_DATA "02000" "no_data";
    CONNECTION_FAILURE "08006" "connection_failure";
    FEATURE_NOT_SUPPORTED "0A000" "feature_not_supported";
    INVALID_GRANT_OPERATION "0LP01" "invalid_grant_operation";
    CASE_NOT_FOUND "20000" "case_not_found";
    CARDINALITY_VIOLATION "21000" "cardinality_violation";
    DATA_EXCEPTION "22000" "data_exception";
    STRING_DATA_RIGHT_TRUNCATION "22001" "string_data_right_truncation";
    STRING_DATA_LENGTH_MISMATCH "22026" "string_data_length_mismatch";
    NUMERIC_VALUE_OUT_OF_RANGE "22003" "numeric_value_out_of_range";
    NULL_VALUE_NOT_ALLOWED "22004" "null_value_not_allowed";
    INVALID_DATETIME_FORMAT "22007" "invalid_datetime_format";
    DATETIME_FIELD_OVERFLOW "22008" "datetime_field_overflow";
    SUBSTRING_ERROR "22011" "substring_error";
    ZERO_LENGTH_CHARACTER_STRING "2200F" "zero_length_character_string";
    DIVISION_BY_ZERO "22012" "division_by_zero";
    INTERVAL_FIELD_OVERFLOW "22015" "interval_field_overflow";
    INVALID_ESCAPE_SEQUENCE "22025" "invalid_escape_sequence";
    INVALID_REGULAR_EXPRESSION "2201B" "invalid_regular_expression";
    INVALID_ROW_COUNT_IN_LIMIT_CLAUSE "2201W" "invalid_row_count_in_limit_clause";
    INVALID_ROW_COUNT_IN_RESULT_OFFSET_CLAUSE "2201X" "invalid_row_count_in_result_offset_clause";
    CHARACTER_NOT_IN_REPERTOIRE "22021" "character_not_in_repertoire";
    INVALID_PARAMETER_VALUE "22023" "invalid_parameter_value";
    ARRAY_SUBSCRIPT_ERROR "2202E" "array_subscript_error";
    INVALID_TEXT_REPRESENTATION "22P02" "invalid_text_representation";
    UNTRANSLATABLE_CHARACTER "22P05" "untranslatable_character";
    INVALID_BINARY_REPRESENTATION "22P03" "invalid_binary_representation";
    BAD_COPY_FILE_FORMAT "22P04" "bad_copy_file_format";
    SEQUENCE_GENERATOR_LIMIT_EXCEEDED "2200H" "sequence_generator_limit_exceeded";
    INTEGRITY_CONSTRAINT_VIOLATION "23000" "integrity_constraint_violation";
    RESTRICT_VIOLATION "23001" "restrict_violation";
    NOT_NULL_VIOLATION "23502" "not_null_violation";
    FOREIGN_KEY_VIOLATION "23503" "foreign_key_violation";
    UNIQUE_VIOLATION "23505" "unique_violation";
    CHECK_VIOLATION "23514" "check_violation";
    EXCLUSION_VIOLATION "23P01" "exclusion_violation";
    INVALID_TRANSACTION_STATE "25000" "invalid_transaction_state";
    ACTIVE_SQL_TRANSACTION "25001" "active_sql_transaction";
    READ_ONLY_SQL_TRANSACTION "25006" "read_only_sql_transaction";
    NO_ACTIVE_SQL_TRANSACTION "25P01" "no_active_sql_transaction";
    IN_FAILED_SQL_TRANSACTION "25P02" "in_failed_sql_transaction";
    INVALID_SQL_STATEMENT_NAME "26000" "invalid_sql_statement_name";
    FUNCTION_EXECUTED_NO_RETURN_STATEMENT "2F005" "function_executed_no_return_statement";
    TRIGGERED_DATA_CHANGE_VIOLATION "27000" "triggered_data_change_violation";
    INVALID_AUTHORIZATION_SPECIFICATION "28000" "invalid_authorization_specification";
    INVALID_PASSWORD "28P01" "invalid_password";
    DEPENDENT_OBJECTS_STILL_EXIST "2BP01" "dependent_objects_still_exist";
    INVALID_TRANSACTION_TERMINATION "2D000" "invalid_transaction_termination";
    INVALID_CURSOR_NAME "34000" "invalid_cursor_name";
    EXTERNAL_ROUTINE_INVOCATION "39000" "external_routine_invocation_exception";
    INVALID_SAVEPOINT_SPECIFICATION "3B001" "invalid_savepoint_specification";
    INVALID_CATALOG_NAME "3D000" "invalid_catalog_name";
    INVALID_SCHEMA_NAME "3F000" "invalid_schema_name";
    INVALID_SCHEMA_DEFINITION "42P15" "invalid_schema_definition";
    TRANSACTION_ROLLBACK "40000" "transaction_rollback";
    SERIALIZATION_FAILURE "40001" "serialization_failure";
    DEADLOCK_DETECTED "40P01" "deadlock_detected";
    CANT_CHANGE_RUNTIME_PARAM "55P02" "cant_change_runtime_param";
    LOCK_NOT_AVAILABLE "55P03" "lock_not_available";
    SYNTAX_ERROR "42601" "syntax_error";
    INSUFFICIENT_PRIVILEGE "42501" "insufficient_privilege";
    CANNOT_COERCE "42846" "cannot_coerce";
    GROUPING_ERROR "42803" "grouping_error";
    WINDOWING_ERROR "42P20" "windowing_error";
    INVALID_RECURSION "42P19" "invalid_recursion";
    INVALID_FOREIGN_KEY "42830" "invalid_foreign_key";
    INVALID_NAME "42602" "invalid_name";
    NAME_TOO_LONG "42622" "name_too_long";
    RESERVED_NAME "42939" "reserved_name";
    DATATYPE_MISMATCH "42804" "datatype_mismatch";
    INDETERMINATE_DATATYPE "42P18" "indeterminate_datatype";
    WRONG_OBJECT_TYPE "42809" "wrong_object_type";
    GENERATED_ALWAYS "428C9" "generated_always";
    UNDEFINED_COLUMN "42703" "undefined_column";
    UNDEFINED_FUNCTION "42883" "undefined_function";
    UNDEFINED_TABLE "42P01" "undefined_table";
    UNDEFINED_PARAMETER "42P02" "undefined_parameter";
    UNDEFINED_OBJECT "42704" "undefined_object";
    DUPLICATE_COLUMN "42701" "duplicate_column";
    DUPLICATE_FUNCTION "42723" "duplicate_function";
    DUPLICATE_PREPARED_STATEMENT "42P05" "duplicate_prepared_statement";
    DUPLICATE_CURSOR "42P03" "duplicate_cursor";
    DUPLICATE_SCHEMA "42P06" "duplicate_schema";
    DUPLICATE_TABLE "42P07" "duplicate_table";
    DUPLICATE_ALIAS "42712" "duplicate_alias";
    DUPLICATE_OBJECT "42710" "duplicate_object";
    AMBIGUOUS_COLUMN "42702" "ambiguous_column";
    AMBIGUOUS_FUNCTION "42725" "ambiguous_function";
    AMBIGUOUS_ALIAS "42P09" "ambiguous_alias";
    INVALID_COLUMN_REFERENCE "42P10" "invalid_column_reference";
    INVALID_COLUMN_DEFINITION "42611" "invalid_column_definition";
    INVALID_FUNCTION_DEFINITION "42P13" "invalid_function_definition";
    INVALID_TABLE_DEFINITION "42P16" "invalid_table_definition";
    INVALID_OBJECT_DEFINITION "42P17" "invalid_object_definition";
    INSUFFICIENT_RESOURCES "53000" "insufficient_resources";
    DISK_FULL "53100" "disk_full";
    OUT_OF_MEMORY "53200" "out_of_memory";
    TOO_MANY_CONNECTIONS "53300" "too_many_connections";
    PROGRAM_LIMIT_EXCEEDED "54000" "program_limit_exceeded";
    WITH_CHECK_OPTION_VIOLATION "44000" "with_check_option_violation";
    STATEMENT_TOO_COMPLEX "54001" "statement_too_complex";
    TOO_MANY_COLUMNS "54011" "too_many_columns";
    TOO_MANY_ARGUMENTS "54023" "too_many_arguments";
    OBJECT_NOT_IN_PREREQUISITE_STATE "55000" "object_not_in_prerequisite_state";
    OBJECT_IN_USE "55006" "object_in_use";
    QUERY_CANCELED "57014" "query_canceled";
    ADMIN_SHUTDOWN "57P01" "admin_shutdown";
    SYSTEM_ERROR "58000" "system_error";
    IO_ERROR "58030" "io_error";
    UNDEFINED_FILE "58P01" "undefined_file";
    DUPLICATE_FILE "58P02" "duplicate_file";
    PLPGSQL_ERROR "P0000" "plpgsql_error";
    RAISE_EXCEPTION "P0001" "raise_exception";
    NO_DATA_FOUND "P0002" "no_data_found";
    TOO_MANY_ROWS "P0003" "too_many_rows";
    ASSERT_FAILURE "P0004" "assert_failure";
    INTERNAL_ERROR "XX000" "internal_error";
    DATA_CORRUPTED "XX001" "data_corrupted";
}

/// An error as a client of PostgreSQL knows it. Boxed inside: it is rare and it travels far.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Fields>);

/// The fields of an [`Error`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fields {
    /// What kind of error.
    pub sqlstate: SqlState,
    /// One line, lower case, no full stop.
    pub message: String,
    /// More about this case.
    pub detail: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
    /// Where in the SQL text, in bytes from its start (0-based).
    pub position: Option<u32>,
    /// A text made at run time in which the error stands, in place of the statement's: `position` counts in it.
    pub query: Option<String>,
    /// The stack of procedures and lines, innermost first.
    pub context: Option<String>,
    /// Name of the constraint that was violated.
    pub constraint: Option<String>,
    /// Table the error is about.
    pub table: Option<String>,
    /// Column the error is about.
    pub column: Option<String>,
    /// The schema of what it is about; of a table, `public` where nothing is said.
    pub schema: Option<String>,
    /// Type the error is about.
    pub datatype: Option<String>,
    /// Whether a program raised it, with whatever SQLSTATE its author chose.
    pub raised: bool,
    /// Whether a handler raises it again as it came: what is said of the routine around it is said already.
    pub again: bool,
    /// Whether it was found when its statement was compiled: it points into the text of that, which is told in place of a line
    /// of context.
    pub found: bool,
}

/// A result with an [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error with a code and a message.
    #[cold]
    pub fn new(sqlstate: SqlState, message: impl Into<String>) -> Error {
        Error(Box::new(Fields {
            sqlstate,
            message: message.into(),
            detail: None,
            hint: None,
            position: None,
            query: None,
            context: None,
            constraint: None,
            table: None,
            column: None,
            schema: None,
            datatype: None,
            raised: false,
            again: false,
            found: false,
        }))
    }
    /// `0A000`: what Planaria does not do, with a hint at what does.
    #[cold]
    pub fn unsupported(what: impl Into<String>, hint: impl Into<String>) -> Error {
        Error::new(SqlState::FEATURE_NOT_SUPPORTED, what).with_hint(hint)
    }
    /// `XX001`: what a file says cannot be. Its checksums may fit nevertheless.
    #[cold]
    pub fn corrupted(what: impl Into<String>) -> Error {
        Error::new(SqlState::DATA_CORRUPTED, what)
    }
    /// `XX000`: a bug of ours.
    #[cold]
    pub fn internal(what: impl Into<String>) -> Error {
        Error::new(SqlState::INTERNAL_ERROR, what)
    }
    /// `could not open file "/tmp/x": ...`: what could not be done to a file or directory, which the error
    /// of the operating system does not name.
    #[cold]
    pub fn file(doing: &str, path: &std::path::Path, error: std::io::Error) -> Error {
        let message = format!("could not {doing} \"{}\": {error}", path.display());
        let mut named = Error::from(error);
        named.0.message = message;
        named
    }
    /// Adds a detail.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Error {
        self.0.detail = Some(detail.into());
        self
    }
    /// Adds a hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Error {
        self.0.hint = Some(hint.into());
        self
    }
    /// Adds a position (byte offset into the SQL text), unless an inner one is known already.
    #[must_use]
    pub fn at(mut self, position: u32) -> Error {
        if self.0.query.is_none() {
            self.0.position.get_or_insert(position);
        }
        self
    }
    /// The position, which counts in a part of the statement, in the statement: the part begins at `start`.
    pub fn within(mut self, start: u32) -> Error {
        if self.0.query.is_none() {
            self.0.position = self.0.position.map(|position| position + start);
        }
        self
    }
    /// Says that the position counts in another text than the statement's.
    #[must_use]
    pub fn in_query(mut self, text: impl Into<String>) -> Error {
        self.0.query.get_or_insert_with(|| text.into());
        self
    }
    /// Adds an outer line of context below those already there.
    #[must_use]
    pub fn context(mut self, line: impl AsRef<str>) -> Error {
        match &mut self.0.context {
            Some(c) => {
                c.push('\n');
                c.push_str(line.as_ref());
            }
            none => *none = Some(line.as_ref().to_owned()),
        }
        self
    }
    /// Names the constraint and its table.
    #[must_use]
    pub fn constraint(mut self, constraint: impl Into<String>, table: impl Into<String>) -> Error {
        self.0.constraint = Some(constraint.into());
        self.0.table = Some(table.into());
        self
    }
    /// Names table and column.
    #[must_use]
    pub fn column(mut self, table: impl Into<String>, column: impl Into<String>) -> Error {
        self.0.table = Some(table.into());
        self.0.column = Some(column.into());
        self
    }
    /// Whether nothing but the whole transaction, run again, helps: the engine says so, with 40001 or 40P01. A
    /// program may raise these codes too, for its caller to see; that fails what it ran in, and no more.
    pub fn is_conflict(&self) -> bool {
        self.0.sqlstate.is_retryable() && !self.0.raised
    }
    /// The SQLSTATE.
    pub fn sqlstate(&self) -> SqlState {
        self.0.sqlstate
    }
    /// The message alone.
    pub fn message(&self) -> &str {
        &self.0.message
    }
    /// More about this case, if there is more.
    pub fn detail(&self) -> Option<&str> {
        self.0.detail.as_deref()
    }
    /// What to do about it, if somebody knows.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }
    /// Where in the SQL text, in bytes from its start (0-based).
    pub fn position(&self) -> Option<u32> {
        self.0.position
    }
    /// All fields.
    pub fn fields(&self) -> &Fields {
        &self.0
    }
    /// All fields, to change.
    pub fn fields_mut(&mut self) -> &mut Fields {
        &mut self.0
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (SQLSTATE {})", self.0.message, self.0.sqlstate)
    }
}
/// For people, as `main` shows it: what [`Display`](fmt::Display) says, and what else there is, a line each.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fields { detail, hint, position, query, context, constraint, table, column, .. } = &*self.0;
        write!(f, "{self}")?;
        // The statement's beginning would say nothing.
        let position = position
            .filter(|at| *at > 0)
            .map(|at| format!("byte {at} of the {}", if query.is_some() { "query" } else { "statement" }));
        let position = position.as_ref();
        let lines = [
            ("DETAIL", detail.as_ref()),
            ("HINT", hint.as_ref()),
            ("POSITION", position),
            ("QUERY", query.as_ref()),
            ("CONTEXT", context.as_ref()),
            ("TABLE", table.as_ref()),
            ("COLUMN", column.as_ref()),
            ("CONSTRAINT", constraint.as_ref()),
        ];
        for (name, value) in lines {
            if let Some(value) = value {
                write!(f, "\n{name}: {value}")?;
            }
        }
        Ok(())
    }
}
impl std::error::Error for Error {}

impl From<std::io::Error> for Error {
    fn from(e: std::io::Error) -> Error {
        let state = match e.kind() {
            std::io::ErrorKind::StorageFull => SqlState::DISK_FULL,
            std::io::ErrorKind::NotFound => SqlState::UNDEFINED_FILE,
            std::io::ErrorKind::PermissionDenied => SqlState::INSUFFICIENT_PRIVILEGE,
            _ => SqlState::IO_ERROR,
        };
        Error::new(state, e.to_string())
    }
}
