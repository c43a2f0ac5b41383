//! Batches that come from a backup: what they may have sent since is looked for, and is never sent unmarked.

use crate::batches::{add_guests, expand, guest_id, leave, message_of, order, phone, request, stored, take};
use crate::email_batches::email_batch;
use crate::email_deliveries::{Carriers, letters, to_guest, work};
use crate::invitation_rules::opt_out_number;
use crate::invitations::{fill, setup, setup_of, try_invite, view};
use crate::world::Setup;
use recado_domain::config::EmailSenderKind;
use recado_domain::delivery_rules::DeliveryRules;
use recado_domain::ids::BatchId;
use recado_domain::invitations::{Batch, BatchOrder, BatchState, InvitationState, InvitationStatus};
use recado_domain::outbox::{Outbox, OutboxState};
use recado_domain::provider::Provider;
use recado_domain::reason::Reason;
use recado_embedded::{BackupProgress, Clock, Embedded, back_up_folder, restore_backup};
use recado_features::FEATURES;
use recado_pipeline::Components;
use recado_pipeline::ports::{Conversations, SendEvidence, WriteOutcome};
use recado_pipeline::records::batches::find_batch;
use recado_pipeline::table::write_record;
use recado_testkit::builders::{Fixture, fresh};
use recado_testkit::ports::succeed;
use std::path::{Path, PathBuf};

/// Number of guests.
const GUESTS: usize = 4;

/// Folders that are gone when the test ends.
struct Folders(PathBuf);

impl Drop for Folders {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A batch that was backed up when one of its guests was invited, then sent to all, and restored.
async fn sent_and_restored() -> (Setup, Batch, Folders) {
    let folders = Folders(Path::new(env!("CARGO_TARGET_TMPDIR")).join(fresh("restored")));
    let [live, copy, other] = ["live", "copy", "other"].map(|name| folders.0.join(name));
    std::fs::create_dir_all(&folders.0).unwrap();
    let opened = Setup::set_on(Fixture::new(), |clock| {
        Embedded::open_folder(&live, clock).unwrap()
    });
    let mut setup = add_guests(fill(opened.await).await, GUESTS).await;
    let batch = take(&setup, request(0..GUESTS, None)).await.unwrap().batch;
    let _ = crate::batches::run(&setup, &batch.make_job(0), 1).await;
    assert_eq!(stored(&setup, &batch.id).await.expanded, 1);
    back_up_folder(&live, &copy, setup.now(), &BackupProgress::default()).unwrap();
    setup.pass(1);
    expand(&setup, &batch.id).await;
    leave(&setup, &batch, 0..GUESTS).await;
    assert_eq!(setup.world.providers.sent(), 4);
    setup.pass(3600);
    restore_backup(&copy, &other, &BackupProgress::default()).unwrap();
    let time = setup.world.system.clone();
    let clock = Clock::new(move || recado_pipeline::ports::System::now(&time));
    let restored = Embedded::open_folder(&other, clock).unwrap();
    let (providers, settings) = (setup.world.providers.clone(), setup.world.settings().clone());
    let (model, time) = (setup.world.llm.clone(), setup.world.system.clone());
    setup.world = Components::new(
        restored.clone(),
        restored,
        providers,
        model,
        time,
        &FEATURES,
        settings,
    );
    let counts = succeed(setup.world.store.resume_from_backup()).await.unwrap();
    assert_eq!((counts.batches, counts.messages), (1, 1));
    (setup, batch, folders)
}

async fn resume(setup: &Setup, id: &BatchId) {
    assert_eq!(stored(setup, id).await.state, BatchState::Paused);
    order(setup, id, BatchOrder::Resume).await.unwrap();
    expand(setup, id).await;
}

async fn out(setup: &Setup, batch: &Batch, number: usize) -> Outbox {
    let id = message_of(setup, batch, number).await;
    let message = succeed(setup.world.store.find_message(&id)).await;
    message.unwrap().out.unwrap()
}

async fn status(setup: &Setup, batch: &Batch, number: usize) -> InvitationStatus {
    let id = batch.derive_invitation_id(&guest_id(number));
    view(setup, id.as_str()).await.unwrap().status
}

/// A batch of a backup that is made now, which nothing of the installation shows to have been sent.
async fn doubt(setup: &Setup, id: &BatchId) {
    let (store, tenant) = (&setup.world.store, &setup.fixture.bound.tenant.id);
    let mut batch = succeed(find_batch(store, tenant, id)).await.unwrap();
    assert!(batch.record.doubt_restored(setup.now(), setup.now()));
    assert_eq!(
        succeed(write_record(store, &mut batch)).await,
        WriteOutcome::Written
    );
}

#[tokio::test]
async fn what_the_provider_tells_of_is_not_sent_again() {
    let (setup, batch, _folders) = sent_and_restored().await;
    *setup.world.providers.evidence.lock().unwrap() = SendEvidence::Sent {
        provider_message_id: None,
    };
    resume(&setup, &batch.id).await;
    leave(&setup, &batch, 0..GUESTS).await;
    assert_eq!(setup.world.providers.sent(), 4, "each guest once");
    for number in 0..GUESTS {
        assert_eq!(status(&setup, &batch, number).await, InvitationStatus::Sent);
    }
}

#[tokio::test]
async fn what_the_provider_does_not_know_is_sent_and_marked() {
    let (setup, batch, _folders) = sent_and_restored().await;
    resume(&setup, &batch.id).await;
    leave(&setup, &batch, 0..GUESTS).await;
    assert_eq!(setup.world.providers.sent(), 8);
    for number in 0..GUESTS {
        let out = out(&setup, &batch, number).await;
        assert!(
            out.maybe_sent && matches!(out.state, OutboxState::Sent { .. }),
            "{number}: {out:?}"
        );
    }
}

#[tokio::test]
async fn who_opted_out_is_looked_for_and_sent_nothing() {
    let setup = add_guests(setup().await, 1).await;
    let batch = take(&setup, request(0..1, None)).await.unwrap().batch;
    doubt(&setup, &batch.id).await;
    opt_out_number(&setup, &phone(0)).await;
    expand(&setup, &batch.id).await;
    leave(&setup, &batch, 0..1).await;
    assert_eq!(setup.world.providers.sent(), 0);
    let out = out(&setup, &batch, 0).await;
    assert!(out.maybe_sent, "{out:?}");
    assert_eq!(status(&setup, &batch, 0).await, InvitationStatus::Cancelled);
}

#[tokio::test]
async fn where_nobody_can_be_asked_each_is_a_dead_letter() {
    let mut fixture = Fixture::on(Provider::Meta);
    fixture.bound.tenant.deliveries = DeliveryRules::default();
    let setup = add_guests(setup_of(fixture).await, 2).await;
    let batch = take(&setup, request(0..2, None)).await.unwrap().batch;
    doubt(&setup, &batch.id).await;
    expand(&setup, &batch.id).await;
    leave(&setup, &batch, 0..2).await;
    assert_eq!(setup.world.providers.sent(), 0);
    let found = letters(&setup).await;
    let reasons: Vec<Reason> = found.iter().map(|letter| letter.reason).collect();
    assert_eq!(reasons, [Reason::UnknownOutcome; 2]);
}

#[tokio::test]
async fn emails_are_dead_letters_and_keep_their_place() {
    let setup = crate::email_deliveries::setup(EmailSenderKind::Resend, DeliveryRules::default()).await;
    let carriers = Carriers::default();
    let request = email_batch(&setup, 2).await;
    let batch = take(&setup, request).await.unwrap().batch;
    doubt(&setup, &batch.id).await;
    expand(&setup, &batch.id).await;
    work(&setup, &carriers, 3).await;
    assert_eq!(carriers.given(), 0);
    let found = letters(&setup).await;
    let reasons: Vec<Reason> = found.iter().map(|letter| letter.reason).collect();
    assert_eq!(reasons, [Reason::UnknownOutcome; 2]);
    let again = try_invite(&setup, to_guest(&setup, "e0")).await.unwrap();
    assert!(matches!(
        again.invitation.state,
        InvitationState::Duplicate { .. }
    ));
}

#[tokio::test]
async fn a_batch_that_was_paused_when_it_was_backed_up_is_doubted_as_well() {
    let setup = add_guests(setup().await, 1).await;
    let batch = take(&setup, request(0..1, None)).await.unwrap().batch;
    order(&setup, &batch.id, BatchOrder::Pause).await.unwrap();
    doubt(&setup, &batch.id).await;
    resume(&setup, &batch.id).await;
    leave(&setup, &batch, 0..1).await;
    assert!(out(&setup, &batch, 0).await.maybe_sent);
}
