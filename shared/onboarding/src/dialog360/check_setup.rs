//! Checks the setup of a number with 360dialog.

use super::admin_client::Dialog360AdminClient;
use crate::check_result::{CheckResult, RefusalAdvice, check_clock};
use crate::instance_webhook::InstanceWebhook;
use crate::meta::judge_template;
use crate::setup_state::SetupRequirements;
use crate::target::OnboardingTarget;
use recado_domain::content::MessageTemplate;
use recado_domain::secret::Secret;

/// 360dialog's requirements on an installation.
pub(crate) const REQUIREMENTS: SetupRequirements = SetupRequirements {
    secret_setting: "RECADO_WEBHOOK_SECRET",
    handshake: None,
    allows_http: false,
    rate_max: None,
};

const ADVICE: RefusalAdvice = RefusalAdvice {
    key: "make a key for this number in 360dialog's hub, and set D360_API_KEY",
    not_found: ("webhook", "no webhook was ever set: run recado connect"),
    // The account was not paid, or the number was switched off.
    refused: "360dialog's hub says what is to be done for this number",
    unreachable: "is D360_BASE_URL right, and may this machine reach it?",
};

pub(crate) async fn check_setup(
    subject: &OnboardingTarget<'_>,
    webhook: Option<&InstanceWebhook>,
    key: &Secret,
) -> Vec<CheckResult> {
    let name = subject.instance_name();
    let at = Dialog360AdminClient::for_target(subject, key);
    let said = match at.get_webhook().await {
        Ok(said) => said,
        Err(error) => return vec![ADVICE.explain(name, &error)],
    };
    let expected = webhook.map(|webhook| webhook.url.as_str());
    let wrong = |found: &str| {
        CheckResult::check_failed(name, "webhook", found).with_fix(format!("recado connect {name}"))
    };
    let set = match said.body["url"].as_str() {
        Some(url) if Some(url) == expected => {
            CheckResult::check_passed(name, "webhook", "goes to the installation")
        }
        None | Some("") => wrong("is not set"),
        Some(_) => wrong("goes elsewhere"),
    };
    let mut findings = vec![
        CheckResult::check_passed(name, "credential", "360dialog takes the key"),
        set,
        check_clock(name, (subject.now)(), said.date),
    ];
    if let Some(wanted) = &subject.instance.reengagement_template {
        findings.push(check_template(name, &at, wanted).await);
    }
    findings
}

async fn check_template(name: &str, at: &Dialog360AdminClient<'_>, wanted: &MessageTemplate) -> CheckResult {
    let known = match at.find_template(wanted).await {
        Ok(known) => known,
        Err(error) => return CheckResult::check_noted(name, "templates", error.to_string()),
    };
    match judge_template(wanted, known.as_ref()) {
        None => CheckResult::check_passed(name, "templates", format!("{} is approved", wanted.name)),
        Some((problem, fix)) => CheckResult::check_failed(name, "templates", problem).with_fix(fix),
    }
}
