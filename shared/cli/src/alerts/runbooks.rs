//! The runbooks of alerts, which the program carries with it: a server has no `docs` folder.

use recado_domain::alert::AlertKind;

/// Returns the text of the runbook of a kind of alert.
pub(super) fn read_runbook(kind: AlertKind) -> &'static str {
    match kind {
        AlertKind::NoHeartbeat => include_str!("../../../../docs/runbooks/no-heartbeat.md"),
        AlertKind::FullDisk => include_str!("../../../../docs/runbooks/full-disk.md"),
        AlertKind::QueueDepth => include_str!("../../../../docs/runbooks/waiting.md"),
        AlertKind::SlowProcessing => include_str!("../../../../docs/runbooks/slow-processing.md"),
        AlertKind::DeadLetters => include_str!("../../../../docs/runbooks/dead-letters.md"),
        AlertKind::Disconnected => include_str!("../../../../docs/runbooks/disconnected-instance.md"),
        AlertKind::MissingKey => include_str!("../../../../docs/runbooks/needs-credentials.md"),
        AlertKind::SilentInstance => include_str!("../../../../docs/runbooks/silent-instance.md"),
        AlertKind::CustomerWaits => include_str!("../../../../docs/runbooks/customer-waits.md"),
        AlertKind::PersonNeeded => include_str!("../../../../docs/runbooks/person-needed.md"),
        AlertKind::Budget => include_str!("../../../../docs/runbooks/budget.md"),
        AlertKind::NotAcknowledged => include_str!("../../../../docs/runbooks/not-acknowledged.md"),
        AlertKind::ModelFails => include_str!("../../../../docs/runbooks/model-fails.md"),
        AlertKind::WebhookFails => include_str!("../../../../docs/runbooks/webhook-fails.md"),
        AlertKind::NumberQuality => include_str!("../../../../docs/runbooks/number-quality.md"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn each_kind_of_alert_has_its_runbook_which_says_what_to_look_at_and_how_to_check() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/runbooks");
        for &kind in AlertKind::ALL {
            let page = folder.join(format!("{}.md", kind.runbook()));
            let text = std::fs::read_to_string(&page).unwrap();
            assert_eq!(text, read_runbook(kind), "{}", page.display());
            assert!(text.starts_with("# "), "{kind:?}");
            assert!(
                text.contains(&format!("`{}`", kind.as_str())),
                "{kind:?} names its alert"
            );
            let commands = ["recado ", "curl ", "GET /", "df "];
            assert!(
                commands.iter().any(|command| text.contains(command)),
                "{kind:?} says what to look at"
            );
            assert!(text.contains("Check: "), "{kind:?} says how to check");
        }
    }

    #[test]
    fn the_page_about_watching_names_every_runbook() {
        let page = include_str!("../../../../docs/watching.md");
        for &kind in AlertKind::ALL {
            assert!(page.contains(&format!("`{}`", kind.as_str())), "{kind:?}");
            assert!(
                page.contains(&format!("(runbooks/{}.md)", kind.runbook())),
                "{kind:?}"
            );
        }
    }
}
