//! All commands of the command line, each with a part of what it prints.

/// What a command prints where all is well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Printed {
    /// Lines of at most 80 columns; JSON with `--json`.
    Narrow,
    /// Lines with secrets, URLs or keys of others, which are never cut; JSON with `--json`.
    Wide,
    /// The same always.
    Raw,
    /// It is not run where all is well: it needs more than a simulated installation.
    Elsewhere,
}

use Printed::{Elsewhere, Narrow, Raw, Wide};

/// The commands that ask an installation, in an order in which they work, each with a part of its output. `CONVERSATION`,
/// `FILE`, `GUESTS`, `DOCUMENT` and `FOLDER` stand for those of the test.
pub(crate) const ASKING: &[(&str, Printed, &str)] = &[
    ("say Bom dia", Narrow, "← agent: [simulated] I read 1 message"),
    (
        "status",
        Narrow,
        "suporte-01           evolution  open       simulated",
    ),
    ("find 5511900000002", Narrow, "answered "),
    ("conversations", Narrow, "+5511900000002"),
    (
        "conversations list --waiting",
        Narrow,
        "Nobody waits for a person.",
    ),
    ("conversations show CONVERSATION", Narrow, "→ Maria: Bom dia"),
    ("conversations take CONVERSATION", Narrow, "installation has it"),
    (
        "conversations answer CONVERSATION Olá",
        Narrow,
        "← installation: Olá",
    ),
    (
        "conversations label CONVERSATION --add vip",
        Narrow,
        "Labels: vip",
    ),
    ("conversations note CONVERSATION Gold", Narrow, "Gold"),
    ("conversations give-back CONVERSATION", Narrow, "the agent has it"),
    ("conversations resolve CONVERSATION", Narrow, "resolved"),
    ("trends", Narrow, "sampled since"),
    ("usage", Narrow, "replies"),
    ("usage --by model", Narrow, "simulated"),
    ("alerts", Narrow, "No alerts."),
    ("alerts list --ended", Narrow, "No alerts."),
    ("alerts dead", Narrow, "No notifications."),
    ("audit", Narrow, "conversation"),
    ("dlq list", Narrow, "No dead letters."),
    ("dlq redrive --all --dry-run", Narrow, "selected"),
    ("dlq purge --all --yes", Narrow, "deleted"),
    ("token create desk --role viewer", Wide, "shown only here"),
    ("token list", Narrow, "desk"),
    (
        "contact erase 5511900000099 --tenant demo --yes",
        Narrow,
        "done: true",
    ),
    ("contact find 5511900000002 --tenant demo", Narrow, "names: Maria"),
    ("effects list CONVERSATION", Narrow, "No effects."),
    ("guests list ev_demo", Narrow, "No guests."),
    ("deliver export", Raw, "guest"),
    ("deliver batches list --tenant demo", Narrow, "No batches."),
    ("webhooks list --tenant demo", Narrow, "No webhook endpoints."),
    ("knowledge list ana", Narrow, "No sources."),
    ("try", Wide, "curl -sS http://"),
    ("apply FILE", Wide, "unchanged instance suporte-01"),
    ("api GET /v1/alerts", Raw, "\"items\":[]"),
    ("secret rotate suporte-01 --yes", Wide, "secret"),
    ("catch-up suporte-01 --dry-run", Elsewhere, ""),
    ("connect suporte-01", Elsewhere, ""),
    ("connect-calendar agenda", Elsewhere, ""),
    ("doctor", Elsewhere, ""),
    ("replay FOLDER", Elsewhere, ""),
    ("agent optimize ana --yes", Elsewhere, ""),
    ("tenant remove nobody --yes", Elsewhere, ""),
    ("status --watch", Elsewhere, ""),
    ("tail", Elsewhere, ""),
    ("mcp", Elsewhere, ""),
    ("alerts test", Elsewhere, ""),
    ("alerts redrive n_1", Elsewhere, ""),
    ("dlq show dl_1", Elsewhere, ""),
    ("token revoke nobody", Elsewhere, ""),
    (
        "contact export 5511900000099 --tenant demo --to FOLDER",
        Elsewhere,
        "",
    ),
    ("effects show CONVERSATION 1", Elsewhere, ""),
    ("effects settle CONVERSATION 1 done", Elsewhere, ""),
    ("guests import ev_demo GUESTS", Elsewhere, ""),
    ("guests show ev_demo g1", Elsewhere, ""),
    (
        "deliver send --event ev_demo --template t --guest g1",
        Elsewhere,
        "",
    ),
    ("deliver status iv_1", Elsewhere, ""),
    ("deliver batches show b_1", Elsewhere, ""),
    ("deliver batches recipients b_1", Elsewhere, ""),
    ("deliver batches pause b_1", Elsewhere, ""),
    ("deliver batches resume b_1", Elsewhere, ""),
    ("deliver batches cancel b_1", Elsewhere, ""),
    ("webhooks create crm https://crm.example/recado", Elsewhere, ""),
    ("webhooks show crm", Elsewhere, ""),
    ("webhooks remove crm --yes", Elsewhere, ""),
    ("webhooks rotate crm --yes", Elsewhere, ""),
    ("webhooks test crm", Elsewhere, ""),
    ("webhooks failed crm", Elsewhere, ""),
    ("webhooks redrive crm", Elsewhere, ""),
    ("webhooks replay crm", Elsewhere, ""),
    ("knowledge add ana DOCUMENT", Elsewhere, ""),
    ("knowledge show ana s", Elsewhere, ""),
    ("knowledge remove ana s", Elsewhere, ""),
    ("knowledge embed ana", Elsewhere, ""),
    ("knowledge search ana horário", Elsewhere, ""),
];

/// The commands that ask no installation: what they print is tested elsewhere.
pub(crate) const ALONE: [&str; 11] = [
    "serve",
    "init",
    "completions",
    "record redact",
    "eval",
    "backup",
    "restore",
    "export",
    "import",
    "alerts runbook",
    "help",
];
