//! The callback is entered in Meta's app by a person; everything else can be checked, and the app subscribed.

use super::register::{Setup, shake_hands};
use crate::setting_up::{ConnectError, Connecting, Step, Subject};
use recado_domain::secret::Secret;

/// The setting of what the handshake is answered with.
pub(crate) const VERIFY_TOKEN: &str = "META_VERIFY_TOKEN";

impl<'a> Setup<'a> {
    /// The number as `subject` has it.
    pub(super) fn of(subject: &Subject<'a>, token: &'a Secret) -> Self {
        let base = subject.instance.base_url.as_ref();
        Self {
            http: subject.http,
            base: base.unwrap_or(&subject.config.meta_base_url),
            version: &subject.config.meta_api_version,
            token,
        }
    }
}

pub(crate) async fn connect(
    subject: &Subject<'_>,
    connecting: &Connecting<'_>,
    steps: &mut Vec<Step>,
) -> Result<(), ConnectError> {
    let webhook = connecting.webhook;
    steps.push(by_hand(&webhook.url));
    let mut wrong = Vec::new();
    if !webhook.proof_set {
        wrong.push("META_APP_SECRET is not set there: no webhook can be proven".to_owned());
    }
    if webhook.verify_token_set == Some(false) {
        wrong.push("META_VERIFY_TOKEN is not set there: the handshake is refused".to_owned());
    }
    match handshake(subject, &webhook.url).await {
        Ok(step) => steps.push(step),
        Err(why) => wrong.push(why),
    }
    match subscribe(subject, connecting).await {
        Ok(step) => steps.push(step),
        Err(error) => wrong.push(error.to_string()),
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(ConnectError::Several(wrong))
    }
}

fn by_hand(callback: &str) -> Step {
    let fields = "messages, message_template_status_update, account_update, phone_number_quality_update";
    Step::Enter {
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

async fn handshake(subject: &Subject<'_>, callback: &str) -> Result<Step, String> {
    let Some(token) = (subject.named)(VERIFY_TOKEN) else {
        return Ok(Step::HandshakeUntried {
            setting: VERIFY_TOKEN,
        });
    };
    match shake_hands(subject.http, callback, &token).await {
        Ok(true) => Ok(Step::HandshakeBack),
        Ok(false) => Err("something else than Recado answers at the callback URL".to_owned()),
        Err(error) => Err(format!("the handshake fails: {error}")),
    }
}

async fn subscribe(subject: &Subject<'_>, connecting: &Connecting<'_>) -> Result<Step, ConnectError> {
    let Some(account) = &subject.instance.account_id else {
        return Ok(Step::NoAccount);
    };
    let at = Setup::of(subject, connecting.key()?);
    if !connecting.options.check {
        let refused = format!("the app was not subscribed to {account}");
        at.subscribe(account).await.map_err(ConnectError::of(refused))?;
    }
    let unsaid = format!("it is not told which apps are subscribed to {account}");
    let apps = at.subscribed(account).await.map_err(ConnectError::of(unsaid))?;
    if apps.is_empty() {
        let nobody = format!("no app is subscribed to {account}: no webhook comes");
        return Err(ConnectError::Several(vec![nobody]));
    }
    Ok(Step::Subscribed {
        account: account.clone(),
        apps,
    })
}
