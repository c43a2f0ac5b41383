//! The table that histories are played on.

use recado_dynamo_simulation::table_requests;
use serde_json::{Value, json};

#[test]
fn the_table_is_made_with_the_templates_keys_indexes_and_expiry() {
    let requests = table_requests().unwrap();
    let create: Value = serde_json::from_str(&requests.create).unwrap();
    assert_eq!(
        create["KeySchema"][0],
        json!({"AttributeName": "pk", "KeyType": "HASH"})
    );
    let index = |index: &Value| index["IndexName"].as_str().unwrap().to_owned();
    let indexes: Vec<String> = create["GlobalSecondaryIndexes"]
        .as_array()
        .unwrap()
        .iter()
        .map(index)
        .collect();
    assert_eq!(indexes, ["open", "lists", "trace", "tenants", "active"]);
    assert_eq!(create.get("SSESpecification"), None);
    let time_to_live: Value = serde_json::from_str(&requests.time_to_live).unwrap();
    assert_eq!(
        time_to_live["TimeToLiveSpecification"],
        json!({"AttributeName": "ttl", "Enabled": true})
    );
}
