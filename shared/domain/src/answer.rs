//! The answer to a contact's message, or the one reason why it has none (yet). Nothing is stored for it: it follows from
//! the records.

use crate::config::InstanceConfig;
use crate::conversation::{Conversation, ConversationMode, ConversationStatus};
use crate::debounce::{Debounce, PrecedingMessages};
use crate::hours::OpeningState;
use crate::ids::{MessageId, Ordinal, TokenName};
use crate::message::{Message, Role};
use crate::millis::add_duration;
use crate::outbox::{Author, Outbox, OutboxState};
use crate::reason::Reason;
use jiff::{SignedDuration, Timestamp};

mod obstacle;
mod reasons;

pub use obstacle::Obstacle;
pub use reasons::{AnswerReason, AnswerState};

/// The answer to a contact's message, or the reason why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedAnswer {
    /// The reason for the answer's state.
    pub reason: AnswerReason,
    /// The message that answers, is on its way or failed.
    pub reply: Option<MessageId>,
    /// Time since which this is so, if it is known.
    pub since: Option<Timestamp>,
    /// Time until which the answer waits or is worked on, if it is known.
    pub until: Option<Timestamp>,
    /// Name of the token with which somebody took over, answered or resolved; `phone` for the phone of the number.
    pub by: Option<TokenName>,
    /// Cause, if the records keep one: of a dead letter, or of what waits for a person.
    pub cause: Option<Reason>,
}

impl ExplainedAnswer {
    /// Returns `true` if no message was found that answers, although nothing is owed any more: a later one may.
    pub fn lacks_reply(&self) -> bool {
        let may_have_one = matches!(
            self.reason,
            AnswerReason::Person | AnswerReason::Resolved | AnswerReason::NotKept
        );
        may_have_one && self.reply.is_none()
    }
}

impl From<AnswerReason> for ExplainedAnswer {
    fn from(reason: AnswerReason) -> Self {
        Self {
            reason,
            reply: None,
            since: None,
            until: None,
            by: None,
            cause: None,
        }
    }
}

/// The circumstances of a conversation that its own records do not tell.
#[derive(Debug, Clone, Copy)]
pub struct AnswerSituation<'a> {
    /// The present time.
    pub now: Timestamp,
    /// The instance's configuration; `None` if it is not configured.
    pub bound: Option<&'a InstanceConfig>,
    /// `true` if the model's key is missing or was refused.
    pub lacks_model_key: bool,
    /// The debounce of the instance; `None` if it is not configured.
    pub debounce: Option<Debounce>,
    /// The longest time for which a burst puts its answer off.
    pub debounce_max: SignedDuration,
    /// Obstacle of the turn once the debounce is over; `None` if there is none, or if nobody looked.
    pub turn_obstacle: Option<Obstacle>,
    /// Obstacle of messages that are ready to leave; `None` if there is none, or if nobody looked.
    pub send_obstacle: Option<Obstacle>,
}

/// Explains the answer that a conversation owes for its oldest unanswered message. `None`: no answer is owed.
pub fn explain_owed_answer(
    conversation: &Conversation,
    situation: &AnswerSituation<'_>,
) -> Option<ExplainedAnswer> {
    let owes = conversation.owes_answer() && conversation.status == ConversationStatus::Active;
    owes.then(|| explain_open_answer(conversation, situation))
}

/// Explains the answer to `message`, which the contact wrote in `conversation`. `later` are messages of the conversation
/// after it, ordered by ordinal; the answer is looked for among them.
pub fn explain_answer(
    message: &Message,
    conversation: &Conversation,
    later: &[Message],
    situation: &AnswerSituation<'_>,
) -> ExplainedAnswer {
    let answer = explain_without_debounce(message, conversation, later, situation);
    let known = later.iter().chain([message]);
    answer.with_debounce_end(conversation, known, situation)
}

impl ExplainedAnswer {
    /// Adds the time at which the debounce is over, if it runs and its last message is `known`. Once it is over, what else
    /// holds up the turn is the reason.
    #[must_use]
    pub fn with_debounce_end<'a>(
        self,
        conversation: &Conversation,
        known: impl Iterator<Item = &'a Message> + Clone,
        situation: &AnswerSituation<'_>,
    ) -> Self {
        if self.reason != AnswerReason::Debounce {
            return self;
        }
        let until = debounce_until(conversation, known, situation);
        match situation.turn_obstacle.filter(|_| until.is_none()) {
            Some(obstacle) => obstacle.explain_held(self),
            None => Self { until, ..self },
        }
    }

    /// Returns `true` if the debounce is over or unknown, so that something else may hold up the turn.
    pub fn is_due(&self) -> bool {
        self.reason == AnswerReason::Debounce && self.until.is_none()
    }

    /// Returns `true` if the reply is ready to leave, so that something may hold it up.
    pub fn is_being_sent(&self) -> bool {
        self.reason == AnswerReason::Sending
    }
}

/// Returns the time until which the debounce runs, if it still runs and its last message is `known`. The silence counts from
/// the newest message that wants an answer; it is longer if another of the contact's messages waits before that one.
fn debounce_until<'a>(
    conversation: &Conversation,
    known: impl Iterator<Item = &'a Message> + Clone,
    situation: &AnswerSituation<'_>,
) -> Option<Timestamp> {
    let newest = known.clone().find(|one| one.ordinal == conversation.turn_upto)?;
    let waits_before = |one: &Message| {
        let is_owed = one.ordinal > conversation.answered && one.ordinal < newest.ordinal;
        is_owed && one.role == Role::User && one.unanswered.is_none() && one.content.expects_answer()
    };
    let mut all = known;
    let before = PrecedingMessages {
        goes_on: all.any(waits_before),
        asked: conversation.questions.asked,
    };
    let silence = situation.debounce?.silence_after(&newest.content, before);
    let silence = conversation.bound_silence(silence, newest.stored_at, situation.debounce_max);
    let until = add_duration(newest.stored_at, silence);
    (until > situation.now).then_some(until)
}

/// Explains the answer to `message`, without the time at which a debounce is over.
fn explain_without_debounce(
    message: &Message,
    conversation: &Conversation,
    later: &[Message],
    situation: &AnswerSituation<'_>,
) -> ExplainedAnswer {
    if message.unanswered == Some(Reason::Stale) {
        return AnswerReason::Stale.into();
    }
    if let Some(cause) = message.unanswered {
        return ExplainedAnswer {
            cause: Some(cause),
            ..AnswerReason::NothingToAnswer.into()
        };
    }
    if !message.content.expects_answer() {
        return AnswerReason::NothingToAnswer.into();
    }
    // A later reply covers the message, too: it answers what came after.
    if let Some(cause) = conversation.find_silence_reason(message.ordinal) {
        return ExplainedAnswer {
            cause: Some(cause),
            ..AnswerReason::NothingToAnswer.into()
        };
    }
    let mut given_up: Option<ExplainedAnswer> = None;
    for reply in later {
        if reply.ordinal <= message.ordinal || !covers_ordinal(reply, conversation, message.ordinal) {
            continue;
        }
        let answer = explain_reply(reply, situation);
        match answer.reason {
            AnswerReason::Cancelled => {
                given_up.get_or_insert(answer);
            }
            // A dead letter counts for more than a reply that was withdrawn, and less than another answer.
            AnswerReason::DeadLetter => given_up = Some(answer),
            _ => return answer,
        }
    }
    if message.ordinal > conversation.answered && conversation.status == ConversationStatus::Active {
        return explain_open_answer(conversation, situation);
    }
    let given_up = given_up
        .filter(|answer| answer.reason == AnswerReason::DeadLetter || message.ordinal > conversation.human);
    match given_up {
        // Its reply was withdrawn at the takeover, and a give-back makes it owed again.
        Some(answer)
            if answer.reason == AnswerReason::Cancelled
                && conversation.mode == ConversationMode::Manual
                && conversation.status == ConversationStatus::Active =>
        {
            explain_open_answer(conversation, situation)
        }
        Some(answer) => answer,
        None => explain_closed_answer(message, conversation),
    }
}

/// Returns `true` if `reply` answers the contact's message of this ordinal.
pub fn covers_ordinal(reply: &Message, conversation: &Conversation, asked: Ordinal) -> bool {
    match (&reply.out, reply.role) {
        (Some(out), _) => out.covers >= asked,
        // Typed on the phone: only the conversation tells up to which ordinal people answered.
        (None, Role::Operator) => conversation.human >= asked,
        (None, Role::User | Role::Assistant) => false,
    }
}

/// Explains the answer that `reply` gives.
fn explain_reply(reply: &Message, situation: &AnswerSituation<'_>) -> ExplainedAnswer {
    let given = |reason: AnswerReason, since| ExplainedAnswer {
        cause: reply.unanswered.filter(|_| reason == AnswerReason::ErrorMessage),
        reply: Some(reply.message_id()),
        since: Some(since),
        by: reply.ordered_by(),
        ..reason.into()
    };
    let Some(out) = &reply.out else {
        return given(AnswerReason::Person, reply.written_at);
    };
    match &out.state {
        OutboxState::Queued | OutboxState::Sending { .. } | OutboxState::Unknown { .. } => {
            let sending = ExplainedAnswer {
                until: out.not_before.max(out.slot),
                ..given(AnswerReason::Sending, reply.stored_at)
            };
            // A request that is under way ends by itself.
            let is_claimed = matches!(out.state, OutboxState::Sending { .. });
            match situation.send_obstacle.filter(|_| !is_claimed) {
                Some(obstacle) => obstacle.explain_held(sending),
                None => sending,
            }
        }
        OutboxState::Sent { at } => given(sent_reason(reply, out), *at),
        OutboxState::Dead { reason, at } => ExplainedAnswer {
            cause: Some(*reason),
            ..given(AnswerReason::DeadLetter, *at)
        },
        OutboxState::Cancelled { reason, at } => ExplainedAnswer {
            cause: Some(*reason),
            ..given(
                if out.maybe_sent {
                    AnswerReason::MaybeReplied
                } else {
                    AnswerReason::Cancelled
                },
                *at,
            )
        },
    }
}

fn sent_reason(reply: &Message, out: &Outbox) -> AnswerReason {
    match out.author {
        Author::Person => AnswerReason::Person,
        Author::Ai if reply.unanswered.is_some() => AnswerReason::ErrorMessage,
        Author::Ai => AnswerReason::Replied,
    }
}

/// Explains an answer that is owed and for which there is no reply yet.
fn explain_open_answer(conversation: &Conversation, situation: &AnswerSituation<'_>) -> ExplainedAnswer {
    let waits = |reason: AnswerReason| ExplainedAnswer {
        since: conversation.waiting_since,
        ..reason.into()
    };
    if conversation.mode == ConversationMode::Manual {
        let handover = conversation.people.handover.as_ref();
        return ExplainedAnswer {
            until: conversation.return_due_at(),
            since: Some(handover.map_or(conversation.created_at, |handover| handover.at)),
            by: handover.map(|handover| handover.by.clone()),
            ..AnswerReason::Manual.into()
        };
    }
    if conversation.needs_person.is_some() {
        return ExplainedAnswer {
            cause: conversation.needs_person,
            ..waits(AnswerReason::NeedsPerson)
        };
    }
    let Some(bound) = situation.bound.filter(|bound| bound.is_enabled()) else {
        return waits(AnswerReason::NoInstance);
    };
    if let Some(lease) = conversation
        .lease
        .as_ref()
        .filter(|lease| lease.until > situation.now)
    {
        return ExplainedAnswer {
            since: Some(lease.since),
            until: Some(lease.until),
            ..AnswerReason::Drafting.into()
        };
    }
    if situation.lacks_model_key {
        return waits(AnswerReason::ModelKey);
    }
    if bound.agent.disabled {
        return waits(AnswerReason::AgentDisabled);
    }
    match bound.opening_state_at(situation.now) {
        // The instance is open, and others that waited for the opening are answered first.
        OpeningState::Open
            if conversation
                .opening
                .scheduled_for
                .is_some_and(|at| at > situation.now) =>
        {
            ExplainedAnswer {
                until: conversation.opening.scheduled_for,
                ..waits(AnswerReason::OutOfHours)
            }
        }
        OpeningState::Open => waits(AnswerReason::Debounce),
        OpeningState::OpensAt(at) => ExplainedAnswer {
            until: Some(conversation.opening.scheduled_for.unwrap_or(at)),
            ..waits(AnswerReason::OutOfHours)
        },
        OpeningState::NeverOpens => waits(AnswerReason::OutOfHours),
    }
}

/// Explains an answer that is no longer owed and for which no reply is found.
fn explain_closed_answer(message: &Message, conversation: &Conversation) -> ExplainedAnswer {
    let handover = conversation.people.handover.as_ref();
    if message.ordinal <= conversation.human {
        return AnswerReason::Person.into();
    }
    if conversation.status == ConversationStatus::Resolved {
        return ExplainedAnswer {
            since: handover.map(|handover| handover.at),
            by: handover.map(|handover| handover.by.clone()),
            ..AnswerReason::Resolved.into()
        };
    }
    AnswerReason::NotKept.into()
}

#[cfg(test)]
pub(crate) mod tests;
