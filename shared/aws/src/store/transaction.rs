//! Runs transactions, and interprets their cancellations.

use super::expression::{Expression, UpdateChange};
use super::item::Item;
use super::keys::TableKey;
use super::table::{ConditionFailed, DynamoTable, RETRIES_MAX, non_empty_map};
use crate::error::{AwsError, error_code, invalid_request, port_error};
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::transact_get_items::TransactGetItemsError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    AttributeValue, CancellationReason, ConditionCheck, Delete, Get, Put,
    ReturnValuesOnConditionCheckFailure, TransactGetItem, TransactWriteItem, Update,
};
use recado_ports::ports::{PortError, PortResult, System};
use std::collections::HashMap;

const ALL_OLD: ReturnValuesOnConditionCheckFailure = ReturnValuesOnConditionCheckFailure::AllOld;

/// One action of a transaction. The table's name is added when the transaction is sent.
#[derive(Debug)]
pub(crate) enum TransactionAction {
    /// Writes a record, under a condition.
    Put(Item, Option<Expression>),
    /// Changes a record, under a condition.
    Update(TableKey, UpdateChange, Option<Expression>),
    /// Deletes a record, under a condition.
    Delete(TableKey, Option<Expression>),
    /// Checks a condition and changes nothing.
    Check(TableKey, Expression),
}

/// The failed conditions of a cancelled transaction, by action.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct FailedConditions(Vec<Option<ConditionFailed>>);

impl FailedConditions {
    /// Returns the failed condition of this action, with the record that was found. `None` if its condition held.
    pub(crate) fn for_action(&self, action: usize) -> Option<&ConditionFailed> {
        self.0.get(action).and_then(Option::as_ref)
    }

    /// Returns the first failed condition of the actions before this one.
    pub(crate) fn first_before(&self, action: usize) -> Option<&ConditionFailed> {
        self.0.iter().take(action).find_map(Option::as_ref)
    }
}

#[cfg(test)]
impl From<Vec<Option<ConditionFailed>>> for FailedConditions {
    fn from(refusals: Vec<Option<ConditionFailed>>) -> Self {
        Self(refusals)
    }
}

/// The way to handle a cancelled transaction.
#[derive(Debug, Clone, PartialEq)]
enum CancellationKind {
    /// A condition did not hold, which is a result and not an error.
    ConditionsFailed(FailedConditions),
    /// Other transactions held the same records, or there was too much load: try again a little later.
    Retry(&'static str),
    /// The transaction will never be accepted.
    Permanent(String),
}

/// Classifies the reasons of a cancellation. A failed condition outranks a collision, since it would fail again.
fn classify_cancellation(reasons: &[CancellationReason]) -> CancellationKind {
    let has = |code: &str| reasons.iter().any(|reason| reason.code() == Some(code));
    if has("ConditionalCheckFailed") {
        let refused = |reason: &CancellationReason| {
            (reason.code() == Some("ConditionalCheckFailed")).then(|| ConditionFailed(reason.item.clone()))
        };
        return CancellationKind::ConditionsFailed(FailedConditions(reasons.iter().map(refused).collect()));
    }
    for again in [
        "TransactionConflict",
        "ProvisionedThroughputExceeded",
        "ThrottlingError",
    ] {
        if has(again) {
            return CancellationKind::Retry(again);
        }
    }
    match reasons
        .iter()
        .find_map(|reason| reason.code().filter(|code| *code != "None"))
    {
        Some(code) => CancellationKind::Permanent(code.to_owned()),
        None => CancellationKind::Retry("TransactionCanceled"),
    }
}

impl TransactionAction {
    /// Writes a record, whatever is stored.
    pub(crate) fn put(item: Item) -> Self {
        Self::Put(item, None)
    }

    /// Deletes a record, whatever is stored.
    pub(crate) fn delete(key: TableKey) -> Self {
        Self::Delete(key, None)
    }

    fn into_write_item(self, what: &'static str, table: &str) -> PortResult<TransactWriteItem> {
        let item = TransactWriteItem::builder();
        let built = match self {
            Self::Put(record, condition) => {
                let (text, names, values) = condition_parts(condition);
                let request = Put::builder()
                    .table_name(table)
                    .set_item(Some(record))
                    .set_condition_expression(text)
                    .set_expression_attribute_names(names)
                    .set_expression_attribute_values(values)
                    .return_values_on_condition_check_failure(ALL_OLD);
                item.put(request.build().map_err(|e| invalid_request(what, e))?)
            }
            Self::Update(key, change, condition) => {
                let mut update = change.build_expression();
                let condition = condition.unwrap_or_default();
                let names = Expression::attribute_names(&[&update.text, &condition.text]);
                update.values.extend(condition.values);
                let request = Update::builder()
                    .table_name(table)
                    .set_key(Some(key.into_key_item()))
                    .update_expression(update.text)
                    .set_condition_expression((!condition.text.is_empty()).then_some(condition.text))
                    .set_expression_attribute_names(Some(names))
                    .set_expression_attribute_values(non_empty_map(update.values))
                    .return_values_on_condition_check_failure(ALL_OLD);
                item.update(request.build().map_err(|e| invalid_request(what, e))?)
            }
            Self::Delete(key, condition) => {
                let (text, names, values) = condition_parts(condition);
                let request = Delete::builder()
                    .table_name(table)
                    .set_key(Some(key.into_key_item()))
                    .set_condition_expression(text)
                    .set_expression_attribute_names(names)
                    .set_expression_attribute_values(values)
                    .return_values_on_condition_check_failure(ALL_OLD);
                item.delete(request.build().map_err(|e| invalid_request(what, e))?)
            }
            Self::Check(key, condition) => {
                let (text, names, values) = condition_parts(Some(condition));
                let request = ConditionCheck::builder()
                    .table_name(table)
                    .set_key(Some(key.into_key_item()))
                    .set_condition_expression(text)
                    .set_expression_attribute_names(names)
                    .set_expression_attribute_values(values);
                item.condition_check(request.build().map_err(|e| invalid_request(what, e))?)
            }
        };
        Ok(built.build())
    }
}

/// The text of a condition, its names and its values, as a request takes them.
type ConditionParts = (
    Option<String>,
    Option<HashMap<String, String>>,
    Option<HashMap<String, AttributeValue>>,
);

fn condition_parts(condition: Option<Expression>) -> ConditionParts {
    let Expression { text, values } = condition.unwrap_or_default();
    let names = Expression::attribute_names(&[&text]);
    let text = (!text.is_empty()).then_some(text);
    (text, non_empty_map(names), non_empty_map(values))
}

impl<A: System> DynamoTable<A> {
    /// Runs all of `actions` or none of them. All attempts have the same token: if an attempt took effect without our
    /// learning of it, the next one, within ten minutes, succeeds without another effect.
    pub(crate) async fn run_transaction(
        &self,
        what: &'static str,
        actions: Vec<TransactionAction>,
    ) -> PortResult<TransactionResult> {
        let items: Vec<TransactWriteItem> = actions
            .into_iter()
            .map(|action| action.into_write_item(what, &self.name))
            .collect::<PortResult<_>>()?;
        let (first, second) = (self.system.random_u64(), self.system.random_u64());
        let token = format!("{first:016x}{second:016x}");
        let request = self
            .client
            .transact_write_items()
            .set_transact_items(Some(items))
            .client_request_token(token);
        let mut round = 0;
        loop {
            let Err(error) = request.clone().send().await else {
                return Ok(Ok(()));
            };
            let cancelled = match &error {
                SdkError::ServiceError(service) => match service.err() {
                    TransactWriteItemsError::TransactionCanceledException(why) => {
                        classify_cancellation(why.cancellation_reasons())
                    }
                    TransactWriteItemsError::TransactionInProgressException(_) => {
                        CancellationKind::Retry("TransactionInProgress")
                    }
                    _ if error_code(&error) == "TransactionConflictException" => {
                        CancellationKind::Retry("TransactionConflict")
                    }
                    _ => return Err(port_error(what, &error)),
                },
                _ => return Err(port_error(what, &error)),
            };
            match cancelled {
                CancellationKind::ConditionsFailed(refusals) => return Ok(Err(refusals)),
                CancellationKind::Retry(_) if round < RETRIES_MAX => {
                    self.wait_before_retry(round).await;
                    round += 1;
                }
                CancellationKind::Retry(code) => {
                    return Err(PortError::unavailable(what, AwsError::of_code(code)));
                }
                CancellationKind::Permanent(code) => {
                    return Err(PortError::invalid(what, AwsError::of_code(code)));
                }
            }
        }
    }

    /// Reads records that no running transaction holds, in the order of `keys`. A caller that has seen a part of a
    /// transaction's effects sees all of them here. The read costs twice as much as [`Self::get_records`].
    pub(crate) async fn get_settled_records(
        &self,
        what: &'static str,
        keys: Vec<TableKey>,
    ) -> PortResult<Vec<Option<Item>>> {
        let get = |key: TableKey| {
            let get = Get::builder()
                .table_name(&self.name)
                .set_key(Some(key.into_key_item()));
            let get = get.build().map_err(|error| invalid_request(what, error))?;
            Ok(TransactGetItem::builder().get(get).build())
        };
        let items: Vec<TransactGetItem> = keys.into_iter().map(get).collect::<PortResult<_>>()?;
        let request = self.client.transact_get_items().set_transact_items(Some(items));
        let mut round = 0;
        loop {
            let error = match request.clone().send().await {
                Ok(output) => {
                    let read = output.responses.unwrap_or_default().into_iter();
                    return Ok(read.map(|response| response.item).collect());
                }
                Err(error) => error,
            };
            let again = match error.as_service_error() {
                Some(TransactGetItemsError::TransactionCanceledException(why)) => {
                    matches!(
                        classify_cancellation(why.cancellation_reasons()),
                        CancellationKind::Retry(_)
                    )
                }
                _ => false,
            };
            if !again || round == RETRIES_MAX {
                return Err(port_error(what, &error));
            }
            self.wait_before_retry(round).await;
            round += 1;
        }
    }
}

/// The result of a transaction: success, or the conditions that did not hold.
pub(crate) type TransactionResult = Result<(), FailedConditions>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::item::number_attribute;

    fn reason(code: &str) -> CancellationReason {
        CancellationReason::builder().code(code).build()
    }

    #[test]
    fn a_refused_condition_is_known_by_its_action_with_what_was_found() {
        let found = Item::from([("rev".to_owned(), number_attribute(3))]);
        let refused = CancellationReason::builder()
            .code("ConditionalCheckFailed")
            .set_item(Some(found.clone()));
        let CancellationKind::ConditionsFailed(refusals) =
            classify_cancellation(&[reason("None"), refused.build()])
        else {
            panic!("refused")
        };
        assert_eq!(refusals.for_action(0), None);
        assert_eq!(refusals.for_action(1), Some(&ConditionFailed(Some(found))));
        assert_eq!(refusals.for_action(2), None);
    }

    #[test]
    fn a_collision_is_tried_again_unless_a_condition_was_refused_too() {
        assert_eq!(
            classify_cancellation(&[reason("None"), reason("TransactionConflict")]),
            CancellationKind::Retry("TransactionConflict")
        );
        assert_eq!(
            classify_cancellation(&[reason("ThrottlingError")]),
            CancellationKind::Retry("ThrottlingError")
        );
        let both = classify_cancellation(&[reason("TransactionConflict"), reason("ConditionalCheckFailed")]);
        assert!(matches!(both, CancellationKind::ConditionsFailed(_)));
    }

    #[test]
    fn what_will_never_be_accepted_is_not_tried_again() {
        assert_eq!(
            classify_cancellation(&[reason("None"), reason("ValidationError")]),
            CancellationKind::Permanent("ValidationError".to_owned())
        );
        assert_eq!(
            classify_cancellation(&[]),
            CancellationKind::Retry("TransactionCanceled"),
            "one without reasons may be anything"
        );
    }
}
