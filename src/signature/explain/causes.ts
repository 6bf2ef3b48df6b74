/**
 * Every cause that `explain` reports, with its fix. `explain` has proof of every cause that it reports, except
 * `unexplained`.
 */
export const FIXES = {
  ok: 'Nothing to fix: the signature is valid.',
  signature_header_missing:
    'Set a signatureKey on the webhook, and make sure that proxies forward the signature header. Services sign from version 11.2.',
  signature_in_other_header: 'Set the option signatureHeader to the name of that header.',
  signature_in_form_field:
    'Set the option signatureHeader to the name of that form field. The body must start with payload=, and the content type must be application/x-www-form-urlencoded.',
  signature_encoding:
    'Send the signature as 64 hex digits or in standard base64. The only prefix allowed is sha256=.',
  signature_truncated:
    'Send all 32 bytes of the signature. Look for a database column or a log field that cuts the value.',
  signature_percent_encoded:
    'Percent-encode the signature at most once, and never decode the header as a form.',
  signature_doubled: 'Send the signature header only once. A proxy may be adding a second one.',
  algorithm: 'Sign with HMAC-SHA256, with the signature key as the key and the body as the message.',
  key_whitespace:
    'Store the same key on both sides, without white space, a line ending or a byte order mark around it.',
  key_encoding:
    'Use the characters of the key as they are, in UTF-8, on both sides. Do not decode the key from hex or base64.',
  key_case: 'Copy the key exactly: upper and lower case matter.',
  key_empty:
    'Set the signature key on the side where it is empty. Look for an environment variable that is not set.',
  key_previous: 'Set the newest key on the webhook, then remove the older key from the receiver.',
  body_reserialized: 'Verify the bytes as received: mount geohook before anything that parses the body.',
  body_trailing_newline:
    'Keep the end of the body unchanged. An editor, a shell or a template has added or removed white space there.',
  body_line_endings: 'Keep CR and LF unchanged. Something has replaced the line endings in the body.',
  body_bom: 'Keep the start of the body unchanged. Something has added or removed a byte order mark.',
  body_charset:
    'Keep the bytes of the body unchanged. Something has decoded them in one character set and encoded them in another.',
  body_form_decoded: 'Verify the form as received, before a form parser decodes its fields.',
  body_form_field:
    'Sign and verify the same bytes: the whole form if the signature is in a header, only the payload field if it is in a form field.',
  body_decompressed:
    'Sign and send the same bytes: disable compression at the sender and at every proxy in between.',
  body_empty:
    'Forward the complete body: on one side it is empty. Look for code that reads the body before geohook does.',
  unexplained:
    'Compute the same fingerprints at the sender and compare: the one that differs shows what changed. If both are equal, the sender signs other bytes or signs in another way.',
} as const

/** A cause that `explain` reports. */
export type Cause = keyof typeof FIXES
