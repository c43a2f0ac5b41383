//! The permission that each route needs. [`TokenRole::permits`](recado_domain::access::TokenRole::permits) says which roles have it.

use axum::http::Method;
use recado_domain::access::Permission::{self, Administer, Configure, Operate, Read, Send};

/// Every route that needs a token: its method, its path, and the permission that the token's role must include.
pub(crate) const PERMISSIONS: &[(&str, &str, Permission)] = &[
    ("GET", "/health/whatsapp", Read),
    ("GET", "/health/whatsapp/detailed", Read),
    ("GET", "/health/whatsapp/dlq", Read),
    ("GET", "/metrics", Read),
    ("GET", "/v1/config", Read),
    ("PUT", "/v1/config", Configure),
    ("POST", "/v1/config", Configure),
    // Its answer holds the webhook secrets.
    ("GET", "/v1/config/webhooks", Configure),
    ("GET", "/v1/tenants", Read),
    ("POST", "/v1/tenants", Administer),
    ("GET", "/v1/tenants/{id}", Read),
    ("PUT", "/v1/tenants/{id}", Configure),
    ("GET", "/v1/calendars", Read),
    ("POST", "/v1/calendars", Configure),
    ("GET", "/v1/calendars/{id}", Read),
    ("PUT", "/v1/calendars/{id}", Configure),
    ("DELETE", "/v1/calendars/{id}", Configure),
    ("GET", "/v1/tools", Read),
    ("POST", "/v1/tools", Configure),
    ("GET", "/v1/tools/{id}", Read),
    ("PUT", "/v1/tools/{id}", Configure),
    ("DELETE", "/v1/tools/{id}", Configure),
    ("GET", "/v1/agents", Read),
    ("POST", "/v1/agents", Configure),
    ("GET", "/v1/agents/{id}", Read),
    ("PUT", "/v1/agents/{id}", Configure),
    ("DELETE", "/v1/agents/{id}", Configure),
    ("GET", "/v1/agents/{id}/knowledge", Read),
    ("POST", "/v1/agents/{id}/knowledge", Configure),
    ("POST", "/v1/agents/{id}/knowledge/search", Read),
    ("POST", "/v1/agents/{id}/knowledge/vectors", Configure),
    ("GET", "/v1/agents/{id}/knowledge/{source}", Read),
    ("DELETE", "/v1/agents/{id}/knowledge/{source}", Configure),
    ("GET", "/v1/instances", Read),
    ("POST", "/v1/instances", Configure),
    ("GET", "/v1/instances/{id}", Read),
    ("PUT", "/v1/instances/{id}", Configure),
    ("DELETE", "/v1/instances/{id}", Configure),
    // Its answer holds the webhook secret.
    ("GET", "/v1/instances/{id}/webhook", Configure),
    // They send the instance's key, and a QR code opens the number.
    ("POST", "/v1/instances/{id}/connect", Configure),
    ("POST", "/v1/instances/{id}/pairing", Configure),
    ("POST", "/v1/instances/{id}/check", Configure),
    // It asks the providers and the model.
    ("GET", "/v1/checks", Configure),
    ("GET", "/v1/conversations", Read),
    ("GET", "/v1/conversations/{id}", Read),
    ("PATCH", "/v1/conversations/{id}", Operate),
    ("GET", "/v1/conversations/{id}/messages", Read),
    ("POST", "/v1/conversations/{id}/messages", Operate),
    ("GET", "/v1/conversations/{id}/effects", Read),
    ("POST", "/v1/conversations/{id}/effects/{number}", Operate),
    ("GET", "/v1/messages/unacknowledged", Read),
    ("GET", "/v1/messages/{id}", Read),
    ("GET", "/v1/messages/{id}/media", Read),
    ("DELETE", "/v1/messages/{id}", Send),
    ("POST", "/v1/instances/{id}/messages", Send),
    ("POST", "/v1/instances/{id}/media", Send),
    ("POST", "/deliver/send", Send),
    ("GET", "/deliver/{id}/status", Read),
    ("GET", "/deliver/batches", Read),
    ("GET", "/deliver/batches/{id}", Read),
    ("POST", "/deliver/batches/{id}/pause", Send),
    ("POST", "/deliver/batches/{id}/resume", Send),
    ("POST", "/deliver/batches/{id}/cancel", Send),
    ("POST", "/events/{event}/guests/{guest}/send", Send),
    ("GET", "/wa/session/{phone}", Read),
    ("GET", "/deliver/export", Read),
    ("GET", "/v1/occasions", Read),
    ("GET", "/v1/occasions/{id}", Read),
    ("GET", "/v1/occasions/{id}/guests/{guest}", Read),
    ("GET", "/v1/occasions/{id}/guests", Read),
    ("POST", "/v1/occasions/{id}/guests", Configure),
    ("DELETE", "/v1/occasions/{id}/guests/{guest}", Configure),
    ("GET", "/v1/occasions/{id}/invitations", Read),
    // A person's whole data, and its end.
    ("GET", "/v1/opt-outs", Read),
    ("POST", "/v1/contacts/find", Configure),
    ("POST", "/v1/contacts/export", Configure),
    ("POST", "/v1/contacts/erase", Configure),
    ("POST", "/v1/instances/{id}/secret/rotate", Configure),
    ("GET", "/v1/instances/{id}/notices", Read),
    ("POST", "/v1/instances/{id}/catch-up", Operate),
    ("GET", "/v1/dead-letters", Read),
    ("DELETE", "/v1/dead-letters", Operate),
    ("POST", "/v1/dead-letters/redrive", Operate),
    ("GET", "/v1/dead-letters/{id}", Read),
    ("DELETE", "/v1/dead-letters/{id}", Operate),
    ("POST", "/v1/dead-letters/{id}/redrive", Operate),
    ("GET", "/v1/alerts", Read),
    ("GET", "/v1/alerts/notifications", Read),
    ("POST", "/v1/alerts/notifications/{id}/redrive", Operate),
    ("POST", "/v1/alerts/test", Operate),
    ("DELETE", "/v1/tenants/{id}", Administer),
    ("GET", "/v1/token", Read),
    ("GET", "/v1/tokens", Administer),
    ("POST", "/v1/tokens", Administer),
    ("DELETE", "/v1/tokens/{name}", Administer),
    ("GET", "/v1/audit", Configure),
    ("GET", "/v1/events", Read),
    ("GET", "/v1/events/stream", Read),
    ("GET", "/v1/trace", Read),
    ("GET", "/v1/trends", Read),
    ("GET", "/v1/usage", Read),
    ("GET", "/simulator/outbox", Read),
    ("POST", "/simulator/messages", Send),
];

/// Returns the permission that a route needs. `None`: the table lacks the route, so nobody may use it.
pub(super) fn find_permission(method: &Method, path: &str) -> Option<Permission> {
    // axum answers HEAD by the handler of GET.
    let method = if *method == Method::HEAD {
        "GET"
    } else {
        method.as_str()
    };
    let entry = PERMISSIONS
        .iter()
        .find(|(known, route, _)| *known == method && *route == path);
    entry.map(|(_, _, permission)| *permission)
}
