//! The tools of simulated agents, as they are configured.

use recado_domain::config::Calendar;
use recado_domain::ids::TenantId;
use recado_domain::tools::Tool;
use serde_json::{Value, json};

/// The end of the id of a calendar whose appointments carry reminders.
const REMINDING: &str = "-reminding";

/// The name of the tool that reads.
pub(super) const LOOKUP: &str = "lookup";

/// The first words of each reminder.
pub const REMINDER_WORDS: &str = "lembrete ";

fn make_tool(written: Value) -> Tool {
    serde_json::from_value(written).expect("a tool")
}

fn make_calendar_tool(tenant: &TenantId, calendar: &str) -> Tool {
    make_tool(
        json!({"id": format!("{tenant}-agenda"), "tenant": tenant, "name": "agenda",
        "description": "The agenda.", "effect": "acts", "timeout_seconds": 5, "calendar": calendar}),
    )
}

/// The calendar's tool in the configuration.
pub fn calendar_tool(tenant: &TenantId) -> Tool {
    make_calendar_tool(tenant, &format!("{tenant}-agenda"))
}

/// The same of a calendar whose appointments carry two reminders, two hours and one hour before.
pub fn reminding_tool(tenant: &TenantId) -> Tool {
    make_calendar_tool(tenant, &format!("{tenant}{REMINDING}"))
}

/// The calendar of a tool in the configuration.
pub fn calendar_of(tool: &Tool) -> Option<Calendar> {
    let id = tool.calendar.as_ref()?;
    let day = json!(["00:00-24:00"]);
    let hours = json!({"mon": day, "tue": day, "wed": day, "thu": day, "fri": day, "sat": day, "sun": day});
    let reminders = ["PT2H", "PT1H"].map(
        |before| json!({"before": before, "text": format!("{REMINDER_WORDS}{before} {{date}} {{time}}")}),
    );
    let reminders = if id.as_str().ends_with(REMINDING) {
        &reminders[..]
    } else {
        &[]
    };
    let calendar = json!({"id": id, "tenant": tool.tenant, "minutes": [30], "simulated": true,
        "rules": {"grid_minutes": 30, "hours": hours}, "reminders": reminders});
    Some(serde_json::from_value(calendar).expect("a calendar"))
}

/// The tool of the order service in the configuration: its effects cannot be asked about.
pub fn blind_tool(tenant: &TenantId) -> Tool {
    make_tool(
        json!({"id": format!("{tenant}-order"), "tenant": tenant, "name": "order",
        "description": "Orders.", "effect": "acts", "timeout_seconds": 5,
        "arguments": {"type": "object", "properties": {"title": {"type": "string"}}},
        "http": {"method": "POST", "url": "https://orders.example/"}}),
    )
}

/// A tool that reads. Its time limit of 6 seconds is no other's.
pub fn reading_tool(tenant: &TenantId) -> Tool {
    make_tool(
        json!({"id": format!("{tenant}-lookup"), "tenant": tenant, "name": LOOKUP,
        "description": "Looks something up.", "effect": "reads", "timeout_seconds": 6,
        "arguments": {"type": "object", "required": ["about"], "properties": {"about": {"type": "string"}}},
        "http": {"url": "https://lookup.example/"}}),
    )
}
