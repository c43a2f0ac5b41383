//! The description of the API against a running installation: schemathesis makes requests of it, good and bad ones, and compares each
//! answer with what is described.

use crate::command_line::simulated;
use crate::commands::run;
use crate::machine::{Machine, TOKEN};
use std::path::Path;
use std::process::Command;

/// The checks of each answer: no 5xx, a status, a type, headers and a body that are described.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,\
    response_schema_conformance";

/// Routes that another one answers by the same handler, with the same description.
const SAME_HANDLER: &str =
    "^/(api/webhook|deliver/webhook|wa/webhook|webhook/whatsapp|webhooks/evolution/|webhooks/whatsapp)";

/// Lets requests name records that are there; what removes them names others.
fn name_known_records(conversation: &str) -> String {
    let rule = |routes: &str, parameter: &str, value: &str| {
        format!(
            "[[operations]]\ninclude-name-regex = '^{routes}'\nparameters = {{ \"{parameter}\" = \"{value}\" }}\n"
        )
    };
    let message = format!("{conversation}.1");
    let mut rules = vec![
        rule("PUT /v1/config$", "query.prune", "false"),
        rule(r"[A-Z]+ /v1/conversations/\{id\}", "path.id", conversation),
        rule(r"[A-Z]+ /v1/messages/\{id\}", "path.id", &message),
    ];
    for (path, id) in [
        ("instances", "suporte-01"),
        ("agents", "ana"),
        ("tenants", "demo"),
        ("occasions", "ev_demo"),
    ] {
        rules.push(rule(
            &format!(r"(GET|POST|PUT) /v1/{path}/\{{id\}}"),
            "path.id",
            id,
        ));
        rules.push(rule(
            &format!(r"DELETE /v1/{path}/\{{id\}}$"),
            "path.id",
            "nobody",
        ));
    }
    rules.concat()
}

/// Returns schemathesis of the tools, or else of this machine.
fn find_program() -> std::path::PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/venv/bin/schemathesis");
    if own.exists() { own } else { "schemathesis".into() }
}

#[tokio::test]
async fn every_answer_to_a_good_or_a_bad_request_is_as_described() {
    let machine = simulated();
    let said = run(&machine, &["say", "Oi"]);
    assert!(said.success, "{}", said.err);
    let rules = machine.data().with_file_name("schemathesis.toml");
    std::fs::write(&rules, name_known_records(&machine.conversation().await)).unwrap();
    let ran = ask_everything(&machine, &rules);
    let told = format!(
        "{}{}",
        String::from_utf8_lossy(&ran.stdout),
        String::from_utf8_lossy(&ran.stderr)
    );
    assert!(ran.status.success(), "{told}");
    // That it tried something is said, too: a description of nothing has no faults.
    let tried = told.lines().find_map(|line| {
        line.trim()
            .strip_suffix(" passed")?
            .split(' ')
            .next()?
            .parse::<u32>()
            .ok()
    });
    assert!(tried.is_some_and(|tried| tried > 5_000), "{told}");
    assert!(!machine.log().contains("panicked"), "{}", machine.log());
}

/// Runs schemathesis beside the installation: the bounds of each field, then a few random requests of each route. With several
/// workers Python 3.11 fails now and then (`AST constructor recursion depth mismatch`), and it is no faster.
fn ask_everything(machine: &Machine, rules: &Path) -> std::process::Output {
    let url = machine.url("/openapi.json");
    let token = format!("Authorization: Bearer {TOKEN}");
    let mut command = Command::new(find_program());
    command
        .arg("--config-file")
        .arg(rules)
        .args(["run", &url, "-H", &token]);
    command.args([
        "--phases",
        "coverage,fuzzing",
        "--max-examples",
        "2",
        "--generation-deterministic",
        "--no-shrink",
    ]);
    command.args([
        "--checks",
        CHECKS,
        "--continue-on-failure",
        "--workers",
        "1",
        "--no-color",
        "--warnings",
        "off",
    ]);
    command.args(["--exclude-path-regex", SAME_HANDLER]);
    // The one has no end. The other is answered as PUT is.
    command.args([
        "--exclude-name",
        "GET /v1/events/stream",
        "--exclude-name",
        "POST /v1/config",
    ]);
    let ran = command.current_dir(rules.parent().unwrap()).output();
    ran.unwrap_or_else(|error| panic!("schemathesis, which `make tools` installs: {error}"))
}
