//! Settings that tools and dumps set, and that change nothing here but what SHOW answers.

use super::Takes::{Any, Bool, BoolOr, Integer, Memory, Milliseconds, Number, OneOf, Share};
use super::{Setting, setting};

/// Largest value that a whole number may have.
const MOST: i64 = i32::MAX as i64;
const PLANS: &str = "Plans follow rules: changes nothing.";
const NOTHING: &str = "Changes nothing.";
const VACUUM: &str = "There is nothing to vacuum.";
const MESSAGES: &[&str] = &[
    "debug5", "debug4", "debug3", "debug2", "debug1", "info", "notice", "warning", "error", "log", "fatal",
    "panic",
];

/// By name.
pub(super) const SETTINGS: &[Setting] = &[
    setting("backend_flush_after", "0", Integer(0, 256), NOTHING),
    setting("client_connection_check_interval", "0", Milliseconds, NOTHING),
    setting("commit_delay", "0", Integer(0, 100_000), NOTHING),
    setting("commit_siblings", "5", Integer(0, 1000), NOTHING),
    setting("compute_query_id", "auto", BoolOr(&["auto", "regress"]), NOTHING),
    setting("debug_pretty_print", "on", Bool, NOTHING),
    setting("debug_print_parse", "off", Bool, NOTHING),
    setting("debug_print_plan", "off", Bool, NOTHING),
    setting("debug_print_rewritten", "off", Bool, NOTHING),
    setting("default_toast_compression", "pglz", OneOf(&["pglz", "lz4"], &[]), NOTHING),
    setting("exit_on_error", "off", Bool, NOTHING),
    setting("geqo_effort", "5", Integer(1, 10), PLANS),
    setting("geqo_generations", "0", Integer(0, MOST), PLANS),
    setting("geqo_pool_size", "0", Integer(0, MOST), PLANS),
    setting("geqo_seed", "0", Share, PLANS),
    setting("geqo_selection_bias", "2", Number, PLANS),
    setting("gin_pending_list_limit", "4MB", Memory(64), NOTHING),
    setting("jit_expressions", "on", Bool, "There is no JIT."),
    setting("jit_tuple_deforming", "on", Bool, "There is no JIT."),
    setting("log_duration", "off", Bool, NOTHING),
    setting("log_error_verbosity", "default", OneOf(&["terse", "default", "verbose"], &[]), NOTHING),
    setting("log_executor_stats", "off", Bool, NOTHING),
    setting("log_lock_waits", "off", Bool, NOTHING),
    setting("log_min_error_statement", "error", OneOf(MESSAGES, &["debug"]), NOTHING),
    setting("log_min_messages", "warning", OneOf(MESSAGES, &["debug"]), NOTHING),
    setting("log_parameter_max_length", "-1", Integer(-1, 1_073_741_823), NOTHING),
    setting("log_parameter_max_length_on_error", "0", Integer(-1, 1_073_741_823), NOTHING),
    setting("log_parser_stats", "off", Bool, NOTHING),
    setting("log_planner_stats", "off", Bool, NOTHING),
    setting("log_replication_commands", "off", Bool, NOTHING),
    setting("log_statement_sample_rate", "1", Share, NOTHING),
    setting("log_statement_stats", "off", Bool, NOTHING),
    setting("log_transaction_sample_rate", "0", Share, NOTHING),
    setting("min_parallel_index_scan_size", "64", Integer(0, 715_827_882), PLANS),
    setting("min_parallel_table_scan_size", "1024", Integer(0, 715_827_882), PLANS),
    setting("parallel_leader_participation", "on", Bool, "A statement runs on one thread."),
    setting("recursive_worktable_factor", "10", Number, PLANS),
    setting("stats_fetch_consistency", "cache", OneOf(&["none", "cache", "snapshot"], &[]), NOTHING),
    setting("tcp_keepalives_count", "0", Integer(0, MOST), NOTHING),
    setting("tcp_keepalives_idle", "0", Integer(0, MOST), NOTHING),
    setting("tcp_keepalives_interval", "0", Integer(0, MOST), NOTHING),
    setting("tcp_user_timeout", "0", Milliseconds, NOTHING),
    setting("temp_tablespaces", "", Any, "There is one place for tables."),
    setting("trace_notify", "off", Bool, NOTHING),
    setting("trace_sort", "off", Bool, NOTHING),
    setting("track_wal_io_timing", "off", Bool, NOTHING),
    setting("vacuum_cost_limit", "200", Integer(1, 10_000), VACUUM),
    setting("vacuum_cost_page_dirty", "20", Integer(0, 10_000), VACUUM),
    setting("vacuum_cost_page_hit", "1", Integer(0, 10_000), VACUUM),
    setting("vacuum_cost_page_miss", "2", Integer(0, 10_000), VACUUM),
    setting("vacuum_failsafe_age", "1600000000", Integer(0, 2_100_000_000), VACUUM),
    setting("vacuum_freeze_min_age", "50000000", Integer(0, 1_000_000_000), VACUUM),
    setting("vacuum_freeze_table_age", "150000000", Integer(0, 2_000_000_000), VACUUM),
    setting("vacuum_multixact_failsafe_age", "1600000000", Integer(0, 2_100_000_000), VACUUM),
    setting("vacuum_multixact_freeze_min_age", "5000000", Integer(0, 1_000_000_000), VACUUM),
    setting("vacuum_multixact_freeze_table_age", "150000000", Integer(0, 2_000_000_000), VACUUM),
    setting("wal_skip_threshold", "2MB", Memory(0), NOTHING),
    setting("xmlbinary", "base64", OneOf(&["base64", "hex"], &[]), "There is no XML."),
];
