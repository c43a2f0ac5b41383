//! The pages of the console: where each is, and which requests of the API it is made of.

use crate::templates::CSV_TEMPLATE;

/// A page.
#[derive(Debug)]
pub(crate) struct ConsolePage {
    /// The route of the page. `{name}` in it is a parameter.
    pub(crate) route: &'static str,
    /// The file in `templates/`.
    pub(crate) template: &'static str,
    /// The entry of the navigation to which the page belongs.
    pub(crate) section: &'static str,
    /// The requests that are sent for it, side by side.
    pub(crate) reads: &'static [PageRead],
}

impl ConsolePage {
    /// Returns `true` if the page is a table for spreadsheets.
    pub(crate) fn is_table(&self) -> bool {
        self.template == CSV_TEMPLATE
    }
}

/// A request of the API whose answer a template reads as `data.NAME`.
#[derive(Debug)]
pub(crate) struct PageRead {
    pub(crate) name: &'static str,
    /// The path, with places for the page's parameters ([`fill_request_path`](crate::page_request::fill_request_path)). Those of the path are
    /// named as in the API's table of permissions.
    pub(crate) path: &'static str,
    /// `true`: the page is about this, so a refusal is the page's answer. `false`: the page says that the part is missing.
    pub(crate) is_subject: bool,
}

impl PageRead {
    /// Returns the route in the API's table of permissions. A token that it is closed to reads the page without this part, or
    /// not at all if the page is about it.
    pub(crate) fn api_route(&self) -> &'static str {
        let path = self.path.split('?').next().unwrap_or_default();
        path.trim_end_matches('{')
    }
}

/// Names a part of a page.
const fn name_page_part(name: &'static str, path: &'static str) -> PageRead {
    PageRead {
        name,
        path,
        is_subject: false,
    }
}

/// Names what a page is about.
const fn name_page_subject(name: &'static str, path: &'static str) -> PageRead {
    PageRead {
        name,
        path,
        is_subject: true,
    }
}

/// The tenants, from which a filter or a form chooses one.
const TENANTS: PageRead = name_page_part("tenants", "/v1/tenants?limit=200");

/// The instances, likewise.
const INSTANCES: PageRead = name_page_part("instances", "/v1/instances?limit=200");

/// All pages.
pub(crate) const PAGES: &[ConsolePage] = &[
    ConsolePage {
        route: "/console",
        template: "overview.html",
        section: "overview",
        reads: &[
            name_page_part("health", "/health/whatsapp"),
            name_page_part("trends", "/v1/trends?hours=24&step_minutes=60"),
            name_page_part("waiting", "/v1/conversations?waiting=true&limit=10"),
            name_page_part("alerts", "/v1/alerts?limit=20"),
            name_page_part("recent", "/v1/conversations?limit=10"),
        ],
    },
    ConsolePage {
        route: "/console/conversations",
        template: "conversations.html",
        section: "conversations",
        reads: &[
            name_page_subject(
                "conversations",
                "/v1/conversations{?instance,mode,status,label,text,contact,waiting,cursor}",
            ),
            INSTANCES,
        ],
    },
    ConsolePage {
        route: "/console/conversations/{id}",
        template: "conversation.html",
        section: "conversations",
        reads: &[
            name_page_subject("conversation", "/v1/conversations/{id}"),
            name_page_subject(
                "messages",
                "/v1/conversations/{id}/messages?joined=true&limit=50{?cursor}",
            ),
            name_page_part("notes", "/v1/conversations/{id}/notes"),
            name_page_part("effects", "/v1/conversations/{id}/effects"),
            name_page_part("usage", "/v1/usage?by=model&conversation={id}"),
            // A linked phone has no templates.
            INSTANCES,
        ],
    },
    ConsolePage {
        route: "/console/messages/{id}",
        template: "message.html",
        section: "conversations",
        reads: &[name_page_subject("message", "/v1/messages/{id}")],
    },
    ConsolePage {
        route: "/console/trace",
        template: "trace.html",
        section: "conversations",
        reads: &[name_page_part(
            "trace",
            "/v1/trace{?event,message,correlation,provider_message,instance}",
        )],
    },
    ConsolePage {
        route: "/console/dead-letters",
        template: "dead_letters.html",
        section: "dead_letters",
        reads: &[
            name_page_subject(
                "dead_letters",
                "/v1/dead-letters?limit=50{?queue,reason,instance,since:begin,until:end,cursor}",
            ),
            INSTANCES,
        ],
    },
    ConsolePage {
        route: "/console/dead-letters/{id}",
        template: "dead_letter.html",
        section: "dead_letters",
        reads: &[name_page_subject("dead_letter", "/v1/dead-letters/{id}")],
    },
    ConsolePage {
        route: "/console/instances",
        template: "instances.html",
        section: "instances",
        reads: &[
            name_page_subject("instances", "/v1/instances{?tenant,cursor}"),
            name_page_part("health", "/health/whatsapp"),
            TENANTS,
        ],
    },
    ConsolePage {
        route: "/console/instances/{id}",
        template: "instance.html",
        section: "instances",
        reads: &[
            name_page_subject("instance", "/v1/instances/{id}"),
            name_page_part("health", "/health/whatsapp/detailed?instance={id}"),
            name_page_part("trends", "/v1/trends?hours=24&step_minutes=60&instance={id}"),
            name_page_part("notices", "/v1/instances/{id}/notices"),
            name_page_part(
                "unacknowledged",
                "/v1/messages/unacknowledged?limit=20&instance={id}",
            ),
        ],
    },
    ConsolePage {
        route: "/console/instances/{id}/webhook",
        template: "webhook.html",
        section: "instances",
        reads: &[name_page_subject("webhook", "/v1/instances/{id}/webhook")],
    },
    ConsolePage {
        route: "/console/agents",
        template: "agents.html",
        section: "agents",
        reads: &[name_page_subject("agents", "/v1/agents{?tenant,cursor}"), TENANTS],
    },
    ConsolePage {
        route: "/console/agents/{id}",
        template: "agent.html",
        section: "agents",
        reads: &[
            name_page_subject("agent", "/v1/agents/{id}"),
            name_page_part("knowledge", "/v1/agents/{id}/knowledge"),
        ],
    },
    ConsolePage {
        route: "/console/agents/{id}/knowledge/{source}",
        template: "knowledge_source.html",
        section: "agents",
        reads: &[name_page_subject("source", "/v1/agents/{id}/knowledge/{source}")],
    },
    ConsolePage {
        route: "/console/tools",
        template: "tools.html",
        section: "agents",
        reads: &[name_page_subject("tools", "/v1/tools{?tenant,cursor}"), TENANTS],
    },
    ConsolePage {
        route: "/console/tools/{id}",
        template: "tool.html",
        section: "agents",
        reads: &[name_page_subject("tool", "/v1/tools/{id}")],
    },
    ConsolePage {
        route: "/console/calendars",
        template: "calendars.html",
        section: "calendars",
        reads: &[
            name_page_subject("calendars", "/v1/calendars{?tenant,cursor}"),
            TENANTS,
        ],
    },
    ConsolePage {
        route: "/console/calendars/{id}",
        template: "calendar.html",
        section: "calendars",
        reads: &[name_page_subject("calendar", "/v1/calendars/{id}")],
    },
    ConsolePage {
        route: "/console/appointments",
        template: "appointments.html",
        section: "appointments",
        reads: &[
            name_page_part("appointments", "/v1/appointments{?tenant,cursor}"),
            TENANTS,
        ],
    },
    ConsolePage {
        route: "/console/occasions",
        template: "occasions.html",
        section: "occasions",
        reads: &[
            name_page_part("occasions", "/v1/occasions{?tenant,cursor}"),
            TENANTS,
        ],
    },
    ConsolePage {
        route: "/console/occasions/{id}",
        template: "occasion.html",
        section: "occasions",
        reads: &[
            name_page_subject("occasion", "/v1/occasions/{id}{?tenant}"),
            name_page_part("guests", "/v1/occasions/{id}/guests{?tenant,cursor}"),
            name_page_part("invitations", "/v1/occasions/{id}/invitations{?tenant}"),
        ],
    },
    ConsolePage {
        route: "/console/batches",
        template: "batches.html",
        section: "batches",
        reads: &[
            name_page_part("batches", "/deliver/batches{?tenant,cursor}"),
            TENANTS,
        ],
    },
    ConsolePage {
        route: "/console/batches/{id}",
        template: "batch.html",
        section: "batches",
        reads: &[name_page_subject("batch", "/deliver/batches/{id}{?tenant}")],
    },
    ConsolePage {
        route: "/console/usage",
        template: "usage.html",
        section: "usage",
        reads: &[
            name_page_subject("usage", "/v1/usage{?by,since,until,tenant}"),
            TENANTS,
        ],
    },
    ConsolePage {
        route: "/console/usage.csv",
        template: "usage.csv",
        section: "usage",
        reads: &[name_page_subject("usage", "/v1/usage{?by,since,until,tenant}")],
    },
    ConsolePage {
        route: "/console/endpoints",
        template: "endpoints.html",
        section: "endpoints",
        reads: &[name_page_part("endpoints", "/v1/webhooks{?tenant}"), TENANTS],
    },
    ConsolePage {
        route: "/console/endpoints/{id}",
        template: "endpoint.html",
        section: "endpoints",
        reads: &[
            name_page_subject("endpoint", "/v1/webhooks/{id}{?tenant}"),
            name_page_part("failed", "/v1/webhooks/{id}/failed{?tenant,cursor}"),
        ],
    },
    ConsolePage {
        route: "/console/alerts",
        template: "alerts.html",
        section: "alerts",
        reads: &[
            name_page_subject("firing", "/v1/alerts?limit=100{?tenant}"),
            name_page_part("watched", "/v1/alerts?state=watched&limit=50{?tenant}"),
            name_page_part("ended", "/v1/alerts?state=ended&limit=50{?tenant,cursor}"),
            name_page_part("given_up", "/v1/alerts/notifications{?tenant}"),
            name_page_part("pending", "/v1/alerts/notifications?state=pending{?tenant}"),
        ],
    },
    ConsolePage {
        route: "/console/tokens",
        template: "tokens.html",
        section: "tokens",
        reads: &[name_page_subject("tokens", "/v1/tokens{?tenant,cursor}"), TENANTS],
    },
    ConsolePage {
        route: "/console/audit",
        template: "audit.html",
        section: "audit",
        reads: &[
            name_page_subject(
                "audit",
                "/v1/audit{?tenant,actor,action,since:begin,until:end,cursor}",
            ),
            TENANTS,
        ],
    },
    ConsolePage {
        route: "/console/settings",
        template: "settings.html",
        section: "settings",
        reads: &[name_page_subject("tenants", "/v1/tenants{?cursor}")],
    },
    ConsolePage {
        route: "/console/settings/tenants/{id}",
        template: "tenant.html",
        section: "settings",
        reads: &[name_page_subject("tenant", "/v1/tenants/{id}")],
    },
    ConsolePage {
        route: "/console/settings/opt-outs",
        template: "opt_outs.html",
        section: "settings",
        reads: &[
            name_page_part("opt_outs", "/v1/opt-outs{?tenant,cursor}"),
            TENANTS,
        ],
    },
    ConsolePage {
        route: "/console/settings/contacts",
        template: "contacts.html",
        section: "settings",
        reads: &[TENANTS],
    },
    ConsolePage {
        route: "/console/simulator",
        template: "simulator.html",
        section: "simulator",
        reads: &[
            name_page_subject("outbox", "/simulator/outbox"),
            name_page_part("health", "/health/whatsapp"),
            name_page_part("recent", "/v1/conversations?limit=10"),
        ],
    },
];
