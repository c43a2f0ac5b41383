//! Finds the highest ordinal covered by the agent's replies that the contact has or may have.

use crate::Deps;
use recado_domain::conversation::Conversation;
use recado_domain::ids::Ordinal;
use recado_domain::outbox::{Author, Outbox, OutboxState};
use recado_ports::ports::{PageRequest, PortResult};

/// Number of messages that one read returns.
const PAGE: usize = 100;

/// Returns the highest ordinal that a reply of the agent covers. Replies count that left, may have left, or are open in
/// the present epoch. `except` is a message that is just being cancelled and does not count.
pub async fn highest_covered_ordinal(
    deps: &Deps,
    conversation: &Conversation,
    except: Option<Ordinal>,
) -> PortResult<Ordinal> {
    let mut page = PageRequest::first(PAGE);
    let mut highest = Ordinal::default();
    loop {
        let found = deps.store().list_messages(&conversation.id, &page).await?;
        for message in found
            .items
            .iter()
            .filter(|message| Some(message.ordinal) != except)
        {
            let covers = message
                .out
                .as_ref()
                .filter(|out| counts_as_covering(out, conversation.epoch))
                .map(|out| out.covers);
            highest = highest.max(covers.unwrap_or_default());
        }
        // Older replies cover less: below the ordinal that people answered, nothing can change the result.
        let oldest = found
            .items
            .last()
            .map(|message| message.ordinal)
            .unwrap_or_default();
        match found.next_cursor {
            Some(cursor) if oldest > highest.max(conversation.human) => page.cursor = Some(cursor),
            _ => return Ok(highest),
        }
    }
}

fn counts_as_covering(out: &Outbox, epoch: u64) -> bool {
    let went = match out.state {
        OutboxState::Sending { .. }
        | OutboxState::Unknown { .. }
        | OutboxState::Sent { .. }
        | OutboxState::Dead { .. } => true,
        OutboxState::Queued => out.epoch == epoch || out.last_words,
        OutboxState::Cancelled { .. } => false,
    };
    out.author == Author::Ai && (went || out.maybe_sent)
}
