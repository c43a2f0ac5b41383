#!/usr/bin/env python3
"""Posts webhooks from many clients at once, each on one connection that it keeps, each waiting for its answer before
it posts again. A process of its own: `load.py PORT FIRST COUNT CLIENTS`. Prints, as JSON, what came of it."""

import asyncio
import gc
import json
import resource
import socket
import sys
import time

from evolution import http_request

SECONDS_MAX = 900


class Client(asyncio.Protocol):
    """One connection."""

    def __init__(self, requests, results, over):
        self.requests = requests
        self.results = results
        self.over = over
        self.buffer = b""
        self.sent_at = 0.0

    def connection_made(self, transport):
        self.transport = transport
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def post(self):
        request = next(self.requests, None)
        if request is None:
            self.finish()
            return
        self.sent_at = time.perf_counter()
        self.transport.write(request)

    def data_received(self, data):
        self.buffer += data
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self.buffer[:end].lower()
        start = head.find(b"content-length:")
        length = int(head[start + 15 :].split(b"\r\n", 1)[0]) if start >= 0 else 0
        if len(self.buffer) < end + 4 + length:
            return
        self.results.append((int(self.buffer[9:12]), time.perf_counter() - self.sent_at))
        self.buffer = self.buffer[end + 4 + length :]
        self.post()

    def connection_lost(self, _error):
        self.finish()

    def finish(self):
        if not self.over.done():
            self.over.set_result(None)
            self.transport.close()


async def run(port, first, count, clients):
    host = f"127.0.0.1:{port}"
    requests = iter([http_request(number, host) for number in range(first, first + count)])
    results = []
    loop = asyncio.get_running_loop()
    overs = [loop.create_future() for _ in range(clients)]
    # Connect all first, so that connecting is not measured.
    made = []
    for over in overs:
        client = Client(requests, results, over)
        await loop.create_connection(lambda c=client: c, "127.0.0.1", port)
        made.append(client)
    gc.collect()
    gc.disable()
    before = processor_seconds()
    started = time.perf_counter()
    for client in made:
        client.post()
    await asyncio.wait_for(asyncio.gather(*overs), SECONDS_MAX)
    seconds = time.perf_counter() - started
    return summary(results, seconds, processor_seconds() - before)


def processor_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def summary(results, seconds, processor):
    latencies = sorted(latency for _, latency in results)
    statuses = {}
    for status, _ in results:
        statuses[str(status)] = statuses.get(str(status), 0) + 1

    def percentile(share):
        # The nearest rank: a latency that really occurred.
        return latencies[max(0, -(-len(latencies) * share // 100) - 1)] * 1000 if latencies else None

    return {
        "answers": len(results),
        "statuses": statuses,
        "seconds": seconds,
        "per_second": len(results) / seconds,
        "p50_ms": percentile(50),
        "p99_ms": percentile(99),
        "max_ms": percentile(100),
        "client_cpu_share": processor / seconds,
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(run(*map(int, sys.argv[1:5])))))
