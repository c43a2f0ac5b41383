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
        due_at: None,
        created_at: at,
        keep_until: from_unix_millis(9_000),
        rev: 1,
    }
}

#[test]
fn a_batch_is_due_while_invitations_are_to_be_made() {
    let (mut one, now) = (batch(2), from_unix_millis(5_000));
    assert!(one.begin(now) && one.due_at.is_some());
    assert!(!one.begin(now), "it begins once");
    one.record_step(1, now);
    assert!(one.is_expanding());
    one.follow(BatchOrder::Pause, now).unwrap();
    assert_eq!((one.due_at, one.is_expanding()), (None, false));
    one.follow(BatchOrder::Resume, now).unwrap();
    assert!(one.due_at.is_some());
    one.record_step(2, now);
    assert_eq!(one.due_at, None);
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
    assert_eq!(chunks.len(), one.count_chunks());
    assert_eq!(chunks[1].recipients.len(), 3);
    chunks[0].recipients[0].status = RecipientStatus::Sent;
    chunks[0].recipients[1].status = RecipientStatus::Processing;
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
    assert_eq!(chunk.recipients[0].status, RecipientStatus::Cancelled);
    assert_eq!(
        (chunk.recipients[1].status, chunk.rev),
        (RecipientStatus::Waiting, 2)
    );
}
