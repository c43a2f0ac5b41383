//! Who may ask which route. This table is written by hand and takes nothing from the product's: a wrong line there must show here.

use recado_domain::access::TokenRole;
use std::collections::BTreeMap;

/// A route on each line, behind the first letters of the roles that may ask it: viewer, operator, sender, manager, admin.
const TABLE: &str = "\
vo-ma GET /health/whatsapp
vo-ma GET /health/whatsapp/detailed
vo-ma GET /health/whatsapp/dlq
vo-ma GET /metrics
vo-ma GET /v1/config
---ma PUT /v1/config
---ma POST /v1/config
---ma GET /v1/config/webhooks
vo-ma GET /v1/tenants
----a POST /v1/tenants
vo-ma GET /v1/tenants/{id}
---ma PUT /v1/tenants/{id}
vo-ma GET /v1/calendars
---ma POST /v1/calendars
vo-ma GET /v1/calendars/{id}
---ma PUT /v1/calendars/{id}
---ma DELETE /v1/calendars/{id}
vo-ma GET /v1/appointments
vo-ma GET /v1/tools
---ma POST /v1/tools
vo-ma GET /v1/tools/{id}
---ma PUT /v1/tools/{id}
---ma DELETE /v1/tools/{id}
vo-ma GET /v1/agents
---ma POST /v1/agents
vo-ma GET /v1/agents/{id}
---ma PUT /v1/agents/{id}
---ma DELETE /v1/agents/{id}
vo-ma GET /v1/agents/{id}/knowledge
---ma POST /v1/agents/{id}/knowledge
---ma POST /v1/agents/{id}/knowledge/pages
vo-ma POST /v1/agents/{id}/knowledge/search
---ma POST /v1/agents/{id}/knowledge/vectors
vo-ma GET /v1/agents/{id}/knowledge/{source}
---ma DELETE /v1/agents/{id}/knowledge/{source}
vo-ma GET /v1/instances
---ma POST /v1/instances
vo-ma GET /v1/instances/{id}
---ma PUT /v1/instances/{id}
---ma DELETE /v1/instances/{id}
---ma GET /v1/instances/{id}/webhook
---ma POST /v1/instances/{id}/connect
---ma POST /v1/instances/{id}/pairing
---ma POST /v1/instances/{id}/check
---ma GET /v1/checks
vo-ma GET /v1/conversations
vo-ma GET /v1/conversations/{id}
-o--a PATCH /v1/conversations/{id}
vo-ma GET /v1/conversations/{id}/messages
-o--a POST /v1/conversations/{id}/messages
-o--a POST /v1/conversations/{id}/labels
vo-ma GET /v1/conversations/{id}/notes
-o--a POST /v1/conversations/{id}/notes
-o--a DELETE /v1/conversations/{id}/notes/{number}
vo-ma GET /v1/conversations/{id}/effects
-o--a POST /v1/conversations/{id}/effects/{number}
vo-ma GET /v1/messages/unacknowledged
vo-ma GET /v1/messages/{id}
vo-ma GET /v1/messages/{id}/media
-os-a DELETE /v1/messages/{id}
-os-a POST /v1/instances/{id}/messages
-os-a POST /v1/instances/{id}/media
-os-a POST /deliver/send
vo-ma GET /deliver/{id}/status
vo-ma GET /deliver/batches
vo-ma GET /deliver/batches/{id}
vo-ma GET /deliver/batches/{id}/recipients
-os-a POST /deliver/batches/{id}/pause
-os-a POST /deliver/batches/{id}/resume
-os-a POST /deliver/batches/{id}/cancel
-os-a POST /events/{event}/guests/{guest}/send
vo-ma GET /wa/session/{phone}
vo-ma GET /deliver/export
vo-ma GET /v1/occasions
vo-ma GET /v1/occasions/{id}
vo-ma GET /v1/occasions/{id}/guests/{guest}
vo-ma GET /v1/occasions/{id}/guests
---ma POST /v1/occasions/{id}/guests
---ma DELETE /v1/occasions/{id}/guests/{guest}
vo-ma GET /v1/occasions/{id}/invitations
vo-ma GET /v1/opt-outs
---ma POST /v1/contacts/find
---ma POST /v1/contacts/export
---ma POST /v1/contacts/erase
---ma POST /v1/instances/{id}/secret/rotate
vo-ma GET /v1/instances/{id}/notices
-o--a POST /v1/instances/{id}/catch-up
vo-ma GET /v1/dead-letters
-o--a DELETE /v1/dead-letters
-o--a POST /v1/dead-letters/redrive
vo-ma GET /v1/dead-letters/{id}
-o--a DELETE /v1/dead-letters/{id}
-o--a POST /v1/dead-letters/{id}/redrive
vo-ma GET /v1/alerts
vo-ma GET /v1/alerts/notifications
-o--a POST /v1/alerts/notifications/{id}/redrive
-o--a POST /v1/alerts/test
----a DELETE /v1/tenants/{id}
vo-ma GET /v1/token
----a GET /v1/tokens
----a POST /v1/tokens
----a DELETE /v1/tokens/{name}
---ma GET /v1/audit
vo-ma GET /v1/events
vo-ma GET /v1/events/stream
vo-ma POST /v1/events/tickets
vo-ma GET /v1/webhooks
---ma POST /v1/webhooks
vo-ma GET /v1/webhooks/{id}
---ma PUT /v1/webhooks/{id}
---ma DELETE /v1/webhooks/{id}
---ma POST /v1/webhooks/{id}/secret/rotate
-o--a POST /v1/webhooks/{id}/test
vo-ma GET /v1/webhooks/{id}/failed
-o--a POST /v1/webhooks/{id}/failed/redrive
-o--a POST /v1/webhooks/{id}/replay
vo-ma GET /v1/trace
vo-ma GET /v1/trends
vo-ma GET /v1/usage
vo-ma GET /simulator/outbox
-os-a POST /simulator/messages
";

/// The letters of a line, each with its role.
const COLUMNS: [(char, TokenRole); 5] = [
    ('v', TokenRole::Viewer),
    ('o', TokenRole::Operator),
    ('s', TokenRole::Sender),
    ('m', TokenRole::Manager),
    ('a', TokenRole::Admin),
];

/// The roles that may ask each route, by its method and path.
pub(super) fn read_table() -> BTreeMap<&'static str, Vec<TokenRole>> {
    let lines = TABLE.lines().map(|line| {
        let (letters, route) = line.split_once(' ').unwrap();
        assert_eq!(letters.len(), COLUMNS.len(), "{line}");
        let roles = letters.chars().zip(COLUMNS).filter(|(letter, _)| *letter != '-');
        let roles = roles.map(|(letter, (expected, role))| {
            assert_eq!(letter, expected, "{line}");
            role
        });
        (route, roles.collect())
    });
    lines.collect()
}
