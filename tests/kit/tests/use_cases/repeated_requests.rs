//! Requests for an invitation that come again, at the same time or after a crash: one message leaves, made of what was taken first.

use crate::email_deliveries::{Carriers, to_guest, work};
use crate::erasure::cut_off;
use crate::invitation_rules::capped;
use crate::invitations::{leave, message_of, request, setup_with, try_invite, view};
use crate::world::Setup;
use futures::future::join_all;
use jiff::SignedDuration;
use recado_domain::config::EmailSenderKind;
use recado_domain::content::Content;
use recado_domain::delivery_rules::DeliveryRules;
use recado_domain::invitations::{Invitation, InvitationState, InvitationStatus, SendTime};
use recado_domain::scheduled::ScheduledId;
use recado_invitations::{AcceptedInvitation, InvitationRequest};
use recado_pipeline::reconcile::reconcile;

/// A request with another text than that of [`request`].
fn worded(setup: &Setup, occasion: &str) -> InvitationRequest {
    let mut request = request(setup, None);
    request
        .variables
        .insert("occasion_name".to_owned(), occasion.to_owned());
    request
}

fn said(setup: &Setup) -> Vec<String> {
    let contents = setup.world.providers.contents();
    contents.iter().map(Content::render_text).collect()
}

/// Checks that the message of an invitation leaves, once, and is found by its own id and by the provider's.
async fn assert_leaves(setup: &Setup, invitation: &Invitation, context: &str) {
    let accepted = AcceptedInvitation {
        invitation: invitation.clone(),
        repeated: false,
    };
    leave(setup, &message_of(&accepted)).await;
    assert_eq!(setup.world.providers.sent(), 1, "{context}");
    let sent = view(setup, invitation.id.as_str()).await.unwrap();
    assert_eq!(sent.status, InvitationStatus::Sent, "{context}");
    let message = sent.message.unwrap().message;
    for id in [
        message.message_id().as_str(),
        message.provider_message_id.as_deref().unwrap(),
    ] {
        let found = view(setup, id).await.unwrap();
        assert_eq!(found.invitation.id, invitation.id, "{context}: {id}");
    }
}

#[tokio::test]
async fn a_request_that_is_cut_off_anywhere_goes_on_by_its_repeat() {
    let mut polls = 1;
    loop {
        let setup = setup_with(capped()).await;
        let ended = cut_off(try_invite(&setup, request(&setup, Some("k1"))), polls).await;
        setup.pass(1);
        let again = try_invite(&setup, request(&setup, Some("k1"))).await.unwrap();
        assert_eq!(again.invitation.not_before, None, "{polls}");
        assert_leaves(&setup, &again.invitation, &polls.to_string()).await;
        if ended {
            return;
        }
        polls += 1;
    }
}

#[tokio::test]
async fn another_request_that_finds_what_a_crash_left_sends_the_words_of_the_first() {
    let mut polls = 1;
    loop {
        let setup = setup_with(capped()).await;
        let first = try_invite(&setup, worded(&setup, "La primera"));
        let ended = cut_off(first, polls).await;
        setup.pass(1);
        let again = try_invite(&setup, worded(&setup, "La segunda")).await.unwrap();
        let (of, words) = match &again.invitation.state {
            InvitationState::Duplicate { of } => (of.clone(), "La primera"),
            _ => (again.invitation.id.clone(), "La segunda"),
        };
        let sent = view(&setup, of.as_str()).await.unwrap().invitation;
        assert_leaves(&setup, &sent, &polls.to_string()).await;
        let said = said(&setup);
        assert!(
            said.len() == 1 && said[0].contains(words),
            "{polls}: {words}: {said:?}"
        );
        if ended {
            return;
        }
        polls += 1;
    }
}

#[tokio::test]
async fn equal_requests_at_once_are_one_message_and_its_repeats() {
    for _ in 0..3 {
        let setup = setup_with(capped()).await;
        let all = (0..6).map(|_| try_invite(&setup, request(&setup, Some("k1"))));
        let all: Vec<_> = join_all(all).await.into_iter().map(Result::unwrap).collect();
        let first = all.iter().filter(|one| !one.repeated).count();
        assert_eq!(first, 1, "{all:?}");
        assert!(
            all.iter().all(|one| one.invitation == all[0].invitation),
            "{all:?}"
        );
        assert_leaves(&setup, &all[0].invitation, "at once").await;
    }
}

#[tokio::test]
async fn equal_requests_without_a_key_are_one_message_and_duplicates() {
    for _ in 0..3 {
        let setup = setup_with(capped()).await;
        let all = (0..20).map(|_| try_invite(&setup, request(&setup, None)));
        let all: Vec<_> = join_all(all).await.into_iter().map(Result::unwrap).collect();
        let is_message =
            |one: &&AcceptedInvitation| matches!(one.invitation.state, InvitationState::Message { .. });
        let [taken] = all.iter().filter(is_message).collect::<Vec<_>>()[..] else {
            panic!("{all:?}")
        };
        let of = taken.invitation.id.clone();
        let duplicate = InvitationState::Duplicate { of };
        let duplicates = all.iter().filter(|one| one.invitation.state == duplicate);
        assert_eq!(duplicates.count(), 19, "{all:?}");
        assert_leaves(&setup, &taken.invitation, "at once").await;
    }
}

#[tokio::test]
async fn equal_requests_for_later_at_once_are_one_scheduled_message() {
    let setup = setup_with(capped()).await;
    let due = setup.now() + SignedDuration::from_hours(5);
    let later = || InvitationRequest {
        send_at: Some(SendTime::At(due)),
        ..request(&setup, Some("k1"))
    };
    let all = join_all((0..6).map(|_| try_invite(&setup, later()))).await;
    let all: Vec<_> = all.into_iter().map(Result::unwrap).collect();
    assert_eq!(all.iter().filter(|one| !one.repeated).count(), 1, "{all:?}");
    let message = message_of(&all[0]);
    assert!(ScheduledId::parse(message.as_str()).is_ok());
    assert!(all.iter().all(|one| message_of(one) == message), "{all:?}");
}

#[tokio::test]
async fn equal_requests_at_once_after_one_that_was_noted_are_repeats_of_one_duplicate() {
    let setup = setup_with(DeliveryRules::default()).await;
    try_invite(&setup, request(&setup, None)).await.unwrap();
    let all = (0..6).map(|_| try_invite(&setup, request(&setup, Some("k1"))));
    let all: Vec<_> = join_all(all).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(all.iter().filter(|one| !one.repeated).count(), 1, "{all:?}");
    assert!(
        all.iter().all(|one| one.invitation == all[0].invitation),
        "{all:?}"
    );
}

#[tokio::test]
async fn an_email_for_later_waits_for_its_time_wherever_its_request_is_cut_off() {
    let mut polls = 1;
    loop {
        let setup = crate::email_deliveries::setup(EmailSenderKind::Resend, DeliveryRules::default()).await;
        let carriers = Carriers::default();
        let due = setup.now() + SignedDuration::from_hours(5);
        let later = || InvitationRequest {
            send_at: Some(SendTime::At(due)),
            ..to_guest(&setup, "g1")
        };
        let ended = cut_off(try_invite(&setup, later()), polls).await;
        setup.pass(600);
        try_invite(&setup, later()).await.unwrap();
        reconcile(&setup.world).await.unwrap();
        work(&setup, &carriers, 3).await;
        assert_eq!(carriers.given(), 0, "{polls}");
        setup.pass(due.duration_since(setup.now()).as_secs() + 1);
        reconcile(&setup.world).await.unwrap();
        work(&setup, &carriers, 3).await;
        assert_eq!(carriers.given(), 1, "{polls}");
        if ended {
            return;
        }
        polls += 1;
    }
}
