//! A record of every kind of the table, and of every other table: an erasure leaves nothing of the person in any of them, and the
//! removal of a tenant nothing of the tenant. Who adds a kind adds its sample (`recado_testkit::sample_records`), or these tests end.

use crate::erasure::{CANARIES, IDENTITY, NUMBER};
use crate::tenant_removal::{Two, name_kind};
use recado_domain::contact::ContactAddress;
use recado_domain::ids::{ConversationId, ThreadId};
use recado_domain::instance::{ConnectionStatus, DEFAULT_PATIENCE, InstanceChange, ParkedConversation};
use recado_pipeline::ports::Instances;
use recado_pipeline::records::KINDS;
use recado_testkit::builders::{Fixture, change_instance, identity_key, nonce, seen};
use recado_testkit::ports::succeed;
use recado_testkit::sample_records::{SampledPerson, store_samples};

/// Another contact of the tenant.
const OTHER: &str = "5511987650002@s.whatsapp.net";
const IDENTITY_OF_OTHER: &str = "887766554433221@lid";

/// The identity by which the other tenant knows the person.
const IDENTITY_AT_OTHERS: &str = "776655443322110@lid";

/// The tables beside that of the kinds: conversations, messages with the way out, deliveries, events and what lies beside them.
const OTHER_TABLES: [&str; 9] = [
    "conversations",
    "deliveries",
    "events",
    "in_flight",
    "instance_states",
    "messages",
    "parked",
    "published_events",
    "usage",
];

/// The kinds that name a thread of an erased person, each with the reason. A thread is a keyed hash of instance and address.
const KEEP_THREADS: [(&str, &str); 5] = [
    (
        "alerts",
        "an alert says in which conversation somebody waited, for 90 days after its end",
    ),
    ("audit", "the entry of an erasure says whose it was"),
    (
        "failed-posts",
        "a published event names its conversation, for 30 days after its last failure",
    ),
    ("notifications", "it holds its alerts, until it is delivered"),
    ("turn-places", "the place of a turn ends with its time"),
];

/// The kinds that name a removed tenant, each with the reason.
const KEEP_TENANT: [(&str, &str); 2] = [
    ("audit", "the entries stay without what the configuration held"),
    (
        "applied-file",
        "the file names the tenant: a start must not make it again",
    ),
];

/// Returns `true` if the row is of one of these kinds, or leads to one.
fn is_of_kind(row: &str, kinds: &[(&str, &str)]) -> bool {
    let name = name_kind(row).and_then(|name| name.split('.').next());
    row.starts_with("records|") && kinds.iter().any(|(kind, _)| name == Some(*kind))
}

/// Two tenants with a record of each kind, of a person and of another one. The person is known to both tenants.
struct Sampled {
    two: Two,
    person: SampledPerson,
    other: SampledPerson,
    theirs: SampledPerson,
}

impl Sampled {
    async fn live() -> Self {
        let two = Box::pin(Two::live()).await;
        let own = &two.site.setup.fixture;
        let (other, also) = (OTHER, Some(IDENTITY_OF_OTHER));
        two.site
            .process_message(other, also, "Outra Pessoa", "B2", "palavras-alheias")
            .await;
        let at = |fixture: &Fixture, (account, identity): (&str, &str), conversation: ConversationId| {
            let mut fixture = fixture.clone();
            fixture.bound.instance.account_id = Some(account.to_owned());
            fixture.address = ContactAddress::parse(identity).unwrap();
            SampledPerson {
                fixture,
                phone: "5511987650001",
                mark: "amostra-canaria",
                own: "posse-canaria",
                client_key: "pedido-do-canario",
                conversation,
                now: two.site.setup.now(),
            }
        };
        let person = at(own, ("account-1", IDENTITY), two.site.conversation(NUMBER).await);
        let with_other = two.site.conversation(OTHER).await;
        let other = SampledPerson {
            phone: "5511987650002",
            mark: "amostra-alheia",
            own: "posse-alheia",
            client_key: "pedido-alheio",
            ..at(own, ("account-1", IDENTITY_OF_OTHER), with_other)
        };
        let at_others = two.find_conversation(&two.theirs).await;
        let theirs = SampledPerson {
            mark: "amostra-vizinha",
            own: "posse-vizinha",
            client_key: "pedido-da-vizinha",
            ..at(&two.theirs, ("account-2", IDENTITY_AT_OTHERS), at_others)
        };
        let sampled = Self {
            two,
            person,
            other,
            theirs,
        };
        // Of some kinds a tenant, or the installation, has one record: the last one stays.
        for of in [&sampled.theirs, &sampled.other, &sampled.person] {
            store_samples(&sampled.two.site.setup.world.store, of).await;
            sampled.park(of).await;
        }
        sampled.assert_every_kind();
        sampled
    }

    /// Parks the conversation, and notes how its instance is connected.
    async fn park(&self, of: &SampledPerson) {
        let (store, instance) = (&self.two.site.setup.world.store, of.fixture.instance());
        let parked = ParkedConversation {
            instance: instance.clone(),
            conversation: of.conversation.clone(),
            version: nonce(),
            since: of.now,
            not_before: None,
            patience: DEFAULT_PATIENCE,
            reply: None,
        };
        succeed(store.put_parked(&parked)).await;
        let open = seen(ConnectionStatus::Open, of.now, None);
        change_instance(store, instance, InstanceChange::Connection(open)).await;
    }

    fn assert_every_kind(&self) {
        let rows = self.two.rows();
        let has = |name: &&str| rows.iter().any(|row| name_kind(row) == Some(*name));
        let kinds = KINDS.iter().map(|kind| kind.name);
        let missing: Vec<&str> = kinds.chain(OTHER_TABLES).filter(|name| !has(name)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    /// Lists the rows that hold one of these texts, but those of the indexes of words, whose rows are of all tenants together.
    fn rows_with(&self, texts: &[&str]) -> Vec<String> {
        let is_of_words = |row: &str| row.starts_with("contact_words") || row.starts_with("message_words");
        let holds = |row: &String| !is_of_words(row) && texts.iter().any(|text| row.contains(text));
        self.two.rows().into_iter().filter(holds).collect()
    }

    /// Returns `true` if the row belongs to the other tenant.
    fn is_theirs(&self, row: &str) -> bool {
        let thread = self.theirs.fixture.thread();
        self.two.is_theirs(row) || row.contains(self.theirs.mark) || row.contains(thread.as_str())
    }
}

#[tokio::test]
async fn an_erased_person_is_in_no_record_of_any_kind() {
    let all = Box::pin(Sampled::live()).await;
    let (site, mark) = (&all.two.site, all.person.mark);
    let personal: Vec<&str> = CANARIES.into_iter().chain([mark]).collect();
    let identity = all.person.fixture.thread();
    let own = identity_key().derive_thread_id(all.person.fixture.instance(), NUMBER);
    let threads = [own.as_str(), identity.as_str()];
    let of_others = all.two.rows_of_others();
    let kept = all.rows_with(&[all.other.mark]);
    assert!(!kept.is_empty() && !site.search(&[mark]).is_empty());

    let done = site.erase(NUMBER).await;
    if let Some(until) = done.waits_until {
        site.setup.pass(until.duration_since(site.setup.now()).as_secs());
        assert_eq!(site.erase(NUMBER).await.waits_until, None);
    }

    let mut left = all.rows_with(&personal);
    left.retain(|row| !all.is_theirs(row));
    assert!(left.is_empty(), "{left:#?}");
    // The other tenant knows the same number.
    let unshared: Vec<&str> = personal
        .into_iter()
        .filter(|text| !NUMBER.starts_with(text))
        .collect();
    assert_eq!(site.search(&unshared), Vec::<String>::new());
    let mut hashed = all.rows_with(&threads);
    hashed.retain(|row| row.starts_with("records|") && !is_of_kind(row, &KEEP_THREADS));
    assert!(hashed.is_empty(), "{hashed:#?}");
    assert_eq!(all.rows_with(&[all.other.mark]), kept);
    all.two.assert_others_kept(&of_others);
}

#[tokio::test]
async fn a_removed_tenant_is_in_no_record_of_any_kind() {
    let all = Box::pin(Sampled::live()).await;
    let marks = [&all.person, &all.other].map(|of| [of.mark, of.own]).concat();
    let threads = [&all.person, &all.other].map(|of| of.fixture.thread());
    let threads = threads.each_ref().map(ThreadId::as_str);
    let of_others = all.two.rows_of_others();
    assert!(!all.two.site.search(&marks).is_empty() && !all.rows_with(&threads).is_empty());

    all.two.remove().await;

    assert_eq!(all.two.site.search(&marks), Vec::<String>::new());
    let mut left = all.rows_with(&threads);
    // A queue may hold a job that names a conversation. Who works at it finds nothing.
    left.retain(|row| row.starts_with("records|"));
    left.extend(all.two.rows().into_iter().filter(|row| all.two.is_own(row)));
    left.retain(|row| !is_of_kind(row, &KEEP_TENANT));
    assert!(left.is_empty(), "{left:#?}");
    all.two.assert_others_kept(&of_others);
}
