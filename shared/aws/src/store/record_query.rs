//! Queries of the table and of its indexes.

use super::expression::Expression;
use super::item::Item;
use super::table::{DynamoTable, non_empty_map};
use crate::error::port_error;
use recado_ports::ports::{PortResult, System};
use std::collections::HashMap;

/// The records to read, and their order.
#[derive(Debug, Clone)]
pub(crate) struct RecordQuery {
    /// The index to read. `None`: the table itself, read with strong consistency.
    pub(crate) index: Option<&'static str>,
    /// The condition on the keys.
    pub(crate) keys: Expression,
    /// A condition that the records must meet besides. The database checks it after it has counted `limit`, so a page may
    /// be empty although more follow.
    pub(crate) filter: Option<Expression>,
    /// `true` reads from the last record to the first.
    pub(crate) reverse: bool,
    /// The number of records at most. `None`: all.
    pub(crate) limit: Option<usize>,
}

impl RecordQuery {
    /// Queries all records of the table that `keys` names, in their order.
    pub(crate) fn of_table(keys: Expression) -> Self {
        Self {
            index: None,
            keys,
            filter: None,
            reverse: false,
            limit: None,
        }
    }

    /// Queries all records of an index that `keys` names, in their order.
    pub(crate) fn of_index(index: &'static str, keys: Expression) -> Self {
        Self {
            index: Some(index),
            ..Self::of_table(keys)
        }
    }

    /// Queries the records of one partition of the table between two sort keys, both included.
    pub(crate) fn of_range(pk: String, (first, last): (String, String)) -> Self {
        let keys = Expression::new("#pk = :pk AND #sk BETWEEN :first AND :last").with_text(":pk", pk);
        Self::of_table(keys.with_text(":first", first).with_text(":last", last))
    }

    /// Reads the last records first.
    pub(crate) fn backwards(self) -> Self {
        Self {
            reverse: true,
            ..self
        }
    }

    /// Reads so many records at most.
    pub(crate) fn up_to(self, limit: usize) -> Self {
        Self {
            limit: Some(limit),
            ..self
        }
    }

    /// Reads only records that meet a condition.
    pub(crate) fn filtered(self, filter: Option<Expression>) -> Self {
        Self { filter, ..self }
    }

    /// Queries the records of one partition of the table, or those of them whose sort key begins with `prefix`.
    pub(crate) fn for_partition(pk: impl Into<String>, prefix: Option<&str>, limit: Option<usize>) -> Self {
        let keys = match prefix {
            None => Expression::new("#pk = :pk"),
            Some(prefix) => {
                Expression::new("#pk = :pk AND begins_with(#sk, :prefix)").with_text(":prefix", prefix)
            }
        };
        Self {
            limit,
            ..Self::of_table(keys.with_text(":pk", pk))
        }
    }

    /// Returns the attribute names that the conditions use.
    fn attribute_names(&self) -> HashMap<String, String> {
        let filter = self.filter.as_ref().map_or("", |filter| &filter.text);
        Expression::attribute_names(&[self.keys.text.as_str(), filter])
    }
}

/// The number of records that the database looks at for one page of a filtered query. Few of them may match.
const FILTERED_AT_ONCE: i32 = 1000;

impl<A: System> DynamoTable<A> {
    pub(super) fn build_query(
        &self,
        query: &RecordQuery,
    ) -> aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder {
        let filter = query.filter.clone().unwrap_or_default();
        let mut values = query.keys.values.clone();
        values.extend(filter.values);
        self.client
            .query()
            .table_name(&self.name)
            .set_index_name(query.index.map(str::to_owned))
            .consistent_read(query.index.is_none())
            .key_condition_expression(&query.keys.text)
            .set_expression_attribute_names(Some(query.attribute_names()))
            .set_expression_attribute_values(non_empty_map(values))
            .set_filter_expression((!filter.text.is_empty()).then_some(filter.text))
            .scan_index_forward(!query.reverse)
    }

    /// Reads one page of records from `start` on. Also returns the start of the next page, if there is one.
    pub(crate) async fn query_page(
        &self,
        what: &'static str,
        query: &RecordQuery,
        start: Option<Item>,
    ) -> PortResult<(Vec<Item>, Option<Item>)> {
        let limit = query.limit.map(|limit| match query.filter {
            None => i32::try_from(limit).unwrap_or(i32::MAX).max(1),
            Some(_) => FILTERED_AT_ONCE,
        });
        let request = self
            .build_query(query)
            .set_limit(limit)
            .set_exclusive_start_key(start);
        let output = request.send().await.map_err(|error| port_error(what, &error))?;
        let next = output.last_evaluated_key.filter(|key| !key.is_empty());
        Ok((output.items.unwrap_or_default(), next))
    }

    /// Reads records page by page until there are enough. One request suffices, unless the records fill more than 1 MB.
    pub(crate) async fn query_records(
        &self,
        what: &'static str,
        query: &RecordQuery,
    ) -> PortResult<Vec<Item>> {
        let mut found = Vec::new();
        let mut start = None;
        loop {
            let (items, next) = self.query_page(what, query, start).await?;
            found.extend(items);
            let enough = query.limit.is_some_and(|limit| found.len() >= limit);
            match next {
                Some(next) if !enough => start = Some(next),
                _ => break,
            }
        }
        found.truncate(query.limit.unwrap_or(usize::MAX));
        Ok(found)
    }

    /// Reads the records of the table itself with this `pk`, with strong consistency: all, or those whose `sk` begins
    /// with `prefix`.
    pub(crate) async fn query_partition(
        &self,
        what: &'static str,
        pk: impl Into<String>,
        prefix: Option<&str>,
    ) -> PortResult<Vec<Item>> {
        let query = RecordQuery::for_partition(pk, prefix, None);
        self.query_records(what, &query).await
    }
}
