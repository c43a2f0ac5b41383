//! Meta: the callback is entered in the app by a person; everything else can be checked, and the app subscribed.

use super::Plan;
use anyhow::{Context, Result, bail};
use recado_whatsapp::ProviderConfig;
use recado_whatsapp::meta::register::{Setup, shake_hands};

pub(super) async fn connect(plan: &Plan<'_>) -> Result<()> {
    let name = &plan.instance.id;
    let callback = &plan.webhook.url;
    println!(
        "{name}: enter in the app's WhatsApp configuration (developers.facebook.com)\n  \
         callback URL  {callback}\n  verify token  the value of META_VERIFY_TOKEN\n  \
         fields        messages, message_template_status_update, account_update, phone_number_quality_update\n  \
         \x20             (and smb_message_echoes for numbers that are also used in the phone app)"
    );
    let mut wrong = Vec::new();
    if !plan.webhook.proof_set {
        wrong.push("META_APP_SECRET is not set there: no webhook can be proven".to_owned());
    }
    if plan.webhook.verify_token_set == Some(false) {
        wrong.push("META_VERIFY_TOKEN is not set there: the handshake is refused".to_owned());
    }
    match plan.environment.webhook.named("META_VERIFY_TOKEN").first() {
        None => println!("{name}: no handshake tried, META_VERIFY_TOKEN is not set here"),
        Some(token) => match shake_hands(&plan.there.http, callback, token).await {
            Ok(true) => println!("{name}: the handshake comes back"),
            Ok(false) => wrong.push("something else than Recado answers at the callback URL".to_owned()),
            Err(error) => wrong.push(format!("the handshake fails: {error}")),
        },
    }
    match subscribe(plan).await {
        Ok(told) => println!("{name}: {told}"),
        Err(error) => wrong.push(format!("{error:#}")),
    }
    if wrong.is_empty() {
        return Ok(());
    }
    bail!("{}", wrong.join("; "))
}

async fn subscribe(plan: &Plan<'_>) -> Result<String> {
    let Some(account) = &plan.instance.account_id else {
        return Ok("no app subscribed: the instance has no account_id (its WABA)".to_owned());
    };
    let token = plan.key()?;
    let defaults = ProviderConfig::default();
    let environment = plan.environment;
    let base = plan.instance.base_url.as_ref();
    let at = Setup {
        http: &plan.there.http,
        base: base
            .or(environment.meta_url.as_ref())
            .unwrap_or(&defaults.meta_base_url),
        version: environment
            .meta_version
            .as_ref()
            .unwrap_or(&defaults.meta_api_version),
        token: &token,
    };
    if !plan.command.check {
        at.subscribe(account)
            .await
            .with_context(|| format!("the app was not subscribed to {account}"))?;
    }
    let apps = at.subscribed(account).await?;
    if apps.is_empty() {
        bail!("no app is subscribed to {account}: no webhook comes");
    }
    Ok(format!("subscribed to {account}: {}", apps.join(", ")))
}
