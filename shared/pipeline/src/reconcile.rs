//! reconcile, every minute: what has been open too long is kicked. Nothing depends on it in the ordinary course; it
//! heals what a crash, a lost kick or an outage left behind.

use crate::World;
use crate::catch_up::by_itself;
use crate::chance::{correlation, nonce};
use crate::collect::collect;
use crate::connection::{ask, release_one};
use crate::dead::{bury, give_up_message};
use crate::deliver;
use crate::keeping;
use crate::kick;
use crate::ports::{
    Ambient, Conversations, Directory, Enqueue, Inbox, Instances, OutboxStore, Overdue, OverdueWork,
    PortResult, Queues, Written,
};
use crate::reply::opening;
use crate::send::LEASE_ENDED;
use crate::silence;
use crate::upload;
use futures::stream::{self, StreamExt};
use jiff::Timestamp;
use recado_domain::dead_letter::QueueName;
use recado_domain::event::EventRecord;
use recado_domain::hours::Opening;
use recado_domain::ids::{ConversationId, InstanceId, Ordinal};
use recado_domain::instance::{Connection, Parked};
use recado_domain::kick::SendKick;
use recado_domain::message::Message;
use recado_domain::millis::shift;
use recado_domain::outbox::{Outbox, OutboxState};
use recado_domain::reason::Reason;
use std::collections::BTreeSet;

/// How much one pass looks at.
const AT_ONCE: usize = 1000;

/// What a pass did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reconciled {
    /// Events enqueued again.
    pub events: usize,
    /// Conversations whose messages were kicked.
    pub kicked: usize,
    /// Turns asked for.
    pub turns: usize,
    /// Instances asked for their state.
    pub probes: usize,
    /// Parked conversations released or given up.
    pub parked: usize,
    /// Scheduled messages that fell due.
    pub scheduled: usize,
    /// Silences found.
    pub silent: usize,
    /// What queues had dead-lettered by themselves and is entered into the records, and copies that are of no use.
    pub collected: usize,
    /// What could not be done now.
    pub failed: usize,
}

/// How many things are done side by side: a provider that does not answer must not keep the others waiting.
const SIDE_BY_SIDE: usize = 16;

/// What was done about one thing.
enum Did {
    Event,
    Kick,
    Turn,
    Probe,
    Parked,
    Scheduled,
    Nothing,
}

/// One pass. A failure at one thing does not keep the others waiting.
pub async fn reconcile<W: World>(world: &W) -> PortResult<Reconciled> {
    let work = world.store().overdue(world.ambient().now(), AT_ONCE).await?;
    let mut conversations = BTreeSet::new();
    let once = |item: &OverdueWork| match item {
        OverdueWork::Outgoing { conversation, .. } => conversations.insert(conversation.clone()),
        _ => true,
    };
    let work: Vec<OverdueWork> = work.into_iter().filter(once).collect();
    let outcomes: Vec<PortResult<Did>> = stream::iter(work)
        .map(|item| one(world, item))
        .buffer_unordered(SIDE_BY_SIDE)
        .collect()
        .await;
    let mut done = Reconciled::default();
    for outcome in outcomes {
        match outcome {
            Ok(Did::Event) => done.events += 1,
            Ok(Did::Kick) => done.kicked += 1,
            Ok(Did::Turn) => done.turns += 1,
            Ok(Did::Probe) => done.probes += 1,
            Ok(Did::Parked) => done.parked += 1,
            Ok(Did::Scheduled) => done.scheduled += 1,
            Ok(Did::Nothing) => {}
            Err(error) => {
                tracing::warn!(error = %crate::queued::chain(&error), "reconcile could not do one thing");
                done.failed += 1;
            }
        }
    }
    if silence::is_time(world.ambient().now()) {
        match silence::watch(world).await {
            Ok(found) => done.silent = found,
            Err(error) => {
                tracing::warn!(error = %crate::queued::chain(&error), "silences were not looked for");
                done.failed += 1;
            }
        }
    }
    if keeping::is_time(world.ambient().now())
        && let Err(error) = keeping::renew(world).await
    {
        tracing::warn!(error = %crate::queued::chain(&error), "what dead letters name was not kept longer");
        done.failed += 1;
    }
    for queue in QueueName::ALL {
        match collect(world, queue).await {
            Ok(count) => done.collected += count,
            Err(error) => {
                tracing::warn!(queue = queue.as_str(), error = %crate::queued::chain(&error),
                    "reconcile could not look through a dead-letter queue");
                done.failed += 1;
            }
        }
    }
    Ok(done)
}

async fn one<W: World>(world: &W, item: OverdueWork) -> PortResult<Did> {
    let did = |done: bool, what: Did| if done { what } else { Did::Nothing };
    match item {
        OverdueWork::Event(record) => again(world, &record).await.map(|()| Did::Event),
        OverdueWork::Outgoing {
            conversation,
            ordinal,
        } => sweep(world, &conversation, ordinal)
            .await
            .map(|done| did(done, Did::Kick)),
        OverdueWork::Owed(conversation) => nudge(world, &conversation).await.map(|done| did(done, Did::Turn)),
        OverdueWork::Probe(instance) => probe(world, &instance).await.map(|()| Did::Probe),
        OverdueWork::Parked(parked) => overdue_parked(world, &parked).await.map(|()| Did::Parked),
        OverdueWork::Scheduled(id) => deliver::fall_due(world, &id)
            .await
            .map(|done| did(done, Did::Scheduled)),
    }
}

/// Enqueues a pending event again, under another deduplication id.
async fn again<W: World>(world: &W, record: &EventRecord) -> PortResult<()> {
    let count = world
        .store()
        .note_again(&record.job.event, world.ambient().now())
        .await?;
    if count == 0 {
        return Ok(());
    }
    if count >= 3 {
        tracing::error!(event_id = %record.job.event, correlation_id = %record.job.correlation, count, "event stays pending");
    }
    let deduplication = format!("{}-{count}", record.job.event);
    world
        .queues()
        .send_inbound(&[Enqueue {
            job: record.job.clone(),
            deduplication,
        }])
        .await
}

/// How long the messages of an instance that cannot send, or of one that is gone, are not looked at again.
const NOT_OPEN_MS: i64 = 30 * 60_000;
const GONE_MS: i64 = 60 * 60_000;

/// How long messages that were kicked are not looked at again.
const KICKED_MS: i64 = 5 * 60_000;

/// Kicks a contact's open messages, once in five minutes. All are put off, those of an instance that cannot send for longer,
/// since its opening releases them: what waits must not fill the pass and hide others.
async fn sweep<W: World>(world: &W, conversation: &ConversationId, newest: Ordinal) -> PortResult<bool> {
    let now = world.ambient().now();
    let thread = conversation.thread();
    let open = world.store().open(thread).await?;
    let Some(last) = open.last() else { return Ok(false) };
    if world.store().bound_by_id(&last.instance).await?.is_none() {
        tracing::error!(instance_id = %last.instance, "messages of an instance that is no longer configured");
        put_off(world, open, shift(now, GONE_MS)).await?;
        return Ok(false);
    }
    if world.store().instance_state(&last.instance).await?.connection != Connection::Open {
        put_off(world, open, shift(now, NOT_OPEN_MS)).await?;
        return Ok(false);
    }
    let newest = (conversation.number(), newest);
    let (number, upto) = newest.max((last.conversation.number(), last.ordinal));
    let kick = SendKick::new(
        ConversationId::new(thread.clone(), number),
        upto,
        last.correlation.clone(),
    );
    let window = now.as_second() / 300;
    world
        .queues()
        .send_kick(&kick, &format!("sweep-{}-{window}", thread.as_str()))
        .await?;
    put_off(world, open, shift(now, KICKED_MS)).await?;
    Ok(true)
}

fn is_dead(message: &Message) -> bool {
    let dead = |out: &Outbox| matches!(out.state, OutboxState::Dead { .. });
    message.out.as_ref().is_some_and(dead)
}

/// Puts off all but the dead, whose letters are made: they need no instance that can send.
async fn put_off<W: World>(world: &W, open: Vec<Message>, until: Timestamp) -> PortResult<()> {
    for mut message in open {
        if is_dead(&message) {
            bury(world, message).await?;
            continue;
        }
        upload::renew_while_waiting(world, &message).await?;
        let put_off = message.out.as_mut().is_some_and(|out| out.put_off(until).is_ok());
        if put_off && world.store().save_open(&message, None).await? == Written::Conflict {
            // Somebody works on this conversation.
            return Ok(());
        }
    }
    Ok(())
}

/// Asks for an answer that is owed.
async fn nudge<W: World>(world: &W, id: &ConversationId) -> PortResult<bool> {
    let Some(mut conversation) = world.store().conversation(id).await? else {
        return Ok(false);
    };
    if !conversation.agent_owes() {
        return Ok(false);
    }
    let now = world.ambient().now();
    let bound = world.store().bound_by_id(&conversation.instance).await?;
    let idle = bound.is_none_or(|bound| opening(&bound, now) == Opening::Never);
    conversation.nudge(idle, now);
    conversation.rev += 1;
    if world.store().update(&conversation).await? == Written::Conflict {
        return Ok(false);
    }
    let state = world.store().instance_state(&conversation.instance).await?;
    if state.llm_needs_credentials {
        // The turn finds out whether the key is there by now, and says so again if it is not.
        world
            .store()
            .set_llm_needs_credentials(&conversation.instance, false)
            .await?;
    }
    kick::turn(world, &conversation, &correlation(world.ambient())).await?;
    Ok(true)
}

async fn probe<W: World>(world: &W, instance: &InstanceId) -> PortResult<()> {
    let Some(bound) = world.store().bound_by_id(instance).await? else {
        return Ok(());
    };
    // A minute after an opening there is a probe: what was missed until then is fetched before the question, which takes
    // the probe away.
    let state = world.store().instance_state(instance).await?;
    if let Err(error) = by_itself(world, instance, &state).await {
        tracing::warn!(instance_id = %instance, error = %crate::queued::chain(&error), "no catch-up");
    }
    ask(world, &bound).await
}

/// A parked conversation whose time has come: released if its instance is open; else what waited too long is given up,
/// each message by its own age.
async fn overdue_parked<W: World>(world: &W, parked: &Parked) -> PortResult<()> {
    let now = world.ambient().now();
    let state = world.store().instance_state(&parked.instance).await?;
    if state.connection == Connection::Open {
        return release_one(world, parked).await.map(|_| ());
    }
    let limit = world.settings().patience_ms();
    for message in world.store().open(parked.conversation.thread()).await? {
        if shift(message.stored_at, limit) > now {
            // The rest is younger. It is parked anew, with its own time.
            let since = message.stored_at;
            let entry = Parked {
                version: nonce(world.ambient()),
                since,
                not_before: None,
                patience_ms: limit,
                reply: message.reply(),
                ..parked.clone()
            };
            world.store().unpark(parked).await?;
            return world.store().park(&entry).await;
        }
        if !gave_up(world, message).await? {
            return Ok(());
        }
    }
    world.store().unpark(parked).await.map(|_| ())
}

/// Gives up a message that waited too long; `false`: what is behind it waits. One that is being sent is judged by its
/// outcome, and by its lease if that never comes. Of one that is dead already a crash prevented the letter.
async fn gave_up<W: World>(world: &W, mut message: Message) -> PortResult<bool> {
    let now = world.ambient().now();
    if is_dead(&message) {
        return bury(world, message).await;
    }
    if let Some(out) = message.out.as_mut()
        && let OutboxState::Sending { lease_until, .. } = out.state
    {
        if lease_until <= now && out.lose_track(now, LEASE_ENDED).is_ok() {
            // Of unknown outcome from now on: the next pass finds it so.
            let _ = world.store().save_open(&message, None).await?;
        }
        return Ok(false);
    }
    give_up_message(world, message, Reason::InstanceDisconnected, None).await
}
