//! Checks the setup of a number and its account with Meta.

use super::admin_client::{MetaAdminClient, MetaNumber, MetaTemplate};
use crate::check_result::{CheckResult, RefusalAdvice, check_clock};
use crate::setup_state::{HandshakeProblem, SetupRequirements};
use crate::target::OnboardingTarget;
use recado_domain::content::{KnownTemplate, MessageTemplate};
use recado_domain::secret::Secret;

/// Meta's requirements on an installation.
pub(crate) const REQUIREMENTS: SetupRequirements = SetupRequirements {
    secret_setting: "META_APP_SECRET",
    handshake: Some(HandshakeProblem {
        problem: "Meta's handshake is refused",
        fix: "set META_VERIFY_TOKEN there, and enter the same in Meta's app",
    }),
    allows_http: false,
    rate_max: None,
};

const UNREACHABLE: &str = "is META_BASE_URL right, and may this machine reach it?";

const ADVICE: RefusalAdvice = RefusalAdvice {
    key: "make a token of a system user with whatsapp_business_messaging, and set META_ACCESS_TOKEN",
    not_found: ("number", "external_id must be Meta's phone_number_id"),
    refused: UNREACHABLE,
    unreachable: UNREACHABLE,
};

pub(crate) async fn check_setup(subject: &OnboardingTarget<'_>, token: &Secret) -> Vec<CheckResult> {
    let name = subject.instance_name();
    let Some(external) = subject.instance.resolve_external_id() else {
        return Vec::new();
    };
    let at = MetaAdminClient::for_target(subject, token);
    let (number, said) = match at.get_number(&external).await {
        Ok(answer) => answer,
        Err(error) => return vec![ADVICE.explain(name, &error)],
    };
    let mut findings = vec![
        CheckResult::check_passed(name, "credential", "Meta takes the token"),
        check_limits(name, &number),
        check_clock(name, (subject.now)(), said.date),
    ];
    match &subject.instance.account_id {
        Some(account) => findings.extend(self::check_account(subject, &at, account).await),
        None => findings.push(
            CheckResult::check_noted(name, "account", "not looked at: the instance has no account_id")
                .with_fix("give the instance its WABA as account_id"),
        ),
    }
    findings
}

fn check_limits(name: &str, number: &MetaNumber) -> CheckResult {
    let say = |value: &Option<String>| value.as_deref().unwrap_or("not told").to_owned();
    let found = format!(
        "quality {}, limit {}, status {}",
        say(&number.quality),
        say(&number.limit),
        say(&number.status)
    );
    match (number.quality.as_deref(), number.status.as_deref()) {
        (_, Some("BANNED" | "RESTRICTED" | "DELETED" | "DISCONNECTED")) => {
            CheckResult::check_failed(name, "limits", found)
                .with_fix("see the number in Meta's WhatsApp Manager")
        }
        (Some("RED"), _) | (_, Some("FLAGGED" | "RATE_LIMITED")) => {
            CheckResult::check_noted(name, "limits", found)
                .with_fix("people block or report this number: write less, and only to who asked for it")
        }
        _ => CheckResult::check_passed(name, "limits", found),
    }
}

async fn check_account(
    subject: &OnboardingTarget<'_>,
    at: &MetaAdminClient<'_>,
    account: &str,
) -> Vec<CheckResult> {
    let name = subject.instance_name();
    let needs = "the token needs whatsapp_business_management";
    let apps = match at.list_subscribed_apps(account).await {
        Ok(apps) if apps.is_empty() => CheckResult::check_failed(
            name,
            "webhook",
            "no app is subscribed to the account: no webhook comes",
        )
        .with_fix(format!("recado connect {name}")),
        Ok(apps) => CheckResult::check_passed(name, "webhook", format!("subscribed: {}", apps.join(", "))),
        Err(error) => CheckResult::check_noted(name, "webhook", error.to_string()).with_fix(needs),
    };
    let templates = match at.list_templates(account).await {
        Ok(templates) => check_templates(subject, &templates),
        Err(error) => CheckResult::check_noted(name, "templates", error.to_string()).with_fix(needs),
    };
    vec![apps, templates]
}

fn check_templates(subject: &OnboardingTarget<'_>, templates: &[MetaTemplate]) -> CheckResult {
    let name = subject.instance_name();
    let approved = templates.iter().filter(|template| template.known.is_approved());
    let found = format!("{} of {} approved", approved.count(), templates.len());
    let Some(wanted) = &subject.instance.reengagement_template else {
        return CheckResult::check_passed(name, "templates", found);
    };
    let known = templates
        .iter()
        .find(|template| template.name == wanted.name && template.language == wanted.language);
    match judge_template(wanted, known.map(|template| &template.known)) {
        None => CheckResult::check_passed(name, "templates", found),
        Some((problem, fix)) => CheckResult::check_failed(name, "templates", problem).with_fix(fix),
    }
}

/// Returns why an instance's template cannot be sent, and how to mend it; `None` if it can be sent.
pub(crate) fn judge_template(
    wanted: &MessageTemplate,
    known: Option<&KnownTemplate>,
) -> Option<(String, &'static str)> {
    let (name, language) = (&wanted.name, &wanted.language);
    let Some(known) = known else {
        return Some((
            format!("there is no reengagement_template {name} in {language}"),
            "make it in Meta's WhatsApp Manager, or mend its name and language",
        ));
    };
    if let Some(misfit) = known.explain_misfit(wanted) {
        let problem = format!("reengagement_template {name}: {misfit}");
        return Some((problem, "give its components the values that the template takes"));
    }
    (!known.is_approved()).then(|| {
        (
            format!("reengagement_template {name} is {}", known.status),
            "name one that is approved: outside of 24 hours nothing else is sent",
        )
    })
}
