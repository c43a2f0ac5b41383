//! Messages that need no answer, as the agent says, get none, and no others.

use super::Told;
use crate::fake_world::HUSH;
use crate::simulator::Simulator;

pub(super) fn check<S, Q>(sim: &Simulator<S, Q>, told: &[Told]) {
    for (conversation, messages) in told {
        let silent = messages
            .iter()
            .filter(|message| conversation.is_silent_at(message.ordinal));
        for message in silent.filter(|message| message.out.is_none()) {
            let (id, word) = (message.message_id(), message.content.render_text());
            if !word.ends_with(HUSH) {
                sim.common.broken(format!("{id} was left without an answer"));
            }
            let mut replies = messages.iter().filter(|reply| reply.out.is_some());
            if replies.any(|reply| reply.content.render_text().split(' ').any(|said| said == word)) {
                sim.common
                    .broken(format!("{id} was answered, and left without an answer"));
            }
        }
    }
}
