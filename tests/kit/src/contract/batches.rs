//! Batches of invitations: claimed once, listed by tenant, their recipients written by revision, found when they are due.

use super::patience::{INDEX, eventually};
use crate::builders::{Fixture, at, far_ahead, fresh};
use crate::ports::succeed;
use recado_domain::ids::{
    BatchId, CorrelationId, GuestId, InvitationTemplateName, OccasionId, TenantId, TokenName,
};
use recado_domain::invitations::{
    Batch, BatchOrder, BatchReminder, BatchState, Invitation, InvitationChannel, InvitationState,
    InvitationStatus, TemplateValues, split_recipients, write_batch_id,
};
use recado_ports::ports::{
    BatchOutcome, CommittedInvitation, InvitationClaim, InvitationCommit, InvitationOutcome, OverdueWork,
    PageRequest, Store, WriteOutcome,
};

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
        rev: 1,
    }
}

fn tenant() -> TenantId {
    TenantId::parse(&fresh("tenant")).unwrap()
}

fn guest_ids(count: usize) -> Vec<GuestId> {
    let id = |number: usize| GuestId::parse(&format!("g{number}")).unwrap();
    (0..count).map(id).collect()
}

fn claim(key: &str, until: i64) -> InvitationClaim {
    InvitationClaim {
        key: key.to_owned(),
        until: at(until),
        replaces: None,
    }
}

pub async fn a_key_is_claimed_by_one_batch_until_its_time_is_over<S: Store>(store: &S) {
    let (own, other) = (tenant(), tenant());
    let first = batch(&own, 10, 1);
    let key = claim("k", 1_000);
    let begun = succeed(store.begin_batch(&first, Some(&key), at(10))).await;
    assert_eq!(begun, BatchOutcome::Begun);
    let second = batch(&own, 20, 2);
    let refused = succeed(store.begin_batch(&second, Some(&key), at(20))).await;
    assert_eq!(refused, BatchOutcome::Claimed(first.id.clone()));
    assert_eq!(succeed(store.find_batch(&own, &second.id)).await, None);
    assert_eq!(
        succeed(store.find_batch(&own, &first.id)).await,
        Some(first.clone())
    );
    assert_eq!(succeed(store.find_batch(&other, &first.id)).await, None);
    let theirs = succeed(store.begin_batch(&batch(&other, 20, 2), Some(&key), at(20))).await;
    assert_eq!(theirs, BatchOutcome::Begun);
    let later = succeed(store.begin_batch(&second, Some(&claim("k", 2_000)), at(1_000))).await;
    assert_eq!(later, BatchOutcome::Begun);
}

pub async fn batches_are_written_by_revision_and_listed_by_tenant_the_newest_first<S: Store>(store: &S) {
    let (own, other) = (tenant(), tenant());
    let mut made: Vec<Batch> = (1..=5).map(|n| batch(&own, i64::from(n) * 10, 7)).collect();
    for one in made.iter().chain([&batch(&other, 30, 7)]) {
        let begun = succeed(store.begin_batch(one, None, at(1))).await;
        assert_eq!(begun, BatchOutcome::Begun);
    }
    made.reverse();
    let (mut found, mut cursor) = (Vec::new(), None);
    loop {
        let page = succeed(store.list_batches(&own, &PageRequest { limit: 2, cursor })).await;
        assert!(page.items.len() <= 2);
        found.extend(page.items);
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(found, made);
    let mut running = made[0].clone();
    assert!(running.begin(at(100)));
    assert_eq!(succeed(store.save_batch(&running)).await, WriteOutcome::Written);
    assert_eq!(succeed(store.save_batch(&running)).await, WriteOutcome::Conflict);
    assert_eq!(succeed(store.find_batch(&own, &running.id)).await, Some(running));
    let never = batch(&own, 99, 1);
    assert_eq!(succeed(store.save_batch(&never)).await, WriteOutcome::Conflict);
}

pub async fn recipients_are_written_by_revision_and_listed_in_order<S: Store>(store: &S) {
    let own = tenant();
    let (one, another) = (batch(&own, 10, 1), batch(&own, 10, 2));
    let mut chunks = split_recipients(&one, &guest_ids(150));
    let others = split_recipients(&another, &guest_ids(3));
    for chunk in chunks.iter().rev().chain(&others) {
        assert_eq!(
            succeed(store.save_batch_chunk(chunk)).await,
            WriteOutcome::Written
        );
        assert_eq!(
            succeed(store.save_batch_chunk(chunk)).await,
            WriteOutcome::Conflict
        );
    }
    assert_eq!(succeed(store.list_batch_chunks(&own, &one.id)).await, chunks);
    chunks[1].recipients[0].status = InvitationStatus::Queued.into();
    chunks[1].rev += 1;
    assert_eq!(
        succeed(store.save_batch_chunk(&chunks[1])).await,
        WriteOutcome::Written
    );
    let found = succeed(store.find_batch_chunk(&own, &one.id, 1)).await;
    assert_eq!(found.as_ref(), Some(&chunks[1]));
    assert_eq!(succeed(store.find_batch_chunk(&own, &one.id, 2)).await, None);
    assert_eq!(succeed(store.list_batch_chunks(&tenant(), &one.id)).await, []);
}

async fn is_overdue<S: Store>(store: &S, tenant: &TenantId, batch: &BatchId) -> bool {
    let work = OverdueWork::Batch {
        tenant: tenant.clone(),
        batch: batch.clone(),
    };
    succeed(store.list_overdue(at(1_000_000_000), 10_000))
        .await
        .contains(&work)
}

pub async fn a_batch_that_runs_is_overdue_and_one_that_is_stopped_is_not<S: Store>(store: &S) {
    let own = tenant();
    let mut one = batch(&own, 10, 1);
    let begun = succeed(store.begin_batch(&one, None, at(10))).await;
    assert_eq!(begun, BatchOutcome::Begun);
    assert!(one.begin(at(20)));
    assert_eq!(succeed(store.save_batch(&one)).await, WriteOutcome::Written);
    let is_listed = async || is_overdue(store, &own, &one.id).await;
    assert!(eventually(INDEX, is_listed, |found| *found).await);
    assert_eq!(one.follow(BatchOrder::Pause, at(30)), Ok(true));
    assert_eq!(succeed(store.save_batch(&one)).await, WriteOutcome::Written);
    let is_listed = async || is_overdue(store, &own, &one.id).await;
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
    let begun = succeed(store.begin_batch(&later, None, at(10))).await;
    assert_eq!(begun, BatchOutcome::Begun);
    assert!(
        store.begin_batch(&later, None, at(10)).await.is_err(),
        "its id is taken"
    );
    assert_eq!(
        succeed(store.find_batch(&own, &later.id)).await,
        Some(later.clone())
    );
    let work = OverdueWork::Batch {
        tenant: own.clone(),
        batch: later.id.clone(),
    };
    let is_listed = async || is_overdue(store, &own, &later.id).await;
    assert!(eventually(INDEX, is_listed, |found| *found).await);
    let early = succeed(store.list_overdue(at(499), 10_000)).await;
    assert!(!early.contains(&work));
    let mut withdrawn = later.clone();
    assert!(withdrawn.withdraw_reminder());
    assert_eq!(succeed(store.save_batch(&withdrawn)).await, WriteOutcome::Written);
    let is_listed = async || is_overdue(store, &own, &later.id).await;
    assert!(!eventually(INDEX, is_listed, |found| !found).await);
}

pub async fn invitations_of_a_batch_are_read_together<S: Store>(store: &S) {
    let own = tenant();
    let one = batch(&own, 10, 1);
    let guests = guest_ids(3);
    let of = |guest: &GuestId| taken(&own, &one, guest);
    let made = of(&guests[1]);
    let begun = succeed(store.begin_invitation(&made, &[], at(10))).await;
    assert_eq!(begun, InvitationOutcome::Begun);
    let ids: Vec<_> = guests.iter().map(|guest| of(guest).id).collect();
    assert_eq!(succeed(store.read_invitations(&own, &ids)).await, [made]);
    assert_eq!(succeed(store.read_invitations(&tenant(), &ids)).await, []);
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
        succeed(store.commit_invitation(&committed, at(20))).await
    };
    let is_stored = async |invitation: &Invitation| {
        let found = succeed(store.find_invitation(&own, &invitation.id)).await;
        found.as_ref() == Some(invitation)
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
        let begun = succeed(store.begin_batch(&one, None, at(10))).await;
        assert_eq!(begun, BatchOutcome::Begun);
        for chunk in split_recipients(&one, &guest_ids(3)) {
            assert_eq!(
                succeed(store.save_batch_chunk(&chunk)).await,
                WriteOutcome::Written
            );
        }
    }
    while succeed(store.delete_tenant_records(&own, &[], 100)).await > 0 {}
    let id = batch(&own, 10, 1).id;
    assert_eq!(succeed(store.find_batch(&own, &id)).await, None);
    assert_eq!(succeed(store.list_batch_chunks(&own, &id)).await, []);
    assert!(succeed(store.find_batch(&other, &id)).await.is_some());
    assert_eq!(succeed(store.list_batch_chunks(&other, &id)).await.len(), 1);
}
