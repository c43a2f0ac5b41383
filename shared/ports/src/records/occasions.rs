//! Occasions, templates of invitations, and the times since which pages about occasions must be made anew.

use super::check_cursor;
use crate::ports::{Page, PageRequest, PortError, PortResult};
use crate::retry_write::{WriteAttempt, retry_lost_write};
use crate::table::{
    Partition, Query, Record, Table, find_many, find_or_new, find_record, list_all_records, list_records,
    save_record,
};
use jiff::Timestamp;
use recado_domain::ids::{InvitationTemplateName, OccasionId, TenantId};
use recado_domain::invitations::{InvitationTemplate, Occasion};
use recado_domain::moving::MovedPageChange;
use recado_domain::published_event::{PublishedEvent, derive_page_events};

/// The number of templates that are read at once.
const TEMPLATES: usize = 100;

impl Record for Occasion {
    const KIND: &'static str = "occasions";

    fn owner(&self) -> Option<&TenantId> {
        Some(&self.tenant)
    }

    fn build_sort_key(&self) -> String {
        self.id.to_string()
    }
}

impl Record for InvitationTemplate {
    const KIND: &'static str = "invitation-templates";

    fn owner(&self) -> Option<&TenantId> {
        Some(&self.tenant)
    }

    fn build_sort_key(&self) -> String {
        let language = self.language.as_deref().unwrap_or_default();
        format!(
            "{}{}#{language}",
            prefix_of_template(&self.name),
            self.channel.as_str()
        )
    }
}

impl Record for MovedPageChange {
    const KIND: &'static str = "page-changes";
    const IS_PUBLISHED: bool = true;

    fn owner(&self) -> Option<&TenantId> {
        Some(&self.tenant)
    }

    fn build_sort_key(&self) -> String {
        self.occasion.to_string()
    }

    fn compute_expiry(&self) -> Option<Timestamp> {
        Some(self.expires)
    }

    fn derive_published_events(old: Option<&Self>, new: &Self, at: Timestamp) -> Vec<PublishedEvent> {
        let before = old.map(|old| old.at);
        derive_page_events((&new.tenant, &new.occasion), before, new.at, at)
    }
}

/// Returns the beginning of the places of the templates with a name. No name contains a `#`.
fn prefix_of_template(name: &InvitationTemplateName) -> String {
    format!("{name}#")
}

/// Returns an occasion of a tenant; `None` if it does not exist.
pub async fn find_occasion(
    table: &dyn Table,
    tenant: &TenantId,
    id: &OccasionId,
) -> PortResult<Option<Occasion>> {
    find_record(table, Some(tenant), id.as_str()).await
}

/// Lists the occasions of a tenant by their ids.
pub async fn list_occasions(
    table: &dyn Table,
    tenant: &TenantId,
    page: &PageRequest,
) -> PortResult<Page<Occasion>> {
    check_cursor(Occasion::KIND, page, |text| OccasionId::parse(text).is_ok())?;
    let own = Partition::new(Occasion::KIND, Some(tenant));
    list_records(table, Query::new(own, page.limit), page, |_| true).await
}

/// Lists the templates of a tenant, all or those with a name, by name, channel and language.
pub async fn list_invitation_templates(
    table: &dyn Table,
    tenant: &TenantId,
    name: Option<&InvitationTemplateName>,
) -> PortResult<Vec<InvitationTemplate>> {
    let own = Partition::new(InvitationTemplate::KIND, Some(tenant));
    let mut query = Query::new(own, TEMPLATES);
    if let Some(name) = name {
        query = query.with_prefix(&prefix_of_template(name));
    }
    list_all_records(table, query, |_| true).await
}

/// Notes that pages about an occasion must be made anew. The newest time counts, and the latest expiry.
pub async fn mark_pages_changed(table: &dyn Table, change: &MovedPageChange) -> PortResult<()> {
    retry_lost_write(PortError::contended(MovedPageChange::KIND), (), |()| async {
        let mut found = find_or_new(table, change.clone()).await?;
        let known = &mut found.record;
        if known.at > change.at && known.expires >= change.expires {
            return PortResult::Ok(WriteAttempt::Done(()));
        }
        known.at = known.at.max(change.at);
        known.expires = known.expires.max(change.expires);
        let saved = save_record(table, &mut found).await?;
        Ok(WriteAttempt::after_write(saved, ()))
    })
    .await
}

/// Returns the times since which pages about these occasions must be made anew, of those that have one.
pub async fn list_page_changes(
    table: &dyn Table,
    tenant: &TenantId,
    occasions: &[OccasionId],
) -> PortResult<Vec<MovedPageChange>> {
    let sorts: Vec<String> = occasions.iter().map(OccasionId::to_string).collect();
    find_many(table, Some(tenant), &sorts).await
}
