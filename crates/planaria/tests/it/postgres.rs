//! Scripts that must print what PostgreSQL 15 printed: rows, notices, errors with SQLSTATE, detail and
//! hint. `postgres/NAME.out` was made by `postgres/regenerate.sh`. What a whole application (`app_NAME`) leaves behind is
//! then recovered by every scheme.

use planaria::lab::LabOptions;
use planaria::{Error, LogKind, Options, ProtocolKind, Scheme, Session};
use planaria_sim::disk::SimDisk;
use std::fmt::Write;

/// Runs a script as `psql -A -t` does, going on after errors.
fn run(session: &mut Session, script: &str) -> String {
    let mut out = String::new();
    for statement in statements(script) {
        let outcome = session.execute_each(statement, &mut |result| {
            // How calls are logged is ours to say.
            let own = result.tag.starts_with("CREATE ");
            let ours = |m: &str| m.starts_with("calls of") || m.contains(" is remembered, but not made");
            for n in result.notices.iter().filter(|n| !own || !ours(&n.message)) {
                report(&mut out, n.severity, &n.message, n.detail.as_deref(), n.hint.as_deref());
            }
            for row in result.rows.iter().flatten() {
                let cells: Vec<String> =
                    (0..row.values().len()).map(|i| row.text(i).unwrap_or_default()).collect();
                let _ = writeln!(out, "{}", cells.join("|"));
            }
        });
        let Err((error, _)) = outcome else { continue };
        for n in session.take_notices() {
            report(&mut out, n.severity, &n.message, n.detail.as_deref(), n.hint.as_deref());
        }
        failed(&mut out, &error);
        // Scripts that say so show where errors arose.
        if script.starts_with("-- with contexts") {
            let fields = error.fields();
            for (what, text) in [("QUERY", &fields.query), ("CONTEXT", &fields.context)] {
                if let Some(text) = text {
                    let _ = writeln!(out, "{what}:  {text}");
                }
            }
        }
    }
    out
}

/// Statements of these scripts end in a semicolon and a newline, outside of `$$`.
fn statements(script: &str) -> Vec<&str> {
    let mut all = Vec::new();
    let mut rest = script;
    while !rest.trim().is_empty() {
        let ends = rest.match_indices(";\n").map(|(at, _)| at + 2);
        let end = ends.into_iter().find(|end| rest[..*end].matches("$$").count().is_multiple_of(2));
        let (statement, after) = rest.split_at(end.unwrap_or(rest.len()));
        all.push(statement);
        rest = after;
    }
    all
}

fn report(out: &mut String, severity: &str, message: &str, detail: Option<&str>, hint: Option<&str>) {
    let _ = writeln!(out, "{severity}:  {message}");
    for (what, text) in [("DETAIL", detail), ("HINT", hint)] {
        if let Some(text) = text {
            let _ = writeln!(out, "{what}:  {text}");
        }
    }
}

fn failed(out: &mut String, error: &Error) {
    let f = error.fields();
    let message = format!("{}: {}", f.sqlstate, f.message);
    // A hint that PostgreSQL has not.
    let hint = f.hint.as_deref().filter(|hint| !hint.starts_with("Perhaps you meant the relation"));
    report(out, "ERROR", &message, f.detail.as_deref(), hint);
}

/// The schemes take turns, by name: half of the scripts run under the default, each other scheme has its share of the rest.
fn protocol(name: &str) -> ProtocolKind {
    let all = ProtocolKind::ALL;
    let hash = name.bytes().fold(0usize, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
    if hash.is_multiple_of(2) { ProtocolKind::default() } else { all[hash / 2 % all.len()] }
}

fn compare(name: &str, script: &str, expected: &str) {
    let disk = SimDisk::new(1);
    let options = Options::new().protocol(protocol(name)).heal_always(true);
    let open = |scheme: Scheme| {
        let options = options.clone().log(LogKind::Command).recovery(scheme).recovery_threads(2);
        options.open_device(disk.device()).unwrap_or_else(|e| panic!("{name}, {scheme:?}: {e:?}"))
    };
    let application = name.starts_with("app_");
    let db = if application { open(Scheme::Clr) } else { options.clone().in_memory().expect("opens") };
    let got = run(&mut db.session().expect("a session"), script);
    if got == expected {
        if application {
            let digests = db.digests().expect("reads");
            drop(db);
            for scheme in Scheme::ALL.iter().copied() {
                let db = open(scheme);
                assert_eq!(db.digests().expect("reads"), digests, "{name}, {scheme:?}");
                db.check().unwrap_or_else(|e| panic!("{name}, {scheme:?}: {e:?}"));
            }
        }
        return;
    }
    let (mut a, mut b): (Vec<&str>, Vec<&str>) = (got.lines().collect(), expected.lines().collect());
    // The differences alone, by a longest common subsequence.
    let mut table = vec![vec![0u32; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            table[i][j] =
                if a[i] == b[j] { table[i + 1][j + 1] + 1 } else { table[i + 1][j].max(table[i][j + 1]) };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut shown = String::new();
    a.push("");
    b.push("");
    while i + 1 < a.len() || j + 1 < b.len() {
        if i + 1 < a.len() && j + 1 < b.len() && a[i] == b[j] {
            (i, j) = (i + 1, j + 1);
        } else if j + 1 >= b.len() || (i + 1 < a.len() && table[i + 1][j] >= table[i][j + 1]) {
            let _ = writeln!(shown, "{:>5}  got        {}", j + 1, a[i]);
            i += 1;
        } else {
            let _ = writeln!(shown, "{:>5}  PostgreSQL {}", j + 1, b[j]);
            j += 1;
        }
    }
    panic!("{name}:\n{shown}");
}

macro_rules! scripts {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            compare(
                stringify!($name),
                include_str!(concat!("../postgres/", stringify!($name), ".sql")),
                include_str!(concat!("../postgres/", stringify!($name), ".out")),
            );
        })*
    };
}

scripts! { absent_rows addresses advisory_locks aggregates aggregates_missing aggregates_of_all_kinds alter_routines alter_under_views altered_while_waiting answers_of_domains app_ads app_approvals app_arena app_auction app_audit app_bank app_billing app_blog app_bom app_booking app_catalogue app_category_tree app_chat app_chess app_cms app_concert app_contacts app_crm app_currency_ledger app_delivery app_dimensions app_docs app_elections app_energy app_events app_events_sourced app_flags app_flights app_forum app_friends app_general_ledger app_guesthouse app_helpdesk app_hospital app_hotel app_insurance app_inventory app_iot app_job_runner app_jobs app_ledger app_library app_metering app_meters app_migrations app_orders app_payroll app_picking app_podcasts app_power_metering app_privacy app_queue app_room_booking app_sagas app_school app_shop app_sign_off app_stock app_survey app_taxes app_taxi app_telecom app_tenants app_tracker app_wages app_wallet app_wiki app_workspaces application_mends application_mends_more array_columns array_dimensions array_elements_fit array_keys arrays_unknown asked_by_clients asked_by_tools audit_plpgsql audit_queries audit_triggers audit_types barriers_and_sets bit_strings bytes_shown call_stack calls_in_changes cascades_and_depth casts chain changes_of_one_table checks_not_valid_asked citext clients_catalogs clocks_and_reals closest_columns clustered column_numbers column_rights columns_of_views composite_attributes composite_columns composite_types computed_indexes conflicts_that_move constraints_later contexts contexts_more crypto ctids current_of current_of_steps cursors cursors_out date_styles dates_forms ddl default_rights deferrable_keys deferrable_keys_more deferred_triggers definitions_met definitions_shown do_changes_schema domains domains_in_relations domains_of_rows domains_within drop_order dumps_ask dynamic_records edges_of_definitions edges_of_values elements_diagnostics enums equal_nulls exclusion exclusion_dropped extensions fields_of_answers first_rows float_digits foreach_several formatting frames frameworks_met functions_in_from functions_of_record functions_that_change generated_cases generated_cases_more generated_columns grouping_sets halfway_floats identified_objects indexes_remembered insert_queries interval_fields interval_styles intervals json_input json_output json_records json_rows jsonb jsonb_keys jsonb_subscripts jsonpath jsonpath_texts keys_take_turns lateral like_tables looked_up_again made_by_execute materialized_views merge merge_keys merge_partitions moments money more_functions more_operators moved_by_alter_table named_statements normal_form_expressions normal_form_search normal_form_views normal_forms notify numeric_long numeric_long_tables numeric_special of_the_session_in_bodies ordered_set_aggregates own_aggregates partition_names partition_not_null partition_own_triggers partitioning partitioning_more parts_given pg_temp_routines plpgsql polymorphic_routines procedure_transactions queries_before_rights queries_met queries_met_more raised_conflicts ranges read_only records_by_turns records_later records_of_any_structure recursion referential regex_whole regular_expressions rename_under_views replication_role return_changes returning_reads returning_stable retyped rights rounded_keys routine_errors routine_paths routine_settings routines_change_schema row_outs row_parameters row_security row_security_more rows_and_texts rows_compared rows_from rows_in_and_out rows_of_null rows_told said_of_storage_refused samples schema_blocks schema_objects schema_paths schema_renamed schema_rights schemas search_and_cycle seeds_and_standards sequences_by_name session_views set_some_columns settings_more several_mends simple_constants standard_bodies statement_triggers_once statistics statistics_objects steps_calls steps_with_cursors system_columns temporary text_search text_search_headlines text_search_tables ties_and_exclude time_zones timetz told_of_storage transaction_numbers transition_tables trigger_partitions trigger_programs trigger_rows trigger_statements triggers triggers_by_steps trigrams truncate_in_routines type_rights values values_of_record view_changes view_check_option view_columns view_texts view_triggers views_made_again volatile whole_rows_shown windows_copied windows_patterns_rows with_changes with_checks with_reads with_triggers with_triggers_in_routines }
