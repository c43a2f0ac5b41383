"""Checks what became of everything after the program started on an image: against the marks, and what phones got."""
import collections

from story import (CONTACTS, body_of, file_of, number_of, post_until_taken, send_until_taken, wait_for_rest, wait_healthy,
                   words_of)

class Known:
    """What the outside knew at the crash."""

    def __init__(self, marks):
        self.written, self.acknowledged = collections.defaultdict(list), set()
        self.asked, self.taken, self.sent = {}, set(), []
        for mark in marks:
            if mark["what"] == "write":
                self.written[mark["contact"]].append(mark)
            elif mark["what"] == "acknowledged":
                self.acknowledged.add((mark["contact"], mark["place"]))
            elif mark["what"] == "send":
                self.asked[mark["text"]] = mark["contact"]
            elif mark["what"] == "taken":
                self.taken.add(mark["text"])
            elif mark["what"] == "sent":
                self.sent.append(mark)


def repeat_and_go_on(tenant, known, rng):
    """Providers and clients repeat what was not acknowledged, and some of what was; then each contact writes once more. Returns the
    messages of each contact in their order, by their words."""
    wanted = {}
    for contact in range(CONTACTS):
        for mark in known.written[contact]:
            if (contact, mark["place"]) not in known.acknowledged or rng.random() < 0.1:
                post_until_taken(tenant, mark["body"])
        places = [mark["place"] for mark in known.written[contact]] + [9000]
        post_until_taken(tenant, body_of(contact, 9000))
        wanted[contact] = [f"m-{contact}-{place}" for place in places]
    for text, contact in known.asked.items():
        if text not in known.taken or rng.random() < 0.1:
            send_until_taken(tenant, contact, text)
    return wanted


def check_stored(tenant, wanted, messages):
    """Everything that was acknowledged is stored once, in its order, and each file is what the contact sent."""
    users = [one for one in messages if one["role"] == "user"]
    stored = [words_of(one["content"]) for one in users]
    lost, order = [words for words in wanted if words not in stored], list(dict.fromkeys(stored))
    assert not lost, f"lost although it was acknowledged: {lost}; stored: {stored}"
    assert stored == order, f"stored twice: {stored}"
    assert stored == wanted, f"not in the order of the contact: {stored}, wanted {wanted}"
    for one in users:
        if one["media_url"]:
            answer = tenant.recado.ask("GET", f"/v1/messages/{one['id']}/media")
            same = answer.status == 200 and answer.body == file_of(one["provider_message_id"])
            assert same, f"the file of {words_of(one['content'])}: {answer.status}, {len(answer.body)} bytes"


def check_sent(tenant, contact, wanted, messages):
    """The phone got each text once, or its record says that it may have been repeated; replies are in order, and the last is known."""
    got = [words_of(one.text) for one in tenant.line.stored if one.number == number_of(contact)]
    ours = {words_of(one["content"]): one for one in messages if one["role"] != "user"}
    for words, times in collections.Counter(got).items():
        assert words in ours, f"the phone got {words}, which no record knows"
        detail = tenant.recado.get(f"/v1/messages/{ours[words]['id']}")
        assert times == 1 or detail["maybe_sent"], f"{words} arrived {times} times without a mark: {detail}"
    replies = [int(words.split("-")[2]) for words in dict.fromkeys(got) if words[0] == "m"]
    assert replies == sorted(replies), f"replies out of order: {got}"
    assert replies and f"m-{contact}-{replies[-1]}" == wanted[-1], f"the last message is not answered: {got}"
    unsent = [words for words, one in ours.items() if one["status"] in ("sent", "delivered") and words not in got]
    assert not unsent, f"counts as sent and never arrived: {unsent}"


def check_taken(known, tenant):
    """Each message that a client's program was told to be taken went out once, or has its mark (above)."""
    got = {words_of(one.text) for one in tenant.line.stored}
    missing = [text for text in known.asked if text not in got]
    assert not missing, f"a client's messages never arrived: {missing}"


def check_everything(recado, tenant, known, rng):
    wanted = repeat_and_go_on(tenant, known, rng)
    for contact in range(CONTACTS):
        messages = wait_for_rest(tenant, contact, wanted[contact][-1])
        check_stored(tenant, wanted[contact], messages)
        check_sent(tenant, contact, wanted[contact], messages)
    check_taken(known, tenant)
    wait_healthy(recado)
    assert "panicked" not in recado.log(), "a panic: " + recado.log()[-2000:]
