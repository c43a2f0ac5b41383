//! The settings that a function reads from its environment: names and addresses of the resources in `template.yaml`.

use recado_domain::dead_letter::QueueName;
use recado_ports::ports::{PortError, PortResult};
use recado_ports::settings::VariableReader;

/// Names and addresses. A function is given those that it needs; an operation whose setting is missing fails and names
/// it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AwsConfig {
    /// `RECADO_TABLE`: the table's name.
    pub table: Option<String>,
    /// `RECADO_BUCKET`: the bucket's name.
    pub bucket: Option<String>,
    /// `RECADO_INBOUND_QUEUE_URL`: the queue of events.
    pub inbound_queue_url: Option<String>,
    /// `RECADO_TURNS_QUEUE_URL`: the queue of turns.
    pub turns_queue_url: Option<String>,
    /// `RECADO_OUTBOUND_QUEUE_URL`: the queue of messages to be sent.
    pub outbound_queue_url: Option<String>,
    /// `RECADO_WEBHOOKS_QUEUE_URL`: the queue of endpoints to which events are posted.
    pub webhooks_queue_url: Option<String>,
    /// `RECADO_TURNS_QUEUE_ARN`: the queue to which a schedule sends.
    pub turns_queue_arn: Option<String>,
    /// `RECADO_INBOUND_DLQ_URL`: the dead-letter queue of the queue of events.
    pub inbound_dlq_url: Option<String>,
    /// `RECADO_TURNS_DLQ_URL`: the dead-letter queue of the queue of turns.
    pub turns_dlq_url: Option<String>,
    /// `RECADO_OUTBOUND_DLQ_URL`: the dead-letter queue of the queue of messages to be sent.
    pub outbound_dlq_url: Option<String>,
    /// `RECADO_SCHEDULE_GROUP`: the group in which schedules are created.
    pub schedule_group: Option<String>,
    /// `RECADO_SCHEDULER_ROLE_ARN`: the role with which a schedule sends.
    pub scheduler_role_arn: Option<String>,
    /// `RECADO_PARAMETER_PREFIX`: beginning of the names of the SSM parameters that hold credentials, with a slash at its end.
    pub parameter_prefix: Option<String>,
}

/// The names of the environment variables.
pub mod variable {
    /// The table's name.
    pub const TABLE: &str = "RECADO_TABLE";
    /// The bucket's name.
    pub const BUCKET: &str = "RECADO_BUCKET";
    /// The queue of events.
    pub const INBOUND_QUEUE: &str = "RECADO_INBOUND_QUEUE_URL";
    /// The queue of turns.
    pub const TURNS_QUEUE: &str = "RECADO_TURNS_QUEUE_URL";
    /// The queue of messages to be sent.
    pub const OUTBOUND_QUEUE: &str = "RECADO_OUTBOUND_QUEUE_URL";
    /// The queue of endpoints to which events are posted.
    pub const WEBHOOKS_QUEUE: &str = "RECADO_WEBHOOKS_QUEUE_URL";
    /// The WebSocket API that tells of news: `wss://`, its host and its stage.
    pub const PUSH_URL: &str = "RECADO_PUSH_URL";
    /// `off` if the stack publishes no events. It is absent where it does.
    pub const PUBLISH_EVENTS: &str = "RECADO_PUBLISH_EVENTS";
    /// The queue to which a schedule sends.
    pub const TURNS_QUEUE_ARN: &str = "RECADO_TURNS_QUEUE_ARN";
    /// The dead-letter queue of the queue of events.
    pub const INBOUND_DLQ: &str = "RECADO_INBOUND_DLQ_URL";
    /// The dead-letter queue of the queue of turns.
    pub const TURNS_DLQ: &str = "RECADO_TURNS_DLQ_URL";
    /// The dead-letter queue of the queue of messages to be sent.
    pub const OUTBOUND_DLQ: &str = "RECADO_OUTBOUND_DLQ_URL";
    /// The group in which schedules are created.
    pub const SCHEDULE_GROUP: &str = "RECADO_SCHEDULE_GROUP";
    /// The role with which a schedule sends.
    pub const SCHEDULER_ROLE: &str = "RECADO_SCHEDULER_ROLE_ARN";
    /// The beginning of the names of the SSM parameters that hold credentials.
    pub const PARAMETER_PREFIX: &str = "RECADO_PARAMETER_PREFIX";
    /// The origin from which browsers read the files of messages: the bucket's.
    pub const FILE_ORIGIN: &str = "RECADO_FILE_ORIGIN";
}

impl AwsConfig {
    /// Reads the environment. `required` are the variables that the function cannot do without; each that is not set is
    /// a problem.
    pub fn from_environment(reader: &mut VariableReader, required: &[&str]) -> Self {
        let mut get = |name: &str| {
            if required.contains(&name) {
                reader.read_required(name)
            } else {
                reader.read_text(name)
            }
        };
        Self {
            table: get(variable::TABLE),
            bucket: get(variable::BUCKET),
            inbound_queue_url: get(variable::INBOUND_QUEUE),
            turns_queue_url: get(variable::TURNS_QUEUE),
            outbound_queue_url: get(variable::OUTBOUND_QUEUE),
            webhooks_queue_url: get(variable::WEBHOOKS_QUEUE),
            turns_queue_arn: get(variable::TURNS_QUEUE_ARN),
            inbound_dlq_url: get(variable::INBOUND_DLQ),
            turns_dlq_url: get(variable::TURNS_DLQ),
            outbound_dlq_url: get(variable::OUTBOUND_DLQ),
            schedule_group: get(variable::SCHEDULE_GROUP),
            scheduler_role_arn: get(variable::SCHEDULER_ROLE),
            parameter_prefix: get(variable::PARAMETER_PREFIX),
        }
    }

    /// Returns the URL of a queue. An error names the missing setting.
    pub(crate) fn queue_url(&self, what: &'static str, queue: QueueName) -> PortResult<&str> {
        let (name, url) = match queue {
            QueueName::Inbound => (variable::INBOUND_QUEUE, &self.inbound_queue_url),
            QueueName::Turns => (variable::TURNS_QUEUE, &self.turns_queue_url),
            QueueName::Outbound => (variable::OUTBOUND_QUEUE, &self.outbound_queue_url),
        };
        require_setting(what, name, url.as_ref())
    }

    /// Returns the URL of a queue's dead-letter queue. An error names the missing setting.
    pub(crate) fn dlq_url(&self, what: &'static str, queue: QueueName) -> PortResult<&str> {
        let (name, url) = match queue {
            QueueName::Inbound => (variable::INBOUND_DLQ, &self.inbound_dlq_url),
            QueueName::Turns => (variable::TURNS_DLQ, &self.turns_dlq_url),
            QueueName::Outbound => (variable::OUTBOUND_DLQ, &self.outbound_dlq_url),
        };
        require_setting(what, name, url.as_ref())
    }
}

/// Returns the value of a setting that an operation needs. An error names the missing setting.
pub(crate) fn require_setting<'a>(
    what: &'static str,
    name: &'static str,
    value: Option<&'a String>,
) -> PortResult<&'a str> {
    value
        .map(String::as_str)
        .ok_or_else(|| PortError::invalid(what, format!("{name} is not set")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error;

    #[test]
    fn everything_that_is_missing_is_named_at_once_and_an_empty_value_is_missing() {
        let read = |required: &[&str]| {
            let mut reader = VariableReader::new([(variable::TABLE, "  ")]);
            let config = AwsConfig::from_environment(&mut reader, required);
            let problems = reader.into_problems().into_iter();
            (config, problems.map(|problem| problem.name).collect::<Vec<_>>())
        };
        let (_, missing) = read(&[variable::TABLE, variable::BUCKET]);
        assert_eq!(missing, ["RECADO_TABLE", "RECADO_BUCKET"]);
        assert_eq!(read(&[]), (AwsConfig::default(), vec![]));
    }

    #[test]
    fn an_operation_without_its_setting_names_the_variable() {
        let error = AwsConfig::default()
            .queue_url("sending", QueueName::Turns)
            .unwrap_err();
        assert!(!error.is_retryable());
        assert!(
            error
                .source()
                .unwrap()
                .to_string()
                .contains("RECADO_TURNS_QUEUE_URL")
        );
    }
}
