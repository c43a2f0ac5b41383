use recado_ports::settings::VariableReader;
use std::time::Duration;

/// The settings of the client: addresses and the time limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoogleCalendarConfig {
    /// Base URL of the Calendar API, up to and with its version.
    pub api_base_url: String,
    /// URL that gives access tokens. The URL that a key file names is not used: a tenant must not choose where its key is sent.
    pub token_url: String,
    /// Longest time of one call, with the request for an access token.
    pub timeout: Duration,
}

impl Default for GoogleCalendarConfig {
    fn default() -> Self {
        Self {
            api_base_url: "https://www.googleapis.com/calendar/v3".to_owned(),
            token_url: "https://oauth2.googleapis.com/token".to_owned(),
            timeout: Duration::from_secs(8),
        }
    }
}

impl GoogleCalendarConfig {
    /// Reads the settings from the environment, on AWS and on one machine alike.
    pub fn from_environment(reader: &mut VariableReader) -> Self {
        let defaults = Self::default();
        let mut url = |name: &str, default| reader.read_base_url(name).unwrap_or(default);
        let api_base_url = url("GOOGLE_CALENDAR_BASE_URL", defaults.api_base_url);
        let token_url = url("GOOGLE_TOKEN_URL", defaults.token_url);
        let seconds = reader.read_number(
            &["RECADO_CALENDAR_TIMEOUT_SECONDS"],
            (1.0, 30.0),
            defaults.timeout.as_secs_f64(),
        );
        Self {
            api_base_url,
            token_url,
            timeout: Duration::from_secs_f64(seconds),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_the_time_limit_are_read_and_nonsense_is_named() {
        let mut reader = VariableReader::new([
            ("GOOGLE_CALENDAR_BASE_URL", "http://127.0.0.1:4000/calendar/v3/"),
            ("GOOGLE_TOKEN_URL", "ftp://example.org"),
            ("RECADO_CALENDAR_TIMEOUT_SECONDS", "2.5"),
        ]);
        let config = GoogleCalendarConfig::from_environment(&mut reader);
        assert_eq!(config.api_base_url, "http://127.0.0.1:4000/calendar/v3");
        assert_eq!(config.timeout, Duration::from_millis(2500));
        let problems = reader.into_problems().into_iter();
        assert_eq!(
            problems.map(|problem| problem.name).collect::<Vec<_>>(),
            ["GOOGLE_TOKEN_URL"]
        );
    }
}
