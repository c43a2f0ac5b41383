//! Lists published events.

use recado_domain::access::{Caller, Scope};
use recado_domain::ids::TenantId;
use recado_domain::published_event::{EventCursor, KindFilter, PublishedKind};
use recado_pipeline::Deps;
use recado_ports::ports::{LogPlace, PortResult, PublishedPage};

/// The number of events that are read at a time where only some kinds are wanted.
const SCANNED: usize = 500;

/// The number of such reads for one page at most. A page may be empty although more follows.
const SCANS_MAX: usize = 4;

/// The events that a reader wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventQuery {
    /// Only those of this tenant.
    pub tenant: Option<TenantId>,
    /// The place from which on.
    pub start: LogPlace,
    /// Only these kinds. Empty: all.
    pub kinds: Vec<KindFilter>,
    /// The number of events at most.
    pub limit: usize,
}

impl EventQuery {
    /// Returns whether events of this kind are wanted.
    pub fn wants_kind(&self, kind: PublishedKind) -> bool {
        self.kinds.is_empty() || self.kinds.iter().any(|filter| filter.covers_kind(kind))
    }
}

/// Lists the events within the caller's scope, the oldest first.
pub async fn list_events(deps: &Deps, caller: &Caller, query: &EventQuery) -> PortResult<PublishedPage> {
    let asked = query.tenant.as_ref();
    let tenant = match &caller.scope {
        Scope::Installation => asked,
        Scope::Tenant(own) => Some(own),
    };
    let is_outside = asked.is_some_and(|asked| !caller.scope.covers(asked));
    match query.start {
        LogPlace::After(start) if is_outside => Ok(PublishedPage::end_at(start)),
        LogPlace::After(start) => scan_events(deps, tenant, start, query).await,
        place => deps.store().list_published_events(tenant, place, 0).await,
    }
}

/// Reads the log until enough events are found.
async fn scan_events(
    deps: &Deps,
    tenant: Option<&TenantId>,
    start: EventCursor,
    query: &EventQuery,
) -> PortResult<PublishedPage> {
    let mut found = PublishedPage::end_at(start);
    let scanned = if query.kinds.is_empty() {
        query.limit
    } else {
        SCANNED.max(query.limit)
    };
    for _ in 0..SCANS_MAX {
        let page = deps
            .store()
            .list_published_events(tenant, LogPlace::After(found.next), scanned)
            .await?;
        let is_last = page.events.len() < scanned;
        for logged in page.events {
            found.next = logged.cursor;
            if query.wants_kind(logged.event.kind) {
                found.events.push(logged);
            }
            if found.events.len() == query.limit {
                return Ok(found);
            }
        }
        found.next = found.next.max(page.next);
        if is_last {
            break;
        }
    }
    Ok(found)
}
