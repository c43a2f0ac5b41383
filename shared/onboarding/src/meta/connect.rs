//! Connects a number of Meta. A person enters the callback in Meta's app; the rest is checked here, and the app is
//! subscribed.

use super::admin_client::{MetaAdminClient, try_handshake};
use crate::connect::{ConnectError, ConnectParameters, ConnectStep};
use crate::target::OnboardingTarget;

/// Setting that holds the token of the handshake.
pub(crate) const VERIFY_TOKEN: &str = "META_VERIFY_TOKEN";

pub(crate) async fn connect_instance(
    subject: &OnboardingTarget<'_>,
    connecting: &ConnectParameters<'_>,
    steps: &mut Vec<ConnectStep>,
) -> Result<(), ConnectError> {
    let webhook = connecting.webhook;
    steps.push(describe_manual_step(&webhook.url));
    let mut wrong = Vec::new();
    if !webhook.proof_set {
        wrong.push("META_APP_SECRET is not set where Recado runs: no webhook can be proven".to_owned());
    }
    if webhook.verify_token_set == Some(false) {
        wrong.push("META_VERIFY_TOKEN is not set where Recado runs: the handshake is refused".to_owned());
    }
    match check_handshake(subject, &webhook.url).await {
        Ok(step) => steps.push(step),
        Err(why) => wrong.push(why),
    }
    if !wrong.is_empty() && !connecting.options.check && !connecting.options.force {
        return Err(ConnectError::NothingChanged {
            provider: "Meta",
            why: Box::new(ConnectError::MultipleErrors(wrong)),
        });
    }
    match ensure_subscription(subject, connecting).await {
        Ok(step) => steps.push(step),
        Err(error) => wrong.push(error.to_string()),
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(ConnectError::MultipleErrors(wrong))
    }
}

fn describe_manual_step(callback: &str) -> ConnectStep {
    let fields = "messages, message_template_status_update, account_update, phone_number_quality_update";
    ConnectStep::EnterManually {
        place: "the app's WhatsApp configuration (developers.facebook.com)",
        entries: vec![
            ("callback URL", callback.to_owned()),
            ("verify token", format!("the value of {VERIFY_TOKEN}")),
            ("fields", fields.to_owned()),
            (
                "",
                "(and smb_message_echoes for numbers that are also used in the phone app)".to_owned(),
            ),
        ],
    }
}

async fn check_handshake(subject: &OnboardingTarget<'_>, callback: &str) -> Result<ConnectStep, String> {
    let Some(token) = (subject.lookup_secret)(VERIFY_TOKEN) else {
        return Ok(ConnectStep::HandshakeSkipped {
            setting: VERIFY_TOKEN,
        });
    };
    match try_handshake(subject.http, callback, &token).await {
        Ok(true) => Ok(ConnectStep::HandshakeAnswered),
        Ok(false) => Err("something else than Recado answers at the callback URL".to_owned()),
        Err(error) => Err(format!("the handshake fails: {error}")),
    }
}

async fn ensure_subscription(
    subject: &OnboardingTarget<'_>,
    connecting: &ConnectParameters<'_>,
) -> Result<ConnectStep, ConnectError> {
    let Some(account) = &subject.instance.account_id else {
        return Ok(ConnectStep::NoAccount);
    };
    let at = MetaAdminClient::for_target(subject, connecting.require_key()?);
    if !connecting.options.check {
        let refused = format!("the app was not subscribed to {account}");
        at.subscribe_app(account)
            .await
            .map_err(ConnectError::from_provider_error(refused))?;
    }
    let unsaid = format!("it is not told which apps are subscribed to {account}");
    let apps = at
        .list_subscribed_apps(account)
        .await
        .map_err(ConnectError::from_provider_error(unsaid))?;
    if apps.is_empty() {
        let nobody = format!("no app is subscribed to {account}: no webhook comes");
        return Err(ConnectError::MultipleErrors(vec![nobody]));
    }
    Ok(ConnectStep::Subscribed {
        account: account.clone(),
        apps,
    })
}
