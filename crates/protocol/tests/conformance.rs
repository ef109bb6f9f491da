//! What every scheme on the shelf must pass; each entry of the list gets its run of all of it.
//!
//! * `anomalies`: named anomalies as fixed interleavings of transactions on one thread. Schemes that
//!   run one transaction at a time cannot even be asked: their `begin` would wait.
//! * `keys`: uniqueness, secondary indexes, rows that come and go within and between transactions.
//! * `savepoints`.
//! * `claims`: transactions that wait for each other, and going back to a point.
//! * `ranges`: what is a conflict to a transaction that remembers what it asked for.
//! * `levels`: what transactions of each level see, and what becomes of them.
//! * `healing`: transactions that are run again under locks, where the scheme can.
//! * `readers`: transactions that say beforehand that they write nothing.
//! * `random`: random programs on several threads, their history checked by model and graph, and their
//!   committed transactions replayed in commit order on `serial`.
//! * `snapshots`: what their readers see while others write, against the model.
//! * `broken`: schemes with a part missing, which the checks must catch.
//! * `unvalidated`: what the upper bounds of the laboratory do.
//! * `partitions`: what locks of partitions answer for, and what they do not.
//! * `attempts`: what becomes of a scheme that is told of repetitions.
#![cfg(not(loom))]

mod conformance {
    pub mod anomalies;
    pub mod attempts;
    pub mod broken;
    pub mod claims;
    pub mod fixture;
    pub mod healing;
    pub mod keys;
    pub mod levels;
    pub mod partitions;
    pub mod random;
    pub mod ranges;
    pub mod readers;
    pub mod savepoints;
    pub mod snapshots;
    pub mod unvalidated;
}

macro_rules! tests {
    ($scheme:ident; $($group:ident: $($name:ident)*;)*) => {
        $($(#[test]
        fn $name() {
            $group::$name::<$scheme>();
        })*)*
    };
}

macro_rules! suite {
    ($($module:ident: $scheme:ident;)*) => {
        $(mod $module {
            use super::conformance::{
                anomalies, claims, healing, keys, levels, random, ranges, readers, savepoints, snapshots,
            };
            use planaria_protocol::$scheme;

            tests! {
                $scheme;
                anomalies: lost_update write_skew dirty_read fuzzy_read read_only_anomaly
                    phantom_in_a_range phantom_in_an_empty_range failed_lookup_then_insert
                    failed_lookup_of_a_placeholder insert_insert insert_meets_a_live_row
                    delete_and_reinsert_between_transactions scan_by_group_misses_no_moved_row
                    early_entries_belong_to_one_transaction early_entries_of_a_deleted_row own_inserts_do_not_invalidate_own_scans
                    disjoint_transactions_commit reads_alone_take_no_timestamp who_only_reads_knows_the_newest_it_has_met zombies_are_told
                    a_row_that_has_to_be_there_may_change;
                keys: own_writes_are_read insert_then_delete delete_then_reinsert
                    delete_then_reinsert_many_times update_of_an_own_insert
                    unique_values_wander_between_rows secondary_entries_follow_the_row
                    refused_writes_leave_nothing nulls_are_distinct rows_grow_and_shrink
                    scans_in_both_directions too_long_keys_are_refused writes_are_net_effects
                    writes_know_what_was_before a_large_transaction memory_is_given_back;
                savepoints: rollback_undoes_writes nested_savepoints
                    rollback_of_inserts_frees_their_keys rollback_of_updates_frees_their_keys savepoints_between_transactions
                    rolled_back_writes_stay_reads undone_keys_are_anybodys;
                claims: a_claimed_row_is_its_holders_to_change a_claim_is_kept_for_the_next_attempt a_claim_counts_until_commit
                    an_insert_under_way_is_waited_for going_back_forgets_reads_and_writes
                    lenient_scans_answer_for_what_is_claimed
                    strengths_keep_others_from_what_they_say
                    a_shared_row_is_changed_by_who_may who_claims_nothing_passes_who_shares_keys;
                ranges: placeholders_of_others_are_no_changes a_committed_row_in_a_range_is_a_phantom
                    a_row_beside_a_range_is_none of_two_that_count_and_insert_the_first_commits
                    rows_come_into_ranges_by_any_index own_changes_are_no_phantoms
                    a_row_that_came_and_was_changed_is_a_phantom going_back_forgets_ranges
                    a_cursor_goes_on_after_a_second_look of_blocks_that_meet_one_commits
                    a_row_that_came_behind_a_cursor_is_a_phantom
                    a_row_behind_a_cursor_is_a_phantom_wherever_leaves_split
                    what_was_no_row_at_the_last_look_may_be_one;
                levels: all_statements_show_one_state each_statement_shows_what_is_committed
                    who_only_reads_never_fails a_moment_moves_on_where_it_can of_two_updates_the_first_wins
                    skewed_writes_at_each_level rows_that_are_gone_or_new constraints_are_as_of_now
                    answers_are_of_one_state answers_under_many_schedules refused_keys_are_seen_going;
                healing: what_is_stale_is_run_again who_is_healed_keeps_others_out other_columns_may_change
                    inserts_are_made_again rows_that_come_and_go_are_healed a_row_that_changes_meanwhile_is_healed
                    blocks_and_who_does_not_say_so_are_not_healed most_of_a_hot_plan_is_healed
                    keys_are_moved_again claims_of_others_are_not_asked_for_under_locks rounds_have_an_end
                    no_schedule_is_stuck;
                readers: who_only_reads_sees_its_beginning a_long_reader_keeps_what_it_needs
                    readers_beside_writers readers_under_many_schedules;
                random: histories_are_serializable_in_commit_order hot_keys
                    long_scans_against_writers ranges_against_writers ranges_under_many_schedules
                    stress;
                snapshots: rows_are_as_they_were nothing_is_kept_for_nobody nothing_is_kept_of_what_was_left
                    a_snapshot_of_one_at_a_time short_readers_beside_a_long_one a_table_in_parts
                    a_long_reader_of_rows_that_come_and_go snapshots_equal_the_model;
            }
        })*
    };
}

planaria_protocol::for_each_protocol!(suite);
