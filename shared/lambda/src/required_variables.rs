//! The variables that a function cannot do without, besides the table: `template.yaml` sets them.

use recado_aws::variable;

/// Records webhooks and enqueues them.
pub const WEBHOOK: &[&str] = &[variable::INBOUND_QUEUE, variable::BUCKET];

/// Applies events; a failed delivery makes a message's dead letter.
pub const PROCESSOR: &[&str] = &[
    variable::INBOUND_QUEUE,
    variable::INBOUND_DLQ,
    variable::TURNS_QUEUE,
    variable::OUTBOUND_QUEUE,
    variable::OUTBOUND_DLQ,
    variable::BUCKET,
];

/// Thinks of replies, now or when the business opens.
pub const DEFERRED_REPLY: &[&str] = &[
    variable::TURNS_QUEUE,
    variable::TURNS_QUEUE_ARN,
    variable::TURNS_DLQ,
    variable::OUTBOUND_QUEUE,
    variable::SCHEDULE_GROUP,
    variable::SCHEDULER_ROLE,
];

/// Sends.
pub const SENDER: &[&str] = &[
    variable::OUTBOUND_QUEUE,
    variable::OUTBOUND_DLQ,
    variable::TURNS_QUEUE,
    variable::BUCKET,
];

/// Answers operators and clients.
pub const API: &[&str] = &[
    variable::INBOUND_QUEUE,
    variable::INBOUND_DLQ,
    variable::TURNS_QUEUE,
    variable::TURNS_DLQ,
    variable::OUTBOUND_QUEUE,
    variable::OUTBOUND_DLQ,
    variable::BUCKET,
];

/// Heals.
pub const RECONCILE: &[&str] = API;

#[cfg(test)]
mod tests;
