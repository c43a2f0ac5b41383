//! The Model Context Protocol over standard input and output: each message is a line of JSON.

use super::McpToolServer;
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Stdout, stdin, stdout,
};
use tokio::sync::{Mutex, oneshot};
use tokio::task::JoinSet;

/// The versions of the protocol that are spoken here, the newest first.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Greatest size of a message, in bytes.
const MESSAGE_MAX: u64 = 16 * 1024 * 1024;

/// The reason why a request has no result, as the protocol tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RpcRefusal {
    /// The line is no JSON.
    Unreadable = -32_700,
    /// The method is not known.
    NoMethod = -32_601,
    /// The parameters cannot be used.
    WrongParameters = -32_602,
}

/// The result of a request, or why there is none, with words for it.
pub(super) type RpcAnswer = Result<Value, (RpcRefusal, String)>;

/// Answers requests, side by side, until the client closes standard input.
pub(super) async fn serve_client(server: McpToolServer) -> Result<()> {
    let (server, output) = (Arc::new(server), Arc::new(Mutex::new(stdout())));
    let (mut input, mut has_begun) = (BufReader::new(stdin()), false);
    let (mut tasks, mut open) = (JoinSet::new(), HashMap::new());
    while let Some(message) = read_message(&mut input).await? {
        // Calls that have ended are forgotten.
        while tasks.try_join_next().is_some() {}
        open.retain(|_, cancels: &mut oneshot::Sender<()>| !cancels.is_closed());
        let Some(method) = message["method"].as_str().map(str::to_owned) else {
            if message.is_null() {
                let refused = Err((RpcRefusal::Unreadable, "this is no JSON".to_owned()));
                write_answer(&output, &Value::Null, refused).await;
            }
            continue;
        };
        let Some(id) = message.get("id").filter(|id| !id.is_null()).cloned() else {
            if method == "notifications/cancelled" {
                let cancelled = open.remove(&message["params"]["requestId"].to_string());
                let _ = cancelled.map(|cancels| cancels.send(()));
            }
            continue;
        };
        has_begun = true;
        let (cancels, cancelled) = oneshot::channel();
        open.insert(id.to_string(), cancels);
        let (server, output) = (server.clone(), output.clone());
        tasks.spawn(async move {
            let answer = tokio::select! {
                answer = server.answer_request(&method, &message["params"]) => answer,
                Ok(()) = cancelled => return,
            };
            write_answer(&output, &id, answer).await;
        });
    }
    while tasks.join_next().await.is_some() {}
    if !has_begun {
        bail!("no client spoke the Model Context Protocol on standard input");
    }
    Ok(())
}

/// Chooses the version of the protocol: the client's if it is known here, or else the newest.
pub(super) fn choose_version(params: &Value) -> &'static str {
    let wanted = params["protocolVersion"].as_str();
    let known = VERSIONS.into_iter().find(|version| wanted == Some(*version));
    known.unwrap_or(VERSIONS[0])
}

/// Reads a message. `None`: there are no more. A line that is no JSON is `null`; empty ones are left out.
async fn read_message(input: &mut (impl AsyncBufRead + Unpin)) -> Result<Option<Value>> {
    loop {
        let mut line = Vec::new();
        let read = (&mut *input).take(MESSAGE_MAX).read_until(b'\n', &mut line).await;
        if read.context("standard input cannot be read")? == 0 {
            return Ok(None);
        }
        if line.len() as u64 == MESSAGE_MAX && !line.ends_with(b"\n") {
            bail!("a message has more than {MESSAGE_MAX} bytes");
        }
        if !line.trim_ascii().is_empty() {
            return Ok(Some(serde_json::from_slice(&line).unwrap_or_default()));
        }
    }
}

/// Writes an answer as a line. Where nobody reads any more, the command ends by itself.
async fn write_answer(output: &Mutex<Stdout>, id: &Value, answer: RpcAnswer) {
    let answer = match answer {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err((refusal, words)) => {
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": refusal as i64, "message": words}})
        }
    };
    let line = format!("{answer}\n");
    let mut output = output.lock().await;
    if output.write_all(line.as_bytes()).await.is_ok() {
        let _ = output.flush().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_gets_its_version_of_the_protocol_if_it_is_known_and_else_the_newest() {
        for (wanted, chosen) in [("2024-11-05", "2024-11-05"), ("2999-01-01", "2025-11-25")] {
            assert_eq!(choose_version(&json!({"protocolVersion": wanted})), chosen);
        }
        assert_eq!(choose_version(&Value::Null), "2025-11-25");
    }

    #[tokio::test]
    async fn messages_are_lines_and_a_line_that_is_no_json_is_told() {
        let mut input: &[u8] = b"{\"id\":1}\n\r\n{\"id\":\n2";
        let mut read = Vec::new();
        while let Some(message) = read_message(&mut input).await.unwrap() {
            read.push(message);
        }
        assert_eq!(read, [json!({"id": 1}), Value::Null, json!(2)]);
    }
}
