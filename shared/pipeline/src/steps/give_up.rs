//! Gives up events and messages. An event becomes `dead` in the write that stores its dead letter. A message becomes `dead` first and
//! stays on the open list until its dead letter is stored, so that `reconcile` finds what a crash left. In the opposite order, a crash
//! would leave a dead letter of work that is still to be done.

use crate::Deps;
use crate::measure;
use crate::measure::MessageEnd;
use crate::steps::outgoing::find_outgoing;
use crate::steps::unreadable::pass_over_unreadable;
use jiff::SignedDuration;
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent, QueueName};
use recado_domain::event::{InboundJob, JobNames};
use recado_domain::ids::{EventId, hash_parts};
use recado_domain::instance::InFlightSend;
use recado_domain::message::Outgoing;
use recado_domain::millis::add_duration;
use recado_domain::outbox::OutboxState;
use recado_domain::reason::Reason;
use recado_ports::ports::{EventChange, PortResult, WriteOutcome};
use recado_ports::records::configuration::find_config_by_external;
use recado_ports::records::dead_letters::{put_dead_letter, remove_dead_letter};
use serde_json::json;

/// Gives up a pending event: marks its record as dead and makes its dead letter. That names the event's instance and tenant if
/// the instance is configured.
pub async fn give_up_event(
    deps: &Deps,
    job: &InboundJob,
    reason: Reason,
    attempts: u32,
    last_error: Option<String>,
) -> PortResult<()> {
    // The clocks of workers differ, and a later failure is recognized by its time. So it is at least 1 ms after the
    // redriven one.
    let redriven = job
        .redrive
        .map(|failed_at| add_duration(failed_at, SignedDuration::from_millis(1)));
    let at = redriven.into_iter().fold(deps.system().now(), Ord::max);
    let owner = find_config_by_external(deps.store(), job.provider, &job.external).await?;
    let dead_letter = DeadLetter {
        id: job.event.to_string(),
        queue: QueueName::Inbound,
        reason,
        at,
        attempts,
        last_error,
        correlation: job.correlation.clone(),
        tenant: owner.as_ref().map(|owner| owner.tenant.id.clone()),
        instance: owner.map(|owner| owner.instance.id.clone()),
        what: DeadLetterContent::Event(Box::new(InboundJob {
            redrive: Some(at),
            ..job.clone()
        })),
    };
    settle_dead_event(deps, &job.event, &dead_letter).await.map(drop)
}

/// Marks a pending event as dead and stores its dead letter, in one write. The copy in the dead-letter queue goes first: if no dead
/// letter follows, `reconcile` removes it. `false`: the event is not pending, and only the copy was made.
async fn settle_dead_event(deps: &Deps, event: &EventId, dead_letter: &DeadLetter) -> PortResult<bool> {
    deps.queues().enqueue_dead_copy(dead_letter).await?;
    let expires = add_duration(dead_letter.at, deps.settings().event_ttl);
    let settled = deps
        .store()
        .change_event(event, EventChange::GiveUp { dead_letter, expires })
        .await?;
    if settled {
        report_dead_letter(dead_letter);
    }
    Ok(settled)
}

/// Makes a dead letter of a message of one of Recado's queues that cannot be read. Trying again cannot help, so the message must not
/// come back. The event of a message of `inbound` is given up with it, if it can be read which one it is: nothing else would ever do so.
pub async fn dead_letter_unreadable(
    deps: &Deps,
    queue: QueueName,
    body: &str,
    error: &serde_json::Error,
) -> PortResult<()> {
    // The error's own text is not used, because it repeats values of the body.
    let error = format!("{:?} error in column {}", error.classify(), error.column());
    let mut dead_letter = build_unreadable_letter(deps, queue, body, error);
    if queue != QueueName::Inbound {
        return save_dead_letter(deps, &dead_letter).await;
    }
    let names = JobNames::cut_out(body);
    if let (Some(provider), Some(external)) = (names.provider, &names.external)
        && let Some(owner) = find_config_by_external(deps.store(), provider, external).await?
    {
        dead_letter.tenant = Some(owner.tenant.id.clone());
        dead_letter.instance = Some(owner.instance.id.clone());
    }
    match &names.event {
        Some(event) => give_up_unread_event(deps, event, dead_letter).await,
        None => save_dead_letter(deps, &dead_letter).await,
    }
}

/// Gives up a pending event whose record cannot be read. Its queue message is gone, or does not tell whose it is, so its dead letter
/// names the event.
pub async fn give_up_unreadable_event(deps: &Deps, event: &EventId) -> PortResult<()> {
    let body = json!({ "event": event }).to_string();
    let error = "the record of the event cannot be read".to_owned();
    let dead_letter = build_unreadable_letter(deps, QueueName::Inbound, &body, error);
    give_up_unread_event(deps, event, dead_letter).await
}

/// Gives up an event of which no more than its id is known. If it is not pending, its dead letter is made all the same, with the time
/// of the failure that its record tells.
async fn give_up_unread_event(deps: &Deps, event: &EventId, mut dead_letter: DeadLetter) -> PortResult<()> {
    if settle_dead_event(deps, event, &dead_letter).await? {
        return Ok(());
    }
    let record = pass_over_unreadable(deps.store().find_event(event).await)?;
    if let Some(failed_at) = record.and_then(|record| record.failed_at()) {
        dead_letter.at = failed_at;
    }
    save_dead_letter(deps, &dead_letter).await
}

/// Makes a dead letter of a message that cannot be used and that others wrote. `error` is the reason and must not contain text of
/// the body.
pub async fn dead_letter_poison(deps: &Deps, queue: QueueName, body: &str, error: String) -> PortResult<()> {
    let dead_letter = build_unreadable_letter(deps, queue, body, error);
    save_dead_letter(deps, &dead_letter).await
}

fn build_unreadable_letter(deps: &Deps, queue: QueueName, body: &str, error: String) -> DeadLetter {
    tracing::error!(queue = queue.as_str(), error, "queue message cannot be read");
    let correlation = recado_ports::random_id::generate_correlation_id(deps.system());
    DeadLetter::from_unreadable_body(queue, body, deps.system().now(), error, correlation)
}

/// Returns the id of the dead letter of a job of the queue `turns`, given as JSON.
pub fn turns_letter_id(job: &str) -> String {
    hash_parts(&["turn", job], 32)
}

/// Builds the dead letter of a message; `None` if the message is not dead.
pub fn build_message_letter(message: &Outgoing) -> Option<DeadLetter> {
    let (id, out) = (message.message_id(), &message.out);
    let OutboxState::Dead { at, reason } = out.state else {
        return None;
    };
    Some(DeadLetter {
        id: id.to_string(),
        queue: QueueName::Outbound,
        reason,
        at,
        attempts: out.attempts,
        last_error: out.history.last().and_then(|step| step.why.clone()),
        correlation: message.correlation.clone(),
        tenant: Some(message.tenant.clone()),
        instance: Some(message.instance.clone()),
        what: DeadLetterContent::Message { message: id },
    })
}

/// Makes the dead letter of a dead message and removes the message from the open list. `false`: another worker was
/// faster.
pub async fn move_to_dead_letters(deps: &Deps, mut message: Outgoing) -> PortResult<bool> {
    let Some(dead_letter) = build_message_letter(&message) else {
        return Ok(true);
    };
    save_dead_letter(deps, &dead_letter).await?;
    message.out.mark_dead_lettered();
    if deps
        .store()
        .settle_message(&message.to_record(), None, None, None)
        .await?
        == WriteOutcome::Written
    {
        return Ok(true);
    }
    // If this worker was delayed, the message may have been redriven before the dead letter was made: then remove it
    // again.
    let now = find_outgoing(deps, &message.message_id()).await?;
    let failed_at = now.and_then(|now| now.out.failed_at());
    if failed_at != Some(dead_letter.at) {
        remove_dead_letter(deps.store(), &dead_letter.id, dead_letter.at).await?;
    }
    Ok(false)
}

/// Gives up an open message for `reason`: marks it as dead, then makes its dead letter. `false`: another worker changed the message, or
/// its state does not allow this.
pub async fn give_up_message(
    deps: &Deps,
    mut message: Outgoing,
    reason: Reason,
    why: Option<String>,
) -> PortResult<bool> {
    let now = deps.system().now();
    let flight = find_finished_send(&message);
    if message.out.mark_dead(now, reason, why).is_err() {
        return Ok(false);
    }
    tracing::warn!(
        reason = reason.as_str(),
        attempts = message.out.attempts,
        "message given up"
    );
    if deps
        .store()
        .save_open_message(&message.to_record(), flight.as_ref())
        .await?
        == WriteOutcome::Conflict
    {
        return Ok(false);
    }
    measure::count_message_end(&message.instance, MessageEnd::Failed);
    move_to_dead_letters(deps, message).await
}

/// Returns the in-flight note of the running attempt of a message, whose outcome is known now. An attempt of unknown
/// outcome keeps its note (`None`): the request may still go out, and its echo must not count as typed on the phone.
pub fn find_finished_send(message: &Outgoing) -> Option<InFlightSend> {
    let OutboxState::Sending {
        nonce, claimed_at, ..
    } = &message.out.state
    else {
        return None;
    };
    Some(InFlightSend {
        message: message.message_id(),
        to: message.out.attempt_address().clone(),
        nonce: nonce.clone(),
        claimed_at: *claimed_at,
        until: *claimed_at,
        text_hash: String::new(),
        echo: None,
        maybe_echo: None,
        erased: None,
        is_time_unsure: false,
    })
}

/// Makes a dead letter: first the copy in the dead-letter queue, then the dead letter in the store. A stored dead letter
/// tells a redelivery that nothing is left to do.
pub async fn save_dead_letter(deps: &Deps, dead_letter: &DeadLetter) -> PortResult<()> {
    deps.queues().enqueue_dead_copy(dead_letter).await?;
    if put_dead_letter(deps.store(), dead_letter).await? {
        report_dead_letter(dead_letter);
    }
    Ok(())
}

/// Logs and counts a dead letter that was stored.
fn report_dead_letter(dead_letter: &DeadLetter) {
    tracing::warn!(
        dead_letter = %dead_letter.id, queue = dead_letter.queue.as_str(), reason = dead_letter.reason.as_str(),
        correlation_id = %dead_letter.correlation, "dead letter"
    );
    measure::count_dead_letter(dead_letter);
}

/// Cancels a queued message that is not to leave any more. No dead letter is made, and nothing follows from it.
pub async fn cancel_message(deps: &Deps, message: &Outgoing, reason: Reason) -> PortResult<WriteOutcome> {
    let mut cancelled = message.clone();
    if cancelled.out.mark_cancelled(deps.system().now(), reason).is_err() {
        return Ok(WriteOutcome::Conflict);
    }
    let record = cancelled.to_record();
    let written = deps.store().settle_message(&record, None, None, None).await?;
    if written == WriteOutcome::Written {
        measure::count_message_end(&message.instance, MessageEnd::Cancelled);
        let maybe_sent = message.out.maybe_sent;
        tracing::info!(ordinal = message.ordinal.0, %reason, maybe_sent, "cancelled: it is not to leave any more");
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::dead_letter::unreadable_letter_id;

    /// A letter is found again under its id when its queue hands the message out again, also by a later version.
    #[test]
    fn ids_of_letters_are_known() {
        assert_eq!(
            unreadable_letter_id(QueueName::Inbound, "{ poison"),
            "1ccf257c7d93a70e859b8e40c7e42a0db548eaf99d1ed64bcbb3a5555bb341e6"
        );
        assert_eq!(
            turns_letter_id(r#"{"conversation":"x"}"#),
            "2990de99de23e8daf02e653a964650e77ee81786dee660b08f8468ea5708dc5e"
        );
    }
}
