use super::DynamoStore;
use super::expression::Expression;
use super::item::{self, Item, number_attribute, text_attribute};
use super::keys::{self, DEAD_LIST_KEY, TableKey};
use super::lists::{self, ListPosition, ListSource, ListTimeRange};
use super::table::RecordQuery;
use jiff::Timestamp;
use recado_domain::dead_letter::DeadLetter;
use recado_domain::ids::{InstanceId, TenantId};
use recado_domain::millis::from_unix_millis;
use recado_ports::ports::{
    DeadLetterCounts, DeadLetterFilter, DeadLetters, Page, PageRequest, PortResult, System,
};
use serde_json::Value;

/// Builds the item of a dead letter. The index `lists` sorts it by the time of the failure, and so does `tenants` among
/// those of its tenant, or of nobody.
pub(super) fn dead_letter_item(what: &'static str, dead_letter: &DeadLetter) -> PortResult<Item> {
    let mut item = item::encode_record(what, dead_letter)?;
    item.insert("list_key".to_owned(), text_attribute(DEAD_LIST_KEY));
    item.insert(
        "list_at".to_owned(),
        number_attribute(dead_letter.at.as_millisecond()),
    );
    let list = keys::tenant_dead_letters(dead_letter.tenant.as_ref());
    keys::index_tenant_list(&mut item, list, dead_letter.at);
    Ok(TableKey::for_dead_letter(&dead_letter.id).into_item(item))
}

/// Returns the dead letter of an item. If its record cannot be read, the dead letter says so, and has the fields that can.
fn parse_letter(what: &'static str, item: &Item) -> PortResult<DeadLetter> {
    let error = match item::decode_record(what, item) {
        Ok(dead_letter) => return Ok(dead_letter),
        Err(error) => error,
    };
    let id = item::get_string(item, "pk").and_then(|pk| pk.strip_prefix("X#"));
    let (Some(id), Some(at)) = (id, item::get_integer(item, "list_at")) else {
        return Err(error);
    };
    tracing::error!(dead_letter = id, %error, "the record of a dead letter cannot be read");
    let fields = Value::Object(item::decode_readable_fields(what, item));
    let at = from_unix_millis(at);
    Ok(DeadLetter::from_damaged_record(
        id.to_owned(),
        at,
        &fields,
        format!("{item:?}"),
    ))
}

/// Returns the condition that the dead letter is of the failure at `failed_at`.
fn failed_at_condition(failed_at: Timestamp) -> Expression {
    // The index needs this attribute, so that there is none without it in a list.
    Expression::new("#list_at = :failed_at").with_number(":failed_at", failed_at.as_millisecond())
}

impl<A: System> DynamoStore<A> {
    /// Returns the shortest list that holds what `filter` lets through. A dead letter that names its instance is in the list of
    /// the instance's tenant, which an instance with dead letters keeps.
    async fn find_letter_list(&self, filter: &DeadLetterFilter) -> PortResult<ListSource> {
        let tenant = match (&filter.tenant, &filter.instance) {
            (None, Some(instance)) if !filter.of_nobody => self.find_tenant_of(instance).await?,
            (tenant, _) => tenant.clone(),
        };
        Ok(if tenant.is_some() || filter.of_nobody {
            ListSource::OfTenant(keys::tenant_dead_letters(tenant.as_ref()))
        } else {
            ListSource::Lists(DEAD_LIST_KEY.to_owned())
        })
    }
}

impl<A: System> DeadLetters for DynamoStore<A> {
    async fn put_dead_letter(&self, dead_letter: &DeadLetter) -> PortResult<bool> {
        const WHAT: &str = "keeping a dead letter";
        let newest = Expression::new("attribute_not_exists(#pk) OR #at < :failed_at")
            .with_number(":failed_at", dead_letter.at.as_millisecond());
        let stored = self
            .table
            .put_record(WHAT, dead_letter_item(WHAT, dead_letter)?, Some(newest))
            .await?;
        Ok(stored.is_ok())
    }

    async fn find_dead_letter(&self, id: &str) -> PortResult<Option<DeadLetter>> {
        const WHAT: &str = "reading a dead letter";
        let found = self.table.get_record(WHAT, TableKey::for_dead_letter(id)).await?;
        found.map(|item| parse_letter(WHAT, &item)).transpose()
    }

    async fn remove_dead_letter(&self, id: &str, failed_at: Timestamp) -> PortResult<bool> {
        let removed = self
            .table
            .delete_record(
                "removing a dead letter",
                TableKey::for_dead_letter(id),
                failed_at_condition(failed_at),
            )
            .await?;
        Ok(removed.is_ok())
    }

    async fn list_dead_letters(
        &self,
        filter: &DeadLetterFilter,
        page: &PageRequest,
    ) -> PortResult<Page<DeadLetter>> {
        const WHAT: &str = "listing dead letters";
        let wanted = |item: &Item| {
            let dead_letter = parse_letter(WHAT, item)?;
            let place = ListPosition::new(dead_letter.at.as_millisecond(), dead_letter.id.clone());
            Ok(filter
                .matches_letter(&dead_letter)
                .then_some((place, dead_letter)))
        };
        let span = ListTimeRange {
            since: filter.since,
            until: filter.until,
        };
        let source = self.find_letter_list(filter).await?;
        let found = self.read_list_between(WHAT, source, span, page, wanted).await?;
        Ok(lists::build_page(found, page.limit.max(1)))
    }

    async fn count_dead_letters(&self, tenant: Option<&TenantId>) -> PortResult<DeadLetterCounts> {
        let (index, keys) = match tenant {
            Some(tenant) => (
                "tenants",
                Expression::new("#tenant_list = :key")
                    .with_text(":key", keys::tenant_dead_letters(Some(tenant))),
            ),
            None => (
                "lists",
                Expression::new("#list_key = :key").with_text(":key", DEAD_LIST_KEY),
            ),
        };
        let query = RecordQuery {
            index: Some(index),
            keys,
            filter: None,
            reverse: true,
            limit: None,
        };
        let mut counts = DeadLetterCounts::default();
        let what = "counting dead letters";
        for (instance, count) in self.table.count_by_text(what, &query, "instance").await? {
            let instance = instance.and_then(|id| InstanceId::parse(&id).ok());
            *counts.0.entry(instance).or_default() += count;
        }
        Ok(counts)
    }
}
