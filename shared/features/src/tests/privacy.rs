//! What must not come out again: not in an answer, not in the log.

use crate::tests::webhooks::evolution_message;
use crate::tests::{Site, TOKEN, secret_of};
use serde_json::json;
use std::io::Write;
use std::sync::{Arc, Mutex};
use tracing_subscriber::fmt::MakeWriter;

/// A log that is kept.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// Runs the test below in a process of its own: a subscriber for one thread would miss what other threads write, and tests
/// that run beside it decide which log statements are switched on.
#[test]
fn neither_answers_nor_the_log_at_its_finest_repeat_what_came() {
    let alone = "tests::privacy::with_the_process_to_itself";
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", alone, "--ignored", "--test-threads", "1"])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && told.contains("1 passed"),
        "{told}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[tokio::test]
#[ignore = "is run by the test above, in a process of its own"]
async fn with_the_process_to_itself() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .finish();
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let site = Site::in_memory().configured().await;
    let secret = secret_of("master", "suporte-01");
    let good = evolution_message().to_string();
    let path = format!("/webhooks/evolution/k/{secret}");
    let mut answers = String::new();
    for (path, key, body) in [
        ("/webhooks/evolution", secret.as_str(), good.as_str()),
        (path.as_str(), "", &good),
        ("/webhooks/evolution", "wrong-key", &good),
        (
            "/webhooks/evolution",
            "",
            r#"{"instance":"suporte-01","bom dia 5511900000001"#,
        ),
        ("/webhooks/meta", "", &good),
    ] {
        answers.push_str(
            &site
                .ask("POST", path, &[("apikey", key)], body.to_owned())
                .await
                .text,
        );
    }
    let id = site.conversation("5511900000001@s.whatsapp.net").await;
    let answer = format!("/v1/conversations/{id}/messages");
    assert_eq!(
        site.operate("POST", &answer, &json!({"text": "bom dia"}))
            .await
            .status
            .as_u16(),
        202
    );

    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(
        log.contains("webhook acknowledged") && log.contains("correlation_id"),
        "{log}"
    );
    for private in [
        "bom dia",
        "5511900000001",
        "3EB0B2C4D5E6",
        "Bia",
        "provider-key",
        "wrong-key",
        &secret,
        TOKEN,
    ] {
        assert!(!log.contains(private), "{private} in the log: {log}");
        assert!(!answers.contains(private), "{private} in an answer");
    }
}
