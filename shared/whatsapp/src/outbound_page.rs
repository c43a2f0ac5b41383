//! `docs/providers/outbound.md`, written from the tables of what can be sent. The test fails when the page says something
//! else; with `UPDATE_DOCS=1` in the environment it writes the page.

use crate::registry::content_support;
use crate::wire::content_support::ContentSupport;
use recado_domain::outgoing::OutgoingKind;
use recado_domain::provider::Provider;
use std::fmt::Write;
use std::path::Path;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/providers/outbound.md");

const PROVIDERS: [(Provider, &str); 2] = [(Provider::Evolution, "Evolution API"), (Provider::Meta, "Meta")];

const HEAD: &str = "# What can be sent

<!-- The tests of shared/whatsapp write this page from the tables that the senders go by. To change it, change those and run:
UPDATE_DOCS=1 cargo test -p recado-whatsapp outbound_page -->

This page is for developers who send messages. What a provider lacks is sent as something else, if nothing is lost by it: a menu
becomes its text with numbered lines, which can be answered by number. What cannot be sent at all is refused with 400 when a
client asks for it. If only the sender finds out, it becomes a dead letter, `whatsapp_permanent_error`.
";

const TAIL: &str = "
## How

| option | Evolution API | Meta |
| --- | --- | --- |
| `reply_to` | `quoted`, by the id alone | `context.message_id`; not with reactions |
| `mentions` | `mentioned` | ignored |
| `link_preview` | `linkPreview` | `preview_url`, off by default |

A file's `source` is an `https` URL that the provider fetches, or `upload:` and an id, as `POST /v1/instances/{id}/media`
answers it. An upload's bytes go to Evolution as Base64; to Meta and 360dialog by `POST /media` and then
by id; to AWS by way of the stack's bucket.
";

fn write_row(page: &mut String, kind: OutgoingKind, what: ContentSupport) {
    let (word, how) = match what {
        ContentSupport::Native(how) => ("native", how),
        ContentSupport::Degraded(how) => ("as text", how),
        ContentSupport::Refused(why) => ("refused", why),
    };
    writeln!(page, "| {} | {word} | {how} |", kind.as_str()).unwrap();
}

fn render_page() -> String {
    let mut page = HEAD.to_owned();
    for (provider, name) in PROVIDERS {
        write!(page, "\n## {name}\n\n| kind | | how |\n| --- | --- | --- |\n").unwrap();
        for &kind in OutgoingKind::ALL {
            write_row(&mut page, kind, content_support(provider, kind));
        }
    }
    page.push_str(TAIL);
    page
}

#[test]
fn the_page_of_what_can_be_sent_says_what_the_code_does() {
    let expected = render_page();
    if std::env::var_os("UPDATE_DOCS").is_some_and(|value| value == "1") {
        std::fs::write(Path::new(PAGE), &expected).unwrap();
    }
    let found = std::fs::read_to_string(PAGE).unwrap_or_default();
    assert!(
        found == expected,
        "docs/providers/outbound.md is not what the tables say. Run: UPDATE_DOCS=1 cargo test -p recado-whatsapp outbound_page"
    );
}
