//! Asks the models: those that answer contacts and rewrite questions, the embedding model, and the one that transcribes.

use crate::model_check::{ask_embedding_model, ask_http_agent, ask_model, ask_transcription_model};
use crate::self_check::{ASKED_AT_ONCE, InstanceCheck};
use futures::stream::{self, StreamExt};
use recado_domain::config::{Agent, ConfigDocument, CredentialRef};
use recado_domain::http_agent::HTTP_AGENT_MODEL;
use recado_domain::ids::AgentId;
use recado_pipeline::Deps;
use recado_ports::ports::{CredentialState, LlmError, PortResult};
use recado_ports::records::knowledge::find_knowledge;
use recado_ports::settings::RewriteWay;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The answer of a model that was asked for the least that it answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelAnswer {
    /// The model answers.
    Answers,
    /// The model was not asked, because this process has no key for it, or only simulated instances use it.
    NotAsked,
    /// The request failed.
    Failed(LlmError),
}

/// The work of a model: replies to contacts, questions that are rewritten for a search in documents, vectors, or transcriptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = ModelPurposeView))]
#[serde(rename_all = "snake_case")]
pub enum ModelPurpose {
    /// Answers contacts.
    Replies,
    /// Rewrites questions for a search in an agent's documents.
    Rewriting,
    /// Makes vectors of documents and questions.
    Embeddings,
    /// Transcribes recordings.
    Transcriptions,
}

/// The check of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelCheck {
    /// Name of the model; [`HTTP_AGENT_MODEL`] if the user runs the agent.
    pub model: String,
    /// Id of the agent that the user runs; `None` if a model was asked.
    pub http_agent: Option<AgentId>,
    /// The work of the model.
    pub purpose: ModelPurpose,
    /// Answer of the model.
    pub answer: ModelAnswer,
}

/// The models that may be asked.
#[derive(Debug, Clone, Copy)]
pub(super) struct ModelScope {
    /// `true` if this process has the keys of models.
    pub(super) asks_models: bool,
    /// `true` if the caller sees the whole installation, and so its own models.
    pub(super) is_whole: bool,
}

/// A model with the reference to its key, and what it is asked for.
type AskedModel = (String, Option<String>, ModelPurpose);

/// Asks each model that an agent of these instances names or has questions rewritten by, and those of the installation. What is asked
/// for simulated instances alone is not asked.
pub(super) async fn check_models(
    deps: &Deps,
    configured: &ConfigDocument,
    instances: &[InstanceCheck],
    scope: ModelScope,
) -> PortResult<Vec<ModelCheck>> {
    let asked: Vec<_> = list_agent_models(deps, configured, instances)
        .await?
        .into_iter()
        .map(|((model, key, purpose), is_real)| async move {
            let key = key.and_then(|key| CredentialRef::try_from(key).ok());
            let asks = ask_model(deps, &model, key.as_ref());
            check_model(&model, purpose, is_real && scope.asks_models, asks).await
        })
        .collect();
    let mut checks: Vec<ModelCheck> = stream::iter(asked).buffered(ASKED_AT_ONCE).collect().await;
    let used: BTreeSet<&AgentId> = instances.iter().map(|check| &check.instance.agent).collect();
    let used = configured.agents.iter().filter(|agent| used.contains(&agent.id));
    let asked: Vec<_> = used.filter_map(|agent| check_http_agent(deps, agent)).collect();
    let of_users: Vec<ModelCheck> = stream::iter(asked).buffered(ASKED_AT_ONCE).collect().await;
    checks.extend(of_users);
    if scope.is_whole {
        let is_real = instances.iter().any(is_real_instance);
        if let Some(model) = deps.llm().embedding_model() {
            let asks = ask_embedding_model(deps);
            checks.push(check_model(model, ModelPurpose::Embeddings, scope.asks_models, asks).await);
        }
        if let Some(model) = deps.llm().transcription_model() {
            let (is_asked, asks) = (is_real && scope.asks_models, ask_transcription_model(deps));
            checks.push(check_model(model, ModelPurpose::Transcriptions, is_asked, asks).await);
        }
    }
    Ok(checks)
}

fn is_real_instance(check: &InstanceCheck) -> bool {
    check.credential != CredentialState::Simulated
}

/// Lists the models of these instances' agents, each with whether an instance that is not simulated uses it. A model that answers
/// is not asked again because it rewrites questions, too.
async fn list_agent_models(
    deps: &Deps,
    configured: &ConfigDocument,
    instances: &[InstanceCheck],
) -> PortResult<BTreeMap<AskedModel, bool>> {
    let mut users: BTreeMap<&AgentId, bool> = BTreeMap::new();
    for check in instances {
        *users.entry(&check.instance.agent).or_default() |= is_real_instance(check);
    }
    let mut used: BTreeMap<AskedModel, bool> = BTreeMap::new();
    let mut rewriting = Vec::new();
    for agent in &configured.agents {
        let Some(is_real) = users.get(&agent.id).copied() else {
            continue;
        };
        for model in agent.list_models() {
            let key = agent.own_key_for(model).cloned().map(String::from);
            *used
                .entry((model.to_owned(), key, ModelPurpose::Replies))
                .or_default() |= is_real;
        }
        if let Some((model, key)) = find_rewriting_model(deps, agent).await? {
            rewriting.push((model, key, is_real));
        }
    }
    for (model, key, is_real) in rewriting {
        let answers = (model, key, ModelPurpose::Replies);
        if !used.get(&answers).is_some_and(|is_asked| *is_asked || !is_real) {
            let (model, key, _) = answers;
            *used.entry((model, key, ModelPurpose::Rewriting)).or_default() |= is_real;
        }
    }
    Ok(used)
}

/// Returns the model that rewrites questions for an agent, with its key; `None`: it has no documents, or no model rewrites.
async fn find_rewriting_model(deps: &Deps, agent: &Agent) -> PortResult<Option<(String, Option<String>)>> {
    let settings = &deps.settings().rewriting;
    let model = agent.rewriting_model(settings.model.as_deref());
    let Some(model) = model.filter(|_| settings.way == RewriteWay::Model) else {
        return Ok(None);
    };
    let known = find_knowledge(deps.store(), &agent.tenant, &agent.id).await?;
    let has_documents = known.is_some_and(|known| known.record.snapshot.is_some());
    let named = || (model.name.to_owned(), model.key.cloned().map(String::from));
    Ok(has_documents.then(named))
}

fn to_answer(asked: Result<(), LlmError>) -> ModelAnswer {
    asked.map_or_else(ModelAnswer::Failed, |()| ModelAnswer::Answers)
}

/// Checks an agent that the user runs; `None` if a model answers for it. It is asked for simulated instances, too: it answers there.
fn check_http_agent<'a>(deps: &'a Deps, agent: &'a Agent) -> Option<impl Future<Output = ModelCheck> + 'a> {
    let endpoint = agent.http.as_ref()?;
    Some(async move {
        let answer = to_answer(ask_http_agent(deps, agent, endpoint).await);
        ModelCheck {
            model: HTTP_AGENT_MODEL.to_owned(),
            http_agent: Some(agent.id.clone()),
            purpose: ModelPurpose::Replies,
            answer,
        }
    })
}

/// Asks a model by `asks`, if it is asked.
async fn check_model(
    model: &str,
    purpose: ModelPurpose,
    is_asked: bool,
    asks: impl Future<Output = Result<(), LlmError>>,
) -> ModelCheck {
    let answer = if is_asked {
        to_answer(asks.await)
    } else {
        ModelAnswer::NotAsked
    };
    ModelCheck {
        model: model.to_owned(),
        http_agent: None,
        purpose,
        answer,
    }
}
