//! Batches of invitations: claimed once, listed by tenant, their recipients written by revision, found when they are due.

use super::patience::{INDEX, eventually};
use crate::builders::{Fixture, at, far_ahead, fresh};
use crate::ports::succeed;
use jiff::Timestamp;
use recado_domain::ids::{
    BatchId, CorrelationId, GuestId, InvitationTemplateName, OccasionId, TenantId, TokenName,
};
use recado_domain::invitations::{
    Batch, BatchChunk, BatchOrder, BatchReminder, BatchState, Invitation, InvitationChannel, InvitationState,
    InvitationStatus, TemplateValues, split_recipients, write_batch_id,
};
use recado_domain::millis::add_millis;
use recado_ports::ports::{PageRequest, Store, WriteOutcome};
use recado_ports::records::batches::{
    BatchOutcome, begin_batch, find_batch, find_batch_chunk, list_batch_chunks, list_batches,
    list_due_batches,
};
use recado_ports::records::claims::InvitationClaim;
use recado_ports::records::invitations::{
    CommittedInvitation, InvitationCommit, InvitationOutcome, begin_invitation, commit_invitation,
    find_invitation, read_invitations,
};
use recado_ports::table::{Versioned, write_record};

fn batch(tenant: &TenantId, made: i64, random: u64) -> Batch {
    Batch {
        tenant: tenant.clone(),
        id: write_batch_id(at(made), random),
        occasion: OccasionId::parse("ev demo").unwrap(),
        channel: InvitationChannel::Whatsapp,
        template: InvitationTemplateName::parse("invite").unwrap(),
        variables: TemplateValues::new(),
        metadata: None,
        by: TokenName::installation(),
        correlation: CorrelationId::parse("c").unwrap(),
        request_hash: "0".repeat(64),
        state: BatchState::Preparing,
        recipients: 150,
        expanded: 0,
        send_at: None,
        reminder: None,
        restored_from: Some(at(5)),
        end: None,
        due_at: None,
        created_at: at(made),
        keep_until: far_ahead(),
    }
}

fn tenant() -> TenantId {
    TenantId::parse(&fresh("tenant")).unwrap()
}

fn guest_ids(count: usize) -> Vec<GuestId> {
    let id = |number: usize| GuestId::parse(&format!("g{number}")).unwrap();
    (0..count).map(id).collect()
}

/// A time at which no claim has expired by the clock of the store.
fn ahead(milliseconds: i64) -> Timestamp {
    add_millis(far_ahead(), milliseconds)
}

fn claim(key: &str, until: i64) -> InvitationClaim {
    InvitationClaim {
        key: key.to_owned(),
        until: ahead(until),
        replaces: None,
    }
}

/// Begins a batch without a claim.
async fn begun<S: Store>(store: &S, batch: &Batch) -> Versioned<Batch> {
    let mut new = Versioned::new(batch.clone());
    let begun = succeed(begin_batch(store, &mut new, None, at(10))).await;
    assert_eq!(begun, BatchOutcome::Begun);
    new
}

/// Begins a batch with a claim.
async fn claim_for<S: Store>(
    store: &S,
    batch: &Batch,
    claim: &InvitationClaim,
    now: Timestamp,
) -> BatchOutcome {
    let mut new = Versioned::new(batch.clone());
    succeed(begin_batch(store, &mut new, Some(claim), now)).await
}

async fn find<S: Store>(store: &S, tenant: &TenantId, id: &BatchId) -> Option<Batch> {
    succeed(find_batch(store, tenant, id))
        .await
        .map(|found| found.record)
}

async fn list_chunks<S: Store>(store: &S, tenant: &TenantId, id: &BatchId) -> Vec<BatchChunk> {
    let found = succeed(list_batch_chunks(store, tenant, id)).await.into_iter();
    found.map(|chunk| chunk.record).collect()
}

pub async fn a_key_is_claimed_by_one_batch_until_its_time_is_over<S: Store>(store: &S) {
    let (own, other) = (tenant(), tenant());
    let first = batch(&own, 10, 1);
    let key = claim("k", 1_000);
    assert_eq!(
        claim_for(store, &first, &key, ahead(10)).await,
        BatchOutcome::Begun
    );
    let second = batch(&own, 20, 2);
    let refused = claim_for(store, &second, &key, ahead(20)).await;
    assert_eq!(refused, BatchOutcome::Claimed(first.id.clone()));
    assert_eq!(find(store, &own, &second.id).await, None);
    assert_eq!(find(store, &own, &first.id).await, Some(first.clone()));
    assert_eq!(find(store, &other, &first.id).await, None);
    let theirs = claim_for(store, &batch(&other, 20, 2), &key, ahead(20)).await;
    assert_eq!(theirs, BatchOutcome::Begun);
    let later = claim_for(store, &second, &claim("k", 2_000), ahead(1_000)).await;
    assert_eq!(later, BatchOutcome::Begun);
}

pub async fn batches_are_written_by_revision_and_listed_by_tenant_the_newest_first<S: Store>(store: &S) {
    let (own, other) = (tenant(), tenant());
    let mut made: Vec<Batch> = (1..=5).map(|n| batch(&own, i64::from(n) * 10, 7)).collect();
    for one in made.iter().chain([&batch(&other, 30, 7)]) {
        begun(store, one).await;
    }
    made.reverse();
    let (mut found, mut cursor) = (Vec::new(), None);
    loop {
        let page = succeed(list_batches(store, &own, &PageRequest { limit: 2, cursor })).await;
        assert!(page.items.len() <= 2);
        found.extend(page.items);
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(found, made);
    let mut running = succeed(find_batch(store, &own, &made[0].id)).await.unwrap();
    let mut stale = running.clone();
    assert!(running.record.begin(at(100)));
    assert_eq!(
        succeed(write_record(store, &mut running)).await,
        WriteOutcome::Written
    );
    assert_eq!(
        succeed(write_record(store, &mut stale)).await,
        WriteOutcome::Conflict
    );
    assert_eq!(
        find(store, &own, &made[0].id).await.as_ref(),
        Some(&running.record)
    );
    assert!(running.record.follow(BatchOrder::Pause, at(110)).unwrap());
    assert_eq!(
        succeed(write_record(store, &mut running)).await,
        WriteOutcome::Written
    );
}

pub async fn recipients_are_written_by_revision_and_listed_in_order<S: Store>(store: &S) {
    let own = tenant();
    let (one, another) = (batch(&own, 10, 1), batch(&own, 10, 2));
    let mut chunks = split_recipients(&one, &guest_ids(150));
    let others = split_recipients(&another, &guest_ids(3));
    for chunk in chunks.iter().rev().chain(&others) {
        for expected in [WriteOutcome::Written, WriteOutcome::Conflict] {
            let mut new = Versioned::new(chunk.clone());
            assert_eq!(succeed(write_record(store, &mut new)).await, expected);
        }
    }
    assert_eq!(list_chunks(store, &own, &one.id).await, chunks);
    let mut found = succeed(find_batch_chunk(store, &own, &one.id, 1)).await.unwrap();
    let mut stale = found.clone();
    chunks[1].recipients[0].status = InvitationStatus::Queued.into();
    found.record = chunks[1].clone();
    assert_eq!(
        succeed(write_record(store, &mut found)).await,
        WriteOutcome::Written
    );
    assert_eq!(
        succeed(write_record(store, &mut stale)).await,
        WriteOutcome::Conflict
    );
    let found = succeed(find_batch_chunk(store, &own, &one.id, 1)).await;
    assert_eq!(found.map(|found| found.record).as_ref(), Some(&chunks[1]));
    assert_eq!(succeed(find_batch_chunk(store, &own, &one.id, 2)).await, None);
    assert_eq!(list_chunks(store, &tenant(), &one.id).await, []);
}

async fn is_overdue<S: Store>(store: &S, tenant: &TenantId, batch: &BatchId) -> bool {
    succeed(list_due_batches(store, at(1_000_000_000), 10_000))
        .await
        .contains(&(tenant.clone(), batch.clone()))
}

pub async fn a_batch_that_runs_is_overdue_and_one_that_is_stopped_is_not<S: Store>(store: &S) {
    let own = tenant();
    let mut one = begun(store, &batch(&own, 10, 1)).await;
    assert!(one.record.begin(at(20)));
    assert_eq!(
        succeed(write_record(store, &mut one)).await,
        WriteOutcome::Written
    );
    let is_listed = async || is_overdue(store, &own, &one.record.id).await;
    assert!(eventually(INDEX, is_listed, |found| *found).await);
    assert_eq!(one.record.follow(BatchOrder::Pause, at(30)), Ok(true));
    assert_eq!(
        succeed(write_record(store, &mut one)).await,
        WriteOutcome::Written
    );
    let is_listed = async || is_overdue(store, &own, &one.record.id).await;
    assert!(!eventually(INDEX, is_listed, |found| !found).await);
}

pub async fn a_batch_for_later_is_overdue_from_its_time_on_and_begun_once<S: Store>(store: &S) {
    let own = tenant();
    let later = Batch {
        state: BatchState::Scheduled,
        recipients: 0,
        send_at: Some(at(500)),
        reminder: Some(BatchReminder {
            before: "P1D".to_owned(),
            begins_at: at(900),
            is_withdrawn: false,
        }),
        due_at: Some(at(500)),
        ..batch(&own, 10, 1)
    };
    let mut stored = begun(store, &later).await;
    let mut again = Versioned::new(later.clone());
    assert!(
        begin_batch(store, &mut again, None, at(10)).await.is_err(),
        "its id is taken"
    );
    assert_eq!(find(store, &own, &later.id).await, Some(later.clone()));
    let is_listed = async || is_overdue(store, &own, &later.id).await;
    assert!(eventually(INDEX, is_listed, |found| *found).await);
    let early = succeed(list_due_batches(store, at(499), 10_000)).await;
    assert!(!early.contains(&(own.clone(), later.id.clone())));
    assert!(stored.record.withdraw_reminder());
    assert_eq!(
        succeed(write_record(store, &mut stored)).await,
        WriteOutcome::Written
    );
    let is_listed = async || is_overdue(store, &own, &later.id).await;
    assert!(!eventually(INDEX, is_listed, |found| !found).await);
}

pub async fn invitations_of_a_batch_are_read_together<S: Store>(store: &S) {
    let own = tenant();
    let one = batch(&own, 10, 1);
    let guests = guest_ids(3);
    let of = |guest: &GuestId| taken(&own, &one, guest);
    let made = of(&guests[1]);
    let mut new = Versioned::new(made);
    let begun = succeed(begin_invitation(store, &mut new, &[], at(10))).await;
    assert_eq!(begun, InvitationOutcome::Begun);
    let ids: Vec<_> = guests.iter().map(|guest| of(guest).id).collect();
    assert_eq!(succeed(read_invitations(store, &own, &ids)).await, [new]);
    assert_eq!(succeed(read_invitations(store, &tenant(), &ids)).await, []);
}

/// The invitation of a batch to a guest, as it is taken.
fn taken(tenant: &TenantId, batch: &Batch, guest: &GuestId) -> Invitation {
    Invitation {
        tenant: tenant.clone(),
        id: batch.derive_invitation_id(guest),
        occasion: batch.occasion.clone(),
        guest: guest.clone(),
        channel: InvitationChannel::Whatsapp,
        template: batch.template.clone(),
        language: None,
        state: InvitationState::Taken { planned: None },
        is_free: false,
        session: None,
        not_before: None,
        metadata: None,
        request_hash: "0".repeat(64),
        created_at: at(10),
        keep_until: far_ahead(),
        rev: 1,
    }
}

pub async fn an_invitation_is_stored_with_its_message_or_not_at_all<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let own = fixture.bound.tenant.id.clone();
    let (one, guests) = (batch(&own, 10, 1), guest_ids(2));
    let mut conversation = fixture.conversation(1);
    let message = fixture.answer(&mut conversation);
    let mut next = conversation.clone();
    let behind = fixture.answer(&mut next);
    let [first, second] =
        [(&guests[0], &message), (&guests[1], &behind)].map(|(guest, message)| Invitation {
            state: InvitationState::Message {
                message: message.message_id(),
            },
            ..taken(&own, &one, guest)
        });
    let (key, free) = ([claim(&fresh("key"), 1_000)], [claim(&fresh("key"), 1_000)]);
    let commit = async |invitation, claims, conversation, message| {
        let committed = CommittedInvitation {
            invitation,
            claims,
            conversation,
            message,
        };
        succeed(commit_invitation(store, &committed, ahead(20))).await
    };
    let is_stored = async |invitation: &Invitation| {
        let found = succeed(find_invitation(store, &own, &invitation.id)).await;
        found.map(|found| found.record).as_ref() == Some(invitation)
    };
    let count_open = async || succeed(store.list_open_messages(&fixture.thread())).await.len();
    let done = commit(&first, &key[..], &conversation, &message).await;
    assert_eq!(done, InvitationCommit::Committed);
    assert!(is_stored(&first).await && count_open().await == 1);
    let claimed = commit(&second, &key[..], &next, &behind).await;
    assert_eq!(claimed, InvitationCommit::Claimed(first.id.clone()));
    let stale = commit(&second, &free[..], &conversation, &behind).await;
    assert_eq!(stale, InvitationCommit::Conflict);
    assert!(!is_stored(&second).await && count_open().await == 1);
    // What stored nothing claimed nothing.
    let done = commit(&second, &free[..], &next, &behind).await;
    assert_eq!(done, InvitationCommit::Committed);
    let mut last = next.clone();
    let third = fixture.answer(&mut last);
    let again = commit(&second, &[], &last, &third).await;
    assert_eq!(again, InvitationCommit::Conflict, "its id is stored already");
    assert!(is_stored(&second).await && count_open().await == 2);
}

pub async fn a_removed_tenant_has_no_batches<S: Store>(store: &S) {
    let (own, other) = (tenant(), tenant());
    for tenant in [&own, &other] {
        let one = batch(tenant, 10, 1);
        begun(store, &one).await;
        for chunk in split_recipients(&one, &guest_ids(3)) {
            let written = succeed(write_record(store, &mut Versioned::new(chunk))).await;
            assert_eq!(written, WriteOutcome::Written);
        }
    }
    while succeed(store.delete_tenant_records(&own, &[], 100)).await > 0 {}
    let id = batch(&own, 10, 1).id;
    assert_eq!(find(store, &own, &id).await, None);
    assert_eq!(list_chunks(store, &own, &id).await, []);
    assert!(find(store, &other, &id).await.is_some());
    assert_eq!(list_chunks(store, &other, &id).await.len(), 1);
}
