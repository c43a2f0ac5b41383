//! What an installation says of an instance, held against what its provider demands.

use super::{Finding, Webhook, demands};
use crate::catalogue::traits;
use recado_domain::config::Instance;
use recado_domain::rate::Rate;

/// What a provider demands of an installation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Demands {
    /// The setting that its webhooks are proven with.
    pub(crate) proof: &'static str,
    /// Its handshake, if it shakes hands.
    pub(crate) handshake: Option<Handshake>,
    /// Whether it may be on the same machine or network, where plain HTTP is fine.
    pub(crate) near: bool,
    /// Messages a second above which a number is likely to be blocked, where the provider does not see to that itself.
    pub(crate) rate_max: Option<f64>,
}

/// What is said where a provider's handshake cannot be answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Handshake {
    /// What is wrong.
    pub(crate) refused: &'static str,
    /// How to mend it.
    pub(crate) mend: &'static str,
}

/// Whether the instance's webhooks can be proven, and whether they go where they may.
pub fn standing(instance: &Instance, webhook: Option<&Webhook>) -> Vec<Finding> {
    let name = instance.id.as_str();
    let Some(webhook) = webhook else {
        let found = "the installation does not know this instance";
        return vec![Finding::broken(name, "secrets", found)];
    };
    // Events that come by a queue are proven by its policy.
    let Some(demands) = demands(instance.provider) else {
        return Vec::new();
    };
    let mut findings = vec![if webhook.proof_set {
        Finding::good(name, "secrets", "webhooks can be proven")
    } else {
        Finding::broken(name, "secrets", "no webhook can be proven, each is answered 503")
            .mend(format!("set {} there", demands.proof))
    }];
    if let (Some(Handshake { refused, mend }), Some(false)) = (demands.handshake, webhook.verify_token_set) {
        findings.push(Finding::broken(name, "secrets", refused).mend(mend));
    }
    findings.push(url(name, webhook, &demands));
    findings
}

fn url(name: &str, webhook: &Webhook, demands: &Demands) -> Finding {
    let plain = webhook.shown();
    if plain.starts_with("https://") {
        return Finding::good(name, "url", plain);
    }
    let found = format!("{plain} is not https");
    let finding = if demands.near {
        Finding::note(name, "url", found)
    } else {
        Finding::broken(name, "url", found)
    };
    finding.mend("put a TLS proxy in front, and set RECADO_PUBLIC_URL to its address")
}

/// Whether the instance may send faster than is good for its number.
pub fn limits(instance: &Instance) -> Option<Finding> {
    let rate_max = demands(instance.provider)?.rate_max?;
    let rate = instance
        .rate(&traits(instance.provider)?, Rate::EVOLUTION)
        .per_second;
    (rate > rate_max).then(|| {
        let found = format!("it may send {rate} messages a second");
        Finding::note(instance.id.as_str(), "limits", found)
            .mend("WhatsApp blocks numbers that write faster than people do: lower its rate")
    })
}
