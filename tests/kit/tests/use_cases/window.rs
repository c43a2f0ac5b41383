//! Meta's 24 hours, judged when a message is about to leave.

use crate::world::Setup;
use recado_domain::access::Caller;
use recado_domain::contact::ContactAddress;
use recado_domain::content::{Content, MessageTemplate};
use recado_domain::conversation::ConversationMode;
use recado_domain::ids::MessageId;
use recado_domain::message::Message;
use recado_domain::outbox::OutboxState;
use recado_domain::provider::Provider;
use recado_domain::reason::Reason;
use recado_pipeline::Verdict;
use recado_pipeline::ports::{Conversations, OutboxStore, SendOutcome, TemplateAnswer};
use recado_pipeline::records::dead_letters::find_dead_letter;
use recado_testkit::builders::{Fixture, correlation};
use recado_testkit::ports::succeed;
use std::time::Duration;

const DAY: i64 = 86_400;

fn template() -> MessageTemplate {
    MessageTemplate {
        name: "ola_de_novo".to_owned(),
        language: "pt_BR".to_owned(),
        components: Vec::new(),
    }
}

async fn on_meta(template: Option<MessageTemplate>) -> Setup {
    let mut fixture = Fixture::on(Provider::Meta);
    // As Meta writes a number: without a server.
    let digits = fixture.address.phone_number().unwrap();
    fixture.address = ContactAddress::parse(digits.trim_start_matches('+')).unwrap();
    fixture.bound.instance.reengagement_template = template;
    Setup::set(fixture).await
}

async fn stored(setup: &Setup, id: &MessageId) -> Message {
    setup.world.store.find_message(id).await.unwrap().unwrap()
}

async fn state(setup: &Setup, id: &MessageId) -> OutboxState {
    stored(setup, id).await.out.unwrap().state
}

fn is_dead(state: &OutboxState) -> bool {
    matches!(
        state,
        OutboxState::Dead {
            reason: Reason::WindowClosed,
            ..
        }
    )
}

async fn api_send(setup: &Setup, fixture: &Fixture) -> MessageId {
    let accepted = setup.client_writes(fixture.address.as_str()).await;
    setup.send(&accepted.conversation.unwrap()).await;
    accepted.id
}

async fn why_dead(setup: &Setup, id: &MessageId) -> String {
    let dead_letter = succeed(find_dead_letter(&setup.world.store, id.as_str()))
        .await
        .unwrap();
    assert_eq!(dead_letter.reason, Reason::WindowClosed);
    dead_letter.last_error.unwrap()
}

#[tokio::test]
async fn a_reply_leaves_as_it_is_until_two_minutes_before_the_day_is_over() {
    let setup = on_meta(Some(template())).await;
    let reply = setup.replied().await;
    setup.pass(DAY - 120);
    setup.send(&reply.conversation).await;
    assert_eq!(setup.world.providers.contents(), [reply.content]);
}

#[tokio::test]
async fn later_it_is_given_up_and_its_dead_letter_says_why() {
    let setup = on_meta(None).await;
    let reply = setup.replied().await;
    setup.pass(DAY - 119);
    setup.send(&reply.conversation).await;
    assert!(is_dead(&state(&setup, &reply.message_id()).await));
    let why = why_dead(&setup, &reply.message_id()).await;
    assert!(why.contains("no re-engagement template"), "{why}");
    assert_eq!(setup.world.providers.sent(), 0);
}

#[tokio::test]
async fn or_the_instances_template_goes_out_and_the_record_keeps_its_words() {
    let setup = on_meta(Some(template())).await;
    let reply = setup.replied().await;
    setup.pass(DAY + 3_600);
    setup.send(&reply.conversation).await;
    assert_eq!(setup.world.providers.contents(), [Content::Template(template())]);
    let stored = stored(&setup, &reply.message_id()).await;
    assert_eq!(stored.content, reply.content);
    let out = stored.out.unwrap();
    assert!(matches!(out.state, OutboxState::Sent { .. }));
    let said = |why: &str| why.contains("template goes out instead");
    assert!(
        out.history
            .iter()
            .any(|step| step.why.as_deref().is_some_and(said))
    );
}

#[tokio::test]
async fn a_contact_that_wrote_again_meanwhile_gets_the_words_themselves() {
    let setup = on_meta(Some(template())).await;
    let contact = setup.fixture.other_contact();
    let reply = setup.replied_to(&contact).await;
    setup.pass(DAY);
    setup.message(&contact, "W2", "ainda aí?", false).await;
    setup.send(&reply.conversation).await;
    assert_eq!(setup.world.providers.contents(), [reply.content]);
}

#[tokio::test]
async fn the_window_is_the_contacts_and_outlives_a_resolved_conversation() {
    let setup = on_meta(None).await;
    setup.message(&setup.fixture, "W1", "oi", false).await;
    let thread = setup.fixture.thread();
    let first = succeed(setup.world.store.find_latest_conversation(&thread))
        .await
        .unwrap();
    succeed(recado_operators::resolve_conversation(
        &setup.world,
        &Caller::installation(),
        &first.id,
        None,
        &correlation(),
    ))
    .await;
    let sent = api_send(&setup, &setup.fixture).await;
    let next = succeed(setup.world.store.find_latest_conversation(&thread))
        .await
        .unwrap();
    assert_ne!(next.id, first.id);
    assert!(matches!(state(&setup, &sent).await, OutboxState::Sent { .. }));
    setup.pass(DAY);
    let late = api_send(&setup, &setup.fixture).await;
    assert!(is_dead(&state(&setup, &late).await));
}

#[tokio::test]
async fn who_never_wrote_gets_nothing_but_a_template_that_a_client_sends() {
    let setup = on_meta(Some(template())).await;
    let id = api_send(&setup, &setup.fixture.other_contact()).await;
    assert!(is_dead(&state(&setup, &id).await));
    let why = why_dead(&setup, &id).await;
    assert!(why.contains("never written"), "{why}");
    assert_eq!(setup.world.providers.sent(), 0);
}

#[tokio::test]
async fn a_template_needs_no_window() {
    let setup = on_meta(None).await;
    let fixture = setup.fixture.other_contact();
    let mut conversation = fixture.conversation(1);
    let mut message = fixture.answer(&mut conversation);
    message.content = Content::Template(template());
    succeed(
        setup
            .world
            .store
            .commit_messages(&conversation, std::slice::from_ref(&message), &[]),
    )
    .await;
    setup.pass(3 * DAY);
    setup.send(&conversation.id).await;
    assert_eq!(setup.world.providers.contents(), [message.content]);
}

#[tokio::test]
async fn a_template_that_cannot_be_sent_replaces_nothing() {
    for (answer, sent) in [
        (TemplateAnswer::Unfit("there is no template".to_owned()), 0),
        (TemplateAnswer::NotApproved("it is PAUSED".to_owned()), 0),
        (TemplateAnswer::Unclear, 1),
        (TemplateAnswer::Usable, 1),
    ] {
        let setup = on_meta(Some(template())).await;
        *setup.world.providers.template.lock().unwrap() = answer.clone();
        let reply = setup.replied().await;
        setup.pass(DAY + 3_600);
        setup.send(&reply.conversation).await;
        assert_eq!(setup.world.providers.sent(), sent, "{answer:?}");
        if let TemplateAnswer::Unfit(reason) | TemplateAnswer::NotApproved(reason) = answer {
            assert!(is_dead(&state(&setup, &reply.message_id()).await));
            let why = why_dead(&setup, &reply.message_id()).await;
            let expected = format!("window_closed: the re-engagement template cannot be sent: {reason}");
            assert_eq!(why, expected);
        }
    }
}

#[tokio::test]
async fn a_clients_template_that_cannot_be_sent_is_given_up_before_an_attempt() {
    let setup = on_meta(None).await;
    let reason = "there is no template ola_de_novo in pt_BR";
    *setup.world.providers.template.lock().unwrap() = TemplateAnswer::Unfit(reason.to_owned());
    let fixture = setup.fixture.other_contact();
    let mut conversation = fixture.conversation(1);
    let mut message = fixture.answer(&mut conversation);
    message.content = Content::Template(template());
    succeed(
        setup
            .world
            .store
            .commit_messages(&conversation, std::slice::from_ref(&message), &[]),
    )
    .await;
    setup.send(&conversation.id).await;
    assert_eq!(setup.world.providers.sent(), 0);
    let dead = succeed(find_dead_letter(
        &setup.world.store,
        message.message_id().as_str(),
    ))
    .await
    .unwrap();
    assert_eq!(dead.reason, Reason::WhatsappPermanentError);
    assert_eq!(
        dead.last_error,
        Some(format!("whatsapp_permanent_error: {reason}"))
    );
    let out = stored(&setup, &message.message_id()).await.out.unwrap();
    assert_eq!(out.attempts, 0);
}

#[tokio::test]
async fn evolution_has_no_window() {
    let setup = Setup::set(Fixture::new()).await;
    let reply = setup.replied().await;
    setup.pass(3 * DAY);
    setup.send(&reply.conversation).await;
    assert_eq!(setup.world.providers.contents(), [reply.content]);
}

#[tokio::test]
async fn what_was_taken_over_is_cancelled_and_not_given_up() {
    let setup = on_meta(None).await;
    let reply = setup.replied().await;
    succeed(recado_operators::set_conversation_mode(
        &setup.world,
        &Caller::installation(),
        &reply.conversation,
        ConversationMode::Manual,
        &correlation(),
    ))
    .await;
    setup.pass(2 * DAY);
    setup.send(&reply.conversation).await;
    assert!(matches!(
        state(&setup, &reply.message_id()).await,
        OutboxState::Cancelled { .. }
    ));
}

#[tokio::test]
async fn a_redrive_is_judged_again() {
    let setup = on_meta(None).await;
    let contact = setup.fixture.other_contact();
    let reply = setup.replied_to(&contact).await;
    setup.pass(2 * DAY);
    setup.send(&reply.conversation).await;
    let dead_letter = reply.message_id().to_string();
    succeed(recado_dead_letters::redrive_dead_letter(
        &setup.world,
        &Caller::installation(),
        &dead_letter,
    ))
    .await;
    setup.send(&reply.conversation).await;
    assert!(
        is_dead(&state(&setup, &reply.message_id()).await),
        "nobody wrote since"
    );
    setup.message(&contact, "W2", "alô?", false).await;
    succeed(recado_dead_letters::redrive_dead_letter(
        &setup.world,
        &Caller::installation(),
        &dead_letter,
    ))
    .await;
    setup.send(&reply.conversation).await;
    assert_eq!(setup.world.providers.contents(), [reply.content]);
}

/// Three replies of the agent wait for one contact.
async fn waiting(setup: &Setup, contact: &Fixture) -> Vec<Message> {
    *setup.world.llm.says.lock().unwrap() = Some("Sim.".to_owned());
    for id in ["W1", "W2", "W3"] {
        setup.message(contact, id, "oi", false).await;
        setup.turns(contact).await;
    }
    let latest = succeed(setup.world.store.find_latest_conversation(&contact.thread()))
        .await
        .unwrap();
    succeed(setup.world.store.list_open_messages(latest.id.thread_id())).await
}

#[tokio::test]
async fn of_several_that_wait_one_becomes_the_template_and_the_others_say_so() {
    let setup = on_meta(Some(template())).await;
    let waiting = waiting(&setup, &setup.fixture).await;
    assert_eq!(waiting.len(), 3);
    setup.pass(DAY);
    setup.send(&waiting[0].conversation).await;
    assert_eq!(setup.world.providers.contents(), [Content::Template(template())]);
    assert!(matches!(
        state(&setup, &waiting[0].message_id()).await,
        OutboxState::Sent { .. }
    ));
    for other in &waiting[1..] {
        assert!(is_dead(&state(&setup, &other.message_id()).await));
        let why = why_dead(&setup, &other.message_id()).await;
        assert!(why.contains("went out for another message"), "{why}");
    }
}

#[tokio::test]
async fn what_a_client_sends_meanwhile_is_no_second_template_until_a_day_is_over() {
    let setup = on_meta(Some(template())).await;
    let contact = setup.fixture.clone();
    let reply = setup.replied_to(&contact).await;
    setup.pass(DAY);
    setup.send(&reply.conversation).await;
    succeed(recado_operators::resolve_conversation(
        &setup.world,
        &Caller::installation(),
        &reply.conversation,
        None,
        &correlation(),
    ))
    .await;
    // In a new conversation of the same contact.
    let sent = api_send(&setup, &contact).await;
    assert!(is_dead(&state(&setup, &sent).await));
    setup.pass(DAY);
    let sent = api_send(&setup, &contact).await;
    assert!(matches!(state(&setup, &sent).await, OutboxState::Sent { .. }));
    assert_eq!(setup.world.providers.sent(), 2);
}

#[tokio::test]
async fn a_template_that_failed_for_a_while_is_tried_again_for_the_same_message() {
    let setup = on_meta(Some(template())).await;
    let waiting = waiting(&setup, &setup.fixture).await;
    setup.pass(DAY);
    setup.answers(SendOutcome::Retryable {
        why: "500".to_owned(),
        after: None,
    });
    setup.send(&waiting[0].conversation).await;
    assert_eq!(setup.world.providers.sent(), 2);
    assert!(matches!(
        state(&setup, &waiting[0].message_id()).await,
        OutboxState::Sent { .. }
    ));
    assert!(is_dead(&state(&setup, &waiting[1].message_id()).await));
}

#[tokio::test]
async fn a_template_that_was_stopped_before_it_left_makes_room_for_the_next() {
    let setup = on_meta(Some(template())).await;
    let contact = setup.fixture.clone();
    let reply = setup.replied_to(&contact).await;
    setup.pass(DAY);
    setup.answers(SendOutcome::Retryable {
        why: "500".to_owned(),
        after: None,
    });
    assert!(matches!(
        setup.job(&reply.conversation).await,
        Verdict::Retry { .. }
    ));
    succeed(recado_operators::set_conversation_mode(
        &setup.world,
        &Caller::installation(),
        &reply.conversation,
        ConversationMode::Manual,
        &correlation(),
    ))
    .await;
    setup.pass(3_600);
    let sent = api_send(&setup, &contact).await;
    assert!(matches!(
        state(&setup, &reply.message_id()).await,
        OutboxState::Cancelled { .. }
    ));
    assert!(matches!(state(&setup, &sent).await, OutboxState::Sent { .. }));
    assert_eq!(
        setup.world.providers.contents(),
        vec![Content::Template(template()); 2]
    );
}

#[tokio::test]
async fn what_was_given_up_for_the_template_leaves_as_it_is_once_the_contact_wrote() {
    let setup = on_meta(Some(template())).await;
    let waiting = waiting(&setup, &setup.fixture).await;
    setup.pass(DAY);
    setup.send(&waiting[0].conversation).await;
    setup.message(&setup.fixture, "W4", "oi de novo", false).await;
    succeed(recado_dead_letters::redrive_dead_letter(
        &setup.world,
        &Caller::installation(),
        waiting[1].message_id().as_str(),
    ))
    .await;
    setup.send(&waiting[0].conversation).await;
    let contents = setup.world.providers.contents();
    assert_eq!(
        contents,
        [Content::Template(template()), Content::from_text("Sim.")]
    );
}

#[tokio::test]
async fn a_redriven_message_takes_the_template_over_from_one_that_stands_behind_it() {
    let setup = on_meta(Some(template())).await;
    let waiting = waiting(&setup, &setup.fixture).await;
    let busy = |seconds: u64| SendOutcome::Retryable {
        why: "busy".to_owned(),
        after: Some(Duration::from_secs(seconds)),
    };
    let refused = SendOutcome::Permanent {
        reason: Reason::WhatsappPermanentError,
        why: "refused".to_owned(),
    };
    // The first dies, and the template is noted for the second, which waits.
    setup.answers(refused);
    setup.answers(busy(10));
    let waits = |verdict: Verdict| matches!(verdict, Verdict::Retry { .. });
    assert!(waits(setup.job(&waiting[0].conversation).await));
    setup.pass(DAY);
    setup.answers(busy(600));
    assert!(waits(setup.job(&waiting[0].conversation).await));
    let templates = |setup: &Setup| {
        let contents = setup.world.providers.contents();
        contents
            .iter()
            .filter(|sent| matches!(sent, Content::Template(_)))
            .count()
    };
    assert_eq!(templates(&setup), 1);
    succeed(recado_dead_letters::redrive_dead_letter(
        &setup.world,
        &Caller::installation(),
        waiting[0].message_id().as_str(),
    ))
    .await;
    setup.send(&waiting[0].conversation).await;
    assert_eq!(templates(&setup), 2, "once more, in the first one's place");
    assert!(matches!(
        state(&setup, &waiting[0].message_id()).await,
        OutboxState::Sent { .. }
    ));
    for other in &waiting[1..] {
        assert!(is_dead(&state(&setup, &other.message_id()).await));
    }
}

#[tokio::test]
async fn a_template_that_may_have_left_before_its_message_was_given_up_is_the_days_only_one() {
    let setup = on_meta(Some(template())).await;
    let first = setup.replied_to(&setup.fixture).await;
    setup.pass(DAY);
    for _ in 0..5 {
        setup.answers(SendOutcome::Unknown {
            why: "an answer that does not say".to_owned(),
            timed_out: false,
        });
    }
    setup.send(&first.conversation).await;
    let given_up = stored(&setup, &first.message_id()).await.out.unwrap();
    assert!(given_up.failed_at().is_some() && given_up.maybe_sent);
    let before = setup.world.providers.sent();
    let second = api_send(&setup, &setup.fixture).await;
    assert!(is_dead(&state(&setup, &second).await));
    let why = why_dead(&setup, &second).await;
    assert!(why.contains("went out for another message"), "{why}");
    assert_eq!(setup.world.providers.sent(), before);
}
