//! Finds the newest session of a contact.

use super::InvitationError;
use super::preparation::{find_contact_conversation, parse_phone};
use crate::steps::invited_tenant::choose_tenant;
use recado_domain::access::Caller;
use recado_domain::config::Instance;
use recado_domain::conversation::ContactSession;
use recado_domain::ids::{ConversationId, InstanceId, TenantId};
use recado_domain::invitations::InvitedGuest;
use recado_ports::Deps;
use recado_ports::records::configuration::{find_config_by_id, load_configuration};

/// A contact's newest session on an instance.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionView {
    /// The instance.
    pub instance: InstanceId,
    /// The session.
    pub session: ContactSession,
    /// `true` if it is open now.
    pub is_open: bool,
    /// The conversation in which it is.
    pub conversation: ConversationId,
    /// The guest as whom the contact was invited last.
    pub invited: Option<InvitedGuest>,
}

/// Returns the newest session of the person with this number: the one that ends last of all instances, or of one.
pub async fn find_session(
    deps: &Deps,
    caller: &Caller,
    named: Option<&TenantId>,
    phone: &str,
    instance: Option<&InstanceId>,
) -> Result<SessionView, InvitationError> {
    let tenant = choose_tenant(deps, caller, named).await?;
    let phone = parse_phone(phone)?;
    let configured = load_configuration(deps.store(), Some(&tenant.id)).await?;
    let is_asked = |one: &&Instance| instance.is_none_or(|id| *id == one.id);
    let mut newest: Option<SessionView> = None;
    for one in configured.instances.iter().filter(is_asked) {
        let Some(bound) = find_config_by_id(deps.store(), &one.id).await? else {
            continue;
        };
        let Some(latest) = find_contact_conversation(deps, &bound, &phone).await? else {
            continue;
        };
        let Some(session) = latest.newest_session() else {
            continue;
        };
        let is_newer = |known: &SessionView| session.expires_at > known.session.expires_at;
        if newest.as_ref().is_none_or(is_newer) {
            newest = Some(SessionView {
                instance: one.id.clone(),
                is_open: session.is_open(deps.system().now()),
                session,
                conversation: latest.id,
                invited: latest.features.invited,
            });
        }
    }
    newest.ok_or(InvitationError::NotFound("session"))
}
