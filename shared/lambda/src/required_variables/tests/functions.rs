//! What stands at a function in `template.yaml`, and what both functions that send may do.

use super::{CONSUME, TEMPLATE, needed, resource};
use crate::required_variables::{DEFERRED_REPLY, FUNCTIONS, SENDER};

#[test]
fn each_function_stands_between_its_role_and_its_log_group() {
    let (_, section) = TEMPLATE.split_once(" 4 Functions\n").unwrap();
    let section = section.split(" 5 HTTP API\n").next().unwrap();
    let headings = section
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.strip_suffix(':'));
    let found: Vec<&str> = headings.filter(|name| !name.starts_with([' ', '#'])).collect();
    let mut expected = vec!["RecordsPolicy".to_owned()];
    for needs in &FUNCTIONS {
        let name = needs.name;
        expected.push(format!("{name}Role"));
        if needs.schedules {
            expected.push("SchedulerRole".to_owned());
        }
        expected.extend([format!("{name}Function"), format!("{name}Logs")]);
        let function = resource(&format!("{name}Function")).join("\n");
        for own in [
            format!("Role: !GetAtt {name}Role.Arn"),
            format!("LogGroup: !Ref {name}Logs "),
        ] {
            assert!(function.contains(&own), "{name}: {own}");
        }
    }
    assert_eq!(found, expected);
}

#[test]
fn what_commits_replies_may_send_them_as_the_sender_does() {
    let (sends, commits) = (needed(&SENDER), needed(&DEFERRED_REPLY));
    let lacking: Vec<_> = sends
        .difference(&commits)
        .filter(|(action, _)| !action.starts_with("logs:") && !CONSUME.contains(&action.as_str()))
        .collect();
    assert!(lacking.is_empty(), "{lacking:?}");
    let social = resource("SocialSender");
    let roles = social.iter().find_map(|line| line.trim().strip_prefix("Roles: "));
    assert_eq!(roles, Some("[!Ref SenderRole, !Ref DeferredReplyRole]"));
}
