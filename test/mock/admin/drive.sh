#!/usr/bin/env bash
# Drives the administration from end to end with curl alone.
# usage: drive.sh <base URL> <user name> <password>
set -euo pipefail
base=$1 user=$2 password=$3
parcels="$base/services/City/Parcels.FeatureServer"

# Prints the response body. Fails if the HTTP status differs from the first argument.
call() {
  local expected=$1 answer status
  shift
  answer=$(curl --silent --show-error --max-time 20 --write-out '\n%{http_code}' "$@")
  status=${answer##*$'\n'}
  answer=${answer%$'\n'*}
  if [ "$status" != "$expected" ]; then
    echo "expected $expected, got $status: curl $*: $answer" >&2
    exit 1
  fi
  printf '%s' "$answer"
}

holds() {
  case $1 in
    *"$2"*) ;;
    *) echo "expected $2 in: $1" >&2 && exit 1 ;;
  esac
}

# Prints the value of a string or number in compact JSON.
value() { sed -E 's/.*"'"$2"'":"?([^",}]*).*/\1/' <<<"$1"; }

holds "$(call 400 -d username="$user" -d password=wrong -d f=json "$base/generateToken")" '"code":400'
token=$(value "$(call 200 --data-urlencode username="$user" --data-urlencode password="$password" \
  -d client=requestip -d expiration=5 -d f=json "$base/generateToken")" token)
auth=(-H "Authorization: Bearer $token")

holds "$(call 499 "$parcels/webhooks?f=json")" '{"status":"error","messages":["a token is required"],"code":499}'
holds "$(call 498 -d token=bad -d f=json "$parcels/webhooks")" '"code":498'
holds "$(call 200 "$parcels/webhooks?f=json&token=$token")" '{"webhooks":[]}'

created=$(call 200 "${auth[@]}" -d f=json -d name=edits --data-urlencode hookUrl='http://127.0.0.1:9/hook?a=1&b=2' \
  -d changeTypes=FeaturesCreated,FeaturesUpdated -d signatureKey=parcels2026 "$parcels/webhooks/create")
id=$(value "$created" id)
holds "$created" '"hookUrl":"http://127.0.0.1:9/hook?a=1&b=2"'
holds "$created" "\"ownerId\":\"$user\""
holds "$created" '"status":"success"}'
holds "$(call 400 "${auth[@]}" -d name=edits -d hookUrl=http://127.0.0.1:9/ "$parcels/webhooks/create")" 'name is taken'

edited=$(call 200 "${auth[@]}" --data-urlencode name='Straße & Weg' --data-urlencode changeTypes='["FeaturesDeleted","*"]' \
  -d hookUrl=https://receiver.example/hook -d active=false -d contentType=application/x-www-form-urlencoded \
  --data-urlencode scheduleInfo='{"recurrenceInfo":{"interval":5,"frequency":"minute"}}' -d payloadFormat=pjson \
  "$parcels/webhooks/$id/edit")
holds "$edited" '"name":"Straße & Weg","changeTypes":["FeaturesDeleted","*"],"signatureKey":"parcels2026"'
holds "$edited" '"active":false,"contentType":"application/x-www-form-urlencoded"'
holds "$edited" '"recurrenceInfo":{"interval":5,"frequency":"minute"}},"payloadFormat":"pjson"'
holds "$edited" "\"created\":$(value "$created" created)"
holds "$(call 400 "${auth[@]}" -d name=x -d hookUrl=javascript:alert "$parcels/webhooks/$id/edit")" 'changeTypes is required'

holds "$(call 200 "${auth[@]}" -d f=pjson -X POST "$parcels/webhooks/activateAll")" '  "status": "success"'
holds "$(call 200 "${auth[@]}" "$parcels/webhooks/$id")" '"active":true'
holds "$(call 200 "${auth[@]}" -X POST "$parcels/webhooks/deactivateAll")" '{"status":"success"}'
holds "$(call 200 "${auth[@]}" "$parcels/$id")" '"active":false'
holds "$(call 200 "${auth[@]}" "$parcels/webhooks/$id/notificationStatus")" '{"webhookNotificationStatus":[]}'
holds "$(call 200 "${auth[@]}" "$base/services/webhooks")" "\"id\":\"$id\""
holds "$(call 200 "${auth[@]}" -d notificationAttempts=2 "$base/services/webhooks/settings")" '"notificationAttempts":2'
holds "$(call 200 "${auth[@]}" -H 'Accept: text/html' "$parcels/webhooks/$id")" '&quot;serviceName&quot;: &quot;Parcels&quot;'

holds "$(call 405 "${auth[@]}" "$parcels/webhooks/$id/delete")" '"code":405'
# A body of 10 MB, far over the limit, still gets a response.
holds "$(head -c 10000000 /dev/zero | call 413 "${auth[@]}" --data-binary @- "$parcels/webhooks/$id/edit")" '"code":413'
holds "$(call 200 "${auth[@]}" -X POST "$parcels/webhooks/$id/delete")" '{"status":"success"}'
holds "$(call 404 "${auth[@]}" "$parcels/webhooks/$id")" '{"status":"error","messages":["the webhook does not exist"],"code":404}'
echo done
