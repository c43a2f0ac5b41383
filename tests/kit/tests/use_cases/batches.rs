//! Batches of invitations: taken at once, expanded piece by piece, each guest once, and stopped when somebody says so.

use crate::erasure::cut_off;
use crate::invitations::{occasion_id, setup};
use crate::world::Setup;
use recado_batches::{AcceptedBatch, BatchProgress, BatchRequest};
use recado_contacts::ContactQuery;
use recado_domain::access::Caller;
use recado_domain::ids::{BatchId, GuestId, IdempotencyKey, InvitationTemplateName, MessageId};
use recado_domain::instance::{ConnectionStatus, ConnectionUpdate, InstanceChange, InstanceState};
use recado_domain::invitations::{
    Batch, BatchOrder, BatchState, InvitationChannel, InvitationState, TemplateValues, parse_guest_list,
};
use recado_domain::wake_up::TurnsJob;
use recado_invitations::InvitationError;
use recado_pipeline::ports::{Instances, PageRequest};
use recado_pipeline::records::batches::{find_batch, list_batch_chunks};
use recado_pipeline::records::guests::find_guest;
use recado_pipeline::{Verdict, handle_turns_message, reconcile};
use recado_testkit::builders::correlation;
use recado_testkit::ports::succeed;
use std::fmt::Write as _;

pub(crate) fn guest_id(number: usize) -> GuestId {
    GuestId::parse(&format!("g{number}")).unwrap()
}

pub(crate) fn phone(number: usize) -> String {
    format!("521555001{number:04}")
}

/// A tenant with an occasion and `count` guests; the contact of the fixture is none of them.
pub(crate) async fn with_guests(count: usize) -> Setup {
    add_guests(setup().await, count).await
}

/// The same for a tenant that is set up.
pub(crate) async fn add_guests(mut setup: Setup, count: usize) -> Setup {
    // Pieces of one recipient, so that a few guests are several pieces.
    setup.world.deps_mut().settings_mut().batch_piece = 1;
    let mut list = "id,name,phone\n".to_owned();
    for number in 0..count {
        writeln!(list, "{},Guest {number},+{}", guest_id(number), phone(number)).unwrap();
    }
    let rows = parse_guest_list(&list).unwrap();
    for some in rows.chunks(100) {
        let (caller, occasion) = (Caller::installation(), occasion_id());
        let added = recado_occasions::add_guests(&setup.world, &caller, None, &occasion, some.to_vec()).await;
        assert!(added.unwrap().refused.is_empty());
    }
    setup
}

pub(crate) fn request(guests: impl IntoIterator<Item = usize>, key: Option<&str>) -> BatchRequest {
    BatchRequest {
        tenant: None,
        occasion: occasion_id(),
        guests: guests.into_iter().map(guest_id).collect(),
        channel: InvitationChannel::Whatsapp,
        template: InvitationTemplateName::parse("invite").unwrap(),
        variables: TemplateValues::new(),
        metadata: None,
        send_at: None,
        key: key.map(|key| IdempotencyKey::parse(key).unwrap()),
        correlation: correlation(),
    }
}

pub(crate) async fn take(setup: &Setup, request: BatchRequest) -> Result<AcceptedBatch, InvitationError> {
    Box::pin(recado_batches::send_batch(
        &setup.world,
        &Caller::installation(),
        request,
    ))
    .await
}

pub(crate) async fn stored(setup: &Setup, id: &BatchId) -> Batch {
    let tenant = &setup.fixture.bound.tenant.id;
    let found = succeed(find_batch(&setup.world.store, tenant, id)).await;
    found.unwrap().record
}

pub(crate) async fn run(setup: &Setup, job: &TurnsJob, receives: u32) -> Verdict {
    let body = serde_json::to_string(job).unwrap();
    handle_turns_message(&setup.world, &body, receives, None).await
}

/// Runs the jobs of a batch until it is expanded. Returns the time that it took, in seconds.
pub(crate) async fn expand(setup: &Setup, id: &BatchId) -> i64 {
    let begun = setup.now();
    for _ in 0..1_000 {
        let batch = stored(setup, id).await;
        if !batch.is_expanding() {
            return setup.now().duration_since(begun).as_secs();
        }
        if let Verdict::Retry { after } = run(setup, &batch.make_job(batch.expanded), 1).await {
            setup.pass(after.as_secs() + 1);
        }
    }
    panic!("the batch is never expanded");
}

pub(crate) async fn message_of(setup: &Setup, batch: &Batch, number: usize) -> MessageId {
    let id = batch.derive_invitation_id(&guest_id(number));
    let found =
        recado_invitations::find_invitation(&setup.world, &Caller::installation(), None, id.as_str()).await;
    match found.unwrap().invitation.state {
        InvitationState::Message { message } => message,
        other => panic!("no message: {other:?}"),
    }
}

/// Runs the sender for the messages to these guests.
pub(crate) async fn leave(setup: &Setup, batch: &Batch, guests: impl IntoIterator<Item = usize>) {
    for number in guests {
        let message = message_of(setup, batch, number).await;
        setup.send(&message.conversation_and_ordinal().unwrap().0).await;
    }
}

pub(crate) async fn progress(setup: &Setup, id: &BatchId) -> BatchProgress {
    setup.pass(31);
    recado_batches::find_batch(&setup.world, &Caller::installation(), None, id)
        .await
        .unwrap()
}

/// Runs the job that looks for the end of an expanded batch.
pub(crate) async fn look_for_end(setup: &Setup, id: &BatchId) -> Batch {
    setup.pass(31);
    let batch = stored(setup, id).await;
    let verdict = run(setup, &batch.make_job(batch.expanded), 1).await;
    assert_eq!(verdict, Verdict::Done);
    stored(setup, id).await
}

pub(crate) async fn order(setup: &Setup, id: &BatchId, order: BatchOrder) -> Result<Batch, InvitationError> {
    recado_batches::order_batch(&setup.world, &Caller::installation(), None, id, order).await
}

#[tokio::test]
async fn a_batch_is_taken_at_once_and_each_guest_is_invited_once() {
    let setup = with_guests(12).await;
    // A guest who is named twice, one of whom nobody knows, and one who was invited before.
    let before = take(&setup, request([3], None)).await.unwrap().batch;
    expand(&setup, &before.id).await;
    let taken = take(&setup, request((0..12).chain([5, 99]), None)).await.unwrap();
    assert_eq!((taken.guests.len(), taken.repeated), (13, false));
    let progress_before = progress(&setup, &taken.batch.id).await;
    assert_eq!(progress_before.counts.queued, 13);
    expand(&setup, &taken.batch.id).await;
    leave(&setup, &taken.batch, (0..12).filter(|number| *number != 3)).await;
    let counts = progress(&setup, &taken.batch.id).await.counts;
    assert_eq!((counts.sent, counts.duplicate, counts.refused), (11, 1, 1));
    assert_eq!((counts.queued, counts.failed, counts.cancelled), (0, 0, 0));
    assert_eq!(setup.world.providers.sent(), 11);
    let page = PageRequest::first(5);
    let listed = recado_batches::list_batches(&setup.world, &Caller::installation(), None, &page).await;
    let listed: Vec<BatchId> = listed.unwrap().items.into_iter().map(|one| one.id).collect();
    assert_eq!(listed, [taken.batch.id, before.id]);
}

#[tokio::test]
async fn jobs_that_come_twice_or_late_invite_nobody_twice() {
    let setup = with_guests(6).await;
    let batch = take(&setup, request(0..6, None)).await.unwrap().batch;
    let first = batch.make_job(0);
    assert_eq!(run(&setup, &first, 1).await, Verdict::Done);
    assert_eq!(
        run(&setup, &first, 2).await,
        Verdict::Done,
        "it finds nothing to do"
    );
    let early = batch.make_job(5);
    assert_eq!(run(&setup, &early, 1).await, Verdict::RETRY_SOON);
    assert_eq!(run(&setup, &early, 11).await, Verdict::Done);
    expand(&setup, &batch.id).await;
    leave(&setup, &batch, 0..6).await;
    leave(&setup, &batch, 0..6).await;
    assert_eq!(setup.world.providers.sent(), 6);
}

#[tokio::test]
async fn a_piece_that_is_cut_off_anywhere_leaves_a_job_that_goes_on() {
    for polls in 1.. {
        let setup = with_guests(3).await;
        let batch = take(&setup, request(0..3, None)).await.unwrap().batch;
        let mut jobs = setup.due_turns().await;
        assert_eq!(jobs, [batch.make_job(0)]);
        let ended = cut_off(run(&setup, &jobs[0], 1), polls).await;
        // Its job comes again, beside those that it enqueued.
        for _ in 0..20 {
            setup.pass(5);
            jobs.extend(setup.due_turns().await);
            let mut waiting = Vec::new();
            for job in jobs {
                if run(&setup, &job, 2).await != Verdict::Done {
                    waiting.push(job);
                }
            }
            jobs = waiting;
        }
        assert_eq!(stored(&setup, &batch.id).await.expanded, 3, "{polls}");
        leave(&setup, &batch, 0..3).await;
        assert_eq!(setup.world.providers.sent(), 3, "{polls}");
        if ended {
            return;
        }
    }
}

#[tokio::test]
async fn one_key_is_one_batch_and_another_request_with_it_is_refused() {
    let setup = with_guests(3).await;
    let first = take(&setup, request(0..3, Some("k1"))).await.unwrap();
    let again = take(&setup, request(0..3, Some("k1"))).await.unwrap();
    assert!(again.repeated && !first.repeated);
    assert_eq!(again.batch.id, first.batch.id);
    let other = take(&setup, request(0..2, Some("k1"))).await;
    assert!(matches!(
        other,
        Err(InvitationError::Deliver(recado_sends::DeliverError::KeyReused))
    ));
    let empty = take(&setup, request([], None)).await;
    assert!(matches!(empty, Err(InvitationError::BatchSize)));
}

#[tokio::test]
async fn after_a_cancel_nothing_leaves_and_everybody_is_accounted_for() {
    let setup = with_guests(8).await;
    let batch = take(&setup, request(0..8, None)).await.unwrap().batch;
    while stored(&setup, &batch.id).await.expanded < 4 {
        let now = stored(&setup, &batch.id).await;
        if let Verdict::Retry { after } = run(&setup, &now.make_job(now.expanded), 1).await {
            setup.pass(after.as_secs() + 1);
        }
    }
    leave(&setup, &batch, 0..2).await;
    let asked = setup.now();
    let cancelled = order(&setup, &batch.id, BatchOrder::Cancel).await.unwrap();
    assert_eq!(cancelled.state, BatchState::Cancelled);
    assert!(
        setup.now().duration_since(asked).as_secs() >= 2,
        "permits are over"
    );
    leave(&setup, &batch, 2..4).await;
    expand(&setup, &batch.id).await;
    assert_eq!(run(&setup, &batch.make_job(4), 1).await, Verdict::Done);
    assert_eq!(setup.world.providers.sent(), 2);
    let counts = progress(&setup, &batch.id).await.counts;
    assert_eq!((counts.sent, counts.cancelled, counts.queued), (2, 6, 0));
    let resumed = order(&setup, &batch.id, BatchOrder::Resume).await;
    assert!(matches!(resumed, Err(InvitationError::Order(_))));
}

#[tokio::test]
async fn a_paused_batch_waits_and_goes_on_and_holds_up_nothing_else() {
    let setup = with_guests(4).await;
    let batch = take(&setup, request(0..4, None)).await.unwrap().batch;
    expand(&setup, &batch.id).await;
    order(&setup, &batch.id, BatchOrder::Pause).await.unwrap();
    leave(&setup, &batch, 0..4).await;
    assert_eq!(setup.world.providers.sent(), 0);
    assert_eq!(progress(&setup, &batch.id).await.counts.queued, 4);
    // Another message to one of the guests does not wait behind the invitation.
    let conversation = message_of(&setup, &batch, 0)
        .await
        .conversation_and_ordinal()
        .unwrap()
        .0;
    let other = recado_sends::DeliverRequest {
        to: format!("+{}", phone(0)),
        content: recado_domain::content::Content::from_text("hello"),
        options: recado_domain::options::SendOptions::default(),
        key: None,
        metadata: None,
        send_at: None,
        correlation: correlation(),
    };
    let (caller, instance) = (Caller::installation(), setup.fixture.instance().clone());
    recado_sends::accept_message(&setup.world, &caller, &instance, other)
        .await
        .unwrap();
    setup.send(&conversation).await;
    assert_eq!(setup.world.providers.sent(), 1);
    order(&setup, &batch.id, BatchOrder::Resume).await.unwrap();
    leave(&setup, &batch, 0..4).await;
    assert_eq!(setup.world.providers.sent(), 5);
}

#[tokio::test]
async fn a_lost_job_is_found_and_a_closed_instance_waited_for() {
    let setup = with_guests(3).await;
    let batch = take(&setup, request(0..3, None)).await.unwrap().batch;
    let instance = setup.fixture.instance().clone();
    let change = |connection| {
        InstanceChange::Connection(ConnectionUpdate {
            connection,
            at: setup.now(),
            probe_at: None,
            asked_at: None,
            releases_waiting: false,
        })
    };
    let seen = InstanceState::default();
    let closed = change(ConnectionStatus::Closed);
    succeed(setup.world.store.change_instance_state(&instance, &seen, &closed)).await;
    assert_eq!(run(&setup, &batch.make_job(0), 1).await, Verdict::Done);
    assert_eq!(stored(&setup, &batch.id).await.expanded, 0);
    setup.pass(61);
    let open = change(ConnectionStatus::Open);
    succeed(setup.world.store.change_instance_state(&instance, &seen, &open)).await;
    let report = reconcile::reconcile(&setup.world).await.unwrap();
    assert_eq!(report.count_of("batches"), 1);
    expand(&setup, &batch.id).await;
    assert_eq!(
        reconcile::reconcile(&setup.world)
            .await
            .unwrap()
            .count_of("batches"),
        0
    );
}

#[tokio::test]
async fn batches_of_an_instance_share_a_part_of_its_rate() {
    let setup = with_guests(40).await;
    let first = take(&setup, request(0..20, None)).await.unwrap().batch;
    let second = take(&setup, request(20..40, None)).await.unwrap().batch;
    // One message a second, of which batches use three quarters.
    let took = expand(&setup, &first.id).await + expand(&setup, &second.id).await;
    assert!((50..=80).contains(&took), "{took} s");
}

#[tokio::test]
async fn an_erased_contact_is_no_recipient_any_more() {
    let setup = with_guests(3).await;
    let batch = take(&setup, request(0..3, None)).await.unwrap().batch;
    let query = ContactQuery {
        tenant: setup.fixture.bound.tenant.id.clone(),
        instance: None,
        contact: format!("+{}", phone(1)),
    };
    recado_contacts::erase_contact(&setup.world, &Caller::installation(), &query)
        .await
        .unwrap();
    expand(&setup, &batch.id).await;
    let chunks = succeed(list_batch_chunks(&setup.world.store, &query.tenant, &batch.id)).await;
    let recipients = chunks[0].record.recipients.iter();
    let known: Vec<Option<GuestId>> = recipients.map(|one| one.guest.clone()).collect();
    assert_eq!(known, [Some(guest_id(0)), None, Some(guest_id(2))]);
    let counts = progress(&setup, &batch.id).await.counts;
    assert_eq!((counts.queued, counts.cancelled), (2, 1));
    let store = &setup.world.store;
    let gone = succeed(find_guest(store, &query.tenant, &occasion_id(), &guest_id(1))).await;
    assert_eq!(gone, None);
}
