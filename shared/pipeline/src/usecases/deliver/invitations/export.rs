//! Exports the log of deliveries of a month, page by page.

use super::InvitationError;
use super::lookup::{InvitationView, READS_AT_ONCE, view_listed_invitation};
use crate::steps::invited_tenant::choose_tenant;
use futures::stream::{self, StreamExt, TryStreamExt};
use recado_domain::access::Caller;
use recado_domain::ids::{InvitationTemplateName, OccasionId, TenantId};
use recado_domain::invitations::{Invitation, InvitationStatus, LogMonth};
use recado_ports::Deps;
use recado_ports::ports::{Page, PageRequest};
use recado_ports::records::invitations::list_invitations_of_month;

/// The entries of the log that are wanted.
#[derive(Debug, Clone, Default)]
pub struct LogFilter {
    /// The month in UTC in which they were made; `None`: the present one.
    pub month: Option<LogMonth>,
    /// Only of this occasion.
    pub occasion: Option<OccasionId>,
    /// Only by this template.
    pub template: Option<InvitationTemplateName>,
    /// Only with this status.
    pub status: Option<InvitationStatus>,
}

impl LogFilter {
    fn may_include(&self, invitation: &Invitation) -> bool {
        self.occasion
            .as_ref()
            .is_none_or(|one| *one == invitation.occasion)
            && self
                .template
                .as_ref()
                .is_none_or(|one| *one == invitation.template)
    }
}

/// Lists the log of deliveries of a month by time. A page is of so many invitations of the month, of which those are left that are
/// wanted: it may be empty, and the next may not.
pub async fn export_invitations(
    deps: &Deps,
    caller: &Caller,
    named: Option<&TenantId>,
    filter: &LogFilter,
    page: &PageRequest,
) -> Result<Page<InvitationView>, InvitationError> {
    let tenant = choose_tenant(deps, caller, named).await?;
    let present = LogMonth::of_instant(deps.system().now());
    let month = filter.month.unwrap_or(present);
    let found = list_invitations_of_month(deps.store(), &tenant.id, month, page).await?;
    let wanted = found.items.into_iter().filter(|one| filter.may_include(one));
    let views: Vec<Option<InvitationView>> = stream::iter(wanted)
        .map(|invitation| view_listed_invitation(deps, caller, invitation))
        .buffered(READS_AT_ONCE)
        .try_collect()
        .await?;
    let has_status = |view: &InvitationView| filter.status.is_none_or(|status| status == view.status);
    Ok(Page {
        items: views.into_iter().flatten().filter(has_status).collect(),
        next_cursor: found.next_cursor,
    })
}
