//! Asks a model, or an agent that the user runs, whether it would answer.

use crate::Deps;
use recado_domain::config::{Agent, CredentialRef, HttpAgent};
use recado_domain::decision::OfferedDecisions;
use recado_ports::ports::{ChatTurn, HttpAgentRequest, Llm, LlmError, LlmRequest, Speaker, System};
use recado_ports::random_id::generate_nonce;
use serde_json::json;
use std::time::Duration;

/// Maximum time for a model to answer.
const MODEL_TIMEOUT: Duration = Duration::from_secs(15);

/// Asks a model for one token, which proves the key and the model's name. `key` is the tenant's own, if the agent has one.
pub(crate) async fn ask_model(
    deps: &impl Deps,
    model: &str,
    key: Option<&CredentialRef>,
) -> Result<(), LlmError> {
    let turn = ChatTurn::from_text(Speaker::User, "Answer with one word.");
    let request = LlmRequest {
        instructions: Vec::new(),
        knowledge: None,
        tools: Vec::new(),
        exchanges: Vec::new(),
        must_reply: false,
        decisions: OfferedDecisions::default(),
        model: model.to_owned(),
        key: key.cloned(),
        system: String::new(),
        turns: vec![turn],
        max_tokens: 1,
        within: MODEL_TIMEOUT,
        simulated: false,
    };
    deps.llm().generate_reply(&request).await.map(drop)
}

/// Asks an agent that the user runs whether it takes requests, with a body that holds nothing of a contact.
pub(crate) async fn ask_http_agent(
    deps: &impl Deps,
    agent: &Agent,
    endpoint: &HttpAgent,
) -> Result<(), LlmError> {
    let data = json!({"tenant_id": agent.tenant, "agent_id": agent.id});
    let request = HttpAgentRequest {
        agent: endpoint,
        id: format!("check_{}", generate_nonce(deps.system()).as_str()),
        body: json!({"type": "agent.check", "timestamp": deps.system().now(), "data": data}),
        decisions: OfferedDecisions::default(),
        within: MODEL_TIMEOUT,
        private_hosts: deps.settings().private_tools,
    };
    deps.llm().check_http_agent(&request).await
}
