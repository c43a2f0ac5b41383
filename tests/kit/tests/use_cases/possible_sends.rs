//! Invitations that may have been sent: none is tried again without permission, and no other takes its place unless a person says so.

use crate::batches::{add_guests, expand, guest_id};
use crate::email_deliveries::{Carriers, letters, status as email_status, to_guest, work};
use crate::invitation_rules::{opt_out_email, pass_until, quiet_setup};
use crate::invitations::{invite, leave, message_of, occasion_id, request, setup, try_invite, view};
use crate::world::Setup;
use jiff::SignedDuration;
use recado_dead_letters::redrive_dead_letter;
use recado_domain::access::Caller;
use recado_domain::config::EmailSenderKind;
use recado_domain::delivery_rules::DeliveryRules;
use recado_domain::event::EventKind;
use recado_domain::invitations::{InvitationChannel, InvitationState, InvitationStatus};
use recado_domain::message::Message;
use recado_domain::outbox::{Outbox, OutboxState};
use recado_domain::reason::Reason;
use recado_invitations::{AcceptedInvitation, InvitationRequest};
use recado_pipeline::Verdict;
use recado_pipeline::ports::{EmailError, SendOutcome};
use recado_pipeline::records::guests::{find_guest, save_guest};
use recado_pipeline::table::put_record;
use recado_testkit::ports::succeed;
use serde_json::json;

fn answers_unknown(setup: &Setup) {
    setup.answers(SendOutcome::Unknown {
        why: "HTTP 500: server error".to_owned(),
        timed_out: false,
    });
}

async fn message(setup: &Setup, accepted: &AcceptedInvitation) -> Message {
    let found = view(setup, accepted.invitation.id.as_str()).await.unwrap();
    found.message.unwrap().message
}

async fn out(setup: &Setup, accepted: &AcceptedInvitation) -> Outbox {
    message(setup, accepted).await.out.unwrap()
}

/// An invitation whose first attempt had an unknown outcome, and that is queued again.
async fn tried_once(setup: &Setup) -> AcceptedInvitation {
    let accepted = invite(setup).await;
    answers_unknown(setup);
    let conversation = message_of(&accepted).conversation_and_ordinal().unwrap().0;
    let _ = setup.job(&conversation).await;
    setup.pass(400);
    let _ = setup.job(&conversation).await;
    let queued = out(setup, &accepted).await;
    assert!(
        queued.maybe_sent && queued.state == OutboxState::Queued,
        "{queued:?}"
    );
    accepted
}

/// An invitation that was given up after five attempts of unknown outcome.
async fn tried_in_vain(setup: &Setup) -> AcceptedInvitation {
    for _ in 0..5 {
        answers_unknown(setup);
    }
    let accepted = invite(setup).await;
    leave(setup, &message_of(&accepted)).await;
    let given_up = view(setup, accepted.invitation.id.as_str()).await.unwrap();
    assert_eq!(given_up.status, InvitationStatus::Failed);
    let why = given_up.explain_failure().unwrap();
    assert!(
        why.contains("unknown_outcome") && why.contains("may have it"),
        "{why}"
    );
    accepted
}

fn assert_duplicate(again: &AcceptedInvitation, of: &AcceptedInvitation) {
    let of = of.invitation.id.clone();
    assert_eq!(again.invitation.state, InvitationState::Duplicate { of });
}

/// Permission is asked before each attempt, whatever became of the one before.
#[tokio::test]
async fn who_opts_out_after_an_attempt_of_unknown_outcome_gets_no_other() {
    let setup = setup().await;
    let accepted = tried_once(&setup).await;
    setup.message(&setup.fixture, "W1", "SAIR", false).await;
    leave(&setup, &message_of(&accepted)).await;
    assert_eq!(setup.world.providers.sent(), 1);
    let ended = out(&setup, &accepted).await;
    assert!(matches!(
        ended.state,
        OutboxState::Cancelled {
            reason: Reason::OptedOut,
            ..
        }
    ));
    assert!(ended.maybe_sent);
    let told = view(&setup, accepted.invitation.id.as_str()).await.unwrap();
    assert_eq!(told.status, InvitationStatus::Cancelled);
    let why = told.explain_failure().unwrap();
    assert!(why.contains("may have it"), "{why}");
    // Nor does another take its place, once the guest wants messages again.
    setup.pass(60);
    setup
        .message(&setup.fixture, "W2", "quero receber mensagens", false)
        .await;
    assert_duplicate(&invite(&setup).await, &accepted);
}

#[tokio::test]
async fn who_opts_out_after_a_copy_that_shows_itself_has_got_it() {
    let setup = setup().await;
    let accepted = tried_once(&setup).await;
    let sent = message(&setup, &accepted).await;
    let payload = json!({"address": setup.fixture.address.as_str(), "id": "ECHO-1",
        "text": sent.content.render_text(), "from_me": true});
    let echo = setup.event(EventKind::Message, payload).await;
    assert_eq!(setup.receive(&echo, 1).await, Verdict::Done);
    setup.message(&setup.fixture, "W1", "SAIR", false).await;
    leave(&setup, &message_of(&accepted)).await;
    assert_eq!(setup.world.providers.sent(), 1);
    let settled = message(&setup, &accepted).await;
    assert_eq!(settled.provider_message_id.as_deref(), Some("ECHO-1"));
    assert!(matches!(settled.out.unwrap().state, OutboxState::Sent { .. }));
}

#[tokio::test]
async fn quiet_hours_that_begin_after_an_attempt_of_unknown_outcome_are_quiet() {
    let (setup, end) = quiet_setup().await;
    // 22 hours later the next quiet hours are two hours ahead.
    setup.pass(22 * 3600);
    let end = end + SignedDuration::from_hours(24);
    let accepted = tried_once(&setup).await;
    setup.pass(2 * 3600);
    leave(&setup, &message_of(&accepted)).await;
    assert_eq!(setup.world.providers.sent(), 1);
    pass_until(&setup, end + SignedDuration::from_mins(6)).await;
    leave(&setup, &message_of(&accepted)).await;
    assert_eq!(setup.world.providers.sent(), 2);
    let sent = out(&setup, &accepted).await;
    assert!(sent.maybe_sent && matches!(sent.state, OutboxState::Sent { .. }));
}

/// A second record would not say that the guest may have the first.
#[tokio::test]
async fn an_invitation_of_unknown_outcome_keeps_its_place_until_a_person_redrives_it() {
    let setup = setup().await;
    let accepted = tried_in_vain(&setup).await;
    assert_duplicate(&invite(&setup).await, &accepted);
    assert_eq!(setup.world.providers.sent(), 5);
    let caller = Caller::installation();
    let id = message_of(&accepted);
    assert!(
        redrive_dead_letter(&setup.world, &caller, id.as_str())
            .await
            .unwrap()
    );
    leave(&setup, &id).await;
    assert_eq!(setup.world.providers.sent(), 6);
    assert!(out(&setup, &accepted).await.maybe_sent);
}

#[tokio::test]
async fn a_certain_failure_after_an_attempt_of_unknown_outcome_frees_no_place() {
    let setup = setup().await;
    let accepted = tried_once(&setup).await;
    setup.answers(SendOutcome::Permanent {
        reason: Reason::WhatsappPermanentError,
        why: "no such number".to_owned(),
    });
    leave(&setup, &message_of(&accepted)).await;
    let failed = view(&setup, accepted.invitation.id.as_str()).await.unwrap();
    assert_eq!(failed.status, InvitationStatus::Failed);
    assert_duplicate(&invite(&setup).await, &accepted);
}

#[tokio::test]
async fn a_batch_sends_nothing_in_the_place_of_what_may_have_been_sent() {
    let setup = add_guests(setup().await, 1).await;
    let to_guest = InvitationRequest {
        guest: recado_invitations::NamedGuest::Id(guest_id(0)),
        ..request(&setup, None)
    };
    for _ in 0..5 {
        answers_unknown(&setup);
    }
    let accepted = try_invite(&setup, to_guest).await.unwrap();
    leave(&setup, &message_of(&accepted)).await;
    let taken = crate::batches::take(&setup, crate::batches::request(0..1, None)).await;
    let batch = taken.unwrap().batch;
    expand(&setup, &batch.id).await;
    let counts = crate::batches::progress(&setup, &batch.id).await.counts;
    assert_eq!((counts.duplicate, setup.world.providers.sent()), (1, 5));
}

#[tokio::test]
async fn a_reminder_whose_occasion_was_cancelled_does_not_leave_though_its_batch_runs() {
    let setup = add_guests(setup().await, 1).await;
    let begins_at = setup.now() + SignedDuration::from_hours(48);
    let planned = crate::occasion_reminders::apply(
        &setup,
        begins_at,
        json!([{"before": "P1D", "template": "remind"}]),
    )
    .await;
    let due = begins_at - SignedDuration::from_hours(24);
    pass_until(&setup, due + SignedDuration::from_mins(1)).await;
    let batch = crate::occasion_reminders::batches(&setup).await.remove(0);
    expand(&setup, &batch.id).await;
    // A crash came after the occasion was stored, and before its reminders were withdrawn.
    let cancelled = recado_domain::invitations::Occasion {
        cancelled: true,
        ..planned
    };
    succeed(put_record(&setup.world.store, &cancelled)).await;
    crate::batches::leave(&setup, &batch, 0..1).await;
    assert_eq!(setup.world.providers.sent(), 0);
    let id = batch.derive_invitation_id(&guest_id(0));
    let ended = view(&setup, id.as_str()).await.unwrap();
    assert_eq!(ended.status, InvitationStatus::Cancelled);
}

/// An e-mail of unknown outcome to `g1`, by a carrier of this kind.
async fn emailed(kind: EmailSenderKind, seconds: i64) -> (Setup, Carriers, AcceptedInvitation) {
    let setup = crate::email_deliveries::setup(kind, DeliveryRules::default()).await;
    let carriers = Carriers::default();
    carriers.answers(EmailError::Unknown("time-out".to_owned()));
    let accepted = try_invite(&setup, to_guest(&setup, "g1")).await.unwrap();
    work(&setup, &carriers, seconds).await;
    assert_eq!(carriers.given(), 1);
    (setup, carriers, accepted)
}

#[tokio::test]
async fn an_email_of_unknown_outcome_keeps_its_place_whatever_becomes_of_it() {
    let (setup, carriers, accepted) = Box::pin(emailed(EmailSenderKind::Smtp, 3)).await;
    let id = accepted.invitation.id.as_str();
    assert_eq!(email_status(&setup, id).await.status, InvitationStatus::Failed);
    let again = try_invite(&setup, to_guest(&setup, "g1")).await.unwrap();
    assert_duplicate(&again, &accepted);
    // Nor is it sent by the other channel.
    let tenant = &setup.fixture.bound.tenant.id;
    let guest = &accepted.invitation.guest;
    let found = succeed(find_guest(&setup.world.store, tenant, &occasion_id(), guest)).await;
    let mut guest = found.unwrap();
    guest.record.phone = Some("5215550011223".to_owned());
    let _ = succeed(save_guest(&setup.world.store, &mut guest)).await;
    let by_whatsapp = InvitationRequest {
        channel: InvitationChannel::Whatsapp,
        ..to_guest(&setup, "g1")
    };
    let again = try_invite(&setup, by_whatsapp).await.unwrap();
    assert_duplicate(&again, &accepted);
    // A person has it sent again; what the carrier then refuses may still have come the first time.
    carriers.answers(EmailError::Refused("no such address".to_owned()));
    let letter = letters(&setup).await.remove(0);
    let caller = Caller::installation();
    assert!(
        redrive_dead_letter(&setup.world, &caller, &letter.id)
            .await
            .unwrap()
    );
    work(&setup, &carriers, 3).await;
    assert_eq!(carriers.given(), 2);
    let again = try_invite(&setup, to_guest(&setup, "g1")).await.unwrap();
    assert_duplicate(&again, &accepted);
}

#[tokio::test]
async fn who_opts_out_after_an_email_of_unknown_outcome_gets_no_other() {
    let (setup, carriers, accepted) = Box::pin(emailed(EmailSenderKind::Resend, 1)).await;
    let first = email_status(&setup, accepted.invitation.id.as_str()).await;
    assert_eq!(first.status, InvitationStatus::Queued);
    opt_out_email(&setup, "ana@example.org").await;
    work(&setup, &carriers, 100).await;
    assert_eq!(carriers.given(), 1);
    let ended = email_status(&setup, accepted.invitation.id.as_str()).await;
    assert_eq!(ended.status, InvitationStatus::Cancelled);
    assert!(ended.explain_failure().unwrap().contains("may have it"));
    assert!(letters(&setup).await.is_empty());
}
