//! Traces events and messages for people who investigate them. No step of a message depends on this module.

mod timeline;

use crate::answer_view::add_answers;
pub use crate::trace::timeline::{
    TimelineEntry, TimelineStage, build_scheduled_timeline as scheduled_timeline,
};
use futures::stream::{self, StreamExt, TryStreamExt};
use recado_domain::access::{Caller, Scope};
use recado_domain::answer::covers_ordinal;
use recado_domain::config::Instance;
use recado_domain::conversation::Conversation;
use recado_domain::delivery::DeliveryKey;
use recado_domain::event::{EventKind, EventRecord, derive_event_id};
use recado_domain::ids::{CorrelationId, EventId, InstanceId, MessageId, Ordinal};
use recado_domain::message::{Message, Role};
use recado_domain::outbox::OutboxState;
use recado_pipeline::Deps;
use recado_pipeline::steps::budget_reading::add_costs;
use recado_pipeline::steps::message_view::{MessageView, find_message_view, join_deliveries};
use recado_ports::ports::{PageRequest, PortResult};
use recado_ports::records::configuration::{find_config_by_external, find_config_by_id, load_configuration};

/// Maximum number of events and messages for one correlation id: a client may give all its requests the same id.
const TRACED_MAX: usize = 200;

/// The event, message or correlation id that a trace begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceTarget {
    /// An event, and the message that it brought.
    Event(EventId),
    /// A message, and the event that brought it.
    Message(MessageId),
    /// All events and messages with a correlation id.
    Correlation(CorrelationId),
}

/// Events and messages that belong together, the oldest first.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageTrace {
    /// Events, ordered by the time at which they were received.
    pub events: Vec<EventRecord>,
    /// Messages, ordered by the time at which they were stored.
    pub messages: Vec<MessageView>,
}

/// Finds the target of a trace and the records that belong to it. To a contact's message belongs the reply that covers
/// it; to a reply, the newest message that it covers; to each message, its event. `None`: the event or message does not
/// exist or is outside the caller's scope.
pub async fn find_trace(
    deps: &Deps,
    caller: &Caller,
    wanted: &TraceTarget,
) -> PortResult<Option<MessageTrace>> {
    let (events, messages) = match wanted {
        TraceTarget::Event(id) => {
            let Some(event) = find_event_within(deps, caller, id).await? else {
                return Ok(None);
            };
            let messages = match &event.stored {
                Some(place) => {
                    let id = place.conversation.message_id(place.ordinal);
                    match deps.store().find_message(&id).await? {
                        Some(message) => load_with_counterpart(deps, message).await?,
                        None => Vec::new(),
                    }
                }
                None => Vec::new(),
            };
            (vec![event], messages)
        }
        TraceTarget::Message(id) => {
            let found = deps.store().find_message(id).await?;
            let Some(found) = found.filter(|message| caller.scope.covers(&message.tenant)) else {
                return Ok(None);
            };
            let messages = load_with_counterpart(deps, found).await?;
            (load_events(deps, &messages).await?, messages)
        }
        TraceTarget::Correlation(id) => {
            let tenant = caller.scope.tenant();
            let traced = deps.store().find_by_correlation(id, tenant, TRACED_MAX).await?;
            (traced.events, traced.messages)
        }
    };
    sort_trace(deps, events, messages).await.map(Some)
}

/// Returns an event; `None` if it does not exist or is outside the caller's scope. An event is of the tenant of its
/// instance as configured now.
async fn find_event_within(deps: &Deps, caller: &Caller, id: &EventId) -> PortResult<Option<EventRecord>> {
    let Some(event) = deps.store().find_event(id).await? else {
        return Ok(None);
    };
    if caller.scope == Scope::Installation {
        return Ok(Some(event));
    }
    let bound = find_config_by_external(deps.store(), event.job.provider, &event.job.external).await?;
    let within = bound.is_some_and(|bound| caller.scope.covers(&bound.tenant.id));
    Ok(within.then_some(event))
}

async fn sort_trace(
    deps: &Deps,
    mut events: Vec<EventRecord>,
    mut messages: Vec<Message>,
) -> PortResult<MessageTrace> {
    events.sort_by(|a, b| (a.job.received_at, &a.job.event).cmp(&(b.job.received_at, &b.job.event)));
    messages.sort_by(|a, b| {
        let place = |message: &Message| (message.stored_at, message.conversation.clone(), message.ordinal);
        place(a).cmp(&place(b))
    });
    let mut views = Vec::with_capacity(messages.len());
    for message in messages {
        let bound = find_config_by_id(deps.store(), &message.instance).await?;
        views.extend(join_deliveries(deps, bound.as_deref(), vec![message]).await?);
    }
    Ok(MessageTrace {
        events,
        messages: views,
    })
}

async fn load_events(deps: &Deps, messages: &[Message]) -> PortResult<Vec<EventRecord>> {
    let mut events = Vec::new();
    for id in messages.iter().filter_map(|message| message.event.as_ref()) {
        events.extend(deps.store().find_event(id).await?);
    }
    Ok(events)
}

/// A message with its cost and its timeline.
#[derive(Debug, Clone, PartialEq)]
pub struct TimelineResult {
    /// The message.
    pub view: MessageView,
    /// Timeline, in order: the contact's message and the reply to it.
    pub timeline: Vec<TimelineEntry>,
}

/// Returns a message's timeline. The timeline of a contact's message goes up to the reply that covers it; that of a
/// reply begins with the message that it covers. `None`: the message does not exist or is outside the caller's scope.
pub async fn load_timeline(
    deps: &Deps,
    caller: &Caller,
    id: &MessageId,
) -> PortResult<Option<TimelineResult>> {
    let Some(mut view) = find_message_view(deps, caller, id).await? else {
        return Ok(None);
    };
    let bound = find_config_by_id(deps.store(), &view.message.instance).await?;
    add_costs(deps, bound.as_deref(), std::slice::from_mut(&mut view)).await?;
    let timeline = Box::pin(timeline::build_timeline(deps, &view)).await?;
    if view.message.role == Role::User
        && let Some(conversation) = deps.store().find_conversation(&view.message.conversation).await?
    {
        add_answers(deps, &conversation, std::slice::from_mut(&mut view)).await?;
    }
    Ok(Some(TimelineResult { view, timeline }))
}

/// Greatest number of instances that are looked through for one id.
const INSTANCES_MAX: usize = 100;

/// Number of instances that are looked through at the same time.
const READS_AT_ONCE: usize = 16;

/// The result of looking for a message by its id at the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderLookup {
    /// The event that brought the message, or the message that was sent.
    Found(TraceTarget),
    /// No instance within the caller's scope knows the id.
    Unknown,
    /// There are too many instances to look through: the request must name one.
    TooManyInstances,
}

/// Looks for the message with this id at the provider, on one instance or on all within the caller's scope. A message that
/// came in is found by its event, one that was sent by the link of its delivery.
pub async fn find_provider_message(
    deps: &Deps,
    caller: &Caller,
    id: &str,
    instance: Option<&InstanceId>,
) -> PortResult<ProviderLookup> {
    let configured = load_configuration(deps.store(), caller.scope.tenant()).await?;
    let is_asked = |one: &Instance| instance.is_none_or(|id| *id == one.id);
    let asked: Vec<Instance> = configured.instances.into_iter().filter(is_asked).collect();
    if asked.len() > INSTANCES_MAX {
        return Ok(ProviderLookup::TooManyInstances);
    }
    let found: Vec<Option<TraceTarget>> = stream::iter(asked)
        .map(|instance| find_on_instance(deps, instance, id))
        .buffered(READS_AT_ONCE)
        .try_collect()
        .await?;
    let found = found.into_iter().flatten().next();
    Ok(found.map_or(ProviderLookup::Unknown, ProviderLookup::Found))
}

async fn find_on_instance(deps: &Deps, instance: Instance, id: &str) -> PortResult<Option<TraceTarget>> {
    let Some(external) = instance.resolve_external_id() else {
        return Ok(None);
    };
    let event = derive_event_id(instance.provider, &external, EventKind::Message, id);
    if deps.store().find_event(&event).await?.is_some() {
        return Ok(Some(TraceTarget::Event(event)));
    }
    let key = DeliveryKey::from_provider_id(instance.provider, &external, id);
    let delivery = deps.store().find_delivery(&key).await?;
    let sent = delivery.and_then(|delivery| delivery.message);
    Ok(sent.map(TraceTarget::Message))
}

/// Number of messages that one read returns, and maximum number of reads. No reply is looked for beyond the newest
/// 4,000 messages of the conversation.
const PAGE: usize = 200;
const PAGES_MAX: usize = 20;

/// Finds the first reply that covers `asked`, the agent's or a person's. A cancelled reply is returned only if there is
/// no other.
async fn find_answer(
    deps: &Deps,
    conversation: &Conversation,
    asked: &Message,
) -> PortResult<Option<Message>> {
    let (mut sent, mut cancelled) = (None, None);
    let mut page = PageRequest::first(PAGE);
    for _ in 0..PAGES_MAX {
        let found = deps.store().list_messages(&conversation.id, &page).await?;
        let oldest = found.items.last().map(|message| message.ordinal);
        // The newest messages come first, so the last match is the earliest reply.
        for message in found
            .items
            .into_iter()
            .filter(|message| message.ordinal > asked.ordinal)
        {
            if covers_ordinal(&message, conversation, asked.ordinal) {
                if is_cancelled(&message) {
                    cancelled = Some(message);
                } else {
                    sent = Some(message);
                }
            }
        }
        match found.next_cursor {
            Some(cursor) if oldest.is_some_and(|oldest| oldest > asked.ordinal) => page.cursor = Some(cursor),
            _ => break,
        }
    }
    Ok(sent.or(cancelled))
}

fn is_cancelled(message: &Message) -> bool {
    let state = message.out.as_ref().map(|out| &out.state);
    matches!(state, Some(OutboxState::Cancelled { .. }))
}

/// Finds the newest message of the contact that `reply` covers.
async fn find_answered_message(deps: &Deps, reply: &Message) -> PortResult<Option<Message>> {
    let covers = reply.out.as_ref().map_or(Ordinal(0), |out| out.covers);
    if covers == Ordinal(0) {
        return Ok(None);
    }
    let found = deps
        .store()
        .find_message(&reply.conversation.message_id(covers))
        .await?;
    Ok(found.filter(|message| message.role == Role::User))
}

/// Returns the message, and the message that it answers or that answers it.
async fn load_with_counterpart(deps: &Deps, message: Message) -> PortResult<Vec<Message>> {
    let other = if message.role == Role::User {
        match deps.store().find_conversation(&message.conversation).await? {
            Some(conversation) => find_answer(deps, &conversation, &message).await?,
            None => None,
        }
    } else {
        find_answered_message(deps, &message).await?
    };
    Ok(std::iter::once(message).chain(other).collect())
}
