//! Batches of e-mails, and how e-mails wait for their carriers.

use crate::batches::{expand, look_for_end, order, request as batch_request, take};
use crate::email_deliveries::{Carriers, letters, refused_for_now, setup, status, to_guest, work};
use crate::invitations::{occasion_id, try_invite};
use crate::world::Setup;
use recado_batches::BatchRequest;
use recado_domain::access::Caller;
use recado_domain::config::EmailSenderKind;
use recado_domain::delivery_rules::DeliveryRules;
use recado_domain::ids::GuestId;
use recado_domain::instance::{ConnectionStatus, ConnectionUpdate, InstanceChange, InstanceState};
use recado_domain::invitations::{
    BatchOrder, BatchState, InvitationChannel, InvitationState, InvitationStatus, parse_guest_list,
};

use recado_pipeline::ports::{EmailError, Instances};
use recado_testkit::ports::succeed;
use std::fmt::Write as _;
use std::time::Duration;

/// Adds guests with e-mail addresses, and returns the batch of e-mails to them.
pub(crate) async fn email_batch(setup: &Setup, count: usize) -> BatchRequest {
    let mut list = "id,name,email\n".to_owned();
    for number in 0..count {
        writeln!(list, "e{number},Guest {number},e{number}@example.org").unwrap();
    }
    let (caller, rows) = (Caller::installation(), parse_guest_list(&list).unwrap());
    let added = recado_occasions::add_guests(&setup.world, &caller, None, &occasion_id(), rows).await;
    assert_eq!(added.unwrap().added, count);
    BatchRequest {
        guests: (0..count)
            .map(|number| GuestId::parse(&format!("e{number}")).unwrap())
            .collect(),
        channel: InvitationChannel::Email,
        ..batch_request([], None)
    }
}

#[tokio::test]
async fn a_batch_of_emails_uses_neither_the_line_nor_the_connection_of_the_whatsapp_number() {
    let setup = setup(EmailSenderKind::Resend, DeliveryRules::default()).await;
    let carriers = Carriers::default();
    let instance = setup.fixture.instance().clone();
    let closed = InstanceChange::Connection(ConnectionUpdate {
        connection: ConnectionStatus::Closed,
        at: setup.now(),
        probe_at: None,
        asked_at: None,
        releases_waiting: false,
    });
    let seen = InstanceState::default();
    succeed(setup.world.store.change_instance_state(&instance, &seen, &closed)).await;
    let request = email_batch(&setup, 60).await;
    let batch = take(&setup, request).await.unwrap().batch;
    let took = expand(&setup, &batch.id).await;
    assert!(took <= 15, "two pieces took {took} s");
    let state = succeed(setup.world.store.read_instance_state(&instance)).await;
    assert_eq!(state.batch_line, None);
    work(&setup, &carriers, 3).await;
    assert_eq!(carriers.given(), 60);
    let ended = crate::batches::progress(&setup, &batch.id).await;
    assert_eq!(ended.counts.sent, 60);
}

#[tokio::test]
async fn what_a_cancelled_batch_of_emails_left_unsent_may_go_again() {
    let setup = setup(EmailSenderKind::Resend, DeliveryRules::default()).await;
    let carriers = Carriers::default();
    let request = email_batch(&setup, 2).await;
    let first = take(&setup, request.clone()).await.unwrap().batch;
    expand(&setup, &first.id).await;
    order(&setup, &first.id, BatchOrder::Cancel).await.unwrap();
    let second = take(&setup, request).await.unwrap().batch;
    expand(&setup, &second.id).await;
    work(&setup, &carriers, 3).await;
    assert_eq!(carriers.given(), 2, "each guest once");
    let (first, second) = (
        crate::batches::progress(&setup, &first.id).await.counts,
        crate::batches::progress(&setup, &second.id).await.counts,
    );
    assert_eq!((first.cancelled, second.sent), (2, 2));
}

#[tokio::test]
async fn an_email_of_a_cancelled_batch_is_cancelled_without_a_dead_letter() {
    let setup = setup(EmailSenderKind::Resend, DeliveryRules::default()).await;
    let carriers = Carriers::default();
    let request = email_batch(&setup, 1).await;
    let batch = take(&setup, request).await.unwrap().batch;
    expand(&setup, &batch.id).await;
    order(&setup, &batch.id, BatchOrder::Cancel).await.unwrap();
    work(&setup, &carriers, 3).await;
    assert_eq!(carriers.given(), 0);
    assert!(letters(&setup).await.is_empty());
    let counts = crate::batches::progress(&setup, &batch.id).await.counts;
    assert_eq!(counts.cancelled, 1);
}

/// Works for so many seconds. Returns the seconds between one attempt and the next.
async fn measure_waits(setup: &Setup, carriers: &Carriers, seconds: i64) -> Vec<i64> {
    let begun = setup.now();
    let mut times = Vec::new();
    for _ in 0..seconds {
        let (known, now) = (carriers.given(), setup.now());
        work(setup, carriers, 1).await;
        if carriers.given() > known {
            times.push(now.duration_since(begun).as_secs());
        }
    }
    times.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[tokio::test]
async fn a_certain_refusal_waits_1_5_20_and_60_seconds() {
    let setup = setup(EmailSenderKind::Smtp, DeliveryRules::default()).await;
    let carriers = Carriers::default();
    for _ in 0..5 {
        carriers.answers(refused_for_now());
    }
    try_invite(&setup, to_guest(&setup, "g1")).await.unwrap();
    let waits = measure_waits(&setup, &carriers, 120).await;
    assert_eq!(waits.len(), 4, "{waits:?}");
    for (wait, wanted) in waits.iter().zip([1, 5, 20, 60]) {
        assert!((wanted..=wanted + 1).contains(wait), "{waits:?}");
    }
    assert_eq!(letters(&setup).await[0].reason.as_str(), "max_retries_exceeded");
}

#[tokio::test]
async fn an_email_whose_carrier_is_asked_too_often_waits_without_using_attempts() {
    let setup = setup(EmailSenderKind::Resend, DeliveryRules::default()).await;
    let carriers = Carriers::default();
    for _ in 0..8 {
        carriers.answers(EmailError::Throttled {
            why: "Resend answers 429".to_owned(),
            after: Some(Duration::from_secs(10)),
        });
    }
    let accepted = try_invite(&setup, to_guest(&setup, "g1")).await.unwrap();
    let id = accepted.invitation.id.to_string();
    work(&setup, &carriers, 60).await;
    let waits = status(&setup, &id).await;
    let InvitationState::Email { outbox } = &waits.invitation.state else {
        panic!("{waits:?}")
    };
    assert_eq!(outbox.attempts, 0);
    work(&setup, &carriers, 60).await;
    assert_eq!(carriers.given(), 9);
    assert_eq!(status(&setup, &id).await.status, InvitationStatus::Sent);
    assert!(letters(&setup).await.is_empty());
}

#[tokio::test]
async fn a_carrier_that_is_asked_too_often_and_names_no_time_is_asked_ever_more_seldom() {
    let setup = setup(EmailSenderKind::Resend, DeliveryRules::default()).await;
    let carriers = Carriers::default();
    for _ in 0..3 {
        carriers.answers(EmailError::Throttled {
            why: "Resend answers 429".to_owned(),
            after: None,
        });
    }
    try_invite(&setup, to_guest(&setup, "g1")).await.unwrap();
    let waits = measure_waits(&setup, &carriers, 90).await;
    assert_eq!(waits.len(), 3, "{waits:?}");
    // The waits are 10 s, 10 s and 20 s. Each is up to a quarter shorter or longer, like the time before it.
    for (wait, wanted) in waits.iter().zip([7..=14, 7..=17, 11..=37]) {
        assert!(wanted.contains(wait), "{waits:?}");
    }
}

#[tokio::test]
async fn a_batch_of_emails_is_finished_when_all_were_given_to_the_carrier() {
    let setup = setup(EmailSenderKind::Resend, DeliveryRules::default()).await;
    let carriers = Carriers::default();
    let request = email_batch(&setup, 2).await;
    carriers.answers(EmailError::Refused("no such address".to_owned()));
    let batch = take(&setup, request).await.unwrap().batch;
    expand(&setup, &batch.id).await;
    work(&setup, &carriers, 3).await;
    let ended = look_for_end(&setup, &batch.id).await;
    assert_eq!(ended.state, BatchState::Finished);
    let counts = ended.end.unwrap().counts;
    assert_eq!((counts.sent, counts.failed), (1, 1));
}
