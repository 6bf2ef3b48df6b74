"""Drives the administration, and verifies a delivery, with Python's standard library alone.

usage: drive.py <base URL> <user name> <password>

After the edit, the script triggers an event over the control API. The delivery must arrive at this script, signed with
the new key.
"""

import base64
import hashlib
import hmac
import http.server
import json
import queue
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request

base, user, password = sys.argv[1:]
deliveries = queue.Queue()


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        deliveries.put((self.path, self.headers, body))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def post(path, **parameters):
    """Returns the HTTP status and the parsed body."""
    data = urllib.parse.urlencode({"f": "json", **parameters}).encode()
    try:
        with urllib.request.urlopen(base + path, data, timeout=20) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def check(condition, what):
    if not condition:
        sys.exit(f"wrong: {what}")


server = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
hook_url = f"http://127.0.0.1:{server.server_port}/hook"

status, answer = post("/generateToken", username=user, password=password, expiration=5)
check(status == 200 and answer["expires"] > 0, answer)
token = answer["token"]

webhooks = "/services/Parcels.FeatureServer/webhooks"
status, created = post(f"{webhooks}/create", token=token, name="python", hookUrl="http://127.0.0.1:9/", signatureKey="before")
check(status == 200 and created["status"] == "success", created)

status, edited = post(
    f"{webhooks}/{created['id']}/edit",
    token=token,
    name="python",
    changeTypes=json.dumps(["FeaturesEdited"]),
    hookUrl=hook_url,
    signatureKey="schlüssel-2027",
    contentType="application/x-www-form-urlencoded",
)
check(status == 200 and edited["hookUrl"] == hook_url, edited)
check(edited["changeTypes"] == ["FeaturesEdited"] and edited["created"] == created["created"], edited)
check(list(edited)[:6] == ["id", "folderName", "serviceName", "serviceType", "name", "changeTypes"], list(edited))
check(list(edited)[-1] == "status", list(edited))

server.timeout = 20
receiving = threading.Thread(target=server.handle_request)
receiving.start()
event = json.dumps({"serviceName": "Parcels", "folderName": "", "changeType": "FeaturesCreated"}).encode()
request = urllib.request.Request(base + "/_mock/trigger", event, {"content-type": "application/json"})
with urllib.request.urlopen(request, timeout=20) as answer:
    attempts = json.load(answer)["deliveries"]
check([attempt["answer"]["status"] for attempt in attempts] == [200], attempts)
receiving.join()
path, headers, body = deliveries.get_nowait()
check(base64.b64decode(attempts[0]["request"]["body"]) == body, "the recorded bytes")
expected = hmac.new("schlüssel-2027".encode(), body, hashlib.sha256).hexdigest()
check(path == "/hook", path)
check(hmac.compare_digest(headers["x-service"], expected), "the signature")
check(headers["content-type"] == "application/x-www-form-urlencoded", headers["content-type"])
payload = json.loads(urllib.parse.parse_qs(body.decode())["payload"][0])
check(payload["id"] == created["id"] and payload["events"][0]["eventType"] == "FeaturesCreated", payload)

status, answer = post(f"{webhooks}/{created['id']}/delete", token=token)
check((status, answer) == (200, {"status": "success"}), answer)
status, answer = post(f"{webhooks}/{created['id']}", token=token)
check((status, answer["code"]) == (404, 404), answer)
print("done")
