//! The audit: who did what, when, to what, and by which request. It holds no secret and nothing that contacts wrote.

use crate::access::{Caller, TokenRole};
use crate::ids::{CorrelationId, Nonce, TenantId, TokenName};
use crate::millis;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

/// The longest id, state or change that an entry holds, in characters. The rest is cut off.
const TEXT_MAX: usize = 400;

/// The longest state before or after a change of the configuration, in characters. A prompt fits.
const CONFIGURATION_MAX: usize = 24_000;

/// The text in place of what the configuration of a removed tenant held.
pub const NOT_KEPT: &str = "(not kept)";

/// An action that is audited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = AuditActionSchema))]
#[serde(rename_all = "snake_case")]
#[derive(IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum AuditAction {
    /// Created, changed or removed a tenant, an agent, an instance or the configuration of alerts.
    ConfigurationChanged,
    /// Read the webhook secrets of instances.
    WebhookSecretsRead,
    /// Gave an instance a new webhook secret.
    SecretRotated,
    /// Created a token.
    TokenCreated,
    /// Revoked a token.
    TokenRevoked,
    /// Took a conversation over from the agent.
    ConversationTakenOver,
    /// Gave a conversation back to the agent.
    ConversationGivenBack,
    /// Resolved a conversation.
    ConversationResolved,
    /// Said how an effect of an agent ended that was unknown.
    EffectDecided,
    /// Answered in a conversation.
    ConversationAnswered,
    /// Added or removed labels of a conversation.
    ConversationLabelled,
    /// Wrote a note beside a conversation.
    NoteAdded,
    /// Deleted a note beside a conversation.
    NoteDeleted,
    /// Cancelled a message that was to be sent later.
    MessageCancelled,
    /// Redrove a dead letter.
    DeadLetterRedriven,
    /// Deleted a dead letter.
    DeadLetterDeleted,
    /// Looked for a contact.
    ContactFound,
    /// Exported a contact.
    ContactExported,
    /// Erased a contact.
    ContactErased,
    /// Began to remove a tenant.
    TenantRemoved,
    /// Fetched what an instance missed.
    CaughtUp,
    /// Sent a test to a destination of alerts.
    AlertsTested,
    /// Redrove a notification of alerts.
    NotificationRedriven,
    /// Connected an instance at its provider.
    InstanceConnected,
    /// Started the pairing of a phone with an instance.
    PairingStarted,
    /// Had the setup of an instance checked at its provider.
    SetupChecked,
    /// Added or removed a source of an agent's knowledge.
    KnowledgeChanged,
    /// Posted a test to a webhook endpoint.
    WebhookTested,
    /// Let events be posted to a webhook endpoint again.
    EventsReplayed,
}

impl AuditAction {
    /// All actions.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Returns the name of the action in records, requests and on the command line.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Parses the name of an action.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|action| action.as_str() == text)
    }

    /// Makes the action on an object, without a change.
    pub fn on_object(
        self,
        tenant: Option<&TenantId>,
        kind: &'static str,
        object: impl Into<String>,
    ) -> AuditedAction {
        AuditedAction {
            action: self,
            tenant: tenant.cloned(),
            kind,
            object: object.into(),
            before: None,
            after: None,
        }
    }
}

/// An action with its object and the change in short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditedAction {
    /// The action.
    pub action: AuditAction,
    /// The tenant whose record it was done to; `None` for what belongs to no tenant.
    pub tenant: Option<TenantId>,
    /// The kind of the object, such as `conversation`.
    pub kind: &'static str,
    /// The id of the object.
    pub object: String,
    /// The state before, in short.
    pub before: Option<String>,
    /// The state after, in short.
    pub after: Option<String>,
}

impl AuditedAction {
    /// Adds the change.
    #[must_use]
    pub fn with_change(mut self, before: impl Into<String>, after: impl Into<String>) -> Self {
        (self.before, self.after) = (Some(before.into()), Some(after.into()));
        self
    }

    /// Adds the state after the action.
    #[must_use]
    pub fn with_result(mut self, after: impl Into<String>) -> Self {
        self.after = Some(after.into());
        self
    }
}

/// An entry of the audit. It is written before the change that it tells of, and never changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// Random id of the entry.
    pub id: Nonce,
    /// Time of the action.
    #[serde(with = "millis")]
    pub at: Timestamp,
    /// Name of the token.
    pub actor: TokenName,
    /// Tenant that the token is limited to; `None` for a token of the installation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor_tenant: Option<TenantId>,
    /// Role of the token.
    pub role: TokenRole,
    /// The action.
    pub action: AuditAction,
    /// The tenant whose record it was done to; `None` for what belongs to no tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<TenantId>,
    /// The kind of the object, such as `conversation`.
    pub kind: String,
    /// The id of the object.
    pub object: String,
    /// The state before, in short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The state after, in short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Correlation id of the request; `None` for what the installation did by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation: Option<CorrelationId>,
}

impl AuditEntry {
    /// Makes the entry of what `caller` does at `at`. The actor and the request are the caller's.
    pub fn of_caller(id: Nonce, at: Timestamp, caller: &Caller, done: AuditedAction) -> Self {
        let state_max = match done.action {
            AuditAction::ConfigurationChanged => CONFIGURATION_MAX,
            _ => TEXT_MAX,
        };
        Self {
            id,
            at,
            actor: caller.name.clone(),
            actor_tenant: caller.scope.tenant().cloned(),
            role: caller.role,
            action: done.action,
            tenant: done.tenant,
            kind: done.kind.to_owned(),
            object: cut_text(done.object, TEXT_MAX),
            before: done.before.map(|text| cut_text(text, state_max)),
            after: done.after.map(|text| cut_text(text, state_max)),
            correlation: caller.request.clone(),
        }
    }
}

/// Cuts a text to `max` characters.
fn cut_text(text: String, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Scope;

    #[test]
    fn each_action_is_written_and_read_by_one_name() {
        for &action in AuditAction::ALL {
            assert_eq!(AuditAction::parse(action.as_str()), Some(action));
            assert_eq!(serde_json::to_value(action).unwrap(), action.as_str());
        }
        assert_eq!(AuditAction::parse("anything"), None);
    }

    #[test]
    fn the_actor_and_the_request_are_the_callers_and_long_texts_are_cut() {
        let tenant = TenantId::parse("clinic").unwrap();
        let caller = Caller {
            name: TokenName::parse("desk").unwrap(),
            role: TokenRole::Operator,
            scope: Scope::Tenant(tenant.clone()),
            request: Some(CorrelationId::parse("request-1").unwrap()),
        };
        let done = AuditAction::ContactErased
            .on_object(Some(&tenant), "contact", "é".repeat(500))
            .with_change("a", "b".repeat(500));
        let id = Nonce::parse("n").unwrap();
        let entry = AuditEntry::of_caller(id, Timestamp::UNIX_EPOCH, &caller, done);
        assert_eq!(entry.actor, caller.name);
        assert_eq!(entry.actor_tenant.as_ref(), Some(&tenant));
        assert_eq!(entry.correlation, caller.request);
        assert_eq!(entry.object.chars().count(), TEXT_MAX + 1);
        assert_eq!(entry.after.unwrap().len(), TEXT_MAX + "…".len());
        assert_eq!(entry.before.as_deref(), Some("a"));
    }

    #[test]
    fn a_change_of_the_configuration_is_kept_whole() {
        let prompt = "é".repeat(16_000);
        let done = AuditAction::ConfigurationChanged
            .on_object(None, "agent", "ana")
            .with_change(prompt.clone(), "b".repeat(CONFIGURATION_MAX + 1));
        let id = Nonce::parse("n").unwrap();
        let entry = AuditEntry::of_caller(id, Timestamp::UNIX_EPOCH, &Caller::installation(), done);
        assert_eq!(entry.before, Some(prompt));
        assert_eq!(entry.after.unwrap().chars().count(), CONFIGURATION_MAX + 1);
    }
}
