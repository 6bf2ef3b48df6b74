import { hmac, JSON_BODY, KEY, type Row } from '../table.ts'

const hex = (digest: Buffer) => digest.toString('hex')
const base64 = (digest: Buffer) => digest.toString('base64')
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
/** A body whose base64 signature contains `+` and `/`. */
const [body = ''] = Array.from({ length: 500 }, (_, when) => `{"when":${when}}`).filter((text) =>
  /\+.*\//.test(base64(hmac(KEY, text))),
)

/** Signatures in another place, and in a notation that the receiver would not read there either. */
export const PLACE_ROWS: readonly Row[] = [
  {
    cause: 'signature_in_other_header',
    also: 'signature_encoding',
    name: 'base64 in another header, for a receiver of hex',
    headers: (digest) => ({ 'x-hub-signature-256': base64(digest) }),
    got: { encoding: 'hex' },
    evidence: /x-hub-signature-256 contains the signature\. The signature is not in hex, the only encoding/,
  },
  {
    cause: 'signature_in_other_header',
    name: 'hex in another header, for a receiver of hex',
    headers: (digest) => ({ 'x-hub-signature-256': hex(digest) }),
    got: { encoding: 'hex' },
  },
  ...[':', '-', ' '].map<Row>((separator) => ({
    cause: 'signature_in_other_header',
    also: 'signature_encoding',
    name: `hex with "${separator}" in another header`,
    headers: (digest) => ({ 'x-sig': (hex(digest).match(/../g) ?? []).join(separator) }),
    evidence: /x-sig contains the signature\. The received value contains the signature in another encoding/,
  })),
  {
    cause: 'algorithm',
    also: 'signature_in_other_header',
    name: 'HMAC-SHA1 in plain hex in another header',
    headers: () => ({ 'x-sig': hex(hmac(KEY, JSON_BODY, 'sha1')) }),
    evidence: /The header x-sig contains the signature\.$/,
  },
  {
    cause: 'signature_in_query',
    also: 'signature_encoding',
    name: 'base64url in the query',
    sent: { body },
    url: (digest) => `/hooks?sig=${digest.toString('base64url')}`,
    headers: () => ({}),
  },
  {
    cause: 'signature_in_form_field',
    also: 'signature_encoding',
    name: 'base64url in a form field',
    sent: { body },
    headers: () => FORM,
    got: { body: (digest) => `payload=${body}&sig=${digest.toString('base64url')}` },
  },
  {
    cause: 'signature_in_form_field',
    name: 'a form whose first field has another name',
    headers: () => FORM,
    got: { body: (digest) => `data=${JSON_BODY}&sig=${hex(digest)}` },
    evidence: /in the field sig\.$/,
  },
  {
    cause: 'signature_doubled',
    also: 'signature_encoding',
    name: 'base64 twice, for a receiver of hex',
    headers: (digest) => ({ 'x-service': `${base64(digest)}, ${base64(digest)}` }),
    got: { encoding: 'hex' },
  },
  {
    cause: 'signature_percent_encoded',
    also: 'signature_encoding',
    name: 'hex percent-encoded twice, for a receiver of base64',
    headers: (digest) => ({ 'x-service': `%2573ha256%253D${hex(digest)}` }),
    got: { encoding: 'base64' },
    evidence: /The signature is not in base64, the only encoding that the receiver accepts\.$/,
  },
]
