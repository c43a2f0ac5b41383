//! What the metrics of a run counted, against what its records hold.

use super::console::Console;
use crate::audit::Record;
use std::ops::AddAssign;

/// Numbers of a run, by its metrics or by its records.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    /// Contacts' messages that were stored.
    pub received: u64,
    /// Messages that were sent.
    pub sent: u64,
    /// Messages that were given up.
    pub failed: u64,
    /// Dead letters.
    pub dead_letters: u64,
}

impl AddAssign for Counted {
    fn add_assign(&mut self, more: Self) {
        self.received += more.received;
        self.sent += more.sent;
        self.failed += more.failed;
        self.dead_letters += more.dead_letters;
    }
}

/// The sum of the samples of this name that bear this label.
fn sum_samples(page: &str, name: &str, label: &str) -> u64 {
    let samples = page.lines().filter(|line| {
        let named = line.strip_prefix(name).is_some_and(|rest| rest.starts_with('{'));
        named && line.contains(label)
    });
    samples
        .filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
        .sum()
}

impl Counted {
    /// Adds up a page of metrics.
    pub fn from_page(page: &str) -> Self {
        let ended = "whatsapp_messages_processed_total";
        Self {
            received: sum_samples(
                page,
                "whatsapp_message_latency_seconds_count",
                "stage=\"inbound\"",
            ),
            sent: sum_samples(page, ended, "status=\"success\""),
            failed: sum_samples(page, ended, "status=\"failed\""),
            dead_letters: sum_samples(page, "whatsapp_dead_letters_created_total", ""),
        }
    }

    /// Reads what a process has counted so far; nothing if it does not answer.
    pub async fn read(console: &Console) -> Self {
        console
            .look_text("/metrics")
            .await
            .map_or_else(Self::default, |page| Self::from_page(&page))
    }

    /// Counts records, and the dead letters of messages.
    pub fn from_records(records: &[Record], dead_letters: usize) -> Self {
        let count = |which: &dyn Fn(&&Record) -> bool| records.iter().filter(which).count() as u64;
        Self {
            received: count(&|record| record.inbound),
            sent: count(&|record| {
                !record.inbound && ["sent", "delivered", "read"].contains(&&*record.status)
            }),
            failed: count(&|record| !record.inbound && record.status == "failed"),
            dead_letters: dead_letters as u64,
        }
    }

    /// Returns `true` if nothing was counted that the records do not hold.
    pub fn is_within(&self, records: &Self) -> bool {
        self.received <= records.received
            && self.sent <= records.sent
            && self.failed <= records.failed
            && self.dead_letters <= records.dead_letters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_added_up_over_its_instances() {
        let page = "# HELP whatsapp_messages_processed_total x\n\
            whatsapp_messages_processed_total{instance=\"a\",status=\"success\"} 7\n\
            whatsapp_messages_processed_total{instance=\"b\",status=\"success\"} 5\n\
            whatsapp_messages_processed_total{instance=\"b\",status=\"failed\"} 2\n\
            whatsapp_message_latency_seconds_count{instance=\"a\",stage=\"inbound\"} 13\n\
            whatsapp_message_latency_seconds_count{instance=\"a\",stage=\"turn\"} 99\n\
            whatsapp_dead_letters_created_total{instance=\"b\",queue=\"outbound\",reason=\"poison\"} 2\n\
            whatsapp_dead_letters{instance=\"b\"} 40\n";
        let counted = Counted::from_page(page);
        let expected = Counted {
            received: 13,
            sent: 12,
            failed: 2,
            dead_letters: 2,
        };
        assert_eq!(counted, expected);
        assert!(counted.is_within(&Counted { sent: 13, ..expected }));
        assert!(!counted.is_within(&Counted { sent: 11, ..expected }));
    }
}
