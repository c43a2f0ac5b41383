//! Stores an effect of an agent's tool that an earlier turn left.

use crate::builders::{far_ahead, nonce};
use crate::ports::succeed;
use jiff::{SignedDuration, Timestamp};
use recado_domain::conversation::Conversation;
use recado_domain::effects::{
    CellSpan, EffectAction, EffectId, EffectRequest, EntryEnd, Journal, JournalChange, ToolName,
};
use recado_domain::ids::{AgentId, TenantId, ThreadId};
use recado_domain::millis::add_duration;
use recado_ports::ports::Store;
use recado_ports::records::effects::{
    JournalOutcome, find_journal, list_held_cells, save_journal_with_cells,
};
use recado_ports::table::Versioned;
use serde_json::json;

/// Returns half an hour of a calendar, far ahead.
pub fn half_hour(calendar: &str) -> CellSpan {
    CellSpan {
        calendar: calendar.to_owned(),
        start: far_ahead(),
        end: add_duration(far_ahead(), SignedDuration::from_mins(30)),
    }
}

/// Stores a booking that began at `now` in the thread of the conversation, with the arguments of a model. With `end` it
/// ended then, too. Returns the journal.
pub async fn store_booking<S: Store>(
    store: &S,
    conversation: &Conversation,
    place: (&str, &str),
    end: Option<EntryEnd>,
    now: Timestamp,
) -> Journal {
    let (journal, change) = make_booking(conversation, place, end, now);
    replace_journal(store, &journal, &change).await;
    journal
}

/// Makes the journal with such a booking, and the cells that it takes.
pub fn make_booking(
    conversation: &Conversation,
    (calendar, name): (&str, &str),
    end: Option<EntryEnd>,
    now: Timestamp,
) -> (Journal, JournalChange) {
    let thread = conversation.id.thread_id().clone();
    let (tenant, instance) = (conversation.tenant.clone(), conversation.instance.clone());
    let mut journal = Journal::start_new(thread, tenant, instance, now);
    let low = u64::from_str_radix(&conversation.id.thread_id().as_str()[..16], 16).unwrap();
    let own = nonce();
    let request = EffectRequest {
        id: EffectId::from_random_bits(1, low),
        tool: ToolName {
            agent: AgentId::parse("ana").unwrap(),
            name: "book".to_owned(),
        },
        action: EffectAction::Book {
            span: half_hour(calendar),
        },
        arguments: json!({"name": name}),
        recorded: json!({"name": name}),
        conversation: conversation.id.clone(),
        epoch: conversation.epoch,
        base: conversation.answered,
        nonce: own.clone(),
        limit: SignedDuration::from_secs(15),
        once_per_turn: true,
    };
    let mut change = journal.begin_effect(request, now).unwrap();
    if let Some(end) = end {
        let ended = journal.end_entry(1, &own, end, None, now).unwrap();
        change.takes.retain(|held| !ended.frees.contains(held));
    }
    journal.rev = 1;
    let change = JournalChange {
        takes: change.takes,
        frees: Vec::new(),
    };
    (journal, change)
}

/// Returns the stored journal of a tenant's thread; `None` if there is none.
pub async fn read_journal<S: Store>(store: &S, tenant: &TenantId, thread: &ThreadId) -> Option<Journal> {
    let found = succeed(find_journal(store, tenant, thread)).await;
    found.map(|found| found.record)
}

/// Stores a journal with its cells in place of the stored one, if there is one.
pub async fn replace_journal<S: Store>(store: &S, journal: &Journal, change: &JournalChange) {
    let found = succeed(find_journal(store, &journal.tenant, &journal.thread)).await;
    let mut replaced = found.unwrap_or_else(|| Versioned::new(journal.clone()));
    replaced.record = journal.clone();
    let saved = succeed(save_journal_with_cells(store, None, &mut replaced, change)).await;
    assert_eq!(saved, JournalOutcome::Written);
}

/// Returns how many cells of a span are held.
pub async fn count_held_cells<S: Store>(store: &S, tenant: &TenantId, span: &CellSpan) -> usize {
    succeed(list_held_cells(store, tenant, span)).await.len()
}
