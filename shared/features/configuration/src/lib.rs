//! Reads, checks and changes the configuration: whole documents (`recado apply`, the file at a start) and single entries.
//!
//! Its types and rules are in [`recado_domain::config`].

pub mod configuration_problems;
pub mod document_routes;
pub mod endpoint_state;
pub mod entry_requests;
pub mod entry_routes;
pub mod secret_reads;

use recado_domain::access::Caller;
use recado_domain::config::{ConfigDocument, ConfigError, ConfigNames, Entry, EntryRef};
use recado_domain::ids::{AgentId, InstanceId};
use recado_domain::invitations::{InvitationTemplateError, OccasionError};
use recado_pipeline::Deps;
use recado_pipeline::steps::audit::audit_actions;
use recado_pipeline::steps::owed_replies::describe_owed;
use recado_ports::ports::{PortError, PortResult};
use recado_ports::records::configuration::load_configuration;
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;

mod audited_changes;
mod change_check;
mod endpoint_records;
mod entries;
mod invitation_entries;
mod named_urls;
mod prune;
mod start;
mod surroundings;
mod tenant_check;
mod webhook_endpoints;

use crate::audited_changes::{describe_change, list_audited_changes};
pub use crate::entries::{
    ChangedEntry, EntryMatch, change_entry, compute_version, create_entry, find_entry, list_visible_entries,
    remove_entry, rotate_secret,
};
use crate::prune::PlannedRemoval;
pub use crate::start::{StartedConfiguration, apply_start_file, list_changed_otherwise};
use crate::tenant_check::{check_tenant_changes, check_tenant_permission};
pub use crate::webhook_endpoints::{EndpointChange, change_webhook_endpoints};

/// The options of applying a document.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ApplyOptions {
    /// `true`: what the document does not name is removed. An instance with a history is disabled instead.
    pub prune: bool,
    /// `true`: nothing is written and nobody is asked; the result tells what would change.
    pub dry_run: bool,
    /// `true`: an instance is removed or disabled also if it still owes a reply.
    pub force: bool,
    /// Parties that are asked about what is new in the document.
    pub asks: AskedParties,
}

/// The parties that are asked about a document before it is applied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AskedParties {
    /// Nobody: the document is only checked by itself.
    #[default]
    Nobody,
    /// The providers of instances that are new or reached in another way, for their connection.
    Providers,
    /// The providers, and the models of agents that are new or have another model, for a token.
    ProvidersAndModels,
}

/// The result of applying a document.
#[derive(Debug, Clone, PartialEq)]
pub struct AppliedDocument {
    /// Changes of tenants, then calendars, tools, agents and instances, in the document's order, then of the alerts.
    pub changes: Vec<ConfigurationChange>,
    /// Part of the configuration that the document touches, after the change.
    pub document: ConfigDocument,
    /// Problems that are no reason to refuse the document, such as a provider that does not answer.
    pub warnings: Vec<String>,
}

/// The result for one tenant, calendar, tool, agent or instance of a document, or for its alerts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ConfigurationChange {
    /// Kind of the entry: `tenant`, `calendar`, `tool`, `agent`, `instance` or `alerts`.
    pub kind: &'static str,
    /// Id of the tenant, calendar, tool, agent or instance; `alerts` for the alerts.
    pub id: String,
    /// Kind of the change.
    pub what: ConfigurationChangeKind,
    /// Names of the fields that changed. Absent if none did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
    /// Number of conversations of an instance that is removed or disabled: at most 200 are counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversations: Option<usize>,
}

/// The kind of a change of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ConfigurationChangeKind {
    /// The entry is new.
    Created,
    /// At least one field changed.
    Changed,
    /// The stored entry was equal already.
    Unchanged,
    /// The entry is removed: the document does not name it.
    Removed,
    /// The instance is disabled: the document does not name it, and it has a history.
    Disabled,
}

/// The reason why applying a document failed.
#[derive(Debug, thiserror::Error)]
pub enum ConfigureError {
    /// The document is not valid; nothing of it was applied.
    #[error(transparent)]
    Invalid(#[from] ConfigError),
    /// Instances that should be removed or disabled still owe replies.
    #[error("still owed: {}. Wait until they are answered or sent, or answer them; `force` leaves them waiting", describe_owed(.0))]
    StillOwes(Vec<(InstanceId, usize)>),
    /// A model refuses every request; nothing was applied.
    #[error("agent `{agent}`: the model `{model}` refuses requests ({why}){}", describe_nearest(.nearest.as_deref()))]
    ModelRefuses {
        /// The agent that names the model.
        agent: AgentId,
        /// The model.
        model: String,
        /// Answer of the model's API.
        why: String,
        /// The most similar name of a model that the API lists.
        nearest: Option<String>,
    },
    /// A template is named that its provider does not have, or whose values do not fit; nothing was applied.
    #[error("{place}: {why}")]
    TemplateUnfit {
        /// The entry that names the template.
        place: String,
        /// Reason.
        why: String,
    },
    /// An occasion is not valid; nothing was applied.
    #[error(transparent)]
    Occasion(#[from] OccasionError),
    /// A template of invitations is not valid; nothing was applied.
    #[error(transparent)]
    InvitationTemplate(#[from] InvitationTemplateError),
    /// An occasion or a template names what does not exist; nothing was applied.
    #[error("{place}: {why}")]
    InvitationEntry {
        /// The entry.
        place: String,
        /// Reason.
        why: String,
    },
    /// The named record does not exist.
    #[error("there is no such {0}")]
    NotFound(&'static str),
    /// An entry with the id of a new one exists.
    #[error("there is such a {kind} already: change it with PUT", kind = .0)]
    Exists(&'static str),
    /// The entry was changed since the caller read it.
    #[error("this {0} was changed meanwhile: read it again")]
    Changed(&'static str),
    /// The caller may make and remove no tenants; nothing was applied.
    #[error("this would {verb} the tenant `{tenant}`, which only a token with the role `admin` may do")]
    TenantPermission {
        /// Id of the tenant.
        tenant: String,
        /// What would be done with it: `make` or `remove`.
        verb: &'static str,
    },
    /// Another entry needs the one that was to be removed.
    #[error("{needed} is needed by {by}: change that first")]
    InUse {
        /// The entry.
        needed: EntryRef,
        /// An entry that refers to it.
        by: EntryRef,
    },
    /// The instance's webhook secret has its last version.
    #[error("the webhook secret has its last version: rotate the master")]
    LastSecretVersion,
    /// The store failed. The document may or may not have been applied.
    #[error(transparent)]
    Port(#[from] PortError),
}

fn describe_nearest(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| {
        format!("; the nearest that there is: `{name}`")
    })
}

/// Returns the configuration within the caller's scope.
pub async fn read_configuration(deps: &Deps, caller: &Caller) -> PortResult<ConfigDocument> {
    load_configuration(deps.store(), caller.scope.tenant()).await
}

/// Applies `change`: creates and replaces the entries in it, and leaves all others unchanged. With
/// [`ApplyOptions::prune`], all others are removed instead, or disabled. A caller of one tenant changes that tenant alone.
pub async fn apply_configuration(
    deps: &Deps,
    caller: &Caller,
    mut change: ConfigDocument,
    options: ApplyOptions,
) -> Result<AppliedDocument, ConfigureError> {
    let invitations = invitation_entries::take_invitation_entries(&mut change);
    let states = endpoint_records::list_states_before(deps, &change).await?;
    let (known, removal) = check_document(deps, caller, &mut change, options).await?;
    check_tenant_changes(deps, &change, &known).await?;
    let mut changes = list_changes(&known, &change);
    check_tenant_permission(caller, changes.iter().chain(&removal.changes))?;
    let document = removal.apply_to(&known).with_changes(&change);
    // A dry run would tell, with nothing written, which hosts of the network answer.
    let asks = if options.dry_run {
        AskedParties::Nobody
    } else {
        options.asks
    };
    let warnings = change_check::check_changes(deps, &changes, &document, asks).await?;
    invitations.check(deps, caller, &document).await?;
    let of_invitations = invitations.list_changes(deps).await?;
    changes.extend(removal.changes);
    if !options.dry_run
        && changes
            .iter()
            .any(|change| change.what != ConfigurationChangeKind::Unchanged)
    {
        audit_actions(deps, caller, list_audited_changes(&known, &document)).await?;
        prune::write_changes(deps, caller, (&known, &states), change, removal.plan).await?;
        tracing::info!(by = %caller.name, "the configuration was changed");
    } else if !options.dry_run {
        endpoint_records::follow_endpoint_changes(deps, &states, &known, &change).await?;
    }
    let is_new = |change: &ConfigurationChange| change.what != ConfigurationChangeKind::Unchanged;
    if !options.dry_run && of_invitations.iter().any(is_new) {
        invitations.write(deps, caller, &of_invitations).await?;
    }
    changes.extend(of_invitations);
    Ok(AppliedDocument {
        changes,
        document,
        warnings,
    })
}

fn list_changes(known: &ConfigDocument, change: &ConfigDocument) -> Vec<ConfigurationChange> {
    let stored = known.list_entries().into_iter();
    let stored: BTreeMap<EntryRef, Entry> = stored.map(|entry| (entry.entry_name(), entry)).collect();
    let mut changes = Vec::new();
    for entry in change.list_entries() {
        let name = entry.entry_name();
        let before = stored.get(&name).map(Entry::to_json);
        changes.extend(describe_change(
            (name.kind_word(), name.id_text()),
            before,
            Some(entry.to_json()),
        ));
    }
    let alerts = |document: &ConfigDocument| document.alerts.as_ref().map(|alerts| json!(alerts));
    // The list is compared as a field.
    let prices = |document: &ConfigDocument| document.prices.as_ref().map(|prices| json!({"prices": prices}));
    changes.extend(describe_change(
        ("alerts", "alerts"),
        alerts(known),
        alerts(change),
    ));
    changes.extend(describe_change(
        ("prices", "prices"),
        prices(known),
        prices(change),
    ));
    changes
}

/// Brings the document into its providers' forms and checks it. Returns the part of the configuration within the caller's
/// scope that the document touches, and what is to be removed of it.
async fn check_document(
    deps: &Deps,
    caller: &Caller,
    change: &mut ConfigDocument,
    options: ApplyOptions,
) -> Result<(ConfigDocument, PlannedRemoval), ConfigureError> {
    let adopt = |instance| deps.providers().normalize(instance);
    let instances = change.instances.iter().cloned();
    let adopted: Result<Vec<_>, _> = instances.map(adopt).collect();
    let mut names = ConfigNames {
        alerts: options.prune || change.alerts.is_some(),
        prices: options.prune || change.prices.is_some(),
        ..ConfigNames::default()
    };
    names.add_change(change);
    if let Ok(instances) = &adopted {
        names.add_change(&ConfigDocument {
            instances: instances.clone(),
            ..ConfigDocument::default()
        });
    }
    let own_tenant = caller.scope.tenant();
    let all = if options.prune && own_tenant.is_none() {
        load_configuration(deps.store(), None).await?
    } else {
        surroundings::read_surroundings(deps, &names, own_tenant).await?
    };
    if let Some(tenant) = own_tenant {
        change.check_within_tenant(tenant, &all)?;
    }
    change.instances = adopted?;
    entries::keep_instance_records(deps, caller, change, &all);
    check_named_hosts(deps, change)?;
    webhook_endpoints::settle_endpoints(change, &all, options);
    named_urls::check_named_urls(deps, caller, change, &all)?;
    let Some(tenant) = own_tenant else {
        change.check_removals(&all)?;
        let removal = prune::plan_removal(deps, &all.without_removed_tenants(), change, options).await?;
        change.validate_against(&removal.apply_to(&all))?;
        return Ok((all, removal));
    };
    // Checked again, since a provider may write an instance's name in several ways. The own tenant is checked first. So a document
    // that names an entry of others gets the same errors as one that names an unknown entry.
    change.check_within_tenant(tenant, &all)?;
    change.check_removals(&all)?;
    let own = all.of_tenant(tenant);
    let mut removal = prune::plan_removal(deps, &own.without_removed_tenants(), change, options).await?;
    removal.keep_tenants();
    change.validate_against(&removal.apply_to(&own))?;
    change.validate_against(&removal.apply_to(&all))?;
    Ok((own, removal))
}

/// Checks the base URLs that tokens of tenants named, once it is known which these are.
fn check_named_hosts(deps: &Deps, change: &ConfigDocument) -> Result<(), ConfigError> {
    for instance in change.instances.iter().filter(|one| one.named_by_tenant) {
        deps.providers().normalize(instance.clone())?;
    }
    Ok(())
}
