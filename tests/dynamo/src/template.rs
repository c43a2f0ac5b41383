//! The table as `template.yaml` declares it, so that what is simulated has the keys and indexes of what is deployed.

use crate::SimulationError;
use dynoxide::Database;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// The table's name: on AWS the stack gives it.
pub(crate) const TABLE: &str = "records";

pub(crate) const TEMPLATE: &str = include_str!("../../../template.yaml");

/// What of the table's properties is `CreateTable`'s, under the same names. The others say how it is kept and paid.
const CREATED_WITH: [&str; 5] = [
    "AttributeDefinitions",
    "KeySchema",
    "GlobalSecondaryIndexes",
    "LocalSecondaryIndexes",
    "BillingMode",
];

#[derive(Deserialize)]
struct Template {
    #[serde(rename = "Resources")]
    resources: Resources,
}

#[derive(Deserialize)]
struct Resources {
    #[serde(rename = "Table")]
    table: Resource,
}

#[derive(Deserialize)]
struct Resource {
    #[serde(rename = "Properties")]
    properties: Map<String, Value>,
}

/// The bodies of the two requests that make the table.
#[derive(Debug)]
pub struct TableRequests {
    /// The body of `CreateTable`.
    pub create: String,
    /// The body of `UpdateTimeToLive`.
    pub time_to_live: String,
}

static DECLARED: LazyLock<Result<TableRequests, String>> = LazyLock::new(|| read_template(TEMPLATE));

fn read_template(template: &str) -> Result<TableRequests, String> {
    let template: Template = serde_yaml_ng::from_str(template).map_err(|error| error.to_string())?;
    let mut properties = template.resources.table.properties;
    let Some(time_to_live) = properties.remove("TimeToLiveSpecification") else {
        return Err("the table has no TimeToLiveSpecification".to_owned());
    };
    let mut create: Map<String, Value> = properties
        .into_iter()
        .filter(|(name, _)| CREATED_WITH.contains(&name.as_str()))
        .collect();
    create.insert("TableName".to_owned(), json!(TABLE));
    Ok(TableRequests {
        create: Value::Object(create).to_string(),
        time_to_live: json!({"TableName": TABLE, "TimeToLiveSpecification": time_to_live}).to_string(),
    })
}

/// Returns the requests that make the table of `template.yaml`.
pub fn table_requests() -> Result<&'static TableRequests, SimulationError> {
    DECLARED
        .as_ref()
        .map_err(|error| SimulationError::Template(error.clone()))
}

/// Makes the table in `database`.
pub(crate) fn make_table(database: &Database) -> Result<(), SimulationError> {
    let declared = table_requests()?;
    let unreadable = |error: serde_json::Error| SimulationError::Template(error.to_string());
    database.create_table(serde_json::from_str(&declared.create).map_err(unreadable)?)?;
    database.update_time_to_live(serde_json::from_str(&declared.time_to_live).map_err(unreadable)?)?;
    Ok(())
}
