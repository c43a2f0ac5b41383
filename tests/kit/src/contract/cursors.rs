//! Cursors that no list gave.

use crate::any_cursor::ask_every_list;
use crate::builders::Fixture;
use recado_ports::ports::{PortError, Store};

pub async fn a_cursor_that_no_list_gave_is_refused_or_leads_to_nothing_of_others<S: Store>(store: &S) {
    let tenant = Fixture::new().bound.tenant.id;
    let long = "9".repeat(3_000);
    for cursor in [
        "",
        ".",
        "~",
        ":",
        "|",
        "0",
        "-1",
        "1.",
        "1~",
        "1:a:",
        "9223372036854775807.x",
        "9223372036854775807~x",
        "-9223372036854775808:x:y",
        "9223372036854775808.x",
        "\u{0}",
        "1~\u{10ffff}",
        "1.\u{10ffff}",
        "{}",
        "%00",
        "a/b#c",
        &long,
    ] {
        for (list, answer) in ask_every_list(store, &tenant, cursor).await {
            match answer {
                Ok(found) => assert!(found == 0 || list == "tenants", "{list} at {cursor:?}: {found}"),
                Err(PortError::Invalid { .. }) => {}
                Err(error) => panic!("{list} at {cursor:?}: {error:?}"),
            }
        }
    }
}
