//! Checks the setup of an instance with Evolution.

use super::admin_client::{
    DesiredWebhook, EvolutionAdminClient, PairingCodes, PairingState, WebhookAuthMethod,
};
use crate::check_result::{CheckResult, RefusalAdvice, check_clock};
use crate::instance_webhook::InstanceWebhook;
use crate::setup_state::SetupRequirements;
use crate::target::OnboardingTarget;
use recado_domain::secret::Secret;

/// Evolution's requirements on an installation. WhatsApp is likely to block a number that is connected like a phone and
/// sends more than 5 messages a second.
pub(crate) const SETUP_REQUIREMENTS: SetupRequirements = SetupRequirements {
    secret_setting: "RECADO_WEBHOOK_SECRET",
    handshake: None,
    allows_http: true,
    rate_max: Some(5.0),
};

const UNREACHABLE: &str = "is Evolution running, and its base URL right (EVOLUTION_API_URL)?";

const ADVICE: RefusalAdvice = RefusalAdvice {
    key: "set EVOLUTION_API_KEY (or what the instance names) to Evolution's key",
    not_found: (
        "instance",
        "create it in Evolution (POST /instance/create), or mend external_id",
    ),
    refused: UNREACHABLE,
    unreachable: UNREACHABLE,
};

pub(crate) async fn check_setup(
    subject: &OnboardingTarget<'_>,
    webhook: Option<&InstanceWebhook>,
    key: &Secret,
) -> Vec<CheckResult> {
    let name = subject.instance_name();
    let external = subject.instance.resolve_external_id();
    let at = external
        .as_ref()
        .and_then(|external| EvolutionAdminClient::for_target(subject, key, external));
    let Some(at) = at else {
        let found = CheckResult::check_noted(name, "provider", "not asked: no base URL is known here");
        return vec![found.with_fix("set EVOLUTION_API_URL here, or base_url of the instance")];
    };
    let (paired, said) = match at.fetch_connection_state().await {
        Ok(answer) => answer,
        Err(error) => return vec![ADVICE.explain(name, &error)],
    };
    vec![
        CheckResult::check_passed(name, "credential", "Evolution takes the key"),
        check_connection(name, &at, &paired).await,
        check_webhook(name, &at, webhook).await,
        check_clock(name, (subject.now)(), said.date),
    ]
}

async fn check_connection(name: &str, at: &EvolutionAdminClient<'_>, paired: &PairingState) -> CheckResult {
    match paired {
        PairingState::Open => return CheckResult::check_passed(name, "connection", "open"),
        PairingState::Unclear => {
            let found = "Evolution does not say, as just after its restart";
            return CheckResult::check_noted(name, "connection", found).with_fix("ask again in a minute");
        }
        PairingState::Connecting | PairingState::Closed => {}
    }
    let found = CheckResult::check_failed(
        name,
        "connection",
        "not connected to WhatsApp: a phone must be paired",
    );
    let PairingCodes { code, pairing_code } = match at.start_pairing().await {
        Ok(pairing) => pairing,
        Err(error) => {
            return found.with_fix(format!(
                "Evolution gives no QR code ({error}): restart the instance there"
            ));
        }
    };
    let found = match (&code, pairing_code) {
        (None, None) => found.with_fix("wait a minute and run this again for a QR code"),
        (_, Some(words)) => found.with_fix(format!("link the phone by the code {words}, or by the QR code")),
        (Some(_), None) => found.with_fix("scan the QR code (recado doctor shows it), then run this again"),
    };
    found.with_pairing_code(code.as_deref().and_then(Secret::new))
}

/// Compares the webhook that is set in Evolution with the one that the installation describes.
async fn check_webhook(
    name: &str,
    at: &EvolutionAdminClient<'_>,
    webhook: Option<&InstanceWebhook>,
) -> CheckResult {
    let mend = format!("recado connect {name}");
    let found = match at.find_webhook().await {
        Ok(Some(found)) => found,
        Ok(None) => return CheckResult::check_failed(name, "webhook", "none is set").with_fix(mend),
        Err(error) => return CheckResult::check_failed(name, "webhook", error.to_string()).with_fix(mend),
    };
    let Some((webhook, secret)) = webhook.and_then(|webhook| Some((webhook, webhook.secret.as_ref()?)))
    else {
        return CheckResult::check_noted(
            name,
            "webhook",
            "set, but the installation does not tell with which secret it should be",
        );
    };
    let wrong = found.list_differences(&DesiredWebhook {
        url: &webhook.url,
        secret,
        auth_method: match at.version {
            1 => WebhookAuthMethod::Url,
            _ => WebhookAuthMethod::Header,
        },
        base64: false,
        extra_events: &[],
    });
    if !wrong.is_empty() {
        return CheckResult::check_failed(name, "webhook", wrong.join("; ")).with_fix(mend);
    }
    CheckResult::check_passed(name, "webhook", format!("set ({})", found.events.join(", ")))
}
