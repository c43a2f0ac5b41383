//! What Meta says of a number and its account.

use super::register::{Number, Setup, Template};
use crate::setting_up::{Demands, Finding, Handshake, Subject, clock};
use crate::setup::SetupError;
use recado_domain::secret::Secret;

/// What Meta demands of an installation.
pub(crate) const DEMANDS: Demands = Demands {
    proof: "META_APP_SECRET",
    handshake: Some(Handshake {
        refused: "Meta's handshake is refused",
        mend: "set META_VERIFY_TOKEN there, and enter the same in Meta's app",
    }),
    near: false,
    rate_max: None,
};

pub(crate) async fn examine(subject: &Subject<'_>, token: &Secret) -> Vec<Finding> {
    let name = subject.name();
    let Some(external) = subject.instance.external() else {
        return Vec::new();
    };
    let at = Setup::of(subject, token);
    let (number, said) = match at.number(&external).await {
        Ok(answer) => answer,
        Err(error) => return vec![refused(name, &error)],
    };
    let mut findings = vec![
        Finding::good(name, "credential", "Meta takes the token"),
        limits(name, &number),
        clock(name, (subject.now)(), said.date),
    ];
    match &subject.instance.account_id {
        Some(account) => findings.extend(self::account(subject, &at, account).await),
        None => findings.push(
            Finding::note(name, "account", "not looked at: the instance has no account_id")
                .mend("give the instance its WABA as account_id"),
        ),
    }
    findings
}

fn refused(name: &str, error: &SetupError) -> Finding {
    let (check, mend) = match error {
        SetupError::Refused { .. } => (
            "credential",
            "make a token of a system user with whatsapp_business_messaging, and set META_ACCESS_TOKEN",
        ),
        SetupError::NotFound { .. } => ("number", "external_id must be Meta's phone_number_id"),
        SetupError::NotUrl | SetupError::Unreachable { .. } | SetupError::Failed { .. } => (
            "provider",
            "is META_BASE_URL right, and may this machine reach it?",
        ),
    };
    Finding::broken(name, check, error.to_string()).mend(mend)
}

fn limits(name: &str, number: &Number) -> Finding {
    let say = |value: &Option<String>| value.as_deref().unwrap_or("not told").to_owned();
    let found = format!(
        "quality {}, limit {}, status {}",
        say(&number.quality),
        say(&number.limit),
        say(&number.status)
    );
    match (number.quality.as_deref(), number.status.as_deref()) {
        (_, Some("BANNED" | "RESTRICTED" | "DELETED" | "DISCONNECTED")) => {
            Finding::broken(name, "limits", found).mend("see the number in Meta's WhatsApp Manager")
        }
        (Some("RED"), _) | (_, Some("FLAGGED" | "RATE_LIMITED")) => Finding::note(name, "limits", found)
            .mend("people block or report this number: write less, and only to who asked for it"),
        _ => Finding::good(name, "limits", found),
    }
}

async fn account(subject: &Subject<'_>, at: &Setup<'_>, account: &str) -> Vec<Finding> {
    let name = subject.name();
    let needs = "the token needs whatsapp_business_management";
    let apps = match at.subscribed(account).await {
        Ok(apps) if apps.is_empty() => Finding::broken(
            name,
            "webhook",
            "no app is subscribed to the account: no webhook comes",
        )
        .mend(format!("recado connect {name}")),
        Ok(apps) => Finding::good(name, "webhook", format!("subscribed: {}", apps.join(", "))),
        Err(error) => Finding::note(name, "webhook", error.to_string()).mend(needs),
    };
    let templates = match at.templates(account).await {
        Ok(templates) => templates_found(subject, &templates),
        Err(error) => Finding::note(name, "templates", error.to_string()).mend(needs),
    };
    vec![apps, templates]
}

fn templates_found(subject: &Subject<'_>, templates: &[Template]) -> Finding {
    let name = subject.name();
    let approved = templates
        .iter()
        .filter(|template| template.status == "APPROVED")
        .count();
    let found = format!("{approved} of {} approved", templates.len());
    let Some(wanted) = &subject.instance.reengagement_template else {
        return Finding::good(name, "templates", found);
    };
    let known = templates
        .iter()
        .find(|template| template.name == wanted.name && template.language == wanted.language);
    match known {
        Some(template) if template.status == "APPROVED" => Finding::good(name, "templates", found),
        Some(template) => Finding::broken(
            name,
            "templates",
            format!("reengagement_template {} is {}", wanted.name, template.status),
        )
        .mend("name one that is approved: outside of 24 hours nothing else is sent"),
        None => Finding::broken(
            name,
            "templates",
            format!(
                "there is no reengagement_template {} in {}",
                wanted.name, wanted.language
            ),
        )
        .mend("make it in Meta's WhatsApp Manager, or mend its name and language"),
    }
}
