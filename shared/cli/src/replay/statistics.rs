use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// The figures of a replay.
#[derive(Debug, Default)]
pub(super) struct ReplayStatistics {
    answers: BTreeMap<String, usize>,
    latencies: Vec<Duration>,
    /// The time from the start to the last answer.
    pub(super) elapsed: Duration,
}

impl ReplayStatistics {
    /// Adds an answer: its status code, or a word for a failure.
    pub(super) fn add_answer(&mut self, answer: &str, latency: Duration) {
        *self.answers.entry(answer.to_owned()).or_insert(0) += 1;
        let place = self.latencies.partition_point(|known| *known <= latency);
        self.latencies.insert(place, latency);
    }

    /// Returns the number of webhooks that were posted.
    pub(super) fn posted_count(&self) -> usize {
        self.latencies.len()
    }

    /// Returns the number of webhooks that were not answered 200.
    pub(super) fn refused_count(&self) -> usize {
        self.posted_count() - self.answers.get("200").copied().unwrap_or(0)
    }

    /// Returns a percentile of the latencies, in milliseconds: `of_hundred` per cent of them are not longer.
    fn latency_percentile(&self, of_hundred: usize) -> f64 {
        let place = (self.latencies.len() * of_hundred).div_ceil(100).max(1) - 1;
        let latency = self.latencies.get(place).copied().unwrap_or_default();
        (latency.as_secs_f64() * 10_000.0).round() / 10.0
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "posted": self.posted_count(), "taken": self.posted_count() - self.refused_count(), "answers": self.answers,
            "seconds": self.elapsed.as_secs_f64(),
            "latency_ms": {"p50": self.latency_percentile(50), "p99": self.latency_percentile(99), "max": self.latency_percentile(100)},
        })
    }

    /// Formats the figures for people.
    pub(super) fn format_lines(&self) -> String {
        let answers = self.answers.iter();
        let answers: Vec<String> = answers
            .map(|(answer, count)| format!("{count} × {answer}"))
            .collect();
        let [half, most, all] = [50, 99, 100].map(|of_hundred| self.latency_percentile(of_hundred));
        format!(
            "{} posted in {:.1} s: {}\nlatency: p50 {half} ms, p99 {most} ms, at most {all} ms\n",
            self.posted_count(),
            self.elapsed.as_secs_f64(),
            answers.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_counted_and_latencies_ordered() {
        let mut figures = ReplayStatistics::default();
        for millisecond in (1..=100).rev() {
            let answer = if millisecond == 7 { "503" } else { "200" };
            figures.add_answer(answer, Duration::from_millis(millisecond));
        }
        assert_eq!((figures.posted_count(), figures.refused_count()), (100, 1));
        assert_eq!(
            figures.to_json()["latency_ms"],
            json!({"p50": 50.0, "p99": 99.0, "max": 100.0})
        );
        assert!(
            figures
                .format_lines()
                .starts_with("100 posted in 0.0 s: 99 × 200, 1 × 503")
        );
        assert_eq!(ReplayStatistics::default().to_json()["latency_ms"]["max"], 0.0);
    }
}
