//! Schemas of what an agent of the configuration document holds.

use serde::Serialize;
use utoipa::ToSchema;

/// The endpoint of an agent that the user runs. It gets each turn as a signed request, and answers with the reply.
#[derive(Serialize, ToSchema)]
#[schema(as = HttpAgent)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct HttpAgentSchema {
    /// The URL to which each turn is posted.
    #[schema(example = "https://agent.example/turns")]
    url: String,
    /// Reference to the secret that signs requests (`env:NAME` or `ssm:/path/name`), a secret of the tenant.
    secret: String,
    /// Time limit of one request, in seconds: above 0, at most 60.
    #[schema(required = false, default = 30.0, maximum = 60)]
    timeout_seconds: f64,
    /// The data of the contact that requests carry beside what the contact wrote. If absent, none.
    #[schema(required = false)]
    contact: Vec<ContactFieldSchema>,
}

/// Data of a contact that may be sent to an endpoint.
#[derive(Serialize, ToSchema)]
#[schema(as = ContactField, example = "name")]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "it only describes")]
pub(in crate::api) enum ContactFieldSchema {
    /// The name that the contact gives itself.
    Name,
    /// The contact's phone number, if it is known.
    Phone,
}

/// Limits that keep one contact, or another program that answers, from making the agent write without end.
#[derive(Serialize, ToSchema)]
#[schema(as = AgentLimits)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct AgentLimitsSchema {
    /// Greatest number of replies to one contact within an hour; 0: no limit.
    #[schema(required = false, default = 60)]
    turns_per_hour: u32,
    /// `true` if the agent stops answering when the contact and its own replies repeat themselves.
    #[schema(required = false, default = true)]
    end_loops: bool,
    /// The words that the contact gets when a limit is reached, but at a loop.
    #[schema(required = false)]
    reply: LimitReplySchema,
    /// The words that the contact gets when the agent stops at a loop; `hand_over_message` if absent.
    #[schema(required = false)]
    loop_reply: LimitReplySchema,
}

/// What the contact gets when a limit of the agent is reached.
#[derive(Serialize, ToSchema)]
#[schema(as = LimitReply, example = "nothing")]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "it only describes")]
pub(in crate::api) enum LimitReplySchema {
    /// Nothing.
    Nothing,
    /// The agent's `error_message`, once for each pause.
    ErrorMessage,
    /// The agent's `hand_over_message`, once for each pause.
    HandOverMessage,
}
