//! Reads the settings from the environment.

use super::variables::VariableReader;
use super::{MEBIBYTE, RewriteWay, Settings, TraceLinks, legacy_names};
use jiff::SignedDuration;
use recado_domain::backoff::Backoff;
use recado_domain::config::RESTART_DRAFTS_MAX;
use recado_domain::debounce::Debounce;
use recado_domain::knowledge::KnowledgeLimits;

const MINUTE: f64 = 60.0;
const HOUR: f64 = 3600.0;
const DAY: f64 = 86_400.0;

impl Settings {
    /// Returns the default settings, changed by the environment variables.
    pub fn from_environment(reader: &mut VariableReader) -> Self {
        let mut settings = Self::default();
        settings.read_times(reader);
        settings.read_attempts(reader);
        settings.read_turn_limits(reader);
        settings.read_file_limits(reader);
        settings.read_rewriting(reader);
        settings.trace_links = TraceLinks::from_environment(reader);
        settings
    }

    fn read_times(&mut self, reader: &mut VariableReader) {
        self.read_debounce(reader);
        self.read_background_times(reader);
        self.read_longest_waits(reader);
        let stale = &mut self.stale_after;
        reader.change_duration("RECADO_STALE_SECONDS", 1.0, (0.0, 365.0 * DAY), stale);
        let config = &mut self.config_ttl;
        reader.change_duration("RECADO_CONFIG_TTL_SECONDS", 1.0, (0.0, 300.0), config);
        reader.change_duration("RECADO_EVENT_TTL_DAYS", DAY, (0.0, 365.0), &mut self.event_ttl);
        reader.change_duration("RECADO_AUDIT_TTL_DAYS", DAY, (1.0, 3650.0), &mut self.audit_ttl);
        let published = &mut self.published_event_ttl;
        reader.change_duration("RECADO_PUBLISHED_EVENT_DAYS", DAY, (1.0, 90.0), published);
        reader.change_duration("RECADO_KEY_TTL_HOURS", HOUR, (48.0, 8760.0), &mut self.key_ttl);
        let unknown = &mut self.unknown_wait;
        reader.change_duration("RECADO_UNKNOWN_WAIT_SECONDS", 1.0, (0.0, DAY), unknown);
        let stale = &mut self.connection_stale;
        reader.change_duration("RECADO_CONNECTION_STALE_SECONDS", 1.0, (0.0, DAY), stale);
        let parked = &mut self.parked_max;
        reader.change_duration("RECADO_PARKED_MAX_HOURS", HOUR, (1.0, 720.0), parked);
        let deadline = &mut self.webhook_deadline;
        reader.change_duration("RECADO_WEBHOOK_DEADLINE_SECONDS", 1.0, (0.1, 60.0), deadline);
        let window = ["RECADO_INVITATION_WINDOW_MINUTES", legacy_names::DEDUPE_WINDOW];
        let most = 30.0 * DAY / MINUTE;
        self.invitation_window = reader.read_duration(&window, MINUTE, (0.0, most), self.invitation_window);
        let timeout = ["RECADO_PROVIDER_TIMEOUT_SECONDS", legacy_names::HTTP_TIMEOUT];
        // The maximum is 20 seconds: the time-out and the lease of the sender allow no more.
        self.provider_timeout = reader.read_duration(&timeout, 1.0, (0.1, 20.0), self.provider_timeout);
    }

    /// Reads how long a reply waits at most for a contact who goes on writing or is seen typing.
    fn read_longest_waits(&mut self, reader: &mut VariableReader) {
        let (max, typing) = (&mut self.debounce_max, &mut self.typing);
        reader.change_duration("RECADO_DEBOUNCE_MAX_SECONDS", 1.0, (0.0, 890.0), max);
        let (short, long) = (&mut typing.short, &mut typing.long);
        reader.change_duration("RECADO_TYPING_SHORT_SECONDS", 1.0, (0.0, 60.0), short);
        reader.change_duration("RECADO_TYPING_LONG_SECONDS", 1.0, (0.0, 60.0), long);
    }

    fn read_rewriting(&mut self, reader: &mut VariableReader) {
        let rewriting = &mut self.rewriting;
        let what = "must be model, rules or off";
        rewriting.way = reader.read_parsed("RECADO_REWRITE", rewriting.way, what, |text| match text {
            "model" => Some(RewriteWay::Model),
            "rules" => Some(RewriteWay::Rules),
            "off" => Some(RewriteWay::Off),
            _ => None,
        });
        if let Some(model) = reader.read_text("RECADO_REWRITE_MODEL") {
            rewriting.model = Some(model);
        }
        let timeout = &mut rewriting.timeout;
        reader.change_duration("RECADO_REWRITE_SECONDS", 1.0, (0.1, 10.0), timeout);
        let timeout = &mut self.question_vector_timeout;
        reader.change_duration("RECADO_EMBEDDINGS_QUESTION_SECONDS", 1.0, (0.1, 10.0), timeout);
        let (names, usual) = (
            ["RECADO_KNOWLEDGE_BLOCK_CHARACTERS"],
            self.knowledge_block_characters,
        );
        self.knowledge_block_characters = reader.read_number(&names, (200, 4_000), usual);
        let (names, most) = (["RECADO_KNOWLEDGE_BLOCKS"], KnowledgeLimits::BLOCKS_MAX);
        self.knowledge.blocks = reader.read_number(&names, (1, most), self.knowledge.blocks);
        let (names, usual) = (["RECADO_KNOWLEDGE_VECTORS_IN_MEMORY"], self.knowledge.blocks);
        self.knowledge.vectors = reader.read_number(&names, (0, most), usual);
    }

    fn read_file_limits(&mut self, reader: &mut VariableReader) {
        self.private_media = reader.read_bool("RECADO_PRIVATE_MEDIA", self.private_media);
        let mebibytes = self.file_bytes_max / MEBIBYTE;
        let mebibytes = reader.read_number(&["RECADO_MEDIA_MAX_MIB"], (1, 100), mebibytes);
        self.file_bytes_max = mebibytes * MEBIBYTE;
        // The function of the turns ends after 90 seconds, and the model may take 60.
        let wait = &mut self.file_wait;
        reader.change_duration("RECADO_MEDIA_WAIT_SECONDS", 1.0, (0.0, 20.0), wait);
    }

    /// Reads what is looked at beside the way of messages, and when.
    fn read_background_times(&mut self, reader: &mut VariableReader) {
        self.identity_attempts = reader.read_bool("RECADO_IDENTITY_ATTEMPTS", self.identity_attempts);
        let wait = &mut self.acknowledgement_wait;
        reader.change_duration("RECADO_ACKNOWLEDGEMENT_SECONDS", 1.0, (0.0, 7.0 * DAY), wait);
        let refresh = &mut self.picture_refresh;
        reader.change_duration("RECADO_PICTURE_DAYS", DAY, (0.0, 3650.0), refresh);
    }

    /// Reads the debounce: a number of seconds, or `adaptive`.
    fn read_debounce(&mut self, reader: &mut VariableReader) {
        const FIXED: &str = "RECADO_DEBOUNCE_SECONDS";
        let bounds = &mut self.debounce_bounds;
        let (short, long) = (&mut bounds.short, &mut bounds.long);
        reader.change_duration("RECADO_DEBOUNCE_SHORT_SECONDS", 1.0, (0.0, 300.0), short);
        reader.change_duration("RECADO_DEBOUNCE_LONG_SECONDS", 1.0, (0.0, 300.0), long);
        if bounds.short > bounds.long {
            reader.add_problem(
                "RECADO_DEBOUNCE_SHORT_SECONDS",
                "must not be above RECADO_DEBOUNCE_LONG_SECONDS",
            );
        }
        self.debounce = Debounce::Adaptive(self.debounce_bounds);
        let is_number = reader
            .find_text(&[FIXED])
            .is_some_and(|(_, text)| text != "adaptive");
        if is_number {
            let fixed = reader.read_duration(&[FIXED], 1.0, (0.0, 300.0), SignedDuration::ZERO);
            self.debounce = Debounce::Fixed(fixed);
        }
    }

    fn read_attempts(&mut self, reader: &mut VariableReader) {
        let (attempts, range) = (&mut self.attempts, (1, 100));
        let inbound = ["RECADO_INBOUND_ATTEMPTS", legacy_names::MAX_RETRIES];
        attempts.inbound = reader.read_number(&inbound, range, attempts.inbound);
        attempts.turn = reader.read_number(&["RECADO_TURN_ATTEMPTS"], range, attempts.turn);
        let outbound = [
            "RECADO_OUTBOUND_ATTEMPTS",
            legacy_names::MAX_DELIVERIES,
            legacy_names::MAX_RETRIES,
        ];
        attempts.outbound = reader.read_number(&outbound, range, attempts.outbound);
        self.inbound_backoff = read_inbound_backoff(reader).unwrap_or_default();
        self.turns_backoff = read_backoff(reader, "RECADO_TURNS_BACKOFF").unwrap_or_default();
        self.outbound_backoff = read_outbound_backoff(reader).unwrap_or_default();
        if let Some(backoff) = read_backoff_sequence(reader) {
            self.delivery_backoff = backoff;
        }
        let per_second = ["RECADO_RATE_PER_SECOND", legacy_names::TOKENS_PER_SECOND];
        let burst = ["RECADO_RATE_BURST", legacy_names::BUCKET_CAPACITY];
        self.rate.per_second = reader.read_number(&per_second, (0.001, 1000.0), self.rate.per_second);
        self.rate.burst = reader.read_number(&burst, (1, 100_000), self.rate.burst);
    }

    fn read_turn_limits(&mut self, reader: &mut VariableReader) {
        let range = (0, RESTART_DRAFTS_MAX);
        self.restart_drafts = reader.read_number(&["RECADO_RESTART_DRAFTS"], range, self.restart_drafts);
        self.tool_calls = reader.read_number(&["RECADO_TOOL_CALLS"], (0, 20), self.tool_calls);
        self.private_tools = reader.read_bool("RECADO_PRIVATE_TOOLS", self.private_tools);
        self.private_mail_servers =
            reader.read_bool("RECADO_PRIVATE_MAIL_SERVERS", self.private_mail_servers);
        self.private_pages = reader.read_bool("RECADO_PRIVATE_PAGES", self.private_pages);
        let reads = &mut self.turn_reads;
        for (name, range, limit) in [
            ("RECADO_TURN_MESSAGES", (1, 200), &mut reads.messages),
            ("RECADO_MESSAGE_CHARS", (100, 100_000), &mut reads.message_chars),
            (
                "RECADO_TRANSCRIPT_CHARS",
                (100, 1_000_000),
                &mut reads.transcript_chars,
            ),
        ] {
            *limit = reader.read_number(&[name], range, *limit);
        }
        let files = &mut self.model_files;
        files.files = reader.read_number(&["RECADO_MODEL_FILES"], (0, 100), files.files);
        // Base64 makes it a third more, and the model's API takes requests of 32 MB.
        files.bytes = reader.read_number(&["RECADO_MODEL_FILE_BYTES"], (0, 22_000_000), files.bytes);
    }
}

fn read_backoff(reader: &mut VariableReader, name: &str) -> Option<Backoff> {
    let parsed = reader.read_text(name)?.parse::<Backoff>();
    parsed
        .map_err(|error| reader.add_problem(name, error.to_string()))
        .ok()
}

/// Reads the inbound backoff. The sequence of the earlier delivery service is also accepted.
fn read_inbound_backoff(reader: &mut VariableReader) -> Option<Backoff> {
    const OWN: &str = "RECADO_INBOUND_BACKOFF";
    let earlier = read_backoff_sequence(reader);
    if reader.find_text(&[OWN]).is_some() {
        return read_backoff(reader, OWN);
    }
    earlier
}

/// Reads the earlier delivery service's sequence of milliseconds.
fn read_backoff_sequence(reader: &mut VariableReader) -> Option<Backoff> {
    const NAME: &str = legacy_names::BACKOFF_SEQUENCE;
    let text = reader.read_text(NAME)?;
    let millis: Option<Vec<f64>> = text.split(',').map(|one| one.trim().parse().ok()).collect();
    let seconds = millis.map(|all| {
        all.iter()
            .map(|one| (one / 1000.0).to_string())
            .collect::<Vec<_>>()
    });
    let parsed = seconds.and_then(|all| all.join(",").parse().ok());
    if parsed.is_none() {
        reader.add_problem(
            NAME,
            "must be milliseconds separated by commas, none above 600000",
        );
    }
    parsed
}

/// Reads the outbound backoff. The earlier worker's two variable names are also accepted; its jitter was one half. So is the
/// sequence of the earlier delivery service.
fn read_outbound_backoff(reader: &mut VariableReader) -> Option<Backoff> {
    const OWN: &str = "RECADO_OUTBOUND_BACKOFF";
    const BASE: &str = legacy_names::BASE_BACKOFF;
    const CAP: &str = legacy_names::MAX_BACKOFF;
    let earlier = reader.find_text(&[BASE, CAP]);
    let sequence = read_backoff_sequence(reader);
    if reader.find_text(&[OWN]).is_some() {
        return read_backoff(reader, OWN);
    }
    if earlier.is_none() {
        return sequence;
    }
    let base = reader.read_number(&[BASE], (0.001, 600.0), 2.0);
    let cap = reader.read_number(&[CAP], (0.001, 600.0), 60.0);
    if base > cap {
        reader.add_problem(BASE, format!("must not be above {CAP}"));
    }
    Some(Backoff::Exponential {
        base,
        cap,
        jitter: 0.5,
    })
}
