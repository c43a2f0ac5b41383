//! Reads the parts of the status from the API.

use super::reply_times::{ReplyTimes, read_reply_times};
use crate::installation::InstallationClient;
use crate::json_fields::{list_items, number_or_zero, text_or_dash};
use anyhow::{Result, bail};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use reqwest::{Method, StatusCode};
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
        let (health, waiting, alerts, trends, usage, times) = tokio::try_join!(
            self.read_health(),
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

    /// Reads the health in detail. The answer of an unhealthy installation is a 503 with the same body.
    async fn read_health(&self) -> Result<Value> {
        let path = ["health", "whatsapp", "detailed"];
        let request = self.there.build_request(Method::GET, &path)?;
        let (status, body) = self.there.send_request(request).await?;
        if status.is_success()
            || (status == StatusCode::SERVICE_UNAVAILABLE && body.get("instances").is_some())
        {
            return Ok(body);
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
            let version = description.pointer("/info/version").and_then(Value::as_str);
            self.version = version.map(str::to_owned);
        }
        Ok(self.version.clone())
    }
}

/// Returns the number of replies of the days in an answer about use.
fn count_all_replies(usage: &Value) -> u64 {
    let items = list_items(usage, "items").iter();
    items.map(|item| number_or_zero(item, "replies")).sum()
}
