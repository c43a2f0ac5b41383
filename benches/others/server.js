// Webhooks into a Redis stream, as one would write it with Express: proof, dedupe by SET NX, XADD, 200.
import { timingSafeEqual } from "node:crypto";
import express from "express";
import { createClient } from "redis";

const secret = Buffer.from(process.env.WEBHOOK_SECRET);
const redis = createClient({ socket: { path: process.env.REDIS_SOCKET } });
redis.on("error", (error) => console.error(error.message));
await redis.connect();

const app = express();
app.disable("x-powered-by");
app.use(express.json({ limit: "1mb" }));

app.post("/webhooks/evolution", async (request, response) => {
  const given = Buffer.from(request.get("apikey") ?? "");
  if (given.length !== secret.length || !timingSafeEqual(given, secret)) return response.sendStatus(401);
  const { instance, data } = request.body;
  const id = data?.key?.id;
  if (!instance || !id) return response.sendStatus(400);
  const key = `dedupe:${instance}:${id}`;
  const isNew = await redis.set(key, "1", { NX: true, EX: 604800 });
  if (!isNew) return response.json({ status: "duplicate" });
  try {
    await redis.xAdd("inbound", "*", { body: JSON.stringify(request.body) });
  } catch (error) {
    await redis.del(key);
    throw error;
  }
  response.json({ status: "accepted" });
});

const server = app.listen(0, "127.0.0.1", () => console.log(`port ${server.address().port}`));
