//! Recognizes a turn in which the contact only corrected the spelling of a message that is answered.

use async_trait::async_trait;
use jiff::SignedDuration;
use recado_domain::content::Content;
use recado_domain::conversation::Conversation;
use recado_domain::debounce::corrects_spelling;
use recado_domain::ids::Ordinal;
use recado_domain::message::{Message, Role};
use recado_domain::outbox::OutboxState;
use recado_domain::reason::Reason;
use recado_pipeline::Deps;
use recado_pipeline::hooks::turn_part::TurnPart;
use recado_pipeline::steps::turn::LeasedTurn;
use recado_pipeline::steps::turn::draft::DraftedReply;
use recado_pipeline::steps::turn::reading::{TurnReading, wants_answer};

/// The longest time between a message and a correction of its spelling. Later, `*word` may mean something else.
const CORRECTED_WITHIN: SignedDuration = SignedDuration::from_mins(1);

/// Corrections of the spelling: nothing is to be answered.
#[derive(Debug)]
pub struct SpellingCorrections;

#[async_trait]
impl TurnPart for SpellingCorrections {
    fn find_reply_at_once(&self, deps: &Deps, turn: &LeasedTurn<'_>) -> Option<DraftedReply> {
        let is_correction = only_corrects_spelling(&turn.conversation, &turn.reading);
        is_correction.then(|| DraftedReply::silence(deps, &turn.bound, Reason::SpellingCorrection))
    }
}

/// Returns `true` if all owed messages only correct the spelling of the contact's message before them. A reply to that one is
/// committed then. In doubt the answer is `false`, and they are answered.
fn only_corrects_spelling(conversation: &Conversation, reading: &TurnReading) -> bool {
    let owed = reading.owed_messages();
    let mut owed = owed.filter(|message| wants_answer(message)).peekable();
    let Some(first) = owed.peek().copied() else {
        return false;
    };
    let Some(corrected) = find_message_before(conversation, reading, first.ordinal) else {
        return false;
    };
    has_reply(reading, corrected.ordinal) && owed.all(|message| corrects_message(message, corrected))
}

/// Finds the contact's message before `ordinal`, if it wanted an answer. What wants none by its kind is passed over, and so are
/// earlier corrections.
fn find_message_before<'a>(
    conversation: &Conversation,
    reading: &'a TurnReading,
    ordinal: Ordinal,
) -> Option<&'a Message> {
    let is_correction = |message: &Message| {
        conversation.find_silence_reason(message.ordinal) == Some(Reason::SpellingCorrection)
    };
    let mut before = reading.known_messages().iter().rev().filter(|message| {
        message.role == Role::User && message.ordinal < ordinal && message.content.expects_answer()
    });
    before
        .find(|message| !is_correction(message))
        .filter(|message| wants_answer(message))
}

/// Returns `true` if a reply that was sent, or is on its way, answers the contact's message of this ordinal. The agent's error
/// message answers nothing.
fn has_reply(reading: &TurnReading, ordinal: Ordinal) -> bool {
    let mut known = reading.known_messages().iter();
    known.any(|reply| {
        let mut out = reply.out.iter();
        reply.unanswered.is_none()
            && out.any(|out| {
                let is_given_up = matches!(
                    out.state,
                    OutboxState::Dead { .. } | OutboxState::Cancelled { .. }
                );
                out.covers >= ordinal && !is_given_up
            })
    })
}

/// Returns `true` if `message` only corrects the spelling of `corrected`, soon after it. A message that quotes another may be
/// about that one.
fn corrects_message(message: &Message, corrected: &Message) -> bool {
    let since = message.written_at.duration_since(corrected.written_at);
    let is_soon = (SignedDuration::ZERO..=CORRECTED_WITHIN).contains(&since);
    let (Content::Text { text }, Content::Text { text: earlier }) = (&message.content, &corrected.content)
    else {
        return false;
    };
    let is_deleted = corrected.changes.deleted_at().is_some();
    is_soon && !is_deleted && message.context.reply_to.is_none() && corrects_spelling(text, earlier)
}
