//! What became of something: for people who look into it. No step of a message depends on this.

mod reply;
mod way;

use crate::World;
use crate::operate::{MessageView, OperateError, joined, message};
use crate::ports::{Conversations, Directory, Inbox, PortResult, Traces};
use recado_domain::event::EventRecord;
use recado_domain::ids::{CorrelationId, EventId, MessageId};
use recado_domain::message::Message;
use recado_domain::scheduled::Scheduled;
pub use way::{WayStep, Where};

/// The most events and messages that one correlation id brings: a client may give all its requests the same.
const TRACED_MAX: usize = 200;

/// What is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// An event, and the message that it brought.
    Event(EventId),
    /// A message, and the event that brought it.
    Message(MessageId),
    /// All that bears a correlation id.
    Correlation(CorrelationId),
}

/// Events and messages that belong together, the oldest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// Events.
    pub events: Vec<EventRecord>,
    /// Messages.
    pub messages: Vec<MessageView>,
}

/// Finds what is wanted and what belongs to it: to a message of the contact the reply that covers it, to a reply the newest
/// message that it covers, to each the events.
pub async fn trace<W: World>(world: &W, wanted: &Wanted) -> Result<Trace, OperateError> {
    let (events, messages) = match wanted {
        Wanted::Event(id) => {
            let event = world.store().event(id).await?;
            let event = event.ok_or(OperateError::NotFound("event"))?;
            let messages = match &event.stored {
                Some(place) => {
                    let id = place.conversation.message(place.ordinal);
                    match world.store().message(&id).await? {
                        Some(message) => reply::with_counterpart(world, message).await?,
                        None => Vec::new(),
                    }
                }
                None => Vec::new(),
            };
            (vec![event], messages)
        }
        Wanted::Message(id) => {
            let found = message(world, id).await?.message;
            let messages = reply::with_counterpart(world, found).await?;
            (events_of(world, &messages).await?, messages)
        }
        Wanted::Correlation(id) => {
            let traced = world.store().traced(id, TRACED_MAX).await?;
            (traced.events, traced.messages)
        }
    };
    in_order(world, events, messages).await
}

async fn in_order<W: World>(
    world: &W,
    mut events: Vec<EventRecord>,
    mut messages: Vec<Message>,
) -> Result<Trace, OperateError> {
    events.sort_by(|a, b| (a.job.received_at, &a.job.event).cmp(&(b.job.received_at, &b.job.event)));
    messages.sort_by(|a, b| {
        let place = |message: &Message| (message.stored_at, message.conversation.clone(), message.ordinal);
        place(a).cmp(&place(b))
    });
    let mut views = Vec::with_capacity(messages.len());
    for message in messages {
        let bound = world.store().bound_by_id(&message.instance).await?;
        views.extend(joined(world, bound.as_ref(), vec![message]).await?);
    }
    Ok(Trace {
        events,
        messages: views,
    })
}

async fn events_of<W: World>(world: &W, messages: &[Message]) -> PortResult<Vec<EventRecord>> {
    let mut events = Vec::new();
    for id in messages.iter().filter_map(|message| message.event.as_ref()) {
        events.extend(world.store().event(id).await?);
    }
    Ok(events)
}

/// A message with its whole way.
#[derive(Debug, Clone, PartialEq)]
pub struct Travelled {
    /// The message.
    pub view: MessageView,
    /// Step by step, in and out.
    pub way: Vec<WayStep>,
}

/// A message's whole way: for one of the contact up to the reply that covers it, for a reply from the message on that it
/// covers.
pub async fn travelled<W: World>(world: &W, id: &MessageId) -> Result<Travelled, OperateError> {
    let view = message(world, id).await?;
    let way = way::of(world, &view).await?;
    Ok(Travelled { view, way })
}

/// The way of a message that is not due yet, or was taken back.
pub fn scheduled_way(scheduled: &Scheduled) -> Vec<WayStep> {
    way::of_scheduled(scheduled)
}
