"""Makes the calls of the vendor's Python client, with the standard library alone.

usage: python_client.py <base URL> <user name> <password> <part> <payload URL>

Prints what the mock service answered, as JSON. The parts are the functions below.
"""

import json
import sys
import time
import urllib.parse
import urllib.request

base, username, password, part, hook_url = sys.argv[1:]
token = None


def encode(parameters, to_text):
    """Encodes a form or a query. The client omits None values, and sends dicts and lists as JSON."""
    return urllib.parse.urlencode(
        {
            name: json.dumps(value) if isinstance(value, (dict, list)) else to_text(value)
            for name, value in parameters.items()
            if value is not None
        }
    )


def as_json(value):
    """Most calls send booleans as in JSON."""
    return json.dumps(value) if isinstance(value, bool) else value


def call(url, parameters, method="POST", to_text=as_json):
    """Raises an error for an HTTP status of 400 and more, and for the error object of the family."""
    data = encode({**parameters, "token": token}, to_text)
    if method == "GET":
        request = urllib.request.Request(f"{url}?{data}")
    else:
        request = urllib.request.Request(url, data.encode())
    # The client gets its token for this referer, so it must send the same referer with each request.
    request.add_header("referer", "http")
    with urllib.request.urlopen(request, timeout=20) as answer:
        body = json.load(answer)
    if isinstance(body, dict) and "error" in body:
        raise RuntimeError(body["error"]["message"])
    return body


def post(url, /, **parameters):
    return call(url, {"f": "json", **parameters})


def get(url, /, **parameters):
    return call(url, {"f": "json", **parameters}, "GET")


def error_of(run):
    try:
        run()
    except RuntimeError as error:
        return str(error)
    return None


def sign_in():
    answer = post(
        f"{base}/sharing/rest/generateToken",
        username=username,
        password=password,
        expiration=60,
        client="referer",
        referer="http",
    )
    return answer["token"]


SCHEDULE = {
    "name": "",
    "state": "enabled",
    "startAt": int(time.time() * 1000),
    "recurrenceInfo": {"interval": 20, "frequency": "second"},
}


def create_parameters(name, **changes):
    return {
        "name": name,
        "changeTypes": "*",
        "signatureKey": None,
        "hookUrl": hook_url,
        "active": False,
        "payloadFormat": "json",
        **changes,
    }


def edit_parameters(webhook, **changes):
    """The client sends back everything that it has read."""
    return {**webhook, "changeTypes": ",".join(webhook["changeTypes"]), **changes}


def server_webhooks(url):
    """Webhooks of one service of ArcGIS Server."""
    parameters = create_parameters("python", scheduleInfo=SCHEDULE, active=True, signatureKey="")
    created = post(f"{url}/create", **parameters, contentType="application/json")
    duplicate = error_of(lambda: post(f"{url}/create", **parameters))
    webhook = f"{url}/{created['id']}"
    read = get(webhook)
    same = post(f"{webhook}/edit", **edit_parameters(read))
    again = get(webhook)
    edited = post(
        f"{webhook}/edit",
        **edit_parameters(again, name="edited", active=False, content_type="application/json"),
    )
    listed = get(url, start=1, num=25, sortField=None, sortOrder=None)
    switched = [post(f"{url}/{operation}All") for operation in ("activate", "deactivate")]
    deleted = post(f"{webhook}/delete")
    gone = error_of(lambda: get(webhook))
    second = post(f"{url}/create", **create_parameters("second", scheduleInfo=SCHEDULE))
    return {
        "created": created,
        "duplicate": duplicate,
        "read": read,
        "same": same,
        "again": again,
        "edited": edited,
        "listed": listed["webhooks"],
        "switched": switched,
        "deleted": deleted,
        "gone": gone,
        "second": second,
        "deletedAll": post(f"{url}/deleteAll"),
        "left": get(url)["webhooks"],
    }


def server():
    services = f"{base}/admin/services"
    return {
        name: server_webhooks(f"{services}/{name}/webhooks")
        for name in ("Parcels.FeatureServer", "Buffer.GPServer")
    }


def hosted():
    """Webhooks of a hosted feature service of ArcGIS Online."""
    url = f"{base}/rest/admin/services/Parcels/FeatureServer/WebHooks"
    created = post(f"{url}/create", **create_parameters("python", signatureKey="parcels2026"))
    webhook = created.get("url") or f"{url}/{created.get('globalId') or created['id']}"
    read = post(webhook)
    edited = post(f"{webhook}/edit", **edit_parameters(read, name="edited", scheduleInfo=SCHEDULE))
    # The client iterates over the answer itself.
    listed = [post(f"{url}/{item['globalId']}") for item in post(url)]
    switched = [post(f"{url}/{operation}All") for operation in ("activate", "deactivate")]
    deleted = post(f"{webhook}/delete")
    post(f"{url}/create", **create_parameters("second"))
    return {
        "created": created,
        "read": read,
        "edited": edited,
        "listed": listed,
        "switched": switched,
        "deleted": deleted,
        "deletedAll": post(f"{url}/deleteAll"),
        "left": post(url),
    }


def organization():
    """Webhooks of an organization, at a portal."""
    url = f"{base}/sharing/rest/portals/{get(f'{base}/sharing/rest/portals/self')['id']}/webhooks"
    config = {"deactivationPolicy": {"numberOfFailures": 5, "daysInPast": 5}}
    created = post(
        f"{url}/createWebhook",
        name="python",
        url=hook_url,
        secret="parcels2026",
        config=config,
        changes="allChanges",
    )
    some = post(
        f"{url}/createWebhook",
        name="some",
        url=hook_url,
        secret="parcels2026",
        config=config,
        changes="manualChanges",
        events="/items,/groups/add",
    )

    def list_webhooks():
        webhooks = []
        start = 1
        while start != -1:
            page = get(url, start=start, num=25, sortField=None, sortOrder=None)
            webhooks += [get(f"{url}/{item['id']}") for item in page["webhooks"]]
            start = page["nextStart"]
        return webhooks

    listed = list_webhooks()
    webhook = next(item for item in listed if item["name"] == "python")
    path = f"{url}/{webhook['id']}"
    deactivated = post(f"{path}/deactivate")
    inactive = get(path)
    updated = post(
        f"{path}/update",
        name="updated",
        url=webhook["payloadUrl"],
        secret=webhook.get("secret"),
        config=webhook["config"],
        events=",".join(webhook["events"]),
    )
    settings = get(f"{url}/settings")
    return {
        "created": created,
        "some": some,
        "listed": listed,
        "deactivated": deactivated,
        "inactive": inactive,
        "activated": post(f"{path}/activate"),
        "updated": updated,
        "read": get(path),
        "notifications": post(f"{path}/notificationStatus", num=100, start=1),
        "settings": settings,
        "settingsUpdated": post(
            f"{url}/settings/update",
            notificationAttempts=4,
            notificationTimeOutInSeconds=11,
            notificationElapsedTimeInSeconds=6,
        ),
        "settingsRead": get(f"{url}/settings"),
        "deleted": post(f"{path}/delete"),
        "left": [item["name"] for item in list_webhooks()],
    }


def changes():
    """Edits a layer, then extracts the changes since before the edit."""
    url = f"{base}/rest/services/Parcels/FeatureServer"
    tracking = get(url, returnUpdates=True)["changeTrackingInfo"]
    added = post(
        f"{url}/0/applyEdits",
        adds=[{"attributes": {"name": "python"}, "geometry": {"x": 1, "y": 2}}],
        updates=None,
        deletes=None,
        useGlobalIds=False,
        rollbackOnFailure=True,
    )
    submitted = post(
        f"{url}/extractChanges",
        layers=[0],
        layerServerGens=[
            {"id": layer["id"], "serverGen": layer["serverGen"]} for layer in tracking["layerServerGens"]
        ],
        returnInserts=True,
        returnUpdates=True,
        returnDeletes=True,
        returnIdsOnly=False,
        returnAttachments=False,
        returnAttachmentsDatabyURL=True,
        transportType="esriTransportTypeUrl",
        dataFormat="json",
    )
    states = []
    status = {}
    # The client reads `statusUrl` and polls, or takes the answer itself.
    while "statusUrl" in submitted and status.get("status", "").lower() != "completed":
        status = get(submitted["statusUrl"])
        states.append(status["status"])
        if len(states) > 100:
            raise RuntimeError(f"the job has not completed: {status}")
        time.sleep(0.01)
    document = get(status["resultUrl"]) if status else submitted
    # Some of its calls hand booleans to the HTTP library, which writes them as Python does.
    queried = call(
        f"{url}/0/query", {"f": "json", "where": "1=1", "returnIdsOnly": True}, "GET", to_text=str
    )
    return {
        "tracking": tracking,
        "added": added,
        "submitted": submitted,
        "states": states,
        "status": status,
        "document": document,
        "queried": queried,
    }


PARTS = {"server": server, "hosted": hosted, "organization": organization, "changes": changes}
refused = error_of(PARTS[part]) if part == "server" else None
token = sign_in()
print(json.dumps({"refused": refused, **PARTS[part]()}))
