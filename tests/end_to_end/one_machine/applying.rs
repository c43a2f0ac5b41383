//! Mistakes of a configuration are told when it is applied, not by a customer.

use crate::commands::{Ran, run};
use crate::machine::Machine;
use recado_testkit::servers::Behaviour;
use serde_json::{Value, json};

/// Applies the sample with `from` replaced by `to`, and returns what `recado apply` says.
fn apply_changed(machine: &Machine, from: &str, to: &str) -> Ran {
    let file = machine.data().with_file_name("changed.toml");
    let sample = Machine::sample();
    assert!(sample.contains(from), "{from}");
    std::fs::write(&file, sample.replacen(from, to, 1)).unwrap();
    run(machine, &["apply", &file.display().to_string()])
}

const MODEL: &str = "model = \"claude-sonnet-4-5\"";

#[tokio::test]
async fn a_model_that_refuses_is_not_applied_and_the_nearest_is_named() {
    let machine = Machine::serving(&[]);
    let before = machine.get("/v1/config").await;
    let anthropic = machine.stand_ins.anthropic.journal();
    let asked = anthropic.requests().len();
    let unknown = json!({"type": "error", "error": {"type": "not_found_error", "message": "model: x"}});
    anthropic.next(Behaviour::status(404, unknown));
    let refused = apply_changed(&machine, MODEL, "model = \"claude-sonet-4-5\"");
    assert!(!refused.success, "{}", refused.out);
    assert!(
        refused.err.contains("`claude-sonet-4-5` refuses requests")
            && refused.err.contains("404 not_found_error")
            && refused.err.contains("`claude-sonnet-4-5-20250929`"),
        "{}",
        refused.err
    );
    assert_eq!(machine.get("/v1/config").await, before);
    let taken = apply_changed(&machine, MODEL, "model = \"claude-haiku-4-5\"");
    assert!(taken.success && taken.err.is_empty(), "{}", taken.err);
    // Two requests for a token, and one for the list; what is applied already is not asked for again.
    assert_eq!(anthropic.requests().len(), asked + 3);
    let again = apply_changed(&machine, MODEL, "model = \"claude-haiku-4-5\"");
    assert!(
        again.success && again.out.contains("unchanged agent"),
        "{}",
        again.out
    );
    assert_eq!(anthropic.requests().len(), asked + 3);
    // A failure that may pass is no reason to refuse.
    anthropic.expect_credential("another-key");
    let warned = apply_changed(&machine, MODEL, "model = \"claude-opus-4-1\"");
    assert!(
        warned.success
            && warned
                .err
                .contains("Warning: agent `ana`: the model's credentials"),
        "{}",
        warned.err
    );
}

#[tokio::test]
async fn a_provider_that_is_not_there_is_a_warning() {
    let machine = Machine::serving(&[("RECADO_CREDENTIAL_DEMO_EVOLUTION", "own-key")]);
    let instance = "            provider = \"meta\"";
    let nowhere = "credential = \"env:RECADO_CREDENTIAL_DEMO_META\"\nprovider = \"meta\"";
    let missing = apply_changed(&machine, instance, nowhere);
    assert!(
        missing.success
            && missing.err.contains("Warning: instance `meta-01`")
            && missing.err.contains("RECADO_CREDENTIAL_DEMO_META"),
        "{}",
        missing.err
    );
    let own = "provider = \"evolution\"\nbase_url = \"http://127.0.0.1:1\"\ncredential = \"env:RECADO_CREDENTIAL_DEMO_EVOLUTION\"";
    let unreachable = apply_changed(&machine, "provider = \"evolution\"", own);
    assert!(
        unreachable.success
            && unreachable
                .err
                .contains("instance `suporte-01` (http://127.0.0.1:1): its provider does not answer"),
        "{}{}",
        unreachable.out,
        unreachable.err
    );
}

#[tokio::test]
async fn hours_that_overlap_and_unknown_keys_are_refused_with_a_hint() {
    let machine = Machine::serving(&[]);
    let tables = [
        (
            "mon = [\"09:00-13:00\", \"12:00-18:00\"]",
            "mon 09:00-13:00 and mon 12:00-18:00 overlap",
        ),
        ("mon = []", "they name no hours"),
    ];
    for (hours, why) in tables {
        let hours = format!("provider = \"evolution\"\nopening_hours = {{ {hours} }}");
        let refused = apply_changed(&machine, "provider = \"evolution\"", &hours);
        assert!(!refused.success && refused.err.contains(why), "{}", refused.err);
    }
    let typo = apply_changed(&machine, MODEL, "modell = \"claude-sonnet-4-5\"");
    assert!(
        !typo.success && typo.err.contains("did you mean `model`?"),
        "{}",
        typo.err
    );
}

#[tokio::test]
async fn a_file_that_names_nothing_is_refused() {
    let machine = Machine::serving(&[]);
    let before = machine.get("/v1/config").await;
    let file = machine.data().with_file_name("empty.toml");
    std::fs::write(&file, "# nothing\n").unwrap();
    let refused = run(
        &machine,
        &["apply", &file.display().to_string(), "--prune", "--yes"],
    );
    assert!(
        !refused.success && refused.err.contains("names no tenant, agent or instance"),
        "{}{}",
        refused.out,
        refused.err
    );
    assert_eq!(machine.get("/v1/config").await, before);
}

#[tokio::test]
async fn the_answer_as_json_has_the_changes() {
    let machine = Machine::serving(&[]);
    let file = machine.data().with_file_name("recado.toml").display().to_string();
    let ran = run(&machine, &["apply", &file, "--json"]);
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(told["changes"][0]["what"], "unchanged");
    assert_eq!(told["warnings"], json!([]));
}

#[tokio::test]
async fn a_template_is_looked_for_before_it_is_applied() {
    let machine = Machine::serving(&[]);
    let named = "account_id = \"900\"\n\
        reengagement_template = { name = \"volte\", language = \"pt_BR\" }\nprovider = \"meta\"";
    let apply = || apply_changed(&machine, "            provider = \"meta\"", named);
    let refused = apply();
    assert!(
        !refused.success
            && refused
                .err
                .contains("instance `meta-01`: reengagement_template: there is no template volte in pt_BR"),
        "{}{}",
        refused.out,
        refused.err
    );
    machine
        .stand_ins
        .meta
        .notes()
        .template("volte", "pt_BR", "PENDING");
    let warned = apply();
    assert!(
        warned.success && warned.err.contains("template volte (pt_BR) is PENDING"),
        "{}{}",
        warned.out,
        warned.err
    );
}
