//! Transactions, and what their cancellations say.

use super::expression::{Change, Expression};
use super::item::Item;
use super::keys::Key;
use super::table::{ROUNDS, Refused, Table, filled};
use crate::error::{AwsError, code, port_error, unbuilt};
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::transact_get_items::TransactGetItemsError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    CancellationReason, ConditionCheck, Delete, Get, Put, ReturnValuesOnConditionCheckFailure,
    TransactGetItem, TransactWriteItem, Update,
};
use recado_pipeline::ports::{Ambient, PortError, PortResult};

const ALL_OLD: ReturnValuesOnConditionCheckFailure = ReturnValuesOnConditionCheckFailure::AllOld;

/// What a transaction does, in order. The table's name is entered when it is sent.
#[derive(Debug)]
pub(crate) enum Action {
    /// Writes a record.
    Put(Item, Option<Expression>),
    /// Changes a record.
    Update(Key, Change, Option<Expression>),
    /// Removes a record.
    Delete(Key, Option<Expression>),
    /// Only looks.
    Check(Key, Expression),
}

/// The actions of a cancelled transaction whose conditions did not hold.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Refusals(Vec<Option<Refused>>);

impl Refusals {
    /// Whether the condition of this action did not hold, and what was found instead.
    pub(crate) fn of(&self, action: usize) -> Option<&Refused> {
        self.0.get(action).and_then(Option::as_ref)
    }
}

#[cfg(test)]
impl From<Vec<Option<Refused>>> for Refusals {
    fn from(refusals: Vec<Option<Refused>>) -> Self {
        Self(refusals)
    }
}

/// What is to be made of a cancellation.
#[derive(Debug, Clone, PartialEq)]
enum Cancelled {
    /// A condition did not hold: an answer.
    Refused(Refusals),
    /// Others were at the same records, or there was too much to do: again, a little later.
    Again(&'static str),
    /// It will never be accepted.
    Hopeless(String),
}

/// Reads a cancellation's reasons: a refused condition outranks a collision, since it will be refused again.
fn judge(reasons: &[CancellationReason]) -> Cancelled {
    let has = |code: &str| reasons.iter().any(|reason| reason.code() == Some(code));
    if has("ConditionalCheckFailed") {
        let refused = |reason: &CancellationReason| {
            (reason.code() == Some("ConditionalCheckFailed")).then(|| Refused(reason.item.clone()))
        };
        return Cancelled::Refused(Refusals(reasons.iter().map(refused).collect()));
    }
    for again in [
        "TransactionConflict",
        "ProvisionedThroughputExceeded",
        "ThrottlingError",
    ] {
        if has(again) {
            return Cancelled::Again(again);
        }
    }
    match reasons
        .iter()
        .find_map(|reason| reason.code().filter(|code| *code != "None"))
    {
        Some(code) => Cancelled::Hopeless(code.to_owned()),
        None => Cancelled::Again("TransactionCanceled"),
    }
}

impl Action {
    fn write(self, what: &'static str, table: &str) -> PortResult<TransactWriteItem> {
        let item = TransactWriteItem::builder();
        let built = match self {
            Self::Put(record, condition) => {
                let (text, names, values) = declared(condition);
                let put = Put::builder()
                    .table_name(table)
                    .set_item(Some(record))
                    .set_condition_expression(text);
                let put = put
                    .set_expression_attribute_names(names)
                    .set_expression_attribute_values(values);
                item.put(
                    put.return_values_on_condition_check_failure(ALL_OLD)
                        .build()
                        .map_err(|e| unbuilt(what, e))?,
                )
            }
            Self::Update(key, change, condition) => {
                let mut update = change.expression();
                let condition = condition.unwrap_or_default();
                let names = Expression::names(&[&update.text, &condition.text]);
                update.values.extend(condition.values);
                let request = Update::builder()
                    .table_name(table)
                    .set_key(Some(key.item()))
                    .update_expression(update.text)
                    .set_condition_expression((!condition.text.is_empty()).then_some(condition.text))
                    .set_expression_attribute_names(Some(names))
                    .set_expression_attribute_values(filled(update.values))
                    .return_values_on_condition_check_failure(ALL_OLD);
                item.update(request.build().map_err(|e| unbuilt(what, e))?)
            }
            Self::Delete(key, condition) => {
                let (text, names, values) = declared(condition);
                let delete = Delete::builder().table_name(table).set_key(Some(key.item()));
                let delete = delete
                    .set_condition_expression(text)
                    .set_expression_attribute_names(names);
                let delete = delete.set_expression_attribute_values(values);
                let delete = delete.return_values_on_condition_check_failure(ALL_OLD);
                item.delete(delete.build().map_err(|e| unbuilt(what, e))?)
            }
            Self::Check(key, condition) => {
                let (text, names, values) = declared(Some(condition));
                let check = ConditionCheck::builder()
                    .table_name(table)
                    .set_key(Some(key.item()));
                let check = check
                    .set_condition_expression(text)
                    .set_expression_attribute_names(names);
                let check = check.set_expression_attribute_values(values);
                item.condition_check(check.build().map_err(|e| unbuilt(what, e))?)
            }
        };
        Ok(built.build())
    }
}

type Declared = (
    Option<String>,
    Option<std::collections::HashMap<String, String>>,
    Option<std::collections::HashMap<String, aws_sdk_dynamodb::types::AttributeValue>>,
);

fn declared(condition: Option<Expression>) -> Declared {
    match condition {
        Some(condition) => {
            let names = Expression::names(&[&condition.text]);
            (Some(condition.text), filled(names), filled(condition.values))
        }
        None => (None, None, None),
    }
}

impl<A: Ambient> Table<A> {
    /// Does all of `actions` or none. All tries have one token: a try that took effect without our learning it makes the
    /// next one, within ten minutes, succeed without another effect.
    pub(crate) async fn transact(&self, what: &'static str, actions: Vec<Action>) -> PortResult<Transacted> {
        let items: Vec<TransactWriteItem> = actions
            .into_iter()
            .map(|action| action.write(what, &self.name))
            .collect::<PortResult<_>>()?;
        let token = format!("{:016x}{:016x}", self.ambient.random(), self.ambient.random());
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
                        judge(why.cancellation_reasons())
                    }
                    TransactWriteItemsError::TransactionInProgressException(_) => {
                        Cancelled::Again("TransactionInProgress")
                    }
                    _ if code(&error) == "TransactionConflictException" => {
                        Cancelled::Again("TransactionConflict")
                    }
                    _ => return Err(port_error(what, &error)),
                },
                _ => return Err(port_error(what, &error)),
            };
            match cancelled {
                Cancelled::Refused(refusals) => return Ok(Err(refusals)),
                Cancelled::Again(_) if round < ROUNDS => {
                    self.pause(round).await;
                    round += 1;
                }
                Cancelled::Again(code) => {
                    let cause = AwsError {
                        code: code.to_owned(),
                        message: None,
                    };
                    return Err(PortError::unavailable(what, cause));
                }
                Cancelled::Hopeless(code) => {
                    return Err(PortError::invalid(what, AwsError { code, message: None }));
                }
            }
        }
    }
}

impl<A: Ambient> Table<A> {
    /// Reads records as no running transaction holds them, in the order of `keys`: who has seen a part of what a
    /// transaction did sees all of it here. It costs twice what [`Self::get_many`] does.
    pub(crate) async fn get_settled(
        &self,
        what: &'static str,
        keys: Vec<Key>,
    ) -> PortResult<Vec<Option<Item>>> {
        let get = |key: Key| {
            let get = Get::builder().table_name(&self.name).set_key(Some(key.item()));
            let get = get.build().map_err(|error| unbuilt(what, error))?;
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
                    matches!(judge(why.cancellation_reasons()), Cancelled::Again(_))
                }
                _ => false,
            };
            if !again || round == ROUNDS {
                return Err(port_error(what, &error));
            }
            self.pause(round).await;
            round += 1;
        }
    }
}

/// Whether a transaction took effect.
pub(crate) type Transacted = Result<(), Refusals>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::item::number;

    fn reason(code: &str) -> CancellationReason {
        CancellationReason::builder().code(code).build()
    }

    #[test]
    fn a_refused_condition_is_known_by_its_action_with_what_was_found() {
        let found = Item::from([("rev".to_owned(), number(3))]);
        let refused = CancellationReason::builder()
            .code("ConditionalCheckFailed")
            .set_item(Some(found.clone()));
        let Cancelled::Refused(refusals) = judge(&[reason("None"), refused.build()]) else {
            panic!("refused")
        };
        assert_eq!(refusals.of(0), None);
        assert_eq!(refusals.of(1), Some(&Refused(Some(found))));
        assert_eq!(refusals.of(2), None);
    }

    #[test]
    fn a_collision_is_tried_again_unless_a_condition_was_refused_too() {
        assert_eq!(
            judge(&[reason("None"), reason("TransactionConflict")]),
            Cancelled::Again("TransactionConflict")
        );
        assert_eq!(
            judge(&[reason("ThrottlingError")]),
            Cancelled::Again("ThrottlingError")
        );
        let both = judge(&[reason("TransactionConflict"), reason("ConditionalCheckFailed")]);
        assert!(matches!(both, Cancelled::Refused(_)));
    }

    #[test]
    fn what_will_never_be_accepted_is_not_tried_again() {
        assert_eq!(
            judge(&[reason("None"), reason("ValidationError")]),
            Cancelled::Hopeless("ValidationError".to_owned())
        );
        assert_eq!(
            judge(&[]),
            Cancelled::Again("TransactionCanceled"),
            "one without reasons may be anything"
        );
    }
}
