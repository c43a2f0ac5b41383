//! What the installation says of itself.

use super::Patient;
use super::finding::Finding;
use crate::installation::Installation;
use recado_domain::provider::Traits;
use recado_domain::rate::Rate;
use reqwest::Method;
use serde_json::Value;

/// A rate above which a number connected like a phone is likely to be blocked by WhatsApp.
const EVOLUTION_RATE: f64 = 5.0;

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
pub(super) async fn instance(patient: &Patient<'_>) -> Vec<Finding> {
    let mut findings = proof(patient);
    findings.push(state(patient).await);
    findings.extend(limits(patient));
    findings
}

fn proof(patient: &Patient<'_>) -> Vec<Finding> {
    let name = patient.instance.id.as_str();
    let Some(webhook) = patient.webhook else {
        return vec![Finding::broken(
            name,
            "secrets",
            "the installation does not know this instance",
        )];
    };
    let mut findings = Vec::new();
    let missing = match patient.instance.provider {
        recado_whatsapp::evolution::NAME | recado_whatsapp::dialog360::NAME => "RECADO_WEBHOOK_SECRET",
        // Its queue's policy proves the events.
        recado_whatsapp::aws_social::NAME => return findings,
        _ => "META_APP_SECRET",
    };
    findings.push(if webhook.proof_set {
        Finding::good(name, "secrets", "webhooks can be proven")
    } else {
        Finding::broken(name, "secrets", "no webhook can be proven, each is answered 503")
            .mend(format!("set {missing} there"))
    });
    if webhook.verify_token_set == Some(false) {
        findings.push(
            Finding::broken(name, "secrets", "Meta's handshake is refused")
                .mend("set META_VERIFY_TOKEN there, and enter the same in Meta's app"),
        );
    }
    let plain = webhook.url.split("/k/").next().unwrap_or_default();
    findings.push(if plain.starts_with("https://") {
        Finding::good(name, "url", plain)
    } else {
        let near = patient.instance.provider == recado_whatsapp::evolution::NAME;
        let found = format!("{plain} is not https");
        let finding = if near {
            Finding::note(name, "url", found)
        } else {
            Finding::broken(name, "url", found)
        };
        finding.mend("put a TLS proxy in front, and set RECADO_PUBLIC_URL to its address")
    });
    findings
}

/// The connection, as the installation believes it to be.
async fn state(patient: &Patient<'_>) -> Finding {
    let name = patient.instance.id.as_str();
    let path = format!("/health/whatsapp?instance={name}");
    let answer = patient.there.say(Method::GET, &path, None).await;
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
        Some(other) => Finding::broken(name, "state", format!("{other}: messages wait"))
            .mend("docs/runbooks/disconnected-instance.md"),
        None => Finding::broken(name, "state", "the installation says nothing of it"),
    }
}

fn limits(patient: &Patient<'_>) -> Option<Finding> {
    let name = patient.instance.id.as_str();
    let rate = patient.instance.rate(
        &recado_whatsapp::traits(patient.instance.provider).unwrap_or(Traits::LINKED),
        Rate::EVOLUTION,
    );
    let fast =
        patient.instance.provider == recado_whatsapp::evolution::NAME && rate.per_second > EVOLUTION_RATE;
    fast.then(|| {
        let found = format!("it may send {} messages a second", rate.per_second);
        Finding::note(name, "limits", found)
            .mend("WhatsApp blocks numbers that write faster than people do: lower its rate")
    })
}
