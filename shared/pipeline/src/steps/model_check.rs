//! Asks a model whether it would answer.

use crate::Deps;
use crate::ports::{ChatTurn, Llm, LlmError, LlmRequest, Speaker};
use recado_domain::config::CredentialRef;
use recado_domain::decision::OfferedDecisions;
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
