//! Dead letters, as operators read, redrive and delete them.

mod delete;
mod forecast;
mod redrive;
mod selection;

pub use delete::{Deleted, delete, delete_many};
pub use forecast::{Forecast, forecast};
pub use redrive::{Redriven, redrive, redrive_many};
pub use selection::Selection;

use super::OperateError;
use crate::World;
use crate::ports::{
    Conversations, DeadLetterFilter, DeadLetters, Page, PageRequest, PortError, PortResult, Queues,
};
use recado_domain::dead_letter::{DeadLetter, DeadWhat, Deletion};
use recado_domain::event::Payload;
use serde_json::{Value, json};

/// How many things are done side by side.
const SIDE_BY_SIDE: usize = 16;

/// A dead letter with what would be done again.
#[derive(Debug, Clone, PartialEq)]
pub struct LetterView {
    /// The letter.
    pub letter: DeadLetter,
    /// The provider's event, the outgoing message's content and address, the turn's kick, or the body as it came.
    pub payload: Value,
}

/// Dead letters, the newest first.
pub async fn dead_letters<W: World>(
    world: &W,
    filter: &DeadLetterFilter,
    page: &PageRequest,
) -> Result<Page<DeadLetter>, OperateError> {
    Ok(world.store().dead_letters(filter, page).await?)
}

/// One dead letter, with its payload.
pub async fn dead_letter<W: World>(world: &W, id: &str) -> Result<LetterView, OperateError> {
    let letter = found(world, id).await?;
    let payload = payload(world, &letter).await?;
    Ok(LetterView { letter, payload })
}

/// Who deleted which dead letters, the newest first.
pub async fn deletions<W: World>(world: &W, page: &PageRequest) -> Result<Page<Deletion>, OperateError> {
    Ok(world.store().deletions(page).await?)
}

/// The newest dead letters with their payloads, at most `limit`.
pub async fn newest<W: World>(
    world: &W,
    filter: &DeadLetterFilter,
    limit: usize,
) -> Result<Vec<LetterView>, OperateError> {
    let page = PageRequest { limit, cursor: None };
    let mut views = Vec::new();
    for letter in world.store().dead_letters(filter, &page).await?.items {
        let payload = match &letter.what {
            // Many large bodies would be too much for one answer: the letter alone shows its own.
            DeadWhat::Event(job) => inline(&job.payload),
            _ => payload(world, &letter).await?,
        };
        views.push(LetterView { letter, payload });
    }
    Ok(views)
}

async fn found<W: World>(world: &W, id: &str) -> Result<DeadLetter, OperateError> {
    let letter = world.store().dead_letter(id).await?;
    letter.ok_or(OperateError::NotFound("dead letter"))
}

fn inline(payload: &Payload) -> Value {
    match payload {
        Payload::Inline(value) => value.clone(),
        Payload::Stored(key) => json!({ "stored": key }),
    }
}

/// What a dead letter would do again.
async fn payload<W: World>(world: &W, letter: &DeadLetter) -> PortResult<Value> {
    let invalid = |error| PortError::invalid("dead letter", error);
    match &letter.what {
        DeadWhat::Event(job) => match &job.payload {
            Payload::Stored(key) => {
                let kept = world.queues().payload(key).await?;
                Ok(kept.unwrap_or_else(|| inline(&job.payload)))
            }
            payload @ Payload::Inline(_) => Ok(inline(payload)),
        },
        DeadWhat::Message { message } => match world.store().message(message).await? {
            Some(message) => {
                let content = serde_json::to_value(&message.content).map_err(invalid)?;
                Ok(json!({ "to": message.to(), "content": content }))
            }
            None => Ok(Value::Null),
        },
        DeadWhat::Turn(kick) => serde_json::to_value(kick).map_err(invalid),
        DeadWhat::Unreadable { body } => Ok(Value::String(body.clone())),
    }
}
