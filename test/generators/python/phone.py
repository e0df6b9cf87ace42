"""Given the sidecar's address, an avatar's image and its hash."""
import json
import sys

from generated.api.default import avatars, register, sync, unregister
from generated.client import Client
from generated.models import AvatarsBody, RegisterBody, RegisterBodyPlatform, SyncBody, UnregisterBody

address, image, picture = sys.argv[1:]
client = Client(base_url=address)
station = {"callsign": "N0CALL", "ssid": "7", "auth": 13023}
phone = {**station, "platform": RegisterBodyPlatform.ANDROID, "push_token": "token", "ack_messages": False}
options = {"any_ssid": True, "want_acks": True, "blocked": ["SPAM*"]}

registered = register.sync(client=client, body=RegisterBody(**phone, **options, want_history=True, since=0))
[message] = registered.messages
[ack] = registered.acks
synced = sync.sync(client=client, body=SyncBody(**station, since=registered.server_time))
pictured = register.sync(
    client=client,
    body=RegisterBody(**phone, avatar_update=True, avatar_icon="", avatar_image=image, avatar_hash=picture),
)
theirs = avatars.sync(client=client, body=AvatarsBody(**station, stations=["N0CALL-7"]))
unregister.sync(client=client, body=UnregisterBody(**station, push_token="token"))
refusal = sync.sync(client=client, body=SyncBody(**station, since=synced.server_time))
print(
    json.dumps(
        {
            "text": message.text,
            "time": str(message.time),
            "acked": f"{ack.kind.value} {ack.seq_id}",
            "newer": str(len(synced.messages)),
            "held": pictured.avatar_hash,
            "avatar": theirs.avatars["N0CALL-7"].hash_,
            "refused": refusal.error.value,
        }
    )
)
