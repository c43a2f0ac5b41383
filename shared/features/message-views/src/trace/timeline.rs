//! Builds a message's timeline from the stored records.

use crate::trace::{find_answer, find_answered_message};
use jiff::{SignedDuration, Timestamp};
use recado_domain::conversation::{Conversation, ConversationMode, ConversationStatus};
use recado_domain::effects::EffectEntry;
use recado_domain::event::{EventRecord, FollowUpJob};
use recado_domain::ids::MessageId;
use recado_domain::knowledge::{TurnKnowledge, VectorGap};
use recado_domain::message::{Message, Role};
use recado_domain::outbox::{Outbox, OutboxHistoryEntry};
use recado_domain::scheduled::{ScheduledMessage, ScheduledState};
use recado_domain::turn::StepDuration;
use recado_pipeline::Deps;
use recado_pipeline::steps::message_view::{MessageView, join_deliveries};
use recado_ports::ports::PortResult;
use recado_ports::records::configuration::find_config_by_id;
use recado_ports::records::effects::find_journal;
use recado_ports::records::scheduled_messages::find_scheduled;
use serde::Serialize;
use serde_json::{Value, json};

/// A stage that a message reaches on its way in or out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum TimelineStage {
    /// The webhook arrived.
    Received,
    /// The event was recorded under an id by which every repeat is recognized.
    Deduplicated,
    /// A worker began to process the event.
    Processing,
    /// The message was stored in its conversation.
    Stored,
    /// A client asked for the message to be sent later.
    Scheduled,
    /// The turn began. The entry tells what the turn waited for, and the model.
    Turn,
    /// The reply was stored in its conversation, to be sent.
    Committed,
    /// An attempt to send the message began.
    Claimed,
    /// The message was queued again: an attempt failed or stayed without evidence, or a redrive revived the message.
    QueuedAgain,
    /// The outcome of an attempt was not learnt.
    Unknown,
    /// The provider accepted the message.
    Sent,
    /// The message was delivered to the phone.
    Delivered,
    /// The message was read.
    Read,
    /// The provider reported a failure after it had accepted the message.
    Failed,
    /// The message was given up.
    Dead,
    /// The message was cancelled, so it was not sent.
    Cancelled,
}

/// An entry of a message's timeline.
#[derive(Debug, Clone, PartialEq)]
pub struct TimelineEntry {
    /// Stage that was reached.
    pub step: TimelineStage,
    /// Time of the stage; `None` if it has not happened yet.
    pub at: Option<Timestamp>,
    /// Time since the entry before; zero where two clocks disagree, `None` where either time is missing.
    pub wait: Option<SignedDuration>,
    /// Id of the message that the entry is about.
    pub message: MessageId,
    /// Further details, without texts and personal data.
    pub detail: Value,
}

/// Timeline entries, in order.
struct MessageTimeline(Vec<TimelineEntry>);

impl MessageTimeline {
    fn add_entry(&mut self, message: &MessageId, step: TimelineStage, at: Option<Timestamp>, detail: Value) {
        let before = self.0.iter().rev().find_map(|step| step.at);
        let wait = before
            .zip(at)
            .map(|(before, at)| at.duration_since(before).max(SignedDuration::ZERO));
        self.0.push(TimelineEntry {
            step,
            at,
            wait,
            message: message.clone(),
            detail,
        });
    }
}

/// Builds the timeline of `view`'s message, with the message that it answers or the reply to it.
pub(super) async fn build_timeline(deps: &Deps, view: &MessageView) -> PortResult<Vec<TimelineEntry>> {
    let message = &view.message;
    let mut way = MessageTimeline(Vec::new());
    if message.role == Role::User {
        let conversation = deps.store().find_conversation(&message.conversation).await?;
        add_inbound_entries(deps, &mut way, message).await?;
        let Some(conversation) = conversation else {
            return Ok(way.0);
        };
        match find_answer(deps, &conversation, message).await? {
            Some(reply) => {
                let bound = find_config_by_id(deps.store(), &reply.instance).await?;
                let replies = join_deliveries(deps, bound.as_deref(), vec![reply]).await?;
                for reply in &replies {
                    let effects = list_turn_effects(deps, &reply.message).await?;
                    add_outbound_entries(&mut way, reply, &effects);
                }
            }
            None => add_waiting_entry(&mut way, message, &conversation),
        }
    } else {
        match find_answered_message(deps, message).await? {
            Some(asked) => add_inbound_entries(deps, &mut way, &asked).await?,
            None => add_origin_entry(deps, &mut way, message).await?,
        }
        let effects = list_turn_effects(deps, message).await?;
        add_outbound_entries(&mut way, view, &effects);
    }
    Ok(way.0)
}

async fn add_inbound_entries(deps: &Deps, way: &mut MessageTimeline, message: &Message) -> PortResult<()> {
    let id = message.message_id();
    let event = match &message.event {
        Some(event) => deps.store().find_event(event).await?,
        // The message was stored without the id of its event.
        None => None,
    };
    if let Some(event) = &event {
        let received = Some(event.job.received_at);
        way.add_entry(
            &id,
            TimelineStage::Received,
            received,
            json!({"event_id": event.job.event}),
        );
        // Repeated webhooks are not counted, because that would cost a write for each repeat.
        let detail = json!({"repeats": null, "enqueued_again": event.again});
        way.add_entry(&id, TimelineStage::Deduplicated, received, detail);
        add_processing_entry(way, &id, event);
    }
    way.add_entry(&id, TimelineStage::Stored, Some(message.stored_at), json!({}));
    Ok(())
}

fn add_processing_entry(way: &mut MessageTimeline, id: &MessageId, event: &EventRecord) {
    let Some(processed) = event.processed else { return };
    let turn = match processed.enqueued {
        FollowUpJob::Nothing | FollowUpJob::Ignored => None,
        FollowUpJob::Turn(ordinal) => Some(ordinal),
    };
    let detail = json!({"attempts": event.attempts.max(1), "enqueued_turn": turn});
    way.add_entry(id, TimelineStage::Processing, Some(processed.started_at), detail);
}

/// Adds an entry that tells what a message without an answer waits for, or why it gets none.
fn add_waiting_entry(way: &mut MessageTimeline, message: &Message, conversation: &Conversation) {
    let owed = conversation.answered < message.ordinal && conversation.turn_upto >= message.ordinal;
    if let Some(reason) = message.unanswered {
        way.add_entry(
            &message.message_id(),
            TimelineStage::Turn,
            None,
            json!({"no_answer": reason}),
        );
    } else if owed && conversation.status == ConversationStatus::Active {
        let (waits_for, until) = match (
            conversation.mode,
            conversation.opening.scheduled_for,
            &conversation.lease,
        ) {
            (ConversationMode::Manual, _, _) => ("person", None),
            (ConversationMode::Ai, _, _) if conversation.needs_person.is_some() => ("person", None),
            (ConversationMode::Ai, Some(at), _) => ("opening_hours", Some(at)),
            (ConversationMode::Ai, None, Some(lease)) => ("model", Some(lease.until)),
            (ConversationMode::Ai, None, None) => ("debounce", None),
        };
        let attempts = conversation.attempts.count;
        let mut detail = json!({"waits_for": waits_for, "until": until, "attempts": attempts});
        if let Some(reason) = conversation.needs_person {
            detail["reason"] = json!(reason);
        }
        way.add_entry(&message.message_id(), TimelineStage::Turn, None, detail);
    }
}

/// Adds the origin of a message that answers no other message: the scheduled message that it was, if any.
async fn add_origin_entry(deps: &Deps, way: &mut MessageTimeline, message: &Message) -> PortResult<()> {
    let id = message.out.as_ref().and_then(|out| out.scheduled.as_ref());
    if let Some(id) = id
        && let Some(scheduled) = find_scheduled(deps.store(), &message.tenant, id).await?
    {
        add_scheduled_entry(way, &scheduled.record);
    }
    Ok(())
}

fn add_scheduled_entry(way: &mut MessageTimeline, scheduled: &ScheduledMessage) {
    let mut detail = json!({"send_at": scheduled.send_at});
    if let Some(by) = &scheduled.by {
        detail["by"] = json!(by);
    }
    let id = scheduled.id.as_message_id();
    way.add_entry(id, TimelineStage::Scheduled, Some(scheduled.created_at), detail);
}

/// Builds the timeline of a scheduled message that is not due yet, was cancelled or was given up.
pub fn build_scheduled_timeline(scheduled: &ScheduledMessage) -> Vec<TimelineEntry> {
    let mut way = MessageTimeline(Vec::new());
    add_scheduled_entry(&mut way, scheduled);
    let id = scheduled.id.as_message_id();
    match &scheduled.state {
        ScheduledState::Pending | ScheduledState::Became { .. } => {}
        ScheduledState::Cancelled { at, cancelled_by: by } => {
            let detail = by.as_ref().map_or(json!({}), |by| json!({"by": by}));
            way.add_entry(id, TimelineStage::Cancelled, Some(*at), detail);
        }
        ScheduledState::GivenUp { at, reason } => {
            way.add_entry(id, TimelineStage::Dead, Some(*at), json!({"reason": reason}));
        }
    }
    way.0
}

fn add_outbound_entries(way: &mut MessageTimeline, view: &MessageView, effects: &[EffectEntry]) {
    let message = &view.message;
    let id = message.message_id();
    let Some(out) = &message.out else {
        way.add_entry(
            &id,
            TimelineStage::Stored,
            Some(message.stored_at),
            json!({"typed_on": "phone"}),
        );
        return;
    };
    add_turn_entry(way, message, out, effects);
    let mut committed = false;
    for step in &out.history {
        let (place, at) = (stage_of_step(&step.what, committed), Some(step.at));
        committed = true;
        if let Some(place) = place {
            way.add_entry(&id, place, at, describe_step(step, place, out));
        }
    }
    let reached = view
        .delivery
        .iter()
        .flat_map(|delivery| delivery.times.reached_statuses());
    for (status, at) in reached {
        let place = match status.as_str() {
            "delivered" => TimelineStage::Delivered,
            "read" => TimelineStage::Read,
            "failed" => TimelineStage::Failed,
            // Other statuses are in the timeline already, by our own clock.
            _ => continue,
        };
        way.add_entry(&id, place, Some(at), json!({"status": status}));
    }
}

fn add_turn_entry(way: &mut MessageTimeline, message: &Message, out: &Outbox, effects: &[EffectEntry]) {
    let Some(turn) = &out.turn else { return };
    let waited_for = if turn.opening.is_some() {
        "opening_hours"
    } else if turn.attempt > 1 {
        "lease"
    } else {
        "debounce"
    };
    let steps = turn
        .steps
        .iter()
        .map(|StepDuration(step, ms)| json!({"step": step, "ms": ms}));
    let mut detail = json!({
        "waited_for": waited_for,
        "opening": turn.opening,
        "attempts": turn.attempt,
        "covers": out.covers,
        "model": message.model,
        "input_tokens": message.usage.map(|usage| usage.input_tokens),
        "output_tokens": message.usage.map(|usage| usage.output_tokens),
        "reason": message.unanswered,
        "steps": steps.collect::<Value>(),
    });
    if let Some(known) = &turn.knowledge {
        detail["knowledge"] = describe_knowledge(known);
    }
    if !turn.tools.is_empty() {
        detail["tools"] = json!(turn.tools);
    }
    if !effects.is_empty() {
        detail["effects"] = describe_turn_effects(effects);
    }
    way.add_entry(
        &message.message_id(),
        TimelineStage::Turn,
        Some(turn.began_at),
        detail,
    );
}

fn describe_knowledge(known: &TurnKnowledge) -> Value {
    let blocks = known.blocks.iter().map(|block| {
        let score = f64::from(block.score) / 1000.0;
        json!({"source": block.source, "title": block.title, "place": block.place, "score": score})
    });
    json!({
        "search": known.search.as_str(),
        "vectors": known.vectors.map(VectorGap::as_str),
        "blocks": blocks.collect::<Value>(),
        "whole": known.whole,
        "gap": known.gap,
    })
}

fn stage_of_step(what: &str, committed: bool) -> Option<TimelineStage> {
    Some(match what {
        "queued" if !committed => TimelineStage::Committed,
        "queued" => TimelineStage::QueuedAgain,
        "sending" => TimelineStage::Claimed,
        "unknown" => TimelineStage::Unknown,
        "sent" => TimelineStage::Sent,
        "dead" => TimelineStage::Dead,
        "cancelled" => TimelineStage::Cancelled,
        _ => return None,
    })
}

fn describe_step(step: &OutboxHistoryEntry, place: TimelineStage, out: &Outbox) -> Value {
    let mut detail = match place {
        // The time from which the rate lets the message leave, for the attempt that holds the slot.
        TimelineStage::Claimed => json!({"slot": out.slot}),
        TimelineStage::Committed => json!({"covers": out.covers, "metadata": out.metadata.is_some()}),
        _ => step.why.as_ref().map_or(json!({}), |why| json!({"why": why})),
    };
    if let Some(by) = &step.by {
        detail["by"] = json!(by);
    }
    detail
}

/// Lists what tools did for the messages that a reply answers, also in drafts before it. A thread without a journal costs no
/// read.
async fn list_turn_effects(deps: &Deps, reply: &Message) -> PortResult<Vec<EffectEntry>> {
    let Some(out) = &reply.out else {
        return Ok(Vec::new());
    };
    let turn = out.turn.as_ref();
    let known = turn.and_then(|turn| Some((turn.effects_upto?, turn.asked_at?)));
    let Some((upto, asked_at)) = known.filter(|(upto, _)| *upto > 0) else {
        return Ok(Vec::new());
    };
    let thread = reply.conversation.thread_id();
    let found = find_journal(deps.store(), &reply.tenant, thread).await?;
    let mut entries = found.map(|found| found.record.entries).unwrap_or_default();
    entries.retain(|entry| entry.is_of_turn(&reply.conversation, (upto, out.covers), asked_at));
    Ok(entries)
}

/// Describes effects for a timeline. Secrets are not among the stored arguments.
fn describe_turn_effects(effects: &[EffectEntry]) -> Value {
    let described = effects.iter().map(|entry| {
        json!({
            "number": entry.number,
            "tool": entry.tool.name,
            "arguments": entry.arguments,
            "state": entry.state.as_str(),
            "result": entry.result,
            "begun_at": entry.begun_at,
            "ended_at": entry.ended_at,
        })
    });
    described.collect()
}
