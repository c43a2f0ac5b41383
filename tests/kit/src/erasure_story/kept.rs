//! The site on a store that is kept as a file: an earlier program filled it, and this one works on.

use super::{ErasureClock, ErasureSite, OTHER, Written};
use crate::builders::Fixture;
use crate::contract::given;
use crate::ports::succeed;
use recado_dead_letters::redrive_dead_letter;
use recado_domain::access::Caller;
use recado_domain::ids::{AgentId, ExternalId, InstanceId, Ordinal, TenantId};
use recado_domain::outbox::OutboxState;
use recado_ports::ports::{PageRequest, QueuePorts, Store};
use recado_ports::records::dead_letters::{DeadLetterFilter, list_dead_letters};

/// Makes a tenant with the same ids in each run.
fn keep_fixture(name: &str) -> Fixture {
    let mut fixture = Fixture::new();
    let bound = &mut fixture.bound;
    let tenant = TenantId::parse(&format!("{name}-tenant")).unwrap();
    let agent = AgentId::parse(&format!("{name}-agent")).unwrap();
    bound.tenant.id = tenant.clone();
    bound.agent.id = agent.clone();
    bound.agent.tenant = tenant.clone();
    bound.instance.id = InstanceId::parse(&format!("{name}-instance")).unwrap();
    bound.instance.external_id = Some(ExternalId::parse(&format!("{name}-line")).unwrap());
    bound.instance.tenant = tenant;
    bound.instance.agent = agent;
    fixture
}

fn keep_fixtures() -> [Fixture; 2] {
    [keep_fixture("kept"), keep_fixture("neighbour")]
}

impl<S: Store + Clone + 'static, Q: QueuePorts + Clone + 'static> ErasureSite<S, Q> {
    /// Fills a store that is to be kept: with the same ids each time.
    pub async fn fill_kept(store: S, queues: Q, clock: ErasureClock) -> Self {
        Self::over(store, queues, clock, keep_fixtures()).fill().await
    }

    /// Opens a store that [`Self::fill_kept`] filled.
    pub fn reopen(store: S, queues: Q, clock: ErasureClock) -> Self {
        Self::over(store, queues, clock, keep_fixtures())
    }

    /// A contact writes on, and is answered; the reply is sent.
    pub async fn answer_contact(&self) {
        let (fixture, store) = (&self.fixture, &self.deps.store);
        let written = Written {
            address: OTHER,
            name: "Outra Pessoa",
            id: "B-AFTER",
            text: "depois",
            ..self.of_contact()
        };
        self.write(&written).await;
        let thread = self.find_thread(fixture, OTHER).await;
        let mut conversation = succeed(store.find_latest_conversation(&thread)).await.unwrap();
        let reply = given::replied(store, fixture, &mut conversation).await;
        self.send_open_message(OTHER, "WAMID-AFTER").await;
        let messages = succeed(store.list_messages_after(&conversation.id, Ordinal(0), 100)).await;
        let sent = messages.iter().find(|message| message.ordinal == reply.ordinal);
        let outbox = sent.and_then(|sent| sent.out.as_ref()).unwrap();
        assert!(matches!(outbox.state, OutboxState::Sent { .. }), "{outbox:?}");
    }

    /// Redrives every dead letter of the tenant. What is enqueued is for the caller to process. Returns how many there were.
    pub async fn redrive_letters(&self) -> usize {
        let letters = self.list_letters().await;
        for id in &letters {
            let caller = Caller::installation();
            let redriven = Box::pin(redrive_dead_letter(&self.deps, &caller, id)).await;
            assert!(redriven.unwrap(), "{id}");
        }
        letters.len()
    }

    /// Lists the ids of the tenant's dead letters.
    pub async fn list_letters(&self) -> Vec<String> {
        let filter = DeadLetterFilter {
            tenant: Some(self.fixture.bound.tenant.id.clone()),
            ..DeadLetterFilter::default()
        };
        let page = PageRequest::first(100);
        let found = succeed(list_dead_letters(&self.deps.store, &filter, &page)).await;
        found.items.into_iter().map(|letter| letter.id).collect()
    }
}
