//! The index of words: what it finds, what it covers, and what leaves it.

use super::*;
use crate::Clock;
use futures::executor::block_on;
use recado_domain::content::Content;
use recado_domain::conversation::Conversation;
use recado_domain::ids::ConversationId;
use recado_pipeline::ports::{
    ConversationFilter, Conversations, InboundWrite, Inbox, PageRequest, RetainedRecords, WriteOutcome,
};
use recado_testkit::builders::{Fixture, at};
use recado_testkit::ports::succeed;

/// The time at which the stores of these tests are asked.
const NOW: i64 = 9_000_000;

fn store() -> Embedded {
    Embedded::in_memory(Clock::new(|| at(NOW))).unwrap()
}

/// A contact writes a text.
async fn says(store: &Embedded, fixture: &Fixture, conversation: &mut Conversation, text: &str) -> Message {
    let job = fixture.job();
    let mut message = fixture.inbound(conversation, &job);
    message.content = Content::from_text(text);
    let _ = succeed(store.record_event(&job)).await;
    let write = InboundWrite {
        event: &job.event,
        conversation,
        message: &message,
        finish: None,
    };
    let _ = succeed(store.store_inbound(write)).await;
    message
}

/// The conversations of a tenant in which `text` is found; of all tenants without a fixture.
async fn found(store: &Embedded, fixture: Option<&Fixture>, text: &str) -> Vec<ConversationId> {
    let filter = ConversationFilter {
        tenant: fixture.map(|fixture| fixture.bound.tenant.id.clone()),
        text: SearchWords::parse(text),
        ..ConversationFilter::default()
    };
    assert!(filter.text.is_some(), "{text}");
    let page = PageRequest {
        limit: 10,
        cursor: None,
    };
    let page = succeed(store.search_conversations(&filter, &page)).await;
    page.items
        .into_iter()
        .map(|conversation| conversation.id)
        .collect()
}

/// The bytes of the index that hold words.
async fn index_bytes(store: &Embedded) -> Vec<u8> {
    let read = store.run_read("bytes", |c| {
        let mut statement = c.prepare("SELECT block FROM message_words_data")?;
        let blocks = statement.query_map([], |row| row.get::<_, Vec<u8>>(0))?;
        let blocks: rusqlite::Result<Vec<Vec<u8>>> = blocks.collect();
        Ok(blocks?.concat())
    });
    read.await.unwrap()
}

fn holds(bytes: &[u8], word: &str) -> bool {
    bytes.windows(word.len()).any(|part| part == word.as_bytes())
}

#[test]
fn a_conversation_is_found_by_words_of_one_message_without_case_and_accents() {
    let (store, fixture, other) = (store(), Fixture::new(), Fixture::new());
    block_on(async {
        let (mut ana, mut bia) = (fixture.conversation(1), fixture.other_contact().conversation(1));
        says(&store, &fixture, &mut ana, "A VACINA custa quanto?").await;
        says(&store, &fixture, &mut ana, "Preciso de um orçamento").await;
        says(&store, &fixture, &mut bia, "vacinação amanhã").await;
        let mut theirs = other.conversation(1);
        says(&store, &other, &mut theirs, "vacina").await;
        assert_eq!(
            found(&store, Some(&fixture), "vacina").await,
            [],
            "not indexed yet"
        );
        assert_eq!(store.index_message_words().await.unwrap(), 4);
        assert_eq!(store.index_message_words().await.unwrap(), 0);
        let both = found(&store, Some(&fixture), "vacina").await;
        assert_eq!(both.len(), 2, "{both:?}");
        assert!(both.contains(&ana.id) && both.contains(&bia.id));
        for text in [
            "orcamento",
            "ORÇAMENTO preciso",
            "vac custa",
            "de um",
            "\"quanto?\"",
        ] {
            assert_eq!(
                found(&store, Some(&fixture), text).await,
                [ana.id.clone()],
                "{text}"
            );
        }
        assert_eq!(
            found(&store, Some(&fixture), "va").await,
            [],
            "too short a beginning"
        );
        assert_eq!(
            found(&store, Some(&fixture), "vacina orcamento").await,
            [],
            "of two messages"
        );
        assert_eq!(found(&store, Some(&other), "vacina").await, [theirs.id]);
        assert_eq!(found(&store, None, "vacina").await.len(), 3);
    });
}

#[test]
fn nothing_that_is_typed_is_an_operator_of_the_search() {
    let (store, fixture) = (store(), Fixture::new());
    block_on(async {
        let mut conversation = fixture.conversation(1);
        says(
            &store,
            &fixture,
            &mut conversation,
            "and or not near tenant words",
        )
        .await;
        store.index_message_words().await.unwrap();
        for text in [
            "AND",
            "OR NOT",
            "NEAR(or and)",
            "words:tenant",
            "tenant : t*",
            "\"or\" OR \"and\"",
            "-not",
            "^and",
            "(and",
            "and)",
            "*and*",
            "a'nd; DROP",
        ] {
            let _no_error = found(&store, Some(&fixture), text).await;
        }
        let id = [conversation.id];
        assert_eq!(found(&store, Some(&fixture), "NEAR(or and)").await, id);
        assert_eq!(found(&store, Some(&fixture), "words : missing").await, []);
        let tenant = make_tenant_word(&fixture.bound.tenant.id);
        assert_eq!(
            found(&store, Some(&fixture), &tenant).await,
            [],
            "no word of a message"
        );
    });
}

#[test]
fn a_search_says_up_to_which_time_it_covers_the_messages() {
    let (store, fixture) = (store(), Fixture::new());
    block_on(async {
        let covered = async || succeed(store.find_searched_time()).await;
        assert_eq!(covered().await, Some(at(NOW)), "there is nothing to index");
        let mut conversation = fixture.conversation(1);
        let first = says(&store, &fixture, &mut conversation, "um").await;
        assert_eq!(covered().await, Some(first.stored_at));
        store.index_message_words().await.unwrap();
        assert_eq!(covered().await, Some(at(NOW)));
        for number in 0..=INDEX_BATCH {
            says(&store, &fixture, &mut conversation, &format!("número {number}")).await;
        }
        assert_eq!(store.index_message_words().await.unwrap(), INDEX_BATCH);
        let last = format!("{INDEX_BATCH}");
        assert_eq!(found(&store, Some(&fixture), &last).await, []);
        assert_eq!(store.index_message_words().await.unwrap(), 1);
        assert_eq!(found(&store, Some(&fixture), &last).await, [conversation.id]);
    });
}

#[test]
fn a_changed_message_is_found_by_its_new_words_alone() {
    let (store, fixture) = (store(), Fixture::new());
    block_on(async {
        let mut conversation = fixture.conversation(1);
        let mut indexed = says(&store, &fixture, &mut conversation, "segredo").await;
        store.index_message_words().await.unwrap();
        let mut later = says(&store, &fixture, &mut conversation, "mistério").await;
        for (message, text) in [(&mut indexed, "público"), (&mut later, "aberto")] {
            message.content = Content::from_text(text);
            message.rev += 1;
            let written = succeed(store.replace_message(message, None)).await;
            assert_eq!(written, WriteOutcome::Written);
        }
        let id = [conversation.id];
        assert_eq!(found(&store, Some(&fixture), "publico").await, id, "at once");
        assert_eq!(found(&store, Some(&fixture), "segredo").await, []);
        assert!(!holds(&index_bytes(&store).await, "segredo"));
        store.index_message_words().await.unwrap();
        assert_eq!(found(&store, Some(&fixture), "aberto").await, id);
        assert_eq!(found(&store, Some(&fixture), "misterio").await, []);
    });
}

#[test]
fn a_deleted_message_leaves_no_word_and_its_place_is_not_given_again() {
    let (store, fixture) = (store(), Fixture::new());
    block_on(async {
        let mut conversation = fixture.conversation(1);
        says(&store, &fixture, &mut conversation, "fica").await;
        let gone = says(&store, &fixture, &mut conversation, "segredo").await;
        store.index_message_words().await.unwrap();
        assert!(holds(&index_bytes(&store).await, "segredo"));
        conversation.rev += 1;
        let deleted = succeed(store.delete_messages(&conversation, &[gone])).await;
        assert_eq!(deleted, WriteOutcome::Written);
        assert_eq!(found(&store, Some(&fixture), "segredo").await, []);
        assert!(!holds(&index_bytes(&store).await, "segredo"));
        // It would lie before the place up to which all is indexed.
        says(&store, &fixture, &mut conversation, "depois").await;
        assert_eq!(store.index_message_words().await.unwrap(), 1);
        let id = [conversation.id];
        assert_eq!(found(&store, Some(&fixture), "depois").await, id);
        assert_eq!(found(&store, Some(&fixture), "fica").await, id);
    });
}
