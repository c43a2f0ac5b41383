//! The queue `webhooks`: the endpoints of tenants to which events are to be posted.

use super::{AwsQueues, SqsEntry, message_body, queue_id};
use crate::config::{require_setting, variable};
use recado_domain::wake_up::EndpointJob;
use recado_ports::ports::{PortResult, System};

impl<A: System> AwsQueues<A> {
    fn webhooks_queue_url(&self, what: &'static str) -> PortResult<&str> {
        let url = self.config.webhooks_queue_url.as_ref();
        require_setting(what, variable::WEBHOOKS_QUEUE, url)
    }

    /// Enqueues jobs of endpoints. `news` names what they are for: the same job for the same is enqueued once within five minutes.
    pub async fn enqueue_endpoint_jobs(&self, jobs: &[EndpointJob], news: &str) -> PortResult<()> {
        const WHAT: &str = "enqueueing the jobs of webhook endpoints";
        let entry = |job: &EndpointJob| {
            let group = job.queue_group();
            Ok(SqsEntry {
                body: message_body::encode_body(WHAT, job)?,
                deduplication: queue_id(&format!("{group}#{news}")),
                group: queue_id(&group),
            })
        };
        let entries: Vec<SqsEntry> = jobs.iter().map(entry).collect::<PortResult<_>>()?;
        self.send_entries(WHAT, self.webhooks_queue_url(WHAT)?, entries)
            .await
    }

    /// Makes a job of an endpoint visible again after `seconds` (0 to 43,200).
    pub async fn change_job_visibility(&self, receipt: &str, seconds: u32) -> PortResult<()> {
        let url = self.webhooks_queue_url("changing the visibility of a job of a webhook endpoint")?;
        self.change_visibility_at(url, receipt, seconds).await
    }
}
