//! An agent of the configuration.

use super::{AgentLimits, CredentialRef, HttpAgent, split_model_name};
use crate::decision::DecisionKind;
use crate::ids::{AgentId, StepId, TenantId, ToolId};
use crate::signature::Signature;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// An agent: the AI that answers, with its model and instructions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// The agent's id.
    pub id: AgentId,
    /// The tenant that the agent belongs to.
    pub tenant: TenantId,
    /// The model, such as `claude-sonnet-4-5`; of another provider than Anthropic with its name, such as `openai::gpt-4.1`. Empty
    /// only if the user runs the agent (`http`).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// The endpoint of an agent that the user runs, in the place of a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpAgent>,
    /// The model that answers while the first is down or overloaded. If absent, the contact gets `error_message` then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_model: Option<String>,
    /// Reference to a key of the tenant's own for the provider of `model` ([`CredentialRef::belongs_to_tenant`]). If absent, the
    /// installation's key is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_key: Option<CredentialRef>,
    /// The instructions to the model (the system prompt). Empty only if the user runs the agent.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub system_prompt: String,
    /// A shorter form of `system_prompt`, which the model reads in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optimized_system_prompt: Option<String>,
    /// The message that the contact gets when the model fails.
    #[serde(default = "default_error_message")]
    pub error_message: String,
    /// Greatest length of a reply, in tokens: 1 to 64,000.
    #[serde(default = "default_max_tokens")]
    pub max_tokens: u32,
    /// The message that the contact gets when everything they sent is of kinds that Recado does not know. If absent,
    /// the model is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsupported_message: Option<String>,
    /// The signature that goes out with the agent's texts. The model never reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<Signature>,
    /// The decisions that the agent may take by itself: hand a conversation over to a person, resolve it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub decisions: BTreeSet<DecisionKind>,
    /// The message that the contact gets when the agent hands the conversation over without words of its own.
    #[serde(default = "default_hand_over_message")]
    pub hand_over_message: String,
    /// The steps of the agent's script. Conversations begin at the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<AgentStep>,
    /// The limits of the agent in one thread.
    #[serde(default, skip_serializing_if = "AgentLimits::is_default")]
    pub limits: AgentLimits,
    /// The tools that the agent may call, by their ids. They belong to the same tenant.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub tools: BTreeSet<ToolId>,
    /// `true` if the agent answers nobody: what comes in waits for people.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disabled: bool,
}

/// A step of an agent's script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentStep {
    /// The step's id.
    pub id: StepId,
    /// The instructions to the model at this step, after the agent's own.
    pub prompt: String,
    /// The steps to which the agent may move from here.
    #[serde(default)]
    pub next: Vec<StepId>,
}

impl Agent {
    /// Returns the system prompt that the model reads: the optimized one, if there is one.
    pub fn prompt_for_model(&self) -> &str {
        self.optimized_system_prompt
            .as_deref()
            .unwrap_or(&self.system_prompt)
    }

    /// Returns the tenant's own key for a model of this agent, if it has one for the model's provider.
    pub fn own_key_for(&self, model: &str) -> Option<&CredentialRef> {
        let same = split_model_name(model).0 == split_model_name(&self.model).0;
        self.model_key.as_ref().filter(|_| same)
    }

    /// Checks the endpoint of an agent that the user runs, and that nothing of a model stands beside it.
    pub(super) fn check_http_agent(&self) -> Result<(), &'static str> {
        let Some(http) = &self.http else { return Ok(()) };
        let has_model = !self.model.is_empty()
            || self.fallback_model.is_some()
            || self.model_key.is_some()
            || !self.system_prompt.is_empty()
            || self.optimized_system_prompt.is_some();
        if has_model {
            return Err(
                "an agent with http has no model, fallback_model, model_key, system_prompt and optimized_system_prompt",
            );
        }
        if !self.tools.is_empty() {
            return Err("an agent with http calls its own tools: tools must be empty");
        }
        http.check_endpoint(&self.tenant)
    }

    /// Lists the models that may answer, in their order. An agent that the user runs has none.
    pub fn list_models(&self) -> impl Iterator<Item = &str> {
        let own = Some(self.model.as_str()).filter(|model| !model.is_empty());
        own.into_iter().chain(self.fallback_model.as_deref())
    }
}

fn default_error_message() -> String {
    "Sorry, something went wrong on our side. Please try again in a moment.".to_owned()
}

fn default_hand_over_message() -> String {
    "Thank you. A person of our team will continue here.".to_owned()
}

fn default_max_tokens() -> u32 {
    1024
}
