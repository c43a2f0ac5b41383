use crate::instant::parse_instant_option;
use anyhow::{Context, Result, bail};
use clap::Args;
use jiff::Timestamp;
use recado_domain::reason::Reason;

/// The filter of a command about dead letters.
#[derive(Debug, Default, Args)]
pub struct DeadLetterFilterArguments {
    /// Only of this queue: inbound, turns or outbound.
    #[arg(long)]
    queue: Option<String>,
    /// Only with this reason.
    #[arg(long, value_parser = parse_reason)]
    reason: Option<Reason>,
    /// Only of this instance.
    #[arg(long)]
    instance: Option<String>,
    /// Only if given up at this time or later: an instant (RFC 3339), or a time ago, such as 90m, 6h or 2d.
    #[arg(long, value_parser = parse_instant_option)]
    since: Option<Timestamp>,
    /// Only if given up before this time.
    #[arg(long, value_parser = parse_instant_option)]
    until: Option<Timestamp>,
}

impl DeadLetterFilterArguments {
    /// Returns the filters that were given, by the names of the API.
    pub(super) fn query_fields(&self) -> Vec<(&'static str, String)> {
        let fields = [
            ("queue", self.queue.clone()),
            ("reason", self.reason.map(|reason| reason.to_string())),
            ("instance", self.instance.clone()),
            ("since", self.since.map(|at| at.to_string())),
            ("until", self.until.map(|at| at.to_string())),
        ];
        let given = fields.into_iter();
        given.filter_map(|(name, value)| Some((name, value?))).collect()
    }

    /// Returns the instance whose dead letters are wanted, by its list of the API.
    pub(super) fn named_entries(&self) -> [(&'static str, Option<&str>); 1] {
        [("instances", self.instance.as_deref())]
    }

    /// Leaves out what is given up at `at` or later, unless the filter ends earlier already.
    pub(super) fn end_by(&mut self, at: Timestamp) {
        self.until = Some(self.until.map_or(at, |until| until.min(at)));
    }

    /// Fails unless dead letters were selected by ids, by a filter or by `--all`: an empty selection must not mean all.
    pub(super) fn require_selection(&self, ids: &[String], all: bool) -> Result<()> {
        if ids.is_empty() && !all && self.query_fields().is_empty() {
            bail!("say which: ids, --queue, --reason, --instance, --since, --until or --all");
        }
        Ok(())
    }
}

/// Reads a reason that a dead letter can have.
fn parse_reason(text: &str) -> Result<Reason> {
    let known = Reason::OF_DEAD_LETTERS;
    let found = known.into_iter().find(|reason| reason.as_str() == text);
    found.with_context(|| {
        let names = known.map(Reason::as_str);
        format!("no dead letter has it; there is {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_be_changed_must_be_named() {
        assert!(
            DeadLetterFilterArguments::default()
                .require_selection(&[], false)
                .is_err()
        );
        assert!(
            DeadLetterFilterArguments::default()
                .require_selection(&[], true)
                .is_ok()
        );
        assert!(
            DeadLetterFilterArguments::default()
                .require_selection(&["x".to_owned()], false)
                .is_ok()
        );
        let queue = Some("inbound".to_owned());
        let which = DeadLetterFilterArguments {
            queue,
            ..DeadLetterFilterArguments::default()
        };
        assert!(which.require_selection(&[], false).is_ok());
    }

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        which: DeadLetterFilterArguments,
    }

    #[test]
    fn every_filter_that_is_given_is_asked_for() {
        let given = [
            ("queue", "inbound"),
            ("reason", "poison"),
            ("instance", "suporte-01"),
            ("since", "2026-03-01T00:00:00Z"),
            ("until", "2026-03-02T00:00:00Z"),
        ];
        let all = given.map(|(name, value)| format!("--{name}={value}"));
        let which = |options: &[String]| {
            let line = std::iter::once("dlq").chain(options.iter().map(String::as_str));
            <Line as clap::Parser>::try_parse_from(line).unwrap().which
        };
        let given = given.map(|(name, value)| (name, value.to_owned()));
        assert_eq!(which(&all).query_fields(), given);
        for (option, field) in all.iter().zip(given) {
            let alone = which(std::slice::from_ref(option));
            assert_eq!(alone.query_fields(), [field]);
            assert!(alone.require_selection(&[], false).is_ok(), "{option}");
        }
    }

    #[test]
    fn a_reason_that_no_dead_letter_has_is_refused_with_those_that_there_are() {
        for reason in Reason::OF_DEAD_LETTERS {
            assert_eq!(parse_reason(reason.as_str()).unwrap(), reason);
        }
        for other in ["foo", "taken_over", "model_failed"] {
            let told = parse_reason(other).unwrap_err().to_string();
            assert!(told.contains("window_closed, poison"), "{told}");
            assert!(!told.contains("taken_over"), "{told}");
        }
    }

    #[test]
    fn the_runbook_says_what_to_do_about_each_reason() {
        let runbook = include_str!("../../../../docs/runbooks/dead-letters.md");
        for reason in Reason::OF_DEAD_LETTERS {
            assert!(runbook.contains(&format!("   | `{reason}` |")), "{reason}");
        }
    }

    #[test]
    fn an_end_is_only_ever_moved_to_an_earlier_time() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let (early, late) = (at("2026-03-01T00:00:00Z"), at("2026-03-02T00:00:00Z"));
        for (given, end, until) in [
            (None, late, late),
            (Some(early), late, early),
            (Some(late), early, early),
        ] {
            let mut which = DeadLetterFilterArguments {
                until: given,
                ..DeadLetterFilterArguments::default()
            };
            which.end_by(end);
            assert_eq!(which.until, Some(until));
        }
    }
}
