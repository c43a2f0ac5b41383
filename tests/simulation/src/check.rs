//! The promises, checked against what the phones got and what the records say.

mod answers;
mod attempts;
mod bursts;
mod events;
mod leaving;
mod marks;
mod people;
mod persons;
mod reading;
mod sends;
mod waits;
mod window;

use crate::queue::WorkQueues;
use crate::stage::Stage;
use futures::executor::block_on;
use people::People;
use recado_domain::conversation::Conversation;
use recado_domain::ids::ConversationId;
use recado_domain::message::Message;
use recado_pipeline::ports::{ConversationFilter, PageRequest, Store};
use std::fmt::Debug;

/// A conversation with all its messages, by ordinal.
pub(crate) type Told = (Conversation, Vec<Message>);

/// Checks every promise; what is broken is noted.
pub fn check<S, Q>(stage: &Stage<S, Q>)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let told = told(stage);
    follow_redirects(stage, &told);
    events::check(stage, &told);
    let people = People::of(stage, &told);
    answers::check(stage, &told, &people);
    reading::check(stage, &told);
    marks::check(stage, &told);
    people::check(stage, &told, &people);
    sends::check(stage, &told);
    attempts::check(stage, &told);
    waits::check(stage, &told);
    bursts::check(stage, &told);
    leaving::check(stage, &told);
    nothing_open(stage);
}

fn told<S, Q>(stage: &Stage<S, Q>) -> Vec<Told>
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let (mut all, mut page) = (Vec::new(), first_page());
    loop {
        let found = block_on(
            stage
                .store
                .search_conversations(&ConversationFilter::default(), &page),
        )
        .expect("conversations are read");
        for conversation in found.items {
            let messages = messages(stage, &conversation);
            all.push((conversation, messages));
        }
        match found.next_cursor {
            Some(cursor) => page.cursor = Some(cursor),
            None => return all,
        }
    }
}

/// Through how many threads a conversation that was left leads to the one that goes on, at most.
const THREADS_MAX: usize = 8;

/// Assigns people's acts on a conversation that only leads to another one to that other one, as the operators' API does.
fn follow_redirects<S, Q>(stage: &Stage<S, Q>, told: &[Told])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let is_listed = |id: &ConversationId| told.iter().any(|(conversation, _)| conversation.id == *id);
    let acts = stage.ledger().acts.clone();
    for (place, act) in acts.iter().enumerate() {
        let mut id = act.conversation.clone();
        for _ in 0..THREADS_MAX {
            if is_listed(&id) {
                break;
            }
            let found = block_on(stage.store.find_conversation(&id)).expect("conversations are read");
            let Some(moved_to) = found.and_then(|conversation| conversation.moved_to) else {
                break;
            };
            id = moved_to;
        }
        stage.ledger().acts[place].conversation = id;
    }
}

fn first_page() -> PageRequest {
    PageRequest {
        limit: 100,
        cursor: None,
    }
}

fn messages<S, Q>(stage: &Stage<S, Q>, conversation: &Conversation) -> Vec<Message>
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let (mut all, mut page) = (Vec::new(), first_page());
    loop {
        let found = block_on(stage.store.list_messages(&conversation.id, &page)).expect("messages are read");
        all.extend(found.items);
        match found.next_cursor {
            Some(cursor) => page.cursor = Some(cursor),
            None => break,
        }
    }
    all.sort_by_key(|message| message.ordinal);
    all
}

/// No record waits for anything, and no queue gave anything up by itself.
fn nothing_open<S, Q>(stage: &Stage<S, Q>)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    if !stage.reconciles {
        // Nobody asks then; what the messages say was looked at.
        return;
    }
    let far = recado_domain::millis::add_millis(stage.simulation().now(), 400 * 86_400_000);
    for open in block_on(stage.store.list_overdue(far, 20)).expect("open records are read") {
        stage.common.broken(format!("left open: {open:?}"));
    }
    for dead in stage.queues.dead().iter().filter(|dead| dead.copy_of.is_none()) {
        stage.common.broken(format!(
            "{} gave up by itself: {}",
            dead.queue.as_str(),
            dead.body
        ));
    }
}
