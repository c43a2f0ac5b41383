//! Every route that a page or a form names is one of the API.

use super::described_api::DescribedApi;
use crate::page_table::PAGES;
use crate::templates::{ANSWERS, TEMPLATES};
use std::collections::BTreeSet;

fn templates() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    TEMPLATES.iter().chain(ANSWERS)
}

#[test]
fn every_page_reads_routes_of_the_api_with_parameters_that_they_take() {
    let api = DescribedApi::shared();
    let routes: BTreeSet<_> = api.list_routes().iter().cloned().collect();
    for read in PAGES.iter().flat_map(|page| page.reads) {
        assert!(
            routes.contains(&("GET".to_owned(), read.api_route().to_owned())),
            "{}",
            read.path
        );
        let taken = api.list_query("GET", read.api_route());
        for name in named_in_query(read.path) {
            assert!(
                taken.contains(&name),
                "{} does not take `{name}`",
                read.api_route()
            );
        }
    }
}

/// The parameters of the query that a path names.
fn named_in_query(path: &str) -> Vec<String> {
    let mut names = Vec::new();
    for part in path.split('?').skip(1) {
        let places = part.split('}').next().unwrap_or_default();
        for word in places.split(['&', ',', '{']) {
            let name = word.split(['=', ':']).next().unwrap_or_default();
            if !name.is_empty() && name.chars().all(|char| char.is_ascii_lowercase() || char == '_') {
                names.push(name.to_owned());
            }
        }
    }
    names.retain(|name| name != "id");
    names
}

#[test]
fn every_permission_that_templates_ask_for_is_a_route_of_the_api() {
    let routes: BTreeSet<_> = DescribedApi::shared()
        .list_routes()
        .iter()
        .map(|(method, path)| format!("{method} {path}"))
        .collect();
    let mut asked = 0;
    for (name, source) in templates() {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            for rest in source.split(&format!("\"{method} /")).skip(1) {
                let route = format!("{method} /{}", rest.split('"').next().unwrap());
                assert!(routes.contains(&route), "{name}: {route}");
                asked += 1;
            }
        }
    }
    assert!(asked > 50, "{asked}");
}

#[test]
fn every_template_is_used() {
    let all: String = templates().map(|(_, source)| *source).collect();
    for (name, _) in TEMPLATES {
        let is_page = PAGES.iter().any(|page| page.template == *name);
        let is_answer_to_errors =
            ["sign_in.html", "refusal.html", "refusal_line.html", "answer.html"].contains(name);
        assert!(
            is_page || is_answer_to_errors || all.contains(&format!("\"{name}\"")),
            "{name}"
        );
    }
    for (name, _) in ANSWERS {
        let name = name.trim_start_matches("answers/").trim_end_matches(".html");
        assert!(
            all.contains(&format!("show=\"{name}\"")) || all.contains(&format!("\"_show\" value=\"{name}\"")),
            "{name}"
        );
    }
}
