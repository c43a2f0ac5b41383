//! The stores' contract on `DynamoDB`, on one table that all cases share.

use crate::account::clients;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::create_table::CreateTableError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection,
    ProjectionType, ScalarAttributeType,
};
use recado_aws::{DynamoStore, OsSystem};
use std::time::Duration;
use tokio::sync::OnceCell;

const ACCOUNT: &str = "222222222222";
const TABLE: &str = "records";

static MADE: OnceCell<()> = OnceCell::const_new();

async fn dynamo_store() -> DynamoStore<OsSystem> {
    let client = clients(ACCOUNT).dynamodb;
    MADE.get_or_init(|| make_table(&client, TABLE)).await;
    // No configuration is remembered: cases change it and look.
    DynamoStore::new(client, TABLE, OsSystem, Duration::ZERO)
}

fn key(name: &str, kind: KeyType) -> KeySchemaElement {
    KeySchemaElement::builder()
        .attribute_name(name)
        .key_type(kind)
        .build()
        .unwrap()
}

fn attribute(name: &str, kind: ScalarAttributeType) -> AttributeDefinition {
    AttributeDefinition::builder()
        .attribute_name(name)
        .attribute_type(kind)
        .build()
        .unwrap()
}

fn index(name: &str, hash: &str, range: &str) -> GlobalSecondaryIndex {
    GlobalSecondaryIndex::builder()
        .index_name(name)
        .key_schema(key(hash, KeyType::Hash))
        .key_schema(key(range, KeyType::Range))
        .projection(Projection::builder().projection_type(ProjectionType::All).build())
        .build()
        .unwrap()
}

/// A table as `template.yaml` declares it. An emulator that was kept running has it already.
pub(crate) async fn make_table(client: &Client, table: &str) {
    use ScalarAttributeType::{N, S};
    let request = client
        .create_table()
        .table_name(table)
        .billing_mode(BillingMode::PayPerRequest)
        .key_schema(key("pk", KeyType::Hash))
        .key_schema(key("sk", KeyType::Range))
        .attribute_definitions(attribute("pk", S))
        .attribute_definitions(attribute("sk", S))
        .attribute_definitions(attribute("open_shard", S))
        .attribute_definitions(attribute("open_due", N))
        .attribute_definitions(attribute("list_key", S))
        .attribute_definitions(attribute("list_at", N))
        .attribute_definitions(attribute("trace", S))
        .attribute_definitions(attribute("trace_of", S))
        .attribute_definitions(attribute("tenant_list", S))
        .attribute_definitions(attribute("tenant_at", N))
        .attribute_definitions(attribute("active_shard", S))
        .attribute_definitions(attribute("active_at", N))
        .global_secondary_indexes(index("open", "open_shard", "open_due"))
        .global_secondary_indexes(index("lists", "list_key", "list_at"))
        .global_secondary_indexes(index("trace", "trace", "trace_of"))
        .global_secondary_indexes(index("tenants", "tenant_list", "tenant_at"))
        .global_secondary_indexes(index("active", "active_shard", "active_at"));
    match request.send().await {
        Ok(_) => {}
        Err(error)
            if error
                .as_service_error()
                .is_some_and(CreateTableError::is_resource_in_use_exception) => {}
        Err(error) => panic!("the table could not be made: {error:?}"),
    }
}

recado_testkit::store_contract!(dynamo_store);
