//! Asks models and providers about what a document changes, before it is written.

use super::template_check::check_templates;
use super::{AskedParties, ConfigurationChange, ConfigurationChangeKind, ConfigureError};
use crate::Deps;
use crate::ports::{ConnectionAnswer, CredentialState, Llm, LlmError, Providers, System};
use crate::steps::model_check::ask_model;
use futures::future::{Either, join3, select};
use futures::stream::{self, StreamExt};
use recado_domain::config::{Agent, ConfigDocument, Instance, InstanceConfig};
use std::collections::BTreeSet;
use std::pin::pin;
use std::time::Duration;

/// Number of providers, and of models, that are asked side by side.
pub(super) const ASKED_AT_ONCE: usize = 16;

/// Maximum time for a provider to answer.
const PROVIDER_TIMEOUT: Duration = Duration::from_secs(10);

/// The fields of an instance that decide where and with which key its provider is reached.
pub(super) const REACHING_FIELDS: [&str; 6] = [
    "provider",
    "external_id",
    "base_url",
    "credential",
    "api_version",
    "disabled",
];

/// Asks the models and providers that `changes` make new. Returns the warnings. A model that refuses requests is an error:
/// every customer of its agent would get the error message.
pub(super) async fn check_changes(
    deps: &impl Deps,
    changes: &[ConfigurationChange],
    document: &ConfigDocument,
    asks: AskedParties,
) -> Result<Vec<String>, ConfigureError> {
    let models = async {
        if asks == AskedParties::ProvidersAndModels {
            check_models(deps, changes, document).await
        } else {
            Ok(Vec::new())
        }
    };
    let providers = async {
        if asks == AskedParties::Nobody {
            Vec::new()
        } else {
            check_providers(deps, changes, document).await
        }
    };
    let templates = async {
        if asks == AskedParties::Nobody {
            Ok(Vec::new())
        } else {
            check_templates(deps, changes, document).await
        }
    };
    let (models, providers, templates) = join3(models, providers, templates).await;
    let mut warnings = models?;
    warnings.extend(providers);
    warnings.extend(templates?);
    Ok(warnings)
}

/// Returns `true` if the entry is new, or one of these fields changed.
pub(super) fn is_changed(changes: &[ConfigurationChange], kind: &str, id: &str, fields: &[&str]) -> bool {
    let change = changes
        .iter()
        .find(|change| change.kind == kind && change.id == id);
    change.is_some_and(|change| {
        change.what == ConfigurationChangeKind::Created
            || change.fields.iter().any(|field| fields.contains(&field.as_str()))
    })
}

async fn check_models(
    deps: &impl Deps,
    changes: &[ConfigurationChange],
    document: &ConfigDocument,
) -> Result<Vec<String>, ConfigureError> {
    if !deps.llm().has_key().await.unwrap_or(false) {
        return Ok(Vec::new());
    }
    let mut seen = BTreeSet::new();
    let mut looks = Vec::new();
    for agent in &document.agents {
        let fresh = is_changed(changes, "agent", agent.id.as_str(), &["model", "disabled"]);
        if fresh
            && !agent.disabled
            && !answers_simulated_only(deps, agent, document).await
            && seen.insert(&agent.model)
        {
            looks.push(check_model(deps, agent));
        }
    }
    let found: Vec<Result<Option<String>, ConfigureError>> =
        stream::iter(looks).buffered(ASKED_AT_ONCE).collect().await;
    found.into_iter().filter_map(Result::transpose).collect()
}

/// Returns `true` if the agent has instances, and each of them is simulated: then no real model answers for it.
async fn answers_simulated_only(deps: &impl Deps, agent: &Agent, document: &ConfigDocument) -> bool {
    let mut own = 0;
    for instance in document.enabled_instances().filter(|one| one.agent == agent.id) {
        own += 1;
        if !deps.providers().is_simulated(instance).await {
            return false;
        }
    }
    own > 0
}

async fn check_model(deps: &impl Deps, agent: &Agent) -> Result<Option<String>, ConfigureError> {
    let model = &agent.model;
    match ask_model(deps, model).await {
        Ok(()) => Ok(None),
        Err(LlmError::Refused(why)) => {
            let known = deps.llm().list_models().await;
            let nearest = known
                .into_iter()
                .min_by_key(|name| strsim::osa_distance(name, model));
            Err(ConfigureError::ModelRefuses {
                agent: agent.id.clone(),
                model: model.clone(),
                why,
                nearest,
            })
        }
        Err(error) => Ok(Some(format!("agent `{}`: {error}", agent.id))),
    }
}

async fn check_providers(
    deps: &impl Deps,
    changes: &[ConfigurationChange],
    document: &ConfigDocument,
) -> Vec<String> {
    let fresh =
        |instance: &&Instance| is_changed(changes, "instance", instance.id.as_str(), &REACHING_FIELDS);
    let chosen = document.enabled_instances().filter(fresh);
    let looks: Vec<_> = chosen
        .filter_map(|instance| bind_instance(document, instance))
        .map(|bound| check_provider(deps, bound))
        .collect();
    let found: Vec<Option<String>> = stream::iter(looks).buffered(ASKED_AT_ONCE).collect().await;
    found.into_iter().flatten().collect()
}

/// Returns the instance with its tenant and agent, as the document has them.
pub(super) fn bind_instance(document: &ConfigDocument, instance: &Instance) -> Option<InstanceConfig> {
    Some(InstanceConfig {
        instance: instance.clone(),
        tenant: document
            .tenants
            .iter()
            .find(|one| one.id == instance.tenant)?
            .clone(),
        agent: document
            .agents
            .iter()
            .find(|one| one.id == instance.agent)?
            .clone(),
    })
}

async fn check_provider(deps: &impl Deps, bound: InstanceConfig) -> Option<String> {
    let problem = match deps.providers().check_credential(&bound.instance).await {
        CredentialState::Simulated => None,
        CredentialState::Missing(why) => Some(format!("{why}: its messages wait")),
        CredentialState::Unclear => Some("its credential could not be read".to_owned()),
        CredentialState::Present => describe_answer(&ask_provider(deps, &bound).await).map(str::to_owned),
    }?;
    let at = match &bound.instance.base_url {
        Some(url) => format!(" ({url})"),
        None => String::new(),
    };
    Some(format!("instance `{}`{at}: {problem}", bound.instance.id))
}

async fn ask_provider(deps: &impl Deps, bound: &InstanceConfig) -> ConnectionAnswer {
    let answer = await_provider(deps, deps.providers().query_connection(bound)).await;
    answer.unwrap_or(ConnectionAnswer::Unclear)
}

/// Waits for a provider's answer; `None` if it takes too long.
pub(super) async fn await_provider<T>(deps: &impl Deps, question: impl Future<Output = T>) -> Option<T> {
    let alarm = pin!(deps.system().sleep(PROVIDER_TIMEOUT));
    match select(pin!(question), alarm).await {
        Either::Left((answer, _)) => Some(answer),
        Either::Right(_) => None,
    }
}

/// Describes an answer with which the instance would not work. A number that is not paired yet is no mistake of the
/// configuration.
fn describe_answer(answer: &ConnectionAnswer) -> Option<&'static str> {
    match answer {
        ConnectionAnswer::Open | ConnectionAnswer::Closed => None,
        ConnectionAnswer::NeedsCredentials => Some("its provider refuses the key: its messages wait"),
        ConnectionAnswer::Unclear => Some("its provider does not answer clearly; is its URL right?"),
    }
}
