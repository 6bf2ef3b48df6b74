import type { ChangesCode, ErrorCode } from '../../errors.ts'
import { AGE_CAUSES } from './age.ts'
import type { CauseEntry } from './cause-entry.ts'
import { CONTENT_CAUSES } from './content.ts'
import { PAYLOAD_CAUSES } from './payload.ts'

/** The codes of refusals. The other codes are thrown, and no request can cause them. */
export type RefusalCode = Exclude<ErrorCode, ChangesCode | 'config_invalid'>

/** A cause for each code, named like it: for refusals without a more precise reason. */
export const CODE_CAUSES: Readonly<Record<RefusalCode, CauseEntry>> = {
  signature_missing: {
    symptom: 'The request has no signature.',
    proof: 'The receiver reported it.',
    fix: 'Set a signatureKey on the webhook, and check that the option profile or signatureHeader names the header that the service sends.',
  },
  signature_malformed: {
    symptom: 'The value in the signature header is not a signature.',
    proof: 'The value is not 32 bytes in hex or base64.',
    fix: 'Save the request with "geohook listen --save captures" and run "geohook explain captures".',
  },
  signature_mismatch: {
    symptom: 'The signature does not match the body and the key.',
    proof: 'The receiver reported it. With the body, explain finds the cause.',
    fix: 'Save the request with "geohook listen --save captures" and run "geohook explain captures".',
  },
  key_unknown: {
    symptom: 'The signatureKey function returns no key for this request.',
    proof: 'The function returns null, undefined or an empty list.',
    fix: 'Check that the signatureKey function returns a key for this path and its route parameters. In Express, create an inner router with express.Router({ mergeParams: true }) to get the parameters of both.',
  },
  key_unavailable: {
    symptom: 'The signatureKey function fails.',
    proof: 'The function throws or rejects.',
    fix: 'Look for the cause of the error in the log, for example a database that cannot be reached.',
  },
  delivery_stale: {
    symptom: 'The newest event is too old, or in the future.',
    proof: 'The time of the newest event differs from the clock of the receiver by more than maxAge.',
    fix: 'Check the clocks of the sender and of the receiver, or increase maxAge.',
  },
  delivery_in_progress: {
    symptom: 'The same delivery arrives again while it is being handled.',
    proof: 'The receiver reported it: another request with the same signature is in progress.',
    fix: 'Nothing to fix if it is rare: the sender tries again. Otherwise respond faster, for example with an inbox.',
  },
  handler_failed: {
    symptom: 'A handler of the receiver throws.',
    proof: 'The receiver reported it. The signature and the payload are valid.',
    fix: 'Add the function failed to the observer to log the stack trace of the handler.',
  },
  inbox_unavailable: {
    symptom: 'The inbox cannot store the delivery.',
    proof: 'The receiver reported it. The signature and the payload are valid.',
    fix: 'Check that the store of the inbox is running and has free space.',
  },
  receiver_busy: {
    symptom: 'The requests in flight have more bytes than the receiver may hold.',
    proof: 'The receiver reported it.',
    fix: 'Increase maxInFlightBytes if the process has the memory.',
  },
  receiver_closed: {
    symptom: 'The request arrives while the process shuts down.',
    proof: 'The receiver reported it.',
    fix: 'Stop sending requests to this process before it shuts down.',
  },
  body_too_large: {
    symptom: 'The body is larger than the limit.',
    proof: 'The body, or the header content-length, exceeds the option limit.',
    fix: 'Increase limit if senders may send bodies of this size.',
  },
  body_timeout: {
    symptom: 'The body does not arrive in time.',
    proof: 'The receiver reported it.',
    fix: 'Increase bodyTimeout if senders are on a slow network.',
  },
  body_aborted: {
    symptom: 'The sender closes the connection before the body is complete.',
    proof: 'The receiver reported it.',
    fix: 'Check the timeouts of the sender and of proxies. After a response with `connection: close`, the sender must open a new connection.',
  },
  body_already_parsed: {
    symptom: 'Other code reads the body before geohook does.',
    proof: 'The receiver reported it: the bytes of the body are gone.',
    fix: 'Mount geohook before body parsers.',
  },
  content_encoding_unsupported: {
    symptom: 'The header content-encoding says that the body is encoded, for example compressed.',
    proof: 'The header content-encoding has another value than identity.',
    fix: 'Disable compression at the sender or its proxy, and leave out the header content-encoding.',
  },
  content_type_unsupported: {
    symptom: 'The content type is missing, or is neither JSON nor a form in UTF-8.',
    proof: 'The header content-type of the request.',
    fix: 'Send application/json or application/x-www-form-urlencoded, in UTF-8.',
  },
  payload_malformed: {
    symptom: 'The body is not a valid payload.',
    proof: 'The receiver cannot decode the body.',
    fix: 'Send a JSON object or array, or a form with JSON in its field payload.',
  },
  payload_invalid: {
    symptom: 'The schema of the receiver rejects the payload.',
    proof: 'The first issue that the schema reports.',
    fix: 'Change the schema, or the payload that the sender writes.',
  },
  method_not_allowed: {
    symptom: 'The method of the request is not POST.',
    proof: 'The method of the request.',
    fix: 'Send deliveries with POST. GET is for handshakes, which need a profile such as arcgis.',
  },
  handshake_invalid: {
    symptom: 'A GET request is not a valid handshake.',
    proof: 'The query has no valid token.',
    fix: 'Call this URL with GET only for handshakes: the query must have one valid token.',
  },
}

/** Causes in the keys for a request. */
const FOUND_KEY_CAUSES = {
  key_invalid: {
    symptom: 'The value of signatureKey cannot be a key.',
    proof: 'The receiver rejects the value, or what the function returns for this request.',
    fix: 'Use a string or bytes that are not empty, without white space around them, or a list of them.',
  },
  key_unset: {
    symptom: 'The request is signed, but the receiver has no key and accepts only unsigned requests.',
    proof: 'The request has a signature, and the option signatureKey is missing.',
    fix: 'Set the option signatureKey, or remove the key from the webhook.',
  },
} as const

export type RefusalCause =
  | RefusalCode
  | keyof typeof FOUND_KEY_CAUSES
  | keyof typeof CONTENT_CAUSES
  | keyof typeof PAYLOAD_CAUSES
  | keyof typeof AGE_CAUSES

/** Causes of refusals: the code of the receiver's error, or a more precise reason. */
export const REFUSAL_CAUSES: Readonly<Record<RefusalCause, CauseEntry>> = {
  ...CODE_CAUSES,
  ...FOUND_KEY_CAUSES,
  ...CONTENT_CAUSES,
  ...PAYLOAD_CAUSES,
  ...AGE_CAUSES,
}
