//! Enqueues every minute the work that has been open too long. Nothing depends on this in normal operation. It repairs
//! what a crash, a lost queue message or an outage left behind.

pub mod automatic_catch_up;
mod dead_queue_collection;
pub mod identity_attempts;
mod pending_events;
mod report;

use crate::Deps;
use crate::hooks::reconcile_pass::PassMinute;
use crate::steps::connection::{refresh_connection, release_conversation};
use crate::steps::enabled_instance::{find_enabled_instance, find_instance_of};
use crate::steps::give_up::move_to_dead_letters;
use crate::steps::installation_reading::read_installation;
use crate::steps::outgoing::list_open_outgoing;
use crate::steps::overdue_records::{OverdueRecord, list_overdue_records};
use crate::steps::queue_message::format_error_chain;
use crate::steps::save_conversation::save_conversation;
use crate::steps::unsent_message::give_up_unsent_message;
use crate::steps::{upload, wake_up};
use crate::usecases::reconcile::automatic_catch_up::catch_up_automatically;
use crate::usecases::reconcile::dead_queue_collection::collect_dead_queue;
use crate::usecases::reconcile::pending_events::reenqueue_pending_event;
pub use crate::usecases::reconcile::report::ReconcileReport;
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt};
use jiff::{SignedDuration, Timestamp};
use recado_domain::conversation::Conversation;
use recado_domain::dead_letter::QueueName;
use recado_domain::hours::OpeningState;
use recado_domain::ids::{ConversationId, InstanceId, Ordinal};
use recado_domain::instance::{ConnectionStatus, InstanceChange, ParkedConversation};
use recado_domain::message::Outgoing;
use recado_domain::millis::add_duration;
use recado_domain::outbox::OutboxState;
use recado_domain::reason::Reason;
use recado_domain::wake_up::SendJob;
use recado_ports::ports::{OutboundEntry, OverdueWork, PortResult, WriteOutcome};
use recado_ports::random_id::{generate_correlation_id, generate_nonce};
use std::collections::BTreeSet;

/// Maximum number of overdue records of each kind that one pass handles.
const PASS_LIMIT: usize = 1000;

/// Number of records handled at the same time. A provider that does not answer must not delay the others.
pub const SIDE_BY_SIDE: usize = 16;

/// Time of a pass within which work on what is overdue begins. With the longest time of one record it ends before the function does, and
/// leaves time for what comes after it. The rest is still due in the next pass.
const BEGIN_WITHIN: SignedDuration = SignedDuration::from_secs(15);

/// Runs one pass. A failure at one record does not keep the others waiting. The future is boxed here, so that it is compiled with this crate.
pub fn reconcile(deps: &Deps) -> BoxFuture<'_, PortResult<ReconcileReport>> {
    Box::pin(async move {
        let now = deps.system().now();
        let until = add_duration(now, BEGIN_WITHIN);
        let work = list_overdue_records(deps, now, PASS_LIMIT).await?;
        let mut conversations = BTreeSet::new();
        let once = |record: &OverdueRecord| match record {
            OverdueRecord::OfPath(OverdueWork::Outgoing { conversation, .. }) => {
                conversations.insert(conversation.clone())
            }
            _ => true,
        };
        let work: Vec<OverdueRecord> = work.into_iter().filter(once).collect();
        let outcomes: Vec<PortResult<Option<&'static str>>> = stream::iter(work)
            .map(|record| reconcile_record(deps, record, until))
            .buffer_unordered(SIDE_BY_SIDE)
            .collect()
            .await;
        let mut done = ReconcileReport::default();
        for outcome in outcomes {
            match outcome {
                Ok(Some(counted_as)) => done.count(counted_as, 1),
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(error = %format_error_chain(&error), "reconcile could not process a record");
                    done.failed += 1;
                }
            }
        }
        let mut minute = PassMinute::new(now);
        run_passes(deps, false, &mut minute, &mut done).await;
        for queue in QueueName::ALL {
            let collected = collect_dead_queue(deps, queue).await;
            let collected = done.count_failure("a dead-letter queue was not looked through", collected);
            done.count("collected", collected);
        }
        Box::pin(note_installation_reading(deps, &mut minute, &mut done)).await;
        done.sample = minute.sample;
        done.reading = minute.reading;
        done.missing_secrets = minute.missing_secrets;
        Ok(done)
    })
}

/// Reads the state of the installation, and runs the passes that work on it.
async fn note_installation_reading(deps: &Deps, minute: &mut PassMinute, done: &mut ReconcileReport) {
    let read = read_installation(deps.store(), deps.system().now()).await;
    minute.reading = done.count_failure("no sample was stored", read.map(Some));
    if minute.reading.is_some() {
        run_passes(deps, true, minute, done).await;
    }
}

/// Runs the passes that are due in this minute: those that need the reading of the installation, or those that do not.
async fn run_passes(deps: &Deps, with_reading: bool, minute: &mut PassMinute, done: &mut ReconcileReport) {
    for pass in deps.features().reconcile_passes {
        if pass.works_on_reading == with_reading && (pass.is_due_at)(deps.system().now()) {
            let did = (pass.run)(deps, minute).await;
            let count = done.count_failure(pass.failure_message, did);
            done.count(pass.name_in_report, count);
        }
    }
}

/// Handles an overdue record, unless `end` has come: a pass begins nothing that might keep what comes after it waiting. Returns the name
/// by which the report counts what was done; `None`: nothing was.
async fn reconcile_record(
    deps: &Deps,
    record: OverdueRecord,
    end: Timestamp,
) -> PortResult<Option<&'static str>> {
    if deps.system().now() >= end {
        // It is still due a minute later.
        return Ok(None);
    }
    match record {
        OverdueRecord::OfPath(work) => reconcile_path(deps, work).await,
        OverdueRecord::OfFeature { counted_as, record } => record
            .handle_due_record(deps, end)
            .await
            .map(|done| done.then_some(counted_as)),
    }
}

/// Handles an overdue record of the path of a message.
async fn reconcile_path(deps: &Deps, work: OverdueWork) -> PortResult<Option<&'static str>> {
    match work {
        OverdueWork::Event(event) => reenqueue_pending_event(deps, &event)
            .await
            .map(|done| done.then_some("events")),
        OverdueWork::Outgoing {
            conversation,
            ordinal,
        } => Box::pin(enqueue_overdue_sends(deps, &conversation, ordinal))
            .await
            .map(|done| done.then_some("send_jobs")),
        OverdueWork::Owed(conversation) => enqueue_owed_turn(deps, &conversation).await,
        OverdueWork::Probe(instance) => probe_instance(deps, &instance).await.map(|()| Some("probes")),
        OverdueWork::Parked(parked) => Box::pin(handle_overdue_parked(deps, &parked))
            .await
            .map(|()| Some("parked")),
        // Other records are those of features, each of which takes its own.
        _ => Ok(None),
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

/// Enqueues a turn for an answer that is owed. Where the agent owes none, the time is a feature's. Returns the name by which the report
/// counts what was done; `None`: nothing was to be done, or the conversation was changed meanwhile.
async fn enqueue_owed_turn(deps: &Deps, id: &ConversationId) -> PortResult<Option<&'static str>> {
    let Some(mut conversation) = deps.store().find_conversation(id).await? else {
        return Ok(None);
    };
    if !conversation.agent_owes_answer() {
        return ask_timers(deps, &conversation).await;
    }
    let now = deps.system().now();
    let bound = find_instance_of(deps, &conversation.instance, &conversation.tenant).await?;
    let idle = bound.is_none_or(|bound| bound.opening_state_at(now) == OpeningState::NeverOpens);
    conversation.record_nudge(idle, now);
    if save_conversation(deps, &mut conversation).await? == WriteOutcome::Conflict {
        return Ok(None);
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
    Ok(Some("turns"))
}

/// Asks features in turn what they have to do in a conversation whose time has come, until one did something.
async fn ask_timers(deps: &Deps, conversation: &Conversation) -> PortResult<Option<&'static str>> {
    for timer in deps.features().feature_timers {
        if timer.handle_conversation(deps, conversation).await? {
            return Ok(Some(timer.name_in_report()));
        }
    }
    Ok(None)
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
    give_up_unsent_message(deps, message, Reason::InstanceDisconnected, None).await
}
