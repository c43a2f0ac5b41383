use super::*;
use recado_domain::content::Content;

const CONTACT: &str = "5511900000001@s.whatsapp.net";
const OWN: &str = "5511900000099@s.whatsapp.net";

fn update(voters: [Value; 2]) -> Value {
    let [today, tomorrow] = voters;
    json!({"event": "messages.update", "instance": "suporte-01", "date_time": "t1", "sender": OWN,
        "data": {"keyId": "P1", "messageId": "row", "remoteJid": CONTACT, "fromMe": true,
            "pollUpdates": [{"name": "hoje", "voters": today}, {"name": "amanhã", "voters": tomorrow}]}})
}

#[test]
fn before_votes_were_messages_they_came_as_updates_of_the_poll() {
    let mut marked = update([json!([CONTACT]), json!([])]);
    marked["data"]["status"] = json!("DELETED");
    let mut first = marked.clone();
    first["data"] = json!({"id": "P1", "remoteJid": CONTACT, "fromMe": true, "datetime": 1_760_000_100_000_i64,
        "owner": "suporte-01", "pollUpdates": marked["data"]["pollUpdates"]});
    for body in [update([json!([CONTACT]), json!([])]), marked, first] {
        let read = said(&body);
        assert_eq!(read.address.as_str(), CONTACT);
        assert!(!read.from_me);
        assert_eq!(
            read.content,
            Content::PollVote {
                target: Some("P1".to_owned()),
                options: vec!["hoje".to_owned()]
            },
            "{body}"
        );
    }
}

#[test]
fn a_vote_that_was_taken_back_has_no_options_and_another_one_is_another_event() {
    let back = update([json!([]), json!([])]);
    assert!(matches!(said(&back).content, Content::PollVote { options, .. } if options.is_empty()));
    let mut again = update([json!([CONTACT]), json!([])]);
    let first = event(&again).id;
    assert_eq!(event(&again).id, first);
    again["date_time"] = json!("t2");
    assert_ne!(event(&again).id, first);
}

#[test]
fn a_vote_in_a_chat_known_by_its_lid_is_filed_under_the_voters_phone() {
    let mut body = update([json!([CONTACT]), json!([])]);
    body["data"]["remoteJid"] = json!("100000000000001@lid");
    assert_eq!(said(&body).address.as_str(), CONTACT);
    let mut ours = update([json!([OWN]), json!([])]);
    ours["data"]["remoteJid"] = json!("100000000000001@lid");
    let read = said(&ours);
    assert_eq!(read.address.as_str(), "100000000000001@lid");
    assert!(read.from_me);
    let mut group = update([json!([CONTACT]), json!([])]);
    group["data"]["remoteJid"] = json!("120363000000000001@g.us");
    assert_eq!(ignored(&group), "group message");
}

#[test]
fn what_comes_as_a_message_too_is_left_alone_as_an_update() {
    let mut vote = update([json!([CONTACT]), json!([])]);
    vote["data"]["status"] = json!("SERVER_ACK");
    assert_eq!(ignored(&vote), "update of a message's content");
    let edited = json!({"event": "messages.update", "instance": "suporte-01", "data": {"keyId": "AB12", "fromMe": true,
        "status": "SERVER_ACK", "message": {"editedMessage": {"message": {"conversation": "x"}}}}});
    assert_eq!(ignored(&edited), "update of a message's content");
}
