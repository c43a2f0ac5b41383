//! The audit of a run compares what came in, what the records say became of it, and what the provider got.
//!
//! It passes if every message that was acknowledged is stored once, and was answered once or given up with a dead letter
//! or a stated reason; if the provider got every reply once, or more often only where the record says that it was repeated
//! after an unknown outcome; and if each contact got its replies in their order.

#[cfg(test)]
mod tests;

use crate::servers::Delivered;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A message that a contact wrote and whose webhook was acknowledged. In the order in which the contact wrote them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The instance written to.
    pub instance: String,
    /// The contact's number in digits.
    pub number: String,
    /// The provider's id.
    pub id: String,
    /// What was written: a line that no other message contains. The model's answer repeats it.
    pub words: String,
}

/// A message as the installation keeps it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    /// Its own id.
    pub id: String,
    /// The contact's number in digits.
    pub number: String,
    /// Its place in the conversation.
    pub ordinal: u64,
    /// Whether the contact wrote it.
    pub inbound: bool,
    /// What it says.
    pub text: String,
    /// The provider's id.
    pub provider_id: Option<String>,
    /// `pending`, `sent`, `failed` and so on.
    pub status: String,
    /// Why no answer is owed to it, or why it was given up.
    pub reason: Option<String>,
    /// Whether the record says that the contact may have it twice.
    pub maybe_sent: bool,
    /// How often it was sent again after an unknown outcome, by its history.
    pub repeats: usize,
}

impl Record {
    fn left(&self) -> bool {
        matches!(self.status.as_str(), "sent" | "delivered" | "read")
    }

    /// How often the provider may have accepted it.
    fn most(&self) -> usize {
        match self.status.as_str() {
            "failed" | "cancelled" if !self.maybe_sent => 0,
            _ => 1 + self.repeats,
        }
    }

    fn says(&self, words: &str) -> bool {
        self.text
            .lines()
            .any(|line| line.trim_start_matches("echo: ") == words)
    }
}

/// What is compared.
#[derive(Debug, Clone, Default)]
pub struct Audit {
    /// What was acknowledged.
    pub asked: Vec<Asked>,
    /// All messages of all conversations.
    pub records: Vec<Record>,
    /// The messages that dead letters name.
    pub dead_letters: BTreeSet<String>,
    /// What the provider accepted, in order.
    pub delivered: Vec<Delivered>,
    /// What the agent says when the model fails.
    pub error_message: String,
}

/// What the comparison found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Balance {
    /// Messages acknowledged.
    pub received: usize,
    /// Those of them that a reply answers which left.
    pub answered: usize,
    /// Those whose reply was given up, with a dead letter.
    pub dead_lettered: usize,
    /// Those with a stated reason why there is no answer, or that the agent's error message answers.
    pub excused: usize,
    /// Replies that left.
    pub replies: usize,
    /// What the provider accepted.
    pub deliveries: usize,
    /// What it accepted beyond once per reply.
    pub duplicates: usize,
    /// Replies whose record says that they were repeated after an unknown outcome.
    pub repeated: usize,
    /// Everything that must not be.
    pub violations: Vec<String>,
}

impl Balance {
    /// Whether nothing is wrong.
    pub fn holds(&self) -> bool {
        self.violations.is_empty()
    }
}

impl fmt::Display for Balance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "received {} = answered {} + dead-lettered {} + stated reason {}; replies {}, at the provider {} \
             ({} twice, {} marked as repeated); violations {}",
            self.received,
            self.answered,
            self.dead_lettered,
            self.excused,
            self.replies,
            self.deliveries,
            self.duplicates,
            self.repeated,
            self.violations.len()
        )?;
        for violation in self.violations.iter().take(20) {
            write!(f, "\n  {violation}")?;
        }
        Ok(())
    }
}

impl Audit {
    /// Compares.
    pub fn balance(&self) -> Balance {
        let mut balance = Balance {
            received: self.asked.len(),
            deliveries: self.delivered.len(),
            ..Balance::default()
        };
        let mut of_contact: BTreeMap<&str, Vec<&Record>> = BTreeMap::new();
        for record in &self.records {
            of_contact.entry(&record.number).or_default().push(record);
        }
        for records in of_contact.values_mut() {
            records.sort_by_key(|record| record.ordinal);
        }
        self.stored(&of_contact, &mut balance);
        self.answered(&of_contact, &mut balance);
        self.sent(&mut balance);
        self.in_order(&of_contact, &mut balance);
        let accounted = balance.answered + balance.dead_lettered + balance.excused;
        if accounted != balance.received {
            let text = format!("{} received, {accounted} accounted for", balance.received);
            balance.violations.push(text);
        }
        balance
    }

    /// Each acknowledged message is stored once, and what each contact wrote lies in the order in which it was posted.
    fn stored(&self, of_contact: &BTreeMap<&str, Vec<&Record>>, balance: &mut Balance) {
        let mut last: BTreeMap<&str, u64> = BTreeMap::new();
        for asked in &self.asked {
            let records = of_contact
                .get(asked.number.as_str())
                .map_or(&[][..], Vec::as_slice);
            let same: Vec<u64> = records
                .iter()
                .filter(|record| record.inbound && record.provider_id.as_deref() == Some(&asked.id))
                .map(|record| record.ordinal)
                .collect();
            let [ordinal] = same[..] else {
                let text = format!(
                    "{} was acknowledged and is stored {} times",
                    asked.words,
                    same.len()
                );
                balance.violations.push(text);
                continue;
            };
            if last
                .insert(&asked.number, ordinal)
                .is_some_and(|before| before > ordinal)
            {
                let text = format!("{} is stored before what was written before it", asked.words);
                balance.violations.push(text);
            }
        }
    }

    /// Each acknowledged message was answered once, or it is said why not.
    fn answered(&self, of_contact: &BTreeMap<&str, Vec<&Record>>, balance: &mut Balance) {
        for asked in &self.asked {
            let records = of_contact
                .get(asked.number.as_str())
                .map_or(&[][..], Vec::as_slice);
            let replies = || {
                records
                    .iter()
                    .filter(|record| !record.inbound && record.says(&asked.words))
            };
            let answers = replies().filter(|reply| reply.left()).count();
            let given_up = replies().any(|reply| self.is_dead(reply));
            if answers > 0 {
                balance.answered += 1;
            } else if given_up {
                balance.dead_lettered += 1;
            } else if self.is_excused(asked, records) {
                balance.excused += 1;
            } else {
                balance
                    .violations
                    .push(format!("{} was not answered", asked.words));
            }
            if answers > 1 {
                let text = format!("{} was answered {answers} times", asked.words);
                balance.violations.push(text);
            }
        }
    }

    fn is_dead(&self, reply: &Record) -> bool {
        reply.status == "failed" && self.dead_letters.contains(&reply.id)
    }

    fn is_excused(&self, asked: &Asked, records: &[&Record]) -> bool {
        let is_it = |record: &&&Record| record.inbound && record.provider_id.as_deref() == Some(&asked.id);
        let Some(record) = records.iter().find(is_it) else {
            return false;
        };
        let reply = records
            .iter()
            .find(|reply| !reply.inbound && reply.ordinal > record.ordinal);
        record.reason.is_some()
            || reply.is_some_and(|reply| {
                reply.text == self.error_message && (reply.left() || self.is_dead(reply))
            })
    }

    /// The provider got each reply once; more often only if its record says that it was repeated, and not more often than
    /// that; one that was given up, only if its outcome was unknown.
    fn sent(&self, balance: &mut Balance) {
        let mut got: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for message in &self.delivered {
            *got.entry((&message.to, &message.text)).or_default() += 1;
        }
        // Two replies of one conversation can say the same: the error message.
        let mut replies: BTreeMap<(&str, &str), Vec<&Record>> = BTreeMap::new();
        for record in self.records.iter().filter(|record| !record.inbound) {
            self.one_reply(record, balance);
            replies
                .entry((&record.number, &record.text))
                .or_default()
                .push(record);
        }
        for (what, records) in replies {
            let times = got.remove(&what).unwrap_or(0);
            let least = records.iter().filter(|record| record.left()).count();
            let most: usize = records.iter().map(|record| record.most()).sum();
            balance.duplicates += times.saturating_sub(records.len());
            if !(least..=most).contains(&times) {
                let said = records
                    .iter()
                    .map(|r| format!("{} {} (repeated {})", r.id, r.status, r.repeats));
                let said: Vec<String> = said.collect();
                let text = format!("the provider accepted {times} times: {}", said.join(", "));
                balance.violations.push(text);
            }
        }
        for ((number, text), times) in got {
            let text = format!("{number} got {times} times what no record says: {text}");
            balance.violations.push(text);
        }
    }

    fn one_reply(&self, record: &Record, balance: &mut Balance) {
        balance.replies += usize::from(record.left());
        balance.repeated += usize::from(record.repeats > 0);
        let mut violate = |what: &str| balance.violations.push(format!("{} {what}", record.id));
        if !record.left() && !matches!(record.status.as_str(), "failed" | "cancelled") {
            violate("is still open");
        }
        if record.status == "failed" && !self.is_dead(record) {
            violate("was given up without a dead letter");
        }
        if record.repeats > 0 && !record.maybe_sent {
            violate("was repeated and is not marked");
        }
    }

    /// What a contact got came in the order of the records; of what came more than once, the first counts. A message that
    /// was given up while its outcome was unknown may have come at any time.
    fn in_order(&self, of_contact: &BTreeMap<&str, Vec<&Record>>, balance: &mut Balance) {
        let mut seen: BTreeSet<(&str, &str)> = BTreeSet::new();
        let mut last: BTreeMap<&str, u64> = BTreeMap::new();
        for message in &self.delivered {
            let (number, text) = (message.to.as_str(), message.text.as_str());
            let records = of_contact.get(number).map_or(&[][..], Vec::as_slice);
            let found = records
                .iter()
                .find(|record| !record.inbound && record.text == text);
            let Some(record) = found.filter(|record| record.left()) else {
                continue;
            };
            if seen.insert((number, text))
                && last
                    .insert(number, record.ordinal)
                    .is_some_and(|before| before > record.ordinal)
            {
                balance
                    .violations
                    .push(format!("{} came after a later one", record.id));
            }
        }
    }
}
