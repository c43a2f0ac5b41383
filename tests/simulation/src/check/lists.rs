//! Lists, counts, sums and searches agree with what phones got, what contacts wrote and what models used.

use super::Told;
use super::waits::is_undisturbed;
use crate::fake_world::TOKENS_PER_REPLY;
use crate::queue::WorkQueues;
use crate::simulator::Simulator;
use futures::executor::block_on;
use jiff::civil::{Date, date};
use recado_domain::access::Caller;
use recado_domain::dead_letter::DeadLetterContent;
use recado_domain::ids::{ConversationId, MessageId};
use recado_domain::message::Message;
use recado_domain::outbox::OutboxState;

use recado_pipeline::ports::{ConversationFilter, PageRequest, SearchWords, Store};
use recado_pipeline::records::dead_letters::DeadLetterFilter;
use std::collections::BTreeSet;
use std::fmt::Debug;

/// Items on a page: few, so that lists have several.
const PAGE: usize = 7;

/// Number of messages that are searched for, and one in how many histories: an index takes a while.
const SEARCHED: usize = 3;
const SEARCHED_EACH: u64 = 4;

pub(super) fn check<S, Q>(sim: &Simulator<S, Q>, told: &[Told])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    if sim.ledger().erased.is_empty() {
        what_arrived_is_listed(sim, told);
        what_is_said_is_found(sim, told);
    }
    dead_letters(sim, told);
    what_models_used(sim);
}

/// Each message that a phone got is in a conversation that is listed.
fn what_arrived_is_listed<S, Q>(sim: &Simulator<S, Q>, told: &[Told]) {
    let listed: BTreeSet<MessageId> = told
        .iter()
        .flat_map(|(_, messages)| messages)
        .map(Message::message_id)
        .collect();
    for one in sim.fake_world.phones().values().flatten() {
        if !listed.contains(&one.message) {
            let id = &one.message;
            sim.common
                .broken(format!("{id} arrived, and no conversation has it"));
        }
    }
}

/// A search by the words of a message finds its conversation, once all is indexed.
fn what_is_said_is_found<S, Q>(sim: &Simulator<S, Q>, told: &[Told])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let is_searched = sim.common.steps().is_multiple_of(SEARCHED_EACH);
    let Some(index) = sim.extras.index.as_ref().filter(|_| is_searched) else {
        return;
    };
    (index.0)();
    let (deps, caller) = (sim.calm_deps(), Caller::installation());
    let all = told
        .iter()
        .flat_map(|(conversation, messages)| messages.iter().map(move |message| (conversation, message)));
    // (What was changed or taken back later is found by its newest words, if at all.)
    let is_final = |message: &Message| {
        let event = message.event.as_ref();
        event.is_none_or(|event| sim.ledger().versions(event).len() <= 1)
    };
    let spoken = all.filter(|(_, message)| {
        message.content.render_text().starts_with(['m', 'i', 'c']) && is_final(message)
    });
    for (conversation, message) in spoken.take(SEARCHED) {
        let text = SearchWords::parse(&message.content.render_text());
        let filter = ConversationFilter {
            tenant: Some(conversation.tenant.clone()),
            text,
            ..ConversationFilter::default()
        };
        let mut page = PageRequest::first(PAGE);
        let mut found: BTreeSet<ConversationId> = BTreeSet::new();
        loop {
            let listed = block_on(recado_operators::list_conversations(
                &deps,
                &caller,
                filter.clone(),
                &page,
            ));
            let listed = listed.expect("conversations are searched");
            found.extend(listed.items.into_iter().map(|one| one.id));
            match listed.next_cursor {
                Some(cursor) => page.cursor = Some(cursor),
                None => break,
            }
        }
        if !found.contains(&conversation.id) {
            let id = message.message_id();
            sim.common
                .broken(format!("no search finds {id} by its words, only {found:?}"));
        }
    }
}

/// As many dead letters are counted as listed, and those of messages are of the messages that are dead.
fn dead_letters<S, Q>(sim: &Simulator<S, Q>, told: &[Told])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let (deps, caller) = (sim.calm_deps(), Caller::installation());
    let mut page = PageRequest::first(PAGE);
    let mut letters = Vec::new();
    loop {
        let filter = DeadLetterFilter::default();
        let listed = block_on(recado_dead_letters::list_dead_letters(
            &deps, &caller, filter, &page,
        ));
        let listed = listed.expect("dead letters are read");
        letters.extend(listed.items);
        match listed.next_cursor {
            Some(cursor) => page.cursor = Some(cursor),
            None => break,
        }
    }
    let counted = block_on(recado_dead_letters::count_dead_letters(&deps, &caller, None));
    let (counted, listed) = (counted.expect("dead letters are counted"), letters.len());
    if counted != listed as u64 {
        sim.common
            .broken(format!("{counted} dead letters are counted, and {listed} listed"));
    }
    let dead: BTreeSet<MessageId> = told
        .iter()
        .flat_map(|(_, messages)| messages)
        .filter(|message| {
            let state = message.out.as_ref().map(|out| &out.state);
            matches!(state, Some(OutboxState::Dead { .. }))
        })
        .map(Message::message_id)
        .collect();
    let of_messages = letters.iter().filter_map(|letter| match &letter.what {
        DeadLetterContent::Message { message } => Some(message),
        _ => None,
    });
    for message in of_messages.filter(|message| !dead.contains(*message)) {
        sim.common
            .broken(format!("a dead letter is of {message}, which is not dead"));
    }
}

/// The sums hold no more than the models used for their answers, and all of it where nothing was disturbed.
fn what_models_used<S, Q>(sim: &Simulator<S, Q>)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    // Agents that users run tell of no tokens.
    let asks_model = sim.bounds.iter().all(|bound| bound.agent.http.is_none());
    let bounds = sim.bounds.iter().filter(|_| asks_model);
    let tenants: BTreeSet<_> = bounds.map(|bound| &bound.tenant.id).collect();
    for tenant in tenants {
        let sums = block_on(sim.store.list_usage(tenant, date(1970, 1, 1), Date::MAX));
        let sums = sums.expect("the use of models is read");
        let counted: u64 = sums.iter().map(|sum| sum.replies + sum.discarded_drafts).sum();
        let tokens: u64 = sums
            .iter()
            .map(|sum| sum.tokens.input_tokens + sum.tokens.output_tokens)
            .sum();
        let answers = sim.fake_world.model_answers_of(tenant);
        let given = answers * TOKENS_PER_REPLY;
        let is_exact = is_undisturbed(sim) && sim.common.mutation.is_none();
        let holds = if is_exact {
            tokens == given
        } else {
            tokens <= given
        };
        if !holds || counted > answers {
            sim.common.broken(format!(
                "models answered {tenant} {answers} times, and the sums tell of {counted} and {tokens} tokens"
            ));
        }
    }
}
