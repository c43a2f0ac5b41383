use super::SIDE_BY_SIDE;
use super::selection::{Line, Selection, select};
use crate::World;
use crate::operate::OperateError;
use crate::ports::{Ambient, Conversations, DeadLetters, Directory, Inbox, PortResult};
use crate::world::traits;
use futures::stream::{self, StreamExt, TryStreamExt};
use jiff::Timestamp;
use recado_domain::conversation::Conversation;
use recado_domain::dead_letter::DeadWhat;
use recado_domain::ids::{EventId, MessageId};
use recado_domain::outbox::{Author, Outbox};
use recado_domain::window::{is_open, needs_none};

/// What a redrive would meet. Nothing is changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Forecast {
    /// How many letters it would look at.
    pub selected: usize,
    /// Outgoing messages that are no templates and whose contact's 24 hours are over, on Meta: they will not go out as they
    /// are.
    pub out_of_window: usize,
    /// What was answered by somebody or something else meanwhile.
    pub answered_meanwhile: usize,
    /// What is alive already, or had died again.
    pub no_longer_dead: usize,
    /// Whether there are more letters than were asked for.
    pub more: bool,
}

/// What was found of one letter.
#[derive(Debug, Clone, Copy, Default)]
struct Found {
    out_of_window: bool,
    answered: bool,
    alive: bool,
}

/// Says what redriving `selection` would meet.
pub async fn forecast<W: World>(world: &W, selection: &Selection) -> Result<Forecast, OperateError> {
    let selected = select(world, selection).await?;
    let ids = selected.lines.into_iter().flat_map(Line::ids);
    let looks = stream::iter(ids).map(|id| look(world, id));
    let found: Vec<Found> = looks.buffer_unordered(SIDE_BY_SIDE).try_collect().await?;
    let count = |is: fn(&Found) -> bool| found.iter().filter(|found| is(found)).count();
    Ok(Forecast {
        selected: selected.count,
        out_of_window: count(|found| found.out_of_window),
        answered_meanwhile: count(|found| found.answered),
        no_longer_dead: count(|found| found.alive),
        more: selected.more,
    })
}

const ALIVE: Found = Found {
    out_of_window: false,
    answered: false,
    alive: true,
};

async fn look<W: World>(world: &W, id: String) -> PortResult<Found> {
    let Some(letter) = world.store().dead_letter(&id).await? else {
        return Ok(ALIVE);
    };
    match &letter.what {
        DeadWhat::Event(job) => of_event(world, &job.event, letter.at).await,
        DeadWhat::Message { message } => of_message(world, message, letter.at).await,
        DeadWhat::Turn(kick) => {
            let conversation = world.store().conversation(&kick.conversation).await?;
            let answered = conversation.is_some_and(|conversation| conversation.answered >= kick.ordinal);
            Ok(Found {
                answered,
                ..Found::default()
            })
        }
        DeadWhat::Unreadable { .. } => Ok(Found::default()),
    }
}

async fn of_event<W: World>(world: &W, id: &EventId, died: Timestamp) -> PortResult<Found> {
    let record = world.store().event(id).await?;
    let Some(record) = record.filter(|record| record.died() == Some(died)) else {
        return Ok(ALIVE);
    };
    let Some(stored) = record.stored else {
        return Ok(Found::default());
    };
    let conversation = world.store().conversation(&stored.conversation).await?;
    Ok(Found {
        answered: conversation.is_some_and(|conversation| conversation.answered >= stored.ordinal),
        ..Found::default()
    })
}

async fn of_message<W: World>(world: &W, id: &MessageId, died: Timestamp) -> PortResult<Found> {
    let message = world.store().message(id).await?;
    let Some((message, out)) = message.and_then(|message| {
        let out = message.out.clone().filter(|out| out.died() == Some(died))?;
        Some((message, out))
    }) else {
        return Ok(ALIVE);
    };
    let Some(conversation) = world.store().conversation(&message.conversation).await? else {
        return Ok(Found::default());
    };
    let bound = world.store().bound_by_id(&message.instance).await?;
    let has_window = bound.is_some_and(|bound| traits(world, &bound).window);
    Ok(Found {
        out_of_window: has_window && !needs_none(&message.content) && is_closed(world, &conversation).await?,
        answered: is_answered(&conversation, &out),
        alive: false,
    })
}

/// Whether the contact's window is closed, as the sender will judge: by what it wrote last, here or in a conversation that
/// followed.
async fn is_closed<W: World>(world: &W, conversation: &Conversation) -> PortResult<bool> {
    let latest = world.store().latest(conversation.id.thread()).await?;
    let heard_at = latest
        .and_then(|latest| latest.last_inbound_at)
        .max(conversation.last_inbound_at);
    Ok(!is_open(heard_at, world.ambient().now()))
}

/// Whether what this message answers was answered by another since it was committed.
fn is_answered(conversation: &Conversation, out: &Outbox) -> bool {
    let by_a_person = out.author == Author::Ai && conversation.human >= out.covers;
    conversation.answered > out.covers || by_a_person
}
