//! A message's way, step by step, out of the records that exist.

use super::reply::{answered, answering};
use crate::World;
use crate::operate::{MessageView, OperateError, joined};
use crate::ports::{Conversations, Directory, Inbox, PortResult, Scheduling};
use jiff::Timestamp;
use recado_domain::conversation::{Conversation, Mode, Status};
use recado_domain::event::{Enqueued, EventRecord};
use recado_domain::ids::MessageId;
use recado_domain::message::{Message, Role};
use recado_domain::outbox::{Outbox, Step};
use recado_domain::scheduled::{Scheduled, ScheduledState};
use serde::Serialize;
use serde_json::{Value, json};

/// A place on a message's way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Where {
    /// The webhook came.
    Received,
    /// Its event was recorded, under an id by which every repeat is known.
    Deduplicated,
    /// A worker began with it.
    Processing,
    /// It lies in its conversation.
    Stored,
    /// A client asked for it to be sent later.
    Scheduled,
    /// The turn began: what it waited for, and the model.
    Turn,
    /// The reply lies in its conversation, to be sent.
    Committed,
    /// An attempt to send it began.
    Claimed,
    /// An attempt did not get it to the provider, or a redrive revived it.
    QueuedAgain,
    /// An attempt's outcome was not learnt.
    Unknown,
    /// The provider took it.
    Sent,
    /// It is on the phone.
    Delivered,
    /// It was seen.
    Read,
    /// The provider gave it up after it had taken it.
    Failed,
    /// It was given up.
    Dead,
    /// It was not sent, on purpose.
    Cancelled,
}

/// A step of a message's way.
#[derive(Debug, Clone, PartialEq)]
pub struct WayStep {
    /// Where it came.
    pub step: Where,
    /// When; absent for what has not happened yet.
    pub at: Option<Timestamp>,
    /// How long after the step before, in milliseconds; 0 where two clocks disagree.
    pub wait_ms: Option<i64>,
    /// Which message's step it is.
    pub message: MessageId,
    /// What more is known: no texts, no personal data.
    pub detail: Value,
}

/// Steps in their order.
struct Way(Vec<WayStep>);

impl Way {
    fn step(&mut self, message: &MessageId, step: Where, at: Option<Timestamp>, detail: Value) {
        let before = self.0.iter().rev().find_map(|step| step.at);
        let wait_ms = before
            .zip(at)
            .map(|(before, at)| (at.as_millisecond() - before.as_millisecond()).max(0));
        self.0.push(WayStep {
            step,
            at,
            wait_ms,
            message: message.clone(),
            detail,
        });
    }
}

/// The way of `view`'s message, in and out.
pub(super) async fn of<W: World>(world: &W, view: &MessageView) -> Result<Vec<WayStep>, OperateError> {
    let message = &view.message;
    let mut way = Way(Vec::new());
    if message.role == Role::User {
        let conversation = world.store().conversation(&message.conversation).await?;
        way_in(world, &mut way, message).await?;
        let Some(conversation) = conversation else {
            return Ok(way.0);
        };
        match answering(world, &conversation, message).await? {
            Some(reply) => {
                let bound = world.store().bound_by_id(&reply.instance).await?;
                let replies = joined(world, bound.as_ref(), vec![reply]).await?;
                for reply in &replies {
                    way_out(&mut way, reply);
                }
            }
            None => waits(&mut way, message, &conversation),
        }
    } else {
        match answered(world, message).await? {
            Some(asked) => way_in(world, &mut way, &asked).await?,
            None => came_about(world, &mut way, message).await?,
        }
        way_out(&mut way, view);
    }
    Ok(way.0)
}

async fn way_in<W: World>(world: &W, way: &mut Way, message: &Message) -> PortResult<()> {
    let id = message.id();
    let event = match &message.event {
        Some(event) => world.store().event(event).await?,
        // Before its event was forgotten, or typed on the phone long ago.
        None => None,
    };
    if let Some(event) = &event {
        let received = Some(event.job.received_at);
        way.step(
            &id,
            Where::Received,
            received,
            json!({"event_id": event.job.event}),
        );
        // How often it came again is not counted: that would cost a write for each repeat.
        let detail = json!({"repeats": null, "enqueued_again": event.again});
        way.step(&id, Where::Deduplicated, received, detail);
        began(way, &id, event);
    }
    way.step(&id, Where::Stored, Some(message.stored_at), json!({}));
    Ok(())
}

fn began(way: &mut Way, id: &MessageId, event: &EventRecord) {
    let Some(processed) = event.processed else { return };
    let turn = match processed.enqueued {
        Enqueued::Nothing => None,
        Enqueued::Turn(ordinal) => Some(ordinal),
    };
    let detail = json!({"attempts": event.attempts.max(1), "enqueued_turn": turn});
    way.step(id, Where::Processing, Some(processed.started_at), detail);
}

/// What an answer that is still owed waits for.
fn waits(way: &mut Way, message: &Message, conversation: &Conversation) {
    let owed = conversation.answered < message.ordinal && conversation.turn_upto >= message.ordinal;
    if let Some(reason) = message.unanswered {
        way.step(&message.id(), Where::Turn, None, json!({"no_answer": reason}));
    } else if owed && conversation.status == Status::Active {
        let (waits_for, until) = match (conversation.mode, conversation.scheduled_for, &conversation.lease) {
            (Mode::Manual, _, _) => ("person", None),
            (Mode::Ai, _, _) if conversation.needs_person.is_some() => ("person", None),
            (Mode::Ai, Some(at), _) => ("opening_hours", Some(at)),
            (Mode::Ai, None, Some(lease)) => ("model", Some(lease.until)),
            (Mode::Ai, None, None) => ("debounce", None),
        };
        let attempts = conversation.attempts.count;
        let mut detail = json!({"waits_for": waits_for, "until": until, "attempts": attempts});
        if let Some(reason) = conversation.needs_person {
            detail["reason"] = json!(reason);
        }
        way.step(&message.id(), Where::Turn, None, detail);
    }
}

/// How a message came about that answers none.
async fn came_about<W: World>(world: &W, way: &mut Way, message: &Message) -> PortResult<()> {
    let id = message.out.as_ref().and_then(|out| out.scheduled.as_ref());
    if let Some(id) = id
        && let Some(scheduled) = world.store().scheduled(id).await?
    {
        asked_for(way, &scheduled);
    }
    Ok(())
}

fn asked_for(way: &mut Way, scheduled: &Scheduled) {
    let detail = json!({"send_at": scheduled.send_at});
    let id = scheduled.id.message();
    way.step(id, Where::Scheduled, Some(scheduled.created_at), detail);
}

/// The way of a message that is not due yet, or was taken back.
pub(super) fn of_scheduled(scheduled: &Scheduled) -> Vec<WayStep> {
    let mut way = Way(Vec::new());
    asked_for(&mut way, scheduled);
    let id = scheduled.id.message();
    match &scheduled.state {
        ScheduledState::Pending | ScheduledState::Became { .. } => {}
        ScheduledState::Cancelled { at } => way.step(id, Where::Cancelled, Some(*at), json!({})),
        ScheduledState::GivenUp { at, reason } => {
            way.step(id, Where::Dead, Some(*at), json!({"reason": reason}));
        }
    }
    way.0
}

fn way_out(way: &mut Way, view: &MessageView) {
    let message = &view.message;
    let id = message.id();
    let Some(out) = &message.out else {
        way.step(
            &id,
            Where::Stored,
            Some(message.stored_at),
            json!({"typed_on": "phone"}),
        );
        return;
    };
    turn(way, &id, message, out);
    let mut committed = false;
    for step in &out.history {
        let (place, at) = (place(&step.what, committed), Some(step.at));
        committed = true;
        if let Some(place) = place {
            way.step(&id, place, at, about(step, place, out));
        }
    }
    let reached = view.delivery.iter().flat_map(|delivery| delivery.times.reached());
    for (status, at) in reached {
        let place = match status.as_str() {
            "delivered" => Where::Delivered,
            "read" => Where::Read,
            "failed" => Where::Failed,
            // The way says so already, by our own clock.
            _ => continue,
        };
        way.step(&id, place, Some(at), json!({"status": status}));
    }
}

fn turn(way: &mut Way, id: &MessageId, message: &Message, out: &Outbox) {
    let Some(turn) = &out.turn else { return };
    let waited_for = if turn.opening.is_some() {
        "opening_hours"
    } else if turn.attempt > 1 {
        "lease"
    } else {
        "debounce"
    };
    let detail = json!({
        "waited_for": waited_for,
        "opening": turn.opening,
        "attempts": turn.attempt,
        "covers": out.covers,
        "model": message.model,
        "input_tokens": message.usage.map(|usage| usage.input_tokens),
        "output_tokens": message.usage.map(|usage| usage.output_tokens),
        "reason": message.unanswered,
    });
    way.step(id, Where::Turn, Some(turn.began_at), detail);
}

fn place(what: &str, committed: bool) -> Option<Where> {
    Some(match what {
        "queued" if !committed => Where::Committed,
        "queued" => Where::QueuedAgain,
        "sending" => Where::Claimed,
        "unknown" => Where::Unknown,
        "sent" => Where::Sent,
        "dead" => Where::Dead,
        "cancelled" => Where::Cancelled,
        _ => return None,
    })
}

fn about(step: &Step, place: Where, out: &Outbox) -> Value {
    match place {
        // When the rate let it go, for the attempt that holds the slot.
        Where::Claimed => json!({"slot": out.slot}),
        Where::Committed => json!({"covers": out.covers, "metadata": out.metadata.is_some()}),
        _ => step.why.as_ref().map_or(json!({}), |why| json!({"why": why})),
    }
}
