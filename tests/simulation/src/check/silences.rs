//! Messages that need no answer, as the agent says or because they only correct the spelling of one that is answered, get none, and
//! no others.

use super::Told;
use crate::fake_world::HUSH;
use crate::simulator::Simulator;
use recado_domain::reason::Reason;

pub(super) fn check<S, Q>(sim: &Simulator<S, Q>, told: &[Told]) {
    for (conversation, messages) in told {
        for message in messages.iter().filter(|message| message.out.is_none()) {
            let Some(reason) = conversation.find_silence_reason(message.ordinal) else {
                continue;
            };
            let (id, word) = (message.message_id(), message.content.render_text());
            let needs_none = match reason {
                Reason::SpellingCorrection => word.starts_with('*'),
                _ => word.ends_with(HUSH),
            };
            if !needs_none {
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
