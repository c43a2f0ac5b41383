//! Has first messages sent once more, to linked identities, where WhatsApp did not acknowledge them. Such messages were seen to arrive by
//! the identity and never by the number (evolution-api #2629).

use crate::Deps;
use crate::deps::capabilities;
use crate::hooks::reconcile_pass::{PassMinute, ReconcilePass, is_every_minute};
use crate::steps::enabled_instance::find_instance_of;
use crate::steps::first_contact::{is_first_contact, may_begin_chat};
use crate::steps::linked_threads::{find_latest_conversation, other_name};
use crate::steps::outgoing::find_outgoing;
use crate::steps::queue_message::format_error_chain;
use crate::steps::wake_up;
use jiff::{SignedDuration, Timestamp};
use recado_domain::config::InstanceConfig;
use recado_domain::contact::ContactAddress;
use recado_domain::delivery::UnacknowledgedMessage;
use recado_domain::ids::InstanceId;
use recado_domain::message::Outgoing;
use recado_domain::millis::add_duration;
use recado_domain::outbox::OutboxState;
use recado_ports::ports::{PageRequest, PortResult, UnacknowledgedFilter, UnacknowledgedSend, WriteOutcome};
use std::collections::BTreeSet;

/// Time after the acceptance at which a message is sent once more, at the earliest: 10 minutes. A linked phone that is connected
/// acknowledges within seconds, and the webhook of a status may have been tried again for some minutes.
const ATTEMPT_AFTER: SignedDuration = SignedDuration::from_mins(10);

/// Time after the acceptance from which it is too late for that: an hour.
const ATTEMPT_BEFORE: SignedDuration = SignedDuration::from_hours(1);

/// Time for which each message is looked at: three passes, so that one that fails costs nothing.
const LOOKED_AT_FOR: SignedDuration = SignedDuration::from_mins(3);

/// Number of messages that are listed at once, and of such pages in a pass.
const PAGE: usize = 100;
const PAGES_MAX: usize = 5;

/// A first message without an acknowledgement goes once more, to the linked identity. An instance gets one attempt in a pass.
pub static PASS: ReconcilePass = ReconcilePass {
    name_in_report: "identity_attempts",
    failure_message: "messages without an acknowledgement were not looked at",
    is_due_at: is_every_minute,
    works_on_reading: true,
    run: |deps, minute| Box::pin(begin_identity_attempts(deps, minute)),
};

/// Begins the attempts by linked identities that are due. Each instance gets one in a pass: where nothing is acknowledged, its session is
/// at fault, and more attempts would help nobody. Returns the number of messages.
async fn begin_identity_attempts(deps: &Deps, minute: &mut PassMinute) -> PortResult<usize> {
    let Some(reading) = &minute.reading else {
        return Ok(0);
    };
    let settings = deps.settings();
    let is_local = |provider| deps.providers().capabilities(provider).acceptance_is_local;
    let mut instances = reading.instances.iter();
    let is_wanted = settings.identity_attempts && settings.acknowledgement_wait.is_positive();
    if !is_wanted || !instances.any(|one| is_local(one.instance.provider)) {
        return Ok(0);
    }
    let now = deps.system().now();
    let more = ATTEMPT_AFTER.saturating_sub(settings.acknowledgement_wait);
    let more = more.max(SignedDuration::ZERO);
    let upto = add_duration(now, -more);
    let filter = UnacknowledgedFilter {
        due_from: Some(add_duration(upto, -LOOKED_AT_FOR)),
        ..UnacknowledgedFilter::default()
    };
    let (mut begun, mut cursor) = (BTreeSet::<InstanceId>::new(), None);
    for _ in 0..PAGES_MAX {
        let page = PageRequest { limit: PAGE, cursor };
        let found = deps.store().list_unacknowledged(&filter, upto, &page).await?;
        for one in found.items {
            if begun.contains(&one.awaited.instance) {
                continue;
            }
            let result = Box::pin(begin_attempt(deps, &one, now)).await;
            if let Err(error) = &result {
                let error = format_error_chain(error);
                tracing::warn!(message_id = %one.message, %error, "no attempt by the linked identity");
            }
            if matches!(result, Ok(true)) {
                begun.insert(one.awaited.instance);
            }
        }
        cursor = found.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    Ok(begun.len())
}

/// Begins the attempt of a message, if it is due for one. The sender looks again whether it may leave. Returns `false` if nothing was done.
async fn begin_attempt(deps: &Deps, one: &UnacknowledgedMessage, now: Timestamp) -> PortResult<bool> {
    let accepted_at = one.awaited.accepted_at;
    if now < add_duration(accepted_at, ATTEMPT_AFTER) || now > add_duration(accepted_at, ATTEMPT_BEFORE) {
        return Ok(false);
    }
    let Some(message) = find_outgoing(deps, &one.message).await?.filter(can_have_attempt) else {
        return Ok(false);
    };
    let bound = find_instance_of(deps, &message.instance, &message.tenant).await?;
    let Some(bound) = bound.filter(|bound| capabilities(deps, bound).acceptance_is_local) else {
        return Ok(false);
    };
    let state = deps.store().read_instance_state(&message.instance).await?;
    // Whoever lost the connection meanwhile may have lost the status with it.
    let was_connected = state.since.is_none_or(|since| since <= accepted_at);
    if !was_connected || !may_begin_chat(&state) || !is_first_contact(deps, &message).await? {
        return Ok(false);
    }
    match find_identity(deps, &bound, &message).await? {
        Some(identity) => queue_attempt(deps, message, identity, now).await,
        None => Ok(false),
    }
}

/// Returns `true` if a message may get the attempt as far as its own record tells.
fn can_have_attempt(message: &Outgoing) -> bool {
    let out = &message.out;
    matches!(out.state, OutboxState::Sent { .. })
        && out.identity_attempt.is_none()
        && !out.simulated
        && !out.to.is_numberless()
}

/// Finds the linked identity of a message's recipient: the one that was learnt, else the one that the provider knows. `None`: there is
/// none, or the provider knows more of the message than that it is not acknowledged.
async fn find_identity(
    deps: &Deps,
    bound: &InstanceConfig,
    message: &Outgoing,
) -> PortResult<Option<ContactAddress>> {
    let Some(id) = &message.provider_message_id else {
        return Ok(None);
    };
    let thread = message.conversation.thread_id().clone();
    let (_, latest) = find_latest_conversation(deps, thread).await?;
    let known = match &latest {
        Some(latest) => other_name(deps, latest).await?,
        None => None,
    };
    let asked = UnacknowledgedSend {
        to: &message.out.to,
        provider_message_id: id,
        known_as: known.as_ref().filter(|known| known.is_numberless()),
    };
    let found = deps.providers().find_unacknowledged_identity(bound, asked).await;
    Ok(found.filter(ContactAddress::is_numberless))
}

/// Queues a message for its attempt. A crash before the send job leaves an overdue message, for which the next pass sends one.
async fn queue_attempt(
    deps: &Deps,
    mut message: Outgoing,
    identity: ContactAddress,
    now: Timestamp,
) -> PortResult<bool> {
    let before = message.provider_message_id.clone();
    if message.out.begin_identity_attempt(identity, before, now).is_err()
        || deps
            .store()
            .update_closed_message(&message.to_record(), None)
            .await?
            == WriteOutcome::Conflict
    {
        return Ok(false);
    }
    tracing::warn!(
        message_id = %message.message_id(),
        "a first message is not acknowledged: it is sent once more, to the linked identity, and marked"
    );
    wake_up::enqueue_send(deps, &message, &message.correlation).await?;
    Ok(true)
}
