//! `GET /v1/checks`: the checks that the installation makes with its own keys.

use crate::self_check::{
    InstanceCheck, ModelAnswer, ModelCheck, ModelPurpose, SelfCheck, ServerAnswer, ServerCheck,
    check_installation,
};
use axum::Json;
use recado_domain::Timestamp;
use recado_domain::alert::MissingSecret;
use recado_domain::ids::{AgentId, InstanceId, ToolId};
#[cfg(feature = "schema")]
use recado_http::api::problem_answers::NotFound;
use recado_http::api::request::{Asked, InstanceQuery, JsonAnswer, QueryParams};
use recado_http::problem::HttpProblem;
use recado_pipeline::ports::{ConnectionAnswer, CredentialState, DiskSpace, LlmError, ToolFailure};
use serde::Serialize;

/// The results of all checks.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ChecksView {
    timestamp: Timestamp,
    /// Absent if the records are not on a disk of the installation.
    #[serde(skip_serializing_if = "Option::is_none")]
    disk: Option<DiskView>,
    models: Vec<ModelCheckView>,
    /// The servers of the Model Context Protocol that tools of the agents name.
    servers: Vec<ServerCheckView>,
    /// The secrets that entries of the configuration name and that are not there.
    missing_secrets: Vec<MissingSecretView>,
    instances: Vec<InstanceCheckView>,
    /// Number of conversations in which the agent owes an answer.
    waiting_conversations: u64,
    /// Time since which the longest of them waits.
    waiting_since: Option<Timestamp>,
    dead_letters: u64,
    /// Number of outgoing messages whose outcome is unknown.
    unknown_outcomes: u64,
}

/// A secret that an entry names and that is not there.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct MissingSecretView {
    /// Words for the entry and its field.
    entry: String,
    /// Words for what is missing.
    detail: String,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct DiskView {
    free_bytes: u64,
    /// With less than this, the disk counts as full.
    least_bytes: u64,
    full: bool,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct ModelCheckView {
    /// Name of the model; `http` for an agent that the user runs.
    model: String,
    /// Id of the agent that the user runs. Absent if a model was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    http_agent: Option<AgentId>,
    purpose: ModelPurpose,
    answer: ModelAnswerView,
    /// The reason why it does not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

/// The answer of a model that was asked for the least that it answers.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
enum ModelAnswerView {
    Answers,
    NeedsCredentials,
    Refused,
    Unavailable,
    NotAsked,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct ServerCheckView {
    /// Id of the tool.
    tool: ToolId,
    answer: ServerAnswerView,
    /// The reason why it does not list its tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    /// The names of all tools of the server.
    tools: Vec<String>,
    /// The names that `mcp.allow` has and the server does not.
    missing: Vec<String>,
    /// The allowed tools that agents are not offered, since their schemas cannot be used: `name: reason`.
    refused: Vec<String>,
}

/// The answer of a server that was asked for its tools.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
enum ServerAnswerView {
    Lists,
    NeedsCredentials,
    Unavailable,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct InstanceCheckView {
    id: InstanceId,
    credential: CredentialView,
    /// The reason why the credential cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    /// The provider's answer. Absent if it was not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    connection: Option<ConnectionView>,
}

/// The state of the installation's own key for an instance.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
enum CredentialView {
    Present,
    Missing,
    Simulated,
    Unclear,
}

/// The answer of a provider to the installation's own key.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
enum ConnectionView {
    Open,
    Closed,
    /// It refuses every request; `detail` says why.
    Refused,
    NeedsCredentials,
    Unclear,
}

impl From<ModelCheck> for ModelCheckView {
    fn from(check: ModelCheck) -> Self {
        let (answer, detail) = match check.answer {
            ModelAnswer::Answers => (ModelAnswerView::Answers, None),
            ModelAnswer::NotAsked => (ModelAnswerView::NotAsked, None),
            ModelAnswer::Failed(LlmError::Credentials(why)) => (ModelAnswerView::NeedsCredentials, Some(why)),
            ModelAnswer::Failed(LlmError::Refused(why) | LlmError::FilesRefused(why)) => {
                (ModelAnswerView::Refused, Some(why))
            }
            ModelAnswer::Failed(LlmError::Unavailable(why)) => (ModelAnswerView::Unavailable, Some(why)),
        };
        Self {
            model: check.model,
            http_agent: check.http_agent,
            purpose: check.purpose,
            answer,
            detail,
        }
    }
}

impl From<ServerCheck> for ServerCheckView {
    fn from(check: ServerCheck) -> Self {
        let (mut listed, mut lacks, mut unusable) = (Vec::new(), Vec::new(), Vec::new());
        let (answer, detail) = match check.answer {
            ServerAnswer::Lists {
                tools,
                missing,
                refused,
            } => {
                (listed, lacks, unusable) = (tools, missing, refused);
                (ServerAnswerView::Lists, None)
            }
            ServerAnswer::Failed(ToolFailure::Credentials) => (ServerAnswerView::NeedsCredentials, None),
            ServerAnswer::Failed(failure) => (ServerAnswerView::Unavailable, Some(failure.to_string())),
        };
        Self {
            tool: check.tool,
            answer,
            detail,
            tools: listed,
            missing: lacks,
            refused: unusable,
        }
    }
}

impl From<InstanceCheck> for InstanceCheckView {
    fn from(check: InstanceCheck) -> Self {
        let (credential, detail) = match check.credential {
            CredentialState::Present => (CredentialView::Present, None),
            CredentialState::Simulated => (CredentialView::Simulated, None),
            CredentialState::Missing(why) => (CredentialView::Missing, Some(why)),
            CredentialState::Unclear => (CredentialView::Unclear, None),
        };
        let refusal = match &check.connection {
            Some(ConnectionAnswer::Refused(why)) => Some(why.clone()),
            _ => None,
        };
        let connection = check.connection.map(|answer| match answer {
            ConnectionAnswer::Refused(_) => ConnectionView::Refused,
            ConnectionAnswer::Open => ConnectionView::Open,
            ConnectionAnswer::Closed => ConnectionView::Closed,
            ConnectionAnswer::NeedsCredentials => ConnectionView::NeedsCredentials,
            ConnectionAnswer::Unreachable | ConnectionAnswer::Unclear => ConnectionView::Unclear,
        });
        Self {
            id: check.instance.id,
            credential,
            detail: detail.or(refusal),
            connection,
        }
    }
}

impl From<SelfCheck> for ChecksView {
    fn from(check: SelfCheck) -> Self {
        let disk = |space: DiskSpace| DiskView {
            free_bytes: space.free,
            least_bytes: space.least,
            full: space.is_full(),
        };
        let missing = |secret: MissingSecret| MissingSecretView {
            entry: secret.entry,
            detail: secret.why,
        };
        Self {
            timestamp: check.at,
            disk: check.disk.map(disk),
            models: check.models.into_iter().map(ModelCheckView::from).collect(),
            servers: check.servers.into_iter().map(ServerCheckView::from).collect(),
            missing_secrets: check.missing_secrets.into_iter().map(missing).collect(),
            instances: check.instances.into_iter().map(InstanceCheckView::from).collect(),
            waiting_conversations: check.waiting.conversations,
            waiting_since: check.waiting.since,
            dead_letters: check.dead_letters,
            unknown_outcomes: check.unknown,
        }
    }
}

/// Checks the installation with its own keys, and changes nothing.
///
/// Each provider is asked for its connection, each model that replies or rewrites questions for one token, the embedding model for the
/// vector of a word, the model that transcribes for a second of silence, and each server of the Model Context Protocol for its tools.
/// On AWS no model is asked: only the function that writes replies has its key.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/v1/checks",
    params(InstanceQuery),
    responses((status = 200, body = ChecksView, description = "The results"), NotFound)
))]
pub async fn get_checks(
    Asked(api, caller): Asked,
    QueryParams(wanted): QueryParams<InstanceQuery>,
) -> JsonAnswer<ChecksView> {
    let found = check_installation(
        &api.deps,
        &caller,
        wanted.instance.as_ref(),
        api.options.asks_models,
    )
    .await?;
    let found = found.ok_or_else(|| HttpProblem::not_found("there is no such instance"))?;
    Ok(Json(found.into()))
}
