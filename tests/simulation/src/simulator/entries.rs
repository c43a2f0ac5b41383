//! Operators of the configuration: they replace and remove agents, tools and calendars, and give agents documents.

use super::Simulator;
use crate::queue::WorkQueues;
use recado_configuration::{ConfigureError, EntryMatch, remove_entry};
use recado_domain::access::Caller;
use recado_domain::config::{Agent, ConfigDocument, ConfigEntry};
use recado_domain::ids::{AgentId, TenantId};
use recado_knowledge::{KnowledgeError, NewDocument, add_source};
use recado_pipeline::ports::Store;
use std::fmt::Debug;
use std::sync::Arc;

/// A prompt that an operator gave an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenPrompt {
    /// Whose agent it is.
    pub tenant: TenantId,
    /// The prompt.
    pub prompt: String,
    /// When another one was confirmed in its place, in milliseconds since the start.
    pub over_ms: Option<i64>,
}

/// A document that an operator gave an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenDocument {
    /// To which agent.
    pub agent: AgentId,
    /// The title.
    pub title: String,
    /// The words.
    pub words: String,
}

/// An agent that an operator removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovedAgent {
    /// The agent.
    pub agent: AgentId,
    /// Time at which that was asked for first, in milliseconds since the start.
    pub asked_ms: i64,
    /// Time at which the operator was told that it is removed, in milliseconds since the start.
    pub told_ms: i64,
}

/// The entries of the configuration, as operators know them.
#[derive(Debug, Default)]
pub struct Entries {
    /// All prompts of the agents that are replaced.
    pub prompts: Vec<GivenPrompt>,
    /// The documents.
    pub documents: Vec<GivenDocument>,
    /// The agents that were removed.
    pub removed: Vec<RemovedAgent>,
}

impl<S, Q> Simulator<S, Q>
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    /// An operator gives a number's agent another form, and the number that agent.
    pub async fn put_agent(self: &Arc<Self>, line: usize, agent: &Agent) {
        let mut instance = self.bounds[line].instance.clone();
        instance.agent = agent.id.clone();
        let given = GivenPrompt {
            tenant: agent.tenant.clone(),
            prompt: agent.system_prompt.clone(),
            over_ms: None,
        };
        self.ledger().entries.prompts.push(given);
        let change = ConfigDocument {
            tenants: vec![self.bounds[line].tenant.clone()],
            agents: vec![agent.clone()],
            instances: vec![instance],
            ..ConfigDocument::default()
        };
        if !Box::pin(self.configure(change)).await {
            return;
        }
        let now = self.simulation().elapsed_ms();
        let prompts = &mut self.ledger().entries.prompts;
        let of_tenant = prompts
            .iter_mut()
            .filter(|given| given.tenant == agent.tenant && given.prompt != agent.system_prompt);
        of_tenant.for_each(|given| given.over_ms = given.over_ms.or(Some(now)));
    }

    /// An operator removes an agent that no number has.
    pub async fn remove_agent(self: &Arc<Self>, agent: &AgentId) {
        let asked_ms = self.simulation().elapsed_ms();
        if self.remove_configured::<Agent>(agent.as_str()).await {
            let removed = RemovedAgent {
                agent: agent.clone(),
                asked_ms,
                told_ms: self.simulation().elapsed_ms(),
            };
            self.ledger().entries.removed.push(removed);
        }
    }

    /// An operator removes an entry, again until that is done. Returns whether it is.
    pub async fn remove_configured<T: ConfigEntry + Send + Sync + 'static>(
        self: &Arc<Self>,
        id: &str,
    ) -> bool {
        let asked = self.ask_until_told(|world| {
            let id = id.to_owned();
            async move {
                let (caller, any) = (Caller::installation(), EntryMatch::Any);
                let removed = Box::pin(remove_entry::<T>(&world, &caller, &id, &any, true)).await;
                match removed {
                    Ok(_) | Err(ConfigureError::NotFound(_)) => Some(()),
                    Err(_) => None,
                }
            }
        });
        asked.await.0.is_some()
    }

    /// An operator gives an agent a document, again until that is answered.
    pub async fn add_document(self: &Arc<Self>, agent: &AgentId, title: &str, words: &str) {
        let given = GivenDocument {
            agent: agent.clone(),
            title: title.to_owned(),
            words: words.to_owned(),
        };
        self.ledger().entries.documents.push(given.clone());
        let asked = self.ask_until_told(|world| {
            let given = given.clone();
            async move {
                let document = NewDocument {
                    title: given.title,
                    content_type: None,
                    bytes: given.words.into_bytes(),
                };
                let caller = Caller::installation();
                match Box::pin(add_source(&world, &caller, &given.agent, document)).await {
                    Ok(_) | Err(KnowledgeError::NoAgent) => Some(()),
                    Err(_) => None,
                }
            }
        });
        asked.await;
    }
}
