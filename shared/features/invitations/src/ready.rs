//! Invitations with all that is needed to send them.

use crate::InvitationError;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use recado_domain::config::{InstanceConfig, Tenant};
use recado_domain::content::Content;
use recado_domain::email::{Email, EmailAddress, EmailOutbox};
use recado_domain::ids::{BatchId, CorrelationId, InvitationId, TokenName, hash_parts};
use recado_domain::invitations::{
    Batch, Guest, Invitation, InvitationChannel, InvitationState, InvitationTemplate, PlannedMessage,
    ScheduledInvitation, TemplateValues,
};
use recado_domain::metadata::Metadata;
use recado_domain::millis::add_duration;
use recado_domain::opt_out::{RecipientAddress, UnsubscribeToken};
use recado_domain::reason::Reason;
use recado_pipeline::Deps;
use recado_pipeline::steps::identity::load_identity_key;
use recado_ports::ports::{PortError, PortResult};
use recado_ports::records::claims::InvitationClaim;
use serde_json::json;
use std::sync::Arc;

/// The way by which an invitation goes.
#[derive(Debug)]
pub enum InvitationWay {
    /// The invitation becomes a message of a client.
    Message { phone: String, content: Box<Content> },
    /// The invitation holds its e-mail itself.
    Email,
}

/// An invitation with all that is needed to send it.
#[derive(Debug)]
pub struct ReadyInvitation {
    pub bound: Arc<InstanceConfig>,
    pub guest: Guest,
    pub zone: TimeZone,
    pub way: InvitationWay,
    pub invitation: Invitation,
    pub correlation: CorrelationId,
    pub send_at: Option<Timestamp>,
    pub batch: Option<BatchId>,
    /// The time after which it is not sent, of a reminder.
    pub useful_until: Option<Timestamp>,
    /// The time of the backup from which its batch was restored.
    pub restored_from: Option<Timestamp>,
}

impl ReadyInvitation {
    /// Notes the batch that the invitation belongs to, which may be paused or cancelled. If the batch comes from a backup, the invitation
    /// may have been sent since: an e-mail is given up, because its carrier cannot be asked.
    pub fn join_batch(&mut self, batch: &Batch, now: Timestamp) {
        if let InvitationState::Email { outbox } = &mut self.invitation.state {
            outbox.batch = Some(batch.id.clone());
            if batch.restored_from.is_some() {
                let why = "its batch was restored from a backup".to_owned();
                // A new e-mail is queued, so this is not refused.
                let _ = outbox.give_up(Reason::UnknownOutcome, why, now);
            }
        }
        self.restored_from = batch.restored_from;
        self.batch = Some(batch.id.clone());
        self.useful_until = batch.reminder.as_ref().map(|reminder| reminder.begins_at);
    }

    /// Returns the claim of guest and template: for `window` from the time on at which the invitation leaves.
    pub fn make_claim(&self, window: SignedDuration, now: Timestamp) -> InvitationClaim {
        let leaves_at = self.send_at.map_or(now, |at| at.max(now));
        InvitationClaim {
            key: self.dedupe_key(),
            until: add_duration(leaves_at, window),
            replaces: None,
        }
    }

    /// Returns the invitation as its message notes it.
    pub fn describe_sent(&self) -> ScheduledInvitation {
        let invitation = &self.invitation;
        invitation.describe_sent(self.batch.clone(), self.useful_until, self.restored_from)
    }

    /// Returns the invitation as it is stored before it becomes a message that `by` ordered.
    pub fn to_taken(&self, by: &TokenName) -> Invitation {
        let mut invitation = self.invitation.clone();
        if let InvitationState::Taken { planned } = &mut invitation.state {
            *planned = self.plan_message(by).map(Box::new);
        }
        invitation
    }

    /// Returns the message that the invitation is to become, as `by` orders it; `None`: it goes by e-mail.
    pub fn plan_message(&self, by: &TokenName) -> Option<PlannedMessage> {
        let InvitationWay::Message { phone, content } = &self.way else {
            return None;
        };
        Some(PlannedMessage {
            instance: self.bound.instance.id.clone(),
            to: phone.clone(),
            content: (**content).clone(),
            send_at: self.send_at,
            batch: self.batch.clone(),
            useful_until: self.useful_until,
            by: by.clone(),
            correlation: self.correlation.clone(),
            restored_from: self.restored_from,
        })
    }

    /// Returns the key that other invitations of the same template to the same guest claim, too. Each reminder has one of its own.
    fn dedupe_key(&self) -> String {
        let Invitation {
            occasion,
            guest,
            template,
            ..
        } = &self.invitation;
        match self.batch.as_ref().filter(|_| self.useful_until.is_some()) {
            Some(reminder) => hash_parts(&["reminder", reminder.as_str(), guest.as_str()], 16),
            None => hash_parts(
                &["dedupe", occasion.as_str(), guest.as_str(), template.as_str()],
                16,
            ),
        }
    }
}

/// Returns the metadata by which the message of an invitation names it.
pub fn name_in_metadata(invitation: &Invitation) -> PortResult<Option<Metadata>> {
    let Invitation {
        id, occasion, guest, ..
    } = invitation;
    let names = json!({"invitation": id, "occasion": occasion, "guest": guest});
    let metadata = names.as_object().map(Metadata::from_object).transpose();
    metadata.map_err(|error| PortError::invalid("invitation", error))
}

/// Writes the e-mail of an invitation, as every attempt gives it to the carrier: by the first sender of the tenant.
pub async fn write_email(
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
pub fn put_off_email(deps: &Deps, outbox: &mut EmailOutbox, at: Timestamp) -> PortResult<()> {
    outbox
        .put_off(at, "put off by the rules for deliveries", deps.system().now())
        .map_err(|error| PortError::invalid("e-mail", error))
}
