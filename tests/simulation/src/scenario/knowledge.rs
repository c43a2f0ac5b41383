//! The story of an agent that has a document.

use super::teller::Teller;
use crate::queue::WorkQueues;
use recado_domain::access::Caller;
use recado_knowledge::{NewDocument, add_source};
use recado_pipeline::ports::Store;
use recado_pipeline::records::knowledge::find_knowledge;
use std::fmt::Debug;
use std::sync::Arc;

impl<S, Q> Teller<S, Q>
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    pub(super) fn knowledge(&self) {
        let (deps, agent) = (self.sim.calm_deps(), self.bound().agent.id.clone());
        let document = NewDocument {
            title: "prices.md".to_owned(),
            content_type: None,
            bytes: b"m1 m2 m3 m4 and m5 cost 90 euros.".to_vec(),
        };
        for (number, at) in (1..=5).zip([60_000, 120_000, 180_000, 240_000, 300_000]) {
            self.says(&format!("m{number}"), at, at);
        }
        let (sim, tenant) = (Arc::clone(&self.sim), self.bound().tenant.id.clone());
        self.happens(async move {
            let added = add_source(&deps, &Caller::installation(), &agent, document).await;
            sim.common.note(|| format!("a document is added: {added:?}"));
            sim.fake_world.let_embeddings_fail(1);
            sim.simulation().sleep(100_000).await;
            sim.fake_world.let_embeddings_hang(1);
            sim.simulation().sleep(60_000).await;
            sim.fake_world.let_searches_hang(3);
            sim.simulation().sleep(100_000).await;
            let known = find_knowledge(&sim.store, &tenant, &agent).await;
            if let Some(name) = known.ok().flatten().and_then(|known| known.record.snapshot) {
                let lost = sim.queues.delete_file(&name.file_key()).await;
                sim.common
                    .note(|| format!("the snapshot's file is lost: {lost:?}"));
            }
        });
    }
}
