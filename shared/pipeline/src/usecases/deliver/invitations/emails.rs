//! Invitations that go by e-mail: they hold their e-mail, and the sender of e-mails gives it to its carrier.

use super::InvitationError;
use crate::steps::identity::load_identity_key;
use jiff::Timestamp;
use recado_domain::config::Tenant;
use recado_domain::email::{Email, EmailAddress, EmailOutbox};
use recado_domain::ids::{CorrelationId, InvitationId};
use recado_domain::invitations::{Guest, InvitationChannel, InvitationTemplate, TemplateValues};
use recado_domain::opt_out::{RecipientAddress, UnsubscribeToken};
use recado_ports::Deps;
use recado_ports::ports::{PortError, PortResult};

/// Writes the e-mail of an invitation, as every attempt gives it to the carrier: by the first sender of the tenant.
pub(super) async fn write_email(
    deps: &Deps,
    (tenant, guest): (&Tenant, &Guest),
    (template, values): (&InvitationTemplate, &TemplateValues),
    id: &InvitationId,
    correlation: &CorrelationId,
) -> Result<EmailOutbox, InvitationError> {
    let sender = tenant.email_senders.first();
    let sender = sender.ok_or(InvitationError::Channel(InvitationChannel::Email))?;
    let to = guest.email.as_deref().ok_or(InvitationError::NoEmail)?;
    let to = EmailAddress::parse(to)?;
    let rendered = template.render_email(values)?;
    let email = Email {
        id: id.to_string(),
        unsubscribe_url: make_unsubscribe_url(deps, tenant, &to).await?,
        to,
        from: sender.from.clone(),
        reply_to: sender.reply_to.clone(),
        subject: rendered.subject,
        text: rendered.text,
        html: rendered.html,
    };
    email.check_content()?;
    let now = deps.system().now();
    Ok(EmailOutbox::queue_email(
        sender.id.clone(),
        email,
        correlation.clone(),
        now,
    ))
}

/// Makes the link with which the recipient ends messages that nobody asked for. `None`: it is not known where the installation is
/// reached.
async fn make_unsubscribe_url(deps: &Deps, tenant: &Tenant, to: &EmailAddress) -> PortResult<Option<String>> {
    let Some(base) = &deps.settings().public_url else {
        return Ok(None);
    };
    let key = load_identity_key(deps).await?;
    let token = UnsubscribeToken {
        tenant: tenant.id.clone(),
        recipient: key.derive_recipient_key(&tenant.id, RecipientAddress::Email(to)),
    };
    let token = token.seal_token(&key);
    Ok(Some(format!(
        "{}/unsubscribe/{token}",
        base.trim_end_matches('/')
    )))
}

/// Puts an e-mail that is not stored yet, or waits, off until a time.
pub(super) fn put_off_email(deps: &Deps, outbox: &mut EmailOutbox, at: Timestamp) -> PortResult<()> {
    outbox
        .put_off(at, "put off by the rules for deliveries", deps.system().now())
        .map_err(|error| PortError::invalid("e-mail", error))
}
