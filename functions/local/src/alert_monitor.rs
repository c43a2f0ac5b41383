//! The alert monitor: tells alerts every minute, delivers their notifications, and requests the heartbeat's URL.

use anyhow::Result;
use recado_alerts::{KnownState, deliver_notifications, evaluate_alerts};
use recado_embedded::Embedded;
use recado_local::environment::LocalEnvironment;
use recado_local::keyring::EnvironmentSecrets;
use recado_notify::{DELIVERY_TIMEOUT, Notifier};
use recado_pipeline::Deps;
use recado_pipeline::ports::PortResult;
use recado_pipeline::reconcile::ReconcileReport;
use std::time::Duration;

/// Longest time of one pass. The rest is done a minute later, so that `reconcile` is never kept waiting.
const PASS_TIMEOUT: Duration = Duration::from_secs(25);

/// The alert monitor of one machine.
#[derive(Debug, Clone)]
pub(crate) struct AlertMonitor {
    http: reqwest::Client,
    heartbeat_url: Option<String>,
}

impl AlertMonitor {
    pub(crate) fn new(environment: &LocalEnvironment) -> Result<Self> {
        Ok(Self {
            http: recado_http_client::build_http_client()?,
            heartbeat_url: environment.heartbeat_url.clone(),
        })
    }

    /// Runs one pass. If it succeeds, and `reconcile` did, the heartbeat's URL is requested.
    pub(crate) async fn run_pass(
        &self,
        deps: &Deps,
        queues: &Embedded,
        reconciled: Option<&ReconcileReport>,
    ) {
        let pass = tokio::time::timeout(PASS_TIMEOUT, self.tell_alerts(deps, queues, reconciled)).await;
        let told = pass.unwrap_or_else(|_| {
            tracing::warn!("alerts took too long: the rest is delivered a minute later");
            Ok(())
        });
        if let Err(error) = &told {
            tracing::error!(%error, "alerts could not be delivered");
        }
        let told = told.is_ok();
        if reconciled.is_some() && told {
            self.request_heartbeat().await;
        }
    }

    async fn tell_alerts(
        &self,
        deps: &Deps,
        queues: &Embedded,
        reconciled: Option<&ReconcileReport>,
    ) -> PortResult<()> {
        let disk = deps.store().read_disk_space().await?;
        let known = KnownState {
            disk_free: disk.map(|disk| disk.free),
            reading: reconciled.and_then(|done| done.reading.as_ref()),
            missing_secrets: reconciled.and_then(|done| done.missing_secrets.as_deref()),
        };
        evaluate_alerts(deps.store(), queues, deps.system(), known).await?;
        let notifier = Notifier::new(deps, self.http.clone(), EnvironmentSecrets);
        deliver_notifications(deps.store(), deps.system(), &notifier).await?;
        Ok(())
    }

    /// Requests the heartbeat's URL. Whoever watches it raises the alarm when the requests stop.
    async fn request_heartbeat(&self) {
        let Some(url) = &self.heartbeat_url else { return };
        let answer = self.http.get(url).timeout(DELIVERY_TIMEOUT).send().await;
        match answer.and_then(reqwest::Response::error_for_status) {
            Ok(_) => {}
            // The URL is left out: whoever knows it can stop the alarm.
            Err(error) => tracing::warn!(error = %error.without_url(), "the heartbeat was not accepted"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_local::compose::compose_components;
    use recado_pipeline::settings::VariableReader;
    use recado_testkit::servers::scripted::{Does, StandIn};

    #[tokio::test]
    async fn the_heartbeat_is_requested_in_each_minute_in_which_all_went_well_and_in_no_other() {
        let watched = StandIn::start(vec![Does::Answers(500, ""), Does::Answers(200, "")]).await;
        let url = format!("{}/heartbeat", watched.url);
        let data = std::env::temp_dir().join(format!("recado-alert-monitor-{}", std::process::id()));
        let variables = [
            ("RECADO_DATA", data.to_str().unwrap()),
            ("RECADO_HEARTBEAT_URL", &url),
        ];
        let environment = LocalEnvironment::from_variables(&mut VariableReader::new(variables));
        let made = compose_components(&environment, true).await.unwrap();
        let alert_monitor = AlertMonitor::new(&environment).unwrap();
        let done = ReconcileReport::default();
        // A watcher that refuses one request is asked again a minute later.
        for (reconciled, heartbeats) in [(None, 0), (Some(&done), 1), (None, 1), (Some(&done), 2)] {
            alert_monitor
                .run_pass(&made.deps, &made.embedded, reconciled)
                .await;
            assert_eq!(watched.requests().len(), heartbeats);
        }
        assert_eq!(watched.requests()[1].line, "GET /heartbeat");
        made.embedded.shut_down().await;
        // A store that cannot be read is no minute in which all went well.
        alert_monitor
            .run_pass(&made.deps, &made.embedded, Some(&done))
            .await;
        assert_eq!(watched.requests().len(), 2);
        std::fs::remove_dir_all(&data).unwrap();
    }
}
