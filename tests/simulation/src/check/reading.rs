//! What a reply covers, its model was shown; what no turn could read waits for a person, and there is too much of it.

use super::Told;
use super::answers::{Wants, covers, wants};
use super::people::see_to;
use crate::stage::Stage;
use recado_domain::message::{Message, Role};
use recado_domain::reason::Reason;

/// Whether replies of the model cover `message`, and no model was ever shown its words, nor did people see to it.
pub(super) fn is_covered_unread<S, Q>(
    stage: &Stage<S, Q>,
    told: &Told,
    replies: &[&Message],
    message: &Message,
) -> bool {
    let mut of_it = replies
        .iter()
        .filter(|reply| covers(reply) >= message.ordinal)
        .peekable();
    of_it.peek().is_some()
        && of_it.all(|reply| reply.model.is_some())
        && !stage.outside.was_read(&message.content.as_text())
        && !see_to(stage, told, message)
}

/// Whether the conversation says that the agent could not read all of it, and more asked for an answer than three turns read.
pub(super) fn is_too_much<S, Q>(stage: &Stage<S, Q>, (conversation, messages): &Told) -> bool {
    let of_contact = messages.iter().filter(|message| message.role == Role::User);
    let asked = of_contact.filter(|message| wants(stage, message) != Wants::No);
    conversation.needs_person == Some(Reason::TooMuchToRead)
        && asked.count() > 3 * stage.settings.turn_reads.messages
}
