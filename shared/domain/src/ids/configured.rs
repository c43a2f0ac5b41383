use super::{IdError, checked, checked_in_path};
use serde::{Deserialize, Serialize};
use std::fmt;

id!(
    /// The id of a calendar, given by the configuration.
    CalendarId,
    "calendar id",
    checked_in_path
);
id!(
    /// The id of a tool, given by the configuration.
    ToolId,
    "tool id",
    checked_in_path
);
id!(
    /// The id of a sender of e-mails, given by the configuration.
    EmailSenderId,
    "e-mail sender id"
);
id!(
    /// The id of a webhook endpoint, given by the configuration.
    WebhookEndpointId,
    "webhook endpoint id",
    checked_in_path
);
id!(
    /// The id of an agent: a configured model with its prompts.
    AgentId,
    "agent id",
    checked_in_path
);
id!(
    /// The id of a step of an agent's script.
    StepId,
    "step id"
);
