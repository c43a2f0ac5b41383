//! Meta's 24 hours, judged when a message is about to leave.

use crate::world::Stage;
use recado_domain::contact::ContactAddress;
use recado_domain::content::{Content, MessageTemplate};
use recado_domain::conversation::ConversationMode;
use recado_domain::ids::MessageId;
use recado_domain::message::Message;
use recado_domain::outbox::OutboxState;
use recado_domain::provider::Provider;
use recado_domain::reason::Reason;
use recado_pipeline::ports::{Conversations, DeadLetters, OutboxStore, SendOutcome};
use recado_pipeline::{Verdict, operate};
use recado_testkit::builders::{Scene, correlation};
use std::time::Duration;

const DAY: i64 = 86_400;

fn template() -> MessageTemplate {
    MessageTemplate {
        name: "ola_de_novo".to_owned(),
        language: "pt_BR".to_owned(),
        components: Vec::new(),
    }
}

async fn on_meta(template: Option<MessageTemplate>) -> Stage {
    let mut scene = Scene::on(Provider::Meta);
    // As Meta writes a number: without a server.
    let digits = scene.address.phone_number().unwrap();
    scene.address = ContactAddress::parse(digits.trim_start_matches('+')).unwrap();
    scene.bound.instance.reengagement_template = template;
    Stage::set(scene).await
}

async fn stored(stage: &Stage, id: &MessageId) -> Message {
    stage.world.store.find_message(id).await.unwrap().unwrap()
}

async fn state(stage: &Stage, id: &MessageId) -> OutboxState {
    stored(stage, id).await.out.unwrap().state
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

async fn api_send(stage: &Stage, scene: &Scene) -> MessageId {
    let accepted = stage.client_writes(scene.address.as_str()).await;
    stage.send(&accepted.conversation.unwrap()).await;
    accepted.id
}

async fn why_dead(stage: &Stage, id: &MessageId) -> String {
    let letter = stage
        .world
        .store
        .find_dead_letter(id.as_str())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(letter.reason, Reason::WindowClosed);
    letter.last_error.unwrap()
}

#[tokio::test]
async fn a_reply_leaves_as_it_is_until_two_minutes_before_the_day_is_over() {
    let stage = on_meta(Some(template())).await;
    let reply = stage.replied().await;
    stage.pass(DAY - 120);
    stage.send(&reply.conversation).await;
    assert_eq!(stage.world.providers.contents(), [reply.content]);
}

#[tokio::test]
async fn later_it_is_given_up_and_its_letter_says_why() {
    let stage = on_meta(None).await;
    let reply = stage.replied().await;
    stage.pass(DAY - 119);
    stage.send(&reply.conversation).await;
    assert!(is_dead(&state(&stage, &reply.message_id()).await));
    let why = why_dead(&stage, &reply.message_id()).await;
    assert!(why.contains("no re-engagement template"), "{why}");
    assert_eq!(stage.world.providers.sent(), 0);
}

#[tokio::test]
async fn or_the_instances_template_goes_out_and_the_record_keeps_its_words() {
    let stage = on_meta(Some(template())).await;
    let reply = stage.replied().await;
    stage.pass(DAY + 3_600);
    stage.send(&reply.conversation).await;
    assert_eq!(stage.world.providers.contents(), [Content::Template(template())]);
    let stored = stored(&stage, &reply.message_id()).await;
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
    let stage = on_meta(Some(template())).await;
    let contact = stage.scene.other_contact();
    let reply = stage.replied_to(&contact).await;
    stage.pass(DAY);
    stage.message(&contact, "W2", "ainda aí?", false).await;
    stage.send(&reply.conversation).await;
    assert_eq!(stage.world.providers.contents(), [reply.content]);
}

#[tokio::test]
async fn the_window_is_the_contacts_and_outlives_a_resolved_conversation() {
    let stage = on_meta(None).await;
    stage.message(&stage.scene, "W1", "oi", false).await;
    let thread = stage.scene.thread();
    let first = stage
        .world
        .store
        .find_latest_conversation(&thread)
        .await
        .unwrap()
        .unwrap();
    operate::resolve_conversation(&stage.world, &first.id, None, &correlation())
        .await
        .unwrap();
    let sent = api_send(&stage, &stage.scene).await;
    let next = stage
        .world
        .store
        .find_latest_conversation(&thread)
        .await
        .unwrap()
        .unwrap();
    assert_ne!(next.id, first.id);
    assert!(matches!(state(&stage, &sent).await, OutboxState::Sent { .. }));
    stage.pass(DAY);
    let late = api_send(&stage, &stage.scene).await;
    assert!(is_dead(&state(&stage, &late).await));
}

#[tokio::test]
async fn who_never_wrote_gets_nothing_but_a_template_that_a_client_sends() {
    let stage = on_meta(Some(template())).await;
    let id = api_send(&stage, &stage.scene.other_contact()).await;
    assert!(is_dead(&state(&stage, &id).await));
    let why = why_dead(&stage, &id).await;
    assert!(why.contains("never written"), "{why}");
    assert_eq!(stage.world.providers.sent(), 0);
}

#[tokio::test]
async fn a_template_needs_no_window() {
    let stage = on_meta(None).await;
    let scene = stage.scene.other_contact();
    let mut conversation = scene.conversation(1);
    let mut message = scene.answer(&mut conversation);
    message.content = Content::Template(template());
    stage
        .world
        .store
        .commit_message(&conversation, &message, None)
        .await
        .unwrap();
    stage.pass(3 * DAY);
    stage.send(&conversation.id).await;
    assert_eq!(stage.world.providers.contents(), [message.content]);
}

#[tokio::test]
async fn evolution_has_no_window() {
    let stage = Stage::set(Scene::new()).await;
    let reply = stage.replied().await;
    stage.pass(3 * DAY);
    stage.send(&reply.conversation).await;
    assert_eq!(stage.world.providers.contents(), [reply.content]);
}

#[tokio::test]
async fn what_was_taken_over_is_cancelled_and_not_given_up() {
    let stage = on_meta(None).await;
    let reply = stage.replied().await;
    operate::set_conversation_mode(
        &stage.world,
        &reply.conversation,
        ConversationMode::Manual,
        &correlation(),
    )
    .await
    .unwrap();
    stage.pass(2 * DAY);
    stage.send(&reply.conversation).await;
    assert!(matches!(
        state(&stage, &reply.message_id()).await,
        OutboxState::Cancelled { .. }
    ));
}

#[tokio::test]
async fn a_redrive_is_judged_again() {
    let stage = on_meta(None).await;
    let contact = stage.scene.other_contact();
    let reply = stage.replied_to(&contact).await;
    stage.pass(2 * DAY);
    stage.send(&reply.conversation).await;
    let letter = reply.message_id().to_string();
    operate::dead_letters::redrive_dead_letter(&stage.world, &letter)
        .await
        .unwrap();
    stage.send(&reply.conversation).await;
    assert!(
        is_dead(&state(&stage, &reply.message_id()).await),
        "nobody wrote since"
    );
    stage.message(&contact, "W2", "alô?", false).await;
    operate::dead_letters::redrive_dead_letter(&stage.world, &letter)
        .await
        .unwrap();
    stage.send(&reply.conversation).await;
    assert_eq!(stage.world.providers.contents(), [reply.content]);
}

/// Three replies of the agent wait for one contact.
async fn waiting(stage: &Stage, contact: &Scene) -> Vec<Message> {
    *stage.world.llm.says.lock().unwrap() = Some("Sim.".to_owned());
    for id in ["W1", "W2", "W3"] {
        stage.message(contact, id, "oi", false).await;
        stage.turns(contact).await;
    }
    let latest = stage
        .world
        .store
        .find_latest_conversation(&contact.thread())
        .await
        .unwrap()
        .unwrap();
    stage
        .world
        .store
        .list_open_messages(latest.id.thread_id())
        .await
        .unwrap()
}

#[tokio::test]
async fn of_several_that_wait_one_becomes_the_template_and_the_others_say_so() {
    let stage = on_meta(Some(template())).await;
    let waiting = waiting(&stage, &stage.scene).await;
    assert_eq!(waiting.len(), 3);
    stage.pass(DAY);
    stage.send(&waiting[0].conversation).await;
    assert_eq!(stage.world.providers.contents(), [Content::Template(template())]);
    assert!(matches!(
        state(&stage, &waiting[0].message_id()).await,
        OutboxState::Sent { .. }
    ));
    for other in &waiting[1..] {
        assert!(is_dead(&state(&stage, &other.message_id()).await));
        let why = why_dead(&stage, &other.message_id()).await;
        assert!(why.contains("went out for another message"), "{why}");
    }
}

#[tokio::test]
async fn what_a_client_sends_meanwhile_is_no_second_template_until_a_day_is_over() {
    let stage = on_meta(Some(template())).await;
    let contact = stage.scene.clone();
    let reply = stage.replied_to(&contact).await;
    stage.pass(DAY);
    stage.send(&reply.conversation).await;
    operate::resolve_conversation(&stage.world, &reply.conversation, None, &correlation())
        .await
        .unwrap();
    // In a new conversation of the same contact.
    let sent = api_send(&stage, &contact).await;
    assert!(is_dead(&state(&stage, &sent).await));
    stage.pass(DAY);
    let sent = api_send(&stage, &contact).await;
    assert!(matches!(state(&stage, &sent).await, OutboxState::Sent { .. }));
    assert_eq!(stage.world.providers.sent(), 2);
}

#[tokio::test]
async fn a_template_that_failed_for_a_while_is_tried_again_for_the_same_message() {
    let stage = on_meta(Some(template())).await;
    let waiting = waiting(&stage, &stage.scene).await;
    stage.pass(DAY);
    stage.answers(SendOutcome::Retryable {
        why: "500".to_owned(),
        after: None,
    });
    stage.send(&waiting[0].conversation).await;
    assert_eq!(stage.world.providers.sent(), 2);
    assert!(matches!(
        state(&stage, &waiting[0].message_id()).await,
        OutboxState::Sent { .. }
    ));
    assert!(is_dead(&state(&stage, &waiting[1].message_id()).await));
}

#[tokio::test]
async fn a_template_that_was_stopped_before_it_left_makes_room_for_the_next() {
    let stage = on_meta(Some(template())).await;
    let contact = stage.scene.clone();
    let reply = stage.replied_to(&contact).await;
    stage.pass(DAY);
    stage.answers(SendOutcome::Retryable {
        why: "500".to_owned(),
        after: None,
    });
    assert!(matches!(
        stage.kick(&reply.conversation).await,
        Verdict::Retry { .. }
    ));
    operate::set_conversation_mode(
        &stage.world,
        &reply.conversation,
        ConversationMode::Manual,
        &correlation(),
    )
    .await
    .unwrap();
    stage.pass(3_600);
    let sent = api_send(&stage, &contact).await;
    assert!(matches!(
        state(&stage, &reply.message_id()).await,
        OutboxState::Cancelled { .. }
    ));
    assert!(matches!(state(&stage, &sent).await, OutboxState::Sent { .. }));
    assert_eq!(
        stage.world.providers.contents(),
        vec![Content::Template(template()); 2]
    );
}

#[tokio::test]
async fn what_was_given_up_for_the_template_leaves_as_it_is_once_the_contact_wrote() {
    let stage = on_meta(Some(template())).await;
    let waiting = waiting(&stage, &stage.scene).await;
    stage.pass(DAY);
    stage.send(&waiting[0].conversation).await;
    stage.message(&stage.scene, "W4", "oi de novo", false).await;
    operate::dead_letters::redrive_dead_letter(&stage.world, waiting[1].message_id().as_str())
        .await
        .unwrap();
    stage.send(&waiting[0].conversation).await;
    let contents = stage.world.providers.contents();
    assert_eq!(
        contents,
        [Content::Template(template()), Content::from_text("Sim.")]
    );
}

#[tokio::test]
async fn a_redriven_message_takes_the_template_over_from_one_that_stands_behind_it() {
    let stage = on_meta(Some(template())).await;
    let waiting = waiting(&stage, &stage.scene).await;
    let busy = |seconds: u64| SendOutcome::Retryable {
        why: "busy".to_owned(),
        after: Some(Duration::from_secs(seconds)),
    };
    let refused = SendOutcome::Permanent {
        reason: Reason::WhatsappPermanentError,
        why: "refused".to_owned(),
    };
    // The first dies, and the template is noted for the second, which waits.
    stage.answers(refused);
    stage.answers(busy(10));
    let waits = |verdict: Verdict| matches!(verdict, Verdict::Retry { .. });
    assert!(waits(stage.kick(&waiting[0].conversation).await));
    stage.pass(DAY);
    stage.answers(busy(600));
    assert!(waits(stage.kick(&waiting[0].conversation).await));
    let templates = |stage: &Stage| {
        let contents = stage.world.providers.contents();
        contents
            .iter()
            .filter(|sent| matches!(sent, Content::Template(_)))
            .count()
    };
    assert_eq!(templates(&stage), 1);
    operate::dead_letters::redrive_dead_letter(&stage.world, waiting[0].message_id().as_str())
        .await
        .unwrap();
    stage.send(&waiting[0].conversation).await;
    assert_eq!(templates(&stage), 2, "once more, in the first one's place");
    assert!(matches!(
        state(&stage, &waiting[0].message_id()).await,
        OutboxState::Sent { .. }
    ));
    for other in &waiting[1..] {
        assert!(is_dead(&state(&stage, &other.message_id()).await));
    }
}

#[tokio::test]
async fn a_template_that_may_have_left_before_its_message_was_given_up_is_the_days_only_one() {
    let stage = on_meta(Some(template())).await;
    let first = stage.replied_to(&stage.scene).await;
    stage.pass(DAY);
    for _ in 0..5 {
        stage.answers(SendOutcome::Unknown {
            why: "an answer that does not say".to_owned(),
            timed_out: false,
        });
    }
    stage.send(&first.conversation).await;
    let given_up = stored(&stage, &first.message_id()).await.out.unwrap();
    assert!(given_up.failed_at().is_some() && given_up.maybe_sent);
    let before = stage.world.providers.sent();
    let second = api_send(&stage, &stage.scene).await;
    assert!(is_dead(&state(&stage, &second).await));
    let why = why_dead(&stage, &second).await;
    assert!(why.contains("went out for another message"), "{why}");
    assert_eq!(stage.world.providers.sent(), before);
}
