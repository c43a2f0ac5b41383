//! HTTP proxies, read from the environment.

use reqwest::{NoProxy, Proxy};

/// Hosts for which no proxy is used, whatever `NO_PROXY` says: this machine.
const LOCAL_HOSTS: &str = "localhost,127.0.0.0/8,::1";

/// Returns the proxies that `variable` names: `HTTP_PROXY`, `HTTPS_PROXY` and `ALL_PROXY` in upper or lower case. Hosts
/// in `NO_PROXY` are excluded. A proxy whose URL cannot be read is left out.
pub(crate) fn read_proxies(variable: impl Fn(&str) -> Option<String>) -> Vec<Proxy> {
    let named = |name: &str| {
        let text = variable(&name.to_ascii_lowercase()).or_else(|| variable(name))?;
        (!text.trim().is_empty()).then_some(text)
    };
    let excluded =
        named("NO_PROXY").map_or_else(|| LOCAL_HOSTS.to_owned(), |more| format!("{LOCAL_HOSTS},{more}"));
    // `REQUEST_METHOD` is set in a CGI program. There a web server sets `HTTP_PROXY` from a request's header. So the value is not
    // trusted.
    let http = named("HTTP_PROXY").filter(|_| variable("REQUEST_METHOD").is_none());
    [
        http.and_then(|url| Proxy::http(url).ok()),
        named("HTTPS_PROXY").and_then(|url| Proxy::https(url).ok()),
        named("ALL_PROXY").and_then(|url| Proxy::all(url).ok()),
    ]
    .into_iter()
    .flatten()
    .map(|proxy| proxy.no_proxy(NoProxy::from_string(&excluded)))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_variable_makes_a_proxy_and_none_makes_none() {
        let count = |set: &[&str]| {
            let variable = |name: &str| {
                set.contains(&name)
                    .then(|| "http://proxy.example:3128".to_owned())
            };
            read_proxies(variable).len()
        };
        assert_eq!(count(&[]), 0);
        assert_eq!(count(&["http_proxy", "HTTPS_PROXY"]), 2);
        assert_eq!(count(&["ALL_PROXY", "HTTP_PROXY", "REQUEST_METHOD"]), 1);
    }
}
