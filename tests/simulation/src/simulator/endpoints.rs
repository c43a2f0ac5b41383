//! Operators of endpoints: they make one, give it another secret, pause it, remove it, and let failed events be posted again.

use super::people::REQUEST_PATIENCE_MS;
use super::{FunctionWorld, Simulator};
use crate::fake_world::{Moment, ShownSecret, StandIn, master_secret};
use crate::fault_injector::FaultInjector;
use crate::queue::WorkQueues;
use futures::executor::block_on;
use jiff::SignedDuration;
use recado_configuration::{
    ApplyOptions, ConfigureError, EndpointChange, apply_configuration, change_webhook_endpoints,
};
use recado_domain::access::Caller;
use recado_domain::config::{ConfigDocument, Tenant, WebhookEndpoint};
use recado_domain::ids::{TenantId, WebhookEndpointId};
use recado_domain::millis::to_millis;
use recado_domain::wake_up::EndpointJob;
use recado_endpoints::{
    ConfiguredEndpoint, FailedChoice, WebhookError, begin_posts, derive_signing_secret,
    redrive_failed_events, rotate_signing_secret,
};
use recado_pipeline::Deps;
use recado_pipeline::ports::{LogPlace, PageRequest, Store};
use recado_pipeline::records::endpoints::list_failed_events;
use std::fmt::Debug;
use std::sync::Arc;

/// The secret of an endpoint, as its operator is shown it.
fn show_secret(found: &ConfiguredEndpoint) -> Option<String> {
    let of = (&found.tenant, &found.endpoint.id);
    let salts = found.state.as_ref().map(|state| &state.salts);
    let secret = salts.map(|salts| derive_signing_secret(&master_secret(), of, &salts.current));
    secret.map(|secret| secret.expose_secret().to_owned())
}

/// The secret that an answer shows; `None`: it shows none, since there is such an endpoint already, or none any more.
#[derive(Debug)]
struct Told(Option<String>);

/// Makes an endpoint, as the API does. `None`: it is asked again.
async fn create(deps: &Deps, tenant: &TenantId, endpoint: WebhookEndpoint) -> Option<Told> {
    let (caller, id) = (Caller::installation(), endpoint.id.clone());
    let change = EndpointChange::Create(endpoint);
    match Box::pin(change_webhook_endpoints(deps, &caller, tenant, &change)).await {
        Ok(()) => {}
        Err(ConfigureError::Exists(_)) => return Some(Told(None)),
        Err(_) => return None,
    }
    let begun = begin_posts(deps, &caller, tenant, id.as_str()).await.ok()?;
    Some(Told(show_secret(&begun)))
}

/// Replaces or removes an endpoint. Whatever the answer is, it is no error of the store.
async fn change(deps: &Deps, tenant: &TenantId, change: &EndpointChange) -> Option<()> {
    let done = Box::pin(change_webhook_endpoints(
        deps,
        &Caller::installation(),
        tenant,
        change,
    ))
    .await;
    match done {
        Ok(()) | Err(ConfigureError::NotFound(_)) => Some(()),
        Err(_) => None,
    }
}

impl<S, Q> Simulator<S, Q>
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    /// Now, and the place behind the newest event.
    pub(super) fn note_moment(&self) -> Moment {
        Moment {
            at_ms: self.simulation().elapsed_ms(),
            cursor: block_on(self.store.list_published_events(None, LogPlace::Newest, 0))
                .expect("the log is read")
                .next,
        }
    }

    /// Asks until there is an answer. Second: whether a request may go on for which nobody waits.
    pub(super) async fn ask_until_told<T, F>(
        self: &Arc<Self>,
        ask: impl Fn(FunctionWorld<S, Q>) -> F + Send,
    ) -> (Option<T>, bool)
    where
        T: Send + 'static,
        F: Future<Output = Option<T>> + Send + 'static,
    {
        let mut lingers = false;
        for _ in 0..20 {
            let injector = FaultInjector::new(&self.common, "api");
            let (life, world) = (injector.life.clone(), self.world(&injector));
            let told = self.answered_in(injector, REQUEST_PATIENCE_MS, ask(world)).await;
            lingers |= told.is_none() && !life.is_over();
            if let Some(told) = told.flatten() {
                return (Some(told), lingers);
            }
            self.simulation().sleep(8_000).await;
        }
        (None, lingers)
    }

    /// A stand-in begins, and is configured by a request soon.
    fn begin_endpoint(self: &Arc<Self>, tenant: &TenantId, name: &str) -> usize {
        self.start_posts();
        let name = WebhookEndpointId::parse(name).expect("a name");
        self.fake_world.begin_stand_in(tenant, &name, self.note_moment())
    }

    /// The endpoint of a stand-in in the configuration.
    fn endpoint_of(&self, number: usize, disabled: bool) -> (TenantId, WebhookEndpoint) {
        let of = |stand_in: &mut StandIn| {
            let endpoint = WebhookEndpoint {
                id: stand_in.name.clone(),
                url: stand_in.url.clone(),
                kinds: Vec::new(),
                disabled,
            };
            (stand_in.tenant.clone(), endpoint)
        };
        self.fake_world.stand_in(number, of).expect("a stand-in")
    }

    /// Its operator was told that it is made. `lingers`: see [`Self::ask_until_told`].
    fn note_made(&self, number: usize, is_told: bool, lingers: bool) {
        let (made, all) = (self.note_moment(), self.fake_world.stand_ins());
        let is_of_name = |other: &StandIn| {
            let (tenant, name) = (&all[number].tenant, &all[number].name);
            other.tenant == *tenant && other.name == *name
        };
        let was_unsure = all[..number]
            .iter()
            .any(|other| other.is_unsure && is_of_name(other));
        self.fake_world.stand_in(number, |stand_in| {
            stand_in.made = Some(made);
            stand_in.is_unsure |= !is_told || lingers || was_unsure;
        });
    }

    fn note_shown(&self, number: usize, secret: String, replaces_until: i64) {
        let from_ms = self.simulation().elapsed_ms();
        self.fake_world.stand_in(number, |stand_in| {
            if let Some(before) = stand_in.secrets.last_mut() {
                before.until_ms = Some(replaces_until);
            }
            stand_in.secrets.push(ShownSecret {
                secret,
                from_ms,
                until_ms: None,
            });
        });
    }

    /// An operator makes an endpoint with another system behind it. Returns the number of that.
    pub async fn make_endpoint(self: &Arc<Self>, tenant: &TenantId, name: &str) -> usize {
        let number = self.begin_endpoint(tenant, name);
        let (tenant, endpoint) = self.endpoint_of(number, false);
        let asked = self.ask_until_told(|world| {
            let (tenant, endpoint) = (tenant.clone(), endpoint.clone());
            async move { create(&world, &tenant, endpoint).await }
        });
        let (told, lingers) = asked.await;
        let is_told = told.is_some();
        let shown = told.and_then(|told| told.0);
        let is_shown = shown.is_some();
        if let Some(secret) = shown {
            self.note_shown(number, secret, 0);
        }
        self.note_made(number, is_told, lingers);
        if !is_shown {
            // The answer with the secret was lost.
            self.rotate_endpoint(number, SignedDuration::ZERO).await;
        }
        number
    }

    /// An operator applies a document with these endpoints of a tenant.
    async fn apply_endpoints(
        self: &Arc<Self>,
        tenant: &TenantId,
        endpoints: &[WebhookEndpoint],
    ) -> (bool, bool) {
        let mut bounds = self.bounds.iter();
        let bound = bounds.find(|bound| bound.tenant.id == *tenant);
        let tenant = Tenant {
            webhooks: Some(endpoints.to_vec()),
            ..bound.expect("a tenant").tenant.clone()
        };
        let document = ConfigDocument {
            tenants: vec![tenant],
            ..ConfigDocument::default()
        };
        let asked = self.ask_until_told(|world| {
            let document = document.clone();
            async move {
                let options = ApplyOptions::default();
                let caller = Caller::installation();
                let applied = Box::pin(apply_configuration(&world, &caller, document, options)).await;
                applied.ok().map(|_| ())
            }
        });
        let (told, lingers) = asked.await;
        (told.is_some(), lingers)
    }

    /// An operator makes an endpoint by a document, and then rotates its secret once. Returns the number of the system behind it.
    pub async fn make_endpoint_by_document(self: &Arc<Self>, tenant: &TenantId, name: &str) -> usize {
        let number = self.begin_endpoint(tenant, name);
        let (tenant, endpoint) = self.endpoint_of(number, false);
        let (is_told, lingers) = self.apply_endpoints(&tenant, &[endpoint]).await;
        self.note_made(number, is_told, lingers);
        self.rotate_endpoint(number, SignedDuration::ZERO).await;
        number
    }

    /// An operator removes all endpoints of a tenant by a document.
    pub async fn remove_endpoint_by_document(self: &Arc<Self>, number: usize) {
        let leaves = self.note_moment();
        self.fake_world
            .stand_in(number, |stand_in| stand_in.leaves = Some(leaves));
        let (tenant, _) = self.endpoint_of(number, false);
        let (is_told, lingers) = self.apply_endpoints(&tenant, &[]).await;
        self.note_left(number, is_told, lingers);
    }

    fn note_left(&self, number: usize, is_told: bool, lingers: bool) {
        let left = self.note_moment();
        self.fake_world.stand_in(number, |stand_in| {
            stand_in.left = Some(left);
            stand_in.is_unsure |= !is_told || lingers;
        });
    }

    /// An operator removes an endpoint.
    pub async fn remove_endpoint(self: &Arc<Self>, number: usize) {
        let leaves = self.note_moment();
        self.fake_world
            .stand_in(number, |stand_in| stand_in.leaves = Some(leaves));
        let (tenant, endpoint) = self.endpoint_of(number, false);
        let removal = EndpointChange::Remove(endpoint.id);
        let (told, lingers) = self.change_endpoint(&tenant, removal).await;
        self.note_left(number, told.is_some(), lingers);
    }

    async fn change_endpoint(
        self: &Arc<Self>,
        tenant: &TenantId,
        wanted: EndpointChange,
    ) -> (Option<()>, bool) {
        let asked = self.ask_until_told(|world| {
            let (tenant, wanted) = (tenant.clone(), wanted.clone());
            async move { change(&world, &tenant, &wanted).await }
        });
        asked.await
    }

    /// An operator pauses an endpoint, or lets it go on.
    pub async fn pause_endpoint(self: &Arc<Self>, number: usize, is_paused: bool) {
        let asked_ms = self.simulation().elapsed_ms();
        self.fake_world.stand_in(number, |stand_in| {
            stand_in.is_paused = is_paused;
            if let Some(pause) = stand_in.pauses.last_mut() {
                pause.1 = pause.1.min(asked_ms);
            }
        });
        let (tenant, endpoint) = self.endpoint_of(number, is_paused);
        let (told, lingers) = self
            .change_endpoint(&tenant, EndpointChange::Replace(endpoint))
            .await;
        let told_ms = self.simulation().elapsed_ms();
        self.fake_world.stand_in(number, |stand_in| {
            stand_in.is_unsure |= told.is_none() || lingers;
            if is_paused {
                stand_in.pauses.push((told_ms, i64::MAX));
            }
        });
    }

    /// An operator gives an endpoint another secret. Posts are signed with the one before for `overlap` more.
    pub async fn rotate_endpoint(self: &Arc<Self>, number: usize, overlap: SignedDuration) {
        let begun = self.simulation().elapsed_ms();
        self.fake_world.stand_in(number, |stand_in| {
            stand_in.rotations.push((begun, i64::MAX));
            // A pass that runs now cannot store how far it came.
            stand_in.may_repeat = true;
        });
        let (tenant, endpoint) = self.endpoint_of(number, false);
        let asked = self.ask_until_told(|world| {
            let (tenant, id) = (tenant.clone(), endpoint.id.clone());
            async move {
                let caller = Caller::installation();
                let rotated =
                    rotate_signing_secret(&world, &caller, Some(&tenant), id.as_str(), overlap).await;
                match rotated {
                    Ok(found) => Some(Told(show_secret(&found))),
                    Err(WebhookError::NoEndpoint) => Some(Told(None)),
                    Err(_) => None,
                }
            }
        });
        let (told, lingers) = asked.await;
        let now = self.simulation().elapsed_ms();
        if let Some(secret) = told.and_then(|told| told.0) {
            self.note_shown(number, secret, now + to_millis(overlap));
        }
        self.fake_world.stand_in(number, |stand_in| {
            if let Some(rotation) = stand_in.rotations.last_mut() {
                // A request for which nobody waits may still give it a secret that nobody was shown.
                rotation.1 = if lingers { i64::MAX } else { now };
            }
        });
    }

    /// An operator lets the failed events of an endpoint be posted again that were given up.
    pub async fn post_failed_again(self: &Arc<Self>, number: usize) {
        let (tenant, endpoint) = self.endpoint_of(number, false);
        let asked = self.ask_until_told(|world| {
            let (tenant, id) = (tenant.clone(), endpoint.id.clone());
            async move {
                let (caller, of) = (Caller::installation(), (Some(&tenant), id.as_str()));
                let done = redrive_failed_events(&world, &caller, of, FailedChoice::All).await;
                match done {
                    Ok(_) | Err(WebhookError::NoEndpoint) => Some(()),
                    Err(_) => None,
                }
            }
        });
        asked.await;
    }

    /// How many events of an endpoint its people see as failed.
    pub fn count_failed(&self, tenant: &TenantId, name: &str) -> usize {
        let name = WebhookEndpointId::parse(name).expect("a name");
        let page = PageRequest::first(100);
        let listed = block_on(list_failed_events(&self.store, tenant, &name, &page));
        listed.map_or(0, |page| page.items.len())
    }

    /// The function that posts begins another pass of an endpoint, whatever runs.
    pub fn pass_beside(self: &Arc<Self>, number: usize) {
        self.fake_world
            .stand_in(number, |stand_in| stand_in.may_repeat = true);
        let (tenant, endpoint) = self.endpoint_of(number, false);
        let id = endpoint.id;
        self.start_pass(EndpointJob { tenant, endpoint: id });
    }
}
