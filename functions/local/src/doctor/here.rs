//! What the installation says of itself.

use crate::installation::Installation;
use recado_domain::config::Instance;
use recado_whatsapp::setting_up::{self, Finding, Webhook};
use reqwest::Method;
use serde_json::Value;

/// Whether it is there, and healthy.
pub(super) async fn installation(there: &Installation) -> Vec<Finding> {
    let (status, body) = match there.say(Method::GET, "/health", None).await {
        Ok(answer) => answer,
        Err(error) => {
            let found = Finding::broken("-", "reachable", format!("{error:#}"));
            return vec![found.mend("start it, or give --url as it listens")];
        }
    };
    let said = body["status"].as_str().unwrap_or("no word of its health");
    vec![if status.is_success() {
        Finding::good("-", "health", said)
    } else {
        Finding::broken("-", "health", format!("{status}: {said}"))
            .mend("see its log; GET /health/whatsapp/detailed tells what waits")
    }]
}

/// What the installation knows of an instance: the proof of its webhooks, where they go, its connection, its rate.
pub(super) async fn instance(
    there: &Installation,
    instance: &Instance,
    webhook: Option<&Webhook>,
) -> Vec<Finding> {
    let mut findings = setting_up::standing(instance, webhook);
    findings.push(state(there, instance).await);
    findings.extend(setting_up::limits(instance));
    findings
}

/// The connection, as the installation believes it to be.
async fn state(there: &Installation, instance: &Instance) -> Finding {
    let name = instance.id.as_str();
    let path = format!("/health/whatsapp?instance={name}");
    let answer = there.say(Method::GET, &path, None).await;
    // Unhealthy is a 503 with the same body.
    let instance = match &answer {
        Ok((_, body)) => &body["instances"][0],
        Err(_) => &Value::Null,
    };
    if let Some(since) = instance["silent_since"].as_str() {
        return Finding::broken(
            name,
            "silence",
            format!("nothing came in since {since}, though it usually would"),
        )
        .mend(format!(
            "recado catch-up {name}; then docs/runbooks/silent-instance.md"
        ));
    }
    if instance["llm_needs_credentials"] == true {
        return Finding::broken(
            name,
            "model",
            "the model's key is missing or was refused: turns wait",
        )
        .mend("set ANTHROPIC_API_KEY there");
    }
    match instance["connection"].as_str() {
        Some("open") => Finding::good(name, "state", "open, as far as the installation knows"),
        Some("needs_credentials") => Finding::broken(
            name,
            "state",
            "its key is missing or was refused there: messages wait",
        )
        .mend("docs/runbooks/needs-credentials.md"),
        Some("unreachable") => Finding::broken(
            name,
            "state",
            "its provider cannot be reached, or its credential cannot be read: messages wait",
        )
        .mend("docs/runbooks/disconnected-instance.md"),
        Some(other) => Finding::broken(name, "state", format!("{other}: messages wait"))
            .mend("docs/runbooks/disconnected-instance.md"),
        None => Finding::broken(name, "state", "the installation says nothing of it"),
    }
}
