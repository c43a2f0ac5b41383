use crate::commands::run;
use crate::machine::{Machine, PATIENCE, TOKEN, eventually};
use std::process::Stdio;

#[tokio::test]
async fn the_first_command_shows_a_burst_going_in_and_one_reply_coming_out() {
    let mut machine = Machine::prepared(&[
        ("EVOLUTION_API_URL", ""),
        ("META_ACCESS_TOKEN", ""),
        ("ANTHROPIC_API_KEY", ""),
        ("RECADO_TOKEN", ""),
        ("RECADO_WEBHOOK_SECRET", ""),
        ("RECADO_DEBOUNCE_SECONDS", ""),
        ("RECADO_DEBOUNCE_MAX_SECONDS", ""),
    ]);
    machine.unset("EVOLUTION_API_KEY");
    machine.start("");
    let output = eventually("the demonstration", || async {
        let output = machine.output();
        output.contains("Ctrl-C stops").then_some(output)
    })
    .await;
    assert_eq!(output.matches("  → ").count(), 3, "{output}");
    assert_eq!(
        output.matches("  ← [simulated] I read 3 messages").count(),
        1,
        "{output}"
    );
    assert!(
        output.contains("recado try --url http://127.0.0.1:"),
        "it says how to go on: {output}"
    );
    assert!(machine.stop("-INT").success());
}

#[tokio::test]
async fn the_curl_line_that_try_prints_works_as_pasted() {
    let mut machine = Machine::prepared(&[("RECADO_SIMULATED_LATENCY_MS", "0")]);
    machine.unset("EVOLUTION_API_KEY");
    machine.start("serve");
    let ran = run(&machine, &["try"]);
    let line = ran.out.trim();
    assert!(ran.success && line.starts_with("curl "), "{line}{}", ran.err);
    let pasted = std::process::Command::new("bash")
        .args(["-c", line])
        .stderr(Stdio::null())
        .output();
    let pasted = pasted.expect("bash");
    assert!(
        pasted.status.success(),
        "{line}\n{}",
        String::from_utf8_lossy(&pasted.stdout)
    );
    let id = machine.conversation().await;
    assert_eq!(
        machine.messages(&id).await[0]["content"],
        "Qual o horario de funcionamento?"
    );
}

#[tokio::test]
async fn applying_twice_changes_nothing_and_prints_each_webhook() {
    let machine = Machine::serving(&[]);
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../recado.toml");
    let apply = |token: &str| {
        let url = machine.url("");
        let output = machine
            .command(&["apply", sample, "--url", &url, "--token", token])
            .output()
            .unwrap();
        (
            output.status.success(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (done, output, _) = apply(TOKEN);
    assert!(done);
    assert!(output.contains("unchanged instance suporte-01"), "{output}");
    assert!(
        output.contains(&Machine::secret("suporte-01")) && output.contains("/webhooks/meta"),
        "{output}"
    );
    let (done, _, error) = apply("wrong");
    assert!(!done && error.contains("401"), "{error}");
}

#[tokio::test]
async fn a_start_names_everything_that_is_wrong() {
    let machine = Machine::prepared(&[("RECADO_ADDR", "nowhere"), ("RECADO_STALE_SECONDS", "soon")]);
    let output = machine.command(&["serve"]).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(
        error.contains("RECADO_ADDR") && error.contains("RECADO_STALE_SECONDS"),
        "{error}"
    );
}

#[tokio::test]
async fn two_processes_do_not_share_a_data_folder() {
    let machine = Machine::serving(&[]);
    let second = machine
        .command(&["serve"])
        .stdout(Stdio::null())
        .output()
        .unwrap();
    assert!(!second.status.success());
    let error = String::from_utf8(second.stderr).unwrap();
    assert!(error.contains("data folder"), "{error}");
}

#[tokio::test]
async fn nothing_is_open_for_want_of_a_secret() {
    let mut machine = Machine::prepared(&[]);
    machine.unset("RECADO_TOKEN");
    machine.unset("META_APP_SECRET");
    machine.start("serve");
    let refused = machine
        .http
        .get(machine.url("/v1/conversations"))
        .send()
        .await
        .unwrap();
    assert_eq!(refused.status(), 401);
    let kept = std::fs::read_to_string(machine.data().join("operator-token")).unwrap();
    let let_in = machine
        .http
        .get(machine.url("/v1/conversations"))
        .bearer_auth(kept.trim());
    assert_eq!(let_in.send().await.unwrap().status(), 200);
    let meta = machine
        .http
        .post(machine.url("/webhooks/meta"))
        .body("{}")
        .timeout(PATIENCE)
        .send()
        .await
        .unwrap();
    assert_eq!(meta.status(), 503, "without an app secret nothing can be proven");
    assert!(meta.headers().contains_key("retry-after"));
}
