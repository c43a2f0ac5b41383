//! Invitations for later: of one guest, by the guest's own clock too, and of many.

use crate::batches::{expand, guest_id, leave, order, progress, run, stored, take, with_guests};
use crate::invitation_rules::{pass_until, quiet_setup};
use crate::invitations::{invite, message_of, occasion_id, request, setup, try_invite, view};
use crate::world::Setup;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use recado_batches::BatchRequest;
use recado_domain::access::Caller;
use recado_domain::ids::GuestId;
use recado_domain::invitations::{
    BatchOrder, BatchState, InvitationState, InvitationStatus, SendTime, parse_guest_list,
};
use recado_invitations::{InvitationError, InvitationRequest, NamedGuest};
use recado_pipeline::Verdict;
use recado_sends::DeliverError;

use recado_pipeline::reconcile::reconcile;
use recado_pipeline::records::invitations::find_invitation;
use recado_pipeline::records::occasions::find_occasion;
use recado_pipeline::records::scheduled_messages::find_scheduled_by_id;
use recado_pipeline::table::put_record;
use recado_testkit::ports::succeed;

fn in_hours(setup: &Setup, hours: i64) -> Timestamp {
    setup.now() + SignedDuration::from_hours(hours)
}

fn for_later(setup: &Setup, key: Option<&str>, at: Timestamp) -> InvitationRequest {
    InvitationRequest {
        send_at: Some(SendTime::At(at)),
        ..request(setup, key)
    }
}

async fn add(setup: &Setup, list: &str) -> recado_occasions::AddedGuests {
    let (caller, rows) = (Caller::installation(), parse_guest_list(list).unwrap());
    recado_occasions::add_guests(&setup.world, &caller, None, &occasion_id(), rows)
        .await
        .unwrap()
}

#[tokio::test]
async fn an_invitation_for_later_leaves_at_its_time_and_counts_as_sent_before() {
    let setup = setup().await;
    let due = in_hours(&setup, 72);
    let accepted = try_invite(&setup, for_later(&setup, Some("k1"), due))
        .await
        .unwrap();
    assert_eq!(accepted.invitation.not_before, Some(due));
    let other_time = for_later(&setup, Some("k1"), due + SignedDuration::from_hours(1));
    let reused = try_invite(&setup, other_time).await;
    assert!(matches!(
        reused,
        Err(InvitationError::Deliver(DeliverError::KeyReused))
    ));
    // More than the dedupe window later, and still before it left.
    setup.pass(48 * 3600);
    let again = invite(&setup).await;
    let of = accepted.invitation.id.clone();
    assert_eq!(again.invitation.state, InvitationState::Duplicate { of });
    pass_until(&setup, due - SignedDuration::from_mins(1)).await;
    assert!(setup.latest_conversation().await.is_none());
    pass_until(&setup, due).await;
    let conversation = setup.latest_conversation().await.unwrap();
    setup.send(&conversation.id).await;
    let sent = view(&setup, accepted.invitation.id.as_str()).await.unwrap();
    assert_eq!(sent.status, InvitationStatus::Sent);
    assert_eq!(setup.world.providers.sent(), 1);
}

#[tokio::test]
async fn a_time_that_is_over_is_now_and_one_in_two_years_is_refused() {
    let setup = setup().await;
    let far = try_invite(&setup, for_later(&setup, None, in_hours(&setup, 2 * 366 * 24))).await;
    assert!(matches!(
        far,
        Err(InvitationError::Deliver(DeliverError::TooFarAhead))
    ));
    assert_eq!(
        crate::invitations::guests(&setup).await,
        [],
        "nobody is added for it"
    );
    let over = for_later(&setup, None, in_hours(&setup, -1));
    let accepted = try_invite(&setup, over).await.unwrap();
    assert_eq!(accepted.invitation.not_before, None);
}

#[tokio::test]
async fn an_invitation_for_later_can_be_cancelled_and_sent_anew() {
    let setup = setup().await;
    let due = in_hours(&setup, 5);
    let accepted = try_invite(&setup, for_later(&setup, None, due)).await.unwrap();
    let scheduled = recado_domain::scheduled::ScheduledId::parse(message_of(&accepted).as_str()).unwrap();
    recado_sends::cancel_scheduled(&setup.world, &Caller::installation(), &scheduled)
        .await
        .unwrap();
    let shown = view(&setup, accepted.invitation.id.as_str()).await.unwrap();
    assert_eq!(shown.status, InvitationStatus::Cancelled);
    let again = invite(&setup).await;
    crate::invitations::leave(&setup, &message_of(&again)).await;
    pass_until(&setup, due).await;
    assert_eq!(setup.world.providers.sent(), 1);
}

#[tokio::test]
async fn a_time_without_offset_is_of_the_guests_clock() {
    let setup = setup().await;
    let list = "id,phone,zone\nhome,+52 1 55 5001 0001,\naway,+52 1 55 5001 0002,Asia/Tokyo\nbad,+52 1 55 5001 0003,Mars/X\n";
    let added = add(&setup, list).await;
    assert_eq!((added.added, added.refused.len()), (2, 1));
    assert_eq!(added.refused[0].0, 4);
    let home = setup.fixture.bound.tenant.resolve_time_zone();
    let tokyo = TimeZone::get("Asia/Tokyo").unwrap();
    let clock = in_hours(&setup, 48).to_zoned(home.clone()).datetime();
    for (guest, zone) in [("home", home), ("away", tokyo)] {
        let to_guest = InvitationRequest {
            guest: NamedGuest::Id(GuestId::parse(guest).unwrap()),
            send_at: Some(SendTime::OnClock(clock)),
            ..request(&setup, None)
        };
        let accepted = try_invite(&setup, to_guest).await.unwrap();
        let wanted = clock.to_zoned(zone).unwrap().timestamp();
        assert_eq!(accepted.invitation.not_before, Some(wanted), "{guest}");
        let id = recado_domain::scheduled::ScheduledId::parse(message_of(&accepted).as_str()).unwrap();
        let scheduled = succeed(find_scheduled_by_id(&setup.world.store, &id)).await;
        assert_eq!(scheduled.unwrap().record.send_at, wanted, "{guest}");
    }
}

#[tokio::test]
async fn quiet_hours_are_of_the_guests_clock_else_of_the_occasions() {
    let (setup, end) = quiet_setup().await;
    add(
        &setup,
        "id,phone,time_zone\nfar,+52 1 55 5001 0002,Asia/Tokyo\nhere,+52 1 55 5001 0003,\n",
    )
    .await;
    let to = |guest: &str| InvitationRequest {
        guest: NamedGuest::Id(GuestId::parse(guest).unwrap()),
        ..request(&setup, None)
    };
    // It is quiet where the tenant is, and not where the guest is.
    let far = try_invite(&setup, to("far")).await.unwrap();
    assert_eq!(far.invitation.not_before, None);
    let tenant = setup.fixture.bound.tenant.id.clone();
    let known = succeed(find_occasion(&setup.world.store, &tenant, &occasion_id())).await;
    let mut occasion = known.unwrap();
    occasion.time_zone = Some("Asia/Tokyo".to_owned());
    succeed(put_record(&setup.world.store, &occasion)).await;
    let here = try_invite(&setup, to("here")).await.unwrap();
    assert_eq!(here.invitation.not_before, None);
    occasion.time_zone = None;
    succeed(put_record(&setup.world.store, &occasion)).await;
    assert_eq!(invite(&setup).await.invitation.not_before, Some(end));
}

fn batch_for(guests: usize, key: Option<&str>, at: Timestamp) -> BatchRequest {
    BatchRequest {
        send_at: Some(SendTime::At(at)),
        ..crate::batches::request(0..guests, key)
    }
}

#[tokio::test]
async fn a_batch_for_later_begins_at_its_time() {
    let setup = with_guests(3).await;
    let due = in_hours(&setup, 30);
    let taken = take(&setup, batch_for(3, Some("k1"), due)).await.unwrap();
    assert_eq!(taken.batch.state, BatchState::Scheduled);
    let again = take(&setup, batch_for(3, Some("k1"), due)).await.unwrap();
    assert_eq!((again.repeated, again.batch.state), (true, BatchState::Scheduled));
    let other = take(
        &setup,
        batch_for(3, Some("k1"), due + SignedDuration::from_mins(1)),
    )
    .await;
    assert!(matches!(
        other,
        Err(InvitationError::Deliver(DeliverError::KeyReused))
    ));
    let id = taken.batch.id.clone();
    assert_eq!(run(&setup, &taken.batch.make_job(0), 1).await, Verdict::Done);
    pass_until(&setup, due - SignedDuration::from_mins(1)).await;
    assert_eq!(progress(&setup, &id).await.counts.queued, 3);
    let ids: Vec<_> = (0..3)
        .map(|number| taken.batch.derive_invitation_id(&guest_id(number)))
        .collect();
    let tenant = &setup.fixture.bound.tenant.id;
    assert_eq!(
        succeed(find_invitation(&setup.world.store, tenant, &ids[0])).await,
        None
    );
    setup.pass(60);
    assert_eq!(reconcile(&setup.world).await.unwrap().count_of("batches"), 1);
    expand(&setup, &id).await;
    let batch = stored(&setup, &id).await;
    leave(&setup, &batch, 0..3).await;
    assert_eq!(setup.world.providers.sent(), 3);
    for id in &ids {
        assert_eq!(
            view(&setup, id.as_str()).await.unwrap().status,
            InvitationStatus::Sent
        );
    }
}

#[tokio::test]
async fn a_batch_for_later_is_paused_resumed_and_cancelled_before_its_time() {
    let setup = with_guests(2).await;
    let due = in_hours(&setup, 30);
    let batch = take(&setup, batch_for(2, None, due)).await.unwrap().batch;
    assert_eq!(
        order(&setup, &batch.id, BatchOrder::Pause).await.unwrap().state,
        BatchState::Paused
    );
    let resumed = order(&setup, &batch.id, BatchOrder::Resume).await.unwrap();
    assert_eq!(
        (resumed.state, resumed.due_at),
        (BatchState::Scheduled, Some(due))
    );
    order(&setup, &batch.id, BatchOrder::Pause).await.unwrap();
    pass_until(&setup, due + SignedDuration::from_hours(1)).await;
    assert_eq!(stored(&setup, &batch.id).await.expanded, 0);
    let late = order(&setup, &batch.id, BatchOrder::Resume).await.unwrap();
    assert_eq!(late.state, BatchState::Running, "its time is over");
    expand(&setup, &batch.id).await;
    leave(&setup, &stored(&setup, &batch.id).await, 0..2).await;
    let other = take(&setup, batch_for(2, None, in_hours(&setup, 30)))
        .await
        .unwrap()
        .batch;
    order(&setup, &other.id, BatchOrder::Cancel).await.unwrap();
    pass_until(&setup, other.send_at.unwrap()).await;
    assert_eq!(progress(&setup, &other.id).await.counts.cancelled, 2);
    assert_eq!(setup.world.providers.sent(), 2);
}

#[tokio::test]
async fn a_batch_has_no_clock_of_its_own() {
    let setup = with_guests(1).await;
    let on_clock = BatchRequest {
        send_at: Some(SendTime::OnClock("2027-03-05T09:00:00".parse().unwrap())),
        ..crate::batches::request(0..1, None)
    };
    assert!(matches!(
        take(&setup, on_clock).await,
        Err(InvitationError::BatchTime)
    ));
}
