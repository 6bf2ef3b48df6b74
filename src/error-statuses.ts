/** Every code of a {@link WebhookError}. */
export type ErrorCode =
  | 'signature_missing'
  | 'signature_malformed'
  | 'signature_mismatch'
  | 'key_unknown'
  | 'key_unavailable'
  | 'delivery_stale'
  | 'delivery_in_progress'
  | 'handler_failed'
  | 'inbox_unavailable'
  | 'receiver_busy'
  | 'receiver_closed'
  | 'body_too_large'
  | 'body_timeout'
  | 'body_aborted'
  | 'body_already_parsed'
  | 'content_encoding_unsupported'
  | 'content_type_unsupported'
  | 'payload_malformed'
  | 'payload_invalid'
  | 'method_not_allowed'
  | 'handshake_invalid'
  | 'config_invalid'

const CHECK_SIGNATURE =
  'Save the request with "geohook listen --save captures" and run "geohook explain captures": it finds the cause.'

const CHECK_BODY = 'Save the request with "geohook listen --save captures" to see the body.'

/** The status if a request is not authentic. All its codes have the same, so that a sender cannot tell them apart. */
export const UNAUTHORIZED = 401

/** The status that frameworks send if no handler of theirs takes a request. */
export const NOT_FOUND = 404

/** The HTTP status and the hint for each error code. Responses never contain the hint. */
export const ERROR_CODES: Record<ErrorCode, readonly [status: number, hint?: string]> = {
  signature_missing: [
    UNAUTHORIZED,
    'Set a signatureKey on the webhook, and check that signatureHeader names the header that the service sends.',
  ],
  signature_malformed: [UNAUTHORIZED, CHECK_SIGNATURE],
  signature_mismatch: [UNAUTHORIZED, CHECK_SIGNATURE],
  key_unknown: [
    UNAUTHORIZED,
    'Check that the signatureKey function returns a key for this path and its route parameters. Under a mounted Express ' +
      'router, create the inner router with express.Router({ mergeParams: true }) to get the parameters of both.',
  ],
  key_unavailable: [503, 'The signatureKey function failed; the cause says why.'],
  delivery_stale: [400, 'Check the clocks of the sender and of the receiver, or increase maxAge.'],
  delivery_in_progress: [409],
  handler_failed: [500, 'To log the stack trace, add the function failed to the observer.'],
  inbox_unavailable: [503, 'Check that the store of the inbox is running and has free space.'],
  receiver_busy: [503, 'Increase maxInFlightBytes if the process has the memory.'],
  receiver_closed: [503, 'Stop sending requests to this process before it shuts down.'],
  body_too_large: [413, 'Increase limit if senders may send bodies of this size.'],
  body_timeout: [408, 'Increase bodyTimeout if senders are on a slow network.'],
  body_aborted: [400, 'Check the timeouts of the sender and of proxies.'],
  body_already_parsed: [500, 'Mount geohook before body parsers.'],
  content_encoding_unsupported: [415, 'Disable compression at the sender or its proxy.'],
  content_type_unsupported: [415, 'Send application/json or application/x-www-form-urlencoded, in UTF-8.'],
  payload_malformed: [400, CHECK_BODY],
  payload_invalid: [400, CHECK_BODY],
  method_not_allowed: [
    405,
    'Send deliveries with POST. GET is for handshakes, which need a profile such as arcgis.',
  ],
  handshake_invalid: [
    400,
    'Call this URL with GET only for handshakes: the query must have one valid token.',
  ],
  config_invalid: [500],
}
