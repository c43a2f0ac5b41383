//! Requests about the endpoints of tenants.

use crate::tests::roles::requests::{Ids, Wanted};
use serde_json::{Value, json};

/// Requests about one endpoint and about all, with the tenant named and without.
pub(super) fn list_endpoint_requests(ids: &Ids) -> Vec<Wanted> {
    let url = "https://crm.example/changed";
    let new = json!({"id": ids.endpoint, "url": url});
    let mut wanted = Vec::new();
    for (method, route, body) in [
        ("GET", "/v1/webhooks", Value::Null),
        ("POST", "/v1/webhooks", new),
        ("GET", "/v1/webhooks/{id}", Value::Null),
        ("PUT", "/v1/webhooks/{id}", json!({ "url": url })),
        ("DELETE", "/v1/webhooks/{id}", Value::Null),
        ("POST", "/v1/webhooks/{id}/secret/rotate", Value::Null),
        ("POST", "/v1/webhooks/{id}/test", Value::Null),
        ("GET", "/v1/webhooks/{id}/failed", Value::Null),
        ("POST", "/v1/webhooks/{id}/failed/redrive", Value::Null),
        ("POST", "/v1/webhooks/{id}/replay", Value::Null),
    ] {
        let path = route.replace("{id}", &ids.endpoint);
        let named = format!("{path}?tenant={}", ids.tenant);
        wanted.push(Wanted::new(method, route, &named, &body));
        wanted.push(Wanted::new(method, route, &path, &body));
    }
    wanted
}
