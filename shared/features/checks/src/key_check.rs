//! Looks for the keys of all instances when a process starts. What is missing is stored, so that it is known before the
//! first message needs it; what waited for a key that is there now goes on.

use crate::named_secrets::find_all_missing;
use jiff::SignedDuration;
use recado_domain::config::Instance;
use recado_domain::conversation::Conversation;
use recado_domain::ids::InstanceId;
use recado_domain::instance::{ConnectionStatus, InstanceChange, InstanceState};
use recado_domain::millis::add_duration;
use recado_pipeline::Deps;
use recado_pipeline::steps::connection::{record_closed, refresh_connection};
use recado_pipeline::steps::turn::draft::record_missing_model_key;
use recado_pipeline::steps::wake_up;
use recado_pipeline::steps::working_instances::WorkingPages;
use recado_ports::ports::{CredentialState, OverdueWork, PortResult};
use recado_ports::random_id::generate_correlation_id;
use recado_ports::records::configuration::find_config_by_id;
use std::collections::BTreeSet;

/// Time after which an owed answer that nobody asked for again is overdue, with a reserve.
const OWED_WITHIN: SignedDuration = SignedDuration::from_mins(10);

/// Maximum number of owed answers that are asked for at once. `reconcile` asks for the rest.
const TURNS_AT_ONCE: usize = 1000;

/// Number of instances whose keys are told one by one. Those of the others are looked for, too.
const TOLD: usize = 100;

/// The keys of an instance.
#[derive(Debug, Clone, PartialEq)]
pub struct InstanceKeys {
    /// The instance.
    pub instance: Instance,
    /// State of the key or token with which it sends.
    pub credential: CredentialState,
    /// `true` if there is no key for the model that answers.
    pub model_key_missing: bool,
}

impl InstanceKeys {
    /// Returns `true` if the state says already what was found, so that nothing is to be stored or asked.
    fn agree_with(&self, state: &InstanceState) -> bool {
        let credential_known = match self.credential {
            CredentialState::Missing(_) => false,
            CredentialState::Present | CredentialState::Simulated => {
                state.connection != ConnectionStatus::NeedsCredentials
            }
            CredentialState::Unclear => true,
        };
        credential_known && !self.model_key_missing && !state.llm_needs_credentials
    }
}

/// The keys of all instances, as a process found them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FoundKeys {
    /// Keys of the first instances.
    pub first: Vec<InstanceKeys>,
    /// Number of further instances.
    pub more: usize,
    /// `true` if all instances are simulated.
    pub all_simulated: bool,
    /// `true` if an instance lacks the model's key.
    pub model_key_missing: bool,
}

/// Looks for the keys of each configured instance. No provider and no model is asked. Instances are read page by page, so
/// that the memory does not grow with their number.
pub async fn find_instance_keys(deps: &Deps) -> PortResult<FoundKeys> {
    let has_key = has_model_key(deps).await;
    let mut found = FoundKeys {
        all_simulated: true,
        ..FoundKeys::default()
    };
    let mut pages = WorkingPages::begin(deps.store()).await?;
    while let Some(page) = pages.next_page().await? {
        for instance in page {
            let keys = look_for_keys(deps, instance, has_key).await;
            found.all_simulated &= keys.credential == CredentialState::Simulated;
            found.model_key_missing |= keys.model_key_missing;
            if found.first.len() < TOLD {
                found.first.push(keys);
            } else {
                found.more += 1;
            }
        }
    }
    Ok(found)
}

/// Returns `true` if there is a key for the model. One that cannot be read now counts as there: the first turn finds out.
async fn has_model_key(deps: &Deps) -> bool {
    deps.llm().has_key().await.unwrap_or(true)
}

/// Returns `true` if a model of the installation answers. An agent that the user runs, or with a key of its own, needs none; what
/// it lacks, its first turn finds out.
async fn needs_installation_key(deps: &Deps, instance: &Instance) -> bool {
    match find_config_by_id(deps.store(), &instance.id).await {
        Ok(Some(bound)) => bound.agent.http.is_none() && bound.agent.model_key.is_none(),
        _ => true,
    }
}

async fn look_for_keys(deps: &Deps, instance: Instance, has_key: bool) -> InstanceKeys {
    let credential = deps.providers().check_credential(&instance).await;
    let may_lack = !has_key && credential != CredentialState::Simulated;
    InstanceKeys {
        model_key_missing: may_lack && needs_installation_key(deps, &instance).await,
        instance,
        credential,
    }
}

/// Tells in the log which secrets are not there that entries of the configuration name. Such an entry does not work, and all else does:
/// the entry of one tenant must not keep the others from being served.
pub async fn tell_missing_secrets(deps: &Deps) -> PortResult<()> {
    for missing in find_all_missing(deps).await? {
        let (entry, why) = (missing.entry, missing.why);
        tracing::error!(
            event = "missing_secret",
            entry,
            why,
            "an entry names a secret that is not here: it does not work"
        );
    }
    Ok(())
}

/// Looks for the keys of each instance and stores which are missing. An instance whose key was missing and is there now is
/// asked for its connection, and its waiting messages and turns are enqueued.
pub async fn record_instance_keys(deps: &Deps) -> PortResult<()> {
    let has_key = has_model_key(deps).await;
    let mut with_new_key = BTreeSet::new();
    let mut pages = WorkingPages::begin(deps.store()).await?;
    while let Some(page) = pages.next_page().await? {
        let ids: Vec<InstanceId> = page.iter().map(|instance| instance.id.clone()).collect();
        let states = deps.store().read_instance_states(&ids).await?;
        for instance in page {
            let keys = look_for_keys(deps, instance, has_key).await;
            let state = states.get(&keys.instance.id);
            if keys.agree_with(state.unwrap_or(&InstanceState::default())) {
                continue;
            }
            if record_model_key(deps, &keys).await? {
                with_new_key.insert(keys.instance.id.clone());
            }
            record_credential(deps, &keys).await?;
        }
    }
    if with_new_key.is_empty() {
        return Ok(());
    }
    enqueue_owed_turns(deps, &with_new_key).await
}

/// Stores whether the model's key is missing. Returns `true` if it was missing and is there now.
async fn record_model_key(deps: &Deps, keys: &InstanceKeys) -> PortResult<bool> {
    let id = &keys.instance.id;
    if keys.model_key_missing {
        record_missing_model_key(deps, id, &generate_correlation_id(deps.system())).await?;
        return Ok(false);
    }
    let state = deps.store().read_instance_state(id).await?;
    if !state.llm_needs_credentials {
        return Ok(false);
    }
    let there = InstanceChange::ModelKeyMissing(false);
    Ok(deps.store().change_instance_state(id, &state, &there).await?.done)
}

async fn record_credential(deps: &Deps, keys: &InstanceKeys) -> PortResult<()> {
    let id = &keys.instance.id;
    match keys.credential {
        CredentialState::Missing(_) => {
            record_closed(deps, id, ConnectionStatus::NeedsCredentials, None).await
        }
        CredentialState::Present | CredentialState::Simulated => {
            let state = deps.store().read_instance_state(id).await?;
            match find_config_by_id(deps.store(), id).await? {
                Some(bound) if state.connection == ConnectionStatus::NeedsCredentials => {
                    refresh_connection(deps, &bound).await
                }
                _ => Ok(()),
            }
        }
        CredentialState::Unclear => Ok(()),
    }
}

/// Enqueues the turns of these instances in which the agent owes an answer.
async fn enqueue_owed_turns(deps: &Deps, instances: &BTreeSet<InstanceId>) -> PortResult<()> {
    let soon = add_duration(deps.system().now(), OWED_WITHIN);
    for work in deps.store().list_overdue(soon, TURNS_AT_ONCE).await? {
        let OverdueWork::Owed(id) = work else { continue };
        let found = deps.store().find_conversation(&id).await?;
        let is_owed = |found: &Conversation| instances.contains(&found.instance) && found.agent_owes_answer();
        if let Some(conversation) = found.filter(is_owed) {
            wake_up::enqueue_turn(deps, &conversation, &generate_correlation_id(deps.system())).await?;
        }
    }
    Ok(())
}
