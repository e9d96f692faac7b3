"""What a schema cannot say, told to Schemathesis.

Every change here is to a request that the document allows and that a rule between its fields, a state or the catalog forbids
all the same; the rule stands in the document's words. Requests that are meant to be refused stay as they were generated.
"""

import base64
import json
import os

import schemathesis

UPSTREAM = os.environ["UPSTREAM_URL"]
OWN_TOKEN = json.loads(base64.urlsafe_b64decode(os.environ["TOKEN"].split(".")[1] + "=="))["jti"]
PUBLIC_KEY = {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}


def fit_the_catalog(case, body):
    """A configuration fits its integration's own schema, which the catalog has."""
    if "server_type" in body:
        body["server_type"] = "mcp"
    else:
        case.path_parameters["server_type"] = "mcp"
    body["configuration"] = {"url": UPSTREAM}
    # The server decides how it authenticates, so the request must not.
    body.pop("auth_method", None)


def mean_one_connection(case, body):
    """The body repeats the id of the path; only the integration knows which keys and tools a connection has."""
    if body.get("connection_id") is not None:
        body["connection_id"] = case.path_parameters["server_id"]
    if body.get("config"):
        body["config"] = {}
    if body.get("disabled_tools"):
        body["disabled_tools"] = []
    # An MCP server without a key has no key to replace.
    body.pop("api_key", None)


def be_one_kind_of_client(case, body):
    """Grants, redirects, keys and the way to authenticate go together (RFC 7591)."""
    redirects = bool(body.get("redirect_uris"))
    body["grant_types"] = ["authorization_code"] if redirects else ["client_credentials"]
    if body.get("token_endpoint_auth_method") == "none" and not redirects:
        body["token_endpoint_auth_method"] = "client_secret_basic"
    for name in ("jwks", "jwks_uri"):
        body.pop(name, None)
    if body.get("token_endpoint_auth_method") == "private_key_jwt":
        body["jwks"] = {"keys": [PUBLIC_KEY]}


def redirect_home(case, body):
    """A redirect leads to https, to this machine or to a program's own scheme."""
    if body.get("redirect_uris"):
        body["redirect_uris"] = [f"https://desk.example.com/{n}" for n, _ in enumerate(body["redirect_uris"])]


def keep_redirects(case, body):
    """Whether a client may have redirects lies in its grants."""
    body.pop("redirect_uris", None)


def end_once(case, body):
    """A token ends at a moment ahead or in days."""
    if body.get("expires_at") is not None:
        body["expires_at"] = "2099-01-01T00:00:00Z"
        body.pop("expires_in_days", None)


def ask_in_order(query):
    """A range begins before it ends and is not too long, a cursor is one that was given, and a group is named once."""
    if query.get("since") is not None:
        query["until"] = query["since"]
    query.pop("cursor", None)
    if query.get("group_by"):
        query["group_by"] = ",".join(dict.fromkeys(word.strip() for word in query["group_by"].split(",")))


def send_events_to_nobody(case, body):
    """A webhook leads to a public address; a name of this kind never resolves."""
    if body.get("url") is not None:
        body["url"] = "https://hooks.invalid/patchbay"


def name_event_types(case, body):
    """An update names at least one event type."""
    if body.get("event_types") == []:
        body.pop("event_types")


BODIES = {
    "createConnection": [fit_the_catalog],
    "validateConfiguration": [fit_the_catalog],
    "previewTools": [fit_the_catalog],
    "updateConnection": [mean_one_connection],
    "createOAuthClient": [redirect_home, be_one_kind_of_client],
    "updateOAuthClient": [keep_redirects],
    "createPersonalAccessToken": [end_once],
    "createWebhook": [send_events_to_nobody],
    "updateWebhook": [send_events_to_nobody, name_event_types],
}


@schemathesis.hook
def before_call(context, case, kwargs):
    # The run must not revoke its own token.
    if (case.path_parameters or {}).get("token_id") == OWN_TOKEN:
        case.path_parameters["token_id"] = "pat_" + "0" * 32
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    if isinstance(case.body, dict):
        for mend in BODIES.get(case.operation.definition.raw["operationId"], []):
            mend(case, case.body)
    if case.query:
        ask_in_order(case.query)


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """Schemathesis takes the schema of an event stream for that of one event; the document has it for the whole text."""
    for answer in raw_schema["components"]["responses"].values():
        media = answer.get("content", {}).get("text/event-stream")
        if media is None:
            continue
        data = {"type": "string", "contentMediaType": "application/json"}
        media["schema"] = {
            "type": "object",
            "required": ["event", "data"],
            "properties": {
                "event": {"type": "string"},
                "data": {**data, "contentSchema": media["schema"]["contentSchema"]},
            },
        }
