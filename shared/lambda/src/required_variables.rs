//! The environment variables that each function needs besides the table. `template.yaml` sets them.

use recado_aws::variable;

/// Variables of the webhook function, which stores the events of webhooks and enqueues them.
pub const WEBHOOK: &[&str] = &[variable::INBOUND_QUEUE, variable::BUCKET];

/// Variables of the processor, which applies events. A failed delivery creates a message's dead letter, so it needs
/// `OUTBOUND_DLQ`.
pub const PROCESSOR: &[&str] = &[
    variable::INBOUND_QUEUE,
    variable::INBOUND_DLQ,
    variable::TURNS_QUEUE,
    variable::OUTBOUND_QUEUE,
    variable::OUTBOUND_DLQ,
    variable::BUCKET,
];

/// Variables of the function that writes replies, now or when the business opens.
pub const DEFERRED_REPLY: &[&str] = &[
    variable::TURNS_QUEUE,
    variable::TURNS_QUEUE_ARN,
    variable::TURNS_DLQ,
    variable::OUTBOUND_QUEUE,
    variable::SCHEDULE_GROUP,
    variable::SCHEDULER_ROLE,
];

/// Variables of the sender, which sends messages.
pub const SENDER: &[&str] = &[
    variable::OUTBOUND_QUEUE,
    variable::OUTBOUND_DLQ,
    variable::TURNS_QUEUE,
    variable::BUCKET,
];

/// Variables of the API, which answers operators and clients.
pub const API: &[&str] = &[
    variable::INBOUND_QUEUE,
    variable::INBOUND_DLQ,
    variable::TURNS_QUEUE,
    variable::TURNS_DLQ,
    variable::OUTBOUND_QUEUE,
    variable::OUTBOUND_DLQ,
    variable::BUCKET,
];

/// Variables of `reconcile`, which looks for work that a crash or an outage left open.
pub const RECONCILE: &[&str] = API;

#[cfg(test)]
mod tests;
