//! The answer to a contact's message in the API's JSON.

use recado_domain::Timestamp;
use recado_domain::answer::{AnswerReason, AnswerState, ExplainedAnswer};
use recado_domain::ids::{MessageId, TokenName};
use recado_domain::reason::Reason;
use serde::Serialize;

/// The answer to a contact's message, or the one reason why it has none (yet).
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct AnswerView {
    /// `answered`; `in_work`: Recado works on it; `waiting`: for a person, a time or a setting; `not_owed`: nobody owes an
    /// answer; `failed`: the answer is a dead letter.
    state: AnswerState,
    /// The reason for the state; see `docs/http-api.md`.
    reason: AnswerReason,
    /// The message that answers, is on its way or failed.
    message_id: Option<MessageId>,
    /// Time since which this is so, if it is known.
    since: Option<Timestamp>,
    /// Time until which the answer waits or is worked on, if it is known.
    until: Option<Timestamp>,
    /// Name of the token with which somebody took over, answered or resolved; `phone` for the phone of the number.
    by: Option<TokenName>,
    /// The cause of a dead letter, of a cancelled reply or of what waits for a person.
    cause: Option<Reason>,
}

impl From<ExplainedAnswer> for AnswerView {
    fn from(answer: ExplainedAnswer) -> Self {
        Self {
            state: answer.reason.state(),
            reason: answer.reason,
            message_id: answer.reply,
            since: answer.since,
            until: answer.until,
            by: answer.by,
            cause: answer.cause,
        }
    }
}
