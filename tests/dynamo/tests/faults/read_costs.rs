//! What the API's reads cost: the table in `docs/performance.md`.

use crate::tenants::{scheduled_message, store_first};
use crate::world::World;
use futures::executor::block_on;
use jiff::civil::{Date, date};
use recado_domain::config::Instance;
use recado_domain::conversation::Conversation;
use recado_domain::dead_letter::DeadLetter;
use recado_domain::event::InboundJob;
use recado_domain::ids::OccasionId;
use recado_domain::millis::add_millis;
use recado_pipeline::ports::{
    ConversationFilter, Conversations, Overviews, PageRequest, PortResult, UnacknowledgedFilter, WriteOutcome,
};
use recado_pipeline::records::alerts::list_live_alerts;
use recado_pipeline::records::audit::{AuditFilter, list_audit};
use recado_pipeline::records::configuration::{list_entries, load_configuration, put_configuration};
use recado_pipeline::records::dead_letters::{
    DeadLetterFilter, count_dead_letters, find_dead_letter, list_dead_letters, put_dead_letter,
};
use recado_pipeline::records::guests::list_guests;
use recado_pipeline::records::invitations::list_invitations;
use recado_pipeline::records::occasions::list_occasions;
use recado_pipeline::records::opt_outs::list_opt_outs;
use recado_pipeline::records::scheduled_messages::put_scheduled;
use recado_pipeline::records::tokens::list_tokens;
use recado_testkit::builders::{BASE, Fixture, far_ahead};
use recado_testkit::stored_guest::{GivenGuest, store_invited_guest, store_opt_out};
use recado_testkit::stored_usage::store_used_reply;

const DOCUMENT: &str = include_str!("../../../../docs/performance.md");

/// The conversations of the tenant that asks; the other one has five times as many.
const OWN: i64 = 60;

/// Number of shards of the index `open` for each kind of record. A read with more requests asks all of several kinds.
const SHARDS: usize = 8;

/// A page as the API gives it, unless it is asked for another size.
fn page() -> PageRequest {
    PageRequest::first(50)
}

/// Stores a conversation with one message, a person's debt and a dead letter, `minute` minutes after the beginning.
fn fill(world: &World, fixture: &Fixture, minute: i64) -> (Conversation, InboundJob) {
    let contact = fixture.other_contact();
    let at = add_millis(BASE, minute * 60_000);
    let job = InboundJob {
        received_at: at,
        ..contact.job()
    };
    let (mut conversation, _) = store_first(world, &contact, &job);
    conversation.take_over();
    conversation.rev += 1;
    let written = block_on(world.store.update_conversation(&conversation, &[])).unwrap();
    assert_eq!(written, WriteOutcome::Written);
    let dead_letter = DeadLetter {
        at,
        ..contact.dead_letter()
    };
    assert!(block_on(put_dead_letter(&world.store, &dead_letter)).unwrap());
    let _ = block_on(put_scheduled(&world.store, &scheduled_message(fixture), &[])).unwrap();
    (conversation, job)
}

/// A row of the table: what is read, the requests, and the read units.
#[derive(Debug)]
struct Row {
    what: String,
    requests: usize,
    units: f64,
}

impl Row {
    fn read(line: &str) -> Option<Self> {
        let mut cells = line.split('|').map(str::trim).skip(1);
        Some(Self {
            what: cells.next()?.to_owned(),
            requests: cells.next()?.parse().ok()?,
            units: cells.next()?.parse().ok()?,
        })
    }

    /// Whether both tell the same. The sizes of the records vary with the lengths of their ids, and a query's size is
    /// rounded up to 4 KB: so the read units may differ by one, or by 5 % where there are many. Where each shard is asked, the ids decide
    /// which records share one, and so by 2.5.
    fn agrees(&self, other: &Self) -> bool {
        let least = if other.requests > SHARDS { 2.5 } else { 1.0 };
        self.what == other.what
            && self.requests == other.requests
            && (self.units - other.units).abs() <= (other.units * 0.05).max(least)
    }
}

/// The rows that were measured.
struct Rows<'a> {
    world: &'a World,
    rows: Vec<Row>,
}

impl Rows<'_> {
    fn measure<T>(&mut self, what: &str, read: impl Future<Output = PortResult<T>>) -> T {
        let before = self.world.trace().len();
        self.world.dynamo.count_read_units();
        let found = block_on(read).unwrap();
        let units = self.world.dynamo.count_read_units();
        let requests = self.world.trace().len() - before;
        self.rows.push(Row {
            what: what.to_owned(),
            requests,
            units,
        });
        found
    }
}

/// Measures the routes of conversations and their messages.
fn measure_conversations(rows: &mut Rows<'_>, own: &Fixture, conversation: &Conversation) {
    let store = &rows.world.store;
    let of_tenant = ConversationFilter {
        tenant: Some(own.bound.tenant.id.clone()),
        ..ConversationFilter::default()
    };
    let of_instance = ConversationFilter {
        instance: Some(own.instance().clone()),
        ..of_tenant.clone()
    };
    let unacknowledged = UnacknowledgedFilter {
        tenant: of_tenant.tenant.clone(),
        ..UnacknowledgedFilter::default()
    };
    let (page, id) = (page(), &conversation.id);
    let all = ConversationFilter::default();
    let list = store.search_conversations(&of_tenant, &page);
    let found = rows.measure("`GET /v1/conversations`", list);
    assert_eq!(found.items.len(), 50);
    let list = store.search_conversations(&of_instance, &page);
    rows.measure("… with `?instance=`", list);
    let list = store.list_waiting_conversations(&of_tenant, &page);
    let found = rows.measure("… with `?waiting=true`", list);
    assert_eq!(found.items.len(), 50);
    let list = store.search_conversations(&all, &page);
    let found = rows.measure("… of all tenants, with a token of the installation", list);
    assert_eq!(found.items.len(), 50);
    rows.measure("`GET /v1/conversations/{id}`", store.find_conversation(id));
    let messages = store.list_messages(id, &page);
    rows.measure("`GET /v1/conversations/{id}/messages`, one message", messages);
    let list = store.list_unacknowledged(&unacknowledged, far_ahead(), &page);
    rows.measure("`GET /v1/messages/unacknowledged`, none", list);
}

/// Measures the other routes.
fn measure_others(rows: &mut Rows<'_>, own: &Fixture, job: &InboundJob) {
    let (store, tenant, page) = (&rows.world.store, Some(&own.bound.tenant.id), page());
    let letters = DeadLetterFilter {
        tenant: tenant.cloned(),
        ..DeadLetterFilter::default()
    };
    let audit = AuditFilter {
        tenant: tenant.cloned(),
        ..AuditFilter::default()
    };
    let found = rows.measure(
        "`GET /v1/dead-letters`",
        list_dead_letters(store, &letters, &page),
    );
    assert_eq!(found.items.len(), 50);
    rows.measure("the number of 60 dead letters", count_dead_letters(store, tenant));
    let id = &found.items[0].id;
    rows.measure("`GET /v1/dead-letters/{id}`", find_dead_letter(store, id));
    let trace = store.find_by_correlation(&job.correlation, tenant, 100);
    let found = rows.measure("`GET /v1/trace?correlation=`, one message", trace);
    assert_eq!(found.messages.len(), 1);
    let instances = [own.bound.instance.clone()];
    let work = store.read_open_work(Some(&instances), 1_000);
    rows.measure("the open work of one instance, for `/health/whatsapp`", work);
    rows.measure(
        "`GET /v1/instances`",
        list_entries::<Instance>(store, tenant, &page),
    );
    rows.measure("`GET /v1/config`", load_configuration(store, tenant));
    rows.measure("`GET /v1/tokens`, none", list_tokens(store, tenant, &page));
    rows.measure("`GET /v1/alerts`, none", list_live_alerts(store, tenant, 100));
    rows.measure("`GET /v1/audit`, none", list_audit(store, &audit, &page));
}

/// Stores guests with invitations and opt-outs, and replies of one model on each of thirty days.
fn fill_people(world: &World, own: &Fixture) {
    let store = &world.store;
    for guest in 0..OWN {
        let phone = format!("55119000{guest:05}");
        let given = GivenGuest {
            id: None,
            occasion: "party",
            phone: Some(&phone),
            name: "Ana",
            email: "ana@guests.example",
        };
        block_on(store_invited_guest(store, own, given, BASE));
        block_on(store_opt_out(store, own, &phone, BASE));
    }
    for reply in 0..2 * OWN {
        let contact = own.other_contact();
        let (mut conversation, _) = store_first(world, &contact, &contact.job());
        let day = add_millis(BASE, reply % 30 * 86_400_000);
        block_on(store_used_reply(
            store,
            &contact,
            &mut conversation,
            ("model-1", day),
        ));
    }
}

/// Measures the routes of guests, opt-outs and use.
fn measure_people(rows: &mut Rows<'_>, own: &Fixture) {
    let (store, tenant, page) = (&rows.world.store, &own.bound.tenant.id, page());
    let occasion = OccasionId::parse("party").unwrap();
    rows.measure("`GET /v1/occasions`, one", list_occasions(store, tenant, &page));
    let guests = list_guests(store, tenant, &occasion, &page);
    let found = rows.measure("`GET /v1/occasions/{id}/guests`", guests);
    assert_eq!(found.items.len(), 50);
    let log = list_invitations(store, tenant, &occasion, None, &page);
    let found = rows.measure(
        "`GET /v1/occasions/{id}/invitations`, without their messages",
        log,
    );
    assert_eq!(found.items.len(), 50);
    let found = rows.measure("`GET /v1/opt-outs`", list_opt_outs(store, tenant, &page));
    assert_eq!(found.items.len(), 50);
    let used = store.list_usage(tenant, date(1970, 1, 1), Date::MAX);
    let found = rows.measure("`GET /v1/usage`, 30 days of one agent with one model", used);
    assert_eq!(found.len(), 30);
}

#[test]
fn the_reads_of_the_api_cost_what_the_page_about_performance_says() {
    let (world, own, other) = (World::new(), Fixture::new(), Fixture::new());
    for fixture in [&own, &other] {
        block_on(put_configuration(&world.store, &fixture.document())).unwrap();
    }
    for minute in 0..5 * OWN {
        fill(&world, &other, minute);
    }
    let filled: Vec<_> = (0..OWN).map(|minute| fill(&world, &own, minute * 5)).collect();
    let mut rows = Rows {
        world: &world,
        rows: Vec::new(),
    };
    measure_conversations(&mut rows, &own, &filled[7].0);
    measure_others(&mut rows, &own, &filled[7].1);
    let people = Fixture::new();
    block_on(put_configuration(&world.store, &people.document())).unwrap();
    fill_people(&world, &people);
    measure_people(&mut rows, &people);
    let documented: Vec<Row> = DOCUMENT.lines().filter_map(Row::read).collect();
    let missing = |row: &&Row| !documented.iter().any(|found| row.agrees(found));
    let missing: Vec<&Row> = rows.rows.iter().filter(missing).collect();
    assert!(
        missing.is_empty(),
        "docs/performance.md should have these rows: {missing:#?}"
    );
}
