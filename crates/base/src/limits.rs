//! Every limit of the engine, in one place, related to each other at compile time.

/// Longest encoded index key, in bytes (PostgreSQL's btree limit is 2704).
pub const INDEX_KEY_BYTES_MAX: usize = 2048;
/// Bytes of a name of the system catalogs (type `name`), as in PostgreSQL.
pub const NAME_BYTES_MAX: usize = 63;
/// Columns of an index.
pub const INDEX_COLUMNS_MAX: usize = 32;
/// Columns of a table.
pub const TABLE_COLUMNS_MAX: usize = 1600;
/// Largest row image, in bytes.
pub const ROW_BYTES_MAX: usize = 64 << 20;
/// Arguments of a procedure.
pub const ARGUMENTS_MAX: usize = 100;
/// Nested calls for which every stack has room.
pub const CALL_DEPTH_SURE: usize = 200;
/// Jumps backwards of a program between two checks of its reads and of cancellation.
pub const TURNS_PER_CHECK: u32 = 4096;
/// Such checks after which a statement that only reads begins anew in a snapshot: 65536 turns.
pub const CHECKS_BEFORE_SNAPSHOT: u32 = 16;
/// Deepest nesting of arrays and objects in a `jsonb`: whatever recurses over one is that deep at most.
pub const JSON_NESTING_MAX: usize = 512;
/// Deepest nesting of expressions and blocks in a SQL text.
pub const NESTING_MAX: usize = 256;
/// Operands up to which a chain of one operator (`a + b + ...`), or of UNION, nests to the left. What follows is a
/// list beside it: nobody recurses over it.
pub const CHAIN_NESTING_MAX: usize = 32;
/// Operands of a chain, of operators other than AND and OR, or of UNION.
pub const CHAIN_OPERANDS_MAX: usize = 16_384;
/// Deepest nesting of the blocks of a program: of conditions, loops and what expressions and conjuncts become.
/// Whoever walks a program recurses, on stacks of 2 MiB at least.
pub const BLOCKS_MAX: usize = 2000;
/// Bytes of stack between where a statement comes in and the deepest place that recurses over what users wrote: three
/// quarters of the smallest stack that a thread has here.
pub const STACK_BYTES_MAX: usize = 3 << 19;
/// CTEs that each read the one before, up to which they are emitted inside each other; beyond that the rows of one in
/// so many are collected first.
pub const CTE_NESTING_MAX: u32 = 12;
/// References to a view in one statement that are planned each in its place; further ones read its rows from a list
/// that is made once.
pub const VIEW_REFERENCES_MAX: u32 = 4;
/// References to views in one statement, those within views included.
pub const VIEW_PLACES_MAX: u32 = 4096;
/// Longest SQL text, in bytes.
pub const SQL_TEXT_BYTES_MAX: usize = 64 << 20;
/// Longest text or bytea, in bytes, as in PostgreSQL.
pub const TEXT_BYTES_MAX: usize = (1 << 30) - 1;
/// Elements of an array.
pub const ARRAY_ELEMENTS_MAX: usize = (1 << 27) - 1;
/// Dimensions of an array.
pub const ARRAY_DIMENSIONS_MAX: usize = 6;
/// Roles that a database ever had; a power of two.
pub const ROLES_MAX: u32 = 1 << 24;
/// Seats for sessions.
pub const WORKERS_MAX: usize = 4096;
/// Bytes of texts, rows and arrays that one transaction may hold in its arena.
pub const ARENA_BYTES_MAX: usize = 4 << 30;
/// Significant decimal digits of a numeric: every |mantissa| is below 2^119.
pub const NUMERIC_DIGITS_MAX: u32 = 35;
/// Largest display scale of a numeric.
pub const NUMERIC_SCALE_MAX: u32 = 200;
/// Digits up to which a numeric column is stored in 8 bytes.
pub const NUMERIC_DIGITS_WORD: u32 = 18;
/// Attempts of a transaction before the caller hears of 40001.
pub const ATTEMPTS_MAX: u32 = 1_000;

/// A transaction that is healed holds its locks no longer, and begins anew without them.
pub const HEALING_MAX: std::time::Duration = std::time::Duration::from_millis(2);

const _: () = assert!(4 * TEXT_BYTES_MAX <= ARENA_BYTES_MAX, "a text and a copy with room to grow");
const _: () = assert!(CHAIN_NESTING_MAX < NESTING_MAX, "a chain is no reason to nest too deeply");
const _: () = assert!(NUMERIC_SCALE_MAX < 256, "a packed numeric keeps its scale in 8 bits");
const _: () = assert!(WORKERS_MAX <= u16::MAX as usize, "a worker id is 16 bits");
const _: () = assert!(INDEX_KEY_BYTES_MAX < u16::MAX as usize, "a key length is 16 bits");
