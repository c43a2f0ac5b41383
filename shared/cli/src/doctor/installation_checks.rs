//! Checks of what an installation reports about itself.

use super::name_runbook;
use crate::installation::InstallationClient;
use recado_domain::alert::AlertKind;
use recado_domain::config::{ConfigDocument, Instance, Tenant};
use recado_onboarding::{CheckResult, InstanceWebhook};
use serde_json::Value;

/// Checks that the installation can be reached and is healthy.
pub(super) async fn check_installation(there: &InstallationClient) -> Vec<CheckResult> {
    let (status, body) = match there.get_answer(&["health"], &[]).await {
        Ok(answer) => answer,
        Err(error) => {
            let found = CheckResult::check_failed("-", "reachable", format!("{error:#}"));
            return vec![found.with_fix("start it, or give --url as it listens")];
        }
    };
    let said = body["status"].as_str().unwrap_or("no word of its health");
    vec![if status.is_success() {
        CheckResult::check_passed("-", "health", said)
    } else {
        let problem = body["problem"].as_str().unwrap_or("no reason is given");
        CheckResult::check_failed("-", "health", format!("{status}: {said}: {problem}"))
            .with_fix("see its log; GET /health/whatsapp/detailed tells what waits")
    }]
}

/// Notes tenants whose hours are read in UTC: on most servers nobody chose it.
pub(super) fn check_time_zones(document: &ConfigDocument) -> Vec<CheckResult> {
    let is_utc = |tenant: &&Tenant| matches!(tenant.time_zone.as_str(), "UTC" | "Etc/UTC");
    let reads_hours = |tenant: &&Tenant| {
        let instances = document.instances.iter().filter(|one| one.tenant == tenant.id);
        let mut hours = instances.filter_map(|one| one.opening_hours.as_ref());
        hours.next().is_some() || document.calendars.iter().any(|one| one.tenant == tenant.id)
    };
    let noted = document.tenants.iter().filter(is_utc).filter(reads_hours);
    let noted = noted.map(|tenant| {
        let id = &tenant.id;
        let found = format!("tenant {id}: opening hours and appointments are read in UTC");
        let fix = "set time_zone of the tenant, such as America/Sao_Paulo, unless that is meant";
        CheckResult::check_noted("-", "time-zone", found).with_fix(fix)
    });
    noted.collect()
}

/// Checks an instance by the installation's own reports: the webhook's proof and URL, the connection and the rate.
pub(super) async fn check_instance(
    there: &InstallationClient,
    instance: &Instance,
    webhook: Option<&InstanceWebhook>,
) -> Vec<CheckResult> {
    let mut findings = recado_onboarding::setup_state(instance, webhook);
    findings.push(check_connection_state(there, instance).await);
    findings.extend(recado_onboarding::check_rate_limit(instance));
    findings
}

/// Checks the connection state that the installation has stored.
async fn check_connection_state(there: &InstallationClient, instance: &Instance) -> CheckResult {
    let name = instance.id.as_str();
    let query = [("instance", name.to_owned())];
    let answer = there.get_answer(&["health", "whatsapp"], &query).await;
    // An unhealthy installation answers 503 with the same body.
    let instance = match &answer {
        Ok((_, body)) => &body["instances"][0],
        Err(_) => &Value::Null,
    };
    let failed =
        |check, found: String, fix: String| CheckResult::check_failed(name, check, found).with_fix(fix);
    let waits = |why: &str, kind| failed("state", format!("{why}: messages wait"), name_runbook(kind));
    if let Some(since) = instance["silent_since"].as_str() {
        let found = format!("nothing came in since {since}, though it usually would");
        let runbook = name_runbook(AlertKind::SilentInstance);
        return failed(
            "silence",
            found,
            format!("recado catch-up {name}; then {runbook}"),
        );
    }
    if instance["llm_needs_credentials"] == true {
        let found = "the model's key is missing or was refused: turns wait";
        return failed(
            "model",
            found.to_owned(),
            "set ANTHROPIC_API_KEY there".to_owned(),
        );
    }
    if let Some(why) = instance["refusal"].as_str() {
        let why = format!("its provider refuses every message ({why})");
        return waits(&why, AlertKind::Disconnected);
    }
    match instance["connection"].as_str() {
        Some("open") => CheckResult::check_passed(name, "state", "open, as far as the installation knows"),
        Some("needs_credentials") => waits("its key is missing or was refused there", AlertKind::MissingKey),
        Some("unreachable") => {
            let why = "its provider cannot be reached, or its credential cannot be read";
            waits(why, AlertKind::Disconnected)
        }
        Some(other) => waits(other, AlertKind::Disconnected),
        None => CheckResult::check_failed(name, "state", "the installation says nothing of it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn hours_that_are_read_in_utc_are_noted() {
        let document = |zone: &str, hours: bool| -> ConfigDocument {
            let mut instance =
                json!({"id": "desk", "tenant": "clinic", "agent": "ana", "provider": "evolution"});
            if hours {
                instance["opening_hours"] = json!({"mon": ["09:00-18:00"]});
            }
            let tenant = json!({"id": "clinic", "time_zone": zone});
            serde_json::from_value(json!({"tenants": [tenant], "instances": [instance]})).unwrap()
        };
        assert_eq!(check_time_zones(&document("Etc/UTC", true)).len(), 1);
        assert_eq!(check_time_zones(&document("Etc/UTC", false)).len(), 0);
        assert_eq!(check_time_zones(&document("America/Sao_Paulo", true)).len(), 0);
    }
}
