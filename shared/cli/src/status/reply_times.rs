//! Reads from the metrics how long replies take. There are none on AWS, nor for a token of one tenant.

use crate::installation::InstallationClient;
use anyhow::Result;
use reqwest::Method;
use std::collections::BTreeMap;

/// The histogram of the times from a webhook to the reply.
const LATENCY: &str = "whatsapp_message_latency_seconds_bucket{";

/// The gauge whose label is the version.
const BUILD: &str = "recado_build_info{";

/// The times of replies since the process started.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ReplyTimes {
    /// The version of the process.
    pub(super) version: Option<String>,
    /// Number of replies.
    pub(super) count: Option<u64>,
    /// Seconds within which half of the replies were sent.
    pub(super) p50: Option<f64>,
    /// Seconds within which 95 % of the replies were sent.
    pub(super) p95: Option<f64>,
}

/// Reads the metrics, if there are any for this token.
pub(super) async fn read_reply_times(there: &InstallationClient) -> Result<ReplyTimes> {
    let request = there.build_request(Method::GET, &["metrics"])?;
    let page = there.request_text(request).await;
    Ok(page.map_or_else(|_| ReplyTimes::default(), |page| parse_metrics(&page.text)))
}

/// Finds the version and the times of replies in a page of metrics, all instances together.
fn parse_metrics(page: &str) -> ReplyTimes {
    // Each bucket counts what is at most its bound: in millionths of a second, so that the bounds can be ordered.
    let mut buckets: BTreeMap<u64, f64> = BTreeMap::new();
    for line in page.lines().filter(|line| line.starts_with(LATENCY)) {
        if get_label(line, "stage") != Some("reply") {
            continue;
        }
        let count = line
            .rsplit(' ')
            .next()
            .and_then(|count| count.parse::<f64>().ok());
        if let (Some(bound), Some(count)) = (get_label(line, "le").and_then(parse_bound), count) {
            *buckets.entry(bound).or_default() += count;
        }
    }
    let total = buckets.values().next_back().copied().unwrap_or_default();
    let build = page.lines().find(|line| line.starts_with(BUILD));
    ReplyTimes {
        version: build
            .and_then(|line| get_label(line, "version"))
            .map(str::to_owned),
        count: Some(round_count(total)),
        p50: find_quantile(&buckets, total * 0.5),
        p95: find_quantile(&buckets, total * 0.95),
    }
}

/// Returns the bound of the first bucket that holds so many. `None`: there are no replies, or it has no bound.
fn find_quantile(buckets: &BTreeMap<u64, f64>, wanted: f64) -> Option<f64> {
    if wanted <= 0.0 {
        return None;
    }
    let found = buckets.iter().find(|(_, count)| **count >= wanted)?;
    (*found.0 != u64::MAX).then(|| std::time::Duration::from_micros(*found.0).as_secs_f64())
}

/// Parses the bound of a bucket into millionths of a second.
fn parse_bound(text: &str) -> Option<u64> {
    if text == "+Inf" {
        return Some(u64::MAX);
    }
    let seconds = std::time::Duration::try_from_secs_f64(text.parse().ok()?).ok()?;
    u64::try_from(seconds.as_micros()).ok()
}

/// Returns the value of a label of a line.
fn get_label<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(&format!("{name}=\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count is whole, and not below 0"
)]
fn round_count(count: f64) -> u64 {
    count.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_all_instances_are_read_together() {
        let page = r#"
# TYPE whatsapp_message_latency_seconds histogram
whatsapp_message_latency_seconds_bucket{instance="a",stage="reply",le="1"} 1
whatsapp_message_latency_seconds_bucket{instance="a",stage="reply",le="2.5"} 2
whatsapp_message_latency_seconds_bucket{instance="a",stage="reply",le="+Inf"} 2
whatsapp_message_latency_seconds_bucket{instance="b",stage="reply",le="1"} 0
whatsapp_message_latency_seconds_bucket{instance="b",stage="reply",le="2.5"} 1
whatsapp_message_latency_seconds_bucket{instance="b",stage="reply",le="+Inf"} 2
whatsapp_message_latency_seconds_bucket{instance="b",stage="turn",le="1"} 90
recado_build_info{version="0.1.0"} 1
"#;
        let times = parse_metrics(page);
        assert_eq!(times.version.as_deref(), Some("0.1.0"));
        assert_eq!(times.count, Some(4));
        assert_eq!(times.p50, Some(2.5));
        assert_eq!(times.p95, None, "slower than the last bound");
    }

    #[test]
    fn without_replies_there_are_no_times() {
        let times = parse_metrics("recado_build_info{version=\"0.1.0\"} 1\n");
        assert_eq!((times.count, times.p50, times.p95), (Some(0), None, None));
    }
}
