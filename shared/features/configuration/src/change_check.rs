//! Asks models and providers about what a document changes, before it is written.

use crate::{AskedParties, ConfigurationChange, ConfigurationChangeKind, ConfigureError};
use futures::future::join3;
use futures::stream::{self, StreamExt};
use jiff::SignedDuration;
use recado_checks::model_check::{ask_http_agent, ask_model};
use recado_checks::named_secrets::find_missing;
use recado_domain::config::{Agent, ConfigDocument, Instance, InstanceConfig, NamedSecret};
use recado_domain::content::MessageTemplate;
use recado_pipeline::Deps;
use recado_ports::ports::{ConnectionAnswer, CredentialState, LlmError, TemplateAnswer};
use recado_ports::time_limit::run_within;
use std::collections::BTreeSet;
use std::time::Duration;

/// Asks the models and providers that `changes` make new. Returns the warnings. A model that refuses requests is an error:
/// every customer of its agent would get the error message.
pub(super) async fn check_changes(
    deps: &Deps,
    changes: &[ConfigurationChange],
    document: &ConfigDocument,
    asks: AskedParties,
) -> Result<Vec<String>, ConfigureError> {
    if asks == AskedParties::Nobody {
        return Ok(Vec::new());
    }
    let models = async {
        if asks == AskedParties::ProvidersAndModels {
            let mut warnings = check_models(deps, changes, document).await?;
            warnings.extend(check_http_agents(deps, changes, document).await);
            Ok::<_, ConfigureError>(warnings)
        } else {
            Ok(Vec::new())
        }
    };
    let providers = check_providers(deps, changes, document);
    let templates = check_templates(deps, changes, document);
    let (models, providers, templates) = join3(models, providers, templates).await;
    let mut warnings = models?;
    warnings.extend(providers);
    warnings.extend(check_secrets(deps, changes, document).await);
    warnings.extend(templates?);
    Ok(warnings)
}

/// Looks for the secrets that new and changed entries name.
async fn check_secrets(
    deps: &Deps,
    changes: &[ConfigurationChange],
    document: &ConfigDocument,
) -> Vec<String> {
    use ConfigurationChangeKind::{Changed, Created};
    // The alerts are one entry, whatever destination names the secret.
    let is_fresh = |named: &NamedSecret<'_>| {
        changes.iter().any(|change| {
            let is_its = change.kind == named.kind && (change.id == named.id || named.tenant.is_none());
            is_its && matches!(change.what, Created | Changed)
        })
    };
    let mut named = document.list_named_secrets();
    named.retain(is_fresh);
    let missing = find_missing(deps, named).await.into_iter();
    missing
        .map(|one| {
            format!(
                "{}: {}: what needs it fails until it is there",
                one.entry, one.why
            )
        })
        .collect()
}

async fn check_models(
    deps: &Deps,
    changes: &[ConfigurationChange],
    document: &ConfigDocument,
) -> Result<Vec<String>, ConfigureError> {
    if !deps.llm().has_key().await.unwrap_or(false) {
        return Ok(Vec::new());
    }
    let mut seen = BTreeSet::new();
    let mut looks = Vec::new();
    for agent in &document.agents {
        let fresh = is_changed(
            changes,
            "agent",
            agent.id.as_str(),
            &["model", "fallback_model", "model_key", "disabled"],
        );
        if fresh && !agent.disabled && !answers_simulated_only(deps, agent, document).await {
            let unseen = agent.list_models().filter(|model| seen.insert(*model));
            looks.extend(unseen.map(|model| check_model(deps, agent, model)));
        }
    }
    let found: Vec<Result<Option<String>, ConfigureError>> =
        stream::iter(looks).buffered(ASKED_AT_ONCE).collect().await;
    found.into_iter().filter_map(Result::transpose).collect()
}

/// Asks the agents that users run and that are new or changed. None of them is an error: the endpoint may come later.
async fn check_http_agents(
    deps: &Deps,
    changes: &[ConfigurationChange],
    document: &ConfigDocument,
) -> Vec<String> {
    let fresh = |agent: &&Agent| is_changed(changes, "agent", agent.id.as_str(), &["http", "disabled"]);
    let looks: Vec<_> = document
        .agents
        .iter()
        .filter(|agent| !agent.disabled)
        .filter(fresh)
        .filter_map(|agent| {
            let endpoint = agent.http.as_ref()?;
            Some(async move {
                let asked = ask_http_agent(deps, agent, endpoint).await;
                asked.err().map(|error| format!("agent `{}`: {error}", agent.id))
            })
        })
        .collect();
    let found: Vec<Option<String>> = stream::iter(looks).buffered(ASKED_AT_ONCE).collect().await;
    found.into_iter().flatten().collect()
}

/// Returns `true` if the agent has instances, and each of them is simulated: then no real model answers for it.
async fn answers_simulated_only(deps: &Deps, agent: &Agent, document: &ConfigDocument) -> bool {
    let mut own = 0;
    for instance in document.enabled_instances().filter(|one| one.agent == agent.id) {
        own += 1;
        if !deps.providers().is_simulated(instance).await {
            return false;
        }
    }
    own > 0
}

async fn check_model(deps: &Deps, agent: &Agent, model: &str) -> Result<Option<String>, ConfigureError> {
    match ask_model(deps, model, agent.own_key_for(model)).await {
        Ok(()) => Ok(None),
        Err(LlmError::Refused(why)) => {
            let known = deps.llm().list_models().await;
            let nearest = known
                .into_iter()
                .min_by_key(|name| strsim::osa_distance(name, model));
            Err(ConfigureError::ModelRefuses {
                agent: agent.id.clone(),
                model: model.to_owned(),
                why,
                nearest,
            })
        }
        Err(error) => Ok(Some(format!("agent `{}`: {error}", agent.id))),
    }
}

async fn check_providers(
    deps: &Deps,
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

async fn check_provider(deps: &Deps, bound: InstanceConfig) -> Option<String> {
    let problem = match deps.providers().check_credential(&bound.instance).await {
        CredentialState::Simulated => None,
        CredentialState::Missing(why) => Some(format!("{why}: its messages wait")),
        CredentialState::Unclear => Some("its credential could not be read".to_owned()),
        CredentialState::Present => {
            let answer = await_provider(deps, deps.providers().query_connection(&bound)).await;
            describe_answer(answer.unwrap_or(ConnectionAnswer::Unclear))
        }
    }?;
    let at = match &bound.instance.base_url {
        Some(url) => format!(" ({url})"),
        None => String::new(),
    };
    Some(format!("instance `{}`{at}: {problem}", bound.instance.id))
}

/// Describes an answer with which the instance would not work. A number that is not paired yet is no mistake of the
/// configuration.
fn describe_answer(answer: ConnectionAnswer) -> Option<String> {
    match answer {
        ConnectionAnswer::Open | ConnectionAnswer::Closed => None,
        ConnectionAnswer::NeedsCredentials => {
            Some("its provider refuses the key: its messages wait".to_owned())
        }
        ConnectionAnswer::Refused(why) => Some(format!(
            "its provider refuses every request ({why}): its messages wait"
        )),
        ConnectionAnswer::Unreachable => {
            Some("its provider does not answer; is its URL right, and does it run?".to_owned())
        }
        ConnectionAnswer::Unclear => {
            Some("its provider does not answer clearly; is its URL right?".to_owned())
        }
    }
}

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

/// Returns the instance with its tenant and agent, as the document has them.
pub(super) fn bind_instance(document: &ConfigDocument, instance: &Instance) -> Option<InstanceConfig> {
    let agent = document.agents.iter().find(|one| one.id == instance.agent)?;
    Some(InstanceConfig {
        instance: instance.clone(),
        tenant: document
            .tenants
            .iter()
            .find(|one| one.id == instance.tenant)?
            .clone(),
        tools: Vec::new(),
        agent: agent.clone(),
        knowledge: None,
    })
}

/// Waits for a provider's answer; `None` if it takes too long.
pub(super) async fn await_provider<T>(deps: &Deps, question: impl Future<Output = T>) -> Option<T> {
    run_within(deps.system(), PROVIDER_TIMEOUT, question).await
}

/// The fields of an instance, beside [`REACHING_FIELDS`], that decide which template is meant.
const TEMPLATE_FIELDS: [&str; 2] = ["account_id", "reengagement_template"];

/// A template that a document names.
struct NamedTemplate {
    /// The entry that names it.
    place: String,
    /// The instance that sends it.
    bound: InstanceConfig,
    template: MessageTemplate,
}

/// Asks for each template that is named anew. Returns the warnings. A template that does not exist or takes other
/// values is an error; one that waits for its approval is not.
pub(super) async fn check_templates(
    deps: &Deps,
    changes: &[ConfigurationChange],
    document: &ConfigDocument,
) -> Result<Vec<String>, ConfigureError> {
    let mut named = list_reengagement_templates(changes, document);
    named.extend(list_alert_templates(changes, document));
    let looks: Vec<_> = named
        .into_iter()
        .map(|named| check_template(deps, named))
        .collect();
    let found: Vec<Result<Option<String>, ConfigureError>> =
        stream::iter(looks).buffered(ASKED_AT_ONCE).collect().await;
    found.into_iter().filter_map(Result::transpose).collect()
}

fn list_reengagement_templates(
    changes: &[ConfigurationChange],
    document: &ConfigDocument,
) -> Vec<NamedTemplate> {
    let fields = [&REACHING_FIELDS[..], &TEMPLATE_FIELDS[..]].concat();
    let named = document.enabled_instances().filter_map(|instance| {
        let template = instance.reengagement_template.clone()?;
        is_changed(changes, "instance", instance.id.as_str(), &fields).then_some(())?;
        Some(NamedTemplate {
            place: format!("instance `{}`: reengagement_template", instance.id),
            bound: bind_instance(document, instance)?,
            template,
        })
    });
    named.collect()
}

/// Returns the templates of the alerts' destinations, with the value that an alert gives them.
fn list_alert_templates(changes: &[ConfigurationChange], document: &ConfigDocument) -> Vec<NamedTemplate> {
    let alerts = document.alerts.iter();
    let alerts = alerts.filter(|_| is_changed(changes, "alerts", "alerts", &["destinations"]));
    let named = alerts
        .flat_map(|alerts| &alerts.destinations)
        .filter_map(|destination| {
            let whatsapp = destination.whatsapp.as_ref()?;
            let mut enabled = document.enabled_instances();
            let instance = enabled.find(|instance| instance.id == whatsapp.instance)?;
            Some(NamedTemplate {
                place: format!("alerts: destination `{}`", destination.id),
                bound: bind_instance(document, instance)?,
                template: whatsapp.fill_template("an alert")?,
            })
        });
    named.collect()
}

async fn check_template(deps: &Deps, named: NamedTemplate) -> Result<Option<String>, ConfigureError> {
    let NamedTemplate {
        place,
        bound,
        template,
    } = named;
    let question = deps
        .providers()
        .check_template(&bound, &template, SignedDuration::ZERO);
    match await_provider(deps, question).await {
        Some(TemplateAnswer::Unfit(why)) => Err(ConfigureError::TemplateUnfit { place, why }),
        Some(TemplateAnswer::NotApproved(why)) => Ok(Some(format!(
            "{place}: {why}; nothing is sent with it until it is approved"
        ))),
        Some(TemplateAnswer::Usable | TemplateAnswer::Unclear) | None => Ok(None),
    }
}
