import type { AdminCode, ChangesCode, ErrorCode, InboxCode } from '../errors.ts'

// Every cause that `explain` reports, with how to fix it. docs/troubleshooting.md lists them.

/** Causes in the signature: where it is, how it is written, and how it was computed. */
export const SIGNATURE_CAUSES = {
  signature_header_missing:
    'Set a signatureKey on the webhook, and make sure that proxies forward the signature header. Services sign from version 11.2.',
  signature_in_other_header:
    "For x-esriHook-Signature, set the option profile to 'arcgis', which also answers handshakes. Otherwise set the option signatureHeader to the name of that header. If the header contains other words too, such as authorization or cookie, change the sender instead.",
  signature_in_query:
    'Send the signature in the signature header. A URL appears in the logs of servers and proxies.',
  signature_in_form_field:
    "For x-esriHook-Signature, set the option profile to 'arcgis', which also answers handshakes. Otherwise set the option signatureHeader to the name of that form field. The payload must be the first field, named payload, and the signature the last one, and the content type must be application/x-www-form-urlencoded.",
  signature_in_body:
    'Send the signature in the signature header, and sign the whole body. A body cannot contain its own signature.',
  signature_encoding:
    'Send the signature as 64 hex digits or in standard base64, if the option encoding accepts it. The only prefix allowed is sha256=.',
  signature_truncated:
    'Send all 32 bytes of the signature. Look for a database column or a log field that cuts the value.',
  signature_percent_encoded:
    'Percent-encode the signature at most once, and never decode the header as a form.',
  signature_doubled: 'Send the signature header only once. A proxy may be adding a second one.',
  signed_text:
    'Sign the body alone: exactly the bytes to send, without a timestamp, id, method or URL. To verify deliveries of a service with its own scheme, use the library of that service.',
  algorithm: 'Sign with HMAC-SHA256, with the signature key as the key and the body as the message.',
} as const

/** Causes in the header that contains the key itself, for profiles such as `portal`. */
export const SECRET_CAUSES = {
  secret_missing: 'Set a secret on the webhook of the portal, and make sure that proxies forward the header.',
  secret_wrong:
    'Set the same secret on the webhook of the portal and on this side. A portal has one secret for each webhook.',
  sender_signs:
    "Set the option profile to 'arcgis' or 'service': this sender is not a portal. A signature also proves that the body was not changed.",
} as const

/** Causes in the signature key. */
export const KEY_CAUSES = {
  key_whitespace:
    'Store the same key on both sides, without white space, a line ending or a byte order mark around it.',
  key_invisible:
    'Type the key again, or copy it from plain text: a web page, a chat or a PDF file has added invisible characters to it.',
  key_quotes:
    'Remove the quotes around the key. Docker env files, CI settings and web forms take quotes as a part of the value.',
  key_copied:
    'Copy only the key itself, without the name of the setting, a scheme such as Bearer, a comment or punctuation around it.',
  key_prefix:
    'Use the whole key, with its prefix, as text on both sides. A library for Standard Webhooks decodes a key with whsec_, so give this webhook a key without a prefix.',
  key_encoding:
    'Use the characters of the key as they are, in UTF-8, on both sides. Do not decode the key from hex or base64.',
  key_html:
    'Use the characters of the key as they are. Escape the key only where it is shown on a page, never where it is stored.',
  key_escaped:
    'Quote the key as the settings file or the shell requires, so that both sides have the same characters. The safest keys have only letters and digits.',
  key_list: 'Pass several keys as a list, with one key per item, and use one of them on the sender.',
  key_truncated:
    'Store the whole key at the sender: use a longer column of variable length, or generate a shorter key.',
  key_hashed:
    'Sign with the key itself, not with a hash of it. Look for a database that stores only the hash of the key.',
  key_case: 'Copy the key exactly: upper and lower case matter, and so do the hyphens of a UUID.',
  key_placeholder:
    'Set the signature key on the side that lacks it, and let the program stop if it is not set. A key that anyone can guess protects nothing.',
  key_empty:
    'Set the signature key on the side where it is empty. Look for an environment variable that is not set.',
  key_previous: 'Set the newest key on the webhook, then remove the older key from the receiver.',
} as const

/** Causes in the body: the bytes that were signed differ from the bytes that arrived. */
export const BODY_CAUSES = {
  body_changed:
    'Verify the bytes as they arrive, before other code or a proxy changes or cuts them. If a proxy decompresses the body, disable that.',
  body_reserialized: 'Verify the bytes as received: mount geohook before anything that parses the body.',
  body_json_string: 'Write the payload as JSON exactly once, and sign and send the same text.',
  body_event:
    'Verify the body of the request, not the event that contains it. A sender must sign the whole text that it sends, not only one member.',
  body_base64:
    'Sign and verify the bytes that are sent. If a host passes the body in base64, decode it before you verify it.',
  body_stringified:
    'Sign and verify the bytes of the body. Something has converted an object or a byte array to text.',
  body_escaped:
    'Sign and send the text without escapes for HTML, SQL or URLs. Escape it only where it is displayed or stored.',
  body_empty:
    'Forward the complete body: on one side it is empty. Look for code that reads the body before geohook does.',
  body_trailing_newline:
    'Keep the end of the body unchanged. An editor, a shell or a template has added or removed white space there.',
  body_leading_space:
    'Keep the start of the body unchanged. A template or a string literal that begins with a line feed has added white space there, or a trim function has removed it.',
  body_nul:
    'Sign exactly as many bytes as are sent. A buffer of a fixed size was signed in full, or a C function took the NUL byte for the end of the text.',
  body_line_endings: 'Keep CR and LF unchanged. Something has replaced the line endings in the body.',
  body_bom: 'Keep the start of the body unchanged. Something has added or removed a byte order mark.',
  body_charset:
    'Keep the bytes of the body unchanged. Something has decoded them in one character set and encoded them in another.',
  body_normalized:
    'Normalize the text before it is signed, or not at all. File names on a Mac, search indexes and some databases change the form.',
  body_decompressed:
    'Sign and send the same bytes: disable compression at the sender and at every proxy in between.',
  body_form_decoded: 'Verify the form as received, before a form parser decodes its fields.',
  body_form_field:
    'Sign and verify the same bytes: the whole form if the signature is in a header, only the payload field if it is in a form field.',
} as const

/** Precise reasons of refusals: in the keys, the head of the request, a body whose signature is valid, and its age. */
export const REFUSAL_CAUSES = {
  key_invalid:
    'Use a string or bytes that are not empty, without white space around them, or a list of them.',
  key_unset: 'Set the option signatureKey, or remove the key from the webhook.',
  content_type_missing: 'Send the header content-type: application/json.',
  content_type_form_for_json:
    "Send the header content-type: application/json. With curl, add -H 'content-type: application/json'.",
  content_type_json_for_form:
    'Send the header content-type: application/x-www-form-urlencoded, or write the body as JSON.',
  content_type_text: 'Send the header content-type: application/json.',
  content_type_binary: 'Send the header content-type: application/json.',
  content_type_multipart: 'Send JSON, or a form of the type application/x-www-form-urlencoded.',
  content_type_doubled:
    'Send the header content-type once. A proxy or a default of the HTTP library may add a second one.',
  content_type_charset: 'Encode the body as UTF-8, and send charset=utf-8 or no charset.',
  content_type_misspelt:
    'Send exactly application/json or application/x-www-form-urlencoded. Parameters follow after a semicolon.',
  content_encoding_misused:
    'Leave out the header content-encoding. The charset belongs into content-type, and chunked into transfer-encoding.',
  content_encoding_wrong:
    'Leave out the header content-encoding. If a proxy decompresses bodies, let it remove the header.',
  method_preflight: 'Send deliveries from a server: code in a browser would reveal the key.',
  handshake_not_enabled: "Set the option profile to 'arcgis', or to a profile with a handshake.",
  handshake_token_missing:
    'Call this URL with GET only for handshakes. Give health checks a URL of their own.',
  handshake_token_doubled: 'Send one token. A proxy or a redirect may repeat the query.',
  handshake_token_empty: 'Send the token as the value of the parameter.',
  handshake_token_invalid:
    'Send a token of at most 512 letters, digits or ._~+/:- and at most two = after them, and percent-encode it once.',
  handshake_url_too_long: 'Send a shorter URL: the token has at most 514 characters.',
  payload_empty:
    'Send the payload as the body. If the sender sends one, look for a proxy, a redirect or code that drops it.',
  payload_compressed: 'Disable compression at the sender or its proxy.',
  payload_utf16: 'Encode the body as UTF-8.',
  payload_charset: 'Encode the body as UTF-8.',
  payload_bom: 'Write the body without a byte order mark.',
  payload_double_encoded: 'Encode the payload once.',
  payload_scalar: 'Send a JSON object or array.',
  payload_base64: 'Send the JSON itself.',
  payload_percent_encoded: 'Send the JSON itself, or a form with the field payload.',
  payload_markup:
    'Send the payload as JSON. Look at the page: it may name the error of the program that should write the payload.',
  payload_printed: 'Write the payload with a JSON library.',
  payload_cut_off:
    'Send the whole body. Look for a buffer, a database column or a content-length that cuts it, such as a length in characters in place of bytes.',
  payload_several: 'Send one array, or each document in a request of its own.',
  payload_trailing_text: 'Send only the JSON. Look for a buffer with the rest of an older, longer body.',
  payload_trailing_comma: 'Write the payload with a JSON library, or remove the comma from the template.',
  payload_comment: 'Remove the comments: JSON has none.',
  payload_not_a_number: 'Write null in place of such values.',
  payload_unquoted_name: 'Write the payload with a JSON library, which quotes all names.',
  payload_control_character: 'Write the payload with a JSON library, which escapes them.',
  payload_escape: 'Write the payload with a JSON library, which writes a backslash as two.',
  payload_too_deep: 'Send a flatter payload.',
  payload_forbidden_key: 'Remove the key from the payload.',
  payload_token: 'Send a JSON object or array, or a form.',
  form_empty: 'Send the JSON in the field payload.',
  form_too_many_fields: 'Send the JSON in one field, payload. Percent-encode its ampersands.',
  form_percent_encoding: 'Percent-encode each name and value, also percent signs.',
  form_charset: 'Encode text as UTF-8 before percent-encoding it.',
  form_two_payloads:
    'Send one field payload. Percent-encode its value, so that ampersands in it do not begin new fields.',
  form_double_encoded: 'Percent-encode the field once: libraries that build forms do it themselves.',
  delivery_untimed:
    "Send the time of each event as when, in milliseconds since 1970, or set the option untimed to 'accept'.",
  delivery_time_unit: 'Send event times in milliseconds since 1970.',
  delivery_clock: 'Synchronize both clocks, for example with NTP.',
  delivery_in_future: 'Check the clocks of both sides, and that the sender writes times in UTC.',
  delivery_too_old:
    'Set maxAge longer than the schedule and all retries of the sender take together. If no retries are expected, check the clocks; the delivery may also be a replay.',
} as const

/** The codes of refusals. The other codes are thrown, and no request can cause them. */
export type RefusalCode = Exclude<ErrorCode, AdminCode | ChangesCode | InboxCode | 'config_invalid'>

/** What happened, for each code. */
export const SYMPTOMS: Readonly<Record<RefusalCode, string>> = {
  signature_missing: 'The request has no signature.',
  signature_malformed: 'The value in the signature header is not a signature.',
  signature_mismatch: 'The signature does not match the body and the key.',
  key_unknown: 'The signatureKey function returns no key for this request.',
  key_unavailable: 'The signatureKey function fails.',
  delivery_stale: 'The newest event is too old, or in the future.',
  delivery_in_progress: 'The same delivery arrives again while it is being handled.',
  handler_failed: 'A handler of the receiver throws.',
  inbox_unavailable: 'The inbox cannot store the delivery.',
  receiver_busy: 'The requests in flight have more bytes than the receiver may hold.',
  receiver_closed: 'The request arrives while the process shuts down.',
  body_too_large: 'The body is larger than the limit.',
  body_timeout: 'The body does not arrive in time.',
  body_aborted: 'The sender closes the connection before the body is complete.',
  body_already_parsed: 'Other code reads the body before geohook does.',
  content_encoding_unsupported:
    'The header content-encoding says that the body is encoded, for example compressed.',
  content_type_unsupported: 'The content type is missing, or is neither JSON nor a form in UTF-8.',
  payload_malformed: 'The body is not a valid payload.',
  payload_invalid: 'The schema of the receiver rejects the payload.',
  method_not_allowed: 'The method of the request is not POST.',
  handshake_invalid: 'A GET request is not a valid handshake.',
}

/** A cause for each code, named like it, for refusals without a more precise reason. */
export const CODE_CAUSES: Readonly<Record<RefusalCode, string>> = {
  signature_missing:
    'Set a signatureKey on the webhook, and check that the option profile or signatureHeader names the header that the service sends.',
  signature_malformed:
    'Save the request with "geohook listen --save captures" and run "geohook explain captures".',
  signature_mismatch:
    'Save the request with "geohook listen --save captures" and run "geohook explain captures".',
  key_unknown:
    'Check that the signatureKey function returns a key for this path and its route parameters. In Express, create an inner router with express.Router({ mergeParams: true }) to get the parameters of both.',
  key_unavailable:
    'Look for the cause of the error in the log, for example a database that cannot be reached.',
  delivery_stale: 'Check the clocks of the sender and of the receiver, or increase maxAge.',
  delivery_in_progress:
    'Nothing to fix if it is rare: the sender tries again. Otherwise respond faster, for example with an inbox.',
  handler_failed: 'Add the function failed to the observer to log the stack trace of the handler.',
  inbox_unavailable: 'Check that the store of the inbox is running and has free space.',
  receiver_busy: 'Increase maxInFlightBytes if the process has the memory.',
  receiver_closed: 'Stop sending requests to this process before it shuts down.',
  body_too_large: 'Increase limit if senders may send bodies of this size.',
  body_timeout: 'Increase bodyTimeout if senders are on a slow network.',
  body_aborted:
    'Check the timeouts of the sender and of proxies. After a response with `connection: close`, the sender must open a new connection.',
  body_already_parsed: 'Mount geohook before body parsers.',
  content_encoding_unsupported:
    'Disable compression at the sender or its proxy, and leave out the header content-encoding.',
  content_type_unsupported: 'Send application/json or application/x-www-form-urlencoded, in UTF-8.',
  payload_malformed: 'Send a JSON object or array, or a form with JSON in its field payload.',
  payload_invalid: 'Change the schema, or the payload that the sender writes.',
  method_not_allowed:
    'Send deliveries with POST. GET is for handshakes, which need a profile such as arcgis.',
  handshake_invalid: 'Call this URL with GET only for handshakes: the query must have one valid token.',
}

const OTHER_CAUSES = {
  ok: 'Nothing to fix: the receiver accepts the request.',
  unexplained:
    'Compute the same fingerprints at the sender and compare: the one that differs shows what changed. If both are equal, the sender signs other bytes or signs in another way.',
} as const

/** A cause that `explain` reports. */
export type Cause =
  | keyof typeof SIGNATURE_CAUSES
  | keyof typeof SECRET_CAUSES
  | keyof typeof KEY_CAUSES
  | keyof typeof BODY_CAUSES
  | keyof typeof REFUSAL_CAUSES
  | keyof typeof OTHER_CAUSES
  | RefusalCode

/** How to fix each cause. `explain` has proof of every cause that it reports, except `unexplained`. */
export const FIXES: Readonly<Record<Cause, string>> = {
  ...SIGNATURE_CAUSES,
  ...SECRET_CAUSES,
  ...KEY_CAUSES,
  ...BODY_CAUSES,
  ...REFUSAL_CAUSES,
  ...OTHER_CAUSES,
  ...CODE_CAUSES,
}
