//! What an installation says of an instance, held against what its provider demands.

use super::{CheckResult, InstanceWebhook, setup_requirements};
use crate::registry::capabilities;
use recado_domain::config::Instance;
use recado_domain::rate::Rate;

/// What a provider demands of an installation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SetupRequirements {
    /// The setting that its webhooks are proven with.
    pub(crate) secret_setting: &'static str,
    /// Its handshake, if it shakes hands.
    pub(crate) handshake: Option<HandshakeProblem>,
    /// Whether it may be on the same machine or network, where plain HTTP is fine.
    pub(crate) allows_http: bool,
    /// Messages a second above which a number is likely to be blocked, where the provider does not see to that itself.
    pub(crate) rate_max: Option<f64>,
}

/// What is said where a provider's handshake cannot be answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HandshakeProblem {
    /// What is wrong.
    pub(crate) problem: &'static str,
    /// How to mend it.
    pub(crate) fix: &'static str,
}

/// Whether the instance's webhooks can be proven, and whether they go where they may.
pub fn setup_state(instance: &Instance, webhook: Option<&InstanceWebhook>) -> Vec<CheckResult> {
    let name = instance.id.as_str();
    let Some(webhook) = webhook else {
        let found = "the installation does not know this instance";
        return vec![CheckResult::check_failed(name, "secrets", found)];
    };
    // Events that come by a queue are proven by its policy.
    let Some(demands) = setup_requirements(instance.provider) else {
        return Vec::new();
    };
    let mut findings = vec![if webhook.proof_set {
        CheckResult::check_passed(name, "secrets", "webhooks can be proven")
    } else {
        CheckResult::check_failed(name, "secrets", "no webhook can be proven, each is answered 503")
            .with_fix(format!("set {} there", demands.secret_setting))
    }];
    if let (
        Some(HandshakeProblem {
            problem: refused,
            fix: mend,
        }),
        Some(false),
    ) = (demands.handshake, webhook.verify_token_set)
    {
        findings.push(CheckResult::check_failed(name, "secrets", refused).with_fix(mend));
    }
    findings.push(check_webhook_url(name, webhook, &demands));
    findings
}

fn check_webhook_url(name: &str, webhook: &InstanceWebhook, demands: &SetupRequirements) -> CheckResult {
    let plain = webhook.url_without_secret();
    if plain.starts_with("https://") {
        return CheckResult::check_passed(name, "url", plain);
    }
    let found = format!("{plain} is not https");
    let finding = if demands.allows_http {
        CheckResult::check_noted(name, "url", found)
    } else {
        CheckResult::check_failed(name, "url", found)
    };
    finding.with_fix("put a TLS proxy in front, and set RECADO_PUBLIC_URL to its address")
}

/// Whether the instance may send faster than is good for its number.
pub fn check_rate_limit(instance: &Instance) -> Option<CheckResult> {
    let rate_max = setup_requirements(instance.provider)?.rate_max?;
    let rate = instance
        .resolve_rate(&capabilities(instance.provider)?, Rate::EVOLUTION)
        .per_second;
    (rate > rate_max).then(|| {
        let found = format!("it may send {rate} messages a second");
        CheckResult::check_noted(instance.id.as_str(), "limits", found)
            .with_fix("WhatsApp blocks numbers that write faster than people do: lower its rate")
    })
}
