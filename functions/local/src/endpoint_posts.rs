//! Posts published events to the endpoints of tenants, each endpoint apart from the others.

use recado_domain::config::WebhookEndpoint;
use recado_domain::ids::{TenantId, WebhookEndpointId};
use recado_domain::published_event::EventCursor;
use recado_embedded::{Embedded, EventReader};
use recado_endpoints::{list_posted_endpoints, post_due_events, remove_unknown_states};
use recado_notify::EndpointPoster;
use recado_pipeline::Deps;
use recado_pipeline::ports::{LogPlace, PortResult};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Time between two looks at all endpoints: for posts that are due again, and for what was configured meanwhile.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);

/// Time between two reads of the log at least, so that many changes cost one read.
const NEWS_PAUSE: Duration = Duration::from_millis(50);

/// Time between two removals of what is known of endpoints that are configured no more.
const TIDY_INTERVAL: Duration = Duration::from_secs(60);

/// The number of events that are read at a time to find whose they are.
const NEWS_MAX: usize = 500;

/// The number of passes of one endpoint that follow each other before it is looked for again.
const PASSES_MAX: usize = 200;

/// The longest time that a stopping process waits for posts that are under way: longer than one may take.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(15);

type Place = (TenantId, WebhookEndpointId);

/// The loop of all endpoints. Each has a task of its own while it has something to do, so that none waits for another.
struct PostLoop {
    deps: Arc<Deps>,
    poster: EndpointPoster,
    stop: watch::Receiver<bool>,
    endpoints: Vec<(TenantId, WebhookEndpoint)>,
    working: JoinSet<Place>,
    busy: BTreeSet<Place>,
    /// Tenants with events that the passes under way may not have seen.
    news: BTreeSet<TenantId>,
    seen: EventCursor,
}

/// Posts events until `stop` is `true`, and then finishes the posts that were begun.
pub(crate) async fn run_endpoint_posts(
    deps: Arc<Deps>,
    poster: EndpointPoster,
    embedded: Embedded,
    mut stop: watch::Receiver<bool>,
) {
    let mut all = PostLoop {
        deps,
        poster,
        stop: stop.clone(),
        endpoints: Vec::new(),
        working: JoinSet::new(),
        busy: BTreeSet::new(),
        news: BTreeSet::new(),
        seen: EventCursor::START,
    };
    let waker = Arc::clone(embedded.event_waker(EventReader::Webhooks));
    let mut look = tokio::time::interval(LOOK_INTERVAL);
    look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut tidied = Instant::now();
    while !*stop.borrow() {
        let is_look = tokio::select! {
            _ = look.tick() => true,
            () = waker.notified(), if !all.endpoints.is_empty() => {
                tokio::time::sleep(NEWS_PAUSE).await;
                false
            }
            Some(ended) = all.working.join_next(), if !all.working.is_empty() => {
                all.note_end(ended.ok());
                false
            }
            _ = stop.changed() => break,
        };
        let done = if is_look {
            all.look_at_all().await
        } else {
            all.look_at_news().await
        };
        if let Err(error) = done {
            tracing::warn!(%error, "webhook endpoints could not be looked at");
        }
        if tidied.elapsed() > TIDY_INTERVAL {
            tidied = Instant::now();
            if let Err(error) = remove_unknown_states(&all.deps).await {
                tracing::warn!(%error, "records of removed webhook endpoints were not removed");
            }
        }
    }
    let ended = async { while all.working.join_next().await.is_some() {} };
    if tokio::time::timeout(DRAIN_TIMEOUT, ended).await.is_err() {
        tracing::warn!("stopped before every webhook endpoint had answered: the next start posts again");
    }
}

impl PostLoop {
    /// Notes that the task of an endpoint ended. Of one that panicked the place is not known: it is looked for again at the next look.
    fn note_end(&mut self, place: Option<Place>) {
        if let Some(place) = place {
            self.busy.remove(&place);
            return;
        }
        tracing::error!("a post to a webhook endpoint panicked");
        if self.working.is_empty() {
            self.busy.clear();
        }
    }

    /// Begins a pass of every endpoint.
    async fn look_at_all(&mut self) -> PortResult<()> {
        self.endpoints = list_posted_endpoints(&self.deps).await?;
        if self.endpoints.is_empty() {
            // What is published until there is one concerns nobody.
            return Ok(());
        }
        self.news = self.endpoints.iter().map(|(tenant, _)| tenant.clone()).collect();
        self.look_at_news().await
    }

    /// Begins passes of the endpoints whose tenants have news.
    async fn look_at_news(&mut self) -> PortResult<()> {
        if self.endpoints.is_empty() {
            return Ok(());
        }
        self.read_news().await?;
        let mut waiting = BTreeSet::new();
        for (tenant, endpoint) in self.endpoints.clone() {
            if !self.news.contains(&tenant) {
                continue;
            }
            let place = (tenant.clone(), endpoint.id.clone());
            if self.busy.contains(&place) {
                waiting.insert(tenant);
                continue;
            }
            self.busy.insert(place.clone());
            let (deps, poster, stop) = (Arc::clone(&self.deps), self.poster.clone(), self.stop.clone());
            self.working.spawn(async move {
                run_passes(&deps, &poster, (&tenant, &endpoint.id), &stop).await;
                place
            });
        }
        self.news = waiting;
        Ok(())
    }

    /// Reads whose events were published since the last look.
    async fn read_news(&mut self) -> PortResult<()> {
        if self.seen == EventCursor::START {
            let log = self.deps.store().list_published_events(None, LogPlace::Newest, 0);
            self.seen = log.await?.next;
            return Ok(());
        }
        loop {
            let from = LogPlace::After(self.seen);
            let log = self.deps.store().list_published_events(None, from, NEWS_MAX);
            let page = log.await?;
            self.seen = page.next;
            let is_last = page.events.len() < NEWS_MAX;
            self.news
                .extend(page.events.into_iter().filter_map(|logged| logged.event.tenant));
            if is_last {
                return Ok(());
            }
        }
    }
}

/// Runs passes of an endpoint for as long as it has more to do.
async fn run_passes(
    deps: &Deps,
    poster: &EndpointPoster,
    (tenant, endpoint): (&TenantId, &WebhookEndpointId),
    stop: &watch::Receiver<bool>,
) {
    for _ in 0..PASSES_MAX {
        if *stop.borrow() {
            return;
        }
        match post_due_events(deps, poster, tenant, endpoint).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                tracing::warn!(%tenant, %endpoint, %error, "a webhook endpoint could not be served");
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::instance::{ConnectionStatus, InstanceChange};
    use recado_domain::millis::add_millis;
    use recado_domain::secret::Secret;
    use recado_local::compose::{LocalComposition, compose_components};
    use recado_local::environment::LocalEnvironment;
    use recado_pipeline::records::configuration::put_configuration;
    use recado_pipeline::records::endpoints::list_endpoint_states;
    use recado_pipeline::settings::VariableReader;
    use recado_testkit::builders::{Fixture, change_instance, seen};
    use recado_testkit::servers::scripted::{Does, StandIn};
    use serde_json::json;
    use std::path::PathBuf;
    use tokio::task::JoinHandle;

    /// Waits for a condition, for half a minute at most.
    async fn until(what: &str, holds: impl AsyncFn() -> bool) {
        let began = Instant::now();
        while !holds().await {
            assert!(
                began.elapsed() < Duration::from_secs(30),
                "waited in vain for {what}"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Publishes an event of the fixture's instance for each of these states.
    async fn publish(deps: &Deps, fixture: &Fixture, states: &[ConnectionStatus]) {
        for (number, state) in (1..).zip(states) {
            let at = add_millis(deps.system().now(), number);
            let change = InstanceChange::Connection(seen(*state, at, None));
            change_instance(deps.store(), fixture.instance(), change).await;
        }
    }

    /// A data folder whose endpoints are posted to.
    struct Site {
        folder: PathBuf,
        deps: Arc<Deps>,
        embedded: Embedded,
        stop: watch::Sender<bool>,
        posting: JoinHandle<()>,
    }

    impl Site {
        /// Begins to post, and waits for the first look at all endpoints of the fixture.
        async fn begin(name: &str, fixture: &Fixture) -> Self {
            let folder = std::env::temp_dir().join(format!("recado-endpoints-{name}-{}", std::process::id()));
            let variables = [
                ("RECADO_DATA", folder.to_str().unwrap()),
                ("RECADO_PRIVATE_TOOLS", "true"),
            ];
            let environment = LocalEnvironment::from_variables(&mut VariableReader::new(variables));
            let LocalComposition { deps, embedded, .. } =
                compose_components(&environment, true).await.unwrap();
            put_configuration(&embedded, &fixture.document()).await.unwrap();
            let (stop, stopped) = watch::channel(false);
            let poster = EndpointPoster::new(vec![Secret::new("master").unwrap()]);
            let poster = poster.with_timeout(Duration::from_secs(2));
            let posts = run_endpoint_posts(Arc::clone(&deps), poster, embedded.clone(), stopped);
            let posting = tokio::spawn(posts);
            let count = fixture.bound.tenant.webhook_endpoints().len();
            let begun = async || {
                let states = list_endpoint_states(&embedded, None, 10).await;
                states.unwrap().len() == count
            };
            until("the first look", begun).await;
            Self {
                folder,
                deps,
                embedded,
                stop,
                posting,
            }
        }

        async fn end(self) {
            self.stop.send_replace(true);
            self.posting.await.unwrap();
            self.embedded.shut_down().await;
            std::fs::remove_dir_all(&self.folder).unwrap();
        }
    }

    #[tokio::test]
    async fn each_endpoint_is_told_and_one_that_never_answers_holds_up_no_other() {
        use ConnectionStatus::{Closed, Open, Unreachable};
        let crm = StandIn::start(vec![Does::Answers(500, ""), Does::Answers(204, "")]).await;
        let dead = StandIn::start(vec![Does::Hangs]).await;
        let mut fixture = Fixture::new();
        let endpoints = json!([{"id": "dead", "url": dead.url}, {"id": "crm", "url": crm.url}]);
        fixture.bound.tenant.webhooks = serde_json::from_value(endpoints).unwrap();
        let site = Site::begin("told", &fixture).await;
        let deps = Arc::clone(&site.deps);
        publish(&deps, &fixture, &[Closed, Open, Unreachable]).await;
        // The first post fails, is repeated after 5 s, and then the others follow in their order.
        until("four posts", async || crm.requests().len() == 4).await;
        let told: Vec<String> = crm.requests()[1..]
            .iter()
            .map(|request| request.body["data"]["connection"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(told, ["closed", "open", "unreachable"]);
        assert!(!dead.requests().is_empty());
        site.end().await;
    }

    #[tokio::test]
    async fn an_endpoint_that_is_made_again_at_another_url_is_told_there_although_the_old_one_was_listed() {
        use ConnectionStatus::{Closed, Open};
        let old = StandIn::start(vec![Does::Answers(204, "")]).await;
        let new = StandIn::start(vec![Does::Answers(204, "")]).await;
        let mut fixture = Fixture::new();
        fixture.bound.tenant.webhooks =
            serde_json::from_value(json!([{"id": "crm", "url": old.url}])).unwrap();
        let site = Site::begin("again", &fixture).await;
        for endpoints in [json!([]), json!([{"id": "crm", "url": new.url}])] {
            fixture.bound.tenant.webhooks = serde_json::from_value(endpoints).unwrap();
            put_configuration(&site.embedded, &fixture.document())
                .await
                .unwrap();
        }
        publish(&site.deps, &fixture, &[Closed, Open]).await;
        until("two posts to the new one", async || new.requests().len() == 2).await;
        assert!(old.requests().is_empty());
        site.end().await;
    }
}
