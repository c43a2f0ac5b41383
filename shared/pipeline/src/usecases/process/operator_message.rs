//! Messages with `fromMe`: echoes of messages that Recado sent, and messages that a person typed on the phone. Only a
//! message typed on the phone is a person's answer.

use crate::Deps;
use crate::deps::capabilities;
use crate::steps::identity::{derive_thread_id, load_identity_key};
use crate::steps::inbound_arrival::InboundArrival;
use crate::steps::linked_threads::take_over_others;
use crate::steps::message_target::find_sent_message;
use crate::steps::person_thread::{find_person_thread, learn_identity};
use crate::steps::wake_up;
use crate::usecases::process::message::{
    apply_message, build_message, follow_message, note_arrival, open_conversation, save_with_message,
};
use jiff::{SignedDuration, Timestamp};
use recado_domain::content::Content;
use recado_domain::conversation::{Conversation, ConversationMode};
use recado_domain::delivery::DeliveryKey;
use recado_domain::event::{InboundJob, MessagePosition};
use recado_domain::ids::{InstanceId, Ordinal, TokenName};
use recado_domain::inbound::InboundMessage;
use recado_domain::instance::{Echo, HashedEcho, InFlightSend, OwnMessageEcho};
use recado_domain::message::Role;
use recado_domain::millis::add_duration;
use recado_domain::outbox::hash_text;
use recado_ports::ports::{NoteChange, PortError, PortResult, StoreInboundOutcome};
use recado_ports::records::aliases::find_alias;
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};
use std::cmp::Reverse;

/// Stores a message that was typed on the phone, unless it is an echo of a message that Recado sent.
pub(super) async fn store_operator_message(deps: &Deps, arrival: &InboundArrival<'_>) -> PortResult<()> {
    if is_own_echo(deps, arrival).await? {
        tracing::debug!("an echo of what was sent");
        return Ok(());
    }
    note_arrival(deps, arrival).await?;
    let contended = PortError::contended("conversation");
    retry_lost_write(contended, (), |()| try_to_store_operator_message(deps, arrival)).await
}

async fn try_to_store_operator_message(
    deps: &Deps,
    arrival: &InboundArrival<'_>,
) -> PortResult<WriteAttempt<()>> {
    let InboundArrival {
        job, bound, inbound, ..
    } = *arrival;
    let found = find_person_thread(deps, arrival).await?;
    let mut conversation = open_conversation(deps, arrival, found);
    let by_person = !inbound.context.by_other_agent;
    let mut starts_timer = false;
    let is_no_answer = arrival.stale
        || !can_be_answer(&inbound.content)
        || is_automatic(deps, arrival, &conversation).await?;
    let ordinal = if is_no_answer {
        // An old message (a history sync, a late retry) does not answer a message of today.
        conversation.append_message(job.received_at)
    } else {
        let seen = find_seen_ordinal(deps, &conversation, inbound).await?;
        let had = conversation.mode;
        let takes_over = bound.instance.phone_takes_over && by_person;
        let ordinal = conversation.record_operator_answer(seen, takes_over, job.received_at);
        if conversation.mode != had {
            conversation.sign_handover(&TokenName::phone(), job.received_at);
        }
        if by_person {
            conversation.sign_person(&TokenName::phone(), job.received_at);
            starts_timer = conversation.restart_return(bound.instance.agent_returns, job.received_at);
        }
        ordinal
    };
    conversation.update_contact_details(None, inbound.phone.as_deref());
    learn_identity(deps, arrival, &mut conversation).await?;
    take_over_others(deps, &conversation, &job.correlation).await?;
    let mut message = build_message(deps, arrival, &conversation, Role::Operator, ordinal);
    apply_message(deps, arrival, &mut conversation, &mut message).await?;
    let place = match save_with_message(deps, arrival, &mut conversation, &message).await? {
        StoreInboundOutcome::Stored => {
            tracing::info!(conversation_id = %conversation.id, by_person, "answered on the phone or by another program");
            MessagePosition {
                conversation: conversation.id.clone(),
                ordinal,
            }
        }
        StoreInboundOutcome::AlreadyStored(place) => {
            // A crash may have come before the timer.
            starts_timer = true;
            place
        }
        StoreInboundOutcome::Conflict => return Ok(WriteAttempt::Lost(())),
    };
    follow_message(deps, arrival, &place).await?;
    if starts_timer {
        wake_up::enqueue_return_timer(deps, &conversation, &job.correlation).await?;
    }
    enqueue_if_taken_over(deps, job, &conversation).await?;
    Ok(WriteAttempt::Done(()))
}

/// Returns `true` if a rule says that no person wrote the message.
async fn is_automatic(
    deps: &Deps,
    arrival: &InboundArrival<'_>,
    conversation: &Conversation,
) -> PortResult<bool> {
    for rule in deps.features().inbound_rules {
        if rule.is_automatic(deps, arrival, conversation).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Enqueues a send job if people have the conversation. It cancels at once the waiting replies of the agent, which are
/// void now.
async fn enqueue_if_taken_over(deps: &Deps, job: &InboundJob, conversation: &Conversation) -> PortResult<()> {
    if conversation.mode != ConversationMode::Manual {
        return Ok(());
    }
    wake_up::enqueue_after_handover(deps, &conversation.id, &job.correlation).await
}

/// Returns `true` if `content` can be an answer to the contact. Reactions, edits, deletions and settings of the chat cannot.
fn can_be_answer(content: &Content) -> bool {
    !matches!(
        content,
        Content::Reaction { .. } | Content::Edit { .. } | Content::Deletion { .. } | Content::System { .. }
    )
}

/// Returns `true` if the provider's id is that of a message that Recado sent, also if that was erased since.
pub(super) async fn is_known_message(
    deps: &Deps,
    job: &InboundJob,
    inbound: &InboundMessage,
) -> PortResult<bool> {
    let Some(id) = &inbound.provider_message_id else {
        return Ok(false);
    };
    let key = DeliveryKey::from_provider_id(job.provider, &job.external, id);
    let found = deps.store().find_delivery(&key).await?;
    Ok(found.is_some_and(|delivery| delivery.is_of_sent_message()))
}

/// Returns `true` if the message is an echo of a message that Recado sent. The echo is recognized by the provider's id
/// or, if the provider told no outcome of the attempt, by its text.
async fn is_own_echo(deps: &Deps, arrival: &InboundArrival<'_>) -> PortResult<bool> {
    let InboundArrival {
        job, bound, inbound, ..
    } = *arrival;
    // The in-flight notes must be read first: a note that is already gone was resolved before, and then its message is
    // known by its id.
    let flights = deps.store().list_in_flight(&bound.instance.id).await?;
    if is_known_message(deps, job, inbound).await? {
        return Ok(true);
    }
    let hash = hash_text(&inbound.content.render_echo_text());
    let now = deps.system().now();
    // It may have arrived while the clock ran ahead.
    let received_at = job.received_at.min(now);
    let mut said = OwnMessageEcho {
        address: &inbound.address,
        numberless_identity: inbound.numberless_identity.as_ref(),
        text_hash: &hash,
        provider_message_id: inbound.provider_message_id.as_deref(),
        written_at: inbound
            .sent_at
            .map_or(received_at, |sent_at| sent_at.min(received_at)),
        received_at,
        now,
        hashed: None,
    };
    let instance = &bound.instance.id;
    let hashed;
    if flights.iter().any(|flight| flight.erased.is_some()) {
        hashed = HashedEcho::from_echo(&load_identity_key(deps).await?, instance, &said);
        said.hashed = Some(&hashed);
    }
    said.written_at = find_time_of_writing(deps, &flights, said).await?;
    let wait = deps.settings().unknown_wait;
    let mut echoed = Vec::new();
    for flight in flights {
        if let Some(echo) = echo_of(deps, instance, &flight, said, wait).await? {
            echoed.push((flight, echo));
        }
    }
    sort_likeliest_first(&mut echoed, &said);
    for (flight, echo) in echoed {
        let is_taken = flight.taken_as(&said).is_some();
        let Some(id) = flight.recorded_id(&said).filter(|_| !is_taken) else {
            return Ok(true);
        };
        // A note accepts one echo: the next equal text was typed by a person. A note that was removed meanwhile was
        // resolved: then the message is known by its id, or the note was about another message.
        let change = NoteChange::Echo(id, echo);
        let recorded = deps.store().change_in_flight(instance, &flight, change).await?;
        if recorded || is_known_message(deps, job, inbound).await? {
            return Ok(true);
        }
    }
    is_known_by_its_status(deps, arrival).await
}

/// Returns when `said` was written. If it has the words of an attempt and seems too old for it, our clock may run ahead of the provider's:
/// by as much, at most, as the age that the contact's newest message had when it was stored. Then that is added.
async fn find_time_of_writing(
    deps: &Deps,
    flights: &[InFlightSend],
    said: OwnMessageEcho<'_>,
) -> PortResult<Timestamp> {
    let wait = deps.settings().unknown_wait;
    let find_echoed = |written_at: Timestamp| {
        let said = OwnMessageEcho { written_at, ..said };
        let is_echoed = |flight: &&InFlightSend| flight.matches_echo(said, wait).is_some();
        flights.iter().find(is_echoed)
    };
    let latest = find_echoed(said.received_at);
    let Some(flight) = latest.filter(|_| find_echoed(said.written_at).is_none()) else {
        return Ok(said.written_at);
    };
    let place = flight.message.conversation_and_ordinal();
    let (conversation, _) = place.map_err(|error| PortError::invalid("message", error))?;
    let found = deps.store().find_with_history(&conversation, 50).await?;
    let history = found.map(|(_, history)| history).unwrap_or_default();
    let of_contact = history.iter().filter(|message| message.role == Role::User);
    let mut ages = of_contact.map(|message| message.stored_at.duration_since(message.written_at));
    // One that came late tells nothing.
    let lead = ages.rfind(|age| !age.is_negative() && *age <= deps.settings().stale_after);
    Ok(add_duration(said.written_at, lead.unwrap_or_default()).min(said.received_at))
}

/// Sorts the attempts of which `said` may be the echo. First comes one that was assigned to this very echo before, by a worker that
/// failed or was repeated. Then come those that certainly go to this contact, and among these the one that was claimed last before the
/// echo was written: so earlier attempts are left for echoes that were written earlier.
fn sort_likeliest_first(echoed: &mut [(InFlightSend, Echo)], said: &OwnMessageEcho<'_>) {
    echoed.sort_by_key(|(flight, echo)| {
        let is_taken = flight.taken_as(said).is_some();
        let after = !flight.may_be_claimed_before(said.written_at, said.now);
        let maybe = *echo == Echo::Maybe;
        (!is_taken, maybe, after, Reverse(flight.claimed_at))
    });
}

/// Returns `true` if a status of a sent message named the provider's id. The provider's answer had another then. Only where statuses
/// carry Recado's own id.
async fn is_known_by_its_status(deps: &Deps, arrival: &InboundArrival<'_>) -> PortResult<bool> {
    let InboundArrival {
        job, bound, inbound, ..
    } = *arrival;
    let Some(id) = &inbound.provider_message_id else {
        return Ok(false);
    };
    if !capabilities(deps, bound).echoes_our_id {
        return Ok(false);
    }
    let found = find_sent_message(deps, bound, &job.external, &inbound.address, id);
    Ok(Box::pin(found).await?.is_some())
}

/// Returns how sure it is that `said` is the echo of `flight`; `None` if it is not. If `flight` went to a linked
/// identity, its number is looked up, because it may be known by now.
async fn echo_of(
    deps: &Deps,
    instance: &InstanceId,
    flight: &InFlightSend,
    said: OwnMessageEcho<'_>,
    unknown_wait: SignedDuration,
) -> PortResult<Option<Echo>> {
    let echo = flight.matches_echo(said, unknown_wait);
    if echo != Some(Echo::Maybe) || !flight.to.is_numberless() || flight.erased.is_some() {
        return Ok(echo);
    }
    let named = derive_thread_id(deps, instance, flight.to.as_str()).await?;
    let number = find_alias(deps.store(), &named).await?;
    // A known number that differs from the chat's address may be the person's old number: the result stays uncertain.
    let Some(to) = number.filter(|number| number.may_be_same_person(said.address)) else {
        return Ok(echo);
    };
    let flight = InFlightSend { to, ..flight.clone() };
    Ok(flight.matches_echo(said, unknown_wait))
}

/// Returns the ordinal of the newest message that the author of `inbound` had seen. These are the contact's messages up
/// to the time of `inbound` by the provider's clock, up to the first message that is newer. (An old message that arrived
/// late must not cover a message that nobody saw.)
async fn find_seen_ordinal(
    deps: &Deps,
    conversation: &Conversation,
    inbound: &InboundMessage,
) -> PortResult<Ordinal> {
    let Some(typed_at) = inbound.sent_at else {
        return Ok(conversation.last_inbound);
    };
    let Some((_, history)) = deps.store().find_with_history(&conversation.id, 50).await? else {
        return Ok(Ordinal(0));
    };
    let of_contact = history.iter().filter(|message| message.role == Role::User);
    // Both times are by the provider's clock, also if that clock is ahead of Recado's.
    let seen = of_contact.take_while(|message| message.told_at.unwrap_or(message.written_at) <= typed_at);
    Ok(seen.last().map(|message| message.ordinal).unwrap_or_default())
}
