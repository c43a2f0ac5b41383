//! `recado api`: sends one request to the API of a running installation, with the token.

use crate::command_environment::CommandEnvironment;
use crate::installation::InstallationArguments;
use anyhow::{Context, Result, anyhow};
use clap::Args;
use recado_machine::output;
use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Method, StatusCode};
use serde_json::Value;
use std::fs;
use std::io::{Read, stdin};
use std::process::ExitCode;

/// The exit status of this command.
const EXIT_STATUS: &str = "Exit status: 0 for a success (2xx); 3, 4 or 5 for an answer of another class (3xx, 4xx, 5xx), whose body is printed \
    all the same; 1 without an answer; 2 arguments that cannot be used.";

/// Sends a request to the API of a running installation, here or on AWS, and prints the answer's body.
///
/// All routes: docs/http-api.md, or /docs of the installation in a browser.
#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub struct ApiArguments {
    /// The method: GET, POST, PUT, PATCH or DELETE.
    #[arg(value_parser = parse_method_name)]
    method: Method,
    /// The path with its query, such as `/v1/conversations?limit=10`.
    path: String,
    /// The body: JSON, `@FILE` for a file, `@-` for standard input.
    #[arg(long, short)]
    body: Option<String>,
    /// A header, such as `Idempotency-Key: order-7` or `Content-Type: text/csv`.
    #[arg(long, short = 'H', value_name = "NAME: VALUE", value_parser = parse_header_line)]
    header: Vec<(HeaderName, HeaderValue)>,
    #[command(flatten)]
    there: InstallationArguments,
}

fn parse_method_name(text: &str) -> Result<Method, String> {
    let written = text.to_uppercase();
    let mut known = ["GET", "POST", "PUT", "PATCH", "DELETE"].into_iter();
    let method = known.find(|known| *known == written);
    let method = method.and_then(|known| known.parse().ok());
    method.ok_or_else(|| "there is GET, POST, PUT, PATCH, DELETE".to_owned())
}

fn parse_header_line(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    let (name, value) = text.split_once(':').ok_or("write it as NAME: VALUE")?;
    let name = name.trim().parse().map_err(|_| "its name is none")?;
    let value = value.trim().parse().map_err(|_| "its value is none")?;
    Ok((name, value))
}

/// Sends the request and prints the answer. Returns the exit status for the class of the answer.
pub(crate) async fn send_api_request(
    arguments: ApiArguments,
    environment: &CommandEnvironment,
) -> Result<ExitCode> {
    let there = arguments.there.build_client(environment)?;
    let mut request = there.build_written_request(arguments.method, &arguments.path)?;
    if let Some(body) = &arguments.body {
        if arguments.header.iter().all(|(name, _)| *name != CONTENT_TYPE) {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        request = request.body(read_body_argument(body)?);
    }
    for (name, value) in arguments.header {
        request = request.header(name, value);
    }
    let answer = there.exchange_request(request).await?;
    let status = answer.status();
    let body = answer.bytes().await.context("the answer was cut off")?;
    print_body(&body);
    if !status.is_success() {
        eprintln!("recado: {status}");
    }
    Ok(choose_exit_status(status))
}

fn read_body_argument(body: &str) -> Result<Vec<u8>> {
    match body.strip_prefix('@') {
        None => Ok(body.as_bytes().to_vec()),
        Some("-") => {
            let mut read = Vec::new();
            let done = stdin().read_to_end(&mut read);
            done.context("standard input cannot be read")?;
            Ok(read)
        }
        Some(file) => fs::read(file).map_err(|error| anyhow!("cannot read {file}: {error}")),
    }
}

/// Prints a body: JSON on a terminal with a field in each line, everything else as it is.
fn print_body(body: &[u8]) {
    let parsed = output::is_terminal_output().then(|| serde_json::from_slice::<Value>(body));
    if let Some(Ok(parsed)) = parsed {
        println!("{parsed:#}");
        return;
    }
    output::write_raw_bytes(body);
    // JSON has no line end of its own.
    if matches!(body.first(), Some(b'{' | b'[')) && body.last() != Some(&b'\n') {
        output::write_raw_bytes(b"\n");
    }
}

fn choose_exit_status(status: StatusCode) -> ExitCode {
    match status.as_u16() / 100 {
        2 => ExitCode::SUCCESS,
        class => ExitCode::from(u8::try_from(class).unwrap_or(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_and_headers_are_taken_as_people_write_them() {
        assert_eq!(parse_method_name("get"), Ok(Method::GET));
        assert!(parse_method_name("FETCH").unwrap_err().contains("PATCH"));
        let (name, value) = parse_header_line("Idempotency-Key: order-7").unwrap();
        assert_eq!(
            (name.as_str(), value.to_str().unwrap()),
            ("idempotency-key", "order-7")
        );
        assert!(parse_header_line("nothing").is_err() && parse_header_line("a b: c").is_err());
    }

    #[test]
    fn the_exit_status_is_the_class_of_the_answer() {
        for (status, exit) in [(200, 0), (202, 0), (302, 3), (404, 4), (503, 5)] {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(choose_exit_status(status), ExitCode::from(exit));
        }
    }

    #[test]
    fn data_is_written_out_or_in_a_file() {
        assert_eq!(read_body_argument("{}").unwrap(), b"{}");
        let error = read_body_argument("@/no/such/file").unwrap_err().to_string();
        assert!(error.starts_with("cannot read /no/such/file: "), "{error}");
    }
}
