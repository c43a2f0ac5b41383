//! The index of words: what it finds, what it covers, and what leaves it.

use super::*;
use crate::Clock;
use futures::executor::block_on;
use recado_domain::content::Content;
use recado_domain::conversation::Conversation;
use recado_domain::ids::ConversationId;
use recado_ports::ports::{
    ConversationFilter, ConversationPage, Conversations, DeletedPart, InboundWrite, Inbox, OutboxStore,
    PageRequest, RecordRemoval, WriteOutcome,
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
        text: SearchWords::parse(text),
        ..ConversationFilter::default()
    };
    assert!(filter.text.is_some(), "{text}");
    list_found(store, fixture, filter).await
}

/// The conversations of a tenant with a contact that has this name or number; of all tenants without a fixture.
async fn found_contact(store: &Embedded, fixture: Option<&Fixture>, contact: &str) -> Vec<ConversationId> {
    let filter = ConversationFilter {
        contact: SearchWords::parse_contact(contact),
        ..ConversationFilter::default()
    };
    assert!(filter.contact.is_some(), "{contact}");
    list_found(store, fixture, filter).await
}

async fn search(store: &Embedded, filter: &ConversationFilter) -> ConversationPage {
    let page = PageRequest::first(10);
    succeed(store.search_conversations(filter, &page)).await
}

async fn list_found(
    store: &Embedded,
    fixture: Option<&Fixture>,
    mut filter: ConversationFilter,
) -> Vec<ConversationId> {
    filter.tenant = fixture.map(|fixture| fixture.bound.tenant.id.clone());
    let page = search(store, &filter).await;
    page.items
        .into_iter()
        .map(|conversation| conversation.id)
        .collect()
}

/// The bytes of the indexes that hold words.
async fn index_bytes(store: &Embedded) -> Vec<u8> {
    let read = store.run_read("bytes", |c| {
        let all = "SELECT block FROM message_words_data UNION ALL SELECT block FROM contact_words_data";
        let mut statement = c.prepare(all)?;
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
        let filter = ConversationFilter {
            text: SearchWords::parse("um"),
            ..ConversationFilter::default()
        };
        let covered = async || search(&store, &filter).await.searched_until;
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
            let written = succeed(store.update_closed_message(message, None)).await;
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
        let deleted = succeed(store.delete_part_of(&conversation, DeletedPart::Messages(&[gone]))).await;
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

/// Writes a conversation after a change.
async fn change(store: &Embedded, conversation: &mut Conversation, change: impl FnOnce(&mut Conversation)) {
    change(conversation);
    conversation.rev += 1;
    let written = succeed(store.update_conversation(conversation, &[])).await;
    assert_eq!(written, WriteOutcome::Written);
}

#[test]
fn a_conversation_is_found_by_the_contacts_name_and_by_parts_of_the_number() {
    let (store, fixture, other) = (store(), Fixture::new(), Fixture::new());
    block_on(async {
        let (mut ana, mut bia) = (fixture.conversation(1), fixture.other_contact().conversation(1));
        let mut theirs = other.conversation(1);
        for (conversation, name, phone) in [
            (&mut ana, "Ana Conceição", "+5511986600033"),
            (&mut bia, "Bia", "+5521900000044"),
            (&mut theirs, "Ana", "+5511986600033"),
        ] {
            conversation.contact.name = Some(name.to_owned());
            conversation.contact.phone = Some(phone.to_owned());
        }
        says(&store, &fixture, &mut ana, "Bia mandou um oi").await;
        says(&store, &fixture, &mut bia, "oi").await;
        says(&store, &other, &mut theirs, "oi").await;
        assert_eq!(store.index_message_words().await.unwrap(), 3);
        for contact in [
            "conceicao",
            "ANA conc",
            "+55 11 98660-0033",
            "5511986600033",
            "(11) 98660-0033",
            "98660-0033",
            "8660 0033",
            "0033",
            "98660",
        ] {
            let listed = found_contact(&store, Some(&fixture), contact).await;
            assert_eq!(listed, [ana.id.clone()], "{contact}");
        }
        assert_eq!(
            found_contact(&store, Some(&fixture), "Bia").await,
            [bia.id.clone()]
        );
        assert_eq!(found_contact(&store, Some(&fixture), "ceicao").await, []);
        assert_eq!(
            found_contact(&store, Some(&other), "ana").await,
            [theirs.id.clone()]
        );
        assert_eq!(found_contact(&store, None, "ana").await.len(), 2);
        assert_eq!(
            found(&store, Some(&fixture), "Bia").await,
            [ana.id],
            "a word of a message"
        );
    });
}

#[test]
fn a_new_name_is_found_at_once_and_an_old_or_erased_one_leaves_no_word() {
    let (store, fixture) = (store(), Fixture::new());
    block_on(async {
        let mut conversation = fixture.conversation(1);
        conversation.contact.name = Some("Segredo".to_owned());
        says(&store, &fixture, &mut conversation, "oi").await;
        store.index_message_words().await.unwrap();
        let id = [conversation.id.clone()];
        assert_eq!(found_contact(&store, Some(&fixture), "segredo").await, id);
        change(&store, &mut conversation, |one| {
            one.contact.name = Some("Mistério".to_owned());
        })
        .await;
        assert_eq!(
            found_contact(&store, Some(&fixture), "misterio").await,
            id,
            "at once"
        );
        assert_eq!(found_contact(&store, Some(&fixture), "segredo").await, []);
        assert!(!holds(&index_bytes(&store).await, "segredo"));
        change(&store, &mut conversation, |one| {
            (one.contact.name, one.contact.phone) = (None, None);
        })
        .await;
        assert_eq!(found_contact(&store, Some(&fixture), "misterio").await, []);
        assert!(!holds(&index_bytes(&store).await, "misterio"));
        // The next batch brings nothing back.
        says(&store, &fixture, &mut conversation, "oi").await;
        store.index_message_words().await.unwrap();
        assert_eq!(found_contact(&store, Some(&fixture), "misterio").await, []);
    });
}
