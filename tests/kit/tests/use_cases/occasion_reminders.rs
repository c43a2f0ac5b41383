//! Occasions carry reminders to their guests: each once, at its time, and none of an occasion that moved or was cancelled.

use crate::batches::{add_guests, expand, guest_id, leave, look_for_end, progress, run, stored, with_guests};
use crate::invitation_rules::{pass_until, quiet_setup};
use crate::invitations::{occasion_id, request, setup, setup_with, try_invite};
use crate::world::Setup;
use jiff::{SignedDuration, Timestamp};
use recado_configuration::{ApplyOptions, ConfigureError};
use recado_domain::access::Caller;
use recado_domain::config::ConfigDocument;
use recado_domain::delivery_rules::DeliveryRules;
use recado_domain::ids::GuestId;
use recado_domain::invitations::{
    Batch, BatchOrder, BatchState, GuestStatus, InvitationState, Occasion, make_chunk,
};
use recado_invitations::InvitationRequest;
use recado_pipeline::Verdict;
use recado_pipeline::ports::WriteOutcome;
use recado_pipeline::reconcile::reconcile;
use recado_pipeline::records::batches::list_batch_chunks;
use recado_pipeline::records::guests::{GuestOutcome, find_guest, save_guest};
use recado_pipeline::records::invitations::find_invitation;
use recado_pipeline::records::occasions::find_occasion;
use recado_pipeline::table::{Versioned, put_record, write_record};
use recado_testkit::ports::succeed;
use serde_json::{Value, json};

/// The occasion of the setup, begun at `begins_at`, with these reminders.
async fn occasion(setup: &Setup, begins_at: Timestamp, reminders: Value) -> Occasion {
    let tenant = &setup.fixture.bound.tenant;
    let known = succeed(find_occasion(&setup.world.store, &tenant.id, &occasion_id())).await;
    let begins_at = begins_at.to_zoned(tenant.resolve_time_zone()).datetime();
    Occasion {
        starts_at: Some(begins_at),
        reminders: serde_json::from_value(reminders).unwrap(),
        ..known.unwrap()
    }
}

async fn try_apply(setup: &Setup, occasion: &Occasion) -> Result<(), ConfigureError> {
    let document = ConfigDocument {
        occasions: vec![occasion.clone()],
        ..ConfigDocument::default()
    };
    let options = ApplyOptions::default();
    Box::pin(recado_configuration::apply_configuration(
        &setup.world,
        &Caller::installation(),
        document,
        options,
    ))
    .await
    .map(drop)
}

pub(crate) async fn apply(setup: &Setup, begins_at: Timestamp, reminders: Value) -> Occasion {
    let occasion = occasion(setup, begins_at, reminders).await;
    try_apply(setup, &occasion).await.unwrap();
    occasion
}

fn a_day_before() -> Value {
    json!([{"before": "P1D", "template": "remind"}])
}

/// All batches, those that are due last first.
pub(crate) async fn batches(setup: &Setup) -> Vec<Batch> {
    let page = crate::invitations::page();
    recado_batches::list_batches(&setup.world, &Caller::installation(), None, &page)
        .await
        .unwrap()
        .items
}

fn is_withdrawn(batch: &Batch) -> bool {
    batch
        .reminder
        .as_ref()
        .is_some_and(|reminder| reminder.is_withdrawn)
        && batch.state == BatchState::Cancelled
}

fn in_hours(setup: &Setup, hours: i64) -> Timestamp {
    let whole = setup.now().as_second() / 60 * 60;
    Timestamp::from_second(whole).unwrap() + SignedDuration::from_hours(hours)
}

async fn answer(setup: &Setup, number: usize, status: GuestStatus) {
    let tenant = &setup.fixture.bound.tenant.id;
    let store = &setup.world.store;
    let found = succeed(find_guest(store, tenant, &occasion_id(), &guest_id(number))).await;
    let mut guest = found.unwrap();
    guest.record.status = status;
    assert_eq!(
        succeed(save_guest(store, &mut guest)).await,
        GuestOutcome::Written
    );
}

#[tokio::test]
async fn a_reminder_goes_once_to_each_guest_who_has_its_status_when_it_falls_due() {
    let setup = with_guests(5).await;
    answer(&setup, 1, GuestStatus::Declined).await;
    let begins_at = in_hours(&setup, 30);
    apply(&setup, begins_at, a_day_before()).await;
    let planned = batches(&setup).await.remove(0);
    let due = begins_at - SignedDuration::from_hours(24);
    assert_eq!(
        (planned.state, planned.send_at, planned.recipients),
        (BatchState::Scheduled, Some(due), 0)
    );
    pass_until(&setup, due - SignedDuration::from_mins(1)).await;
    assert_eq!(stored(&setup, &planned.id).await.state, BatchState::Scheduled);
    // Whoever answers before it falls due counts as that.
    answer(&setup, 2, GuestStatus::Confirmed).await;
    answer(&setup, 3, GuestStatus::Declined).await;
    setup.pass(60);
    assert_eq!(reconcile(&setup.world).await.unwrap().count_of("batches"), 1);
    expand(&setup, &planned.id).await;
    let batch = stored(&setup, &planned.id).await;
    leave(&setup, &batch, [0, 2, 4]).await;
    let said = setup.world.providers.contents();
    assert!(said[0].render_text().starts_with("Hola Guest 0: Boda de Ana"));
    let counts = progress(&setup, &batch.id).await.counts;
    assert_eq!((counts.sent, counts.queued, counts.refused), (3, 0, 0));
    assert_eq!(look_for_end(&setup, &batch.id).await.state, BatchState::Finished);
    // Neither a pass, nor a job, nor the same document again sends anything twice.
    setup.pass(200);
    assert_eq!(reconcile(&setup.world).await.unwrap().count_of("batches"), 0);
    assert_eq!(run(&setup, &batch.make_job(0), 1).await, Verdict::Done);
    apply(&setup, begins_at, a_day_before()).await;
    setup.pass(60);
    reconcile(&setup.world).await.unwrap();
    leave(&setup, &batch, [0, 2, 4]).await;
    assert_eq!(
        (setup.world.providers.sent(), batches(&setup).await.len()),
        (3, 1)
    );
}

#[tokio::test]
async fn reminders_move_with_the_date_and_go_when_the_occasion_is_cancelled() {
    let setup = with_guests(2).await;
    let (first, second) = (in_hours(&setup, 30), in_hours(&setup, 80));
    apply(&setup, first, a_day_before()).await;
    apply(&setup, second, a_day_before()).await;
    let [later, earlier] = &batches(&setup).await[..] else {
        panic!("two batches")
    };
    assert!(is_withdrawn(earlier));
    assert_eq!(later.state, BatchState::Scheduled);
    // Back to the first date: its reminder is planned again.
    let mut occasion = apply(&setup, first, a_day_before()).await;
    assert_eq!(stored(&setup, &earlier.id).await.state, BatchState::Scheduled);
    assert!(is_withdrawn(&stored(&setup, &later.id).await));
    occasion.cancelled = true;
    try_apply(&setup, &occasion).await.unwrap();
    assert!(is_withdrawn(&stored(&setup, &earlier.id).await));
    for begins_at in [first, second] {
        pass_until(&setup, begins_at - SignedDuration::from_hours(23)).await;
    }
    assert!(batches(&setup).await.iter().all(is_withdrawn));
    assert_eq!(setup.world.providers.sent(), 0);
}

#[tokio::test]
async fn what_a_person_cancelled_stays_cancelled_and_what_is_paused_waits() {
    let setup = with_guests(1).await;
    let begins_at = in_hours(&setup, 30);
    let both = json!([{"before": "P1D", "template": "remind"}, {"before": "PT3H", "template": "remind"}]);
    apply(&setup, begins_at, both.clone()).await;
    let [paused, cancelled] = &batches(&setup).await[..] else {
        panic!("two batches")
    };
    let order = async |batch: &Batch, order| crate::batches::order(&setup, &batch.id, order).await.unwrap();
    order(cancelled, BatchOrder::Cancel).await;
    order(paused, BatchOrder::Pause).await;
    apply(&setup, begins_at + SignedDuration::from_mins(1), both.clone()).await;
    apply(&setup, begins_at, both).await;
    pass_until(&setup, begins_at - SignedDuration::from_hours(2)).await;
    assert_eq!(stored(&setup, &cancelled.id).await.state, BatchState::Cancelled);
    // The moved date withdrew the paused one, and the first date planned it again.
    assert_eq!(stored(&setup, &paused.id).await.state, BatchState::Running);
    expand(&setup, &paused.id).await;
    leave(&setup, &stored(&setup, &paused.id).await, [0]).await;
    assert_eq!(setup.world.providers.sent(), 1);
}

#[tokio::test]
async fn an_occasion_that_a_crash_left_without_its_reminders_gets_them_when_the_old_ones_fall_due() {
    let setup = with_guests(2).await;
    let (first, second) = (in_hours(&setup, 30), in_hours(&setup, 80));
    apply(&setup, first, a_day_before()).await;
    let old = batches(&setup).await.remove(0);
    // The date is another, and nobody planned anything for it.
    let moved = occasion(&setup, second, a_day_before()).await;
    succeed(put_record(&setup.world.store, &moved)).await;
    pass_until(&setup, first - SignedDuration::from_hours(24)).await;
    assert!(is_withdrawn(&stored(&setup, &old.id).await));
    let new = batches(&setup).await.remove(0);
    assert_eq!(
        (new.state, new.send_at),
        (
            BatchState::Scheduled,
            Some(second - SignedDuration::from_hours(24))
        )
    );
    assert_eq!(setup.world.providers.sent(), 0);
}

#[tokio::test]
async fn a_start_that_a_crash_ended_goes_on_behind_what_it_stored() {
    let setup = with_guests(150).await;
    let begins_at = in_hours(&setup, 30);
    apply(&setup, begins_at, a_day_before()).await;
    let planned = batches(&setup).await.remove(0);
    let mut ids: Vec<GuestId> = (0..150).map(guest_id).collect();
    ids.sort();
    let mut chunk = Versioned::new(make_chunk(&planned, 0, &ids[..100]));
    let store = &setup.world.store;
    assert_eq!(
        succeed(write_record(store, &mut chunk)).await,
        WriteOutcome::Written
    );
    pass_until(&setup, begins_at - SignedDuration::from_hours(24)).await;
    let begun = stored(&setup, &planned.id).await;
    assert_eq!((begun.state, begun.recipients), (BatchState::Running, 150));
    let chunks = succeed(list_batch_chunks(store, &begun.tenant, &begun.id)).await;
    let named: Vec<GuestId> = chunks
        .iter()
        .flat_map(|chunk| chunk.record.recipients.iter().filter_map(|one| one.guest.clone()))
        .collect();
    assert_eq!((chunks.len(), named), (2, ids));
}

#[tokio::test]
async fn an_occasion_that_moves_while_its_reminder_goes_out_stops_it() {
    let setup = with_guests(12).await;
    let begins_at = in_hours(&setup, 30);
    apply(&setup, begins_at, a_day_before()).await;
    let planned = batches(&setup).await.remove(0);
    pass_until(&setup, begins_at - SignedDuration::from_hours(24)).await;
    let begun = stored(&setup, &planned.id).await;
    assert_eq!(run(&setup, &begun.make_job(0), 1).await, Verdict::Done);
    let moved = occasion(&setup, begins_at + SignedDuration::from_hours(48), a_day_before()).await;
    // A crash came before the reminder was withdrawn.
    succeed(put_record(&setup.world.store, &moved)).await;
    setup.pass(10);
    let now = stored(&setup, &planned.id).await;
    assert!(now.is_expanding());
    assert_eq!(run(&setup, &now.make_job(now.expanded), 1).await, Verdict::Done);
    assert!(is_withdrawn(&stored(&setup, &planned.id).await));
    leave(&setup, &now, 0..now.expanded).await;
    assert_eq!(setup.world.providers.sent(), 0, "what waited is cancelled, too");
}

#[tokio::test]
async fn reminders_by_one_template_are_no_repeats_of_each_other() {
    let setup = with_guests(1).await;
    let begins_at = in_hours(&setup, 26);
    let both = json!([{"before": "P1D", "template": "remind"}, {"before": "PT12H", "template": "remind"}]);
    apply(&setup, begins_at, both).await;
    let by_hand = InvitationRequest {
        template: recado_domain::ids::InvitationTemplateName::parse("remind").unwrap(),
        guest: recado_invitations::NamedGuest::Id(guest_id(0)),
        ..request(&setup, None)
    };
    let by_hand = try_invite(&setup, by_hand).await.unwrap();
    crate::invitations::leave(&setup, &crate::invitations::message_of(&by_hand)).await;
    for hours in [24, 12] {
        let due = begins_at - SignedDuration::from_hours(hours);
        // The clock stands between two seconds.
        pass_until(&setup, due + SignedDuration::from_secs(1)).await;
        let all = batches(&setup).await;
        let batch = all.iter().find(|batch| batch.send_at == Some(due)).unwrap();
        expand(&setup, &batch.id).await;
        leave(&setup, batch, [0]).await;
    }
    assert_eq!(setup.world.providers.sent(), 3);
}

#[tokio::test]
async fn nobody_is_reminded_of_what_has_begun() {
    // Recado was not there when the reminder fell due.
    let late = with_guests(1).await;
    let begins_at = in_hours(&late, 30);
    apply(&late, begins_at, a_day_before()).await;
    let planned = batches(&late).await.remove(0);
    pass_until(&late, begins_at).await;
    assert!(is_withdrawn(&stored(&late, &planned.id).await));
    // Quiet hours would put it off until the occasion has begun.
    let (quiet, end) = quiet_setup().await;
    let quiet = add_guests(quiet, 1).await;
    apply(
        &quiet,
        end - SignedDuration::from_mins(1),
        json!([{"before": "PT10M", "template": "remind"}]),
    )
    .await;
    let planned = batches(&quiet).await.remove(0);
    pass_until(&quiet, planned.send_at.unwrap()).await;
    expand(&quiet, &planned.id).await;
    let tenant = &quiet.fixture.bound.tenant.id;
    let batch = stored(&quiet, &planned.id).await;
    let id = batch.derive_invitation_id(&guest_id(0));
    let refused = succeed(find_invitation(&quiet.world.store, tenant, &id)).await;
    let refused = refused.unwrap().record;
    assert!(matches!(&refused.state, InvitationState::Refused { error } if error.contains("has begun")));
    assert_eq!(progress(&quiet, &batch.id).await.counts.refused, 1);
    assert_eq!(quiet.world.providers.sent() + late.world.providers.sent(), 0);
}

#[tokio::test]
async fn a_reminder_that_would_be_due_already_or_has_no_template_is_not_planned() {
    let setup = setup().await;
    apply(&setup, in_hours(&setup, 12), a_day_before()).await;
    assert_eq!(batches(&setup).await, []);
    let setup = setup_with(DeliveryRules::default()).await;
    let unknown = json!([{"before": "P1D", "template": "nobody_knows"}]);
    let occasion = occasion(&setup, in_hours(&setup, 30), unknown).await;
    let refused = try_apply(&setup, &occasion).await;
    assert!(
        matches!(&refused, Err(ConfigureError::InvitationEntry { why, .. }) if why.contains("nobody_knows"))
    );
    assert_eq!(batches(&setup).await, []);
}
