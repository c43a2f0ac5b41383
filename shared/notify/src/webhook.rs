//! Requests to a URL, signed as Standard Webhooks defines it: <https://www.standardwebhooks.com>.

use crate::Notifier;
use jiff::Timestamp;
use recado_domain::alert::{Alert, AlertKind, AlertSeverity, AlertState, Notification};
use recado_domain::config::WebhookDestination;
use recado_domain::ids::{ConversationId, InstanceId, TenantId};
use recado_http_client::{RequestFailure, sign_webhook};
use recado_pipeline::ports::{ChannelError, Secrets};
use serde::Serialize;

/// The body of a request.
#[derive(Debug, Serialize)]
struct WebhookBody<'a> {
    r#type: &'static str,
    timestamp: Timestamp,
    data: WebhookData<'a>,
}

#[derive(Debug, Serialize)]
struct WebhookData<'a> {
    alerts: Vec<WebhookAlert<'a>>,
}

#[derive(Debug, Serialize)]
struct WebhookAlert<'a> {
    id: &'a str,
    kind: AlertKind,
    severity: AlertSeverity,
    state: AlertState,
    summary: &'a str,
    tenant: Option<&'a TenantId>,
    instance_id: Option<&'a InstanceId>,
    conversation_id: Option<&'a ConversationId>,
    since: Timestamp,
    ended_at: Option<Timestamp>,
    runbook: &'static str,
}

impl<'a> From<&'a Alert> for WebhookAlert<'a> {
    fn from(alert: &'a Alert) -> Self {
        Self {
            id: &alert.id,
            kind: alert.kind,
            severity: alert.severity,
            state: alert.state(),
            summary: &alert.summary,
            tenant: alert.subject.tenant.as_ref(),
            instance_id: alert.subject.instance.as_ref(),
            conversation_id: alert.subject.conversation.as_ref(),
            since: alert.since,
            ended_at: alert.ended_at,
            runbook: alert.kind.runbook(),
        }
    }
}

/// Returns the body. It is the same at every attempt.
fn build_body(notification: &Notification) -> Result<String, ChannelError> {
    let body = WebhookBody {
        r#type: if notification.is_test {
            "alerts.test"
        } else {
            "alerts.changed"
        },
        timestamp: notification.created_at,
        data: WebhookData {
            alerts: notification.alerts.iter().map(WebhookAlert::from).collect(),
        },
    };
    serde_json::to_string(&body).map_err(|_| ChannelError::Failed("the body cannot be written".to_owned()))
}

impl<S: Secrets> Notifier<'_, S> {
    /// Posts the notification. Any answer of the class 2xx accepts it.
    pub(crate) async fn post_webhook(
        &self,
        webhook: &WebhookDestination,
        notification: &Notification,
    ) -> Result<(), ChannelError> {
        let secret = self.resolve_secret(&webhook.secret).await?;
        let (body, seconds) = (build_body(notification)?, self.deps.system().now().as_second());
        let signed = sign_webhook(&secret, &notification.id, seconds, &body);
        let signed = signed.map_err(|error| ChannelError::NotConfigured(error.to_string()))?;
        let mut request = self
            .http
            .post(&webhook.url)
            .timeout(self.timeout)
            .header("content-type", "application/json")
            .body(body);
        for (name, value) in signed {
            request = request.header(name, value);
        }
        match request.send().await {
            Ok(answer) if answer.status().is_success() => Ok(()),
            Ok(answer) => Err(ChannelError::Failed(format!(
                "it answered {}",
                answer.status().as_u16()
            ))),
            // The URL is left out: it may be a secret.
            Err(error) => Err(ChannelError::Failed(
                RequestFailure::from_error(&error).to_string(),
            )),
        }
    }
}
