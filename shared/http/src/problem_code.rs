//! The kinds of refusals that clients can tell apart, such as pages in the language of their reader.

use recado_domain::conversation::{AnnotationError, ConversationError};
use serde::Serialize;

/// The kind of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProblemCode {
    /// The role of the token does not include the request.
    Role,
    /// The body is too large.
    TooLarge,
    /// Others keep changing the conversation.
    Busy,
    /// The idempotency key was used for another request.
    KeyReused,
    /// The conversation is resolved.
    Resolved,
    /// The conversation was taken over.
    TakenOver,
    /// The conversation was answered meanwhile.
    Answered,
    /// A newer message has come in.
    NewerMessage,
    /// The instance is disabled.
    InstanceDisabled,
    /// The provider of the instance cannot send the content.
    ProviderLacksIt,
    /// The message that the request refers to has not been sent yet.
    NotYetSent,
    /// The label is no single word.
    LabelForm,
    /// The conversation has as many labels as it may.
    TooManyLabels,
    /// The note is empty or too long.
    NoteLength,
    /// The conversation has as many notes as it may.
    NotesFull,
    /// The end of the effect is known, or the effect is still under way.
    EffectNotUnknown,
    /// The record of the dead letter cannot be read.
    DamagedLetter,
    /// The entry was changed since the version that the request names.
    ChangedMeanwhile,
    /// Messages are still owed.
    StillOwed,
    /// There is a token with this name.
    TokenNameTaken,
    /// The name cannot be that of a token.
    TokenName,
    /// The time at which the token expires is over.
    TokenExpired,
}

impl ProblemCode {
    pub fn of_conversation_error(why: ConversationError) -> Self {
        match why {
            ConversationError::Resolved => Self::Resolved,
            ConversationError::TakenOver => Self::TakenOver,
            ConversationError::Answered => Self::Answered,
            ConversationError::NewerMessage => Self::NewerMessage,
        }
    }

    pub fn of_annotation_error(why: AnnotationError) -> Self {
        match why {
            AnnotationError::LabelForm => Self::LabelForm,
            AnnotationError::TooManyLabels => Self::TooManyLabels,
            AnnotationError::NoteLength => Self::NoteLength,
            AnnotationError::NotesFull => Self::NotesFull,
        }
    }
}
