//! The list of all cases, and the tests that a driver makes of it.

/// Expands to one test per case, in a module per verb. `durable` before the harness adds the
/// cases that open the data again.
///
/// The lists are here and only here. A case that is on none is dead code, which the compiler
/// reports.
#[macro_export]
macro_rules! conformance_tests {
    (@every_store $then:ident ($($argument:tt)*)) => {
        $crate::conformance_tests! { @$then ($($argument)*)
            enqueue {
                a_job_is_stored_as_it_was_asked
                a_job_that_asks_for_nothing_has_the_defaults
                the_extremes_of_every_field_are_kept
                a_payload_keeps_its_text
                run_at_counts_in_the_stores_time
                the_time_is_that_of_the_stores_clock
                answers_come_in_the_order_of_the_batch
                a_large_batch_is_stored_whole
                a_known_id_is_not_stored_again
                an_id_twice_in_one_batch_is_stored_once
                each_answer_of_a_long_batch_is_that_of_its_job
                the_name_of_a_class_is_a_kind
                a_tenant_has_a_limited_number_of_lanes
                a_long_list_of_ids_is_read
                jobs_are_read_in_the_order_asked
                an_empty_batch_is_an_empty_answer
            }
            tags {
                jobs_are_found_by_their_tags
                several_tags_are_all_asked_for
                tags_of_other_tenants_are_not_found
                tags_go_with_their_job
                a_trace_is_no_tag
            }
            unique {
                a_second_unique_job_is_not_stored
                a_unique_job_is_the_only_one_until_it_ends_or_starts
                a_rejected_unique_job_leaves_nothing_of_its_batch
                a_replaced_unique_job_has_the_newest_payload_policy_and_time
                a_unique_job_is_not_replaced_by_one_of_another_kind
                a_key_twice_in_one_batch_is_one_unique_job
                a_repeated_create_of_a_unique_job_is_the_same_job
                requests_move_the_start_of_a_unique_job
                a_dead_letter_whose_key_is_taken_is_not_requeued
                of_dead_letters_of_one_key_one_is_requeued
                callers_at_once_make_one_unique_job
                a_request_that_changes_a_stored_job_leaves_an_audit_record
            }
            waiting_limit {
                jobs_beyond_the_limit_are_refused_whole
                each_limit_of_a_job_counts
                defaults_limit_each_queue_and_a_changed_limit_applies_at_once
                what_is_stored_already_needs_no_room
                a_batch_is_refused_with_its_jobs
                retries_and_commands_are_never_refused
                the_limit_is_exact_for_callers_at_once
            }
            expiry {
                a_job_that_is_late_is_not_started
                a_job_may_start_until_the_very_end_of_its_time
                a_late_job_is_cancelled_if_it_asks_for_that
                a_late_job_that_a_person_retries_may_start
                late_jobs_are_found_in_batches
            }
            questions {
                a_question_is_stored_and_each_one_leaves_a_record
                a_lost_question_is_asked_again_and_runs_nothing
                the_question_of_a_requeued_job_is_closed
            }
            batches {
                a_batch_counts_its_jobs_and_makes_each_callback_once
                an_open_batch_takes_jobs_until_it_is_closed
                a_batch_without_jobs_ends_when_it_is_closed
                a_requeued_job_is_counted_back_and_nothing_is_made_twice
                what_happens_to_a_job_before_it_is_counted_adds_up
                many_batches_are_counted_in_small_looks
                a_callback_is_of_the_trace_of_its_request
                a_job_may_wait_for_others_and_be_of_a_batch
                callers_at_once_count_each_end_once
            }
            batch_requests {
                a_job_that_exists_already_is_not_of_the_batch
                a_batch_whose_jobs_are_refused_is_not_stored
                a_request_for_a_batch_that_is_repeated_makes_one
                unfinished_batches_of_a_tenant_are_bounded
                batches_and_their_jobs_are_listed
                a_batch_outlives_its_jobs_and_goes_with_retention
                jobs_are_found_by_their_batch
            }
            after {
                a_job_starts_when_all_that_it_waits_for_have_succeeded
                a_job_waits_for_its_time_as_well
                a_job_after_one_that_has_succeeded_starts_at_once
                what_a_failure_means_is_as_the_job_says
                a_dead_letter_that_is_requeued_and_succeeds_releases_those_behind_it
                a_dead_letter_that_is_discarded_fails_those_behind_it
                a_discarded_job_that_is_retried_and_succeeds_lets_those_behind_it_be_retried
                a_job_that_has_started_waits_for_no_other_again
                many_that_wait_for_one_do_not_hold_up_those_of_another
                commands_to_a_job_that_waits_for_others_are_as_its_table_says
                a_job_must_wait_for_jobs_of_its_tenant_that_exist
                retention_keeps_what_a_deleted_job_was
                many_that_wait_for_one_are_released_in_batches
                the_time_of_a_blocked_job_can_be_edited
                a_job_waits_for_earlier_ones_of_its_request
                a_request_that_is_repeated_waits_once
                callers_at_once_release_each_job_once
                a_job_comes_behind_those_that_it_waits_for_whatever_the_clock_says
            }
            keys {
                a_known_key_answers_with_its_job
                a_repeated_create_with_its_own_id_is_the_same_job
                a_key_with_another_request_is_a_conflict
                a_conflict_leaves_nothing_of_its_batch
                a_key_belongs_to_its_tenant
                keys_that_only_look_alike_are_different
                a_key_twice_in_one_batch_makes_one_job
                a_key_twice_in_one_batch_with_another_request_is_a_conflict
                a_key_stands_for_the_request_as_it_was_made
                a_rule_in_place_of_a_time_stands_for_itself
                a_schedule_is_created_once_for_its_key
                a_schedules_key_with_another_request_is_taken
                a_schedule_does_not_take_the_name_of_another
                a_schedules_key_stays_when_it_is_changed_and_goes_with_it
                jobs_and_schedules_share_their_keys
                racing_creates_of_a_keyed_schedule_make_one
            }
            claim {
                a_claim_is_written_as_claimed_says
                a_request_can_set_another_lease
                the_higher_priority_goes_first_then_the_earlier_time
                a_retried_job_keeps_its_place_by_priority
                a_job_is_due_at_its_time_and_not_before
                a_clock_that_went_back_takes_the_due_time_with_it
                future_jobs_of_a_high_priority_hide_nothing
                no_more_than_asked_are_claimed
                what_runs_or_has_ended_is_not_claimed
                each_claim_has_a_higher_fence
                only_wanted_lanes_are_claimed
                kinds_that_are_excepted_are_left_alone
                a_long_list_of_lanes_is_a_list_of_lanes
                next_due_is_that_of_the_wanted_jobs_that_are_left
                an_expired_lease_that_was_renewed_is_still_one_claim
                the_order_agrees_with_a_plain_sort
            }
            renew {
                a_renewed_lease_counts_from_now
                an_expired_lease_can_still_be_renewed
                another_fence_renews_nothing
                what_does_not_run_cannot_be_renewed
                a_holder_that_was_given_up_has_lost
                a_note_is_kept_until_there_is_another
                a_holder_learns_of_a_request_to_cancel
                a_worker_finds_its_own_requests_to_cancel
                a_lease_within_the_timeout_ends_with_it
                a_node_that_keeps_the_timeout_itself_renews_beyond_it
                renewals_of_a_batch_are_apart
            }
            logs {
                lines_of_a_claim_that_holds_are_kept_in_order
                an_attempt_that_is_not_counted_shares_its_number
                the_newest_lines_and_logs_are_kept
                one_request_may_name_a_claim_twice_and_others_that_do_not_hold
                callers_at_once_lose_no_line
                logs_go_with_their_job
            }
            once {
                a_step_that_never_succeeded_left_nothing
                the_first_result_of_a_step_is_kept
                steps_are_apart_by_job_and_name
                steps_are_listed_by_name
                a_step_outlives_its_attempt
                a_worker_stores_steps_while_its_claim_holds
                a_job_has_a_bounded_number_of_steps
            }
            commit {
                every_outcome_is_written_as_decided
                each_attempt_leaves_one_record
                each_attempt_of_a_long_batch_leaves_its_record
                another_fence_writes_nothing
                a_late_result_of_a_lost_attempt_is_refused
                a_job_that_has_ended_stays_as_it_is
                a_job_that_is_gone_is_stale
                an_expired_lease_that_is_not_settled_can_be_committed
                a_loss_is_refused_if_the_lease_was_renewed
                a_request_to_cancel_that_the_decision_did_not_know_sends_it_back
                a_stale_transition_does_not_hinder_the_others
                the_first_of_two_ends_in_one_batch_is_written
                a_repeated_commit_is_done_and_counted_once
                another_end_that_looks_like_the_written_one_is_stale
                a_commit_repeated_after_the_job_went_on_leaves_it_alone
                a_repeated_release_without_a_record_is_done
            }
            outbox {
                the_outbox_is_written_with_its_transition
                the_outbox_can_be_claimed
                the_outbox_of_a_refused_transition_is_not_written
                the_outbox_of_a_repeated_commit_is_written_once
                a_known_id_or_key_in_the_outbox_does_not_hinder_the_transition
            }
            outbox_links {
                a_job_of_an_outbox_runs_after_the_jobs_that_it_names
                a_job_of_an_outbox_may_run_after_its_creator_and_others_of_the_outbox
                a_batch_counts_what_its_last_job_adds_and_ends_after_it
                an_outbox_that_names_what_is_not_there_is_refused_and_nothing_is_written
                a_refused_outbox_hinders_no_other_transition
                links_of_a_repeated_commit_are_written_once
            }
            sweep {
                a_lease_has_run_out_at_its_end_and_not_before
                only_running_jobs_are_swept
                looking_changes_nothing
                no_more_than_asked_are_swept
                a_lost_attempt_is_retried_and_recorded
                a_lease_as_long_as_the_timeout_that_runs_out_is_lost
                two_sweepers_settle_a_lease_once
            }
            command {
                every_command_on_every_state_does_what_core_says
                a_batch_is_answered_in_its_order
                run_now_makes_a_job_claimable
                an_edited_job_is_claimed_as_it_now_is
                a_payload_can_grow_and_shrink
                a_retried_dead_letter_has_a_fresh_budget_and_its_history
                a_cancelled_run_keeps_its_claim_until_it_ends
                a_discarded_job_is_no_dead_letter
                an_http_job_with_another_address_waits_at_its_new_destination
            }
            list {
                jobs_are_listed_newest_id_first
                what_is_added_during_a_walk_does_not_disturb_it
                lists_come_without_payloads
                jobs_are_read_as_lists_show_them
                a_page_is_full_whatever_others_have
                labels_follow_the_clock
                times_of_creation_are_from_and_before
                times_of_failure_are_those_of_the_end
                failure_text_is_literal_and_in_any_case
                the_newest_failure_is_the_one_asked_for
                a_list_that_finds_little_stops_and_can_be_walked_on
                a_count_goes_no_further_than_asked
                a_count_that_takes_many_steps_misses_nothing
                filters_agree_with_their_meaning
            }
            attempts {
                attempts_of_a_job_are_its_own_newest_first
                attempts_that_ended_together_are_met_once_each
                attempts_of_several_jobs_come_whole_and_in_their_order
                attempts_of_a_schedule_are_those_of_all_its_runs
                attempts_of_several_runs_are_in_the_order_they_ended
                a_record_reads_back_to_the_last_digit
                a_record_reads_back_the_budget_that_a_manual_retry_began
                what_has_no_attempts_has_an_empty_history
                a_record_added_during_a_walk_does_not_disturb_it
                a_record_is_not_changed_by_what_follows
            }
            documents {
                a_document_is_kept_as_it_was_saved
                a_document_is_saved_only_over_the_revision_it_was_read_at
                a_document_that_is_gone_is_not_saved_over
                the_outbox_of_a_document_is_written_with_it_or_not_at_all
                documents_are_apart_by_kind_and_id
                of_two_savers_one_is_outdated
                of_many_that_have_counted_the_same_documents_one_is_saved
                a_document_that_was_changed_is_not_deleted_as_it_was
                a_document_is_found_by_kind_and_id
                documents_come_in_pages_by_what_their_ids_begin_with
                every_change_of_a_kind_moves_its_version
                a_transition_is_sent_back_if_endpoints_changed_since
                a_transition_that_no_endpoint_has_a_say_in_is_written_whatever_they_are
            }
            erase {
                an_erased_job_leaves_only_its_id_in_the_audit
                a_job_that_has_not_ended_is_not_erased
                an_erased_dead_letter_is_counted_nowhere_and_is_no_example
                deliveries_about_an_erased_job_go_with_it
                erasing_a_prerequisite_decides_as_its_end_did
            }
            operations {
                operations_are_kept_and_listed_newest_first
                a_tenant_has_a_bounded_number_of_open_operations
                a_batch_changes_jobs_and_counts_them_together
                a_batch_from_an_older_revision_changes_nothing
                a_rotation_is_worked_on_by_processes_with_its_key
                a_job_that_does_not_match_any_more_is_left_alone
                a_batch_without_jobs_moves_an_operation_on
                each_outcome_is_counted_once
                ended_operations_go_with_their_jobs
                a_command_and_its_audit_record_are_stored_together
                audit_records_are_found_by_what_is_asked
            }
            audit {
                a_document_that_is_saved_and_its_record_are_stored_together
                a_document_that_is_deleted_and_its_record_are_stored_together
                a_schedule_and_its_record_are_stored_together
                a_mark_on_a_failure_and_its_record_are_stored_together
                a_batch_that_is_closed_and_its_record_are_stored_together
                jobs_and_the_record_of_who_made_them_are_stored_together
            }
            webhooks {
                a_jobs_webhook_is_kept_with_it
                a_cancelled_job_tells_in_the_same_step
                a_command_that_ends_nothing_tells_nothing
                a_command_moves_a_delivery_to_the_address_of_its_endpoint
                a_run_cancelled_by_its_schedule_tells
            }
            stats {
                attempts_are_counted_by_the_minute
                minutes_are_of_a_tenant_or_of_all
                what_waits_and_what_ended_is_listed_by_lane_and_minute
                jobs_of_a_destination_are_counted_by_the_minute
                a_store_without_jobs_has_no_counts
                counts_are_by_label_and_follow_the_clock
                recent_counts_are_to_the_minute
                an_attempt_counts_in_the_minute_it_ended
                jobs_of_an_outbox_and_runs_of_a_schedule_are_counted
                total_counts_outlive_their_jobs
                counts_agree_with_a_model_after_random_work
            }
            pause {
                jobs_of_a_paused_queue_are_left_alone
                a_paused_queue_that_is_asked_for_by_name_gives_nothing
                a_pause_is_for_one_tenant
                a_queue_can_be_paused_before_it_holds_jobs
                what_ran_before_the_pause_can_end
            }
            start {
                what_is_said_to_be_claimable_is_what_a_claim_takes
                a_job_at_a_limit_names_those_that_run
                an_ordered_job_names_the_one_before_it
                a_job_knows_how_many_of_its_tenant_are_before_it
                no_more_jobs_are_counted_than_people_care_about
                the_first_job_of_a_queue_is_the_one_that_a_claim_looks_at
                a_job_that_does_not_wait_has_nothing_before_its_start
                due_jobs_of_a_destination_are_counted
                gates_say_how_many_run_and_when_the_next_may_start
                destinations_are_found_for_which_jobs_of_a_tenant_wait
            }
            fair_shares {
                tenants_take_turns
                one_job_at_a_time_is_shared_as_well
                a_tenant_saves_nothing_up_while_it_has_no_jobs
                weights_are_shares
                within_a_tenant_priority_and_time_decide
                room_that_a_loud_tenant_leaves_is_for_others
                a_place_that_tenants_share_goes_round
                a_place_goes_round_while_another_tenant_is_served_elsewhere
            }
            flow {
                no_more_run_than_a_gate_allows
                room_that_one_cannot_use_is_for_others
                starts_count_although_their_jobs_have_ended
                an_attempt_that_ran_before_its_gate_was_set_counts
                an_attempt_counts_at_no_gate_after_its_end
                a_gate_that_is_raised_lets_more_start
                a_gate_of_one_tenant_is_for_its_own_jobs
                jobs_that_name_a_destination_take_no_room_from_other_tenants
                every_gate_of_a_job_must_be_open
                starts_keep_to_a_rate
                what_a_destination_says_remains_is_spread_until_its_reset
                a_paused_gate_opens_by_itself_at_its_time
                retries_beyond_their_share_wait_and_first_attempts_do_not
                a_caller_takes_no_more_for_a_destination_than_it_wants
                a_caller_takes_no_more_of_a_tenant_or_kind_than_it_wants
                a_probe_is_a_job_that_is_tried_again
                a_probe_is_a_job_that_is_not_tried_again_if_there_is_no_other
                destination_and_key_are_kept
            }
            gate_changes {
                a_changed_gate_applies_to_the_next_claim
                a_stored_gate_overrides_one_of_the_program
            }
            pace {
                no_more_run_than_a_learned_pace_allows
                a_learned_pace_that_grows_opens_with_time
                a_learned_pace_does_not_pass_a_gate
                a_learned_pace_that_is_shared_is_divided_between_tenants
                the_learned_pace_of_one_tenant_closes_no_gate_of_another
            }
            ordered_keys {
                an_ordered_key_runs_in_the_order_of_creation
                a_retry_holds_back_those_behind_it
                a_cancelled_job_lets_those_behind_it_go_on
                an_older_job_that_comes_back_to_an_ordered_key_is_its_first_again
                the_first_of_an_ordered_key_may_change_its_priority
                an_ordered_key_keeps_to_creation_times_after_the_clock_was_set_back
            }
            flow_model {
                random_work_starts_what_may_and_nothing_else
            }
            schedules {
                a_schedule_is_stored_as_it_was_asked
                a_change_is_saved_under_the_stored_revision
                a_change_of_an_older_revision_is_outdated
                a_change_of_a_deleted_schedule_finds_it_gone
                a_name_is_unique_within_its_tenant
                the_revision_is_looked_at_before_the_name
                a_name_is_free_again_after_a_change_or_deletion
                deleting_says_whether_it_was_there
                a_deleted_schedule_takes_its_ticks_and_leaves_its_runs
                schedules_are_listed_newest_id_first
                schedules_are_found_by_what_is_asked
            }
            due {
                a_schedule_is_due_at_its_tick_and_not_before
                a_paused_schedule_is_neither_due_nor_next
                a_schedule_that_is_over_is_never_due
                the_next_tick_is_the_earliest_still_to_come
                no_more_than_asked_are_due
                a_queued_tick_is_due_when_no_run_is_unfinished
                a_queued_tick_is_due_when_the_run_before_it_is_cancelled
                a_schedule_that_is_due_for_two_reasons_is_due_once
                the_newest_unfinished_run_is_returned
            }
            fire {
                a_firing_is_written_whole
                runs_can_be_claimed
                a_firing_without_runs_moves_the_schedule_on
                a_firing_of_another_revision_writes_nothing
                a_repeated_firing_writes_nothing
                a_tick_that_has_fired_does_not_fire_again
                ticks_of_different_schedules_are_apart
                a_deleted_schedule_fires_nothing
                an_outdated_firing_does_not_hinder_the_others
                a_schedule_may_be_in_a_batch_twice
                a_waiting_run_is_cancelled_with_the_firing
                a_running_run_is_asked_to_stop_with_the_firing
                a_run_to_cancel_that_has_ended_does_not_hinder_the_firing
                an_outdated_firing_cancels_nothing
                ticks_are_listed_newest_first
            }
            prune {
                what_ended_before_the_time_goes
                what_has_not_ended_stays
                a_dead_letter_stays_until_it_was_discarded
                a_job_that_was_retried_after_its_end_stays
                a_key_lives_a_day_and_then_goes_with_its_job
                the_key_of_a_batch_lives_a_day_and_then_goes_with_it
                a_job_that_was_passed_over_for_its_key_goes_soon_after_its_day
                no_more_than_asked_go
                attempts_and_steps_go_with_their_job
                tick_records_from_before_the_time_go
                more_tick_records_than_one_batch_go
                counts_by_the_minute_go_after_a_month
                names_that_no_job_has_go_after_a_while
                a_name_that_went_can_be_used_again
            }
            days {
                what_is_kept_for_days_goes_at_most_a_day_late
                what_ended_days_after_its_creation_is_kept_as_long_as_the_rest
                a_job_of_an_earlier_day_is_as_any_other
            }
            writable {
                a_store_that_takes_writes_says_so_and_is_as_before
            }
            wake {
                enqueueing_wakes
                those_who_wait_for_a_job_by_name_are_woken
                every_sleeper_is_woken
                a_sleeper_is_woken_again
                a_command_that_makes_a_job_due_sooner_wakes
                a_job_that_is_due_elsewhere_does_not_drown_a_wake_up
                a_later_job_wakes_once_the_earlier_one_is_gone
                a_retry_wakes
                an_outbox_wakes
                saving_a_schedule_wakes
                firing_wakes
                the_end_of_a_run_wakes_because_a_tick_may_wait_for_it
                what_happens_to_a_job_of_a_batch_wakes_those_who_count
                the_end_of_a_job_wakes_those_who_release_others
                an_end_at_a_full_gate_with_a_rate_is_not_slept_through
                no_earlier_time_goes_unannounced
            }
            failures {
                failures_of_one_cause_are_one_group
                a_failure_is_counted_once_and_only_if_it_is_written
                a_group_counts_the_dead_letters_that_there_are
                jobs_are_found_by_the_fingerprint_of_their_newest_failure
                groups_are_listed_by_count_and_found_by_what_they_have
                a_fixed_failure_that_comes_back_has_regressed
                groups_that_were_not_seen_for_long_go_unless_they_have_dead_letters
            }
            race {
                jobs_claimed_in_parallel_go_to_one_caller_each
                creates_with_one_key_make_one_job
                creates_with_one_id_make_one_job
                a_busy_store_loses_nothing_and_counts_once
                a_tenant_has_no_more_schedules_than_it_may
                a_cancelled_job_was_claimed_or_never_will_be
                one_of_several_ends_of_an_attempt_is_written
                results_of_a_step_agree
                one_of_several_firings_of_a_tick_is_written
                one_of_several_schedules_gets_a_name
                edits_of_different_fields_of_a_policy_are_both_kept
            }
        }
    };
    (@durable_store $then:ident ($($argument:tt)*)) => {
        $crate::conformance_tests! { @$then ($($argument)*)
            durable {
                jobs_history_and_counts_are_there_after_reopening
                schedules_and_ticks_are_there_after_reopening
                keys_and_steps_are_there_after_reopening
                a_claim_outlives_the_store_that_gave_it
                a_second_store_sees_what_the_first_has_acknowledged
                two_stores_agree_on_lanes
                two_stores_claim_each_job_once
                a_gate_changed_by_another_store_applies_within_two_seconds
            }
        }
    };

    (@tests ($harness:expr) $($verb:ident { $($case:ident)+ })+) => {
        $(mod $verb {
            use super::*;

            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                let harness = $harness;
                let fixture = $crate::conformance::Fixture::new(&harness).await;
                $crate::conformance::cases::$verb::$case(fixture).await;
            })+
        })+
    };
    (@durable_tests ($harness:expr) $($verb:ident { $($case:ident)+ })+) => {
        $(mod $verb {
            use super::*;

            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                let harness = $harness;
                let fixture = $crate::conformance::Fixture::new(&harness).await;
                $crate::conformance::cases::$verb::$case(fixture, &harness).await;
            })+
        })+
    };
    (@cases () $($verb:ident { $($case:ident)+ })+) => {
        $(pub mod $verb {
            pub use $crate::conformance::$verb::{$($case),+};
        })+
    };

    (durable $harness:expr) => {
        $crate::conformance_tests! { $harness }
        $crate::conformance_tests! { @durable_store durable_tests ($harness) }
    };
    ($harness:expr) => {
        $crate::conformance_tests! { @every_store tests ($harness) }
    };
}

#[doc(hidden)]
pub mod cases {
    conformance_tests! { @every_store cases () }
    conformance_tests! { @durable_store cases () }
}
