//! Reads the parts of the status from the API.

use super::reply_times::{ReplyTimes, read_reply_times};
use crate::installation::InstallationClient;
use crate::json_fields::{list_items, number_or_zero, text_at, text_or_dash};
use anyhow::{Result, bail};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use reqwest::StatusCode;
use serde_json::{Value, json};

/// The most conversations that are counted.
const WAITING_MAX: usize = 200;

/// Reads the status of an installation, again and again.
pub(super) struct StatusReader {
    there: InstallationClient,
    /// The version of the installation, once it is known.
    version: Option<String>,
}

impl StatusReader {
    pub(super) fn new(there: InstallationClient) -> Self {
        Self { there, version: None }
    }

    /// Reads all parts at the same time.
    pub(super) async fn read_status(&mut self) -> Result<Value> {
        let day = [
            ("hours", "24".to_owned()),
            ("step_minutes", (24 * 60).to_string()),
        ];
        let today = Timestamp::now().to_zoned(TimeZone::UTC).date().to_string();
        let used = [("by", "day".to_owned()), ("since", today)];
        let (service, health, waiting, alerts, trends, usage, times) = tokio::try_join!(
            self.read_health(&["health"], "services"),
            self.read_health(&["health", "whatsapp", "detailed"], "instances"),
            self.read_waiting(),
            self.there.get_json(&["v1", "alerts"], &[]),
            self.there.get_json(&["v1", "trends"], &day),
            self.there.get_json(&["v1", "usage"], &used),
            read_reply_times(&self.there),
        )?;
        let version = self.find_version(&times).await?;
        Ok(json!({
            "url": self.there.url,
            "version": version,
            "status": find_worst_status(&service, &health, &alerts),
            "service": service,
            "health": health,
            "waiting_for_a_person": waiting,
            "alerts": alerts.get("items"),
            "last_24_hours": trends,
            "replies": {
                "today": count_all_replies(&usage),
                "since_the_start": times.count,
                "p50_seconds": times.p50,
                "p95_seconds": times.p95,
            },
        }))
    }

    /// Reads a report of health, which has the field `part`. An unhealthy installation answers 503 with the same body.
    async fn read_health(&self, path: &[&str], part: &str) -> Result<Value> {
        let (status, body) = self.there.get_answer(path, &[]).await?;
        let is_report = body.get(part).is_some();
        if is_report && (status.is_success() || status == StatusCode::SERVICE_UNAVAILABLE) {
            return Ok(body);
        }
        if status.is_success() {
            let url = &self.there.url;
            bail!("{url} answers, but tells nothing of its health: is it a Recado?");
        }
        bail!("{status}: {}", text_or_dash(&body, "detail"))
    }

    /// Counts the conversations that wait for a person, and finds since when the first of them does.
    async fn read_waiting(&self) -> Result<Value> {
        let query = [("waiting", "true".to_owned()), ("limit", WAITING_MAX.to_string())];
        let page = self.there.get_json(&["v1", "conversations"], &query).await?;
        let items = list_items(&page, "items");
        let since = items.first().and_then(|item| item.get("waiting_since"));
        Ok(json!({
            "conversations": items.len(),
            "at_least": page.get("next_cursor").is_some_and(Value::is_string),
            "since": since,
        }))
    }

    /// Returns the version of the installation: its metrics tell it, or where there are none, its description.
    async fn find_version(&mut self, times: &ReplyTimes) -> Result<Option<String>> {
        if times.version.is_some() {
            self.version.clone_from(&times.version);
        } else if self.version.is_none() {
            let description = self.there.get_json(&["openapi.json"], &[]).await?;
            self.version = text_at(&description, "/info/version").map(str::to_owned);
        }
        Ok(self.version.clone())
    }
}

/// Returns the worst of what the process, the instances with their queues, and the alerts that hold say.
fn find_worst_status(service: &Value, health: &Value, alerts: &Value) -> &'static str {
    let alerts = list_items(alerts, "items").iter();
    let of_alerts = alerts.map(|alert| text_or_dash(alert, "severity"));
    let reported = [text_or_dash(service, "status"), text_or_dash(health, "status")];
    let all = reported.into_iter().chain(of_alerts);
    let rank = |word: &str| match word {
        "healthy" => 0,
        "unhealthy" | "critical" => 2,
        _ => 1,
    };
    match all.map(rank).max() {
        Some(0) => "healthy",
        Some(2) => "unhealthy",
        _ => "degraded",
    }
}

/// Returns the number of replies of the days in an answer about use.
fn count_all_replies(usage: &Value) -> u64 {
    let items = list_items(usage, "items").iter();
    items.map(|item| number_or_zero(item, "replies")).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_headline_is_the_worst_of_process_queues_and_alerts() {
        let status = |word: &str| json!({ "status": word });
        let alerts = |severities: &[&str]| {
            let items = severities.iter().map(|severity| json!({ "severity": severity }));
            json!({ "items": items.collect::<Vec<_>>() })
        };
        for (service, health, severities, worst) in [
            ("healthy", "healthy", &[][..], "healthy"),
            ("unhealthy", "healthy", &[], "unhealthy"),
            ("healthy", "degraded", &[], "degraded"),
            ("healthy", "healthy", &["warning"], "degraded"),
            ("healthy", "degraded", &["warning", "critical"], "unhealthy"),
        ] {
            let found = find_worst_status(&status(service), &status(health), &alerts(severities));
            assert_eq!(found, worst, "{service} {health} {severities:?}");
        }
        assert_eq!(
            find_worst_status(&json!({}), &status("healthy"), &alerts(&[])),
            "degraded",
            "what says nothing is not well"
        );
    }
}
