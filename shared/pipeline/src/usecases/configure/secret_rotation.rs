//! Gives an instance a new webhook secret, and keeps with instances what no document says.

use super::{ConfigureError, find_entry};
use crate::steps::audit::audit_action;
use jiff::{SignedDuration, Timestamp};
use recado_domain::access::Caller;
use recado_domain::audit::{AuditAction, AuditedAction};
use recado_domain::config::{ConfigDocument, ConfigEntry, ConfigRemoval, Instance};
use recado_domain::ids::InstanceId;
use recado_ports::Deps;
use recado_ports::ports::WriteOutcome;
use recado_ports::random_id::generate_nonce;
use recado_ports::records::configuration::replace_configuration;

/// Gives the instance the next version of its webhook secret, and returns the instance as it is now. The secret before
/// is accepted for `overlap` more.
pub async fn rotate_secret(
    deps: &Deps,
    caller: &Caller,
    id: &InstanceId,
    overlap: SignedDuration,
) -> Result<Instance, ConfigureError> {
    let mut instance: Instance = find_entry(deps, caller, id.as_str()).await?;
    let (tenant, before) = (instance.tenant.clone(), instance.secret_version);
    let known = instance.clone().into_document();
    instance
        .rotate_secret(generate_nonce(deps.system()), overlap, deps.system().now())
        .map_err(|_| ConfigureError::LastSecretVersion)?;
    let rotated =
        AuditedAction::on_object(AuditAction::SecretRotated, Some(&tenant), "instance", id.as_str());
    let after = describe_version(&instance);
    audit_action(
        deps,
        caller,
        rotated.with_change(format!("version {}", u8::from(before)), after),
    )
    .await?;
    let change = instance.clone().into_document();
    let nothing = ConfigRemoval::default();
    let written = replace_configuration(deps.store(), &change, &nothing, &known);
    if written.await? == WriteOutcome::Conflict {
        return Err(ConfigureError::Changed(Instance::KIND));
    }
    tracing::info!(by = %caller.name, instance_id = %id, "a webhook secret was rotated");
    Ok(instance)
}

fn describe_version(instance: &Instance) -> String {
    let version = u8::from(instance.secret_version);
    let until = instance.previous_secret_until;
    until.map_or_else(
        || format!("version {version}"),
        |until: Timestamp| format!("version {version}; the one before until {until}"),
    )
}

/// Keeps with each instance what no document says: its webhook secrets, the time of its tenant, and who named its base URL.
pub(super) fn keep_instance_records(
    deps: &Deps,
    caller: &Caller,
    change: &mut ConfigDocument,
    known: &ConfigDocument,
) {
    for instance in &mut change.instances {
        let stored = known.instances.iter().find(|known| known.id == instance.id);
        instance.keep_secret(stored, generate_nonce(deps.system()));
        instance.keep_tenant_since(stored, deps.system().now());
        instance.keep_namer(stored, caller.scope.tenant().is_some());
    }
}
