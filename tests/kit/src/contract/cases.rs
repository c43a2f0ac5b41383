//! The lists of cases: a test runner shall name each.

/// Makes a test of every case of the store's contract, `inbox::a_new_event_is_recorded_as_pending` and so on.
///
/// `make` is an async function (or a closure that returns a future) without arguments that gives the store: a new one
/// each time, or a handle to one that all share. The calling crate needs `tokio` with `macros`, `rt` and `time`.
///
/// ```ignore
/// async fn embedded_store() -> Embedded { … }
/// recado_testkit::store_contract!(embedded_store);
/// ```
#[macro_export]
macro_rules! store_contract {
    ($make:expr) => {
        $crate::contract_cases! { $make;
            inbox {
                a_new_event_is_recorded_as_pending,
                a_repeated_event_is_pending_until_applied,
                a_repetition_changes_nothing,
                fifty_webhooks_at_once_make_one_new_event,
                an_applied_event_drops_its_payload,
                a_dead_event_is_settled_keeps_its_payload_and_does_not_expire,
                an_expired_record_counts_as_absent,
                a_settled_event_stays_as_it_is,
                settling_an_unknown_event_makes_none,
                attempts_are_counted_while_pending,
                ten_attempts_at_once_are_one,
                a_dead_event_is_revived_with_its_attempts_back_at_0,
                only_dead_events_are_revived,
                an_event_is_revived_of_the_death_that_is_named_only,
                a_purged_event_is_settled_for_good,
                only_the_death_that_is_named_is_purged,
                an_event_enqueued_again_is_due_later,
                two_workers_that_settle_at_once_settle_once,
            }
            stored_messages {
                a_message_its_conversation_and_its_event_are_stored_together,
                a_second_message_follows_the_first,
                an_events_message_is_stored_once,
                a_worker_that_repeats_its_own_write_is_told_where_it_lies,
                a_conversation_changed_meanwhile_is_a_conflict_and_nothing_is_written,
                a_new_conversation_where_one_exists_is_a_conflict,
                a_conversation_that_does_not_exist_cannot_be_continued,
                a_message_of_an_event_that_is_not_pending_is_not_stored,
                of_twenty_first_messages_at_once_one_begins_the_conversation,
                of_ten_workers_on_one_event_one_stores_its_message,
                a_message_that_no_record_holds_is_refused_and_a_large_one_is_kept,
            }
            conversations {
                an_unknown_conversation_is_none,
                the_latest_is_the_one_with_the_highest_number_active_or_resolved,
                threads_do_not_mix,
                history_is_the_newest_messages_by_ordinal,
                messages_after_an_ordinal_are_the_first_behind_it,
                history_orders_by_ordinal_whatever_the_provider_says_of_time,
                an_update_is_taken_only_one_rev_after_the_stored_one,
                a_conversation_that_does_not_exist_is_not_updated,
                of_twenty_updates_at_once_one_wins,
                every_field_of_a_conversation_comes_back,
            }
            commits {
                a_message_is_committed_with_its_conversation_and_is_open,
                a_message_that_is_not_queued_is_not_open,
                a_first_message_out_begins_a_conversation,
                a_new_conversation_must_not_exist_yet,
                a_conversation_changed_meanwhile_is_a_conflict_and_nothing_is_written,
                of_twenty_commits_at_once_one_wins,
                a_clients_key_names_the_message_it_made,
                a_used_key_is_told_and_nothing_is_written,
                a_used_key_is_told_before_a_changed_conversation,
                a_key_counts_in_its_scope_only,
                scope_and_key_do_not_run_into_each_other,
                an_expired_key_is_free_again,
                of_ten_requests_with_one_key_at_once_one_makes_a_message,
            }
            replies {
                a_reply_is_committed_with_its_conversation_and_is_open,
                ten_parts_of_the_longest_text_are_committed_at_once_and_are_open_in_order,
                a_reply_to_a_conversation_changed_meanwhile_is_a_conflict_and_no_part_is_written,
                of_ten_replies_at_once_one_is_committed_with_all_its_parts,
            }
            lists {
                the_most_recently_active_conversation_comes_first,
                pages_reach_the_end_without_gap_or_repetition,
                conversations_active_at_the_same_time_are_paged_too,
                a_list_holds_conversations_as_they_are,
                a_list_is_narrowed_by_instance_mode_and_status,
                a_list_without_an_instance_holds_all_instances,
                what_only_leads_to_another_conversation_is_not_listed,
                messages_come_newest_first_by_pages,
                open_messages_are_listed_as_they_are_now,
            }
            outbox {
                open_messages_come_by_ordinal,
                open_messages_of_all_conversations_of_a_contact_come_in_order,
                an_open_message_is_saved_only_one_rev_after_the_stored_one,
                of_twenty_saves_at_once_one_wins,
                a_message_that_is_not_open_is_not_saved_as_open,
                a_dead_message_is_open_until_its_dead_letter_exists,
                a_sent_message_that_failed_after_all_is_open_until_copied,
                a_redriven_message_is_open_again,
                a_purged_message_is_not_open,
                a_message_is_amended_only_one_rev_after_the_stored_one,
                an_amendment_that_does_not_reopen_stays_closed,
                an_open_message_is_not_amended,
                a_person_and_an_agent_write_to_one_open_list,
            }
            claims {
                a_claim_makes_it_sending_and_notes_it_in_flight,
                a_claim_repeated_with_its_own_nonce_is_ours,
                another_attempt_meanwhile_is_a_conflict_and_leaves_no_note,
                of_twenty_claims_at_once_one_wins,
                a_stale_message_is_not_claimed,
                a_takeover_stops_the_agents_message,
                another_epoch_stops_the_agents_message,
                a_guard_needs_its_conversation,
                a_newer_message_of_the_contact_does_not_stop_it,
                a_persons_message_is_claimed_in_whatever_mode,
                a_saved_outcome_removes_the_note_of_its_attempt_only,
                a_lost_save_removes_no_note,
                a_note_takes_one_echo,
                a_note_takes_one_that_may_be_its_echo_beside_its_echo,
                notes_are_kept_by_instance,
            }
            settlements {
                a_sent_message_leaves_the_open_list_and_its_record_is_final,
                the_others_stay_open,
                a_status_that_came_first_is_kept,
                a_status_that_comes_after_keeps_the_link,
                a_link_without_the_providers_id_keeps_one_that_a_status_brought,
                a_cancelled_message_and_its_conversation_are_written_together,
                a_conversation_changed_meanwhile_is_a_conflict_and_nothing_is_written,
                a_message_changed_meanwhile_is_a_conflict_and_nothing_is_written,
                a_settled_message_is_not_settled_again,
                of_ten_settlements_at_once_one_wins,
            }
            deliveries {
                an_unknown_delivery_is_none,
                a_status_is_recorded_with_its_time,
                a_record_only_grows_in_whatever_order_statuses_come,
                a_repeated_status_does_not_change_when_it_was_reached,
                each_status_keeps_its_time_in_whatever_order_they_come,
                a_failure_yields_to_a_later_status_and_keeps_an_earlier_one_out,
                statuses_at_once_leave_the_best,
                a_better_status_keeps_the_providers_id,
                an_expired_record_is_gone,
                many_records_are_read_in_the_order_asked,
                a_record_asked_for_twice_is_given_twice,
                what_a_status_says_besides_stays_when_a_later_one_is_silent,
                a_status_that_is_no_news_changes_nothing_of_what_was_said,
                what_an_expired_record_said_is_gone_with_it,
            }
            identity {
                the_identity_key_that_is_kept_first_stays,
                of_twenty_identity_keys_at_once_all_are_told_the_same,
            }
            aliases {
                an_identity_of_which_nothing_was_learnt_is_nobodys,
                what_was_learnt_of_an_identity_comes_back_as_it_was,
                learning_it_again_changes_nothing_and_another_number_takes_its_place,
                instances_learn_for_themselves,
                twenty_who_learn_at_once_all_succeed,
            }
            notices {
                an_account_of_which_nothing_was_told_has_none,
                a_notice_comes_back_as_it_was_put,
                the_newest_are_first_in_whatever_order_they_come,
                a_notice_that_is_repeated_is_kept_once_as_it_first_came,
                at_most_the_newest_fifty_are_shown,
                accounts_do_not_mix,
                an_expired_notice_is_gone_and_may_come_anew,
            }
            catching_up {
                of_ten_who_want_to_catch_up_one_does,
                a_catch_up_may_be_claimed_again_once_the_last_one_is_old_enough,
                what_was_missed_since_the_closing_is_noted_until_it_is_fetched,
                one_that_closed_meanwhile_keeps_its_note,
            }
            instances {
                an_instance_without_a_state_has_the_default_one,
                a_change_of_connection_is_told_and_begins_anew,
                the_same_connection_again_counts_a_probe,
                an_instance_without_a_state_is_open_already,
                of_ten_who_see_it_closed_one_is_told_of_the_change,
                slots_follow_the_rates_arithmetic,
                a_changed_rate_goes_on_from_the_stored_arrival,
                twenty_reservations_at_once_get_twenty_slots,
                an_instance_that_is_not_open_gives_no_slot,
                instances_have_rates_of_their_own,
                timeouts_in_a_row_are_counted_and_forgotten,
                a_message_that_times_out_again_is_counted_once,
                a_missing_model_key_is_noted_and_a_change_told,
                what_is_noted_of_an_instance_does_not_disturb_the_rest,
                a_slot_comes_with_the_state_after_it,
                an_answer_confirms_the_state_and_a_guess_does_not,
                an_opening_that_releases_is_noted_and_one_that_puts_it_off_is_not,
                of_ten_who_find_the_state_old_one_asks,
            }
            parked {
                a_parked_conversation_is_listed_by_its_instance,
                parking_again_is_a_new_version_since_the_first,
                the_longest_parked_come_first_and_not_more_than_asked,
                only_the_version_seen_is_removed,
                once_released_it_is_parked_since_anew,
                releasing_one_leaves_the_others,
                of_parkings_at_once_one_entry_remains,
            }
            dead_letters {
                a_dead_letter_is_kept_as_it_is,
                one_of_the_same_id_is_replaced,
                one_of_an_earlier_death_replaces_none,
                a_removed_one_is_gone,
                one_of_another_death_is_not_removed,
                a_deleted_one_is_gone_and_who_did_it_is_kept,
                of_ten_deletions_at_once_one_is_kept,
                deletions_come_newest_first_by_pages,
                the_newest_come_first_by_pages,
                those_of_one_time_are_paged_too,
                a_list_is_narrowed_by_queue_reason_and_instance,
                a_list_is_narrowed_by_when_they_died,
                a_list_without_an_instance_holds_all,
                they_are_counted_by_instance_and_in_all,
            }
            directory {
                what_is_not_configured_is_not_found,
                an_instance_is_found_by_both_names_with_tenant_and_agent,
                an_instance_without_a_name_of_the_providers_is_found_by_its_id,
                a_name_counts_at_its_provider_only,
                what_a_change_names_is_replaced_and_the_rest_left_alone,
                applying_the_same_twice_changes_nothing,
                an_instance_that_got_another_name_is_found_by_that_only,
                two_instances_may_swap_their_names,
                an_instance_may_change_its_provider,
                fifty_instances_are_applied_in_one_change,
                every_field_comes_back,
            }
            gauges {
                what_is_open_is_told_until_it_is_done,
                an_event_is_told_until_it_is_applied,
                a_limit_that_was_reached_is_told,
            }
            overdue {
                a_pending_event_is_overdue_until_applied,
                a_dead_event_is_not_overdue_until_revived,
                an_event_stays_overdue_when_its_message_is_stored,
                an_open_message_is_overdue_until_sent,
                a_dead_message_is_overdue_until_copied,
                an_owed_answer_is_overdue_until_given,
                a_closed_instance_is_to_be_probed_until_open,
                a_parked_conversation_is_overdue_until_released,
                the_longest_overdue_come_first_and_not_more_than_asked,
                nothing_settled_from_the_start_is_ever_overdue,
            }
            contents {
                an_events_payload_comes_back_exactly,
                a_pointer_to_a_large_body_comes_back,
                a_message_that_is_not_understood_is_kept_as_it_came,
                every_content_comes_back_exactly,
                a_long_text_and_history_come_back_exactly,
                every_field_of_a_message_comes_back,
                odd_names_and_addresses_of_contacts_come_back,
            }
            scheduled {
                a_scheduled_message_comes_back_as_it_is,
                a_clients_key_names_the_scheduled_message_it_made,
                an_expired_key_schedules_anew,
                of_ten_requests_with_one_key_at_once_one_is_scheduled,
                one_is_overdue_from_its_time_on_until_it_left_pending,
                one_that_falls_due_becomes_an_open_message_of_its_conversation,
                one_that_falls_due_may_begin_the_conversation,
                one_that_was_taken_back_does_not_fall_due,
                one_that_fell_due_is_not_taken_back_or_given_up,
                a_conversation_changed_meanwhile_is_a_conflict_and_it_stays_pending,
                of_ten_workers_that_find_it_due_one_makes_the_message,
            }
            traces {
                an_unknown_correlation_leads_nowhere,
                an_event_its_message_and_the_reply_are_found_by_their_correlation,
                a_finished_event_keeps_how_it_was_applied,
            }
        }
    };
}

/// As [`store_contract!`](crate::store_contract) for what the queues keep: `make` gives the queues.
#[macro_export]
macro_rules! payloads_contract {
    ($make:expr) => {
        $crate::contract_cases! { $make;
            payloads {
                an_unknown_payload_is_none,
                a_payload_comes_back_exactly,
                the_same_key_again_replaces_it,
                keys_do_not_run_into_each_other,
                a_payload_that_is_kept_longer_is_the_same,
            }
        }
    };
}

/// As [`store_contract!`](crate::store_contract) for the queues' dead-letter queues: `make` gives the queues.
#[macro_export]
macro_rules! dead_queues_contract {
    ($make:expr) => {
        $crate::contract_cases! { $make;
            dead_queues {
                a_copy_is_received_with_the_death_it_names,
                what_was_received_is_not_handed_out_at_once_and_what_is_removed_never,
            }
        }
    };
}

/// One module for each list, one test for each case.
#[doc(hidden)]
#[macro_export]
macro_rules! contract_cases {
    ($make:expr; $($list:ident { $($case:ident,)+ })+) => {
        $(
            mod $list {
                #[allow(unused_imports, reason = "`make` may be a path that needs no import")]
                use super::*;

                $(
                    #[tokio::test]
                    async fn $case() {
                        let store = ($make)().await;
                        $crate::contract::$list::$case(&store).await;
                    }
                )+
            }
        )+
    };
}

/// The lists hold every case there is: one that is left out would never run.
#[cfg(test)]
mod tests {
    #[test]
    fn every_case_is_in_a_list() {
        let lists = include_str!("cases.rs");
        let files = [
            ("inbox", include_str!("inbox.rs")),
            ("stored_messages", include_str!("stored_messages.rs")),
            ("conversations", include_str!("conversations.rs")),
            ("commits", include_str!("commits.rs")),
            ("replies", include_str!("replies.rs")),
            ("lists", include_str!("lists.rs")),
            ("outbox", include_str!("outbox.rs")),
            ("claims", include_str!("claims.rs")),
            ("settlements", include_str!("settlements.rs")),
            ("deliveries", include_str!("deliveries.rs")),
            ("identity", include_str!("identity.rs")),
            ("aliases", include_str!("aliases.rs")),
            ("notices", include_str!("notices.rs")),
            ("instances", include_str!("instances.rs")),
            ("parked", include_str!("parked.rs")),
            ("dead_letters", include_str!("dead_letters.rs")),
            ("directory", include_str!("directory.rs")),
            ("overdue", include_str!("overdue.rs")),
            ("contents", include_str!("contents.rs")),
            ("payloads", include_str!("payloads.rs")),
            ("scheduled", include_str!("scheduled.rs")),
            ("traces", include_str!("traces.rs")),
            ("dead_queues", include_str!("dead_queues.rs")),
        ];
        for (name, text) in files {
            let (_, list) = lists.split_once(&format!("{name} {{")).unwrap();
            let (list, _) = list.split_once('}').unwrap();
            let listed: Vec<&str> = list
                .split(',')
                .map(str::trim)
                .filter(|case| !case.is_empty())
                .collect();
            let written: Vec<&str> = text
                .lines()
                .filter_map(|line| line.strip_prefix("pub async fn ")?.split_once('<'))
                .map(|(case, _)| case)
                .collect();
            assert_eq!(listed, written, "{name}");
        }
    }
}
