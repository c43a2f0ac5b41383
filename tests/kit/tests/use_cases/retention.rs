//! What is kept no longer goes when its time has come, and what is still owed stays until it is settled.

use crate::world::Setup;
use recado_domain::access::Caller;
use recado_domain::content::Content;
use recado_domain::context::{MessageContext, QuotedMessage};
use recado_domain::delivery::{DeliveryKey, DeliveryStatus, StatusUpdate};
use recado_domain::effects::EntryEnd;
use recado_domain::event::EventKind;
use recado_domain::ids::{ConversationId, Ordinal};
use recado_domain::inbound::WebhookItem;
use recado_domain::message::Message;
use recado_domain::reason::Reason;
use recado_domain::retention::{RetentionPeriod, RetentionPolicy};
use recado_pipeline::ports::{Conversations, OutboxStore, SendOutcome, WriteOutcome};
use recado_pipeline::reconcile::reconcile;
use recado_pipeline::records::aliases::find_alias;
use recado_pipeline::records::configuration::put_configuration;
use recado_pipeline::{Verdict, ingest};
use recado_testkit::builders::{Fixture, correlation, identity_key};
use recado_testkit::ports::succeed;
use recado_testkit::stored_effect::{read_journal, store_booking};
use serde_json::json;

const DAY: i64 = 86_400;
const NUMBER: &str = "5511900000077";

/// A world whose tenant keeps messages for so long.
async fn keeping(messages: RetentionPeriod) -> Setup {
    let mut fixture = Fixture::new();
    fixture.bound.tenant.retention.messages = messages;
    Setup::set(fixture).await
}

/// An hour passes, in which every tenant has its turn. Returns the number of deleted messages.
async fn sweep(setup: &Setup) -> usize {
    let mut deleted = 0;
    for _ in 0..4 {
        let into = setup.now().as_second().rem_euclid(900);
        setup.pass(900 - into);
        deleted += reconcile(&setup.world).await.unwrap().count_of("expired");
    }
    deleted
}

/// A message is sent to a contact that nobody wrote to before, or again.
async fn sent(setup: &Setup, to: &str) -> ConversationId {
    let conversation = setup.client_writes(to).await.conversation.unwrap();
    setup.send(&conversation).await;
    conversation
}

async fn stored(setup: &Setup, conversation: &ConversationId) -> Vec<u64> {
    let found = succeed(
        setup
            .world
            .store
            .list_messages_after(conversation, Ordinal(0), 200),
    )
    .await;
    found.iter().map(|message| message.ordinal.0).collect()
}

async fn exists(setup: &Setup, conversation: &ConversationId) -> bool {
    succeed(setup.world.store.find_conversation(conversation))
        .await
        .is_some()
}

#[tokio::test]
async fn a_message_goes_after_its_period_and_the_conversation_with_the_last_one() {
    let setup = keeping(RetentionPeriod::Days(30)).await;
    let conversation = sent(&setup, NUMBER).await;
    setup.pass(20 * DAY);
    assert_eq!(sent(&setup, NUMBER).await, conversation);
    assert_eq!(sweep(&setup).await, 0);
    setup.pass(10 * DAY);
    assert_eq!(sweep(&setup).await, 1);
    assert_eq!(stored(&setup, &conversation).await, [2]);
    let (kept, history) = succeed(setup.world.store.find_with_history(&conversation, 20))
        .await
        .unwrap();
    assert_eq!((kept.last, history.len()), (Ordinal(2), 1));
    assert_eq!(sweep(&setup).await, 0);
    setup.pass(20 * DAY);
    assert_eq!(sweep(&setup).await, 1);
    assert!(!exists(&setup, &conversation).await);
    let again = sent(&setup, NUMBER).await;
    assert_eq!(stored(&setup, &again).await, [1], "the contact begins anew");
}

#[tokio::test]
async fn a_conversation_that_is_kept_longer_stays_without_its_messages() {
    let mut fixture = Fixture::new();
    fixture.bound.tenant.retention.messages = RetentionPeriod::Days(2);
    fixture.bound.tenant.retention.conversations = Some(RetentionPeriod::Days(30));
    let mut setup = Setup::set(fixture).await;
    let conversation = sent(&setup, NUMBER).await;
    setup.pass(2 * DAY);
    assert_eq!(sweep(&setup).await, 1);
    assert!(exists(&setup, &conversation).await);
    setup.pass(DAY);
    assert_eq!(sent(&setup, NUMBER).await, conversation, "the contact is known");
    for _ in 0..3 {
        setup.pass(DAY);
        sweep(&setup).await;
    }
    assert!(
        stored(&setup, &conversation).await.is_empty(),
        "the new message goes in its time"
    );
    for _ in 0..24 {
        setup.pass(DAY);
        sweep(&setup).await;
    }
    assert!(
        exists(&setup, &conversation).await,
        "its period counts from its last message"
    );
    // A period that is made shorter counts, too.
    setup.fixture.bound.tenant.retention.conversations = None;
    let changed = setup.fixture.document();
    put_configuration(&setup.world.store, &changed).await.unwrap();
    setup.pass(2 * DAY);
    sweep(&setup).await;
    assert!(!exists(&setup, &conversation).await);
}

#[tokio::test]
async fn a_delivery_is_kept_as_long_as_its_tenant_has_it() {
    let mut fixture = Fixture::new();
    fixture.bound.tenant.retention.deliveries = RetentionPeriod::Days(7);
    let setup = Setup::set(fixture).await;
    let (instance, line) = (&setup.fixture.bound.instance, setup.fixture.external());
    sent(&setup, NUMBER).await;
    let key = DeliveryKey::from_provider_id(instance.provider, &line, "P0");
    let is_kept = async || succeed(setup.world.store.find_delivery(&key)).await.is_some();
    setup.pass(7 * DAY - 2);
    assert!(is_kept().await);
    // A late status does not keep it longer.
    let read = StatusUpdate {
        key: key.clone(),
        status: DeliveryStatus::Read,
        at: setup.now(),
        provider_message_id: None,
        detail: None,
    };
    let read = vec![WebhookItem::Status(read)];
    ingest::ingest(&setup.world, read, &correlation()).await.unwrap();
    setup.pass(2);
    assert!(!is_kept().await);
}

#[tokio::test]
async fn more_than_one_transaction_holds_goes_in_one_pass() {
    let setup = keeping(RetentionPeriod::Days(30)).await;
    let mut conversation = None;
    for _ in 0..120 {
        conversation = Some(sent(&setup, NUMBER).await);
        setup.pass(60);
    }
    setup.pass(31 * DAY);
    assert_eq!(sweep(&setup).await, 120);
    assert!(!exists(&setup, &conversation.unwrap()).await);
}

#[tokio::test]
async fn what_is_kept_for_ever_stays_and_a_changed_period_counts_from_the_next_pass() {
    let mut setup = keeping(RetentionPeriod::Forever).await;
    let conversation = sent(&setup, NUMBER).await;
    setup.pass(4_000 * DAY);
    assert_eq!(sweep(&setup).await, 0);
    setup.fixture.bound.tenant.retention = RetentionPolicy::default();
    let changed = setup.fixture.document();
    put_configuration(&setup.world.store, &changed).await.unwrap();
    assert_eq!(sweep(&setup).await, 1);
    assert!(!exists(&setup, &conversation).await);
}

#[tokio::test]
async fn a_message_that_waits_for_an_answer_stays_and_what_was_answered_goes() {
    let setup = keeping(RetentionPeriod::Days(1)).await;
    let fixture = setup.fixture.clone();
    let conversation = setup.replied_to(&fixture).await.conversation;
    setup.send(&conversation).await;
    setup.message(&fixture, "A", "e amanhã?", false).await;
    for _ in 0..3 {
        setup.pass(2 * DAY);
        sweep(&setup).await;
        assert_eq!(stored(&setup, &conversation).await, [3]);
    }
    recado_operators::resolve_conversation(
        &setup.world,
        &Caller::installation(),
        &conversation,
        None,
        &correlation(),
    )
    .await
    .unwrap();
    setup.pass(2 * DAY);
    assert_eq!(sweep(&setup).await, 1);
    assert!(!exists(&setup, &conversation).await);
}

#[tokio::test]
async fn a_message_that_can_be_redriven_stays_until_its_dead_letter_is_settled() {
    let setup = keeping(RetentionPeriod::Days(1)).await;
    setup.answers(SendOutcome::Permanent {
        reason: Reason::WhatsappPermanentError,
        why: "no such number".to_owned(),
    });
    let conversation = sent(&setup, NUMBER).await;
    sent(&setup, NUMBER).await;
    setup.pass(2 * DAY);
    assert_eq!(sweep(&setup).await, 1, "the other message goes");
    assert_eq!(stored(&setup, &conversation).await, [1]);
    setup.pass(400 * DAY);
    assert_eq!(sweep(&setup).await, 0);
    let dead = conversation.message_id(Ordinal(1));
    recado_dead_letters::delete_dead_letter(&setup.world, &Caller::installation(), dead.as_str())
        .await
        .unwrap();
    setup.pass(2 * DAY);
    assert_eq!(sweep(&setup).await, 1);
    assert!(!exists(&setup, &conversation).await);
}

#[tokio::test]
async fn a_message_that_waits_for_its_instance_is_not_deleted() {
    let setup = keeping(RetentionPeriod::Days(1)).await;
    let reply = setup.replied().await;
    setup.pass(2 * DAY);
    for _ in 0..2 {
        sweep(&setup).await;
        assert_eq!(stored(&setup, &reply.conversation).await, [2], "it is queued");
        setup.pass(DAY);
    }
}

#[tokio::test]
async fn a_number_that_was_learnt_goes_with_the_conversation() {
    let setup = keeping(RetentionPeriod::Days(30)).await;
    let payload = json!({
        "address": setup.fixture.address.as_str(), "also": "123456@lid", "id": "A", "text": "oi", "from_me": false,
    });
    let job = setup.event(EventKind::Message, payload).await;
    assert_eq!(setup.receive(&job, 1).await, Verdict::Done);
    let store = &setup.world.store;
    let identity = identity_key().derive_thread_id(setup.fixture.instance(), "123456@lid");
    assert!(succeed(find_alias(store, &identity)).await.is_some());
    let conversation = setup.turns(&setup.fixture).await;
    recado_operators::resolve_conversation(
        &setup.world,
        &Caller::installation(),
        &conversation,
        None,
        &correlation(),
    )
    .await
    .unwrap();
    setup.send(&conversation).await;
    setup.pass(31 * DAY);
    assert!(sweep(&setup).await > 0);
    assert!(!exists(&setup, &conversation).await);
    assert_eq!(succeed(find_alias(store, &identity)).await, None);
}

/// The contact writes, changes its words, quotes them, and deletes them for everyone. Returns what is stored.
async fn deleted_for_everyone(setup: &Setup) -> Vec<Message> {
    let fixture = &setup.fixture;
    setup.message(fixture, "A", "meu CPF", false).await;
    let contact = fixture.address.as_str();
    let edit = json!({"changes": "event-0", "text": "o meu CPF", "address": contact, "from_me": false});
    let edit = setup.event(EventKind::Message, edit).await;
    assert_eq!(setup.receive(&edit, 1).await, Verdict::Done);
    setup.message(fixture, "B", "viu?", false).await;
    let store = &setup.world.store;
    let thread = fixture.thread();
    let conversation = succeed(store.find_latest_conversation(&thread)).await.unwrap();
    let history = succeed(store.find_with_history(&conversation.id, 10))
        .await
        .unwrap()
        .1;
    let quoting = Message {
        context: MessageContext {
            reply_to: Some(QuotedMessage {
                id: Some("A".to_owned()),
                text: Some("o meu CPF".to_owned()),
                message: None,
            }),
            ..MessageContext::default()
        },
        rev: 1,
        ..history[2].clone()
    };
    assert_eq!(
        succeed(store.update_closed_message(&quoting, None)).await,
        WriteOutcome::Written
    );
    let deletion = json!({"changes": "event-0", "text": null, "address": contact, "from_me": false});
    let deletion = setup.event(EventKind::Message, deletion).await;
    for receives in 1..3 {
        assert_eq!(setup.receive(&deletion, receives).await, Verdict::Done);
    }
    succeed(store.find_with_history(&conversation.id, 10))
        .await
        .unwrap()
        .1
}

#[tokio::test]
async fn what_the_contact_deleted_for_everyone_loses_its_content_and_keeps_its_place() {
    let setup = Setup::set(Fixture::new()).await;
    let history = deleted_for_everyone(&setup).await;
    assert_eq!(history.len(), 4);
    assert_eq!(history[0].content, Content::Removed);
    assert_eq!(history[0].provider_message_id.as_deref(), Some("A"));
    assert_eq!(history[2].content, Content::from_text("viu?"));
    assert!(!serde_json::to_string(&history).unwrap().contains("CPF"));
}

#[tokio::test]
async fn a_tenant_may_keep_what_was_deleted_for_everyone() {
    let mut fixture = Fixture::new();
    fixture.bound.tenant.retention.remove_deleted_content = false;
    let history = deleted_for_everyone(&Setup::set(fixture).await).await;
    assert_eq!(history[0].content, Content::from_text("meu CPF"));
    assert_eq!(serde_json::to_string(&history).unwrap().matches("CPF").count(), 4);
}

/// Returns whether the thread of a conversation has a journal.
async fn has_journal(setup: &Setup, conversation: &ConversationId) -> bool {
    let (store, tenant) = (&setup.world.store, &setup.fixture.bound.tenant.id);
    read_journal(store, tenant, conversation.thread_id())
        .await
        .is_some()
}

/// Marks the conversation as one that may have a journal, and stores an effect of it.
async fn with_effect(setup: &Setup, id: &ConversationId, calendar: &str, end: Option<EntryEnd>) {
    let store = &setup.world.store;
    let mut conversation = succeed(store.find_conversation(id)).await.unwrap();
    conversation.features.has_journal = true;
    conversation.rev += 1;
    assert_eq!(
        succeed(store.update_conversation(&conversation, &[])).await,
        WriteOutcome::Written
    );
    store_booking(store, &conversation, (calendar, "Bia"), end, setup.now()).await;
}

#[tokio::test]
async fn an_effect_that_ended_goes_with_its_conversation() {
    let setup = keeping(RetentionPeriod::Days(30)).await;
    let conversation = sent(&setup, NUMBER).await;
    with_effect(
        &setup,
        &conversation,
        "agenda",
        Some(EntryEnd::Failed { fence: false }),
    )
    .await;
    setup.pass(29 * DAY);
    sweep(&setup).await;
    assert!(has_journal(&setup, &conversation).await);
    setup.pass(DAY);
    assert_eq!(sweep(&setup).await, 1);
    assert!(!has_journal(&setup, &conversation).await);
    assert!(!exists(&setup, &conversation).await);
}

/// Nothing else leads to the journal of a conversation.
#[tokio::test]
async fn an_effect_that_ended_after_the_last_message_keeps_its_conversation_until_its_own_time_is_over() {
    let setup = keeping(RetentionPeriod::Days(30)).await;
    let conversation = sent(&setup, NUMBER).await;
    setup.pass(10 * DAY);
    let end = Some(EntryEnd::Failed { fence: false });
    with_effect(&setup, &conversation, "agenda", end).await;
    setup.pass(21 * DAY);
    sweep(&setup).await;
    assert!(
        has_journal(&setup, &conversation).await,
        "the effect is not due yet"
    );
    assert!(
        exists(&setup, &conversation).await,
        "nothing else leads to the journal"
    );
    setup.pass(10 * DAY);
    sweep(&setup).await;
    assert!(!has_journal(&setup, &conversation).await);
    assert!(!exists(&setup, &conversation).await);
}

#[tokio::test]
async fn an_effect_of_which_nobody_knows_the_end_keeps_its_conversation() {
    let setup = keeping(RetentionPeriod::Days(30)).await;
    for (number, end) in [(NUMBER, None), ("5511900000078", Some(EntryEnd::Done))] {
        let conversation = sent(&setup, number).await;
        with_effect(&setup, &conversation, number, end).await;
        setup.pass(31 * DAY);
        sweep(&setup).await;
        assert!(exists(&setup, &conversation).await, "{end:?}");
        assert!(has_journal(&setup, &conversation).await);
    }
}
