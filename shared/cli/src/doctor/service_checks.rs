//! The checks that the installation makes with its own keys.

use super::name_runbook;
use crate::installation::InstallationClient;
use anyhow::{Context, Result};
use jiff::{SpanRound, Timestamp, Unit};
use recado_domain::alert::AlertKind;
use recado_domain::config::Instance;
use recado_domain::counting::count_things;
use recado_onboarding::CheckResult;
use serde::Deserialize;

/// The answer of `GET /v1/checks`.
#[derive(Debug, Deserialize)]
pub(super) struct ServiceChecks {
    timestamp: Timestamp,
    disk: Option<DiskReport>,
    models: Vec<ModelReport>,
    #[serde(default)]
    servers: Vec<ServerReport>,
    #[serde(default)]
    missing_secrets: Vec<MissingSecretReport>,
    instances: Vec<KeysReport>,
    waiting_conversations: u64,
    waiting_since: Option<Timestamp>,
    dead_letters: u64,
    unknown_outcomes: u64,
}

#[derive(Debug, Deserialize)]
struct DiskReport {
    free_bytes: u64,
    least_bytes: u64,
    full: bool,
}

#[derive(Debug, Deserialize)]
struct ModelReport {
    model: String,
    http_agent: Option<String>,
    #[serde(default)]
    purpose: String,
    answer: String,
    #[serde(default)]
    detail: String,
}

#[derive(Debug, Deserialize)]
struct ServerReport {
    tool: String,
    answer: String,
    #[serde(default)]
    detail: String,
    tools: Vec<String>,
    missing: Vec<String>,
    #[serde(default)]
    refused: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct MissingSecretReport {
    entry: String,
    detail: String,
}

#[derive(Debug, Deserialize)]
struct KeysReport {
    id: String,
    credential: String,
    #[serde(default)]
    detail: String,
    connection: Option<String>,
}

/// Asks the installation to check itself.
pub(super) async fn fetch_checks(there: &InstallationClient) -> Result<ServiceChecks> {
    let answer = there.get_json(&["v1", "checks"], &[]).await?;
    serde_json::from_value(answer).context("the installation's answer cannot be read: is it another version?")
}

/// Judges what concerns the whole installation: disk, models, and what waits or was given up.
pub(super) fn check_service(checks: &ServiceChecks) -> Vec<CheckResult> {
    let mut findings: Vec<CheckResult> = checks.disk.iter().map(check_disk).collect();
    findings.extend(checks.models.iter().map(check_model));
    findings.extend(checks.servers.iter().map(check_tool_server));
    findings.extend(checks.missing_secrets.iter().map(check_missing_secret));
    if checks.waiting_conversations > 0 {
        let since = checks.waiting_since.unwrap_or(checks.timestamp);
        let waiting = match checks.waiting_conversations {
            1 => "1 conversation waits".to_owned(),
            number => format!("{number} conversations wait"),
        };
        let oldest = describe_age(since, checks.timestamp);
        let found = format!("{waiting} for the agent, the oldest for {oldest}");
        findings.push(CheckResult::check_noted("-", "waiting", found));
    }
    if checks.dead_letters > 0 {
        let found = count_things(checks.dead_letters, "dead letter");
        findings.push(CheckResult::check_noted("-", "dead-letters", found).with_fix("recado dlq list"));
    }
    if checks.unknown_outcomes > 0 {
        let messages = count_things(checks.unknown_outcomes, "message");
        let found = format!("{messages} may have been sent or not");
        let fix = "nothing to do: Recado looks for evidence, then repeats them";
        findings.push(CheckResult::check_noted("-", "unknown", found).with_fix(fix));
    }
    findings
}

/// Describes the time from `since` to `now` in its two largest units.
fn describe_age(since: Timestamp, now: Timestamp) -> String {
    let unit = if now.as_second() - since.as_second() < 3600 {
        Unit::Second
    } else {
        Unit::Minute
    };
    let rounded = SpanRound::new().largest(Unit::Hour).smallest(unit);
    let span = (now - since).round(rounded).unwrap_or_default();
    format!("{span:#}")
}

fn check_disk(disk: &DiskReport) -> CheckResult {
    let (free, least) = (disk.free_bytes / 1_000_000, disk.least_bytes / 1_000_000);
    let found = format!("{free} MB free in the data folder");
    if disk.full {
        let found = format!("{found}, less than {least} MB: soon no message can be stored");
        return CheckResult::check_failed("-", "disk", found)
            .with_fix("make room there (RECADO_DISK_MIN_MB sets the limit)");
    }
    CheckResult::check_passed("-", "disk", found)
}

fn check_model(model: &ModelReport) -> CheckResult {
    if let Some(agent) = &model.http_agent {
        return check_http_agent(agent, model);
    }
    let (name, why) = (&model.model, &model.detail);
    let (check, advice) = describe_purpose(&model.purpose);
    let failed = |found: String, fix: &str| CheckResult::check_failed("-", check, found).with_fix(fix);
    match (model.answer.as_str(), advice) {
        ("answers", _) => CheckResult::check_passed("-", check, format!("{name} answers")),
        ("not_asked", _) => CheckResult::check_noted("-", check, format!("{name}: not asked")),
        (_, Some(advice)) => failed(format!("{name} does not answer ({why})"), advice),
        ("needs_credentials", None) => failed(
            format!("{name}: the key is missing or was refused ({why})"),
            "set ANTHROPIC_API_KEY where Recado runs, and start it again",
        ),
        ("refused", None) => failed(
            format!("{name} refuses requests ({why})"),
            "mend the agent's `model` in recado.toml, and apply it",
        ),
        (_, None) => failed(
            format!("{name} does not answer ({why})"),
            "see https://status.anthropic.com, and ANTHROPIC_BASE_URL if it is set",
        ),
    }
}

/// Returns the name of the check of a model, and how to mend one that is not asked for replies.
fn describe_purpose(purpose: &str) -> (&'static str, Option<&'static str>) {
    let (check, advice) = match purpose {
        "rewriting" => (
            "rewriting",
            "questions that need the messages before them are searched for by rules meanwhile: mend RECADO_REWRITE_MODEL or the \
             key, or set RECADO_REWRITE=rules",
        ),
        "embeddings" => (
            "embeddings",
            "documents are searched by their words alone meanwhile: look at RECADO_EMBEDDINGS_URL, its key and its model",
        ),
        "transcriptions" => (
            "transcription",
            "recordings are not read meanwhile: look at RECADO_TRANSCRIPTION_URL, its key and its model",
        ),
        _ => return ("model", None),
    };
    (check, Some(advice))
}

/// Judges the answer of an agent that the user runs.
fn check_http_agent(agent: &str, model: &ModelReport) -> CheckResult {
    let why = &model.detail;
    let failed = |found: String, fix: &str| CheckResult::check_failed("-", "agent", found).with_fix(fix);
    match model.answer.as_str() {
        "answers" => CheckResult::check_passed("-", "agent", format!("{agent} takes requests")),
        "needs_credentials" => failed(
            format!("{agent}: the signing secret is missing or was refused ({why})"),
            "set the secret that `http.secret` names where Recado runs, and give the endpoint the same",
        ),
        "not_asked" => CheckResult::check_noted("-", "agent", format!("{agent}: not asked")),
        _ => failed(
            format!("{agent} takes no requests ({why})"),
            "look at the endpoint that `http.url` names: it answers a signed request of the type agent.check with 204",
        ),
    }
}

/// Tells of a secret that an entry names and that is not there.
fn check_missing_secret(missing: &MissingSecretReport) -> CheckResult {
    let found = format!("{}: {} where Recado runs", missing.entry, missing.detail);
    CheckResult::check_failed("-", "secret", found).with_fix(name_runbook(AlertKind::MissingKey))
}

/// Judges the answer of a server of the Model Context Protocol.
fn check_tool_server(server: &ServerReport) -> CheckResult {
    let (tool, why) = (&server.tool, &server.detail);
    let failed = |found: String, fix: &str| CheckResult::check_failed("-", "tools", found).with_fix(fix);
    match server.answer.as_str() {
        "lists" if !server.refused.is_empty() => failed(
            format!("{tool}: agents are not offered {}", server.refused.join("; ")),
            "ask who runs the server for a smaller schema of the tool, or take it out of `mcp.allow`",
        ),
        "lists" if server.missing.is_empty() => {
            let found = format!("{tool}: its server lists {}", server.tools.join(", "));
            CheckResult::check_passed("-", "tools", found)
        }
        "lists" => {
            let (missing, listed) = (server.missing.join(", "), server.tools.join(", "));
            failed(
                format!("{tool}: its server has no {missing}; it lists {listed}"),
                "mend `mcp.allow` in recado.toml, and apply it",
            )
        }
        "needs_credentials" => failed(
            format!("{tool}: the credential is missing or was refused"),
            "set the secret that `mcp.credential` names where Recado runs, and start it again",
        ),
        _ => failed(
            format!("{tool}: its server does not list its tools ({why})"),
            "look at `mcp.url`: a server of the Model Context Protocol over streamable HTTP answers there",
        ),
    }
}

/// Advice for a missing key of a provider.
const SET_KEY: &str = "set it where Recado runs, and start it again";

/// Judges the installation's own key for an instance, and what the provider answers to it.
pub(super) fn check_keys(checks: &ServiceChecks, instance: &Instance) -> Option<CheckResult> {
    let name = instance.id.as_str();
    let keys = checks.instances.iter().find(|keys| keys.id == name)?;
    let failed = |found: String, fix: &str| CheckResult::check_failed(name, "sends", found).with_fix(fix);
    Some(match (keys.credential.as_str(), keys.connection.as_deref()) {
        ("simulated", _) => failed(
            "simulated: replies go to no phone".to_owned(),
            "set the keys of the model and of its provider where Recado runs, and start it again",
        ),
        ("missing", _) => failed(format!("{}: its messages wait", keys.detail), SET_KEY),
        ("present", Some("open")) => {
            CheckResult::check_passed(name, "sends", "for real: its provider takes Recado's key")
        }
        ("present", Some("needs_credentials")) => failed(
            "its provider refuses Recado's key: its messages wait".to_owned(),
            &name_runbook(AlertKind::MissingKey),
        ),
        ("present", Some("refused")) => {
            let why = &keys.detail;
            failed(
                format!("its provider refuses every request ({why}): its messages wait"),
                &name_runbook(AlertKind::Disconnected),
            )
        }
        ("present", Some("closed")) => failed(
            "its provider has lost WhatsApp: its messages wait".to_owned(),
            &name_runbook(AlertKind::Disconnected),
        ),
        _ => CheckResult::check_noted(name, "sends", "its provider did not answer Recado clearly"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_waits_and_what_is_dead_is_counted_in_words() {
        let checks = |waiting: u64, dead: u64| -> Vec<String> {
            let checks = serde_json::from_value(json!({
                "timestamp": "2026-11-22T12:00:00Z", "disk": null, "models": [], "instances": [],
                "waiting_conversations": waiting, "waiting_since": "2026-11-22T11:48:00Z",
                "dead_letters": dead, "unknown_outcomes": 0,
            }));
            let found = check_service(&checks.unwrap());
            found.into_iter().map(|one| one.found).collect()
        };
        assert_eq!(
            checks(1, 1),
            [
                "1 conversation waits for the agent, the oldest for 12m",
                "1 dead letter"
            ]
        );
        assert_eq!(
            checks(3, 2),
            [
                "3 conversations wait for the agent, the oldest for 12m",
                "2 dead letters"
            ]
        );
    }

    #[test]
    fn each_model_is_judged_by_what_it_is_asked_for() {
        for (purpose, check, fix) in [
            ("replies", "model", "`model` in recado.toml"),
            ("rewriting", "rewriting", "RECADO_REWRITE_MODEL"),
            ("embeddings", "embeddings", "RECADO_EMBEDDINGS_URL"),
            ("transcriptions", "transcription", "RECADO_TRANSCRIPTION_URL"),
        ] {
            let judged = |answer: &str| {
                let report =
                    json!({"model": "m", "purpose": purpose, "answer": answer, "detail": "status 404"});
                check_model(&serde_json::from_value(report).unwrap())
            };
            let refused = judged("refused");
            assert_eq!((refused.check, refused.found.contains("404")), (check, true));
            assert!(refused.mend.is_some_and(|mend| mend.contains(fix)), "{purpose}");
            assert_eq!(judged("answers").mend, None);
            assert_eq!(judged("not_asked").mend, None);
        }
    }

    #[test]
    fn a_remedy_is_a_command_that_the_server_has_and_not_a_page_of_the_repository() {
        let instance: Instance = serde_json::from_value(json!({
            "id": "front-desk", "tenant": "clinic", "agent": "ana", "provider": "evolution",
        }))
        .unwrap();
        for (connection, runbook) in [("needs_credentials", "missing_key"), ("closed", "disconnected")] {
            let checks: ServiceChecks = serde_json::from_value(json!({
                "timestamp": "2026-11-22T12:00:00Z", "disk": null, "models": [],
                "instances": [{"id": "front-desk", "credential": "present", "connection": connection}],
                "waiting_conversations": 0, "waiting_since": null, "dead_letters": 0, "unknown_outcomes": 0,
            }))
            .unwrap();
            let found = check_keys(&checks, &instance).unwrap();
            assert_eq!(
                found.mend.as_deref(),
                Some(format!("recado alerts runbook {runbook}").as_str())
            );
        }
    }

    #[test]
    fn a_wait_is_told_in_units_that_people_use() {
        let now: Timestamp = "2026-11-22T12:00:00Z".parse().unwrap();
        for (since, told) in [
            ("2026-11-22T11:59:18Z", "42s"),
            ("2026-11-22T11:48:00Z", "12m"),
            ("2026-11-20T11:30:00Z", "48h 30m"),
        ] {
            assert_eq!(describe_age(since.parse().unwrap(), now), told);
        }
    }
}
