//! The command line beside a running installation: connect, doctor, replay, record.

use crate::machine::{INSTANCE, Machine, PHONE_NUMBER_ID, eventually, seconds};
use recado_testkit::servers::ConnectionState;
use recado_testkit::servers::scripted::{Does, StandIn};
use recado_testkit::webhooks::{evolution_text, meta_text};
use serde_json::{Value, json};
use std::path::Path;

const META: &str = "oficial-01";

/// What a command did.
pub(crate) struct Ran {
    pub(crate) success: bool,
    pub(crate) out: String,
    pub(crate) err: String,
}

pub(crate) fn run(machine: &Machine, arguments: &[&str]) -> Ran {
    let output = machine.command(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ran {
        success: output.status.success(),
        out: text(&output.stdout),
        err: text(&output.stderr),
    }
}

/// One instance at Evolution and one at Meta, with an account.
fn configured(variables: &[(&str, &str)]) -> Machine {
    let mut machine = Machine::prepared(variables);
    machine.configure(&format!(
        r#"
        [[tenants]]
        id = "clinica"
        [[agents]]
        id = "ana"
        tenant = "clinica"
        model = "claude-sonnet-4-5"
        system_prompt = "You are Ana."
        [[instances]]
        id = "{INSTANCE}"
        tenant = "clinica"
        agent = "ana"
        provider = "evolution"
        [[instances]]
        id = "{META}"
        tenant = "clinica"
        agent = "ana"
        provider = "meta"
        external_id = "{PHONE_NUMBER_ID}"
        account_id = "900"
        reengagement_template = {{ name = "volte", language = "pt_BR" }}
        "#
    ));
    machine.start("serve");
    machine
}

pub(crate) fn findings(ran: &Ran) -> Vec<Value> {
    let all: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{} {}", ran.out, ran.err));
    all["findings"].as_array().unwrap().clone()
}

pub(crate) fn grade<'a>(findings: &'a [Value], instance: &str, check: &str) -> &'a str {
    let found = findings
        .iter()
        .find(|finding| finding["instance"] == instance && finding["check"] == check);
    found.unwrap_or_else(|| panic!("no {check} of {instance} in {findings:?}"))["grade"]
        .as_str()
        .unwrap()
}

#[tokio::test]
async fn connect_sets_evolutions_webhook_reads_it_back_and_tries_it() {
    let machine = configured(&[]);
    let ran = run(&machine, &["connect", INSTANCE]);
    assert!(ran.success, "{}{}", ran.out, ran.err);
    let set = machine.stand_ins.evolution.notes().webhook(INSTANCE).unwrap();
    assert_eq!(set["url"], machine.url("/webhooks/evolution"));
    assert_eq!(set["headers"], json!({"apikey": machine.secret(INSTANCE)}));
    assert!(ran.out.contains("is taken"), "{}", ran.out);
    assert!(!ran.out.contains(&machine.secret(INSTANCE)), "no secret is shown");
    assert_eq!(machine.stand_ins.violations(), []);
    let told: Value = serde_json::from_str(&run(&machine, &["connect", INSTANCE, "--json"]).out).unwrap();
    assert_eq!(told["connected"], true);
    assert!(
        told["error"].is_null() && !told["steps"].as_array().unwrap().is_empty(),
        "{told}"
    );
    // A wrong address is found before anything is set.
    for wrong in ["http://127.0.0.1:1", &machine.stand_ins.meta.url()] {
        let ran = run(&machine, &["connect", INSTANCE, "--public-url", wrong, "--json"]);
        assert!(!ran.success);
        let told: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(told["connected"], false);
        assert!(
            told["error"].as_str().unwrap().contains("nothing was changed"),
            "{told}"
        );
        assert!(
            ran.err.contains("nothing was changed at Evolution"),
            "{wrong}: {}",
            ran.err
        );
        let now = machine.stand_ins.evolution.notes().webhook(INSTANCE).unwrap();
        assert_eq!(now, set, "{wrong}");
    }
    assert_eq!(
        machine.stand_ins.violations().len(),
        1,
        "only the ping to the wrong server"
    );
    // Set to another address, a check finds it and changes nothing.
    let moved = run(
        &machine,
        &[
            "connect",
            INSTANCE,
            "--check",
            "--public-url",
            "https://recado.example",
        ],
    );
    assert!(!moved.success);
    assert!(moved.err.contains("it goes to"), "{}", moved.err);
    let unknown = run(&machine, &["connect", "ninguem"]);
    assert!(
        unknown.err.contains("there is no instance ninguem"),
        "{}",
        unknown.err
    );
}

#[tokio::test]
async fn connect_shakes_metas_hands_and_subscribes_the_app() {
    let machine = configured(&[]);
    let ran = run(&machine, &["connect", META]);
    assert!(ran.success, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains(&machine.url("/webhooks/meta")), "{}", ran.out);
    assert!(ran.out.contains("the handshake comes back"), "{}", ran.out);
    assert_eq!(machine.stand_ins.meta.notes().subscribed(), ["900"]);
    assert_eq!(machine.stand_ins.violations(), []);
}

#[tokio::test]
async fn doctor_finds_what_is_broken_and_says_how_to_mend_it() {
    let machine = configured(&[]);
    machine
        .stand_ins
        .meta
        .notes()
        .template("volte", "pt_BR", "PAUSED");
    let ran = run(&machine, &["doctor", "--json"]);
    assert!(!ran.success, "{}", ran.out);
    let found = findings(&ran);
    assert_eq!(grade(&found, INSTANCE, "credential"), "good");
    assert_eq!(grade(&found, INSTANCE, "connection"), "good");
    assert_eq!(grade(&found, INSTANCE, "clock"), "good");
    assert_eq!(grade(&found, INSTANCE, "webhook"), "broken");
    assert_eq!(grade(&found, META, "credential"), "good");
    assert_eq!(grade(&found, META, "webhook"), "broken");
    assert_eq!(grade(&found, META, "templates"), "broken");
    let broken = found.iter().filter(|finding| finding["grade"] == "broken");
    assert!(broken.clone().count() > 0);
    for finding in broken {
        assert!(finding["mend"].is_string(), "{finding}");
    }
}

#[tokio::test]
async fn doctor_is_content_once_evolution_is_connected() {
    let machine = configured(&[]);
    assert!(run(&machine, &["connect", INSTANCE]).success);
    let ran = run(&machine, &["doctor", INSTANCE]);
    assert!(ran.success, "{}{}", ran.out, ran.err);
    assert!(!ran.out.contains("BAD"), "{}", ran.out);
    assert!(!ran.out.contains(META), "only what was asked for");
}

#[tokio::test]
async fn doctor_shows_a_qr_code_where_a_phone_must_be_paired_and_names_a_wrong_key() {
    let machine = configured(&[]);
    machine.stand_ins.evolution.set_connection(ConnectionState::Close);
    let ran = run(&machine, &["doctor", INSTANCE]);
    assert!(!ran.success);
    assert!(ran.out.contains("Linked devices"), "{}", ran.out);
    assert!(
        ran.out
            .lines()
            .any(|line| line.contains("█▀▀") || line.contains("▄▄▄▄▄")),
        "{}",
        ran.out
    );
    machine.stand_ins.evolution.expect_credential("another-key");
    let ran = run(&machine, &["doctor", INSTANCE, "--json"]);
    assert_eq!(grade(&findings(&ran), INSTANCE, "credential"), "broken");
}

fn recorded(folder: &Path) -> String {
    let mut all = String::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        all.push_str(&std::fs::read_to_string(entry.unwrap().path()).unwrap());
    }
    all
}

#[tokio::test]
async fn what_is_recorded_redacted_holds_nobody_and_can_be_played_again() {
    let folder = Machine::prepared(&[]).data().with_file_name("recorded-redacted");
    let folder_text = folder.display().to_string();
    let first = configured(&[("RECADO_RECORD", "redacted"), ("RECADO_RECORD_DIR", &folder_text)]);
    let jid = "5511900000031@s.whatsapp.net";
    let body = evolution_text(INSTANCE, jid, "R1", "Meu nome é Bia", seconds());
    assert_eq!(first.evolution(&body).await, 200);
    let unproven = first.http.post(first.url("/webhooks/evolution")).json(&body);
    assert_eq!(unproven.send().await.unwrap().status(), 401);
    let text = eventually("the recording", || async {
        Some(recorded(&folder)).filter(|text| text.ends_with('\n'))
    })
    .await;
    assert_eq!(text.lines().count(), 1, "what was refused is not recorded");
    for trace in [
        "5511900000031",
        "Bia",
        "Carla",
        recado_testkit::webhooks::EVOLUTION_BODY_KEY,
    ] {
        assert!(!text.contains(trace), "{trace} in {text}");
    }
    first.phone(1).await;
    // On another machine, the same webhook is a message again.
    let second = configured(&[]);
    let ran = run(&second, &["replay", &folder_text, "--rate", "50", "--json"]);
    assert!(ran.success, "{}{}", ran.out, ran.err);
    let figures: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&figures["posted"], &figures["taken"]), (&json!(1), &json!(1)));
    second.phone(1).await;
    let id = second.conversation().await;
    assert_eq!(second.messages(&id).await[0]["content"], "Xxx xxxx x Xxx");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
async fn bodies_of_both_providers_are_signed_and_a_refused_one_is_a_failure() {
    let machine = configured(&[]);
    let folder = machine.data().with_file_name("bodies");
    std::fs::create_dir_all(&folder).unwrap();
    let put = |name: &str, body: &Value| std::fs::write(folder.join(name), body.to_string()).unwrap();
    put(
        "1.json",
        &evolution_text("outra", "5511900000032@s.whatsapp.net", "B1", "Oi", seconds()),
    );
    put(
        "2.json",
        &meta_text(PHONE_NUMBER_ID, "5511900000033", "wamid.B2", "Oi", seconds()),
    );
    let from = folder.display().to_string();
    let unknown = run(&machine, &["replay", &from]);
    assert!(unknown.err.contains("no instance outra"), "{}", unknown.err);
    let ran = run(
        &machine,
        &["replay", &from, "--as", INSTANCE, "--times", "3", "--rate", "200"],
    );
    assert!(ran.success, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("6 × 200"), "{}", ran.out);
    machine.phone(1).await;
    put("3.json", &json!({"entry": "nonsense", "object": 1}));
    let mut wrong = machine.command(&["replay", &from, "--as", INSTANCE, "--url", &machine.url("")]);
    let output = wrong.env("META_APP_SECRET", "another").output().unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("2 × 401"));
}

#[tokio::test]
async fn a_full_recording_can_be_redacted_afterwards() {
    let machine = Machine::prepared(&[]);
    let (from, out) = (
        machine.data().with_file_name("full"),
        machine.data().with_file_name("out"),
    );
    std::fs::create_dir_all(&from).unwrap();
    let body = evolution_text(
        INSTANCE,
        "5511900000034@s.whatsapp.net",
        "F1",
        "Rua Azul",
        seconds(),
    );
    std::fs::write(from.join("a.json"), body.to_string()).unwrap();
    let (from, out) = (from.display().to_string(), out.display().to_string());
    let ran = run(&machine, &["record", "redact", &from, "--out", &out]);
    assert!(ran.success, "{}", ran.err);
    let text = recorded(Path::new(&out));
    assert!(
        text.contains("Xxx Xxxx") && !text.contains("5511900000034"),
        "{text}"
    );
    let again = run(&machine, &["record", "redact", &from, "--out", &out]);
    assert!(again.err.contains("is not empty"), "{}", again.err);
}

/// An answer of the model with these words, for a request of so many tokens.
fn model_answer(text: &str, tokens: u64) -> Does {
    let body = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
        "content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "stop_sequence": null,
        "usage": {"input_tokens": tokens, "output_tokens": 1}});
    Does::AnswersWith(200, vec![("content-type", "application/json")], body.to_string())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shorter_prompt_is_shown_with_its_tokens_and_stored_once_somebody_agrees() {
    let counts = |full, shorter| {
        ["Be Ana.", "one", "two", "three"]
            .into_iter()
            .zip([90, 10, full, shorter])
            .map(|(text, tokens)| model_answer(text, tokens))
    };
    let script = counts(40, 14)
        .chain(counts(40, 14))
        .chain(counts(40, 40))
        .collect();
    let model = StandIn::start(script).await;
    let machine = configured(&[("ANTHROPIC_BASE_URL", &model.url)]);
    let asked = run(&machine, &["agent", "optimize", "ana"]);
    assert!(
        !asked.success && asked.err.contains("--yes"),
        "{}{}",
        asked.out,
        asked.err
    );
    assert!(
        asked.out.contains("system_prompt, 30 tokens:\n\nYou are Ana."),
        "{}",
        asked.out
    );
    assert!(
        asked.out.contains("shorter, 4 tokens:\n\nBe Ana."),
        "{}",
        asked.out
    );
    let agent = || async { machine.get("/v1/agents/ana").await["optimized_system_prompt"].clone() };
    assert_eq!(agent().await, Value::Null);
    let agreed = run(&machine, &["agent", "optimize", "ana", "--yes"]);
    assert!(agreed.success, "{}{}", agreed.out, agreed.err);
    assert_eq!(agent().await, "Be Ana.");
    let longer = run(&machine, &["agent", "optimize", "ana", "--yes"]);
    assert!(
        !longer.success && longer.err.contains("no shorter prompt"),
        "{}",
        longer.err
    );
    let unknown = run(&machine, &["agent", "optimize", "bia", "--yes"]);
    assert!(unknown.err.contains("there is no agent bia"), "{}", unknown.err);
}
