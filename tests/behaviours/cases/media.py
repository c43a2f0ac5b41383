"""Files of contacts are fetched, kept, shown to the model, and turned into text."""
import base64
import struct
import threading
import zlib

from harness.bodies import new_number
from harness.registry import behaviour
from harness.waiting import holds, same, until
from harness.web import request

FILE = "https://files.example/1"
PDF = (b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\n"
       b"trailer<</Root 1 0 R>>\n%%EOF\n")
OPUS = b"OggS\x00\x02" + b"\x00" * 22 + b"OpusHead a voice note of the behaviours"


def picture(width=40):
    """A grey PNG picture."""
    rows = b"".join(b"\0" + b"\x80" * width for _ in range(width))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, width, 8, 0, 0, 0, 0)) \
        + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def give(tenant, data, kind, name="file"):
    """Puts a file at the provider; returns the id of the message, or at Meta of the file, by which it is fetched."""
    id = f"FILE{new_number()}"
    tenant.phones.files[id] = data, kind, name
    return id


def stored(tenant, number):
    """Waits until the contact's newest file is stored, and returns the message and the file."""
    message = tenant.wait_message(number, lambda one: one["media_url"], "the stored file", "user")
    answer = tenant.recado.ask("GET", f"/v1/messages/{message['id']}/media")
    if answer.status in (302, 307):  # On AWS the bucket has it.
        answer = request(answer.headers["location"], "GET", "")
    same(answer.status, 200)
    return message, answer


KINDS = [
    ("image", {"imageMessage": {"mimetype": "image/png", "url": FILE, "caption": "olha"}}, picture(), "image/png"),
    ("audio", {"audioMessage": {"mimetype": "audio/mpeg", "url": FILE}}, b"ID3\x03" + b"\0" * 60, "audio/mpeg"),
    ("voice", {"audioMessage": {"mimetype": "audio/ogg; codecs=opus", "ptt": True, "url": FILE}}, OPUS, "audio/ogg"),
    ("video", {"videoMessage": {"mimetype": "video/mp4", "url": FILE}}, b"\0\0\0\x18ftypmp42" + b"\0" * 60, "video/mp4"),
    ("document", {"documentMessage": {"mimetype": "application/pdf", "fileName": "a.pdf", "url": FILE}}, PDF,
     "application/pdf"),
    ("sticker", {"stickerMessage": {"mimetype": "image/webp", "url": FILE}}, b"RIFF\x1a\0\0\0WEBPVP8L" + b"\0" * 14,
     "image/webp"),
]


@behaviour("0.54", "0.55", "0.56", "0.57", "0.58", "0.59", "0.60", "0.61", "0.62", "0.67", "0.108",
           "Images, recordings, voice notes, videos, documents and stickers are told apart, fetched from Evolution, stored and "
           "linked")
def kinds_of_files(recado):
    tenant = recado.tenant()
    for kind, message, data, mime in KINDS:
        number, id = new_number(), give(tenant, data, mime)
        tenant.write(number, message, id=id)
        tenant.wait_sent(number)
        first, answer = stored(tenant, number)
        same(first["type"], kind)
        same((answer.body, answer.headers["content-type"].split(";")[0]), (data, mime), kind)


@behaviour("0.62", "`media_url` of a message leads to its file without a token")
def link_to_a_file(recado):
    tenant, number = recado.tenant(), new_number()
    tenant.write(number, KINDS[0][1], id=give(tenant, picture(), "image/png"))
    message, _ = stored(tenant, number)
    url = message["media_url"]
    path = url.removeprefix(recado.url) if url.startswith("http") else url
    same(recado.ask("GET", path, token="").body, picture())
    wrong = path.replace("proof=", "proof=0")
    assert recado.ask("GET", wrong, token="").status in (401, 403, 404)


@behaviour("0.59", "0.60", "A file that comes as Base64 in the webhook is stored, and Evolution is not asked for it")
def base64_in_the_webhook(recado):
    tenant, number = recado.tenant(), new_number()
    message = {**KINDS[0][1], "base64": base64.b64encode(picture(50)).decode()}
    tenant.write(number, message)
    tenant.wait_sent(number)
    _, answer = stored(tenant, number)
    same(answer.body, picture(50))
    same([one.path for one in tenant.line.others if "getBase64" in one.path], [])


@behaviour("0.108", "The model sees a picture and a PDF document, with the caption")
def shown_to_the_model(recado):
    tenant = recado.tenant()
    for place, (data, mark) in enumerate(((picture(60), "<image>"), (PDF, "<document>"))):
        kind, message, _, mime = KINDS[0] if not place else KINDS[4]
        number = new_number()
        tenant.write(number, message, id=give(tenant, data, mime))
        tenant.wait_sent(number)
        holds(tenant.asked[-1].last, mark)
    holds(tenant.asked[0].last, "olha")


@behaviour("0.55", "0.108", "A voice note is transcribed; the model reads its words, and the API shows them")
def voice_note(recado):
    tenant, number = recado.tenant(), new_number()
    data = OPUS + number.encode()
    recado.partners.openai.transcripts[data] = "queria marcar para quinta"
    tenant.write(number, KINDS[2][1], id=give(tenant, data, "audio/ogg"))
    tenant.wait_sent(number)
    holds(tenant.asked[0].last, "queria marcar para quinta")
    text = tenant.wait_message(number, lambda one: one["file_text"], "the transcript")["file_text"]
    same(text["text"], "queria marcar para quinta")


@behaviour("0.54", "0.167", "A file that cannot be fetched leaves a placeholder, and the contact is answered")
def fetch_fails(recado):
    tenant, number = recado.tenant(), new_number()
    tenant.write(number, KINDS[0][1], id=f"NONE{number}")
    tenant.wait_sent(number, seconds=60)
    first = tenant.messages(number)[0]
    holds(first["content"], "[image]", "olha")
    assert first["media_url"] is None and first["file_note"], first


@behaviour("0.167", "A fetch that fails at first is repeated within the turn, and the model sees the file")
def fetch_fails_once(recado):
    tenant, number = recado.tenant(), new_number()
    id = give(tenant, picture(70), "image/png")
    tenant.phones.refused_files[id] = 1
    tenant.write(number, KINDS[0][1], id=id)
    tenant.wait_sent(number, seconds=60)
    holds(tenant.asked[0].last, "<image>")


@behaviour("0.184", "Files are fetched behind the acknowledgement: a slow one holds up neither the webhook nor another contact")
def slow_file(recado):
    tenant, number, other = recado.tenant(), new_number(), new_number()
    id, go_on = give(tenant, picture(80), "image/png"), threading.Event()

    def hold(received):
        if "getBase64" in received.path:
            go_on.wait(20)

    tenant.line.on_request = hold
    tenant.write(number, KINDS[0][1], id=id)
    tenant.write(other, "oi")
    tenant.wait_sent(other)
    go_on.set()
    tenant.wait_sent(number, seconds=60)
    stored(tenant, number)


@behaviour("0.59", "3.17", "Files of Meta and 360dialog are fetched by their id, and shown to the model")
def files_of_meta(recado):
    for provider in ("meta", "360dialog"):
        tenant, number = recado.tenant(provider), new_number()
        id = give(tenant, picture(90), "image/png")
        tenant.write(number, {"type": "image", "image": {"id": id, "mime_type": "image/png", "caption": "veja"}})
        tenant.wait_sent(number)
        _, answer = stored(tenant, number)
        same(answer.body, picture(90), provider)
        holds(tenant.asked[-1].last, "<image>", "veja")


@behaviour("0.108", "The text of a document is read by the model, and shown by the API")
def text_of_a_document(recado):
    tenant, number = recado.tenant(), new_number()
    message = {"documentMessage": {"mimetype": "text/csv", "fileName": "precos.csv", "url": FILE}}
    tenant.write(number, message, id=give(tenant, "Serviço;Preço\nLimpeza;R$ 90\n".encode(), "text/csv", "precos.csv"))
    tenant.wait_sent(number)
    holds(tenant.asked[0].last, "Limpeza", "R$ 90", "precos.csv")
    text = until(lambda: tenant.messages(number)[0]["file_text"], "the document's text")
    holds(text["text"], "Limpeza")
