//! Writes one log line per SDK operation, to count what a message costs: requests, and write units of `DynamoDB`.

use aws_sdk_dynamodb::config::interceptors::{
    BeforeSerializationInterceptorContextMut, FinalizerInterceptorContextRef,
};
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use aws_sdk_dynamodb::operation::delete_item::{DeleteItemInput, DeleteItemOutput};
use aws_sdk_dynamodb::operation::put_item::{PutItemInput, PutItemOutput};
use aws_sdk_dynamodb::operation::transact_write_items::{TransactWriteItemsInput, TransactWriteItemsOutput};
use aws_sdk_dynamodb::operation::update_item::{UpdateItemInput, UpdateItemOutput};
use aws_sdk_dynamodb::types::{ConsumedCapacity, ReturnConsumedCapacity};
use aws_smithy_runtime_api::client::interceptors::context::{Input, Output};
use aws_smithy_runtime_api::client::orchestrator::Metadata;

/// An interceptor that logs `service` and `operation` of every operation once, however often the SDK repeats it. A write to
/// `DynamoDB` also logs its `write_units`, as `DynamoDB` reports them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestLog;

/// The write units of a request: of the table, and of each index that it changes.
#[derive(Debug, Default, PartialEq)]
struct WriteUnits {
    total: f64,
    indexes: String,
}

/// Asks `DynamoDB` to report what the request consumes, if it is a write.
fn ask_for_units(input: &mut Input) {
    macro_rules! ask {
        ($($write:ty),*) => {
            $(if let Some(write) = input.downcast_mut::<$write>() {
                write.return_consumed_capacity = Some(ReturnConsumedCapacity::Indexes);
                return;
            })*
        };
    }
    ask!(
        PutItemInput,
        UpdateItemInput,
        DeleteItemInput,
        TransactWriteItemsInput
    );
}

/// Returns what a write consumed. `None` if the request was no write, or nothing was reported.
fn reported_units(output: &Output) -> Option<WriteUnits> {
    macro_rules! report {
        ($($write:ty),*) => {
            $(if let Some(write) = output.downcast_ref::<$write>() {
                return write.consumed_capacity().map(|reported| add_units(std::slice::from_ref(reported)));
            })*
        };
    }
    report!(PutItemOutput, UpdateItemOutput, DeleteItemOutput);
    let transaction = output.downcast_ref::<TransactWriteItemsOutput>()?;
    Some(add_units(transaction.consumed_capacity()))
}

fn add_units(reported: &[ConsumedCapacity]) -> WriteUnits {
    let mut units = WriteUnits::default();
    let mut indexes = Vec::new();
    for table in reported {
        units.total += table.capacity_units().unwrap_or_default();
        for (name, index) in table.global_secondary_indexes().into_iter().flatten() {
            indexes.push(format!("{name} {}", index.capacity_units().unwrap_or_default()));
        }
    }
    indexes.sort();
    units.indexes = indexes.join(", ");
    units
}

impl Intercept for RequestLog {
    fn name(&self) -> &'static str {
        "RequestLog"
    }

    fn modify_before_serialization(
        &self,
        context: &mut BeforeSerializationInterceptorContextMut<'_>,
        _components: &RuntimeComponents,
        _config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        ask_for_units(context.input_mut());
        Ok(())
    }

    // The hook that runs once, after the last attempt.
    fn read_after_execution(
        &self,
        context: &FinalizerInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let Some(operation) = config.load::<Metadata>() else {
            return Ok(());
        };
        let (service, operation) = (operation.service(), operation.name());
        let reported = context
            .output_or_error()
            .and_then(Result::ok)
            .and_then(reported_units);
        if let Some(WriteUnits { total, indexes }) = reported {
            tracing::info!(target: "recado::aws", service, operation, write_units = total, of_indexes = indexes, "request");
        } else {
            tracing::info!(target: "recado::aws", service, operation, "request");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_dynamodb::types::Capacity;

    #[test]
    fn writes_ask_for_their_units_and_other_requests_do_not() {
        let mut put = Input::erase(PutItemInput::builder().build().unwrap());
        ask_for_units(&mut put);
        let put = put.downcast_ref::<PutItemInput>().unwrap();
        assert_eq!(
            put.return_consumed_capacity(),
            Some(&ReturnConsumedCapacity::Indexes)
        );
        let get = aws_sdk_dynamodb::operation::get_item::GetItemInput::builder()
            .build()
            .unwrap();
        let mut get = Input::erase(get);
        ask_for_units(&mut get);
        let get = get.downcast_ref::<aws_sdk_dynamodb::operation::get_item::GetItemInput>();
        assert_eq!(get.unwrap().return_consumed_capacity(), None);
    }

    #[test]
    fn the_units_of_a_transaction_are_those_of_its_table_and_of_each_index() {
        let index = |units| Capacity::builder().capacity_units(units).build();
        let consumed = ConsumedCapacity::builder()
            .capacity_units(9.0)
            .global_secondary_indexes("trace", index(1.0))
            .global_secondary_indexes("open", index(2.0))
            .build();
        let output = TransactWriteItemsOutput::builder()
            .consumed_capacity(consumed)
            .build();
        let expected = WriteUnits {
            total: 9.0,
            indexes: "open 2, trace 1".to_owned(),
        };
        assert_eq!(reported_units(&Output::erase(output)), Some(expected));
    }
}
