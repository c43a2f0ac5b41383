//! The function that posts events to endpoints, as it is started on one machine and on AWS.

use super::{Simulator, Style};
use crate::executor::Life;
use crate::fake_world::FakeServices;
use crate::fault_injector::FaultInjector;
use crate::queue::WorkQueues;
use futures::executor::block_on;
use recado_domain::millis::add_millis;
use recado_domain::wake_up::EndpointJob;
use recado_domain::webhook_endpoint::EndpointState;
use recado_pipeline::Deps;
use recado_pipeline::ports::{LogPlace, PageRequest, PortResult, Store, System};
use recado_pipeline::records::endpoints::{find_endpoint_state, list_endpoint_states, list_failed_events};

use std::fmt::Debug;
use std::sync::Arc;

/// Shortest and longest time between two looks for what is to be posted, in milliseconds.
const LOOKS_MS: (i64, i64) = (2_000, 30_000);

/// When the function is cut off on AWS, in milliseconds.
const CUT_OFF_MS: i64 = 60_000;

/// How many passes of an endpoint follow each other on one machine.
const PASSES_MAX: usize = 200;

/// More endpoints than any history has.
const STATES_MAX: usize = 1_000;

impl<S, Q> Simulator<S, Q>
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    /// Starts the looks for what is to be posted, once.
    pub(super) fn start_posts(self: &Arc<Self>) {
        if std::mem::replace(&mut self.ledger().has_posts, true) {
            return;
        }
        let sim = Arc::clone(self);
        self.simulation().spawn(Life::default(), async move {
            let deps = sim.calm_deps();
            let (mut running, mut wait) = (Vec::<(EndpointJob, Life)>::new(), LOOKS_MS.0);
            loop {
                sim.simulation().sleep(wait).await;
                running.retain(|(_, life)| !life.is_over());
                let due = recado_endpoints::list_due_jobs(&deps).await.unwrap_or_default();
                let is_left = sim.has_left_states(&deps).await.unwrap_or_default();
                wait = if due.is_empty() {
                    (wait * 2).min(LOOKS_MS.1)
                } else {
                    LOOKS_MS.0
                };
                for job in due {
                    if !running.iter().any(|(known, _)| *known == job) {
                        running.push((job.clone(), sim.start_pass(job)));
                    }
                }
                if is_left {
                    sim.start_tidying();
                }
            }
        });
    }

    /// Starts the function with the job of an endpoint, whatever runs beside it.
    pub(super) fn start_pass(self: &Arc<Self>, job: EndpointJob) -> Life {
        let injector = FaultInjector::new(&self.common, "poster");
        let life = injector.life.clone();
        let (sim, ended) = (Arc::clone(self), life.clone());
        self.simulation().spawn(life.clone(), async move {
            sim.serve_endpoint(&injector, &job).await;
            ended.end();
            sim.common.note_ended();
        });
        if self.style == Style::Lambda {
            let (sim, cut_off) = (Arc::clone(self), life.clone());
            self.simulation().spawn(Life::default(), async move {
                sim.simulation().sleep(CUT_OFF_MS).await;
                if !cut_off.is_over() {
                    sim.common.note(|| "poster is cut off".to_owned());
                    sim.common.disturb();
                    sim.common.count(|counters| counters.cut_off += 1);
                    cut_off.end();
                    sim.common.note_ended();
                }
            });
        }
        life
    }

    async fn serve_endpoint(&self, injector: &FaultInjector, job: &EndpointJob) {
        let world = self.world(injector);
        let posts = FakeServices::new(self.fake_world.clone(), injector.clone());
        if self.style == Style::Lambda {
            let body = serde_json::to_string(job).expect("a job is written");
            let deadline = add_millis(injector.now(), CUT_OFF_MS);
            let _ = recado_endpoints::handle_endpoint_job(&world, &posts, &body, Some(deadline)).await;
            return;
        }
        let listed = recado_endpoints::list_posted_endpoints(&world)
            .await
            .unwrap_or_default();
        let mut asked = listed
            .iter()
            .filter(|(tenant, endpoint)| *tenant == job.tenant && endpoint.id == job.endpoint);
        let Some((tenant, endpoint)) = asked.next() else {
            return;
        };
        for _ in 0..PASSES_MAX {
            let passed = recado_endpoints::post_due_events(&world, &posts, tenant, &endpoint.id).await;
            if !passed.unwrap_or_default() {
                return;
            }
        }
    }

    /// Starts the function that removes what is left of endpoints that were removed.
    fn start_tidying(self: &Arc<Self>) {
        let injector = FaultInjector::new(&self.common, "poster");
        let sim = Arc::clone(self);
        self.simulation().spawn(injector.life.clone(), async move {
            let _ = recado_endpoints::remove_unknown_states(&sim.world(&injector)).await;
            injector.life.end();
            sim.common.note_ended();
        });
    }

    /// Whether there is a state of an endpoint that is not configured.
    async fn has_left_states(&self, deps: &Deps) -> PortResult<bool> {
        let listed = recado_endpoints::list_posted_endpoints(deps).await?;
        let states = list_endpoint_states(&self.store, None, STATES_MAX).await?;
        let is_listed = |state: &EndpointState| {
            let mut listed = listed.iter();
            listed.any(|(tenant, endpoint)| *tenant == state.tenant && endpoint.id == state.endpoint)
        };
        Ok(!states.iter().all(is_listed))
    }

    /// Whether something is still to be posted, or tidied.
    pub(super) fn owes_posts(&self) -> bool {
        if !self.fake_world.has_stand_ins() {
            return false;
        }
        let deps = self.calm_deps();
        let owes = block_on(self.has_open_posts(&deps)).unwrap_or(true);
        deps.system.life.end();
        owes
    }

    async fn has_open_posts(&self, deps: &Deps) -> PortResult<bool> {
        let store = &self.store;
        for (tenant, endpoint) in recado_endpoints::list_posted_endpoints(deps).await? {
            if endpoint.disabled {
                continue;
            }
            let found = find_endpoint_state(store, &tenant, &endpoint.id).await?;
            let Some(state) = found.map(|found| found.record) else {
                return Ok(true);
            };
            if state.switched_off_at.is_some() {
                continue;
            }
            let page = PageRequest::first(STATES_MAX);
            let behind = store
                .list_published_events(Some(&tenant), LogPlace::After(state.cursor), 1)
                .await?;
            let failed = list_failed_events(store, &tenant, &endpoint.id, &page).await?;
            let is_tried = failed.items.iter().any(|failed| failed.record.next_at.is_some());
            if state.failures > 0 || !behind.events.is_empty() || is_tried {
                return Ok(true);
            }
        }
        self.has_left_states(deps).await
    }
}
