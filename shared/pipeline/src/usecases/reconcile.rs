//! Enqueues every minute the work that has been open too long. Nothing depends on this in normal operation. It repairs
//! what a crash, a lost queue message or an outage left behind.

mod automatic_catch_up;
mod connection_looks;
mod contact_pictures;
mod dead_letter_retention;
mod dead_queue_collection;
mod due_batches;
mod due_bookings;
mod identity_attempts;
mod inactivity;
mod overdue_effects;
mod overdue_returns;
mod pending_events;
mod report;
mod retention;
mod sampling;
mod standings;

use crate::Deps;
use crate::steps::connection::{refresh_connection, release_conversation};
use crate::steps::due_message::release_due_message;
use crate::steps::email_outbox::wake_overdue_email;
use crate::steps::enabled_instance::{find_enabled_instance, find_instance_of};
use crate::steps::file_job::handle_due_file;
use crate::steps::give_up::{give_up_message, move_to_dead_letters};
use crate::steps::installation_reading::read_installation;
use crate::steps::named_secrets::find_all_missing;
use crate::steps::outgoing::list_open_outgoing;
use crate::steps::queue_message::format_error_chain;
use crate::steps::save_conversation::save_conversation;
use crate::steps::{upload, wake_up};
use automatic_catch_up::catch_up_automatically;
use dead_queue_collection::collect_dead_queue;
use futures::stream::{self, StreamExt};
use jiff::{SignedDuration, Timestamp};
use pending_events::reenqueue_pending_event;
use recado_domain::dead_letter::QueueName;
use recado_domain::hours::OpeningState;
use recado_domain::ids::{ConversationId, InstanceId, Ordinal};
use recado_domain::instance::{ConnectionStatus, InstanceChange, ParkedConversation};
use recado_domain::message::Outgoing;
use recado_domain::millis::add_duration;
use recado_domain::outbox::OutboxState;
use recado_domain::reason::Reason;
use recado_domain::wake_up::SendJob;
use recado_ports::overdue_work::list_overdue_work;
use recado_ports::ports::{OutboundEntry, OverdueWork, PortResult, WriteOutcome};
use recado_ports::random_id::{generate_correlation_id, generate_nonce};
pub use report::ReconcileReport;
use std::collections::BTreeSet;

/// Maximum number of overdue records of each kind that one pass handles.
const PASS_LIMIT: usize = 1000;

/// Number of records handled at the same time. A provider that does not answer must not delay the others.
const SIDE_BY_SIDE: usize = 16;

/// The action that was taken for an overdue record.
enum ReconcileAction {
    Event,
    Send,
    Turn,
    Probe,
    Parked,
    Scheduled,
    Effects,
    File,
    Batch,
    Nothing,
}

/// Runs one pass. A failure at one record does not keep the others waiting.
pub async fn reconcile(deps: &Deps) -> PortResult<ReconcileReport> {
    let now = deps.system().now();
    let until = add_duration(now, overdue_effects::BEGIN_WITHIN);
    let work = list_overdue_work(deps.store(), now, PASS_LIMIT).await?;
    let mut conversations = BTreeSet::new();
    let once = |item: &OverdueWork| match item {
        OverdueWork::Outgoing { conversation, .. } => conversations.insert(conversation.clone()),
        _ => true,
    };
    let work: Vec<OverdueWork> = work.into_iter().filter(once).collect();
    let outcomes: Vec<PortResult<ReconcileAction>> = stream::iter(work)
        .map(|item| reconcile_item(deps, item, until))
        .buffer_unordered(SIDE_BY_SIDE)
        .collect()
        .await;
    let mut done = ReconcileReport::default();
    for outcome in outcomes {
        match outcome {
            Ok(ReconcileAction::Event) => done.events += 1,
            Ok(ReconcileAction::Send) => done.send_jobs += 1,
            Ok(ReconcileAction::Turn) => done.turns += 1,
            Ok(ReconcileAction::Probe) => done.probes += 1,
            Ok(ReconcileAction::Parked) => done.parked += 1,
            Ok(ReconcileAction::Scheduled) => done.scheduled += 1,
            Ok(ReconcileAction::Effects) => done.effects += 1,
            Ok(ReconcileAction::File) => done.files += 1,
            Ok(ReconcileAction::Batch) => done.batches += 1,
            Ok(ReconcileAction::Nothing) => {}
            Err(error) => {
                tracing::warn!(error = %format_error_chain(&error), "reconcile could not process a record");
                done.failed += 1;
            }
        }
    }
    Box::pin(run_checks(deps, &mut done)).await;
    for queue in QueueName::ALL {
        let collected = collect_dead_queue(deps, queue).await;
        done.collected += done.count_failure("a dead-letter queue was not looked through", collected);
    }
    Box::pin(look_at_installation(deps, now, &mut done)).await;
    Ok(done)
}

/// Reads the state of the installation, asks providers in turn for theirs, and stores the sample of the minute.
async fn look_at_installation(deps: &Deps, began: Timestamp, done: &mut ReconcileReport) {
    let read = read_installation(deps.store(), deps.system().now()).await;
    let Some(mut reading) = done.count_failure("no sample was stored", read.map(Some)) else {
        return;
    };
    let looked = connection_looks::look_at_connections(deps, &mut reading, began).await;
    let (looks, asked) = done.count_failure("connections were not looked at", looked);
    done.asked = asked;
    let sampled = sampling::record_samples(deps, &reading, looks).await;
    done.sample = done.count_failure("no sample was stored", sampled.map(Some));
    let told = standings::ask_standings(deps, &reading).await;
    done.standings = done.count_failure("numbers were not asked for", told);
    let queued = Box::pin(identity_attempts::begin_identity_attempts(deps, &reading)).await;
    done.identity_attempts =
        done.count_failure("messages without an acknowledgement were not looked at", queued);
    done.reading = Some(reading);
}

/// Runs the checks that are due in this minute.
async fn run_checks(deps: &Deps, done: &mut ReconcileReport) {
    let pictures = contact_pictures::fetch_due_pictures(deps).await;
    done.pictures = done.count_failure("pictures were not asked for", pictures);
    if inactivity::is_check_minute(deps.system().now()) {
        let silent = inactivity::check_inactivity(deps).await;
        done.silent = done.count_failure("silences were not looked for", silent);
    }
    if is_secret_minute(deps.system().now()) {
        let missing = Box::pin(find_all_missing(deps)).await.map(Some);
        done.missing_secrets = done.count_failure("secrets were not looked for", missing);
    }
    if dead_letter_retention::is_daily_look(deps.system().now()) {
        let given_up = dead_letter_retention::look_at_dead_letters(deps).await;
        done.given_up = done.count_failure("dead letters were not looked at", given_up);
    }
    if retention::is_retention_minute(deps.system().now()) {
        let deleted = retention::delete_due_messages(deps).await;
        done.expired = done.count_failure("what is kept no longer was not deleted", deleted);
    }
}

/// Returns `true` if this minute's pass looks for the secrets that entries name: each fifth, beside that of silent instances.
fn is_secret_minute(now: Timestamp) -> bool {
    now.as_second().div_euclid(60) % 5 == 1
}

/// Handles an overdue record, unless `end` has come: a pass begins nothing that might keep what comes after it waiting.
async fn reconcile_item(deps: &Deps, item: OverdueWork, end: Timestamp) -> PortResult<ReconcileAction> {
    if deps.system().now() >= end {
        // It is still due a minute later.
        return Ok(ReconcileAction::Nothing);
    }
    let did = |done: bool, what: ReconcileAction| if done { what } else { ReconcileAction::Nothing };
    match item {
        OverdueWork::Event(event) => reenqueue_pending_event(deps, &event)
            .await
            .map(|done| did(done, ReconcileAction::Event)),
        OverdueWork::Outgoing {
            conversation,
            ordinal,
        } => Box::pin(enqueue_overdue_sends(deps, &conversation, ordinal))
            .await
            .map(|done| did(done, ReconcileAction::Send)),
        OverdueWork::Owed(conversation) => enqueue_owed_turn(deps, &conversation)
            .await
            .map(|done| did(done, ReconcileAction::Turn)),
        OverdueWork::Probe(instance) => probe_instance(deps, &instance)
            .await
            .map(|()| ReconcileAction::Probe),
        OverdueWork::Parked(parked) => Box::pin(handle_overdue_parked(deps, &parked))
            .await
            .map(|()| ReconcileAction::Parked),
        OverdueWork::Scheduled { tenant, scheduled } => release_due_message(deps, &tenant, &scheduled)
            .await
            .map(|done| did(done, ReconcileAction::Scheduled)),
        OverdueWork::Email { tenant, invitation } => wake_overdue_email(deps, &tenant, &invitation)
            .await
            .map(|done| did(done, ReconcileAction::Send)),
        OverdueWork::Effects { tenant, thread } => {
            overdue_effects::settle_due_effects(deps, (&tenant, &thread), end)
                .await
                .map(|done| did(done, ReconcileAction::Effects))
        }
        OverdueWork::File {
            conversation,
            ordinal,
        } => handle_due_file(deps, &conversation.message_id(ordinal))
            .await
            .map(|done| did(done, ReconcileAction::File)),
        OverdueWork::Batch { tenant, batch } => due_batches::handle_due_batch(deps, &tenant, &batch)
            .await
            .map(|done| did(done, ReconcileAction::Batch)),
    }
}

/// Time until messages are looked at again whose instance cannot send, or is no longer configured.
const NOT_OPEN: SignedDuration = SignedDuration::from_mins(30);
const REMOVED_INSTANCE: SignedDuration = SignedDuration::from_hours(1);

/// Time until messages are looked at again for which a send job was enqueued.
const ENQUEUED: SignedDuration = SignedDuration::from_mins(5);

/// Enqueues a send job for a contact's open messages, at most once in five minutes. All messages are postponed, those
/// of an instance that cannot send for longer, because its opening releases them. So waiting messages do not fill the
/// pass and hide others. Returns `false` if no job was enqueued.
async fn enqueue_overdue_sends(
    deps: &Deps,
    conversation: &ConversationId,
    newest: Ordinal,
) -> PortResult<bool> {
    let now = deps.system().now();
    let thread = conversation.thread_id();
    let open = list_open_outgoing(deps, thread).await?;
    let Some(last) = open.last() else { return Ok(false) };
    if find_instance_of(deps, &last.instance, &last.tenant)
        .await?
        .is_none()
    {
        postpone_messages(deps, open, add_duration(now, REMOVED_INSTANCE)).await?;
        return Ok(false);
    }
    let state = deps.store().read_instance_state(&last.instance).await?;
    if state.connection != ConnectionStatus::Open || state.is_on_trial() {
        let open = give_up_oldest(deps, open).await?;
        postpone_messages(deps, open, add_duration(now, NOT_OPEN)).await?;
        return Ok(false);
    }
    let newest = (conversation.number_in_thread(), newest);
    let (number, upto) = newest.max((last.conversation.number_in_thread(), last.ordinal));
    let job = SendJob::new(
        ConversationId::new(thread.clone(), number),
        upto,
        last.correlation.clone(),
    );
    let window = now.as_second() / 300;
    let entry = OutboundEntry {
        job: job.into(),
        deduplication: format!("sweep-{}-{window}", thread.as_str()),
    };
    deps.queues().enqueue_outbound(&[entry]).await?;
    postpone_messages(deps, open, add_duration(now, ENQUEUED)).await?;
    Ok(true)
}

/// Gives up the first of `open`, a closed instance's messages, that waited too long since their last state change.
/// Returns the others. Usually the parked conversation's record is due then; a lost send job leaves a conversation that
/// was never parked.
async fn give_up_oldest(deps: &Deps, open: Vec<Outgoing>) -> PortResult<Vec<Outgoing>> {
    let (now, limit) = (deps.system().now(), deps.settings().parked_max);
    let waited_too_long = |message: &Outgoing| {
        let since = message.out.last_changed_at();
        since.is_some_and(|since| add_duration(since, limit) <= now)
    };
    let mut rest = open.into_iter().peekable();
    while let Some(message) = rest.next_if(waited_too_long) {
        if !give_up_expired(deps, message).await? {
            break;
        }
    }
    Ok(rest.collect())
}

/// Postpones all messages but the dead ones, whose missing dead letters are stored instead: these need no instance that
/// can send.
async fn postpone_messages(deps: &Deps, open: Vec<Outgoing>, until: Timestamp) -> PortResult<()> {
    for mut message in open {
        if matches!(message.out.state, OutboxState::Dead { .. }) {
            move_to_dead_letters(deps, message).await?;
            continue;
        }
        upload::renew_waiting_upload(deps, &message).await?;
        let put_off = message.out.postpone_overdue(until).is_ok();
        if put_off
            && deps.store().save_open_message(&message.to_record(), None).await? == WriteOutcome::Conflict
        {
            // Another worker handles this conversation.
            return Ok(());
        }
    }
    Ok(())
}

/// Enqueues a turn for an answer that is owed. Returns `false` if the agent owes no answer or the conversation was
/// changed meanwhile.
async fn enqueue_owed_turn(deps: &Deps, id: &ConversationId) -> PortResult<bool> {
    let Some(mut conversation) = deps.store().find_conversation(id).await? else {
        return Ok(false);
    };
    if !conversation.agent_owes_answer() {
        return overdue_returns::restart_overdue_return(deps, conversation).await;
    }
    let now = deps.system().now();
    let bound = find_instance_of(deps, &conversation.instance, &conversation.tenant).await?;
    let idle = bound.is_none_or(|bound| bound.opening_state_at(now) == OpeningState::NeverOpens);
    conversation.record_nudge(idle, now);
    if save_conversation(deps, &mut conversation).await? == WriteOutcome::Conflict {
        return Ok(false);
    }
    let state = deps.store().read_instance_state(&conversation.instance).await?;
    if state.llm_needs_credentials {
        // The turn finds out whether the key exists now, and sets the mark again if it does not.
        deps.store()
            .change_instance_state(
                &conversation.instance,
                &state,
                &InstanceChange::ModelKeyMissing(false),
            )
            .await?;
    }
    wake_up::enqueue_turn(deps, &conversation, &generate_correlation_id(deps.system())).await?;
    Ok(true)
}

async fn probe_instance(deps: &Deps, instance: &InstanceId) -> PortResult<()> {
    let Some(bound) = find_enabled_instance(deps, instance).await? else {
        return Ok(());
    };
    // A minute after an opening, a probe is due. Messages missed until then are fetched before the provider is asked,
    // because its answer removes the probe.
    let state = deps.store().read_instance_state(instance).await?;
    if let Err(error) = catch_up_automatically(deps, instance, &state).await {
        tracing::warn!(instance_id = %instance, error = %format_error_chain(&error), "no catch-up");
    }
    refresh_connection(deps, &bound).await
}

/// Handles a parked conversation that is due. If its instance is open, the conversation is released. Otherwise messages
/// that waited too long are given up, each by its own age.
async fn handle_overdue_parked(deps: &Deps, parked: &ParkedConversation) -> PortResult<()> {
    let now = deps.system().now();
    let state = deps.store().read_instance_state(&parked.instance).await?;
    if state.connection == ConnectionStatus::Open && !state.is_on_trial() {
        return release_conversation(deps, parked).await.map(|_| ());
    }
    let limit = deps.settings().parked_max;
    for message in list_open_outgoing(deps, parked.conversation.thread_id()).await? {
        if add_duration(message.stored_at, limit) > now {
            // The remaining messages are younger. The conversation is parked again, with the time of this message.
            let since = message.stored_at;
            let entry = ParkedConversation {
                version: generate_nonce(deps.system()),
                since,
                not_before: None,
                patience: limit,
                reply: message.reply_id(),
                ..parked.clone()
            };
            deps.store().remove_parked(parked).await?;
            return deps.store().put_parked(&entry).await;
        }
        if !give_up_expired(deps, message).await? {
            return Ok(());
        }
    }
    deps.store().remove_parked(parked).await.map(|_| ())
}

/// Gives up a message that waited too long. Returns `false` if the messages behind it must wait. A message that is
/// being sent is judged by its outcome, or by the end of its lease if no outcome comes. A message that is dead already
/// gets the dead letter that a crash prevented.
async fn give_up_expired(deps: &Deps, mut message: Outgoing) -> PortResult<bool> {
    let now = deps.system().now();
    if matches!(message.out.state, OutboxState::Dead { .. }) {
        return move_to_dead_letters(deps, message).await;
    }
    if let OutboxState::Sending { lease_until, .. } = message.out.state {
        if lease_until <= now && message.out.mark_lease_ended(now).is_ok() {
            // The outcome is unknown from now on, and the next pass finds the message so.
            let _ = deps.store().save_open_message(&message.to_record(), None).await?;
        }
        return Ok(false);
    }
    give_up_message(deps, message, Reason::InstanceDisconnected, None).await
}
