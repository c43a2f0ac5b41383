use crate::commands::run;
use crate::machine::{INSTANCE, Machine, PATIENCE, TOKEN, eventually, seconds};
use recado_testkit::webhooks::evolution_text;
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
    // The burst, and what is written after the person's words.
    assert_eq!(output.matches("  → ").count(), 4, "{output}");
    assert_eq!(
        output.matches("  ← [simulated] I read 3 messages").count(),
        1,
        "{output}"
    );
    for promise in [
        "one reply to 3 messages, after ",
        "known already, nothing is sent",
        "  ☎ Aqui é a Carla.",
        "the agent keeps silent: a person has the conversation",
        "  ← [simulated] I read 1 message. You said: \"Está ótimo! Qual é o endereço?\"",
        "recado say \"Vocês abrem hoje?\"",
    ] {
        assert!(output.contains(promise), "{promise} is not in:\n{output}");
    }
    // From then on it is live.
    let said = run(&machine, &["say", "Vocês abrem hoje?"]);
    assert!(said.success, "{}", said.err);
    for line in [
        "→ Maria +5511900000002: Vocês abrem hoje?",
        "← agent to Maria +5511900000002: [simulated]",
    ] {
        eventually(line, || async { machine.output().contains(line).then_some(()) }).await;
    }
    assert!(machine.stop("-INT").success());
}

#[tokio::test]
async fn a_demonstration_that_was_cut_off_begins_anew_though_a_person_has_the_conversation() {
    let mut machine = Machine::prepared(&[
        ("META_ACCESS_TOKEN", ""),
        ("ANTHROPIC_API_KEY", ""),
        ("RECADO_SIMULATED_LATENCY_MS", "0"),
        ("RECADO_DEBOUNCE_SECONDS", ""),
        ("RECADO_DEBOUNCE_MAX_SECONDS", ""),
    ]);
    machine.unset("EVOLUTION_API_KEY");
    machine.start("");
    let shown = || async { machine.output().contains("Ctrl-C stops").then_some(()) };
    eventually("the demonstration", shown).await;
    let id = machine.conversation().await;
    assert!(run(&machine, &["conversations", "take", &id]).success);
    assert!(machine.stop("-INT").success());
    machine.start("");
    eventually("the second demonstration", || async {
        machine.output().contains("Ctrl-C stops").then_some(())
    })
    .await;
    let output = machine.output();
    assert!(
        output.contains("one reply to 3 messages"),
        "{output}{}",
        machine.log()
    );
}

#[tokio::test]
async fn the_curl_line_that_try_prints_works_as_pasted() {
    let mut machine = Machine::prepared(&[("RECADO_SIMULATED_LATENCY_MS", "0")]);
    machine.unset("EVOLUTION_API_KEY");
    machine.start("serve");
    let ran = run(&machine, &["try"]);
    let line = ran.out.trim();
    assert!(ran.success && line.starts_with("curl "), "{line}{}", ran.err);
    let told: serde_json::Value = serde_json::from_str(&run(&machine, &["try", "--json"]).out).unwrap();
    let command = told["command"].as_str().unwrap();
    assert!(command.starts_with("curl "), "{told}");
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
        output.contains(&machine.secret("suporte-01")) && output.contains("/webhooks/evolution"),
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

/// Runs `recado serve`, which must end by itself with an error.
fn refused(machine: &Machine, arguments: &[&str]) -> String {
    let output = machine.command(arguments).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success(), "{error}");
    error
}

#[tokio::test]
async fn a_start_without_a_configuration_stops_and_makes_no_folder() {
    let mut machine = Machine::prepared(&[]);
    machine.unset("RECADO_CONFIG");
    std::fs::remove_file(machine.data().with_file_name("recado.toml")).unwrap();
    let error = refused(&machine, &["serve"]);
    assert!(
        error.contains("there is no recado.toml") && error.contains("--config"),
        "{error}"
    );
    assert!(!machine.data().exists());
}

#[tokio::test]
async fn a_lost_webhook_secret_is_not_replaced_without_a_word() {
    let mut machine = Machine::prepared(&[]);
    machine.unset("RECADO_WEBHOOK_SECRET");
    machine.start("serve");
    let file = machine.data().join("webhook-secret");
    let secret = std::fs::read(&file).unwrap();
    machine.stop("-TERM");
    std::fs::remove_file(&file).unwrap();
    let error = refused(&machine, &["serve"]);
    assert!(
        error.contains("webhook-secret is missing") && error.contains("recado connect"),
        "{error}"
    );
    assert!(!file.exists());
    std::fs::write(&file, secret).unwrap();
    machine.start("serve");
}

#[tokio::test]
async fn a_taken_address_and_a_missing_field_are_named_with_the_remedy() {
    let first = Machine::serving(&[]);
    let address = first.url("").trim_start_matches("http://").to_owned();
    let mut machine = Machine::prepared(&[]);
    let error = refused(&machine, &["serve", "--addr", &address]);
    assert!(
        error.contains(&address) && error.contains("choose another: --addr"),
        "{error}"
    );
    machine.configure(&Machine::sample().replace("external_id = \"100000000000001\"", ""));
    let error = refused(&machine, &["serve"]);
    assert!(error.contains("phone_number_id"), "{error}");
}

#[tokio::test]
async fn an_entry_whose_secret_is_not_there_is_set_aside_and_the_rest_is_served() {
    let mut machine = Machine::prepared(&[]);
    let pager = "webhook = { url = \"https://pager.example/in\", secret = \"env:RECADO_ALERT_PAGER\" }";
    machine.configure(&format!(
        "{}\ncredential = \"env:RECADO_CREDENTIAL_DEMO_META\"\n\n[[alerts.destinations]]\nid = \"pager\"\n{pager}\n",
        Machine::sample()
    ));
    machine.start("serve");
    machine
        .evolution(&evolution_text(
            INSTANCE,
            "5511900000001@s.whatsapp.net",
            "S1",
            "Oi",
            seconds(),
        ))
        .await;
    assert_eq!(machine.phone(1).await[0].text, "echo: Oi");
    eventually("the number without its key", || async {
        let health = machine.get("/health/whatsapp?instance=meta-01").await;
        (health["instances"][0]["connection"] == "needs_credentials").then_some(())
    })
    .await;
    let place = "alert destination `pager`: webhook.secret";
    let checks = machine.get("/v1/checks").await;
    assert_eq!(checks["missing_secrets"][0]["entry"], place);
    assert!(machine.log().contains(place), "{}", machine.log());
}

#[tokio::test]
async fn a_hang_up_finishes_what_was_begun_and_each_line_names_its_span_once() {
    let mut machine = Machine::serving(&[]);
    let wrong = evolution_text(INSTANCE, "5511900000001@s.whatsapp.net", "H1", "Oi", seconds());
    let request = machine.http.post(machine.url("/webhooks/evolution"));
    assert_eq!(request.json(&wrong).send().await.unwrap().status(), 401);
    assert_eq!(machine.evolution(&wrong).await, 200);
    machine.phone(1).await;
    machine.quiet().await;
    let log = machine.log();
    let lines: Vec<serde_json::Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(
        lines.iter().any(|line| line["spans"].is_array())
            && lines.iter().all(|line| line.get("span").is_none())
    );
    let refused = lines
        .iter()
        .find(|line| line["message"].as_str().unwrap().contains("its proof is missing"));
    assert_eq!(refused.unwrap()["instance"], INSTANCE);
    machine.set("RECADO_LOG", "text");
    assert_eq!(machine.stop("-HUP").code(), Some(0));
    machine.start("serve");
    eventually("a line for people", || async {
        machine
            .log()
            .contains("INFO connections are limited")
            .then_some(())
    })
    .await;
}
