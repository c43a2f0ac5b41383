// Starts what the browser looks at: the local binary in a temporary folder, and a stand-in of Evolution API.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const TOKEN = "a-token-of-the-browser-test-0123456789";
const HERE = new URL(".", import.meta.url).pathname;

/** Evolution API with one instance, whose phone is to be paired. */
export async function startEvolution() {
  const server = createServer((request, response) => {
    const answer = (body) => {
      response.setHeader("Content-Type", "application/json");
      response.end(JSON.stringify(body));
    };
    if (request.url.includes("/instance/connectionState/")) return answer({ instance: { state: "close" } });
    if (request.url.includes("/instance/connect/")) return answer({ code: "2@invented-code", pairingCode: "WZYE-H1YY" });
    if (request.url === "/") return answer({ version: "2.3.0" });
    answer({});
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

/** A Recado in simulation, with the configuration of the test. It can be stopped, and started again at its address. */
export async function startRecado(evolution) {
  const folder = mkdtempSync(join(tmpdir(), "recado-console-"));
  const configuration = readFileSync(join(HERE, "recado.toml"), "utf8").replace("EVOLUTION_URL", evolution.url);
  writeFileSync(join(folder, "recado.toml"), configuration);
  const binary = process.env.RECADO_BINARY || join(HERE, "../../target/debug/recado");
  let child = null;
  let told = "";
  const start = (address) => {
    child = spawn(binary, ["serve"], {
      cwd: folder,
      env: {
        PATH: process.env.PATH,
        RECADO_ADDR: address,
        RECADO_DATA: join(folder, "data"),
        RECADO_CONFIG: join(folder, "recado.toml"),
        RECADO_TOKEN: TOKEN,
        RECADO_WEBHOOK_SECRET: "a-master-secret-of-the-browser-test",
        RECADO_SIMULATION: "auto",
        RECADO_PRIVATE_TOOLS: "true",
        RECADO_PUBLIC_URL: "http://127.0.0.1:9",
        RECADO_ONBOARDING_HOSTS: evolution.url,
        RECADO_CREDENTIAL_DEMO_EVOLUTION: "evolution-key",
      },
    });
    let own = "";
    return new Promise((found, failed) => {
      const read = (chunk) => {
        [own, told] = [own + chunk, told + chunk];
        const started = own.match(/Console at (http:\/\/127\.0\.0\.1:\d+)/);
        if (started) found(started[1]);
      };
      child.stdout.on("data", read);
      child.stderr.on("data", read);
      child.on("exit", (code) => failed(new Error(`recado ended with ${code}:\n${own}`)));
      child.on("error", failed);
    });
  };
  const stop = async () => {
    child.removeAllListeners("exit");
    const ended = new Promise((done) => child.on("exit", done));
    child.kill("SIGTERM");
    await ended;
  };
  const url = await start("127.0.0.1:0");
  const startAgain = () => start(new URL(url).host);
  const api = async (method, path, body) => {
    const answer = await fetch(url + path, {
      method,
      headers: { Authorization: `Bearer ${TOKEN}`, "Content-Type": "application/json" },
      body: body && JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.status === 204 ? null : answer.json();
  };
  const close = async () => {
    await stop();
    rmSync(folder, { recursive: true, force: true });
  };
  return { url, api, stop, startAgain, close, told: () => told };
}
