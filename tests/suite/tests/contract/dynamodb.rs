//! The stores' contract on `DynamoDB`, on one table that all cases share.

use crate::account::{REGION, clients, emulator};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::create_table::CreateTableError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection,
    ProjectionType, ScalarAttributeType, StreamSpecification, StreamViewType,
};
use recado_aws::{DynamoStore, OsSystem, StreamRecord};
use recado_domain::published_event::DEFAULT_EVENT_RETENTION;
use recado_testkit::own_kinds::list_all_kinds;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::sync::{Mutex, OnceCell};

const ACCOUNT: &str = "222222222222";
const TABLE: &str = "records";

static MADE: OnceCell<()> = OnceCell::const_new();

async fn dynamo_store() -> DynamoStore<OsSystem> {
    let client = clients(ACCOUNT).dynamodb;
    MADE.get_or_init(|| make_table(&client, TABLE)).await;
    // No configuration is remembered: cases change it and look.
    let store = DynamoStore::new(client, TABLE, OsSystem, Duration::ZERO).with_kinds(list_all_kinds());
    tokio::spawn(publish_changes(store.clone()));
    store
}

/// The place in the stream up to which its changes are published, by whichever case.
static PLACE: Mutex<Option<String>> = Mutex::const_new(None);

/// Asks DynamoDB Streams, whose SDK nothing else needs. The emulator reads only the account from the signature.
async fn ask_streams(http: &reqwest::Client, operation: &str, body: &Value) -> Value {
    let credential = format!("Credential={ACCOUNT}/20260101/{REGION}/dynamodb/aws4_request");
    let request = http
        .post(emulator())
        .header("content-type", "application/x-amz-json-1.0")
        .header("x-amz-target", format!("DynamoDBStreams_20120810.{operation}"))
        .header(
            "authorization",
            format!("AWS4-HMAC-SHA256 {credential}, SignedHeaders=host, Signature=0"),
        );
    let answer = request.body(body.to_string()).send().await.unwrap();
    let text = answer.text().await.unwrap();
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("{operation}: {text}"))
}

async fn find_first_place(http: &reqwest::Client) -> String {
    let streams = ask_streams(http, "ListStreams", &json!({"TableName": TABLE})).await;
    let stream = streams["Streams"][0]["StreamArn"].clone();
    let described = ask_streams(http, "DescribeStream", &json!({"StreamArn": stream})).await;
    let shard = described["StreamDescription"]["Shards"][0]["ShardId"].clone();
    let from = json!({"StreamArn": stream, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"});
    let begun = ask_streams(http, "GetShardIterator", &from).await;
    let place = begun["ShardIterator"].as_str();
    place.unwrap_or_else(|| panic!("{begun}")).to_owned()
}

/// Publishes what the stream tells, as `publisher` does, until the case ends. One at a time, as of a shard. A case that ends in
/// between leaves changes to the next, which publishes some of them once more.
async fn publish_changes(store: DynamoStore) {
    let http = recado_http_client::build_http_client().unwrap();
    loop {
        let mut place = PLACE.lock().await;
        let from = match &*place {
            Some(from) => from.clone(),
            None => find_first_place(&http).await,
        };
        let body = json!({"ShardIterator": from, "Limit": 100});
        let mut page = ask_streams(&http, "GetRecords", &body).await;
        let changes: Vec<StreamRecord> = serde_json::from_value(page["Records"].take()).unwrap();
        let published = store
            .publish_changes(&changes, DEFAULT_EVENT_RETENTION)
            .await
            .unwrap();
        assert_eq!(published.come_back, None, "one shard tells all in order");
        *place = page["NextShardIterator"].as_str().map(str::to_owned);
        drop(place);
        if changes.is_empty() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
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
    let told = StreamSpecification::builder()
        .stream_enabled(true)
        .stream_view_type(StreamViewType::NewAndOldImages);
    let request = client
        .create_table()
        .table_name(table)
        .billing_mode(BillingMode::PayPerRequest)
        .stream_specification(told.build().unwrap())
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
