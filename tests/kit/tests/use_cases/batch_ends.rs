//! How batches of invitations end: finished once each delivery reached its end, or cancelled, which frees what was not sent.

use crate::batches::{
    add_guests, expand, guest_id, leave, look_for_end, message_of, order, progress, request, run, take,
    with_guests,
};
use crate::erasure::cut_off;
use crate::invitation_rules::capped;
use crate::invitations::{occasion_id, setup_with, try_invite};
use crate::world::Setup;
use recado_batches::ListedRecipient;
use recado_domain::access::Caller;
use recado_domain::delivery_rules::DeliveryRules;
use recado_domain::ids::{BatchId, GuestId};
use recado_domain::invitations::{
    Batch, BatchOrder, BatchState, InvitationState, InvitationStatus, RecipientStatus,
};
use recado_invitations::{InvitationError, InvitationRequest, NamedGuest};
use recado_pipeline::ports::{Page, PageRequest};
use recado_pipeline::reconcile;
use recado_pipeline::records::invitations::find_invitation;
use recado_testkit::ports::succeed;

async fn list_recipients(
    setup: &Setup,
    id: &BatchId,
    statuses: &[RecipientStatus],
    (limit, cursor): (usize, Option<String>),
) -> Result<Page<ListedRecipient>, InvitationError> {
    let page = PageRequest { limit, cursor };
    let (caller, wanted) = (Caller::installation(), (id, statuses));
    recado_batches::list_batch_recipients(&setup.world, &caller, None, wanted, &page).await
}

fn guests_of(page: &Page<ListedRecipient>) -> Vec<Option<GuestId>> {
    let listed = page.items.iter();
    listed
        .map(|one| one.invited.as_ref().map(|(guest, _)| guest.clone()))
        .collect()
}

#[tokio::test]
async fn a_batch_is_finished_when_its_last_delivery_reached_an_end() {
    let setup = with_guests(3).await;
    let batch = take(&setup, request((0..3).chain([99]), None))
        .await
        .unwrap()
        .batch;
    expand(&setup, &batch.id).await;
    leave(&setup, &batch, 0..2).await;
    let open = look_for_end(&setup, &batch.id).await;
    assert_eq!((open.state, &open.end), (BatchState::Running, &None));
    leave(&setup, &batch, 2..3).await;
    // The batch is due again: `reconcile` enqueues its job.
    setup.pass(16 * 60);
    assert_eq!(
        reconcile::reconcile(&setup.world)
            .await
            .unwrap()
            .count_of("batches"),
        1
    );
    let ended = look_for_end(&setup, &batch.id).await;
    assert_eq!((ended.state, ended.due_at), (BatchState::Finished, None));
    let counts = ended.end.unwrap().counts;
    assert_eq!((counts.sent, counts.refused, counts.queued), (3, 1, 0));
    assert_eq!(progress(&setup, &batch.id).await.counts, counts);
    setup.pass(3600);
    assert_eq!(
        reconcile::reconcile(&setup.world)
            .await
            .unwrap()
            .count_of("batches"),
        0
    );
    let refused = order(&setup, &batch.id, BatchOrder::Cancel).await;
    assert!(matches!(refused, Err(InvitationError::Order(_))));
}

#[tokio::test]
async fn a_paused_batch_has_no_end_until_it_is_resumed() {
    let setup = with_guests(1).await;
    let batch = take(&setup, request(0..1, None)).await.unwrap().batch;
    expand(&setup, &batch.id).await;
    leave(&setup, &batch, 0..1).await;
    order(&setup, &batch.id, BatchOrder::Pause).await.unwrap();
    let paused = look_for_end(&setup, &batch.id).await;
    assert_eq!((paused.state, paused.due_at), (BatchState::Paused, None));
    order(&setup, &batch.id, BatchOrder::Resume).await.unwrap();
    assert_eq!(look_for_end(&setup, &batch.id).await.state, BatchState::Finished);
}

#[tokio::test]
async fn a_guest_who_is_gone_holds_no_batch_up() {
    let setup = with_guests(2).await;
    let batch = take(&setup, request(0..2, None)).await.unwrap().batch;
    expand(&setup, &batch.id).await;
    leave(&setup, &batch, 0..1).await;
    let caller = Caller::installation();
    recado_occasions::delete_guest(&setup.world, &caller, None, (&occasion_id(), &guest_id(1)))
        .await
        .unwrap();
    let ended = look_for_end(&setup, &batch.id).await;
    assert_eq!(ended.state, BatchState::Finished);
    let counts = ended.end.unwrap().counts;
    assert_eq!((counts.sent, counts.cancelled), (1, 1));
}

#[tokio::test]
async fn recipients_are_listed_page_by_page_with_ids_and_failures() {
    let setup = with_guests(3).await;
    let batch = take(&setup, request((0..3).chain([98, 99]), None))
        .await
        .unwrap()
        .batch;
    let before = list_recipients(&setup, &batch.id, &[], (10, None)).await.unwrap();
    let waits = |one: &ListedRecipient| one.status == RecipientStatus::Waiting;
    assert!(before.items.len() == 5 && before.items.iter().all(waits));
    expand(&setup, &batch.id).await;
    leave(&setup, &batch, 0..1).await;
    setup.pass(31);
    let (mut all, mut cursor) = (Vec::new(), None);
    loop {
        let page = list_recipients(&setup, &batch.id, &[], (2, cursor))
            .await
            .unwrap();
        all.extend(page.items);
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    let statuses: Vec<&str> = all.iter().map(|one| one.status.as_str()).collect();
    assert_eq!(statuses, ["sent", "queued", "queued", "refused", "refused"]);
    let (guest, id) = all[0].invited.clone().unwrap();
    assert_eq!((id, &all[0].failure), (batch.derive_invitation_id(&guest), &None));
    let failures = [InvitationStatus::Failed.into(), RecipientStatus::Refused];
    let first = list_recipients(&setup, &batch.id, &failures, (1, None))
        .await
        .unwrap();
    assert_eq!(guests_of(&first), [Some(guest_id(98))]);
    let why = first.items[0].failure.clone().unwrap();
    assert!(why.contains("no such guest"), "{why}");
    let rest = list_recipients(&setup, &batch.id, &failures, (5, first.next_cursor))
        .await
        .unwrap();
    assert_eq!(
        (guests_of(&rest), rest.next_cursor),
        (vec![Some(guest_id(99))], None)
    );
    let wrong = list_recipients(&setup, &batch.id, &[], (5, Some("x".to_owned()))).await;
    assert!(matches!(wrong, Err(InvitationError::Cursor)));
}

#[tokio::test]
async fn a_cancelled_recipient_who_may_have_got_it_is_told_from_the_others() {
    let setup = with_guests(2).await;
    let batch = take(&setup, request(0..2, None)).await.unwrap().batch;
    expand(&setup, &batch.id).await;
    setup.times_out();
    let first = message_of(&setup, &batch, 0).await;
    let _ = setup.job(&first.conversation_and_ordinal().unwrap().0).await;
    order(&setup, &batch.id, BatchOrder::Cancel).await.unwrap();
    leave(&setup, &batch, 0..2).await;
    assert_eq!(
        setup.world.providers.sent(),
        1,
        "nobody is sent it after the order"
    );
    setup.pass(31);
    let listed = list_recipients(&setup, &batch.id, &[], (10, None)).await.unwrap();
    let told: Vec<(&str, bool)> = listed
        .items
        .iter()
        .map(|one| (one.status.as_str(), one.failure.is_some()))
        .collect();
    assert_eq!(told, [("cancelled", true), ("cancelled", false)]);
    let why = listed.items[0].failure.as_deref().unwrap_or_default();
    assert!(why.contains("may have it"), "{why}");
}

#[tokio::test]
async fn what_a_cancelled_batch_left_unsent_may_go_again_and_only_that() {
    let setup = with_guests(4).await;
    let first = take(&setup, request(0..4, None)).await.unwrap().batch;
    expand(&setup, &first.id).await;
    leave(&setup, &first, 0..1).await;
    order(&setup, &first.id, BatchOrder::Pause).await.unwrap();
    let paused = take(&setup, request(1..2, None)).await.unwrap().batch;
    expand(&setup, &paused.id).await;
    assert_eq!(progress(&setup, &paused.id).await.counts.duplicate, 1);
    order(&setup, &first.id, BatchOrder::Cancel).await.unwrap();
    let second = take(&setup, request(0..3, None)).await.unwrap().batch;
    expand(&setup, &second.id).await;
    leave(&setup, &second, 1..3).await;
    // A single invitation finds it free, too.
    let single = InvitationRequest {
        guest: NamedGuest::Id(guest_id(3)),
        ..crate::invitations::request(&setup, None)
    };
    let single = try_invite(&setup, single).await.unwrap().invitation;
    assert!(
        matches!(single.state, InvitationState::Message { .. }),
        "{single:?}"
    );
    leave(&setup, &first, 0..4).await;
    assert_eq!(setup.world.providers.sent(), 4, "each of the guests once");
    let counts = progress(&setup, &first.id).await.counts;
    assert_eq!((counts.sent, counts.cancelled, counts.queued), (1, 3, 0));
    let counts = progress(&setup, &second.id).await.counts;
    assert_eq!((counts.sent, counts.duplicate), (2, 1));
}

#[tokio::test]
async fn what_a_cancelled_batch_put_off_may_go_again() {
    let (quiet, end) = crate::invitation_rules::quiet_setup().await;
    let setup = crate::batches::add_guests(quiet, 1).await;
    let first = take(&setup, request(0..1, None)).await.unwrap().batch;
    expand(&setup, &first.id).await;
    order(&setup, &first.id, BatchOrder::Cancel).await.unwrap();
    let second = take(&setup, request(0..1, None)).await.unwrap().batch;
    expand(&setup, &second.id).await;
    assert_eq!(progress(&setup, &second.id).await.counts.queued, 1);
    crate::invitation_rules::pass_until(&setup, end).await;
    leave_newest(&setup, &second).await;
    assert_eq!(setup.world.providers.sent(), 1);
    let of_first = first.derive_invitation_id(&guest_id(0));
    let view = crate::invitations::view(&setup, of_first.as_str()).await.unwrap();
    assert_eq!(view.status, InvitationStatus::Cancelled);
}

/// Runs the sender for the message that the batch's put-off invitation became.
async fn leave_newest(setup: &Setup, batch: &Batch) {
    let id = batch.derive_invitation_id(&guest_id(0));
    let view = crate::invitations::view(setup, id.as_str()).await.unwrap();
    setup.send(&view.message.unwrap().message.conversation).await;
}

/// Sends what was made for the guest, if anything was.
async fn leave_if_made(setup: &Setup, batch: &Batch, number: usize) {
    let (tenant, id) = (
        &setup.fixture.bound.tenant.id,
        batch.derive_invitation_id(&guest_id(number)),
    );
    let made = succeed(find_invitation(&setup.world.store, tenant, &id)).await;
    if made.is_some_and(|made| matches!(made.record.state, InvitationState::Message { .. })) {
        leave(setup, batch, [number]).await;
    }
}

/// The function may have stopped between a send and the count of its piece.
#[tokio::test]
async fn a_cancelled_batch_tells_what_phones_got_wherever_its_piece_was_cut_off() {
    for leaves_before in [true, false] {
        for polls in 1.. {
            let setup = with_guests(2).await;
            let batch = take(&setup, request(0..2, None)).await.unwrap().batch;
            let ended = cut_off(run(&setup, &batch.make_job(0), 1), polls).await;
            if leaves_before {
                leave_if_made(&setup, &batch, 0).await;
            }
            let before = setup.world.providers.sent();
            order(&setup, &batch.id, BatchOrder::Cancel).await.unwrap();
            leave_if_made(&setup, &batch, 0).await;
            assert_eq!(setup.world.providers.sent(), before, "{polls}");
            let sent = usize::try_from(before).unwrap();
            let counts = progress(&setup, &batch.id).await.counts;
            assert_eq!((counts.sent, counts.cancelled), (sent, 2 - sent), "{polls}");
            assert_eq!(counts.queued, 0, "{polls}");
            let wanted = [InvitationStatus::Sent.into()];
            let listed = list_recipients(&setup, &batch.id, &wanted, (10, None)).await;
            assert_eq!(listed.unwrap().items.len(), sent, "{polls}");
            if ended {
                assert_eq!(sent, usize::from(leaves_before));
                break;
            }
        }
    }
}

#[tokio::test]
async fn a_paused_batch_tells_what_phones_got_wherever_its_piece_was_cut_off_and_goes_on() {
    // With a cap an invitation is stored before its message, else by one write with it.
    for rules in [DeliveryRules::default(), capped()] {
        for polls in 1.. {
            let setup = add_guests(setup_with(rules.clone()).await, 2).await;
            let batch = take(&setup, request(0..2, None)).await.unwrap().batch;
            let ended = cut_off(run(&setup, &batch.make_job(0), 1), polls).await;
            leave_if_made(&setup, &batch, 0).await;
            let sent = usize::try_from(setup.world.providers.sent()).unwrap();
            order(&setup, &batch.id, BatchOrder::Pause).await.unwrap();
            let counts = progress(&setup, &batch.id).await.counts;
            assert_eq!((counts.sent, counts.queued), (sent, 2 - sent), "{polls}");
            order(&setup, &batch.id, BatchOrder::Resume).await.unwrap();
            expand(&setup, &batch.id).await;
            leave(&setup, &batch, 0..2).await;
            assert_eq!(
                setup.world.providers.sent(),
                2,
                "{polls}: each of the guests once"
            );
            if ended {
                assert_eq!(sent, 1);
                break;
            }
        }
    }
}
