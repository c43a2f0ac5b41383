//! Lists the contract's cases, so that a test runner names each: every `pub async fn` of a file in `src/contract`.
//!
//! The list is written as the macros `store_contract!` and `queues_contract!`, which `src/contract.rs` includes.

use std::error::Error;
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

const FOLDER: &str = "src/contract";
/// The files whose cases are about the queues.
const QUEUES: [&str; 4] = ["dead_queues", "files", "joint_writes", "payloads"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={FOLDER}");
    let mut files = fs::read_dir(FOLDER)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()?;
    files.sort();
    let (mut store, mut queues) = (String::new(), String::new());
    for file in files {
        let name = file
            .file_stem()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let cases = list_cases(&fs::read_to_string(&file)?);
        if cases.is_empty() {
            continue;
        }
        let list = if QUEUES.contains(&name) {
            &mut queues
        } else {
            &mut store
        };
        write!(list, "{name} {{ {cases} }}\n            ")?;
    }
    let lists = [("store_contract", store), ("queues_contract", queues)];
    let macros = lists.map(|(name, cases)| write_macro(name, &cases)).concat();
    let path = Path::new(&env::var("OUT_DIR")?).join("contract_cases.rs");
    Ok(fs::write(path, macros)?)
}

/// Returns the names of the cases in a file's text, each with a comma behind it.
fn list_cases(text: &str) -> String {
    text.lines()
        .filter_map(|line| line.strip_prefix("pub async fn ")?.split_once('<'))
        .fold(String::new(), |list, (case, _)| list + case + ", ")
}

fn write_macro(name: &str, cases: &str) -> String {
    format!(
        "/// Makes a test of every case of the contract. See [`contract`].
#[macro_export]
macro_rules! {name} {{
    ($make:expr) => {{
        $crate::{name}!($make, $crate::contract::check_nothing_more);
    }};
    ($make:expr, $after:expr) => {{
        $crate::contract_tests! {{ $make, $after;
            {cases}
        }}
    }};
}}
"
    )
}
