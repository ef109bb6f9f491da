//! The integration tests of the room in one binary, so that the engine is linked once.

/// The cases, each under every protocol of the shelf in which transactions overlap.
macro_rules! on_the_shelf {
    ($($case:ident)*) => {
        $(mod $case {
            #[test]
            fn on_the_shelf() {
                for protocol in planaria::ProtocolKind::ALL.iter().filter(|kind| kind.is_concurrent()) {
                    println!("under {protocol}");
                    super::$case(*protocol);
                }
            }
        })*
    };
}

mod adaptive;
mod advisory;
mod applications;
mod aries_undo;
mod beside;
mod bits_in_triggers;
mod bodies;
mod catalogs;
mod checkpoint;
mod claims;
mod comments;
mod composite_columns;
mod composite_types;
mod conflicts;
mod copy;
mod cut_bodies;
mod cut_cases;
mod cut_schemas;
mod cut_shapes;
mod cut_together;
mod deferrable_keys;
mod deferred;
mod deferred_triggers;
mod determinism;
mod dimensions;
mod do_by_steps;
mod durable_answers;
mod embedding;
mod ends;
mod explain_analyze;
mod explain_recovery;
mod extensions;
mod features;
mod first_rows;
mod forged_logs;
mod fork;
mod full_disk;
mod growth;
mod healing;
mod isolation;
mod limits;
mod linear;
mod log_kinds;
mod log_view;
mod logged;
mod look_ahead;
mod many_procedures;
mod many_values;
mod memory_back;
mod merge;
mod named;
mod no_hang;
mod notify;
mod old_databases;
mod own_aggregates;
mod packed_types;
mod partition_truncates;
mod partitions;
mod paths_and_times;
mod planning;
mod polymorphic_routines;
mod postgres;
mod procedure_transactions;
mod procedure_versions;
mod progress;
mod public_names;
mod ranges;
mod records_later;
mod refused;
mod remembered;
mod repeated;
mod replayed;
mod returning_reads;
mod rights;
mod routine_paths;
mod routine_settings;
mod routines_by_steps;
mod row_security;
mod row_types;
mod schema_between;
mod schema_blocks;
mod schemas;
mod sequences;
mod session_state;
mod shared_snapshots;
mod simplified;
mod simulated_disk;
mod snapshots;
mod styles;
mod system;
mod table_locks;
mod text_search;
mod time_limits;
mod transaction_numbers;
mod transition_tables;
mod trigger_calls;
mod truncated;
mod view_changes;
mod with_changes;

/// Runs on a thread with a stack of so many bytes.
fn on_a_stack<T: Send>(bytes: usize, f: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(bytes);
        thread.spawn_scoped(scope, f).expect("a thread").join().expect("no panic")
    })
}

/// How long this thread has kept a processor: what a statement costs, however busy the machine is.
fn thread_time() -> std::time::Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").expect("the kernel counts");
    let nanoseconds = stat.split_ascii_whitespace().next().and_then(|n| n.parse().ok());
    std::time::Duration::from_nanos(nanoseconds.expect("nanoseconds"))
}
