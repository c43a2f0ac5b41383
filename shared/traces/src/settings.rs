//! The settings of traces, by the names that OpenTelemetry gives them.

use recado_pipeline::settings::VariableReader;

/// The settings of traces.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceSettings {
    /// `OTEL_EXPORTER_OTLP_ENDPOINT`: the base URL of the host that takes the spans.
    endpoint: String,
    /// `OTEL_SERVICE_NAME`: the name under which the spans are exported.
    pub(crate) service: String,
    /// `OTEL_TRACES_SAMPLER_ARG`: the part of the traces that is exported, from 0 to 1.
    pub(crate) ratio: f64,
}

impl TraceSettings {
    /// Reads the settings. `None`: no endpoint is set, and no traces are made. The exporter itself reads
    /// `OTEL_EXPORTER_OTLP_HEADERS`, which may hold a key, and `OTEL_RESOURCE_ATTRIBUTES`.
    pub fn from_environment(reader: &mut VariableReader) -> Option<Self> {
        reader.add_known_names(&["OTEL_EXPORTER_OTLP_HEADERS", "OTEL_RESOURCE_ATTRIBUTES"]);
        let endpoint = reader.read_base_url("OTEL_EXPORTER_OTLP_ENDPOINT");
        let service = reader.read_text("OTEL_SERVICE_NAME");
        let ratio = reader.read_number(&["OTEL_TRACES_SAMPLER_ARG"], (0.0, 1.0), 1.0);
        Some(Self {
            endpoint: endpoint?,
            service: service.unwrap_or_else(|| "recado".to_owned()),
            ratio,
        })
    }

    /// Returns the URL to which spans are posted.
    pub(crate) fn traces_url(&self) -> String {
        format!("{}/v1/traces", self.endpoint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(set: &[(&str, &str)]) -> (Option<TraceSettings>, usize) {
        let mut reader = VariableReader::new(set.iter().copied());
        let settings = TraceSettings::from_environment(&mut reader);
        (settings, reader.into_problems().len())
    }

    #[test]
    fn without_an_endpoint_there_are_no_traces() {
        assert_eq!(read(&[("OTEL_SERVICE_NAME", "clinic")]), (None, 0));
        let (set, problems) = read(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318/")]);
        let set = set.unwrap();
        assert_eq!(problems, 0);
        assert_eq!(set.traces_url(), "http://127.0.0.1:4318/v1/traces");
        assert_eq!((set.service.as_str(), set.ratio), ("recado", 1.0));
    }

    #[test]
    fn what_cannot_be_used_is_told() {
        let wrong = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318"),
            ("OTEL_TRACES_SAMPLER_ARG", "2"),
        ];
        assert_eq!(read(&wrong), (None, 2));
    }
}
