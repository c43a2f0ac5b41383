//! Replies that are longer than one message may be.

use crate::world::{Setup, TEXT_MAX};
use recado_domain::access::Caller;
use recado_domain::config::ReplyFormat;
use recado_domain::content::Content;
use recado_domain::conversation::ConversationMode;
use recado_domain::ids::ConversationId;
use recado_domain::message::Message;
use recado_domain::outbox::ReplyPart;
use recado_domain::provider::Provider;
use recado_domain::rate::Rate;
use recado_domain::reason::Reason;
use recado_pipeline::Verdict;
use recado_pipeline::ports::{Conversations, OutboxStore, SendOutcome};
use recado_testkit::builders::{Fixture, correlation};
use recado_testkit::ports::succeed;

/// A paragraph that shares a message with no other.
fn paragraph(number: usize) -> String {
    format!("{number} {}", "é".repeat(TEXT_MAX / 2))
}

fn paragraphs(count: usize) -> Vec<String> {
    (1..=count).map(paragraph).collect()
}

/// A contact wrote, and the model said this.
async fn answered_with(fixture: Fixture, text: &str) -> (Setup, ConversationId) {
    let setup = Setup::set(fixture).await;
    *setup.world.llm.says.lock().unwrap() = Some(text.to_owned());
    setup.message(&setup.fixture, "W1", "conte tudo", false).await;
    let conversation = setup.turns(&setup.fixture).await;
    (setup, conversation)
}

async fn in_parts(count: usize) -> (Setup, ConversationId) {
    answered_with(Fixture::new(), &paragraphs(count).join("\n\n")).await
}

async fn open(setup: &Setup, conversation: &ConversationId) -> Vec<Message> {
    succeed(setup.world.store.list_open_messages(conversation.thread_id())).await
}

async fn states(setup: &Setup, parts: &[Message]) -> Vec<&'static str> {
    let mut states = Vec::new();
    for part in parts {
        let stored = succeed(setup.world.store.find_message(&part.message_id()))
            .await
            .unwrap();
        states.push(stored.out.unwrap().state.as_str());
    }
    states
}

fn texts(contents: impl IntoIterator<Item = Content>) -> Vec<String> {
    contents
        .into_iter()
        .map(|content| content.render_text())
        .collect()
}

fn next(setup: &Setup, outcomes: impl IntoIterator<Item = SendOutcome>) {
    setup.world.providers.outcomes.lock().unwrap().extend(outcomes);
}

fn accepted() -> SendOutcome {
    SendOutcome::Accepted {
        provider_message_id: Some("FIRST".to_owned()),
        simulated: false,
        held: None,
    }
}

fn comes_back() -> SendOutcome {
    SendOutcome::Retryable {
        why: "500".to_owned(),
        after: None,
    }
}

async fn set_mode(setup: &Setup, conversation: &ConversationId, mode: ConversationMode) {
    succeed(recado_operators::set_conversation_mode(
        &setup.world,
        &Caller::installation(),
        conversation,
        mode,
        &correlation(),
    ))
    .await;
}

#[tokio::test]
async fn it_leaves_in_parts_and_in_order() {
    let (setup, conversation) = in_parts(3).await;
    let parts = open(&setup, &conversation).await;
    assert_eq!(
        texts(parts.iter().map(|part| part.content.clone())),
        paragraphs(3)
    );
    setup.send(&conversation).await;
    assert_eq!(texts(setup.world.providers.contents()), paragraphs(3));
    assert_eq!(states(&setup, &parts).await, ["sent"; 3]);
}

#[tokio::test]
async fn its_parts_say_which_they_are_cover_the_same_and_were_paid_for_once() {
    let (setup, conversation) = in_parts(3).await;
    let parts = open(&setup, &conversation).await;
    let known = succeed(setup.world.store.find_conversation(&conversation))
        .await
        .unwrap();
    for (number, part) in (1..).zip(&parts) {
        let out = part.out.as_ref().unwrap();
        assert_eq!(out.part, Some(ReplyPart { number, of: 3 }));
        assert_eq!((out.covers, out.epoch), (known.turn_upto, known.epoch));
        assert_eq!(part.usage.is_some(), number == 1);
        assert!(part.model.is_some());
    }
    assert!(!known.owes_answer());
    assert_eq!(known.last, parts[2].ordinal);
}

#[tokio::test]
async fn a_reply_that_fits_is_one_message_and_no_part() {
    let text = "é".repeat(TEXT_MAX);
    let (setup, conversation) = answered_with(Fixture::new(), &text).await;
    let [only] = &open(&setup, &conversation).await[..] else {
        panic!("one message holds it");
    };
    assert_eq!(only.content, Content::from_text(text));
    assert_eq!(only.out.as_ref().unwrap().part, None);
}

#[tokio::test]
async fn it_is_measured_as_it_is_sent() {
    let markdown = "**a** ".repeat(TEXT_MAX / 5);
    assert!(markdown.trim().len() > TEXT_MAX);
    let (setup, conversation) = answered_with(Fixture::new(), &markdown).await;
    let [only] = &open(&setup, &conversation).await[..] else {
        panic!("one message holds it");
    };
    assert_eq!(only.content.render_text(), "*a* ".repeat(TEXT_MAX / 5).trim());
}

#[tokio::test]
async fn after_ten_messages_the_rest_is_left_out_and_the_last_says_so() {
    let (setup, conversation) = in_parts(12).await;
    let parts = open(&setup, &conversation).await;
    assert_eq!(
        texts(parts.iter().map(|part| part.content.clone())),
        paragraphs(10)
    );
    let said = |part: &Message| part.out.as_ref().unwrap().history[0].why.clone();
    assert!(parts[..9].iter().all(|part| said(part).is_none()));
    assert!(said(&parts[9]).unwrap().contains("left out"));
}

#[tokio::test]
async fn the_same_timer_again_changes_nothing() {
    let (setup, conversation) = in_parts(3).await;
    let before = open(&setup, &conversation).await;
    setup.turns(&setup.fixture).await;
    assert_eq!(open(&setup, &conversation).await, before);
}

#[tokio::test]
async fn what_is_behind_a_part_that_must_wait_waits_too() {
    let unknown = SendOutcome::Unknown {
        why: "reset".to_owned(),
        timed_out: false,
    };
    for outcome in [comes_back(), unknown] {
        let (setup, conversation) = in_parts(3).await;
        next(&setup, [accepted(), outcome]);
        assert!(matches!(setup.job(&conversation).await, Verdict::Retry { .. }));
        assert_eq!(texts(setup.world.providers.contents()), paragraphs(2));
        setup.send(&conversation).await;
        let sent = texts(setup.world.providers.contents());
        assert_eq!(sent, [paragraph(1), paragraph(2), paragraph(2), paragraph(3)]);
    }
}

#[tokio::test]
async fn a_takeover_stops_the_parts_that_have_not_left_and_what_was_begun_counts_as_answered() {
    let (setup, conversation) = in_parts(3).await;
    let parts = open(&setup, &conversation).await;
    next(&setup, [accepted(), comes_back()]);
    assert!(matches!(setup.job(&conversation).await, Verdict::Retry { .. }));
    set_mode(&setup, &conversation, ConversationMode::Manual).await;
    setup.send(&conversation).await;
    assert_eq!(states(&setup, &parts).await, ["sent", "cancelled", "cancelled"]);
    set_mode(&setup, &conversation, ConversationMode::Ai).await;
    let known = succeed(setup.world.store.find_conversation(&conversation))
        .await
        .unwrap();
    assert!(
        !known.owes_answer(),
        "the contact has half of it, and is not told it twice"
    );
}

#[tokio::test]
async fn given_back_before_any_part_left_the_answer_is_owed_again_and_none_of_them_leaves() {
    let (setup, conversation) = in_parts(3).await;
    let parts = open(&setup, &conversation).await;
    set_mode(&setup, &conversation, ConversationMode::Manual).await;
    set_mode(&setup, &conversation, ConversationMode::Ai).await;
    setup.send(&conversation).await;
    assert_eq!(states(&setup, &parts).await, ["cancelled"; 3]);
    assert!(setup.world.providers.contents().is_empty());
    let known = succeed(setup.world.store.find_conversation(&conversation))
        .await
        .unwrap();
    assert!(known.owes_answer());
    setup.turns(&setup.fixture).await;
    setup.send(&conversation).await;
    assert_eq!(texts(setup.world.providers.contents()), paragraphs(3));
}

#[tokio::test]
async fn a_part_that_is_dead_is_redriven_alone() {
    let (setup, conversation) = in_parts(3).await;
    let parts = open(&setup, &conversation).await;
    let refused = SendOutcome::Permanent {
        reason: Reason::WhatsappPermanentError,
        why: "no".to_owned(),
    };
    next(&setup, [accepted(), refused]);
    setup.send(&conversation).await;
    assert_eq!(states(&setup, &parts).await, ["sent", "dead", "sent"]);
    succeed(recado_dead_letters::redrive_dead_letter(
        &setup.world,
        &Caller::installation(),
        parts[1].message_id().as_str(),
    ))
    .await;
    setup.send(&conversation).await;
    assert_eq!(states(&setup, &parts).await, ["sent"; 3]);
    let sent = texts(setup.world.providers.contents());
    assert_eq!(sent, [1, 2, 3, 2].map(paragraph));
}

#[tokio::test]
async fn on_meta_every_part_takes_its_place_in_the_contacts_rate() {
    let mut fixture = Fixture::on(Provider::Meta);
    let rate = Rate::META_PAIR;
    fixture.bound.instance.pair_rate = Some(Rate { burst: 1, ..rate });
    let (setup, conversation) = answered_with(fixture, &paragraphs(3).join("\n\n")).await;
    let places: Vec<_> = open(&setup, &conversation)
        .await
        .into_iter()
        .map(|part| part.out.unwrap().not_before)
        .collect();
    assert!(places[0].is_none() && places[1].is_some() && places[1] < places[2]);
    setup.send(&conversation).await;
    assert_eq!(texts(setup.world.providers.contents()), paragraphs(3));
    assert!(open(&setup, &conversation).await.is_empty());
}

#[tokio::test]
async fn the_marks_of_a_reply_are_those_that_its_agent_writes() {
    for (format, expected) in [
        (ReplyFormat::Markdown, "_sim_ e *não*"),
        (ReplyFormat::Whatsapp, "*sim* e *não*"),
    ] {
        let mut fixture = Fixture::new();
        fixture.bound.agent.reply_format = format;
        let (setup, conversation) = answered_with(fixture, "*sim* e **não**").await;
        let sent = open(&setup, &conversation).await.into_iter();
        assert_eq!(texts(sent.map(|message| message.content)), [expected]);
    }
}
