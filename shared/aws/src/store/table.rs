//! Single requests to the table. Each can have a condition, and each is repeated if it collides with a transaction.

use super::expression::{Expression, UpdateChange};
use super::item::Item;
use super::keys::TableKey;
use super::request_attempts::RequestAttempts;
use crate::error::{error_code, invalid_request, port_error};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{KeysAndAttributes, ReturnValue, ReturnValuesOnConditionCheckFailure};
use recado_ports::ports::{PortError, PortResult, System, WriteOutcome};
use std::collections::{HashMap, HashSet};
use std::time::Duration;

/// A condition that did not hold, with the record that was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ConditionFailed(pub(crate) Option<Item>);

/// The result of a conditional request: its value, or the condition that did not hold.
pub(crate) type ConditionalResult<T> = Result<T, ConditionFailed>;

/// One `DynamoDB` table.
#[derive(Debug, Clone)]
pub(crate) struct DynamoTable<A> {
    pub(super) client: Client,
    pub(super) name: String,
    pub(super) system: A,
}

/// The number of times that a request is repeated after a collision with a transaction.
pub(super) const RETRIES_MAX: u32 = 6;

impl<A: System> DynamoTable<A> {
    /// Waits before the next attempt: 20 ms, 40 ms … 640 ms, each varied at random from half to one and a half times.
    pub(super) async fn wait_before_retry(&self, round: u32) {
        let base = 20u64 << round.min(5);
        self.system
            .sleep(Duration::from_millis(base / 2 + self.system.random_u64() % base))
            .await;
    }

    /// Repeats a request that fails because a transaction holds the item. The SDK does not repeat it.
    async fn retry_on_conflict<T, E, R, F>(&self, request: impl Fn() -> F) -> Result<T, SdkError<E, R>>
    where
        E: ProvideErrorMetadata,
        F: Future<Output = Result<T, SdkError<E, R>>>,
    {
        let mut round = 0;
        loop {
            match request().await {
                Err(error) if round < RETRIES_MAX && error_code(&error) == "TransactionConflictException" => {
                    self.wait_before_retry(round).await;
                    round += 1;
                }
                outcome => return outcome,
            }
        }
    }

    /// Reads one record.
    pub(crate) async fn get_record(&self, what: &'static str, key: TableKey) -> PortResult<Option<Item>> {
        let request = self
            .client
            .get_item()
            .table_name(&self.name)
            .set_key(Some(key.into_key_item()))
            .consistent_read(true);
        let output = request.send().await.map_err(|error| port_error(what, &error))?;
        Ok(output.item)
    }

    /// Reads many records, in any order. Records that do not exist are left out. With `strong`, the reads are strongly
    /// consistent.
    pub(crate) async fn get_records(
        &self,
        what: &'static str,
        keys: Vec<TableKey>,
        strong: bool,
    ) -> PortResult<Vec<Item>> {
        let unique: Vec<TableKey> = keys.into_iter().collect::<HashSet<_>>().into_iter().collect();
        let mut found = Vec::new();
        for chunk in unique.chunks(100) {
            let keys = chunk.iter().cloned().map(TableKey::into_key_item).collect();
            let asked = KeysAndAttributes::builder()
                .set_keys(Some(keys))
                .consistent_read(strong);
            let mut wanted = HashMap::from([(
                self.name.clone(),
                asked.build().map_err(|e| invalid_request(what, e))?,
            )]);
            let mut round = 0;
            while !wanted.is_empty() {
                if round > RETRIES_MAX {
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
                    self.wait_before_retry(round).await;
                    round += 1;
                }
            }
        }
        Ok(found)
    }

    /// Writes a record. If the SDK sent the request more than once and a refusal shows exactly the item that was to be
    /// written, an earlier attempt succeeded, and this counts as success.
    pub(crate) async fn put_record(
        &self,
        what: &'static str,
        item: Item,
        condition: Option<Expression>,
    ) -> PortResult<ConditionalResult<()>> {
        let mut request = self
            .client
            .put_item()
            .table_name(&self.name)
            .set_item(Some(item.clone()));
        if let Some(condition) = condition {
            request = request
                .set_expression_attribute_names(Some(Expression::attribute_names(&[&condition.text])))
                .set_expression_attribute_values(non_empty_map(condition.values))
                .condition_expression(condition.text)
                .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        }
        let tries = RequestAttempts::default();
        let sent = self.retry_on_conflict(|| request.clone().customize().interceptor(tries.clone()).send());
        let found = match sent.await {
            Ok(_) => return Ok(Ok(())),
            Err(error) => take_found(what, error, |error| match error {
                PutItemError::ConditionalCheckFailedException(failed) => failed.item,
                _ => None,
            })?,
        };
        let ours = tries.was_repeated() && found.as_ref() == Some(&item);
        Ok(if ours { Ok(()) } else { Err(ConditionFailed(found)) })
    }

    /// Writes a record, whatever is stored: such a write is never refused.
    pub(crate) async fn put_always(&self, what: &'static str, item: Item) -> PortResult<()> {
        self.put_record(what, item, None).await.map(drop)
    }

    /// Changes a record.
    pub(crate) async fn update_record(
        &self,
        what: &'static str,
        key: TableKey,
        change: &UpdateChange,
        condition: Option<Expression>,
    ) -> PortResult<ConditionalResult<()>> {
        let changed = self.send_update(what, key, change, condition, ReturnValue::None, |_| false);
        Ok(changed.await?.map(drop))
    }

    /// Changes a record, and returns all of it.
    pub(crate) async fn update_and_read(
        &self,
        what: &'static str,
        key: TableKey,
        change: &UpdateChange,
        condition: Expression,
    ) -> PortResult<ConditionalResult<Item>> {
        self.send_update(what, key, change, Some(condition), ReturnValue::AllNew, |_| false)
            .await
    }

    /// Changes a record as [`Self::update_record`] does, and recognizes its own effect. If the SDK sent the request
    /// more than once and `ours` recognizes the found record as the effect of this update, an earlier attempt
    /// succeeded.
    pub(crate) async fn update_record_once(
        &self,
        what: &'static str,
        key: TableKey,
        change: &UpdateChange,
        condition: Expression,
        ours: impl Fn(&Item) -> bool + Send,
    ) -> PortResult<ConditionalResult<()>> {
        let changed = self.send_update(what, key, change, Some(condition), ReturnValue::None, ours);
        Ok(changed.await?.map(drop))
    }

    /// Changes a record, and returns the values that `returned` asks for, or the found record that is `ours`.
    async fn send_update(
        &self,
        what: &'static str,
        key: TableKey,
        change: &UpdateChange,
        condition: Option<Expression>,
        returned: ReturnValue,
        ours: impl Fn(&Item) -> bool + Send,
    ) -> PortResult<ConditionalResult<Item>> {
        let update = change.build_expression();
        let condition = condition.unwrap_or_default();
        let names = Expression::attribute_names(&[&update.text, &condition.text]);
        let mut values = update.values;
        values.extend(condition.values);
        let request = self
            .client
            .update_item()
            .table_name(&self.name)
            .set_key(Some(key.into_key_item()))
            .update_expression(update.text)
            .set_condition_expression((!condition.text.is_empty()).then_some(condition.text))
            .set_expression_attribute_names(Some(names))
            .set_expression_attribute_values(non_empty_map(values))
            .return_values(returned)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        let tries = RequestAttempts::default();
        let sent = self.retry_on_conflict(|| request.clone().customize().interceptor(tries.clone()).send());
        let found = match sent.await {
            Ok(output) => return Ok(Ok(output.attributes.unwrap_or_default())),
            Err(error) => take_found(what, error, |error| match error {
                UpdateItemError::ConditionalCheckFailedException(failed) => failed.item,
                _ => None,
            })?,
        };
        Ok(match found {
            Some(found) if tries.was_repeated() && ours(&found) => Ok(found),
            found => Err(ConditionFailed(found)),
        })
    }

    /// Deletes a record if `condition` holds. If the SDK sent the request more than once and a refusal finds no record,
    /// an earlier attempt succeeded, and this counts as success.
    pub(crate) async fn delete_record(
        &self,
        what: &'static str,
        key: TableKey,
        condition: Expression,
    ) -> PortResult<ConditionalResult<()>> {
        let request = self
            .client
            .delete_item()
            .table_name(&self.name)
            .set_key(Some(key.into_key_item()))
            .set_expression_attribute_names(Some(Expression::attribute_names(&[&condition.text])))
            .set_expression_attribute_values(non_empty_map(condition.values))
            .condition_expression(condition.text)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        let tries = RequestAttempts::default();
        let sent = self.retry_on_conflict(|| request.clone().customize().interceptor(tries.clone()).send());
        let found = match sent.await {
            Ok(_) => return Ok(Ok(())),
            Err(error) => take_found(what, error, |error| match error {
                DeleteItemError::ConditionalCheckFailedException(failed) => failed.item,
                _ => None,
            })?,
        };
        let ours = tries.was_repeated() && found.is_none();
        Ok(if ours { Ok(()) } else { Err(ConditionFailed(found)) })
    }
}

/// Returns the record that a request found whose condition did not hold. Any other error stays one.
fn take_found<E: ProvideErrorMetadata, R>(
    what: &'static str,
    error: SdkError<E, R>,
    found: impl FnOnce(E) -> Option<Item>,
) -> PortResult<Option<Item>> {
    match error {
        SdkError::ServiceError(service)
            if service.err().code() == Some("ConditionalCheckFailedException") =>
        {
            Ok(found(service.into_err()))
        }
        error => Err(port_error(what, &error)),
    }
}

/// Returns the outcome of a conditional write.
pub(super) fn write_outcome(is_written: bool) -> WriteOutcome {
    if is_written {
        WriteOutcome::Written
    } else {
        WriteOutcome::Conflict
    }
}

/// Returns `None` for an empty map, since `DynamoDB` refuses empty maps of values.
pub(super) fn non_empty_map<V>(values: HashMap<String, V>) -> Option<HashMap<String, V>> {
    (!values.is_empty()).then_some(values)
}
