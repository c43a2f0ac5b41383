//! An agent of the configuration.

use super::{
    AgentLimits, CredentialRef, HttpAgent, RewritingModel, USUAL_MODEL_PROVIDER, USUAL_REWRITING_MODEL,
    model_provider_asks_for_key, split_model_name,
};
use crate::decision::DecisionKind;
use crate::ids::{AgentId, StepId, TenantId, ToolId};
use crate::signature::Signature;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// An agent: the AI that answers, with its model and instructions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// The agent's id.
    #[cfg_attr(feature = "schema", schema(value_type = String, example = "ana"))]
    pub id: AgentId,
    /// The tenant that the agent belongs to.
    pub tenant: TenantId,
    /// The model, such as `claude-sonnet-4-5`; of another provider than Anthropic with its name, such as `openai::gpt-4.1`. Absent
    /// only if the user runs the agent (`http`).
    #[cfg_attr(feature = "schema", schema(example = "claude-sonnet-4-5"))]
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// The endpoint of an agent that the user runs, in the place of a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpAgent>,
    /// The model that answers while the first is down or overloaded. If absent, the contact gets `error_message` then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_model: Option<String>,
    /// Reference to a key of the tenant's own for the provider of `model` (`env:NAME` or `ssm:/path/name`). If absent, the installation's
    /// key is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_key: Option<CredentialRef>,
    /// The instructions to the model (the system prompt). Absent only if the user runs the agent.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub system_prompt: String,
    /// A shorter form of `system_prompt`, which the model reads in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optimized_system_prompt: Option<String>,
    /// The marks in which the model writes its replies: Markdown's, or WhatsApp's own if the prompt asks for them.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub reply_format: ReplyFormat,
    /// The message that the contact gets when the model fails.
    #[serde(default = "default_error_message")]
    pub error_message: String,
    /// Greatest length of a reply, in tokens: 1 to 64,000.
    #[cfg_attr(feature = "schema", schema(minimum = 1, maximum = 64_000, default = 1024))]
    #[serde(default = "default_max_tokens")]
    pub max_tokens: u32,
    /// The answer to messages that are all of unknown kinds and have no words. If absent, the model is asked.
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
    /// `true` if the model reads the name that the contact gave itself. Not of an agent with `http`.
    #[cfg_attr(feature = "schema", schema(default = false))]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reads_contact_name: bool,
    /// `true` if the agent answers nobody: what comes in waits for people.
    #[cfg_attr(feature = "schema", schema(default = false))]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disabled: bool,
}

/// The marks in which a model writes its replies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReplyFormat {
    /// Markdown, as models write by themselves: `**bold**`, `*italic*`.
    #[default]
    Markdown,
    /// WhatsApp's own marks, because the prompt asks for them: `*bold*`, `_italic_`. Other marks of Markdown are still converted.
    Whatsapp,
}

/// A step of an agent's script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
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

    /// Returns the model that rewrites questions for the agent. It is of the agent's own provider and is asked with the agent's own key,
    /// so that nobody else reads the conversation and nobody else pays. `named` is the model that the installation names: it serves
    /// agents that use the installation's keys. `None`: the user runs the agent, and no model is asked for it.
    pub fn rewriting_model<'a>(&'a self, named: Option<&'a str>) -> Option<RewritingModel<'a>> {
        if self.http.is_some() {
            return None;
        }
        let (key, provider) = (self.model_key.as_ref(), split_model_name(&self.model).0);
        let uses_installations_keys = key.is_none() && model_provider_asks_for_key(provider);
        let own = if provider == USUAL_MODEL_PROVIDER {
            USUAL_REWRITING_MODEL
        } else {
            &self.model
        };
        let name = named.filter(|_| uses_installations_keys).unwrap_or(own);
        Some(RewritingModel { name, key })
    }

    /// Checks the endpoint of an agent that the user runs, and that nothing of a model stands beside it.
    pub(super) fn check_http_agent(&self) -> Result<(), &'static str> {
        let Some(http) = &self.http else { return Ok(()) };
        let has_model = !self.model.is_empty()
            || self.fallback_model.is_some()
            || self.model_key.is_some()
            || !self.system_prompt.is_empty()
            || self.optimized_system_prompt.is_some();
        if self.reads_contact_name {
            return Err("reads_contact_name is of a model: of an agent with http, http.contact says it");
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn questions_are_rewritten_by_the_agents_own_provider_with_its_own_key() {
        let own_key = "env:RECADO_CREDENTIAL_CLINIC_MODEL";
        let agent = |change: &Value| -> Agent {
            let mut agent = json!({"id": "ana", "tenant": "clinic"});
            for (name, value) in change.as_object().unwrap() {
                agent[name] = value.clone();
            }
            serde_json::from_value(agent).unwrap()
        };
        for (change, named, model, has_key) in [
            (json!({"model": "claude-x"}), None, "claude-haiku-4-5", false),
            (
                json!({"model": "claude-x"}),
                Some("openai::small"),
                "openai::small",
                false,
            ),
            (
                json!({"model": "claude-x", "model_key": own_key}),
                Some("openai::small"),
                "claude-haiku-4-5",
                true,
            ),
            (json!({"model": "openai::gpt-x"}), None, "openai::gpt-x", false),
            (
                json!({"model": "openai::gpt-x", "model_key": own_key}),
                Some("light"),
                "openai::gpt-x",
                true,
            ),
            (
                json!({"model": "ollama::llama"}),
                Some("light"),
                "ollama::llama",
                false,
            ),
        ] {
            let agent = agent(&change);
            let asked = agent.rewriting_model(named).unwrap();
            assert_eq!(
                (asked.name, asked.key.is_some()),
                (model, has_key),
                "{change} {named:?}"
            );
        }
        let http = json!({"http": {"url": "https://agent.example/", "secret": "env:RECADO_CREDENTIAL_CLINIC_AGENT"}});
        assert_eq!(agent(&http).rewriting_model(Some("light")), None);
    }
}
