use super::super::{InvitationStatus, write_batch_id};
use super::*;
use crate::millis::from_unix_millis;

fn guest(number: usize) -> GuestId {
    GuestId::parse(&format!("g{number}")).unwrap()
}

fn batch(recipients: usize) -> Batch {
    let at = from_unix_millis(1_000);
    Batch {
        tenant: TenantId::parse("t").unwrap(),
        id: write_batch_id(at, 7),
        occasion: OccasionId::parse("ev").unwrap(),
        channel: InvitationChannel::Whatsapp,
        template: InvitationTemplateName::parse("invite").unwrap(),
        variables: TemplateValues::new(),
        metadata: None,
        by: TokenName::installation(),
        correlation: CorrelationId::parse("c").unwrap(),
        request_hash: String::new(),
        state: BatchState::Preparing,
        recipients,
        expanded: 0,
        send_at: None,
        reminder: None,
        restored_from: None,
        end: None,
        due_at: None,
        created_at: at,
        keep_until: from_unix_millis(9_000),
    }
}

#[test]
fn a_batch_is_due_until_it_is_finished() {
    let (mut one, now) = (batch(2), from_unix_millis(5_000));
    assert!(one.begin(now) && one.due_at.is_some());
    assert!(!one.begin(now), "it begins once");
    one.record_step(1, now);
    assert!(one.is_expanding());
    one.follow(BatchOrder::Pause, now).unwrap();
    assert_eq!((one.due_at, one.is_expanding()), (None, false));
    one.follow(BatchOrder::Resume, now).unwrap();
    assert!(one.due_at.is_some());
    let counts = BatchCounts {
        sent: 2,
        ..BatchCounts::default()
    };
    assert!(!one.finish(counts, now), "one invitation is not made");
    one.record_step(2, now);
    assert!(one.is_ending() && one.due_at.is_some());
    assert!(one.finish(counts, now) && !one.finish(BatchCounts::default(), now));
    assert_eq!((one.state, one.due_at), (BatchState::Finished, None));
    assert_eq!(one.end.as_ref().map(|end| end.counts), Some(counts));
}

#[test]
fn a_finished_batch_follows_no_order() {
    let (mut one, now) = (batch(0), from_unix_millis(5_000));
    assert!(one.begin(now) && one.finish(BatchCounts::default(), now));
    let refused = Err(BatchOrderRefused(BatchState::Finished));
    for order in [BatchOrder::Pause, BatchOrder::Resume, BatchOrder::Cancel] {
        assert_eq!(one.follow(order, now), refused);
    }
    assert!(!one.withdraw_reminder());
}

#[test]
fn a_cancelled_batch_never_runs_again() {
    let (mut one, now) = (batch(2), from_unix_millis(5_000));
    one.begin(now);
    assert_eq!(one.follow(BatchOrder::Cancel, now), Ok(true));
    assert_eq!(one.follow(BatchOrder::Cancel, now), Ok(false));
    let refused = Err(BatchOrderRefused(BatchState::Cancelled));
    assert_eq!(one.follow(BatchOrder::Resume, now), refused);
    assert_eq!(one.follow(BatchOrder::Pause, now), refused);
}

#[test]
fn a_batch_that_nobody_goes_on_with_may_have_been_cut_off_in_the_chunk_of_its_next_recipient() {
    for (state, may_be) in [
        (BatchState::Running, false),
        (BatchState::Paused, true),
        (BatchState::Cancelled, true),
        (BatchState::Finished, false),
    ] {
        let expanded = BATCH_CHUNK + 1;
        let one = Batch {
            state,
            expanded,
            ..batch(2 * BATCH_CHUNK)
        };
        assert_eq!(
            (one.is_cut_off_in(0), one.is_cut_off_in(1)),
            (false, may_be),
            "{state:?}"
        );
    }
}

#[test]
fn invitations_of_a_batch_have_ids_of_their_own() {
    let one = batch(2);
    assert_eq!(
        one.derive_invitation_id(&guest(1)),
        one.derive_invitation_id(&guest(1))
    );
    assert_ne!(
        one.derive_invitation_id(&guest(1)),
        one.derive_invitation_id(&guest(2))
    );
    let other = Batch {
        id: write_batch_id(from_unix_millis(1_000), 8),
        ..batch(2)
    };
    assert_ne!(
        one.derive_invitation_id(&guest(1)),
        other.derive_invitation_id(&guest(1))
    );
}

#[test]
fn every_recipient_is_counted_once_and_what_waits_in_a_cancelled_batch_is_cancelled() {
    let one = batch(BATCH_CHUNK + 3);
    let guests: Vec<GuestId> = (0..one.recipients).map(guest).collect();
    let mut chunks = split_recipients(&one, &guests);
    assert_eq!(chunks.len(), 2);
    assert_eq!(chunks[1].recipients.len(), 3);
    chunks[0].recipients[0].status = InvitationStatus::Sent.into();
    chunks[0].recipients[1].status = InvitationStatus::Processing.into();
    let counts = BatchCounts::count(&chunks, BatchState::Running);
    assert_eq!((counts.sent, counts.queued), (1, BATCH_CHUNK + 2));
    let counts = BatchCounts::count(&chunks, BatchState::Cancelled);
    assert_eq!(
        (counts.sent, counts.queued, counts.cancelled),
        (1, 1, BATCH_CHUNK + 1)
    );
}

#[test]
fn a_forgotten_guest_is_not_invited() {
    let one = batch(2);
    let mut chunk = split_recipients(&one, &[guest(1), guest(2)]).remove(0);
    assert!(!chunk.forget_guests(|id| *id == guest(3)));
    assert!(chunk.forget_guests(|id| *id == guest(1)));
    assert_eq!(chunk.recipients[0].guest, None);
    assert_eq!(chunk.recipients[0].status, InvitationStatus::Cancelled.into());
    assert_eq!(chunk.recipients[1].status, RecipientStatus::Waiting);
}

#[test]
fn a_batch_for_later_waits_for_its_time_and_is_looked_at_then() {
    let (now, due) = (from_unix_millis(5_000), from_unix_millis(60_000));
    let mut one = Batch {
        send_at: Some(due),
        ..batch(2)
    };
    assert!(one.begin(now));
    assert_eq!(
        (one.state, one.due_at, one.is_expanding()),
        (BatchState::Scheduled, Some(due), false)
    );
    one.follow(BatchOrder::Pause, now).unwrap();
    assert_eq!(one.due_at, None);
    one.follow(BatchOrder::Resume, now).unwrap();
    assert_eq!((one.state, one.due_at), (BatchState::Scheduled, Some(due)));
    assert!(one.start(2, due) && !one.start(2, due));
    assert!(one.is_expanding() && one.due_at > Some(due));
}

#[test]
fn a_batch_of_a_backup_is_doubted_if_it_may_have_sent_something_since() {
    let (taken_at, now) = (from_unix_millis(50_000), from_unix_millis(60_000));
    let at = |send_at: Option<i64>, state| Batch {
        send_at: send_at.map(from_unix_millis),
        state,
        ..batch(2)
    };
    for (send_at, state, is_doubted) in [
        (None, BatchState::Running, true),
        (None, BatchState::Paused, true),
        (None, BatchState::Preparing, true),
        (Some(55_000), BatchState::Scheduled, true),
        (Some(70_000), BatchState::Scheduled, false),
        (Some(70_000), BatchState::Paused, false),
        (None, BatchState::Finished, false),
    ] {
        let mut one = at(send_at, state);
        assert_eq!(one.doubt_restored(taken_at, now), is_doubted, "{state:?}");
        let kept = is_doubted.then_some(taken_at);
        assert_eq!(one.restored_from, kept);
    }
}

#[test]
fn a_withdrawn_reminder_is_planned_again_unless_it_was_begun_or_a_person_cancelled_it() {
    let (now, due) = (from_unix_millis(5_000), from_unix_millis(60_000));
    let planned = Batch {
        send_at: Some(due),
        state: BatchState::Scheduled,
        reminder: Some(BatchReminder {
            before: "P1D".to_owned(),
            begins_at: from_unix_millis(90_000),
            is_withdrawn: false,
        }),
        ..batch(0)
    };
    let mut moved = planned.clone();
    assert!(!moved.restore_reminder(now), "it is planned");
    assert!(moved.withdraw_reminder() && !moved.withdraw_reminder());
    assert!(moved.restore_reminder(now));
    assert_eq!((moved.state, moved.due_at), (BatchState::Scheduled, Some(due)));
    let mut cancelled = planned.clone();
    cancelled.follow(BatchOrder::Cancel, now).unwrap();
    assert!(!cancelled.withdraw_reminder() && !cancelled.restore_reminder(now));
    let mut begun = planned;
    assert!(begun.start(3, due) && begun.withdraw_reminder());
    assert!(!begun.restore_reminder(due));
}
