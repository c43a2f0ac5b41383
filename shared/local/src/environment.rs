//! The settings of one machine, read once at start.

use crate::server::{ServerLimits, TrustedProxies};
use crate::traces::TraceSettings;
use jiff::SignedDuration;
use recado_ai::ModelSettings;
use recado_domain::secret::Secret;
use recado_domain::web_url::WebUrl;
use recado_email::CarrierSettings;
use recado_http::WebhookLimits;
use recado_machine::record::RecordMode;
use recado_pipeline::Settings;
use recado_pipeline::settings::VariableReader;
use recado_whatsapp::ProviderConfig;
use recado_whatsapp::list_named_keys;
use recado_whatsapp::webhook::WebhookKeys;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// Wait after the last sign that a contact types, unless set. One machine keeps the signs in memory, where they cost nothing.
const TYPING_LONG: SignedDuration = SignedDuration::from_secs(10);

/// The settings that are not in `recado.toml`.
#[derive(Debug, Clone)]
pub struct LocalEnvironment {
    /// `RECADO_ADDR`: the address to listen on.
    pub address: SocketAddr,
    /// `RECADO_DATA`: the data folder.
    pub data: PathBuf,
    /// `RECADO_CONFIG`: the configuration that is applied at start. `None`: `recado.toml` in the current folder, else
    /// the sample.
    pub config: Option<PathBuf>,
    /// `RECADO_PUBLIC_URL`: the base URL at which providers reach this machine.
    pub public_url: Option<String>,
    /// `RECADO_TOKEN`: the operators' token.
    pub token: Option<Secret>,
    /// `RECADO_WEBHOOK_SECRET`: the master that webhook secrets are derived from.
    pub master: Option<Secret>,
    /// `RECADO_WEBHOOK_SECRET_OLD`: the master before it, accepted while the master is being replaced.
    pub master_old: Option<Secret>,
    /// The other secrets that prove webhooks, from the settings that the providers name for them.
    pub webhook: WebhookKeys,
    /// The providers' settings, such as their base URLs and API versions.
    pub providers: ProviderConfig,
    pub model: ModelSettings,
    /// `RECADO_SIMULATION`: `auto` (`true`) simulates instances that have neither a model's key nor a credential, `off`
    /// (`false`) nothing. `None`: `recado` alone simulates, `recado serve` does not.
    pub simulation: Option<bool>,
    pub webhook_limits: WebhookLimits,
    /// The limits of connections.
    pub server: ServerLimits,
    /// `RECADO_RECORD`: the part of each webhook that is recorded.
    pub record: RecordMode,
    /// `RECADO_RECORD_DIR`: the folder of the recordings.
    pub record_folder: PathBuf,
    /// `RECADO_LOG`: the form of the log lines. `None`: text on a terminal, JSON elsewhere.
    pub log: Option<LogFormat>,
    /// `RECADO_DISK_MIN_MB`: free space below which the disk counts as full, in bytes.
    pub least_free: u64,
    /// `RECADO_METRICS_TOKEN`: the token that opens `/metrics` and nothing else.
    pub metrics_token: Option<Secret>,
    /// `RECADO_METRICS_INSTANCES`: the number of instances that have series of their own.
    pub metrics_instances: usize,
    /// `RECADO_HEARTBEAT_URL`: the URL that is requested every minute.
    pub heartbeat_url: Option<String>,
    /// The export of traces. `None`: there is none.
    pub traces: Option<TraceSettings>,
    /// The carriers of e-mail.
    pub email: CarrierSettings,
    /// Times and limits of the use cases.
    pub settings: Settings,
}

/// The form of the log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// Lines for people.
    Text,
    /// One JSON object per line.
    Json,
}

/// Names that the commands read as arguments.
const ARGUMENT_NAMES: [&str; 2] = ["RECADO_URL", "RECADO_PROVIDER_KEY"];

impl LocalEnvironment {
    /// Reads all settings.
    pub fn from_variables(reader: &mut VariableReader) -> Self {
        let mut settings = Settings::from_environment(reader);
        if reader.read_text("RECADO_TYPING_LONG_SECONDS").is_none() {
            settings.typing.long = TYPING_LONG;
        }
        let providers = ProviderConfig::from_environment(reader, settings.provider_timeout.unsigned_abs());
        reader.add_known_names(&ARGUMENT_NAMES);
        Self {
            address: read_address(reader),
            data: read_path(reader, "RECADO_DATA", ".recado"),
            config: reader.read_text("RECADO_CONFIG").map(PathBuf::from),
            public_url: reader.read_base_url("RECADO_PUBLIC_URL"),
            token: reader.read_secret("RECADO_TOKEN"),
            master: reader.read_secret("RECADO_WEBHOOK_SECRET"),
            master_old: reader.read_secret("RECADO_WEBHOOK_SECRET_OLD"),
            webhook: read_webhook_keys(reader),
            providers,
            model: ModelSettings::from_environment(reader),
            simulation: reader.read_simulation(),
            webhook_limits: WebhookLimits::from_environment(reader),
            server: read_server_limits(reader),
            record: read_record_mode(reader),
            record_folder: read_path(reader, "RECADO_RECORD_DIR", "recorded"),
            log: read_log_format(reader),
            least_free: reader.read_number(&["RECADO_DISK_MIN_MB"], (0, 1_000_000_000), 100_u64) * 1_000_000,
            metrics_token: reader.read_secret("RECADO_METRICS_TOKEN"),
            metrics_instances: reader.read_number(&["RECADO_METRICS_INSTANCES"], (0, 100_000), 50),
            heartbeat_url: read_heartbeat_url(reader),
            traces: TraceSettings::from_environment(reader),
            email: CarrierSettings::from_environment(reader),
            settings,
        }
    }
}

/// Port to listen on, if none is given.
const PORT: u16 = 8080;

fn read_address(reader: &mut VariableReader) -> SocketAddr {
    let local = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
    let Some(text) = reader.read_text("RECADO_ADDR") else {
        return local;
    };
    parse_address(&text).unwrap_or_else(|| {
        let what = format!("`{text}` is no address: write 127.0.0.1:8080, localhost:8080 or 8080");
        reader.add_problem("RECADO_ADDR", what);
        local
    })
}

/// Parses an address to listen on. Its host or its port may be left out: this machine alone, and 8080.
fn parse_address(text: &str) -> Option<SocketAddr> {
    if let Ok(address) = text.parse() {
        return Some(address);
    }
    if let Ok(host) = text.parse::<IpAddr>() {
        return Some(SocketAddr::from((host, PORT)));
    }
    let (host, port) = text.rsplit_once(':').unwrap_or(match text {
        "localhost" => (text, "8080"),
        _ => ("", text),
    });
    let local = matches!(host, "" | "localhost");
    local
        .then(|| port.parse().ok())
        .flatten()
        .map(|port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
}

fn read_log_format(reader: &mut VariableReader) -> Option<LogFormat> {
    reader.read_parsed("RECADO_LOG", None, "must be text or json", |text| match text {
        "text" => Some(Some(LogFormat::Text)),
        "json" => Some(Some(LogFormat::Json)),
        _ => None,
    })
}

fn read_heartbeat_url(reader: &mut VariableReader) -> Option<String> {
    let what = "must be a URL that begins with https:// or http://";
    reader.read_parsed("RECADO_HEARTBEAT_URL", None, what, |text| {
        WebUrl::parse(text).map(|_| Some(text.to_owned()))
    })
}

fn read_path(reader: &mut VariableReader, name: &str, default: &str) -> PathBuf {
    PathBuf::from(reader.read_text(name).unwrap_or_else(|| default.to_owned()))
}

/// Returns the secrets that prove webhooks, apart from the master, for all providers.
fn read_webhook_keys(reader: &mut VariableReader) -> WebhookKeys {
    let mut keys = WebhookKeys::default();
    for key in list_named_keys() {
        keys.set_named_secrets(key, reader.read_secret(key.setting).as_ref());
    }
    keys
}

fn read_server_limits(reader: &mut VariableReader) -> ServerLimits {
    let usual = ServerLimits::default();
    let count = |text: &str| text.parse().ok().filter(|count| *count > 0);
    let above = "must be a number above 0";
    let networks = "must be addresses or networks, separated by commas, such as 10.0.0.7,192.0.2.0/24";
    ServerLimits {
        connections: reader.read_parsed("RECADO_CONNECTIONS_MAX", usual.connections, above, count),
        per_address: reader.read_parsed("RECADO_CONNECTIONS_PER_ADDRESS", usual.per_address, above, count),
        header_time: read_timeout(reader, "RECADO_HEADER_TIMEOUT_SECONDS", usual.header_time),
        body_time: read_timeout(reader, "RECADO_BODY_TIMEOUT_SECONDS", usual.body_time),
        proxies: reader.read_parsed(
            "RECADO_TRUSTED_PROXIES",
            usual.proxies,
            networks,
            TrustedProxies::parse_networks,
        ),
    }
}

/// Reads a time-out in seconds, from a tenth of a second to an hour.
fn read_timeout(reader: &mut VariableReader, name: &str, usual: Duration) -> Duration {
    let usual = SignedDuration::try_from(usual).unwrap_or(SignedDuration::MAX);
    reader
        .read_duration(&[name], 1.0, (0.1, 3600.0), usual)
        .unsigned_abs()
}

fn read_record_mode(reader: &mut VariableReader) -> RecordMode {
    let what = "must be off, redacted or full";
    reader.read_parsed("RECADO_RECORD", RecordMode::Off, what, |text| match text {
        "off" => Some(RecordMode::Off),
        "redacted" => Some(RecordMode::Redacted),
        "full" => Some(RecordMode::Full),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: &str = include_str!("../../../docs/settings.md");

    fn table() -> &'static str {
        let table = SETTINGS.split("## Settings on one machine").nth(1).unwrap();
        table.split("## Parameters on AWS").next().unwrap()
    }

    #[test]
    fn the_settings_page_names_every_setting_that_is_read() {
        let mut reader = VariableReader::default();
        LocalEnvironment::from_variables(&mut reader);
        let asked: Vec<&str> = reader
            .known_names()
            .filter(|name| !ARGUMENT_NAMES.contains(name))
            .collect();
        assert!(asked.contains(&"RECADO_ADDR") && asked.contains(&"RECADO_TURNS_BACKOFF"));
        let (own, earlier): (Vec<&str>, Vec<&str>) = asked.iter().partition(|name| !name.starts_with("WA_"));
        let table = table();
        let rows: String = table.lines().filter(|line| line.starts_with('|')).collect();
        for name in own {
            assert!(rows.contains(&format!("`{name}`")), "{name} has no row");
        }
        for name in earlier {
            assert!(table.contains(&format!("`{name}`")), "{name} is not explained");
        }
    }

    fn read(variables: &[(&str, &str)]) -> (LocalEnvironment, Vec<String>) {
        let mut reader = VariableReader::new(variables.iter().copied());
        let environment = LocalEnvironment::from_variables(&mut reader);
        let problems = reader.into_problems().into_iter();
        (environment, problems.map(|problem| problem.name).collect())
    }

    /// What the settings page says is the default of each setting, where that is a value.
    fn said() -> std::collections::BTreeMap<String, String> {
        let mut said = std::collections::BTreeMap::new();
        for row in table().lines().filter(|line| line.starts_with("| `")) {
            let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
            let names: Vec<&str> = cells[0].split('`').skip(1).step_by(2).collect();
            let is_one =
                cells[1].starts_with('`') && cells[1].ends_with('`') && cells[1].matches('`').count() == 2;
            let values: Vec<&str> = if is_one {
                vec![cells[1]; names.len()]
            } else {
                cells[1].split(", ").collect()
            };
            for (name, value) in names.into_iter().zip(values) {
                let is_value =
                    value.starts_with('`') && value.ends_with('`') && value.matches('`').count() == 2;
                if is_value || value.parse::<f64>().is_ok() {
                    said.insert(name.to_owned(), value.trim_matches('`').to_owned());
                }
            }
        }
        said
    }

    #[test]
    fn the_settings_page_says_each_default_as_it_is() {
        let said = said();
        assert!(said.len() > 25, "{said:?}");
        let mut reader = VariableReader::new(said);
        let told = LocalEnvironment::from_variables(&mut reader);
        assert_eq!(reader.list_warnings(), []);
        assert_eq!(reader.into_problems(), []);
        let (usual, _) = read(&[]);
        assert_eq!(told.settings, usual.settings);
        assert_eq!(format!("{told:?}"), format!("{usual:?}"));
    }

    /// Ranges that the settings page names: one for each setting of a row, or one of times for all.
    fn said_ranges() -> Vec<(String, f64, f64)> {
        let mut all = Vec::new();
        for row in table().lines().filter(|line| line.starts_with("| `RECADO_")) {
            let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
            let names: Vec<&str> = cells[0].split('`').skip(1).step_by(2).collect();
            let words: Vec<&str> = cells.last().unwrap().split([' ', '(', ')', ';', ',']).collect();
            let ranges = words.windows(3).filter(|three| three[1] == "to");
            let numbers = ranges.filter_map(|three| Some((three[0].parse().ok()?, three[2].parse().ok()?)));
            let mut ranges: Vec<(f64, f64)> = numbers.collect();
            if ranges.len() == 1 && names.iter().all(|name| name.ends_with("_SECONDS")) {
                ranges = vec![ranges[0]; names.len()];
            }
            if ranges.len() == names.len() {
                let pairs = names.into_iter().zip(ranges);
                all.extend(pairs.map(|(name, (least, most))| (name.to_owned(), least, most)));
            }
        }
        all
    }

    #[test]
    fn the_settings_page_says_each_range_as_it_is() {
        let ranges = said_ranges();
        assert!(ranges.len() > 25, "{ranges:?}");
        for (name, least, most) in ranges {
            let problem_with = |value: f64| {
                let mut reader = VariableReader::new([(name.as_str(), value.to_string())]);
                LocalEnvironment::from_variables(&mut reader);
                let found = reader.into_problems().into_iter();
                let found = found.map(|problem| problem.to_string());
                let is_of_range = |problem: &String| problem.contains("must be a number from");
                found.filter(is_of_range).collect::<Vec<_>>()
            };
            let refusal = format!("{name}: must be a number from {least} to {most}");
            for inside in [least, most] {
                assert_eq!(problem_with(inside), [""; 0], "{name}={inside}");
            }
            for outside in [least - 1.0, most + 1.0] {
                assert_eq!(problem_with(outside), [refusal.as_str()], "{name}={outside}");
            }
        }
    }

    #[test]
    fn an_empty_environment_is_enough() {
        let (environment, problems) = read(&[]);
        assert!(problems.is_empty());
        assert!(environment.address.ip().is_loopback());
        assert_eq!(environment.simulation, None);
    }

    #[test]
    fn everything_that_is_wrong_is_named_at_once() {
        let wrong = [
            "RECADO_ADDR",
            "META_BASE_URL",
            "D360_BASE_URL",
            "RECADO_SIMULATION",
            "RECADO_STALE_SECONDS",
        ];
        let (_, mut names) = read(&wrong.map(|name| (name, "nonsense")));
        names.sort();
        assert_eq!(
            names,
            [
                "D360_BASE_URL",
                "META_BASE_URL",
                "RECADO_ADDR",
                "RECADO_SIMULATION",
                "RECADO_STALE_SECONDS"
            ]
        );
    }

    #[test]
    fn an_address_is_taken_as_people_write_it() {
        for (text, address) in [
            ("127.0.0.1:9000", Some("127.0.0.1:9000")),
            ("0.0.0.0:80", Some("0.0.0.0:80")),
            ("[::1]:9000", Some("[::1]:9000")),
            ("10.0.0.7", Some("10.0.0.7:8080")),
            ("localhost:9000", Some("127.0.0.1:9000")),
            ("localhost", Some("127.0.0.1:8080")),
            (":9000", Some("127.0.0.1:9000")),
            ("9000", Some("127.0.0.1:9000")),
            ("recado.example:9000", None),
            ("nowhere", None),
            ("99999", None),
        ] {
            let expected = address.map(|address| address.parse().unwrap());
            assert_eq!(parse_address(text), expected, "{text}");
        }
    }

    #[test]
    fn several_app_secrets_are_accepted_at_once() {
        let (environment, _) = read(&[("META_APP_SECRET", "old, new,")]);
        assert_eq!(environment.webhook.named_secrets("META_APP_SECRET").len(), 2);
    }
}
