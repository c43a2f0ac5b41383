//! The links from messages to their traces.

use super::VariableReader;
use recado_domain::ids::CorrelationId;
use recado_domain::trace_context::TraceId;
use recado_domain::web_url::WebUrl;

/// The part of `RECADO_TRACE_URL` that stands for the id of the trace.
const TRACE_ID_PLACE: &str = "{trace_id}";

/// The way from a message to its trace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TraceLinks {
    /// `true` if traces are exported: `OTEL_EXPORTER_OTLP_ENDPOINT` is set.
    pub are_exported: bool,
    /// `RECADO_TRACE_URL`: the URL of the page that shows a trace, with `{trace_id}` in the place of its id.
    pub template: Option<String>,
}

impl TraceLinks {
    pub(super) fn from_environment(reader: &mut VariableReader) -> Self {
        let what = "must be a URL that begins with https:// or http:// and holds {trace_id}";
        let parse = |text: &str| {
            let is_url = WebUrl::parse(&text.replace(TRACE_ID_PLACE, "0")).is_some();
            (is_url && text.contains(TRACE_ID_PLACE)).then(|| Some(text.to_owned()))
        };
        Self {
            are_exported: reader.read_text("OTEL_EXPORTER_OTLP_ENDPOINT").is_some(),
            template: reader.read_parsed("RECADO_TRACE_URL", None, what, parse),
        }
    }

    /// Returns the id of the trace of a correlation id. `None`: there are no traces.
    pub fn find_trace(&self, correlation: &CorrelationId) -> Option<TraceId> {
        (self.are_exported || self.template.is_some()).then(|| TraceId::of_correlation(correlation))
    }

    /// Returns the URL of the page that shows a trace.
    pub fn build_url(&self, trace: TraceId) -> Option<String> {
        let template = self.template.as_ref()?;
        Some(template.replace(TRACE_ID_PLACE, &trace.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str) -> (TraceLinks, usize) {
        let mut reader = VariableReader::new([("RECADO_TRACE_URL", url)]);
        let links = TraceLinks::from_environment(&mut reader);
        (links, reader.into_problems().len())
    }

    #[test]
    fn a_link_holds_the_id_of_the_trace() {
        let (links, problems) = read("https://jaeger.example/trace/{trace_id}?x=1");
        assert_eq!(problems, 0);
        let correlation = CorrelationId::parse("0193a4b5c6d7e8f90123456789abcdef").unwrap();
        let trace = links.find_trace(&correlation).unwrap();
        assert_eq!(
            links.build_url(trace).unwrap(),
            "https://jaeger.example/trace/0193a4b5c6d7e8f90123456789abcdef?x=1"
        );
        assert_eq!(TraceLinks::default().find_trace(&correlation), None);
    }

    #[test]
    fn a_link_without_the_place_of_the_id_is_refused() {
        for wrong in [
            "https://jaeger.example/",
            "javascript:{trace_id}",
            "jaeger/{trace_id}",
        ] {
            assert_eq!(read(wrong), (TraceLinks::default(), 1), "{wrong}");
        }
    }
}
