//! The rule of secrets that entries of the configuration name: one is not there.

use super::super::{AlertKind, AlertSeverity, AlertSubject, Finding, Findings};
use super::{InstallationStatus, installation_finding};
use crate::ids::TenantId;
use std::collections::BTreeMap;

/// A secret that an entry names and that is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingSecret {
    /// Tenant of the entry; `None`: the installation's alerts.
    pub tenant: Option<TenantId>,
    /// Words for the place of the reference.
    pub entry: String,
    /// Words for what is missing.
    pub why: String,
}

/// Finds secrets that are not there. All of a tenant are one condition, which names the first.
pub(super) fn find_missing_secrets(status: &InstallationStatus, into: &mut Findings) {
    let Some(missing) = &status.missing_secrets else {
        return;
    };
    into.looked_at.insert(AlertKind::MissingKey);
    let mut of_tenants: BTreeMap<Option<&TenantId>, Vec<&MissingSecret>> = BTreeMap::new();
    for one in missing {
        of_tenants.entry(one.tenant.as_ref()).or_default().push(one);
    }
    for (tenant, all) in of_tenants {
        let Some(first) = all.first() else { continue };
        let others = match all.len() {
            1 => String::new(),
            count => format!(", and {} more like it", count - 1),
        };
        let summary = format!("{}: {}{others}", first.entry, first.why);
        into.found.push(Finding {
            subject: AlertSubject {
                tenant: tenant.cloned(),
                ..AlertSubject::default()
            },
            ..installation_finding(AlertKind::MissingKey, AlertSeverity::Critical, summary)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::find_conditions;
    use super::*;
    use crate::config::AlertConfig;
    use jiff::Timestamp;

    #[test]
    fn the_missing_secrets_of_a_tenant_are_one_condition_and_end_only_after_a_look() {
        let missing = |tenant: &str, entry: &str| MissingSecret {
            tenant: TenantId::parse(tenant).ok(),
            entry: entry.to_owned(),
            why: "X is not set".to_owned(),
        };
        let all = vec![
            missing("a", "calendar `c`"),
            missing("b", "tool `t`"),
            missing("a", "tool `u`"),
        ];
        let status = InstallationStatus {
            missing_secrets: Some(all),
            ..InstallationStatus::default()
        };
        let (config, now) = (AlertConfig::default(), Timestamp::UNIX_EPOCH);
        let findings = find_conditions(&config, &status, now);
        let told: Vec<&str> = findings.found.iter().map(|one| one.summary.as_str()).collect();
        assert_eq!(
            told,
            [
                "calendar `c`: X is not set, and 1 more like it",
                "tool `t`: X is not set"
            ]
        );
        assert!(findings.looked_at.contains(&AlertKind::MissingKey));
        let unknown = find_conditions(&config, &InstallationStatus::default(), now);
        assert!(
            !unknown.looked_at.contains(&AlertKind::MissingKey),
            "what was told stays"
        );
    }
}
