//! How far the agent's replies reach that the contact has, or may have.

use crate::Deps;
use crate::ports::{Conversations, PageRequest, PortResult};
use recado_domain::conversation::Conversation;
use recado_domain::ids::Ordinal;
use recado_domain::outbox::{Author, Outbox, OutboxState};

/// How many messages one read brings.
const PAGE: usize = 100;

/// The highest ordinal that is covered by a reply of the agent that left, may have left, or is open in the present
/// epoch. `except`: a message that is just being cancelled.
pub(crate) async fn highest_covered_ordinal<W: Deps>(
    deps: &W,
    conversation: &Conversation,
    except: Option<Ordinal>,
) -> PortResult<Ordinal> {
    let mut page = PageRequest {
        limit: PAGE,
        cursor: None,
    };
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
        // Older messages are covered by less: below what people answered, nothing can change the outcome.
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
        OutboxState::Queued => out.epoch == epoch,
        OutboxState::Cancelled { .. } => false,
    };
    out.author == Author::Ai && (went || out.maybe_sent)
}
