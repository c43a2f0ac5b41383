//! The audit: one item per entry, in its tenant's partition. The index `lists` holds those of all tenants.

use super::DynamoStore;
use super::expression::{Expression, UpdateChange};
use super::item::{self, Item, number_attribute, text_attribute};
use super::keys::{self, AUDIT_LIST_KEY, TableKey};
use super::lists::{self, ListPosition, ListSource, ListTimeRange};
use super::table::RecordQuery;
use aws_sdk_dynamodb::types::ReturnValue;
use futures::stream::{self, StreamExt, TryStreamExt};
use jiff::Timestamp;
use recado_domain::audit::{AuditAction, AuditEntry, NOT_KEPT};
use recado_domain::ids::TenantId;
use recado_ports::ports::{Audit, AuditFilter, Page, PageRequest, PortResult, System};

/// The number of entries that are written side by side.
const WRITES_AT_ONCE: usize = 16;

fn position(entry: &AuditEntry) -> ListPosition {
    ListPosition::new(entry.at.as_millisecond(), entry.id.as_str())
}

impl<A: System> DynamoStore<A> {
    async fn put_audit_entry(&self, entry: AuditEntry, expires: Timestamp) -> PortResult<()> {
        const WHAT: &str = "appending to the audit";
        let mut record = item::encode_record(WHAT, &entry)?;
        record.insert("ttl".to_owned(), number_attribute(expires.as_second()));
        record.insert("list_key".to_owned(), text_attribute(AUDIT_LIST_KEY));
        record.insert("list_at".to_owned(), number_attribute(entry.at.as_millisecond()));
        let item = TableKey::for_audit_entry(&entry).into_item(record);
        // A refused write means that the entry is stored already.
        let _kept = self
            .table
            .put_record(WHAT, item, Some(Expression::record_absent()))
            .await?;
        Ok(())
    }

    /// Takes out of a tenant's audit what its configuration held, in at most `limit` entries. Returns in how many.
    pub(super) async fn forget_audited_contents(&self, tenant: &TenantId, limit: usize) -> PortResult<usize> {
        const WHAT: &str = "taking contents out of the audit";
        let shown = Expression::new("#action = :changed AND begins_with(#after, :fields)")
            .with_text(":changed", AuditAction::ConfigurationChanged.as_str())
            .with_text(":fields", "{");
        let query = RecordQuery {
            filter: Some(shown),
            ..RecordQuery::for_partition(keys::audit_pk(Some(tenant)), None, None)
        };
        let found = self.table.query_records(WHAT, &query).await?;
        let found: Vec<TableKey> = found.iter().take(limit).filter_map(TableKey::from_item).collect();
        let change = UpdateChange::default()
            .set_value("after", text_attribute(NOT_KEPT))
            .remove_attributes(&["before"]);
        for key in &found {
            let exists = Some(Expression::new("attribute_exists(#pk)"));
            let _expired = self
                .table
                .update_record(WHAT, key.clone(), &change, exists, ReturnValue::None)
                .await?;
        }
        Ok(found.len())
    }

    /// Reads the entries of a tenant that come after the cursor and that `wanted` accepts: one more than the page holds,
    /// if there are so many.
    async fn read_audit_of_tenant(
        &self,
        tenant: &TenantId,
        filter: &AuditFilter,
        page: &PageRequest,
        wanted: impl Fn(&Item) -> PortResult<Option<(ListPosition, AuditEntry)>>,
    ) -> PortResult<Vec<(ListPosition, AuditEntry)>> {
        const WHAT: &str = "listing the audit";
        let after = page.cursor.as_deref();
        let after = after
            .map(|cursor| ListPosition::parse_cursor(WHAT, cursor))
            .transpose()?;
        // DynamoDB refuses an empty text as the value of a key.
        let from = filter.since.map_or_else(|| "0".to_owned(), keys::sample_sk);
        // No text between a time and its entries is later than any id.
        let upto = match (&after, filter.until) {
            (Some(after), _) => keys::audit_sk(after.time(), after.id()),
            (None, Some(until)) => keys::sample_sk(until),
            (None, None) => "~".to_owned(),
        };
        if from > upto {
            return Ok(Vec::new());
        }
        let keys = Expression::new("#pk = :pk AND #sk BETWEEN :from AND :upto")
            .with_text(":pk", keys::audit_pk(Some(tenant)))
            .with_text(":from", from)
            .with_text(":upto", upto);
        let limit = page.limit.max(1).saturating_add(1);
        let query = RecordQuery {
            index: None,
            keys,
            filter: None,
            reverse: true,
            limit: Some(limit),
        };
        let (mut found, mut start) = (Vec::new(), None);
        loop {
            let (items, next) = self.table.query_page(WHAT, &query, start).await?;
            for item in &items {
                let entry = item::keep_readable(wanted(item)).flatten();
                found.extend(entry.filter(|(place, _)| after.as_ref().is_none_or(|after| place < after)));
            }
            match next {
                Some(next) if found.len() < limit => start = Some(next),
                _ => return Ok(found),
            }
        }
    }
}

impl<A: System> Audit for DynamoStore<A> {
    async fn append_audit(&self, entries: &[AuditEntry], expires: Timestamp) -> PortResult<()> {
        stream::iter(entries.to_vec())
            .map(|entry| self.put_audit_entry(entry, expires))
            .buffer_unordered(WRITES_AT_ONCE)
            .try_collect()
            .await
    }

    async fn list_audit(&self, filter: &AuditFilter, page: &PageRequest) -> PortResult<Page<AuditEntry>> {
        const WHAT: &str = "listing the audit";
        let now = self.table.system.now();
        let wanted = |found: &Item| {
            let Some(found) = item::unexpired(found.clone(), now) else {
                return Ok(None);
            };
            let entry: AuditEntry = item::decode_record(WHAT, &found)?;
            Ok(filter.matches_entry(&entry).then(|| (position(&entry), entry)))
        };
        let found = if let Some(tenant) = &filter.tenant {
            self.read_audit_of_tenant(tenant, filter, page, wanted).await?
        } else {
            let span = ListTimeRange {
                since: filter.since,
                until: filter.until,
            };
            let all = ListSource::Lists(AUDIT_LIST_KEY.to_owned());
            self.read_list_between(WHAT, all, span, page, wanted).await?
        };
        Ok(lists::build_page(found, page.limit.max(1)))
    }
}
