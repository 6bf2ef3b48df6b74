/** Every cause, and what to do about it. `unexplained` is the only one without proof. */
export const FIXES = {
  ok: 'Nothing: the signature is right.',
  signature_header_missing:
    'Set a signatureKey on the webhook (senders sign from version 11.2), and let proxies pass the header on.',
  signature_in_other_header: 'Set signatureHeader to the name of that header.',
  signature_in_form_field:
    'Set signatureHeader to the name of that field. The form must begin with payload= and keep its content type.',
  signature_encoding: 'Send 64 hex digits or standard base64, with no prefix but sha256=.',
  signature_truncated: 'Send all 32 bytes. Look for a column or a log field that cuts the value.',
  signature_percent_encoded: 'Percent-encode the header at most once, and never decode it as a form.',
  signature_doubled: 'Send the header once. A proxy may be adding a second one.',
  algorithm: 'Sign with HMAC-SHA256.',
  key_whitespace:
    'Store the same key on both sides, without white space, a line end or a byte order mark around it.',
  key_encoding:
    'Use the characters of the key as they are, in UTF-8, on both sides: no hex or base64 decoding.',
  key_case: 'Upper and lower case matter in a key: copy it as it is.',
  key_empty: 'Set the key: on one side it is empty. Look for a variable that is not set.',
  key_previous: 'Set the newest key on the webhook too, then remove the older one here.',
  body_reserialized: 'Verify the bytes as received: mount geohook before anything parses the body.',
  body_trailing_newline: 'Keep the end of the body as it is: an editor, a shell or a template changed it.',
  body_line_endings: 'Keep CR and LF as they are: something rewrote the line ends.',
  body_bom: 'Keep the byte order mark as it is: something added or removed it.',
  body_charset:
    'Keep the bytes as they are: something read them in one character set and wrote them in another.',
  body_form_decoded: 'Verify the form as received, not its decoded fields.',
  body_form_field:
    'Sign and verify the same bytes: the whole form in the header, or the payload field alone in a field.',
  body_decompressed: 'Sign and send the same bytes: switch compression off at the sender and at proxies.',
  body_empty: 'Pass the whole body on: on one side it is empty. Look for something that read it before.',
  unexplained:
    'Compare these fingerprints with the ones at the sender: the one that differs is what changed. If none does, the sender signs something else, or in another way.',
} as const

/** What was wrong. */
export type Cause = keyof typeof FIXES
