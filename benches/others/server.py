"""Webhooks into a Redis stream, as one would write it with FastAPI: proof, dedupe by SET NX, XADD, 200."""

import hmac
import json
import os

import redis.asyncio as redis
from fastapi import FastAPI, Header, HTTPException, Request

SECRET = os.environ["WEBHOOK_SECRET"]
app = FastAPI()
client = redis.Redis(unix_socket_path=os.environ["REDIS_SOCKET"])


@app.post("/webhooks/evolution")
async def receive(request: Request, apikey: str = Header("")):
    if not hmac.compare_digest(apikey, SECRET):
        raise HTTPException(401)
    body = await request.json()
    instance, message = body.get("instance"), body.get("data", {}).get("key", {}).get("id")
    if not instance or not message:
        raise HTTPException(400)
    key = f"dedupe:{instance}:{message}"
    if not await client.set(key, "1", nx=True, ex=604800):
        return {"status": "duplicate"}
    try:
        await client.xadd("inbound", {"body": json.dumps(body)})
    except redis.RedisError:
        await client.delete(key)
        raise
    return {"status": "accepted"}
