//! Invitations by e-mail: each is given to its carrier once, whatever the carrier answers and wherever a worker crashes.

use crate::interruptions::{Asks, interrupt};
use crate::invitations::{occasion_id, page, request, setup_with, try_invite, view};
use crate::world::Setup;
use async_trait::async_trait;
use futures::executor::block_on;
use jiff::SignedDuration;
use recado_domain::access::Caller;
use recado_domain::config::{EmailSender, EmailSenderKind};
use recado_domain::dead_letter::QueueName;
use recado_domain::delivery_rules::{DeliveryRules, FrequencyCap};
use recado_domain::email::{EMAIL_LEASE, Email, Mailbox};
use recado_domain::ids::EmailSenderId;
use recado_domain::invitations::{
    InvitationChannel, InvitationState, InvitationStatus, InvitationTemplate, SendTime, parse_guest_list,
};
use recado_invitations::{InvitationError, InvitationRequest, InvitationView, NamedGuest};
use recado_pipeline::ports::{AcceptedEmail, EmailError, EmailSenders, PageRequest};
use recado_pipeline::reconcile::reconcile;
use recado_pipeline::records::dead_letters::{DeadLetterFilter, list_dead_letters};
use recado_pipeline::records::invitations::list_invitations;
use recado_pipeline::records::occasions::list_invitation_templates;
use recado_pipeline::table::put_record;
use recado_pipeline::{Verdict, handle_outbound_message};
use recado_testkit::ports::succeed;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Carriers that answer as they are told, else accept.
#[derive(Debug, Default)]
pub(crate) struct Carriers {
    answers: Mutex<VecDeque<EmailError>>,
    /// E-mails that were given to a carrier, whatever it answered.
    given: Mutex<Vec<Email>>,
}

impl Carriers {
    pub(crate) fn answers(&self, error: EmailError) {
        self.answers.lock().unwrap().push_back(error);
    }

    pub(crate) fn given(&self) -> usize {
        self.given.lock().unwrap().len()
    }
}

#[async_trait]
impl EmailSenders for Carriers {
    async fn send_email(&self, sender: &EmailSender, email: &Email) -> Result<AcceptedEmail, EmailError> {
        self.given.lock().unwrap().push(email.clone());
        let answer = self.answers.lock().unwrap().pop_front();
        let accepted = AcceptedEmail {
            carrier_id: format!("carrier/{}", email.id),
            is_simulated: sender.kind == EmailSenderKind::Simulated,
        };
        answer.map_or(Ok(accepted), Err)
    }

    async fn check_email_sender(&self, _: &EmailSender) -> Result<String, EmailError> {
        Ok("fine".to_owned())
    }
}

fn sender(kind: EmailSenderKind) -> EmailSender {
    EmailSender {
        id: EmailSenderId::parse("mail").unwrap(),
        kind,
        from: Mailbox::parse("Clinic <hello@clinic.example>").unwrap(),
        reply_to: None,
        credential: None,
        server: None,
        user: None,
    }
}

/// A tenant with a sender of a kind, the template `invite` for e-mails, and the guest `g1`.
pub(crate) async fn setup(kind: EmailSenderKind, rules: DeliveryRules) -> Setup {
    let mut setup = setup_with(rules).await;
    setup.world.deps_mut().settings_mut().public_url = Some("https://recado.example".to_owned());
    let mut document = setup.fixture.document();
    document.tenants[0].email_senders = vec![sender(kind)];
    recado_pipeline::records::configuration::put_configuration(&setup.world.store, &document)
        .await
        .unwrap();
    let template = InvitationTemplate {
        name: request(&setup, None).template,
        tenant: setup.fixture.bound.tenant.id.clone(),
        channel: InvitationChannel::Email,
        language: None,
        subject: Some("{{occasion_name}}".to_owned()),
        html: Some("<p>{{guest_name}}</p>".to_owned()),
        text: Some("Hola {{guest_name}}".to_owned()),
        approved: None,
    };
    succeed(put_record(&setup.world.store, &template)).await;
    let list = "id,name,email\ng1,<Ana>,ana@example.org\ng2,Leo,\n";
    let (caller, rows) = (Caller::installation(), parse_guest_list(list).unwrap());
    let added = recado_occasions::add_guests(&setup.world, &caller, None, &occasion_id(), rows).await;
    assert_eq!(added.unwrap().added, 2);
    setup
}

pub(crate) fn to_guest(setup: &Setup, id: &str) -> InvitationRequest {
    InvitationRequest {
        guest: NamedGuest::Id(recado_domain::ids::GuestId::parse(id).unwrap()),
        channel: InvitationChannel::Email,
        ..request(setup, None)
    }
}

async fn invite(setup: &Setup) -> String {
    let accepted = try_invite(setup, to_guest(setup, "g1")).await.unwrap();
    accepted.invitation.id.to_string()
}

/// Works on all jobs of e-mails that the queue hands out, until none comes any more within `patience` seconds.
pub(crate) async fn work(setup: &Setup, carriers: &Carriers, patience: i64) {
    for _ in 0..patience {
        let visible = Duration::from_secs(60);
        while let Some(job) = succeed(
            setup
                .world
                .store
                .receive_messages(QueueName::Outbound, 1, visible),
        )
        .await
        .pop()
        {
            let (body, times) = (&job.body, job.receives);
            match handle_outbound_message(&setup.world, carriers, body, times, None).await {
                Verdict::Done => assert!(succeed(setup.world.store.delete_received(&job.receipt)).await),
                Verdict::Retry { after } => {
                    let whole = Duration::from_secs(
                        after
                            .unsigned_abs()
                            .as_millis()
                            .div_ceil(1_000)
                            .try_into()
                            .unwrap(),
                    );
                    let later = setup.world.store.change_visibility(&job.receipt, whole);
                    assert!(succeed(later).await);
                }
            }
        }
        setup.pass(1);
    }
}

pub(crate) async fn status(setup: &Setup, id: &str) -> InvitationView {
    view(setup, id).await.unwrap()
}

pub(crate) async fn letters(setup: &Setup) -> Vec<recado_domain::dead_letter::DeadLetter> {
    let page = PageRequest::first(10);
    succeed(list_dead_letters(
        &setup.world.store,
        &DeadLetterFilter::default(),
        &page,
    ))
    .await
    .items
}

pub(crate) fn refused_for_now() -> EmailError {
    EmailError::Later {
        why: "busy".to_owned(),
        after: None,
    }
}

fn unknown() -> EmailError {
    EmailError::Unknown("time-out".to_owned())
}

#[tokio::test]
async fn an_email_for_later_leaves_at_its_time() {
    let setup = setup(EmailSenderKind::Resend, DeliveryRules::default()).await;
    let carriers = Carriers::default();
    let due = setup.now() + SignedDuration::from_hours(5);
    let later = InvitationRequest {
        send_at: Some(SendTime::At(due)),
        ..to_guest(&setup, "g1")
    };
    let accepted = try_invite(&setup, later).await.unwrap();
    assert_eq!(accepted.invitation.not_before, Some(due));
    work(&setup, &carriers, 3).await;
    assert_eq!(carriers.given(), 0);
    setup.pass(due.duration_since(setup.now()).as_secs() + 1);
    reconcile(&setup.world).await.unwrap();
    work(&setup, &carriers, 3).await;
    assert_eq!(carriers.given(), 1);
    let sent = status(&setup, accepted.invitation.id.as_str()).await;
    assert_eq!(sent.status, InvitationStatus::Sent);
}

#[tokio::test]
async fn an_invitation_by_email_is_given_to_the_carrier_once_and_found_by_its_id() {
    let setup = setup(EmailSenderKind::Resend, DeliveryRules::default()).await;
    let carriers = Carriers::default();
    let id = invite(&setup).await;
    work(&setup, &carriers, 3).await;
    let given = carriers.given.lock().unwrap().clone();
    let [email] = given.as_slice() else {
        panic!("{given:?}")
    };
    assert_eq!(
        (email.id.as_str(), email.to.as_str()),
        (id.as_str(), "ana@example.org")
    );
    assert_eq!(
        (email.subject.as_str(), email.text.as_str()),
        ("Boda de Ana", "Hola <Ana>")
    );
    assert_eq!(email.html.as_deref(), Some("<p>&lt;Ana&gt;</p>"));
    let sent = status(&setup, &id).await;
    let reached: Vec<&str> = sent
        .transitions
        .iter()
        .map(|(status, _)| status.as_str())
        .collect();
    assert_eq!(reached, ["queued", "processing", "sent"]);
    let by_ref = status(&setup, &format!("carrier/{id}")).await;
    assert_eq!(by_ref.invitation, sent.invitation);
    let InvitationState::Email { outbox } = &sent.invitation.state else {
        panic!("{sent:?}")
    };
    assert_eq!(outbox.email, None, "its content goes once it was sent");
    let again = try_invite(&setup, to_guest(&setup, "g1")).await.unwrap();
    assert!(matches!(
        again.invitation.state,
        InvitationState::Duplicate { .. }
    ));
    // The link in its headers ends such e-mails.
    let link = email.unsubscribe_url.clone().unwrap();
    let token = link.strip_prefix("https://recado.example/unsubscribe/").unwrap();
    recado_opt_outs::unsubscribe_by_link(&setup.world, token)
        .await
        .unwrap();
    setup.pass(25 * 3600);
    let stopped = try_invite(&setup, to_guest(&setup, "g1")).await;
    assert!(matches!(stopped, Err(InvitationError::OptedOut)), "{stopped:?}");
}

#[tokio::test]
async fn a_certain_refusal_is_tried_five_times_and_then_a_dead_letter_that_can_be_redriven() {
    let setup = setup(EmailSenderKind::Smtp, DeliveryRules::default()).await;
    let carriers = Carriers::default();
    for _ in 0..5 {
        carriers.answers(refused_for_now());
    }
    let id = invite(&setup).await;
    work(&setup, &carriers, 400).await;
    assert_eq!(carriers.given(), 5);
    assert_eq!(status(&setup, &id).await.status, InvitationStatus::Failed);
    let found = letters(&setup).await;
    let [letter] = found.as_slice() else {
        panic!("{found:?}")
    };
    assert_eq!(
        (letter.reason.as_str(), letter.kind_name()),
        ("max_retries_exceeded", "email")
    );
    let copies = succeed(setup.world.queues.list_dead_messages(QueueName::Outbound, 2)).await;
    assert_eq!(copies.len(), 1);
    let caller = Caller::installation();
    let redriven = recado_dead_letters::redrive_dead_letter(&setup.world, &caller, &letter.id).await;
    assert!(redriven.unwrap());
    work(&setup, &carriers, 3).await;
    assert_eq!(status(&setup, &id).await.status, InvitationStatus::Sent);
    assert!(letters(&setup).await.is_empty());
    // Somebody moved its copy to the queue by SQS's own means, too.
    let late = handle_outbound_message(&setup.world, &carriers, &copies[0].body, 1, None).await;
    assert_eq!((late, carriers.given()), (Verdict::Done, 6));
}

#[tokio::test]
async fn what_is_refused_for_good_is_given_up_at_once() {
    let setup = setup(EmailSenderKind::Resend, DeliveryRules::default()).await;
    let carriers = Carriers::default();
    carriers.answers(EmailError::Refused("no such address".to_owned()));
    invite(&setup).await;
    work(&setup, &carriers, 100).await;
    assert_eq!(carriers.given(), 1);
    assert_eq!(letters(&setup).await[0].reason.as_str(), "email_refused");
}

#[tokio::test]
async fn an_unknown_outcome_is_repeated_only_where_the_carrier_recognizes_it() {
    for (kind, given, end) in [
        (EmailSenderKind::Resend, 2, InvitationStatus::Sent),
        (EmailSenderKind::Smtp, 1, InvitationStatus::Failed),
    ] {
        let setup = setup(kind, DeliveryRules::default()).await;
        let carriers = Carriers::default();
        carriers.answers(unknown());
        let id = invite(&setup).await;
        work(&setup, &carriers, 100).await;
        assert_eq!(carriers.given(), given, "{kind:?}");
        assert_eq!(status(&setup, &id).await.status, end, "{kind:?}");
        let both = carriers.given.lock().unwrap().clone();
        assert!(
            both.iter().all(|email| *email == both[0]),
            "each attempt is equal"
        );
    }
}

#[tokio::test]
async fn a_repeat_that_the_carrier_would_no_longer_recognize_is_not_made() {
    let setup = setup(EmailSenderKind::Resend, DeliveryRules::default()).await;
    let carriers = Carriers::default();
    carriers.answers(unknown());
    carriers.answers(EmailError::NeedsCredentials("the key was refused".to_owned()));
    let id = invite(&setup).await;
    work(&setup, &carriers, 100).await;
    assert_eq!(status(&setup, &id).await.status, InvitationStatus::Queued);
    setup.pass(24 * 3600);
    reconcile(&setup.world).await.unwrap();
    work(&setup, &carriers, 3).await;
    assert_eq!(carriers.given(), 2);
    assert_eq!(letters(&setup).await[0].reason.as_str(), "unknown_outcome");
}

#[tokio::test]
async fn without_a_key_an_email_waits_and_leaves_when_it_is_there() {
    let setup = setup(EmailSenderKind::Resend, DeliveryRules::default()).await;
    let carriers = Carriers::default();
    for _ in 0..10 {
        carriers.answers(EmailError::NeedsCredentials("no key".to_owned()));
    }
    let id = invite(&setup).await;
    for _ in 0..10 {
        work(&setup, &carriers, 3).await;
        setup.pass(11 * 60);
        reconcile(&setup.world).await.unwrap();
    }
    let waits = status(&setup, &id).await;
    let InvitationState::Email { outbox } = &waits.invitation.state else {
        panic!("{waits:?}")
    };
    assert_eq!(outbox.attempts, 0, "waiting is no attempt");
    assert!(outbox.last_reason().unwrap().contains("needs_credentials"));
    work(&setup, &carriers, 3).await;
    assert_eq!(status(&setup, &id).await.status, InvitationStatus::Sent);
}

#[tokio::test]
async fn who_has_no_key_for_longer_than_messages_wait_gives_up_with_a_dead_letter() {
    let setup = setup(EmailSenderKind::Resend, DeliveryRules::default()).await;
    let carriers = Carriers::default();
    for _ in 0..2 {
        carriers.answers(EmailError::NeedsCredentials("no key".to_owned()));
    }
    invite(&setup).await;
    work(&setup, &carriers, 3).await;
    setup.pass(73 * 3600);
    reconcile(&setup.world).await.unwrap();
    work(&setup, &carriers, 3).await;
    assert_eq!(
        letters(&setup).await[0].reason.as_str(),
        "email_sender_unavailable"
    );
}

#[tokio::test]
async fn a_worker_that_crashes_while_it_asks_leaves_an_unknown_outcome() {
    for (kind, given, end) in [
        (EmailSenderKind::Resend, 2, InvitationStatus::Sent),
        (EmailSenderKind::Smtp, 1, InvitationStatus::Failed),
    ] {
        let setup = setup(kind, DeliveryRules::default()).await;
        let carriers = Carriers::default();
        let id = invite(&setup).await;
        {
            let asked = Hanging(&carriers);
            let job = succeed(setup.world.store.receive_messages(
                QueueName::Outbound,
                1,
                Duration::from_secs(60),
            ))
            .await
            .remove(0);
            let mut worker = Box::pin(handle_outbound_message(&setup.world, &asked, &job.body, 1, None));
            // The worker is dropped while the carrier has the e-mail.
            while carriers.given() == 0 {
                assert!(futures::poll!(&mut worker).is_pending());
                tokio::task::yield_now().await;
            }
        }
        work(&setup, &carriers, 30).await;
        assert_eq!(carriers.given(), 1, "the lease holds");
        setup.pass(EMAIL_LEASE.as_secs());
        work(&setup, &carriers, 100).await;
        assert_eq!(carriers.given(), given, "{kind:?}");
        assert_eq!(status(&setup, &id).await.status, end, "{kind:?}");
    }
}

#[tokio::test]
async fn a_worker_that_stalls_after_its_attempt_was_stored_does_not_ask_the_carrier() {
    let setup = setup(EmailSenderKind::Smtp, DeliveryRules::default()).await;
    let carriers = Carriers::default();
    let id = invite(&setup).await;
    let received = setup
        .world
        .store
        .receive_messages(QueueName::Outbound, 1, Duration::from_secs(600));
    let job = succeed(received).await.remove(0);
    // Another worker may take the attempt for one that crashed before the carrier would have answered.
    setup
        .world
        .system
        .stall_at_next_number((EMAIL_LEASE.as_secs() - 20) * 1_000);
    let verdict = handle_outbound_message(&setup.world, &carriers, &job.body, 1, None).await;
    assert!(matches!(verdict, Verdict::Retry { .. }), "{verdict:?}");
    assert_eq!(carriers.given(), 0);
    let later = setup.world.store.change_visibility(&job.receipt, Duration::ZERO);
    assert!(succeed(later).await);
    work(&setup, &carriers, 30).await;
    assert_eq!(carriers.given(), 1, "it certainly was not sent before");
    assert_eq!(status(&setup, &id).await.status, InvitationStatus::Sent);
}

#[tokio::test]
async fn of_two_workers_that_begin_one_attempt_one_asks_the_carrier() {
    let setup = setup(EmailSenderKind::Smtp, DeliveryRules::default()).await;
    let carriers = Arc::new(Carriers::default());
    let id = invite(&setup).await;
    let received = setup
        .world
        .store
        .receive_messages(QueueName::Outbound, 1, Duration::from_secs(60));
    let job = succeed(received).await.remove(0);
    // This worker has read the record and not stored its attempt yet. Then the other worker does all of its work.
    let is_first = AtomicBool::new(true);
    let other_worker = (setup.world.clone(), Arc::clone(&carriers), job.body.clone());
    let world = interrupt(&setup.world, move |asks| {
        if asks == Asks::Number && is_first.swap(false, Ordering::Relaxed) {
            let (world, carriers, body) = &other_worker;
            let other = handle_outbound_message(world, &**carriers, body, 1, None);
            assert_eq!(block_on(other), Verdict::Done);
        }
    });
    let verdict = handle_outbound_message(&world, &*carriers, &job.body, 1, None).await;
    assert!(matches!(verdict, Verdict::Retry { .. }), "{verdict:?}");
    assert_eq!(carriers.given(), 1);
    assert_eq!(status(&setup, &id).await.status, InvitationStatus::Sent);
}

#[tokio::test]
async fn an_email_whose_process_was_killed_is_settled_at_the_start() {
    let setup = setup(EmailSenderKind::Smtp, DeliveryRules::default()).await;
    let carriers = Carriers::default();
    let id = invite(&setup).await;
    let received = setup
        .world
        .store
        .receive_messages(QueueName::Outbound, 1, Duration::from_secs(60));
    let job = succeed(received).await.remove(0);
    {
        let asked = Hanging(&carriers);
        let mut worker = Box::pin(handle_outbound_message(&setup.world, &asked, &job.body, 1, None));
        while carriers.given() == 0 {
            assert!(futures::poll!(&mut worker).is_pending());
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(setup.world.store.recover_after_crash().await.unwrap().records, 1);
    work(&setup, &carriers, 2).await;
    assert_eq!(carriers.given(), 1);
    let found = status(&setup, &id).await.status;
    assert_eq!(
        found,
        InvitationStatus::Failed,
        "nobody knows whether it was taken"
    );
}

/// Carriers that take an e-mail and never answer.
struct Hanging<'a>(&'a Carriers);

#[async_trait]
impl EmailSenders for Hanging<'_> {
    async fn send_email(&self, _: &EmailSender, email: &Email) -> Result<AcceptedEmail, EmailError> {
        self.0.given.lock().unwrap().push(email.clone());
        std::future::pending().await
    }

    async fn check_email_sender(&self, _: &EmailSender) -> Result<String, EmailError> {
        Ok("fine".to_owned())
    }
}

#[tokio::test]
async fn a_job_that_was_lost_is_enqueued_again_and_a_repeated_one_sends_nothing_twice() {
    let setup = setup(EmailSenderKind::Simulated, DeliveryRules::default()).await;
    let carriers = Carriers::default();
    let id = invite(&setup).await;
    let lost = succeed(
        setup
            .world
            .store
            .receive_messages(QueueName::Outbound, 1, Duration::from_secs(60)),
    )
    .await;
    assert!(succeed(setup.world.store.delete_received(&lost[0].receipt)).await);
    work(&setup, &carriers, 3).await;
    assert_eq!(carriers.given(), 0);
    setup.pass(5 * 60);
    assert_eq!(reconcile(&setup.world).await.unwrap().count_of("send_jobs"), 1);
    for _ in 0..2 {
        let verdict = handle_outbound_message(&setup.world, &carriers, &lost[0].body, 1, None).await;
        assert_eq!(verdict, Verdict::Done);
    }
    work(&setup, &carriers, 3).await;
    assert_eq!(carriers.given(), 1);
    let sent = status(&setup, &id).await.invitation;
    let InvitationState::Email { outbox } = sent.state else {
        panic!("{sent:?}")
    };
    assert_eq!(outbox.last_reason(), Some("simulated"));
    setup.pass(3600);
    assert_eq!(reconcile(&setup.world).await.unwrap().count_of("send_jobs"), 0);
}

#[tokio::test]
async fn the_cap_counts_all_channels_and_an_opt_out_meanwhile_counts() {
    let cap = FrequencyCap {
        messages: 1,
        hours: 24,
    };
    let rules = DeliveryRules {
        quiet_hours: None,
        frequency_cap: Some(cap),
    };
    let setup = setup(EmailSenderKind::Resend, rules).await;
    let carriers = Carriers::default();
    let first = invite(&setup).await;
    work(&setup, &carriers, 3).await;
    setup.pass(25 * 3600);
    // Of two at once the second waits a day.
    let second = invite(&setup).await;
    let mut remind = to_guest(&setup, "g1");
    remind.occasion = occasion_id();
    remind.template = recado_domain::ids::InvitationTemplateName::parse("remind").unwrap();
    let template = InvitationTemplate {
        name: remind.template.clone(),
        ..email_template(&setup).await
    };
    succeed(put_record(&setup.world.store, &template)).await;
    let third = try_invite(&setup, remind).await.unwrap().invitation;
    assert!(third.not_before.is_some());
    work(&setup, &carriers, 3).await;
    assert_eq!(carriers.given(), 2);
    let link = carriers.given.lock().unwrap()[0].unsubscribe_url.clone().unwrap();
    let token = link.rsplit('/').next().unwrap();
    recado_opt_outs::unsubscribe_by_link(&setup.world, token)
        .await
        .unwrap();
    let until = third.not_before.unwrap().duration_since(setup.now()) + SignedDuration::from_secs(1);
    setup.pass(until.as_secs());
    reconcile(&setup.world).await.unwrap();
    work(&setup, &carriers, 3).await;
    assert_eq!(carriers.given(), 2);
    let mut ends = Vec::new();
    for id in [first.as_str(), second.as_str(), third.id.as_str()] {
        ends.push(status(&setup, id).await.status);
    }
    assert_eq!(
        ends,
        [
            InvitationStatus::Sent,
            InvitationStatus::Sent,
            InvitationStatus::Failed
        ]
    );
}

async fn email_template(setup: &Setup) -> InvitationTemplate {
    let (tenant, name) = (&setup.fixture.bound.tenant.id, request(setup, None).template);
    let found = succeed(list_invitation_templates(&setup.world.store, tenant, Some(&name))).await;
    let is_email = |one: &InvitationTemplate| one.channel == InvitationChannel::Email;
    found.into_iter().find(is_email).unwrap()
}

#[tokio::test]
async fn what_cannot_be_sent_by_email_is_refused_before() {
    let setup = setup(EmailSenderKind::Resend, DeliveryRules::default()).await;
    let refused = try_invite(&setup, to_guest(&setup, "g2")).await;
    assert!(matches!(refused, Err(InvitationError::NoEmail)), "{refused:?}");
    let (tenant, occasion, page) = (&setup.fixture.bound.tenant.id, occasion_id(), page());
    let log = succeed(list_invitations(
        &setup.world.store,
        tenant,
        &occasion,
        None,
        &page,
    ))
    .await;
    assert!(log.items.is_empty());
    let without = setup_with(DeliveryRules::default()).await;
    succeed(put_record(
        &without.world.store,
        &InvitationTemplate {
            tenant: without.fixture.bound.tenant.id.clone(),
            ..email_template(&setup).await
        },
    ))
    .await;
    let mut none = to_guest(&without, "g1");
    none.guest = request(&without, None).guest;
    none.variables.insert("guest_name".to_owned(), "Leo".to_owned());
    let refused = try_invite(&without, none).await;
    assert!(matches!(refused, Err(InvitationError::Channel(_))), "{refused:?}");
}
