"""Stand-ins of the models: Anthropic's API, and an API as OpenAI has it for chats, embeddings and transcripts."""
import itertools
import json
import re
import time

from harness.web import StandIn

TENANT = re.compile(r"You answer for the tenant ([a-z0-9-]+)\.")
IDS = itertools.count(1)


class Asked:
    """One request to a model. `text` is all that it read after the system prompt, `last` its last message."""

    def __init__(self, received):
        self.body, self.headers, self.path, self.at = received.json(), received.headers, received.path, time.monotonic()
        messages = self.body.get("messages", [])
        systems = [flat(one["content"]) for one in messages if one["role"] == "system"]
        self.system = flat(self.body.get("system")) + "\n".join(systems)
        self.messages = [(one["role"], flat(one.get("content"))) for one in messages if one["role"] != "system"]
        self.text = "\n".join(text for _, text in self.messages)
        self.last = self.messages[-1][1] if self.messages else ""
        self.model = self.body.get("model", "")
        found = TENANT.search(self.system)
        self.tenant = found[1] if found else None

    def __contains__(self, words):
        return words in self.text


def flat(content):
    """The text of a message's content, with a mark for each picture and document."""
    if content is None or isinstance(content, str):
        return content or ""
    shown = []
    for part in content:
        kind = part.get("type")
        if kind == "text":
            shown.append(part.get("text", ""))
        elif kind == "tool_result":
            shown.append("<result> " + flat(part.get("content")))
        elif kind == "tool_use":
            shown.append("<call> " + json.dumps(part.get("input")))
        else:
            shown.append(f"<{kind}>")
    return "\n".join(shown)


class Model(StandIn):
    """Answers by what the case of the tenant in the system prompt has set: a text, the call of a tool as (name, arguments), a
    list of both, or a status. Without a script it repeats the last line that it read. Requests without a tenant, such as those
    that rewrite a question, are answered by the script of a word that they hold."""

    def __init__(self, port=0):
        self.asked, self.scripts, self.scripts_by_word = [], {}, {}
        super().__init__(port)

    def of(self, tenant):
        return [one for one in list(self.asked) if one.tenant == tenant]

    def find_script(self, asked):
        if asked.tenant is None:
            return next((script for word, script in list(self.scripts_by_word.items()) if word in asked.text), repeat)
        return self.scripts.get(asked.tenant, repeat)

    def answer(self, received):
        if not received.body:
            return 404, {}
        asked = Asked(received)
        self.asked.append(asked)
        said = self.find_script(asked)(asked)
        if isinstance(said, int):
            return said, {"type": "error", "error": {"type": "api_error", "message": "the model failed"}}
        return 200, self.reply(asked, said if isinstance(said, list) else [said])


def repeat(asked):
    return "Reply to: " + (asked.last.strip().splitlines() or [""])[-1]


class Anthropic(Model):
    def reply(self, asked, parts):
        content = [{"type": "text", "text": part} if isinstance(part, str) else
                   {"type": "tool_use", "id": f"toolu_{next(IDS)}", "name": part[0], "input": part[1]} for part in parts]
        calls = any(not isinstance(part, str) for part in parts)
        return {"id": f"msg_{next(IDS)}", "type": "message", "role": "assistant", "model": asked.model, "content": content,
                "stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None,
                "usage": {"input_tokens": 12, "output_tokens": 7}}


class OpenAi(Model):
    """`meanings` names words that have the same vector; `transcripts` has the text of a recording by its bytes. Texts with a word of
    `held` get no vectors until the case lets them, by the event of the word."""

    def __init__(self, port=0):
        self.embedded, self.recordings, self.meanings, self.transcripts, self.held = [], [], [], {}, {}
        super().__init__(port)

    def answer(self, received):
        if received.path.endswith("/embeddings"):
            return self.embed(received.json())
        if received.path.endswith("/audio/transcriptions"):
            self.recordings.append(received)
            found = [text for data, text in self.transcripts.items() if data in received.body]
            return (200, {"text": found[0]}) if found else (500, {"error": {"message": "no such recording"}})
        return super().answer(received)

    def embed(self, asked):
        texts = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
        self.embedded += texts
        for event in [event for word, event in list(self.held.items()) if any(word in text for text in texts)]:
            event.wait(60)
        vectors = [{"object": "embedding", "index": at, "embedding": self.vector(text)} for at, text in enumerate(texts)]
        return 200, {"object": "list", "data": vectors, "model": asked["model"], "usage": {"prompt_tokens": 1, "total_tokens": 1}}

    def vector(self, text):
        """A vector with one place for each set of words of one meaning, and a little of nothing in particular."""
        places = [1.0 if any(word in text.lower() for word in words) else 0.0 for words in self.meanings]
        return (places + [0.0] * 32)[:31] + [0.05]

    def reply(self, asked, parts):
        text = "".join(part for part in parts if isinstance(part, str))
        calls = [{"id": f"call_{next(IDS)}", "type": "function", "function": {"name": part[0], "arguments": json.dumps(part[1])}}
                 for part in parts if not isinstance(part, str)]
        message = {"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})}
        return {"id": f"c_{next(IDS)}", "object": "chat.completion", "created": int(time.time()), "model": asked.model,
                "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}],
                "usage": {"prompt_tokens": 12, "completion_tokens": 7, "total_tokens": 19}}
