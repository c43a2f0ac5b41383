//! Addresses that links refer to by a label: `[label]: https://…` in a line of its own.

use super::link::{LinkTarget, parse_link_target};
use std::collections::{HashMap, HashSet};

/// Longest label, in characters, as Markdown has it.
pub(super) const LABEL_MAX: usize = 999;

/// The addresses of a text by their labels.
#[derive(Debug, Default)]
pub(super) struct References {
    targets: HashMap<String, LinkTarget>,
    shown: HashSet<String>,
}

impl References {
    /// Finds the definitions of a text. The first of a label counts.
    pub(super) fn from_definitions(lines: &[&str]) -> Self {
        let mut found = Self::default();
        for (label, target) in lines.iter().filter_map(|line| parse_definition(line)) {
            found.targets.entry(label).or_insert(target);
        }
        found
    }

    /// Finds the address of a label, which a link is about to show.
    pub(super) fn take_link_target(&mut self, label: &str) -> Option<LinkTarget> {
        if self.targets.is_empty() {
            return None;
        }
        let label = fold_label_words(label);
        let target = self.targets.get(&label)?.clone();
        self.shown.insert(label);
        Some(target)
    }

    /// Returns `true` if a link shows the address that this line defines.
    pub(super) fn is_shown_by_link(&self, line: &str) -> bool {
        parse_definition(line).is_some_and(|(label, _)| self.shown.contains(&label))
    }
}

/// Parses a line that defines an address. Returns the label as it is compared, and the address.
pub(super) fn parse_definition(line: &str) -> Option<(String, LinkTarget)> {
    let (label, target) = line.trim().strip_prefix('[')?.split_once("]:")?;
    let is_label = !label.is_empty() && label.len() <= LABEL_MAX && !label.starts_with('^');
    if !is_label || label.contains(['[', ']']) {
        return None;
    }
    Some((fold_label_words(label), parse_link_target(target)?))
}

fn fold_label_words(label: &str) -> String {
    let words: Vec<&str> = label.split_whitespace().collect();
    words.join(" ").to_lowercase()
}
