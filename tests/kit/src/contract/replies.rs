//! Committing a reply of the agent, which may take several messages.

use super::given::{
    assert_conflict, assert_untouched, assert_written, begun, list_open, open_ordinals, updated,
};
use crate::builders::Fixture;
use crate::ports::succeed;
use futures::future::join_all;
use recado_domain::content::Content;
use recado_domain::conversation::Conversation;
use recado_domain::ids::Ordinal;
use recado_domain::message::Message;
use recado_domain::outbox::ReplyPart;
use recado_ports::ports::{CommitOutcome, Store};

/// A reply in so many parts that say `text`, numbered in `conversation`.
fn parts(fixture: &Fixture, conversation: &mut Conversation, of: u32, text: &str) -> Vec<Message> {
    let first = fixture.reply(conversation);
    let part = |number: u32| {
        let mut part = first.clone();
        if number > 1 {
            part.ordinal = conversation.append_message(first.stored_at);
        }
        part.content = Content::from_text(text);
        if let Some(out) = &mut part.out {
            out.part = Some(ReplyPart { number, of });
        }
        part
    };
    (1..=of).map(part).collect()
}

pub async fn a_reply_is_committed_with_its_conversation_and_is_open<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    let reply = [fixture.reply(&mut conversation)];
    assert_written(store.commit_messages(&conversation, &reply, &[])).await;
    assert_eq!(
        succeed(store.find_conversation(&conversation.id)).await,
        Some(conversation.clone())
    );
    assert_eq!(
        succeed(store.find_message(&reply[0].message_id())).await.as_ref(),
        Some(&reply[0])
    );
    assert_eq!(list_open(store, &conversation.id).await, reply);
}

pub async fn ten_parts_of_the_longest_text_are_committed_at_once_and_are_open_in_order<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    // Three bytes each: as long as 4,096 UTF-16 code units get.
    let parts = parts(&fixture, &mut conversation, 10, &"好".repeat(4096));
    assert_written(store.commit_messages(&conversation, &parts, &[])).await;
    assert_eq!(
        succeed(store.find_conversation(&conversation.id)).await,
        Some(conversation.clone())
    );
    assert_eq!(list_open(store, &conversation.id).await, parts);
    let (_, history) = succeed(store.find_with_history(&conversation.id, 10))
        .await
        .unwrap();
    assert_eq!(history, parts);
}

pub async fn a_reply_to_a_conversation_changed_meanwhile_is_a_conflict_and_no_part_is_written<S: Store>(
    store: &S,
) {
    let fixture = Fixture::new();
    let mut stored = begun(store, &fixture).await;
    let mut stale = stored.clone();
    stored.take_over();
    updated(store, &mut stored).await;
    let parts = parts(&fixture, &mut stale, 3, "oi");
    assert_conflict(store.commit_messages(&stale, &parts, &[])).await;
    for part in &parts {
        assert_untouched(store, &stored, part.ordinal).await;
    }
}

pub async fn of_ten_replies_at_once_one_is_committed_with_all_its_parts<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let conversation = begun(store, &fixture).await;
    let drafts: Vec<_> = (1..=10)
        .map(|of| {
            let mut conversation = conversation.clone();
            let parts = parts(&fixture, &mut conversation, of, &format!("de {of}"));
            (conversation, parts)
        })
        .collect();
    let found = join_all(
        drafts
            .iter()
            .map(|(c, parts)| store.commit_messages(c, parts, &[])),
    )
    .await;
    let won: Vec<usize> = (0..10)
        .filter(|index| *found[*index].as_ref().unwrap() == CommitOutcome::Committed)
        .collect();
    assert_eq!(won.len(), 1);
    let (_, parts) = &drafts[won[0]];
    assert_eq!(&list_open(store, &conversation.id).await, parts);
    let last = parts.last().map_or(Ordinal(0), |part| part.ordinal);
    let all = succeed(store.find_message(&conversation.id.message_id(last.next_ordinal()))).await;
    assert_eq!(
        (all, open_ordinals(store, &conversation).await.len()),
        (None, parts.len())
    );
}
