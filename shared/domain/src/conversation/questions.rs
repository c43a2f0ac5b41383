//! The questions that the business asked and whose answer is waited for.

use super::Conversation;
use crate::ids::{MessageId, Ordinal};
use serde::{Deserialize, Serialize};

/// The questions of the business that wait for the contact's next message.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OpenQuestions {
    /// The ordinal of the newest question with options, until the contact's next message after it; 0: none.
    #[serde(default, skip_serializing_if = "Ordinal::is_zero")]
    pub open_question: Ordinal,
    /// The same of the conversation that this one replaced, until the contact's next message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_question: Option<MessageId>,
    /// The business's newest message asked a question that a short message answers. Records without it: unknown, taken for no.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub asked: bool,
}

impl Conversation {
    /// Returns the newest question with options that waits for the contact's next message.
    pub fn newest_question(&self) -> Option<MessageId> {
        let own = (!self.questions.open_question.is_zero())
            .then(|| self.id.message_id(self.questions.open_question));
        own.or_else(|| self.questions.left_question.clone())
    }

    /// Forgets the questions that wait for the contact's next message.
    pub fn close_questions(&mut self) {
        self.questions.open_question = Ordinal(0);
        self.questions.left_question = None;
    }
}
