//! The table: single requests, each conditional where a condition is given, each tried again where trying again is
//! the caller's only sensible reaction anyway.

use super::expression::{Change, Expression};
use super::item::Item;
use super::keys::Key;
use super::tries::Tries;
use crate::error::{code, port_error, unbuilt};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{KeysAndAttributes, ReturnValue, ReturnValuesOnConditionCheckFailure, Select};
use recado_pipeline::ports::{Ambient, PortError, PortResult};
use std::collections::{HashMap, HashSet};
use std::time::Duration;

/// A condition that did not hold, with the record as it was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Refused(pub(crate) Option<Item>);

/// Whether a conditional request took effect.
pub(crate) type Conditional<T> = Result<T, Refused>;

/// One table.
#[derive(Debug, Clone)]
pub(crate) struct Table<A> {
    pub(super) client: Client,
    pub(super) name: String,
    pub(super) ambient: A,
}

/// How often what collided with a transaction is tried again.
pub(super) const ROUNDS: u32 = 6;

impl<A: Ambient> Table<A> {
    /// Waits a little before the next try: 20 ms, 40 ms … 640 ms, each half as long to half as long again.
    pub(super) async fn pause(&self, round: u32) {
        let base = 20u64 << round.min(5);
        self.ambient
            .sleep(Duration::from_millis(base / 2 + self.ambient.random() % base))
            .await;
    }

    /// Repeats what fails because another transaction holds the item. The SDK does not: to it that is final.
    async fn undisturbed<T, E, R, F>(&self, request: impl Fn() -> F) -> Result<T, SdkError<E, R>>
    where
        E: ProvideErrorMetadata,
        F: Future<Output = Result<T, SdkError<E, R>>>,
    {
        let mut round = 0;
        loop {
            match request().await {
                Err(error) if round < ROUNDS && code(&error) == "TransactionConflictException" => {
                    self.pause(round).await;
                    round += 1;
                }
                outcome => return outcome,
            }
        }
    }

    /// Reads one record.
    pub(crate) async fn get(&self, what: &'static str, key: Key) -> PortResult<Option<Item>> {
        let request = self
            .client
            .get_item()
            .table_name(&self.name)
            .set_key(Some(key.item()))
            .consistent_read(true);
        let output = request.send().await.map_err(|error| port_error(what, &error))?;
        Ok(output.item)
    }

    /// Reads many records, in any order; those that do not exist are left out.
    pub(crate) async fn get_many(
        &self,
        what: &'static str,
        keys: Vec<Key>,
        strong: bool,
    ) -> PortResult<Vec<Item>> {
        let unique: Vec<Key> = keys.into_iter().collect::<HashSet<_>>().into_iter().collect();
        let mut found = Vec::new();
        for chunk in unique.chunks(100) {
            let keys = chunk.iter().cloned().map(Key::item).collect();
            let asked = KeysAndAttributes::builder()
                .set_keys(Some(keys))
                .consistent_read(strong);
            let mut wanted =
                HashMap::from([(self.name.clone(), asked.build().map_err(|e| unbuilt(what, e))?)]);
            let mut round = 0;
            while !wanted.is_empty() {
                if round > ROUNDS {
                    return Err(PortError::unavailable(what, "throttled"));
                }
                let request = self.client.batch_get_item().set_request_items(Some(wanted));
                let output = request.send().await.map_err(|error| port_error(what, &error))?;
                found.extend(
                    output
                        .responses
                        .into_iter()
                        .flat_map(HashMap::into_values)
                        .flatten(),
                );
                wanted = output.unprocessed_keys.unwrap_or_default();
                if !wanted.is_empty() {
                    self.pause(round).await;
                    round += 1;
                }
            }
        }
        Ok(found)
    }

    /// Writes a record. A refusal that shows the very item that was to be written, after the SDK tried more than once,
    /// is our own earlier try.
    pub(crate) async fn put(
        &self,
        what: &'static str,
        item: Item,
        condition: Option<Expression>,
    ) -> PortResult<Conditional<()>> {
        let mut request = self
            .client
            .put_item()
            .table_name(&self.name)
            .set_item(Some(item.clone()));
        if let Some(condition) = condition {
            request = request
                .set_expression_attribute_names(Some(Expression::names(&[&condition.text])))
                .set_expression_attribute_values(filled(condition.values))
                .condition_expression(condition.text)
                .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        }
        let tries = Tries::default();
        let sent = self.undisturbed(|| request.clone().customize().interceptor(tries.clone()).send());
        match sent.await {
            Ok(_) => Ok(Ok(())),
            Err(SdkError::ServiceError(service)) if service.err().is_conditional_check_failed_exception() => {
                let PutItemError::ConditionalCheckFailedException(failed) = service.into_err() else {
                    return Ok(Err(Refused::default()));
                };
                let ours = tries.repeated() && failed.item.as_ref() == Some(&item);
                Ok(if ours { Ok(()) } else { Err(Refused(failed.item)) })
            }
            Err(error) => Err(port_error(what, &error)),
        }
    }

    /// Changes a record and returns what `returned` asks for.
    pub(crate) async fn update(
        &self,
        what: &'static str,
        key: Key,
        change: &Change,
        condition: Option<Expression>,
        returned: ReturnValue,
    ) -> PortResult<Conditional<Item>> {
        self.update_known(what, key, change, condition, returned, |_| false)
            .await
    }

    /// As [`Self::update`]. A refusal after the SDK sent the request more than once, of a record that `ours` knows as the
    /// effect of this very update, is our own earlier try: it took effect, and the record as found is returned.
    pub(crate) async fn update_known(
        &self,
        what: &'static str,
        key: Key,
        change: &Change,
        condition: Option<Expression>,
        returned: ReturnValue,
        ours: impl Fn(&Item) -> bool + Send,
    ) -> PortResult<Conditional<Item>> {
        let update = change.expression();
        let condition = condition.unwrap_or_default();
        let names = Expression::names(&[&update.text, &condition.text]);
        let mut values = update.values;
        values.extend(condition.values);
        let request = self
            .client
            .update_item()
            .table_name(&self.name)
            .set_key(Some(key.item()))
            .update_expression(update.text)
            .set_condition_expression((!condition.text.is_empty()).then_some(condition.text))
            .set_expression_attribute_names(Some(names))
            .set_expression_attribute_values(filled(values))
            .return_values(returned)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        let tries = Tries::default();
        let sent = self.undisturbed(|| request.clone().customize().interceptor(tries.clone()).send());
        match sent.await {
            Ok(output) => Ok(Ok(output.attributes.unwrap_or_default())),
            Err(SdkError::ServiceError(service)) if service.err().is_conditional_check_failed_exception() => {
                let found = match service.into_err() {
                    UpdateItemError::ConditionalCheckFailedException(failed) => failed.item,
                    _ => None,
                };
                Ok(match found {
                    Some(found) if tries.repeated() && ours(&found) => Ok(found),
                    found => Err(Refused(found)),
                })
            }
            Err(error) => Err(port_error(what, &error)),
        }
    }

    /// Removes the record that `condition` holds for. A refusal that finds no record, after the SDK sent the request more
    /// than once, is our own earlier try.
    pub(crate) async fn delete(
        &self,
        what: &'static str,
        key: Key,
        condition: Expression,
    ) -> PortResult<Conditional<()>> {
        let request = self
            .client
            .delete_item()
            .table_name(&self.name)
            .set_key(Some(key.item()))
            .set_expression_attribute_names(Some(Expression::names(&[&condition.text])))
            .set_expression_attribute_values(filled(condition.values))
            .condition_expression(condition.text)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        let tries = Tries::default();
        let sent = self.undisturbed(|| request.clone().customize().interceptor(tries.clone()).send());
        match sent.await {
            Ok(_) => Ok(Ok(())),
            Err(SdkError::ServiceError(service)) if service.err().is_conditional_check_failed_exception() => {
                let found = match service.into_err() {
                    DeleteItemError::ConditionalCheckFailedException(failed) => failed.item,
                    _ => None,
                };
                let ours = tries.repeated() && found.is_none();
                Ok(if ours { Ok(()) } else { Err(Refused(found)) })
            }
            Err(error) => Err(port_error(what, &error)),
        }
    }
}

/// `DynamoDB` refuses an empty map of values.
pub(super) fn filled<V>(values: HashMap<String, V>) -> Option<HashMap<String, V>> {
    (!values.is_empty()).then_some(values)
}

/// Which records are wanted, and in which order.
#[derive(Debug, Clone)]
pub(crate) struct Query {
    /// Of this index; of the table itself, read strongly, if absent.
    pub(crate) index: Option<&'static str>,
    /// With these keys.
    pub(crate) keys: Expression,
    /// From the last to the first.
    pub(crate) reverse: bool,
    /// So many; all, if absent.
    pub(crate) limit: Option<usize>,
}

impl<A: Ambient> Table<A> {
    fn query_request(
        &self,
        query: &Query,
    ) -> aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder {
        self.client
            .query()
            .table_name(&self.name)
            .set_index_name(query.index.map(str::to_owned))
            .consistent_read(query.index.is_none())
            .key_condition_expression(&query.keys.text)
            .set_expression_attribute_names(Some(Expression::names(&[&query.keys.text])))
            .set_expression_attribute_values(filled(query.keys.values.clone()))
            .scan_index_forward(!query.reverse)
    }

    /// One page of records, from `start` on, and where the next one begins.
    pub(crate) async fn page(
        &self,
        what: &'static str,
        query: &Query,
        start: Option<Item>,
    ) -> PortResult<(Vec<Item>, Option<Item>)> {
        let limit = query
            .limit
            .map(|limit| i32::try_from(limit).unwrap_or(i32::MAX).max(1));
        let request = self
            .query_request(query)
            .set_limit(limit)
            .set_exclusive_start_key(start);
        let output = request.send().await.map_err(|error| port_error(what, &error))?;
        let next = output.last_evaluated_key.filter(|key| !key.is_empty());
        Ok((output.items.unwrap_or_default(), next))
    }

    /// Records, page by page until there are enough: one request, unless they fill more than 1 MB.
    pub(crate) async fn query(&self, what: &'static str, query: &Query) -> PortResult<Vec<Item>> {
        let mut found = Vec::new();
        let mut start = None;
        loop {
            let (items, next) = self.page(what, query, start).await?;
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

    /// The records of the table itself with this `pk`, read strongly: all, or those whose `sk` begins with `prefix`.
    pub(crate) async fn partition(
        &self,
        what: &'static str,
        pk: impl Into<String>,
        prefix: Option<&str>,
    ) -> PortResult<Vec<Item>> {
        let keys = match prefix {
            None => Expression::new("#pk = :pk"),
            Some(prefix) => {
                Expression::new("#pk = :pk AND begins_with(#sk, :prefix)").text(":prefix", prefix)
            }
        };
        let query = Query {
            index: None,
            keys: keys.text(":pk", pk),
            reverse: false,
            limit: None,
        };
        self.query(what, &query).await
    }

    /// How many records `query` finds, of those that `filter` lets through.
    pub(crate) async fn count(
        &self,
        what: &'static str,
        query: &Query,
        filter: Option<Expression>,
    ) -> PortResult<u64> {
        let filter = filter.unwrap_or_default();
        let names = Expression::names(&[&query.keys.text, &filter.text]);
        let mut values = query.keys.values.clone();
        values.extend(filter.values);
        let request = self
            .query_request(query)
            .select(Select::Count)
            .set_filter_expression((!filter.text.is_empty()).then_some(filter.text))
            .set_expression_attribute_names(Some(names))
            .set_expression_attribute_values(filled(values));
        let (mut count, mut start) = (0, None);
        loop {
            let page = request.clone().set_exclusive_start_key(start).send().await;
            let page = page.map_err(|error| port_error(what, &error))?;
            count += u64::try_from(page.count).unwrap_or_default();
            match page.last_evaluated_key.filter(|key| !key.is_empty()) {
                Some(next) => start = Some(next),
                None => return Ok(count),
            }
        }
    }
}
