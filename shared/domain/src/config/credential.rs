//! Checks that a credential reference names a secret of its own tenant.

use super::{Calendar, ConfigDocument, ConfigError, CredentialRef, Instance};
use crate::ids::TenantId;
use crate::tools::Tool;
use std::collections::BTreeSet;

/// The beginning of the name of every variable that holds a tenant's own secret; the tenant follows.
const VARIABLE_PREFIX: &str = "RECADO_CREDENTIAL_";

/// The beginning of the name of every variable that holds the secret of an alert's destination.
pub const ALERT_VARIABLE_PREFIX: &str = "RECADO_ALERT_";

/// The beginning of the name of every parameter that holds the secret of a tenant's own app.
const APP_SECRET_PARAMETER: &str = "app-secret";

impl TryFrom<String> for CredentialRef {
    type Error = ConfigError;

    fn try_from(text: String) -> Result<Self, ConfigError> {
        match text.split_once(':') {
            Some(("env", name)) if !name.is_empty() => Ok(Self::Env(name.to_owned())),
            Some(("ssm", name)) if !name.is_empty() => Ok(Self::Ssm(name.to_owned())),
            // The text may be a secret pasted by mistake, so the error does not repeat the text.
            _ => Err(ConfigError::new(
                "a credential must be a reference, `env:NAME` or `ssm:/path/name`, never the secret itself",
            )),
        }
    }
}

impl From<CredentialRef> for String {
    fn from(reference: CredentialRef) -> Self {
        match reference {
            CredentialRef::Env(name) => format!("env:{name}"),
            CredentialRef::Ssm(name) => format!("ssm:{name}"),
        }
    }
}

impl CredentialRef {
    /// Returns `true` if the reference names a secret of `tenant`: `env:RECADO_CREDENTIAL_{TENANT}_{NAME}` or
    /// `ssm:{prefix}instances/{tenant}/{name}`.
    ///
    /// `{TENANT}` is the tenant's id in capitals, with `_` in place of every character that is not a letter or digit.
    /// `{NAME}` holds no `_`, so that a variable names exactly one tenant.
    pub fn belongs_to_tenant(&self, tenant: &TenantId) -> bool {
        match self {
            Self::Env(name) => tenant_of_variable(name) == Some(&*uppercase_tenant(tenant)),
            Self::Ssm(name) => tenant_of_parameter(name) == Some(tenant.as_str()),
        }
    }

    /// Returns `true` if the reference may name the secret of an app of `tenant`: a secret of the tenant, and if it is a
    /// parameter, one whose name begins with `app-secret`. The function that takes webhooks reads no others.
    pub fn names_app_secret_of(&self, tenant: &TenantId) -> bool {
        let fits = match self {
            Self::Env(_) => true,
            Self::Ssm(path) => path
                .rsplit_once('/')
                .is_some_and(|(_, name)| name.starts_with(APP_SECRET_PARAMETER)),
        };
        fits && self.belongs_to_tenant(tenant)
    }

    /// Describes, for people, the references to the secret of an app that an instance of `tenant` may use.
    pub fn describe_allowed_app_secret(tenant: &TenantId) -> String {
        format!(
            "`env:{VARIABLE_PREFIX}{}_NAME` (NAME of letters and digits) or `ssm:…/instances/{tenant}/{APP_SECRET_PARAMETER}…`",
            uppercase_tenant(tenant)
        )
    }

    /// Describes, for people, that the secret is missing.
    pub fn describe_missing(&self) -> String {
        match self {
            Self::Env(name) => format!("{name} is not set"),
            Self::Ssm(name) => format!("the parameter {name} is not there"),
        }
    }

    /// Returns `true` if the reference names a secret of an alert's destination: `env:RECADO_ALERT_{NAME}` or
    /// `ssm:{prefix}alerts/{name}`.
    pub fn belongs_to_alerts(&self) -> bool {
        match self {
            Self::Env(name) => name.strip_prefix(ALERT_VARIABLE_PREFIX).is_some_and(|own| {
                !own.is_empty() && own.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
            }),
            Self::Ssm(name) => {
                let path = name.strip_prefix('/').filter(|path| !path.starts_with("aws/"));
                let own = path.and_then(|path| path.rsplit_once("/alerts/"));
                own.is_some_and(|(_, name)| {
                    !name.is_empty() && !path.is_some_and(|p| p.contains("instances/"))
                })
            }
        }
    }

    /// Describes, for people, the references that an instance of `tenant` may use.
    pub fn describe_allowed_for(tenant: &TenantId) -> String {
        format!(
            "`env:{VARIABLE_PREFIX}{}_NAME` (NAME of letters and digits) or `ssm:…/instances/{tenant}/…`",
            uppercase_tenant(tenant)
        )
    }
}

pub(super) fn uppercase_tenant(tenant: &TenantId) -> String {
    let fine = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    tenant
        .as_str()
        .chars()
        .map(fine)
        .collect::<String>()
        .to_ascii_uppercase()
}

/// Returns the tenant part of a variable's name. `None`: the name is not that of a tenant's own variable.
fn tenant_of_variable(name: &str) -> Option<&str> {
    let (tenant, own) = name.strip_prefix(VARIABLE_PREFIX)?.rsplit_once('_')?;
    let fine = !own.is_empty() && own.bytes().all(|b| b.is_ascii_alphanumeric());
    fine.then_some(tenant)
}

/// Returns the tenant in a parameter's path: the segment after the first segment `instances`. Parameters of AWS itself
/// (`/aws/…`) belong to no tenant, since they lead to other secrets.
fn tenant_of_parameter(name: &str) -> Option<&str> {
    let path = name.strip_prefix('/').filter(|path| !path.starts_with("aws/"))?;
    let mut segments = path.split('/').skip_while(|segment| *segment != "instances");
    let (_, tenant, own) = (segments.next()?, segments.next()?, segments.next()?);
    (!own.is_empty()).then_some(tenant)
}

/// The words for an entry whose credential is a variable of two tenants.
const SHARED_VARIABLE: &str =
    "two tenants' ids are alike in capitals, so its credential cannot be a variable of one of them";

/// Refuses an instance, a calendar or a tool whose credential is a variable of two tenants. That happens when the ids of two tenants are
/// equal in capitals.
pub(super) fn check_shared_variables<'a>(
    all: &ConfigDocument,
    tenants: impl Iterator<Item = &'a TenantId>,
) -> Result<(), ConfigError> {
    let mut seen = BTreeSet::new();
    let twice: BTreeSet<String> = tenants
        .map(uppercase_tenant)
        .filter(|tenant| !seen.insert(tenant.clone()))
        .collect();
    let is_shared = |reference: &CredentialRef| match reference {
        CredentialRef::Env(name) => tenant_of_variable(name).is_some_and(|tenant| twice.contains(tenant)),
        CredentialRef::Ssm(_) => false,
    };
    let shared = |instance: &&Instance| {
        let mut references = instance.credential.iter().chain(&instance.app_secret);
        references.any(is_shared)
    };
    let refuse = |of: String| Err(ConfigError::of(of, SHARED_VARIABLE));
    let names_shared = |calendar: &&Calendar| calendar.credential().is_some_and(is_shared);
    if let Some(calendar) = all.calendars.iter().find(names_shared) {
        return refuse(format!("calendar `{}`", calendar.id));
    }
    let names_shared = |tool: &&Tool| tool.credential().is_some_and(is_shared);
    if let Some(tool) = all.tools.iter().find(names_shared) {
        return refuse(format!("tool `{}`", tool.id));
    }
    let mut senders = all.tenants.iter().flat_map(|tenant| &tenant.email_senders);
    if let Some(sender) = senders.find(|sender| sender.credential.as_ref().is_some_and(is_shared)) {
        return refuse(format!("e-mail sender `{}`", sender.id));
    }
    match all.instances.iter().find(shared) {
        Some(instance) => refuse(format!("instance `{}`", instance.id)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_of(reference: &str, tenant: &str) -> bool {
        let reference = CredentialRef::try_from(reference.to_owned()).unwrap();
        reference.belongs_to_tenant(&TenantId::parse(tenant).unwrap())
    }

    #[test]
    fn a_tenant_names_its_own_secrets() {
        assert!(is_of("env:RECADO_CREDENTIAL_CLINIC_EVOLUTION", "clinic"));
        assert!(is_of("env:RECADO_CREDENTIAL_CLINICA_SUL_KEY2", "clinica-sul"));
        assert!(is_of("ssm:/recado/instances/clinic/evolution-key", "clinic"));
        assert!(is_of("ssm:/a/b/instances/clinic/meta/token", "clinic"));
    }

    #[test]
    fn an_app_secret_is_a_secret_of_the_tenant_with_a_name_of_its_own() {
        let fits = |text: &str| {
            let reference = CredentialRef::try_from(text.to_owned()).unwrap();
            reference.names_app_secret_of(&TenantId::parse("clinic").unwrap())
        };
        assert!(fits("env:RECADO_CREDENTIAL_CLINIC_APP") && fits("ssm:/recado/instances/clinic/app-secret"));
        assert!(fits("ssm:/recado/instances/clinic/line-2/app-secret-2"));
        for other in [
            "env:META_APP_SECRET",
            "env:RECADO_CREDENTIAL_OTHER_APP",
            "ssm:/recado/instances/clinic/meta-token",
            "ssm:/recado/instances/other/app-secret",
            "ssm:/recado/own/app-secret",
        ] {
            assert!(!fits(other), "{other}");
        }
    }

    #[test]
    fn a_destination_of_alerts_names_only_secrets_of_alerts() {
        let fits = |text: &str| {
            CredentialRef::try_from(text.to_owned())
                .unwrap()
                .belongs_to_alerts()
        };
        assert!(fits("env:RECADO_ALERT_PAGER") && fits("env:RECADO_ALERT_SMTP_2"));
        assert!(fits("ssm:/recado/alerts/pager"));
        for other in [
            "env:RECADO_ALERT_",
            "env:RECADO_TOKEN",
            "env:RECADO_CREDENTIAL_CLINIC_KEY",
            "env:META_ACCESS_TOKEN",
            "ssm:/recado/own/anthropic-api-key",
            "ssm:/recado/alerts/",
            "ssm:/recado/instances/clinic/alerts/key",
            "ssm:/aws/reference/secretsmanager/alerts/key",
            "ssm:recado/alerts/key",
        ] {
            assert!(!fits(other), "{other}");
        }
    }

    #[test]
    fn nobody_names_anything_else() {
        for other in [
            "env:AWS_SECRET_ACCESS_KEY",
            "env:META_APP_SECRET",
            "env:RECADO_TOKEN",
            "env:RECADO_WEBHOOK_SECRET",
            "env:HOME",
            "env:RECADO_CREDENTIAL_",
            "env:RECADO_CREDENTIAL_CLINIC",
            "env:RECADO_CREDENTIAL_CLINIC_",
            "env:RECADO_CREDENTIAL_CLINIC_A_B",
            "env:RECADO_CREDENTIAL_OTHER_KEY",
            "env:recado_credential_clinic_KEY",
            "ssm:/recado/meta-app-secret",
            "ssm:/recado/instances/clinic",
            "ssm:/recado/instances/clinic/",
            "ssm:/recado/instances/other/key",
            "ssm:/recado/instances/other/instances/clinic/key",
            "ssm:/recado/instances/clinic-2/key",
            "ssm:/aws/reference/secretsmanager/instances/clinic/key",
            "ssm:recado/instances/clinic/key",
            "ssm:arn:aws:ssm:sa-east-1:1:parameter/recado/instances/clinic/key",
        ] {
            assert!(!is_of(other, "clinic"), "{other}");
        }
        // The name after the tenant has no underscore, so the longer tenant's variable is not the shorter one's.
        assert!(!is_of("env:RECADO_CREDENTIAL_A_B_KEY", "a"));
        assert!(is_of("env:RECADO_CREDENTIAL_A_B_KEY", "a-b"));
    }
}
