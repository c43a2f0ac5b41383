//! The rule of budgets: a tenant has used most of its budget of the month, or all.

use super::super::{AlertKind, AlertSeverity, AlertSubject, Finding, Findings};
use super::{InstallationStatus, installation_finding};
use crate::budget::BudgetUse;
use crate::ids::TenantId;

/// The used part of a tenant's budget of this month.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantBudgetStatus {
    /// The tenant.
    pub tenant: TenantId,
    /// The used part.
    pub used: BudgetUse,
    /// `true` if the agents pause once the budget is used up.
    pub stops: bool,
}

/// Finds budgets that are used up, or nearly. Each part is told once in a month, and over when the next begins.
pub(super) fn find_used_budgets(status: &InstallationStatus, into: &mut Findings) {
    let Some(budgets) = &status.budgets else { return };
    into.looked_at.insert(AlertKind::Budget);
    into.budgets_left_out
        .extend(status.budgets_left_out.iter().cloned());
    for one in budgets {
        if one.used.is_nearly_used_up() {
            let summary = format!("tenant {} has used 80 % of its budget of this month", one.tenant);
            into.found
                .push(budget_finding(one, AlertSeverity::Warning, summary));
        }
        if one.used.is_used_up() {
            let then = if one.stops {
                "its agents pause until the next month"
            } else {
                "its agents go on"
            };
            let summary = format!(
                "tenant {} has used up its budget of this month: {then}",
                one.tenant
            );
            into.found
                .push(budget_finding(one, AlertSeverity::Critical, summary));
        }
    }
}

fn budget_finding(one: &TenantBudgetStatus, severity: AlertSeverity, summary: String) -> Finding {
    Finding {
        subject: AlertSubject {
            tenant: Some(one.tenant.clone()),
            ..AlertSubject::default()
        },
        ..installation_finding(AlertKind::Budget, severity, summary)
    }
}
