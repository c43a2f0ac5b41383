//! Occasions and templates of invitations in a document. They are records of the tenant, not of the configuration that each turn
//! reads, so they are checked and written beside it, and `prune` leaves them.

use crate::{ConfigurationChange, ConfigurationChangeKind, ConfigureError};
use recado_domain::access::Caller;
use recado_domain::audit::{AuditAction, AuditedAction};
use recado_domain::config::ConfigDocument;
use recado_domain::ids::TenantId;
use recado_domain::invitations::{InvitationTemplate, Occasion};
use recado_occasions::occasion_reminders::{plan_reminders, withdraw_reminders};
use recado_pipeline::Deps;
use recado_pipeline::steps::audit::audit_actions;
use recado_pipeline::steps::invited_tenant::find_tenant;
use recado_pipeline::steps::unreadable::pass_over_unreadable;
use recado_ports::ports::PortResult;
use recado_ports::records::configuration::find_config_by_id;
use recado_ports::records::occasions::{find_occasion, list_invitation_templates};
use recado_ports::table::put_record;
use serde::Serialize;

/// The occasions and templates of a document.
#[derive(Default)]
pub(super) struct InvitationEntries {
    occasions: Vec<Occasion>,
    templates: Vec<InvitationTemplate>,
}

/// Takes the occasions and templates out of a document.
pub(super) fn take_invitation_entries(change: &mut ConfigDocument) -> InvitationEntries {
    InvitationEntries {
        occasions: std::mem::take(&mut change.occasions),
        templates: std::mem::take(&mut change.invitation_templates),
    }
}

impl InvitationEntries {
    /// Checks the entries against `document`, the configuration that will hold. Entries of other tenants than the caller's are
    /// refused as those of unknown ones.
    pub(super) async fn check(
        &self,
        deps: &Deps,
        caller: &Caller,
        document: &ConfigDocument,
    ) -> Result<(), ConfigureError> {
        for occasion in &self.occasions {
            occasion.check_occasion()?;
            let place = format!("occasion `{}`", occasion.id);
            check_tenant(deps, caller, document, (&place, &occasion.tenant)).await?;
            let in_document = |tenant: &TenantId| {
                let is_it = |one: &&recado_domain::config::Instance| one.id == occasion.instance;
                document
                    .instances
                    .iter()
                    .find(is_it)
                    .map(|one| one.tenant == *tenant)
            };
            let fits = if let Some(fits) = in_document(&occasion.tenant) {
                fits
            } else {
                let stored = find_config_by_id(deps.store(), &occasion.instance).await?;
                stored.is_some_and(|stored| stored.tenant.id == occasion.tenant)
            };
            if !fits {
                let why = format!("its tenant has no instance `{}`", occasion.instance);
                return Err(ConfigureError::InvitationEntry { place, why });
            }
        }
        self.check_reminders(deps).await?;
        for template in &self.templates {
            template.check_template()?;
            let place = format!("template `{}`", template.name);
            check_tenant(deps, caller, document, (&place, &template.tenant)).await?;
        }
        Ok(())
    }

    /// Checks that the templates of reminders exist, or will with the document.
    async fn check_reminders(&self, deps: &Deps) -> Result<(), ConfigureError> {
        for occasion in &self.occasions {
            for reminder in &occasion.reminders {
                let is_it = |one: &InvitationTemplate| {
                    one.tenant == occasion.tenant
                        && one.name == reminder.template
                        && one.channel == reminder.channel
                };
                if self.templates.iter().any(is_it) {
                    continue;
                }
                let name = Some(&reminder.template);
                let stored = list_invitation_templates(deps.store(), &occasion.tenant, name).await?;
                if !stored.iter().any(is_it) {
                    let place = format!("occasion `{}`", occasion.id);
                    let (name, channel) = (&reminder.template, reminder.channel.as_str());
                    let why = format!("there is no template `{name}` for {channel}");
                    return Err(ConfigureError::InvitationEntry { place, why });
                }
            }
        }
        Ok(())
    }

    /// Lists what writing the entries would change.
    pub(super) async fn list_changes(&self, deps: &Deps) -> PortResult<Vec<ConfigurationChange>> {
        let mut changes = Vec::new();
        for occasion in &self.occasions {
            let known = find_readable_occasion(deps, occasion).await?;
            changes.push(change_of(
                "occasion",
                occasion.id.as_str(),
                known.as_ref(),
                occasion,
            ));
        }
        for template in &self.templates {
            let known = find_template(deps, template).await?;
            changes.push(change_of(
                "invitation_template",
                template.name.as_str(),
                known.as_ref(),
                template,
            ));
        }
        Ok(changes)
    }

    /// Notes the changes in the audit and writes the entries.
    pub(super) async fn write(
        &self,
        deps: &Deps,
        caller: &Caller,
        changes: &[ConfigurationChange],
    ) -> PortResult<()> {
        let (of_occasions, of_templates) = changes.split_at(self.occasions.len().min(changes.len()));
        let mut actions = Vec::new();
        for (occasion, change) in self.occasions.iter().zip(of_occasions) {
            let known = find_readable_occasion(deps, occasion).await?;
            actions.extend(describe_change(
                change,
                &occasion.tenant,
                known.as_ref(),
                occasion,
            ));
        }
        for (template, change) in self.templates.iter().zip(of_templates) {
            let known = find_template(deps, template).await?;
            actions.extend(describe_change(
                change,
                &template.tenant,
                known.as_ref(),
                template,
            ));
        }
        audit_actions(deps, caller, actions).await?;
        for occasion in &self.occasions {
            write_occasion(deps, caller, occasion).await?;
        }
        for template in &self.templates {
            put_record(deps.store(), template).await?;
        }
        Ok(())
    }
}

/// Returns the occasion as it is stored. `None` also if the record cannot be read: it is written anew then.
async fn find_readable_occasion(deps: &Deps, occasion: &Occasion) -> PortResult<Option<Occasion>> {
    pass_over_unreadable(find_occasion(deps.store(), &occasion.tenant, &occasion.id).await)
}

/// Finds the stored template of the same name, channel and language.
async fn find_template(deps: &Deps, template: &InvitationTemplate) -> PortResult<Option<InvitationTemplate>> {
    let known = list_invitation_templates(deps.store(), &template.tenant, Some(&template.name)).await?;
    let is_it =
        |one: &InvitationTemplate| one.channel == template.channel && one.language == template.language;
    Ok(known.into_iter().find(is_it))
}

/// Tells the audit what an entry was and what it is. `None`: it is as it was.
fn describe_change<T: Serialize>(
    change: &ConfigurationChange,
    tenant: &TenantId,
    known: Option<&T>,
    new: &T,
) -> Option<AuditedAction> {
    if change.what == ConfigurationChangeKind::Unchanged {
        return None;
    }
    let audited = AuditAction::ConfigurationChanged.on_object(Some(tenant), change.kind, &change.id);
    let write = |entry: &T| serde_json::to_string(entry).unwrap_or_default();
    Some(match known {
        Some(known) => audited.with_change(write(known), write(new)),
        None => audited.with_result(write(new)),
    })
}

/// Plans the reminders of an occasion, writes it, and withdraws the reminders that it no longer has.
async fn write_occasion(deps: &Deps, caller: &Caller, occasion: &Occasion) -> PortResult<()> {
    let before = find_readable_occasion(deps, occasion).await?;
    let before = before.filter(|before| !before.reminders.is_empty());
    let tenant = if before.is_some() || !occasion.reminders.is_empty() {
        find_tenant(deps, &occasion.tenant).await?
    } else {
        None
    };
    if let Some(tenant) = &tenant {
        plan_reminders(deps, tenant, occasion, &caller.name).await?;
    }
    put_record(deps.store(), occasion).await?;
    if let (Some(tenant), Some(before)) = (&tenant, &before) {
        withdraw_reminders(deps, tenant, before, occasion).await?;
    }
    Ok(())
}

fn change_of<T: PartialEq>(kind: &'static str, id: &str, known: Option<&T>, new: &T) -> ConfigurationChange {
    ConfigurationChange {
        kind,
        id: id.to_owned(),
        what: match known {
            None => ConfigurationChangeKind::Created,
            Some(known) if known == new => ConfigurationChangeKind::Unchanged,
            Some(_) => ConfigurationChangeKind::Changed,
        },
        fields: Vec::new(),
        conversations: None,
    }
}

/// Checks that a tenant exists, or will with the document, and is within the caller's scope.
async fn check_tenant(
    deps: &Deps,
    caller: &Caller,
    document: &ConfigDocument,
    (place, tenant): (&str, &TenantId),
) -> Result<(), ConfigureError> {
    let is_named = document.tenants.iter().any(|known| known.id == *tenant);
    let exists = is_named || find_tenant(deps, tenant).await?.is_some();
    if exists && caller.scope.covers(tenant) {
        return Ok(());
    }
    Err(ConfigureError::InvitationEntry {
        place: place.to_owned(),
        why: format!("there is no tenant `{tenant}`"),
    })
}
