//! The figures of a run.

use crate::Answer;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// Makes the figures of `answers`, which came within `seconds`.
pub(crate) fn summarize(answers: &[Answer], seconds: f64) -> Value {
    let mut latencies: Vec<Duration> = answers.iter().map(|answer| answer.latency).collect();
    latencies.sort_unstable();
    let mut statuses: BTreeMap<String, u64> = BTreeMap::new();
    for answer in answers {
        *statuses.entry(answer.status.to_string()).or_default() += 1;
    }
    let milliseconds =
        |per_thousand| percentile(&latencies, per_thousand).map(|found| found.as_secs_f64() * 1000.0);
    json!({
        "count": answers.len(),
        "statuses": statuses,
        "per_second": per_second(answers.len(), seconds),
        "p50_ms": milliseconds(500),
        "p99_ms": milliseconds(990),
        "p999_ms": milliseconds(999),
        "max_ms": milliseconds(1000),
    })
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn per_second(count: usize, seconds: f64) -> f64 {
    count as f64 / seconds
}

/// Returns the nearest rank: a latency that really occurred.
fn percentile(sorted: &[Duration], per_thousand: usize) -> Option<Duration> {
    let rank = (sorted.len() * per_thousand).div_ceil(1000);
    sorted.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_latencies_that_occurred() {
        let sorted: Vec<Duration> = (1..=1000).map(Duration::from_millis).collect();
        let at = |per_thousand| percentile(&sorted, per_thousand).unwrap().as_millis();
        assert_eq!((at(500), at(990), at(999), at(1000)), (500, 990, 999, 1000));
        assert_eq!(percentile(&sorted[..1], 500), Some(Duration::from_millis(1)));
        assert_eq!(percentile(&[], 500), None);
    }
}
