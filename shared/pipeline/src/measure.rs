//! Metrics: their names, labels and buckets, and the functions that count a fact where it arises.
//!
//! A fact is counted in memory by the recorder that the process installed (`metrics::set_global_recorder`), without any
//! I/O; without a recorder nothing happens. A label's value is the id of a configured instance or a word of a closed
//! list, never what a contact or a client wrote.

mod catalogue;

pub use crate::measure::catalogue::{
    ACKNOWLEDGEMENT, BUILD, CONVERSATIONS_PARKED, DEAD_LETTERS, DEAD_LETTERS_CREATED, DECISIONS,
    EVOLUTION_CONNECTED, INSTANCE_CONNECTED, LATENCY, LOG_LINES_DROPPED, METRICS, MODEL_ERRORS, Metric,
    MetricKind, OLDEST, PARKED, PROCESSED, PROVIDER_ERRORS, QUEUE_DEPTH, QUEUE_MESSAGES, RECONCILED,
    RECORDS_UNREADABLE, RETRIES, SPANS_DROPPED, STORE_READABLE, TOKENS, TURN_STEP, WEBHOOK_ITEMS, WEBHOOKS,
};

use crate::steps::webhook_items::IngestReport;
use jiff::Timestamp;
use metrics::{counter, histogram};
use recado_domain::dead_letter::{DeadLetter, QueueName};
use recado_domain::ids::InstanceId;
use recado_domain::message::{Outgoing, TokenUsage};
use recado_domain::provider::Provider;
use recado_domain::turn::TurnRecord;
use recado_ports::ports::{LlmError, LlmReply, SendOutcome};
use std::time::Duration;

/// The value of the label `instance` where the instance is not known.
pub const NO_INSTANCE: &str = "none";

/// The end of an outgoing message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageEnd {
    /// The provider accepted it, or evidence shows that it did.
    Success,
    /// It was given up: it is a dead letter.
    Failed,
    /// It was cancelled because a person has the conversation.
    Cancelled,
    /// The provider accepted it, counted as `success`, and reported later that it failed.
    Undelivered,
}

impl MessageEnd {
    fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Undelivered => "undelivered",
        }
    }
}

/// A stage on a message's way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageStage {
    /// From the acknowledgement of its webhook until a contact's message is stored.
    Inbound,
    /// From the arrival of the oldest message that a reply answers until the reply is committed. If the turn waited for
    /// the business to open: from the opening.
    Turn,
    /// From the time an outgoing message is stored until it is sent.
    Outbound,
    /// From the arrival of the oldest message that a reply answers until the reply's first part is sent. If the turn
    /// waited for the business to open: from the opening.
    Reply,
}

impl MessageStage {
    fn as_str(self) -> &'static str {
        match self {
            Self::Inbound => "inbound",
            Self::Turn => "turn",
            Self::Outbound => "outbound",
            Self::Reply => "reply",
        }
    }
}

/// A part of a turn that has a time of its own in the metrics: one or several of its steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnPhase {
    /// The messages are read and the lease is taken.
    Read,
    /// The model writes.
    Model,
    /// The reply is stored and its send job enqueued.
    Commit,
}

impl TurnPhase {
    fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Model => "model",
            Self::Commit => "commit",
        }
    }
}

fn seconds_between(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64().max(0.0)
}

fn to_label(instance: &InstanceId) -> String {
    instance.as_str().to_owned()
}

/// Records the answer to a provider's webhook. `code` is the HTTP status.
pub fn record_webhook(provider: Provider, code: u16, took: Duration) {
    let word = match code {
        200 => "200",
        400 => "400",
        401 => "401",
        404 => "404",
        413 => "413",
        500 => "500",
        503 => "503",
        _ => "other",
    };
    counter!(WEBHOOKS, "provider" => provider.as_str(), "code" => word).increment(1);
    if code == 200 {
        histogram!(ACKNOWLEDGEMENT, "provider" => provider.as_str()).record(took.as_secs_f64());
    }
}

/// Counts the parts of what a provider reported: in a webhook, through a queue, or in its history.
pub fn count_webhook_items(provider: Provider, report: &IngestReport) {
    for (kind, count) in [
        ("event", report.events.saturating_sub(report.owed_before)),
        ("repeated", report.owed_before),
        ("duplicate", report.duplicates),
        ("status", report.statuses),
        ("notice", report.notices),
        ("ignored", report.ignored),
    ] {
        if count > 0 {
            counter!(WEBHOOK_ITEMS, "provider" => provider.as_str(), "kind" => kind).increment(count as u64);
        }
    }
}

/// Counts an event that was acknowledged and then ignored, because its instance is disabled.
pub fn count_ignored_event(provider: Provider) {
    counter!(WEBHOOK_ITEMS, "provider" => provider.as_str(), "kind" => "ignored").increment(1);
}

/// Records the time that a message spent in a stage.
pub fn record_stage(instance: &InstanceId, stage: MessageStage, from: Timestamp, to: Timestamp) {
    histogram!(LATENCY, "instance" => to_label(instance), "stage" => stage.as_str())
        .record(seconds_between(from, to));
}

/// Records that an outgoing message was sent, with the times that it took. The agent's error message is no reply.
pub fn record_sent_message(message: &Outgoing, now: Timestamp) {
    count_message_end(&message.instance, MessageEnd::Success);
    record_stage(&message.instance, MessageStage::Outbound, message.stored_at, now);
    let out = &message.out;
    let first_part = out.part.is_none_or(|part| part.number == 1);
    let asked_at = out
        .turn
        .as_ref()
        .filter(|_| first_part && message.unanswered.is_none())
        .and_then(TurnRecord::answers_since);
    if let Some(asked_at) = asked_at {
        record_stage(&message.instance, MessageStage::Reply, asked_at, now);
    }
}

/// Counts an outgoing message that ended.
pub fn count_message_end(instance: &InstanceId, end: MessageEnd) {
    counter!(PROCESSED, "instance" => to_label(instance), "status" => end.as_str()).increment(1);
}

/// Counts a dead letter that was made.
pub fn count_dead_letter(dead_letter: &DeadLetter) {
    let instance = dead_letter
        .instance
        .as_ref()
        .map_or_else(|| NO_INSTANCE.to_owned(), to_label);
    let (queue, reason) = (dead_letter.queue.as_str(), dead_letter.reason.as_str());
    counter!(DEAD_LETTERS_CREATED, "instance" => instance, "queue" => queue, "reason" => reason).increment(1);
}

/// Counts a conversation that was parked.
pub fn count_parked(instance: &InstanceId) {
    counter!(CONVERSATIONS_PARKED, "instance" => to_label(instance)).increment(1);
}

/// Counts an attempt that is made again: at an event, at a turn or at a send.
pub fn count_retry(instance: &InstanceId, queue: QueueName) {
    counter!(RETRIES, "instance" => to_label(instance), "queue" => queue.as_str()).increment(1);
}

/// Records the time that a part of a turn took.
pub fn record_turn_part(instance: &InstanceId, part: TurnPhase, from: Timestamp, to: Timestamp) {
    histogram!(TURN_STEP, "instance" => to_label(instance), "step" => part.as_str())
        .record(seconds_between(from, to));
}

/// Records the time, the tokens and the error of a request to a model, or to a user's agent. `Ok(None)`: that one wants no answer.
pub fn record_answer(
    instance: &InstanceId,
    asked_at: Timestamp,
    now: Timestamp,
    answer: Result<Option<&LlmReply>, &LlmError>,
) {
    record_turn_part(instance, TurnPhase::Model, asked_at, now);
    match answer {
        Ok(None) => {}
        Ok(Some(reply)) => {
            count_tokens(instance, reply.usage);
            count_ignored_decisions(instance, reply.ignored_calls);
        }
        Err(error) => count_model_error(instance, Some(error)),
    }
}

/// Counts the tokens of a model's answer, also of an answer that is not sent.
fn count_tokens(instance: &InstanceId, usage: TokenUsage) {
    for (kind, count) in [
        ("input", usage.input_tokens),
        ("output", usage.output_tokens),
        ("cache_read", usage.cache_read_tokens),
        ("cache_write", usage.cache_write_tokens),
    ] {
        if count > 0 {
            counter!(TOKENS, "instance" => to_label(instance), "kind" => kind).increment(count);
        }
    }
}

/// Counts a decision of the agent: the name of its tool if it was committed, or `dropped`.
pub fn count_decision(instance: &InstanceId, decision: &'static str) {
    counter!(DECISIONS, "instance" => to_label(instance), "decision" => decision).increment(1);
}

/// Counts the tool calls of an answer that decided nothing.
fn count_ignored_decisions(instance: &InstanceId, count: u32) {
    if count > 0 {
        counter!(DECISIONS, "instance" => to_label(instance), "decision" => "ignored")
            .increment(count.into());
    }
}

/// Counts the outcome of an attempt to send, if it is an error.
pub fn count_provider_error(instance: &InstanceId, outcome: &SendOutcome) {
    let class = match outcome {
        SendOutcome::Accepted { .. } => return,
        SendOutcome::Disconnected { .. } => "disconnected",
        SendOutcome::Unreached { .. } => "unreached",
        SendOutcome::Retryable { .. } => "retryable",
        SendOutcome::Unknown { .. } => "unknown",
        SendOutcome::Permanent { .. } => "permanent",
        SendOutcome::Refused { .. } => "refused",
        SendOutcome::NewChatRefused { .. } => "new_chat_refused",
        SendOutcome::Credentials { .. } => "credentials",
    };
    counter!(PROVIDER_ERRORS, "instance" => to_label(instance), "class" => class).increment(1);
}

/// Counts a failed request to the model; `None`: its answer was empty.
pub fn count_model_error(instance: &InstanceId, error: Option<&LlmError>) {
    let class = match error {
        None => "empty",
        Some(LlmError::Credentials(_)) => "credentials",
        Some(LlmError::Unavailable(_)) => "unavailable",
        Some(LlmError::Refused(_) | LlmError::FilesRefused(_)) => "refused",
    };
    counter!(MODEL_ERRORS, "instance" => to_label(instance), "class" => class).increment(1);
}
