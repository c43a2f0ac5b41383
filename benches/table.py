"""The figures as Markdown."""

import statistics

COLD_TARGET_MS = 40


def markdown(figures):
    parts = [introduction(figures)]
    rows = [*parsing_rows(figures.get("parsing", [])), *cold_rows(figures.get("cold_start", {})), *embedded_rows(figures.get("embedded", []))]
    if rows:
        parts.append(table(["what", "figure"], rows))
    if "sizes" in figures:
        rows = [[f"`{name}`", mib(size["bytes"]), mib(size["zipped"])] for name, size in figures["sizes"].items()]
        parts.append(table(["binary", "size", "zipped"], rows))
    return "\n\n".join(parts) + "\n"


def introduction(figures):
    machine = figures["machine"]
    disk = machine["disk"]
    return (
        f"Measured on {machine['date']}: {machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, "
        f"{machine['kernel']}, {disk['file_system']} (write and sync of 4 KiB: {disk['write_and_sync_ms']} ms), "
        f"{machine['rustc']}, profile `{figures['profile']}`."
    )


def parsing_rows(results):
    return [
        [
            f"reading {result['what']} ({result['bytes']:,} bytes), split and interpreted",
            f"{result['microseconds']:.1f} µs, {result['mebibytes_per_second']:.0f} MiB/s",
        ]
        for result in results
    ]


def cold_rows(cold):
    rows = []
    for kind, runs in cold.items():
        over = {"plain": "AWS's stand-in over plain HTTP", "tls": "AWS's stand-in over TLS"}[kind]
        target = f" (target {COLD_TARGET_MS} ms)" if kind == "plain" else ""
        reads = runs[0]["cold_reads"]
        if kind == "plain":
            what = f"webhook function, start to ready, with three reads of AWS beside each other ({len(runs)} runs)"
            rows.append([what, spread(runs, "init_ms")])
        rows += [
            [f"… start to first 200, {over}, {reads} reads of secrets{target}", spread(runs, "first_response_ms")],
            [f"… processor time of that, {over}", spread(runs, "first_response_cpu_ms")],
            [f"… second message, {over}", spread(runs, "second_response_ms")],
            [f"… memory at most, {over}", spread(runs, "peak_kib", 1 / 1024, "MiB")],
        ]
    return rows


def spread(runs, name, factor=1.0, unit="ms"):
    values = [run[name] * factor for run in runs]
    least, middle, most = (f"{value:.1f}" for value in (min(values), statistics.median(values), max(values)))
    return f"median {middle} {unit} ({least} to {most})"


def embedded_rows(results):
    rows = []
    for result in results:
        who = "1 client" if result["clients"] == 1 else f"{result['clients']} clients"
        bound = "; the load generator was the limit" if result["client_cpu_share"] > 0.9 else ""
        what = f"`recado serve`, {who}, {result['messages']:,} webhooks, each durable (WAL, `synchronous=FULL`)"
        latency = f"p50 {result['p50_ms']:.1f} ms, p99 {result['p99_ms']:.1f} ms"
        shares = f"server {result['server_cpu_share']:.0%}, load generator {result['client_cpu_share']:.0%}"
        after = f"{result['stored_after_last_answer_s']:.1f} s after the last answer"
        memory = [f"{result[name] / 1024:.0f} MiB" for name in ("idle_rss_kib", "rss_kib", "peak_kib")]
        rows += [
            [what, f"{result['per_second']:,.0f} acknowledged/s; {latency}"],
            ["… on a processor meanwhile, of one core", shares + bound],
            ["… all stored in their conversations", f"{after} ({result['stored_per_second']:,.0f}/s over all)"],
            ["… memory before, after, at most", ", ".join(memory)],
        ]
    return rows


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def mib(size):
    return f"{size / 2**20:.1f} MiB"
