//! Reads an event and finds what it is about, and has the event wait where that is not known yet.
//!
//! Messages may be about earlier messages: edits, deletions, reactions, votes. Of an edit or deletion, the stored original
//! message tells who wrote it and in which chat. The provider's data about that may be written from the author's view,
//! with the two sides exchanged. Echoes and failures may be about a send that still runs.

use crate::Deps;
use crate::steps::connection;
use crate::steps::inbound_arrival::InstanceEvent;
use crate::steps::message_target::find_target_message;
use crate::steps::person_thread::resolve_phone_number;
use crate::steps::verdict::Verdict;
use crate::usecases::process::operator_message::is_known_message;
use jiff::{SignedDuration, Timestamp};
use recado_domain::contact::ContactAddress;
use recado_domain::content::Content;
use recado_domain::event::{EventPayload, InboundJob};
use recado_domain::inbound::{InboundEvent, InboundMessage};
use recado_domain::instance::InFlightSend;
use recado_domain::message::{Message, Role};
use recado_domain::millis::add_duration;
use recado_domain::outbox::OutboxState;
use recado_ports::ports::{PortError, PortResult};
use serde_json::Value;

/// Time that the original message may take to arrive. Webhooks come in no order, and the provider's id
/// of a sent message is stored last.
const WAIT: SignedDuration = SignedDuration::from_mins(1);

/// Time until the original message is looked for again.
const RECHECK: SignedDuration = SignedDuration::from_secs(5);

/// The result of reading an event.
pub(super) enum ResolvedEvent {
    /// Event that is to be applied.
    Apply(InboundEvent),
    /// The event must wait, because it is not known yet what it is about.
    Later(Verdict),
    /// The body cannot be read, now or later.
    Unreadable(PortError),
}

/// Reads an event's body and finds what the event is about. That is its contact's number, the message that it changes, and the send
/// that it may be of. The event waits while one of these is not known yet.
pub(super) async fn resolve_event(deps: &Deps, event: &InstanceEvent<'_>) -> PortResult<ResolvedEvent> {
    let payload = match load_event_payload(deps, event.job).await {
        Err(error @ PortError::Invalid { .. }) => return Ok(ResolvedEvent::Unreadable(error)),
        read => read?,
    };
    let inbound = deps.providers().interpret_event(event.job, &payload);
    let inbound = resolve_phone_number(deps, &event.bound.instance.id, inbound).await?;
    let resolved = resolve_change(deps, event, inbound).await?;
    if let ResolvedEvent::Apply(inbound) = &resolved
        && let Some(verdict) = check_must_wait(deps, event, inbound).await?
    {
        return Ok(ResolvedEvent::Later(verdict));
    }
    Ok(resolved)
}

async fn load_event_payload(deps: &Deps, job: &InboundJob) -> PortResult<Value> {
    match &job.payload {
        EventPayload::Inline(value) => Ok(value.clone()),
        EventPayload::Stored(key) => deps
            .queues()
            .find_payload(key)
            .await?
            .ok_or_else(|| PortError::invalid("payload", format!("no payload under {key}"))),
    }
}

/// Finds the message that an event's message is about. An edit or deletion is assigned to the conversation of that
/// message. Any other event is returned unchanged.
async fn resolve_change(
    deps: &Deps,
    event: &InstanceEvent<'_>,
    inbound: InboundEvent,
) -> PortResult<ResolvedEvent> {
    let mut change = match inbound {
        InboundEvent::Change(change) => change,
        InboundEvent::Message(said) => return resolve_target(deps, event, said).await,
        other => return Ok(ResolvedEvent::Apply(other)),
    };
    let Some(message) = find_target(deps, event, &change).await? else {
        return Ok(wait_for_target(deps, event.job)
            .unwrap_or_else(|| ResolvedEvent::Apply(convert_orphan_change(change))));
    };
    if message.instance != event.bound.instance.id {
        return Ok(ResolvedEvent::Apply(convert_orphan_change(change)));
    }
    let Some(conversation) = deps.store().find_conversation(&message.conversation).await? else {
        return Ok(ResolvedEvent::Apply(convert_orphan_change(change)));
    };
    if message.is_open()
        && let Some(later) = wait_for_target(deps, event.job)
    {
        return Ok(later);
    }
    if change.content.is_unreadable() {
        Box::pin(look_up_edited_content(deps, event, &message, &mut change)).await;
    }
    change.address = conversation.address;
    change.phone = conversation.contact.phone;
    change.from_me = message.role != Role::User;
    change.context.refers_to = Some(message.message_id());
    name_target(&mut change.content, &message);
    Ok(ResolvedEvent::Apply(InboundEvent::Message(change)))
}

/// Replaces the unknown content of an edit by what the provider has stored of the message, if that is new.
async fn look_up_edited_content(
    deps: &Deps,
    event: &InstanceEvent<'_>,
    message: &Message,
    change: &mut InboundMessage,
) {
    let Content::Edit {
        target: Some(target),
        content,
    } = &mut change.content
    else {
        return;
    };
    let Some(stored) = deps.providers().fetch_stored_content(event.bound, target).await else {
        return;
    };
    let told = stored.render_echo_text();
    let versions = message.earlier_versions();
    let known = versions.iter().map(|version| version.content);
    // The provider may have stored the message as it was first.
    if known
        .chain([message.present_content()])
        .all(|known| known.render_echo_text().trim() != told.trim())
    {
        **content = stored;
    }
}

/// Finds the message that a reaction or a vote is about. A reaction to a message whose send still runs waits for it; one
/// to a message that is not known does not wait.
async fn resolve_target(
    deps: &Deps,
    event: &InstanceEvent<'_>,
    mut said: Box<InboundMessage>,
) -> PortResult<ResolvedEvent> {
    let target = find_target(deps, event, &said).await?;
    let is_running = match &target {
        Some(target) => target.is_open(),
        // The provider's id of a sent message is stored last.
        None if said.content.target_id().is_some() && !said.from_me => {
            wait_for_running_sends(deps, event, &said).await?.is_some()
        }
        None => false,
    };
    if is_running && let Some(later) = wait_for_target(deps, event.job) {
        return Ok(later);
    }
    if let Some(target) = target.filter(|target| target.instance == event.bound.instance.id) {
        said.context.refers_to = Some(target.message_id());
        name_target(&mut said.content, &target);
    }
    Ok(ResolvedEvent::Apply(InboundEvent::Message(said)))
}

/// Names the message that `content` is about as that message itself is named, so that later comparisons find it: one message may
/// have several ids at the provider.
fn name_target(content: &mut Content, message: &Message) {
    if let Some(id) = &message.provider_message_id {
        content.rename_target(id);
    }
}

/// Returns the result to wait for the message that the event is about; `None` if the event waited long enough.
fn wait_for_target(deps: &Deps, job: &InboundJob) -> Option<ResolvedEvent> {
    let now = deps.system().now();
    let later = || ResolvedEvent::Later(Verdict::retry_at(add_duration(now, RECHECK), now));
    (add_duration(job.received_at, WAIT) > now).then(later)
}

async fn find_target(
    deps: &Deps,
    event: &InstanceEvent<'_>,
    said: &InboundMessage,
) -> PortResult<Option<Message>> {
    let Some(target) = said.content.target_id() else {
        return Ok(None);
    };
    let (bound, external) = (event.bound, &event.job.external);
    let finds = find_target_message(deps, bound, external, Some(&said.address), target);
    Box::pin(finds).await
}

/// Converts an edit or deletion whose original message is not known. An edit by the contact becomes a message, because
/// its text is new. All others are ignored: the body's data about a message of the business cannot be relied on, and a
/// deletion of an unknown message changes nothing.
fn convert_orphan_change(change: Box<InboundMessage>) -> InboundEvent {
    if !change.from_me && matches!(change.content, Content::Edit { .. }) {
        return InboundEvent::Message(change);
    }
    InboundEvent::Ignored {
        what: "change of a message that is not known".to_owned(),
    }
}

/// Returns a verdict if the event must wait; `None` if it can be applied now.
async fn check_must_wait(
    deps: &Deps,
    event: &InstanceEvent<'_>,
    inbound: &InboundEvent,
) -> PortResult<Option<Verdict>> {
    match inbound {
        InboundEvent::Message(message) if message.from_me => {
            if is_known_message(deps, event.job, message).await? {
                return Ok(None);
            }
            wait_for_running_sends(deps, event, message).await
        }
        InboundEvent::Failed(failed) => wait_for_unlinked_sends(deps, event, failed.to.as_ref()).await,
        InboundEvent::ConnectionChanged => {
            connection::delay_connection_event(deps, event.bound, event.job.received_at).await
        }
        InboundEvent::Message(_) | InboundEvent::Change(_) | InboundEvent::Ignored { .. } => Ok(None),
    }
}

/// Returns a verdict to wait while a send to this contact runs that was claimed before the event arrived. The event may
/// be about that send, so the outcome of the send must be known first. `None`: the event need not wait.
async fn wait_for_running_sends(
    deps: &Deps,
    event: &InstanceEvent<'_>,
    inbound: &InboundMessage,
) -> PortResult<Option<Verdict>> {
    let mut flights = deps.store().list_in_flight(&event.bound.instance.id).await?;
    flights
        .retain(|flight| flight.may_be_addressed_to(&inbound.address, inbound.numberless_identity.as_ref()));
    Ok(running_send_verdict(&flights, event.job, deps.system().now()))
}

/// Returns a verdict to wait if a send of `flights` that the event may be about still runs. The wait is 3 seconds at
/// most. `None`: none of them runs.
fn running_send_verdict(flights: &[InFlightSend], job: &InboundJob, now: Timestamp) -> Option<Verdict> {
    let running = flights
        .iter()
        .filter(|flight| flight.may_be_claimed_before(job.received_at, now) && flight.until > now);
    let soonest = running.map(|flight| flight.until).min();
    soonest.map(|until| Verdict::retry_at(until.min(add_duration(now, SignedDuration::from_secs(3))), now))
}

/// Returns a verdict to wait for sends that an event with a provider's id may be about. The provider's id of a send is
/// known only once its outcome is known. So this waits for running attempts, and for attempts whose lease is over, until
/// their outcome is known or they would be repeated. `to`: the recipient of the message that the event is about; `None`:
/// it may be any contact.
async fn wait_for_unlinked_sends(
    deps: &Deps,
    event: &InstanceEvent<'_>,
    to: Option<&ContactAddress>,
) -> PortResult<Option<Verdict>> {
    let mut flights = deps.store().list_in_flight(&event.bound.instance.id).await?;
    flights.retain(|flight| to.is_none_or(|to| flight.may_be_addressed_to(to, None)));
    let now = deps.system().now();
    if let Some(verdict) = running_send_verdict(&flights, event.job, now) {
        return Ok(Some(verdict));
    }
    let wait = deps.settings().unknown_wait;
    for flight in flights {
        let resolved_by = add_duration(
            flight.claimed_at,
            wait.saturating_add(SignedDuration::from_mins(1)),
        );
        if flight.may_be_claimed_before(event.job.received_at, now)
            && resolved_by > now
            && is_outcome_unknown(deps, &flight).await?
        {
            return Ok(Some(Verdict::retry_at(
                add_duration(now, SignedDuration::from_secs(30)),
                now,
            )));
        }
    }
    Ok(None)
}

/// Returns `true` if the attempt's outcome is not known yet. The in-flight note alone does not tell: it stays if the
/// outcome was told by something other than the provider's answer.
async fn is_outcome_unknown(deps: &Deps, flight: &InFlightSend) -> PortResult<bool> {
    let message = deps.store().find_message(&flight.message).await?;
    let state = message.and_then(|message| message.out).map(|out| out.state);
    Ok(match state {
        Some(OutboxState::Sending { nonce, .. } | OutboxState::Unknown { nonce, .. }) => {
            nonce == flight.nonce
        }
        _ => false,
    })
}
