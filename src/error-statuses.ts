/** The codes of `geohook/changes`. No request can cause them: they are thrown to handlers. */
export type ChangesCode =
  | 'changes_url_refused'
  | 'changes_token_rejected'
  | 'changes_failed'
  | 'changes_timeout'
  | 'changes_malformed'
  | 'changes_too_large'
  | 'changes_unavailable'
  | 'resync_required'

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
  | ChangesCode

/** The hint of codes whose cause a saved request shows. */
const SAVE_REQUEST =
  'To find the cause, set SIGNATURE_KEY and run "npx geohook listen --save captures" in place of this receiver, then "npx geohook explain captures".'

/** The status if a request is not authentic. All its codes have the same, so that a sender cannot tell them apart. */
export const UNAUTHORIZED = 401

/** The status that frameworks send if no handler of theirs takes a request. */
export const NOT_FOUND = 404

/**
 * The HTTP status and the hint for each error code that can end a request. Without a hint, that of the error names the
 * command that explains the code. Responses never contain the hint.
 */
export const ERROR_CODES: Record<
  Exclude<ErrorCode, ChangesCode>,
  readonly [status: number, hint?: string]
> = {
  signature_missing: [UNAUTHORIZED, SAVE_REQUEST],
  signature_malformed: [UNAUTHORIZED, SAVE_REQUEST],
  signature_mismatch: [UNAUTHORIZED, SAVE_REQUEST],
  key_unknown: [
    UNAUTHORIZED,
    'Check that the signatureKey function returns a key for this path. Under a mounted Express router, create the inner ' +
      'one with express.Router({ mergeParams: true }) to get the route parameters of both.',
  ],
  key_unavailable: [503],
  delivery_stale: [400, SAVE_REQUEST],
  delivery_in_progress: [409],
  handler_failed: [500, 'To log the stack trace, add the function failed to the observer.'],
  inbox_unavailable: [503],
  receiver_busy: [503],
  receiver_closed: [503],
  body_too_large: [413],
  body_timeout: [408],
  body_aborted: [400],
  body_already_parsed: [500, 'Mount geohook before body parsers.'],
  content_encoding_unsupported: [415, SAVE_REQUEST],
  content_type_unsupported: [415, SAVE_REQUEST],
  payload_malformed: [400, SAVE_REQUEST],
  payload_invalid: [400, SAVE_REQUEST],
  method_not_allowed: [405],
  handshake_invalid: [400],
  config_invalid: [500, ''],
}
