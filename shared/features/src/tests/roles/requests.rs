//! A request to every route, about records with given ids.

mod webhook_endpoints;

use serde_json::{Value, json};

/// The ids of one tenant's records.
#[derive(Debug, Clone)]
pub(super) struct Ids {
    pub(super) tenant: String,
    pub(super) calendar: String,
    pub(super) tool: String,
    pub(super) agent: String,
    pub(super) source: String,
    pub(super) instance: String,
    pub(super) external: String,
    pub(super) conversation: String,
    pub(super) message: String,
    pub(super) provider_message: String,
    pub(super) scheduled: String,
    pub(super) event: String,
    pub(super) correlation: String,
    pub(super) dead_letter: String,
    pub(super) upload: String,
    pub(super) alert: String,
    pub(super) notification: String,
    pub(super) destination: String,
    pub(super) token: String,
    pub(super) contact: String,
    pub(super) occasion: String,
    pub(super) guest: String,
    pub(super) invitation: String,
    pub(super) batch: String,
    pub(super) endpoint: String,
    /// A text that only this tenant's records hold.
    pub(super) said: String,
}

impl Ids {
    /// Ids in their proper forms, which nobody has.
    pub(super) fn unknown() -> Self {
        let text = |text: &str| text.to_owned();
        Self {
            tenant: text("nobody"),
            calendar: text("no-calendar"),
            tool: text("no-tool"),
            agent: text("no-agent"),
            source: format!("k_{}", "5".repeat(16)),
            instance: text("no-instance"),
            external: text("no-line"),
            conversation: format!("c_{}-1", "0".repeat(32)),
            message: format!("c_{}-1.1", "0".repeat(32)),
            provider_message: text("no-wa"),
            scheduled: format!("s_{}", "0".repeat(32)),
            event: "0".repeat(64),
            correlation: text("no-correlation"),
            dead_letter: "1".repeat(64),
            upload: format!("upload:{}", "2".repeat(32)),
            alert: "3".repeat(16),
            notification: format!("alert_{}", "4".repeat(32)),
            destination: text("no-destination"),
            token: text("no-token"),
            contact: text("5500000000000"),
            occasion: text("no-occasion"),
            guest: text("no-guest"),
            invitation: format!("inv_{}", "6".repeat(28)),
            batch: format!("batch_{}", "7".repeat(28)),
            endpoint: text("no-endpoint"),
            said: text("nothing was said"),
        }
    }

    /// The longest come first: some contain others.
    fn texts(&self) -> Vec<&str> {
        let mut texts = vec![
            self.message.as_str(),
            &self.conversation,
            &self.tenant,
            &self.calendar,
            &self.tool,
            &self.agent,
            &self.source,
            &self.instance,
            &self.external,
            &self.provider_message,
            &self.scheduled,
            &self.event,
            &self.correlation,
            &self.dead_letter,
            &self.upload,
            &self.alert,
            &self.notification,
            &self.destination,
            &self.token,
            &self.contact,
            &self.occasion,
            &self.guest,
            &self.invitation,
            &self.batch,
            &self.endpoint,
            &self.said,
        ];
        texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
        texts
    }

    /// The text with each of these ids replaced by the same word, and without what the clock changes.
    pub(super) fn blank(&self, text: &str) -> String {
        let text = crate::tests::roles::without_times(text);
        self.texts().iter().fold(text, |text, id| text.replace(id, "ID"))
    }

    /// The path of a list of these records.
    pub(super) fn name_in(&self, route: &str) -> String {
        let named = route.replace("{tenant}", &self.tenant);
        named.replace("{occasion}", &self.occasion)
    }

    /// The first of these ids that the text holds.
    pub(super) fn find_in(&self, text: &str) -> Option<&str> {
        self.texts().into_iter().find(|id| text.contains(id))
    }
}

/// A request to a route.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub(super) method: &'static str,
    /// The route as it is described.
    pub(super) route: &'static str,
    pub(super) path: String,
    pub(super) body: String,
}

impl Wanted {
    pub(super) fn new(method: &'static str, route: &'static str, path: &str, body: &Value) -> Self {
        Self {
            method,
            route,
            path: path.to_owned(),
            body: if body.is_null() {
                String::new()
            } else {
                body.to_string()
            },
        }
    }

    pub(super) fn reads(&self) -> bool {
        self.method == "GET"
    }
}

/// A document that would change, or add, what has these ids. `tenant` is the one that it says they are of.
/// Makes a calendar, as the API takes it.
pub(super) fn calendar(id: &str, tenant: &str, minutes: u16) -> Value {
    json!({"id": id, "tenant": tenant, "minutes": [minutes], "rules": {"hours": {"mon": ["08:00-12:00"]}},
        "google": {"calendar_id": "agenda@clinic.example", "credential": format!("ssm:/recado/instances/{tenant}/calendar")}})
}

fn document(ids: &Ids, tenant: &str) -> Value {
    json!({
        "tenants": [{"id": tenant, "name": "changed"}],
        "calendars": [calendar(&ids.calendar, tenant, 60)],
        "tools": [{"id": ids.tool, "tenant": tenant, "name": "changed", "description": "d", "effect": "reads",
            "http": {"url": "https://tool.example/"}}],
        "agents": [{"id": ids.agent, "tenant": tenant, "model": "m", "system_prompt": "changed"}],
        "instances": [{"id": ids.instance, "tenant": tenant, "agent": ids.agent, "provider": "evolution",
            "external_id": ids.external, "credential": "env:RECADO_CREDENTIAL_X_KEY"}],
    })
}

/// Reads.
fn list_reads(ids: &Ids) -> Vec<Wanted> {
    let Ids {
        instance,
        conversation,
        message,
        scheduled,
        dead_letter,
        tenant,
        ..
    } = ids;
    let get = |route, path: String| Wanted::new("GET", route, &path, &Value::Null);
    let plain = |route: &'static str| get(route, route.to_owned());
    let of_instance = |route: &'static str| get(route, format!("{route}?instance={instance}"));
    let one = |route: &'static str, id: &str| get(route, route.replace("{id}", id));
    vec![
        plain("/health/whatsapp"),
        of_instance("/health/whatsapp"),
        plain("/health/whatsapp/detailed"),
        of_instance("/health/whatsapp/detailed"),
        plain("/health/whatsapp/dlq"),
        of_instance("/health/whatsapp/dlq"),
        plain("/v1/config"),
        plain("/v1/config/webhooks"),
        plain("/v1/checks"),
        of_instance("/v1/checks"),
        plain("/v1/conversations"),
        of_instance("/v1/conversations"),
        one("/v1/conversations/{id}", conversation),
        one("/v1/conversations/{id}/messages", conversation),
        one("/v1/conversations/{id}/effects", conversation),
        one("/v1/conversations/{id}/notes", conversation),
        get("/v1/conversations", "/v1/conversations?label=noted".to_owned()),
        plain("/v1/appointments"),
        get("/v1/appointments", format!("/v1/appointments?tenant={tenant}")),
        plain("/v1/messages/unacknowledged"),
        of_instance("/v1/messages/unacknowledged"),
        one("/v1/messages/{id}", message),
        one("/v1/messages/{id}", scheduled),
        one("/v1/messages/{id}/media", message),
        one("/v1/instances/{id}/notices", instance),
        plain("/v1/dead-letters"),
        of_instance("/v1/dead-letters"),
        one("/v1/dead-letters/{id}", dead_letter),
        plain("/v1/token"),
        plain("/v1/tokens"),
        get("/v1/tokens", format!("/v1/tokens?tenant={tenant}")),
        plain("/v1/audit"),
        get("/v1/audit", format!("/v1/audit?tenant={tenant}")),
        plain("/v1/events"),
        get("/v1/events", format!("/v1/events?tenant={tenant}")),
        plain("/v1/events/stream"),
        Wanted::new("POST", "/v1/events/tickets", "/v1/events/tickets", &Value::Null),
        plain("/v1/trends"),
        of_instance("/v1/trends"),
        get("/v1/trends", format!("/v1/trends?tenant={tenant}")),
        get("/v1/opt-outs", format!("/v1/opt-outs?tenant={tenant}")),
        plain("/v1/usage"),
        get("/v1/usage", format!("/v1/usage?tenant={tenant}")),
        plain("/simulator/outbox"),
        plain("/metrics"),
    ]
    .into_iter()
    .chain(list_traces(ids))
    .collect()
}

/// Reads of what became of an event, a message or a request.
fn list_traces(ids: &Ids) -> Vec<Wanted> {
    let Ids {
        instance,
        message,
        scheduled,
        event,
        correlation,
        provider_message,
        ..
    } = ids;
    let get = |route, path: String| Wanted::new("GET", route, &path, &Value::Null);
    vec![
        get("/v1/trace", format!("/v1/trace?event={event}")),
        get("/v1/trace", format!("/v1/trace?message={message}")),
        get("/v1/trace", format!("/v1/trace?message={scheduled}")),
        get("/v1/trace", format!("/v1/trace?correlation={correlation}")),
        get(
            "/v1/trace",
            format!("/v1/trace?provider_message={provider_message}"),
        ),
        get(
            "/v1/trace",
            format!("/v1/trace?provider_message={provider_message}&instance={instance}"),
        ),
    ]
}

/// A person says how an effect ended.
fn decide_effect(conversation: &str) -> Wanted {
    Wanted::new(
        "POST",
        "/v1/conversations/{id}/effects/{number}",
        &format!("/v1/conversations/{conversation}/effects/1"),
        &json!({"state": "done"}),
    )
}

/// People write beside a conversation.
fn list_annotations(conversation: &str) -> Vec<Wanted> {
    let ask = |method, route: &'static str, body: Value| {
        let path = route.replace("{id}", conversation).replace("{number}", "1");
        Wanted::new(method, route, &path, &body)
    };
    vec![
        ask("POST", "/v1/conversations/{id}/labels", json!({"add": ["seen"]})),
        ask(
            "POST",
            "/v1/conversations/{id}/notes",
            json!({"text": "calls again"}),
        ),
        ask("DELETE", "/v1/conversations/{id}/notes/{number}", Value::Null),
    ]
}

/// Changes.
fn list_changes(ids: &Ids) -> Vec<Wanted> {
    let one = |method, route: &'static str, id: &str, body: Value| {
        let path = route.replace("{id}", id).replace("{name}", id);
        Wanted::new(method, route, &path, &body)
    };
    let Ids {
        tenant,
        instance,
        conversation,
        message,
        scheduled,
        dead_letter,
        ..
    } = ids;
    let nothing = || Value::Null;
    let foreign = json!({"ids": [dead_letter]});
    let of_instance = json!({"instance": instance, "dry_run": true});
    let delete_of = |route, path: String| Wanted::new("DELETE", route, &path, &Value::Null);
    vec![
        one("PUT", "/v1/config", "", document(ids, tenant)),
        one("PUT", "/v1/config", "", json!({"tenants": [{"id": tenant}]})),
        one("POST", "/v1/config", "", document(ids, tenant)),
        one(
            "PATCH",
            "/v1/conversations/{id}",
            conversation,
            json!({"mode": "manual"}),
        ),
        one(
            "PATCH",
            "/v1/conversations/{id}",
            conversation,
            json!({"status": "resolved"}),
        ),
        one(
            "POST",
            "/v1/conversations/{id}/messages",
            conversation,
            json!({"text": "oi"}),
        ),
        decide_effect(conversation),
        one("DELETE", "/v1/messages/{id}", scheduled, nothing()),
        one("DELETE", "/v1/messages/{id}", message, nothing()),
        one(
            "POST",
            "/v1/instances/{id}/messages",
            instance,
            json!({"to": "+55 11 90000-0001", "text": "oi"}),
        ),
        Wanted {
            body: "file".to_owned(),
            ..one("POST", "/v1/instances/{id}/media", instance, nothing())
        },
        one(
            "POST",
            "/simulator/messages",
            "",
            json!({"instance_id": instance, "from": "+55 11 90000-0001", "name": "Ana", "text": "oi"}),
        ),
        one("POST", "/v1/instances/{id}/catch-up", instance, nothing()),
        one("POST", "/v1/instances/{id}/secret/rotate", instance, nothing()),
        one("POST", "/v1/dead-letters/redrive", "", foreign),
        one("POST", "/v1/dead-letters/redrive", "", of_instance),
        delete_of(
            "/v1/dead-letters",
            format!("/v1/dead-letters?instance={instance}"),
        ),
        one("DELETE", "/v1/dead-letters/{id}", dead_letter, nothing()),
        one("POST", "/v1/dead-letters/{id}/redrive", dead_letter, nothing()),
    ]
}

/// Changes of tokens, and the removal of a tenant.
fn list_token_changes(Ids { tenant, token, .. }: &Ids) -> Vec<Wanted> {
    let new_token = json!({"name": "intruder", "role": "viewer", "tenant": tenant});
    let delete_of = |route, path: String| Wanted::new("DELETE", route, &path, &Value::Null);
    vec![
        delete_of("/v1/tenants/{id}", format!("/v1/tenants/{tenant}")),
        Wanted::new("POST", "/v1/tokens", "/v1/tokens", &new_token),
        delete_of("/v1/tokens/{name}", format!("/v1/tokens/{token}")),
        delete_of("/v1/tokens/{name}", format!("/v1/tokens/{token}?tenant={tenant}")),
    ]
}

/// What is done with an instance at its provider.
fn list_setups(ids: &Ids) -> Vec<Wanted> {
    let routes = [
        "/v1/instances/{id}/connect",
        "/v1/instances/{id}/pairing",
        "/v1/instances/{id}/check",
    ];
    let ask = |route: &'static str| {
        let path = route.replace("{id}", &ids.instance);
        Wanted::new("POST", route, &path, &Value::Null)
    };
    routes.map(ask).into()
}

/// At least one request to every route that needs a token, about the records with these ids.
pub(super) fn list_requests(ids: &Ids) -> Vec<Wanted> {
    [
        list_reads(ids),
        list_changes(ids),
        list_annotations(&ids.conversation),
        list_token_changes(ids),
        list_setups(ids),
        list_contact_requests(ids),
        list_alert_requests(ids),
        list_entry_requests(ids),
        list_knowledge_requests(ids),
        list_invitation_requests(ids),
        webhook_endpoints::list_endpoint_requests(ids),
    ]
    .concat()
}

fn list_alert_requests(ids: &Ids) -> Vec<Wanted> {
    let (tenant, destination) = (&ids.tenant, &ids.destination);
    let ask = |method, route, path: &str| Wanted::new(method, route, path, &Value::Null);
    let (alerts, notifications) = ("/v1/alerts", "/v1/alerts/notifications");
    let test = "/v1/alerts/test";
    let redrive = "/v1/alerts/notifications/{id}/redrive";
    vec![
        ask("GET", alerts, alerts),
        ask("GET", alerts, "/v1/alerts?state=ended"),
        ask("GET", alerts, &format!("/v1/alerts?tenant={tenant}")),
        ask("GET", alerts, &format!("/v1/alerts?state=ended&tenant={tenant}")),
        ask("GET", notifications, notifications),
        ask("GET", notifications, "/v1/alerts/notifications?state=pending"),
        ask(
            "GET",
            notifications,
            &format!("/v1/alerts/notifications?tenant={tenant}"),
        ),
        ask("POST", test, &format!("{test}?destination={destination}")),
        ask("POST", redrive, &redrive.replace("{id}", &ids.notification)),
    ]
}

fn list_knowledge_requests(ids: &Ids) -> Vec<Wanted> {
    let ask = |method, route: &'static str, query: &str, body: &Value| {
        let path = route.replace("{id}", &ids.agent).replace("{source}", &ids.source);
        Wanted::new(method, route, &format!("{path}{query}"), body)
    };
    let (all, one) = ("/v1/agents/{id}/knowledge", "/v1/agents/{id}/knowledge/{source}");
    let question = json!({"question": "What does the vaccine cost?"});
    let pages = json!({"urls": ["https://pages.example/prices"]});
    vec![
        ask("GET", all, "", &Value::Null),
        Wanted {
            body: "# Prices\nThe vaccine costs 90 euros.".to_owned(),
            ..ask("POST", all, "?title=prices.md", &Value::Null)
        },
        ask("POST", "/v1/agents/{id}/knowledge/pages", "", &pages),
        ask("POST", "/v1/agents/{id}/knowledge/search", "", &question),
        ask("POST", "/v1/agents/{id}/knowledge/vectors", "", &json!({})),
        ask("GET", one, "", &Value::Null),
        ask("DELETE", one, "", &Value::Null),
    ]
}

fn list_invitation_requests(ids: &Ids) -> Vec<Wanted> {
    let Ids {
        tenant,
        contact,
        message,
        occasion,
        guest,
        invitation,
        ..
    } = ids;
    let (guests, one) = ("/v1/occasions/{id}/guests", "/v1/occasions/{id}/guests/{guest}");
    let of_occasion = |rest: &str| format!("/v1/occasions/{occasion}/{rest}");
    let one_guest = of_occasion(&format!("guests/{guest}"));
    let reads = [
        ("/deliver/{id}/status", format!("/deliver/{message}/status")),
        ("/deliver/{id}/status", format!("/deliver/{invitation}/status")),
        ("/wa/session/{phone}", format!("/wa/session/{contact}")),
        ("/deliver/export", "/deliver/export".to_owned()),
        ("/v1/occasions", "/v1/occasions".to_owned()),
        ("/v1/occasions/{id}", format!("/v1/occasions/{occasion}")),
        (one, one_guest.clone()),
        (guests, of_occasion("guests")),
        ("/v1/occasions/{id}/invitations", of_occasion("invitations")),
    ];
    let reads = reads.map(|(route, path)| ("GET", route, path, Value::Null));
    let added = json!({"guests": [{"id": guest, "name": "Outra"}]});
    let changes = [
        ("POST", guests, of_occasion("guests"), added),
        ("DELETE", one, one_guest, Value::Null),
    ];
    let mut wanted = Vec::new();
    for (method, route, path, body) in reads.into_iter().chain(changes) {
        // The tenant is the token's, or named.
        wanted.push(Wanted::new(
            method,
            route,
            &format!("{path}?tenant={tenant}"),
            &body,
        ));
        wanted.push(Wanted::new(method, route, &path, &body));
    }
    wanted.extend(list_sends_to_guest(ids));
    wanted.extend(list_batch_requests(ids));
    wanted
}

/// Requests about batches, with the tenant named and without.
fn list_batch_requests(ids: &Ids) -> Vec<Wanted> {
    let mut wanted = Vec::new();
    for (method, route) in [
        ("GET", "/deliver/batches"),
        ("GET", "/deliver/batches/{id}"),
        ("GET", "/deliver/batches/{id}/recipients"),
        ("POST", "/deliver/batches/{id}/pause"),
        ("POST", "/deliver/batches/{id}/resume"),
        ("POST", "/deliver/batches/{id}/cancel"),
    ] {
        let path = route.replace("{id}", &ids.batch);
        let named = format!("{path}?tenant={}", ids.tenant);
        wanted.push(Wanted::new(method, route, &named, &Value::Null));
        wanted.push(Wanted::new(method, route, &path, &Value::Null));
    }
    wanted
}

/// Sends to a guest, by both routes, with the tenant named and without.
fn list_sends_to_guest(ids: &Ids) -> Vec<Wanted> {
    let Ids {
        tenant,
        occasion,
        guest,
        ..
    } = ids;
    let send = json!({"eventId": occasion, "guestId": guest, "channel": "whatsapp", "template": "invite"});
    let to_guest = json!({"channel": "whatsapp", "template": "invite"});
    let mut wanted = Vec::new();
    for (route, path, body) in [
        ("/deliver/send", "/deliver/send".to_owned(), send),
        (
            "/events/{event}/guests/{guest}/send",
            format!("/events/{occasion}/guests/{guest}/send"),
            to_guest,
        ),
    ] {
        let mut named = body.clone();
        named["tenant"] = json!(tenant);
        wanted.push(Wanted::new("POST", route, &path, &named));
        wanted.push(Wanted::new("POST", route, &path, &body));
    }
    wanted
}

fn list_contact_requests(ids: &Ids) -> Vec<Wanted> {
    let person = json!({"tenant": ids.tenant, "contact": ids.contact});
    let routes = ["/v1/contacts/find", "/v1/contacts/export", "/v1/contacts/erase"];
    let ask = |route| Wanted::new("POST", route, route, &person);
    routes.map(ask).to_vec()
}

/// Requests to single tenants, tools, agents and instances. Each is sent with `If-Match: *`.
fn list_entry_requests(ids: &Ids) -> Vec<Wanted> {
    let mut wanted = Vec::new();
    let all = document(ids, &ids.tenant);
    for (list, route, id, entry) in [
        ("/v1/tenants", "/v1/tenants/{id}", &ids.tenant, &all["tenants"][0]),
        (
            "/v1/calendars",
            "/v1/calendars/{id}",
            &ids.calendar,
            &all["calendars"][0],
        ),
        ("/v1/tools", "/v1/tools/{id}", &ids.tool, &all["tools"][0]),
        ("/v1/agents", "/v1/agents/{id}", &ids.agent, &all["agents"][0]),
        (
            "/v1/instances",
            "/v1/instances/{id}",
            &ids.instance,
            &all["instances"][0],
        ),
    ] {
        let path = route.replace("{id}", id);
        wanted.push(Wanted::new("GET", list, list, &Value::Null));
        wanted.push(Wanted::new("GET", route, &path, &Value::Null));
        wanted.push(Wanted::new("POST", list, list, entry));
        wanted.push(Wanted::new("PUT", route, &path, entry));
        if list != "/v1/tenants" {
            let of_tenant = format!("{list}?tenant={}", ids.tenant);
            wanted.push(Wanted::new("GET", list, &of_tenant, &Value::Null));
            wanted.push(Wanted::new("DELETE", route, &path, &Value::Null));
            let forced = format!("{path}?force=true");
            wanted.push(Wanted::new("DELETE", route, &forced, &Value::Null));
        }
    }
    let webhook = "/v1/instances/{id}/webhook";
    let path = webhook.replace("{id}", &ids.instance);
    wanted.push(Wanted::new("GET", webhook, &path, &Value::Null));
    wanted
}
