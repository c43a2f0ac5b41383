//! Compares the installation's setup of an instance with its provider's requirements.

use crate::check_result::CheckResult;
use crate::instance_webhook::InstanceWebhook;
use recado_domain::config::Instance;
use recado_domain::rate::Rate;

/// The requirements of a provider on an installation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SetupRequirements {
    /// Name of the setting that holds the secret for the webhooks.
    pub(crate) secret_setting: &'static str,
    /// Problem to report if the handshake cannot be answered; `None` if the provider has no handshake.
    pub(crate) handshake: Option<HandshakeProblem>,
    /// `true` if the provider may run on the same machine or network, where plain HTTP is acceptable.
    pub(crate) allows_http: bool,
    /// Messages per second above which WhatsApp is likely to block a number; `None` if the provider limits the rate
    /// itself.
    pub(crate) rate_max: Option<f64>,
}

/// The report for a provider whose handshake cannot be answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HandshakeProblem {
    /// Description of the problem.
    pub(crate) problem: &'static str,
    /// Advice on how to fix the problem.
    pub(crate) fix: &'static str,
}

/// Checks that the instance's webhooks can be proven and that their URL is acceptable. Without `demands` the events come
/// through a queue.
pub(crate) fn check_webhook_setup(
    instance: &Instance,
    webhook: Option<&InstanceWebhook>,
    demands: Option<SetupRequirements>,
) -> Vec<CheckResult> {
    let name = instance.id.as_str();
    let Some(webhook) = webhook else {
        let found = "the installation does not know this instance";
        return vec![CheckResult::check_failed(name, "secrets", found)];
    };
    // Events that come through a queue are proven by the queue's policy.
    let Some(demands) = demands else {
        return Vec::new();
    };
    let mut findings = vec![if webhook.proof_set {
        CheckResult::check_passed(name, "secrets", "webhooks can be proven")
    } else {
        CheckResult::check_failed(name, "secrets", "no webhook can be proven, each is answered 503").with_fix(
            match &instance.app_secret {
                Some(named) => format!(
                    "set what its app_secret names there: {}",
                    String::from(named.clone())
                ),
                None => format!("set {} there", demands.secret_setting),
            },
        )
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
    findings.extend(check_salt(instance));
    findings.push(check_webhook_url(name, webhook, &demands));
    findings
}

/// Returns a note if the instance's webhook secret has no salt: whoever had its name before may know it.
fn check_salt(instance: &Instance) -> Option<CheckResult> {
    if !crate::uses_instance_secret(instance.provider) || instance.secret_salt.is_some() {
        return None;
    }
    let name = instance.id.as_str();
    let found =
        "its webhook secret is from before secrets were made with salts: who had its name before may know it";
    Some(
        CheckResult::check_noted(name, "secrets", found)
            .with_fix(format!("recado secret rotate {name}, then recado connect {name}")),
    )
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

/// Returns a note if the instance may send faster than is safe for its number.
pub(crate) fn check_rate_limit(instance: &Instance, demands: SetupRequirements) -> Option<CheckResult> {
    let rate_max = demands.rate_max?;
    let rate = instance
        .resolve_rate(&instance.provider.capabilities(), Rate::EVOLUTION)
        .per_second;
    (rate > rate_max).then(|| {
        let found = format!("it may send {rate} messages a second");
        CheckResult::check_noted(instance.id.as_str(), "limits", found)
            .with_fix("WhatsApp blocks numbers that write faster than people do: lower its rate")
    })
}
