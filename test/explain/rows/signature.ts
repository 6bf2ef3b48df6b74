import { createHash } from 'node:crypto'
import { hmac, JSON_BODY, KEY, type Row } from '../table.ts'

const FORM = 'application/x-www-form-urlencoded'
const header = (value: string) => ({ 'x-service': value })
const hex = (digest: Buffer) => digest.toString('hex')
const base64 = (digest: Buffer) => digest.toString('base64')
const pairs = (digest: Buffer) => hex(digest).match(/../g) as string[]
const lowerPercent = (text: string) => encodeURIComponent(text).replace(/%../g, (code) => code.toLowerCase())

/** A body whose base64 signature contains `+` and `/`. Both base64url and form decoding change these. */
const [bodyWithPlus = ''] = Array.from({ length: 500 }, (_, when) => `{"when":${when}}`).filter((body) =>
  /^[^+]+\+.*\//.test(base64(hmac(KEY, body))),
)

/** Returns a form whose JSON is not percent-encoded, so that it contains `&`, `=` and `+`. */
const formWith = (field: string) => (digest: Buffer) =>
  `payload=${JSON_BODY}&${field}=${lowerPercent(`sha256=${base64(digest)}`)}`

export const SIGNATURE_ROWS: Row[] = [
  { cause: 'ok', name: 'hex in x-service' },
  {
    cause: 'ok',
    name: 'prefixed base64, percent-encoded in lower case',
    headers: (digest) => header(lowerPercent(`sha256=${base64(digest)}`)),
  },
  {
    cause: 'ok',
    name: 'a form with its signature in the field named by the receiver',
    headers: () => ({ 'Content-Type': `${FORM}; charset=utf-8` }),
    got: { body: formWith('x-esriHook-Signature'), signatureHeader: 'X-EsriHook-Signature' },
  },

  { cause: 'signature_header_missing', name: 'a webhook without a signatureKey', headers: () => ({}) },
  {
    cause: 'signature_header_missing',
    name: 'a proxy that empties the header',
    headers: () => header(''),
    evidence: /x-service is empty/,
  },
  {
    cause: 'signature_header_missing',
    name: 'a framework that passes undefined',
    headers: () => ({ 'x-service': undefined }),
    evidence: /x-service is missing/,
  },
  {
    cause: 'signature_header_missing',
    name: 'another header, with a signature over another body, which the evidence only mentions',
    headers: (digest) => ({ 'x-hub-signature-256': `sha256=${hex(digest)}`, 'x-request-id': 'f00d' }),
    got: { body: '{}' },
    evidence: /do not match: x-hub-signature-256\.$/,
  },
  {
    cause: 'signature_header_missing',
    name: 'a form whose last field is not a signature',
    headers: () => ({ 'content-type': FORM }),
    got: { body: `payload=${JSON_BODY}&x-service=none&f=json` },
  },

  {
    cause: 'signature_in_other_header',
    name: 'x-hub-signature-256',
    headers: (digest) => ({ 'X-Hub-Signature-256': `sha256=${hex(digest)}` }),
    evidence: /x-hub-signature-256/,
  },
  {
    cause: 'signature_in_other_header',
    name: 'the header name of the hosted product',
    headers: (digest) => new Headers({ 'x-esriHook-Signature': `sha256=${base64(digest)}` }),
    evidence: /x-esrihook-signature/,
  },
  {
    cause: 'signature_in_other_header',
    name: 'an API gateway that renames headers and adds its own',
    headers: (digest) => ({
      'x-service': 'gateway',
      'x-amzn-remapped-x-service': lowerPercent(base64(digest)),
    }),
  },

  ...['hex', 'base64'].map<Row>((encoding) => ({
    cause: 'signature_in_query',
    name: `${encoding} in the query of the URL`,
    url: (digest) => `/hooks?f=json&signature=${encodeURIComponent(digest.toString(encoding as 'hex'))}`,
    headers: () => ({}),
  })),

  {
    cause: 'signature_in_form_field',
    name: 'the last field of a form that is not percent-encoded',
    headers: () => ({ 'content-type': FORM }),
    got: { body: formWith('x-esriHook-Signature') },
    evidence: /field x-esriHook-Signature\.$/,
  },
  {
    cause: 'signature_in_form_field',
    name: 'the last field of a percent-encoded form',
    sent: { body: encodeURIComponent(JSON_BODY) },
    headers: () => ({ 'content-type': FORM }),
    got: { body: (digest) => `payload=${encodeURIComponent(JSON_BODY)}&signature=${hex(digest)}` },
  },
  {
    cause: 'signature_in_form_field',
    name: 'the right field, but a proxy removed the content type, so that receivers do not read it',
    headers: () => ({}),
    got: { body: formWith('x-service') },
  },

  ...['signature', 'x-hub-sig'].map<Row>((member) => ({
    cause: 'signature_in_body',
    also: 'signed_text',
    name: `the member ${member}, over the member data`,
    sent: { body: '{"when":1}' },
    headers: () => ({}),
    got: { body: (digest) => `{"data":{"when":1},"${member}":"${hex(digest)}"}` },
    evidence: new RegExp(`in the member ${member}\\.`),
  })),
  {
    cause: 'signed_text',
    name: 'a timestamp, which the evidence does not show',
    headers: () => ({ 'x-time': '1730385704', 'x-service': hex(hmac(KEY, `1730385704.${JSON_BODY}`)) }),
    evidence: /over the text \{timestamp\}\.\{body\}\.$/,
  },
  {
    cause: 'signed_text',
    name: 'the URL that the sender used',
    url: () => '/hooks?f=json',
    headers: () => ({
      host: 'gis.example:443',
      'content-type': 'application/json',
      'x-service': hex(hmac(KEY, `https://gis.example/hooks?f=json${JSON_BODY}`)),
    }),
    evidence: /over the text \{https URL\}\{body\}\.$/,
  },
  {
    cause: 'signed_text',
    also: 'signature_encoding',
    name: 'the signature of the time and the body',
    headers: () => header(`t=1730385704,v1=${hex(hmac(KEY, `1730385704.${JSON_BODY}`))}`),
  },

  ...Object.entries<(digest: Buffer) => string>({
    "base64url, as Python's urlsafe_b64encode": (digest) =>
      base64(digest).replaceAll('+', '-').replaceAll('/', '_'),
    'base64url without padding': (digest) => digest.toString('base64url'),
    ".NET's BitConverter.ToString": (digest) => pairs(digest).join('-').toUpperCase(),
    'hex with colons': (digest) => pairs(digest).join(':'),
    "base64 of the hex, as PHP's base64_encode(hash_hmac(…))": (digest) => btoa(hex(digest)),
    'base64 of hex in upper case': (digest) => btoa(hex(digest).toUpperCase()),
    "PHP's bin2hex(hash_hmac(…)), hex of hex": (digest) => hex(Buffer.from(hex(digest))),
    'hex of the base64': (digest) => hex(Buffer.from(base64(digest))),
    "Python's f-string of bytes": (digest) => `sha256=b'${base64(digest)}'`,
    'another prefix': (digest) => `hmac-sha256=${hex(digest)}`,
    'the prefix in upper case': (digest) => `SHA256=${hex(digest)}`,
    'the prefix twice': (digest) => `sha256=sha256=${base64(digest)}`,
    'a scheme as prefix': (digest) => `HMAC-SHA256 ${base64(digest)}`,
    'the output of openssl dgst': (digest) => `SHA2-256(stdin)= ${hex(digest)}`,
    "a trailing line feed, as from Python's encodebytes": (digest) => `${base64(digest)}\n`,
    'JSON quotes': (digest) => `sha256="${hex(digest)}"`,
    'parameters, percent-encoded': (digest) => encodeURIComponent(`t=1730385704,v1=${hex(digest)}`),
    'a list of bytes': (digest) => new Uint8Array(digest).toString(),
  }).map<Row>(([name, write]) => ({
    cause: 'signature_encoding',
    name,
    sent: { body: bodyWithPlus },
    headers: (digest) => header(write(digest)),
  })),

  ...Object.entries<(digest: Buffer) => string>({
    'a column VARCHAR(32)': (digest) => hex(digest).slice(0, 32),
    'a column VARCHAR(64) for prefix and hex': (digest) => `sha256=${hex(digest)}`.slice(0, 64),
    'a column VARCHAR(32) for prefix and base64': (digest) => `sha256=${base64(digest)}`.slice(0, 32),
    'a cut through a percent-encoded character': (digest) => `sha256%3d${base64(digest).slice(0, 20)}%2`,
    'HMAC-SHA256-128 (RFC 4868) in base64': (digest) => digest.subarray(0, 16).toString('base64'),
    'eight bytes in base64': (digest) => digest.subarray(0, 8).toString('base64'),
    'a receiver that removes the wrong number of prefix characters': (digest) => hex(digest).slice(1),
  }).map<Row>(([name, write]) => ({
    cause: 'signature_truncated',
    name,
    headers: (digest) => header(write(digest)),
  })),

  ...Object.entries<(digest: Buffer) => string>({
    'percent-encoding twice': (digest) => encodeURIComponent(encodeURIComponent(`sha256=${base64(digest)}`)),
    'percent-encoding three times, in lower case': (digest) =>
      lowerPercent(lowerPercent(lowerPercent(base64(digest)))),
    'a form decoder that turns + into a space': (digest) => base64(digest).replaceAll('+', ' '),
    'a form decoder that left the prefix encoded': (digest) =>
      `sha256%3D${base64(digest).replaceAll('+', ' ')}`,
  }).map<Row>(([name, write]) => ({
    cause: 'signature_percent_encoded',
    name,
    sent: { body: bodyWithPlus },
    headers: (digest) => header(write(digest)),
  })),

  {
    cause: 'signature_doubled',
    name: 'a proxy that adds the header again',
    headers: (digest) => [
      ['X-Service', hex(digest)],
      ['x-service', hex(digest)],
    ],
  },
  {
    cause: 'signature_doubled',
    name: 'two header lines as a list',
    headers: (digest) => ({ 'X-Service': [`sha256=${hex(digest)}`, `sha256=${hex(digest)}`] }),
  },
  {
    cause: 'signature_doubled',
    name: 'a gateway that prepends its own value',
    headers: (digest) => header(`${'0'.repeat(64)},${lowerPercent(base64(digest))}`),
  },

  ...Object.entries<() => string>({
    'HMAC-SHA1, as x-hub-signature': () => `sha1=${hex(hmac(KEY, JSON_BODY, 'sha1'))}`,
    'HMAC-MD5': () => hex(hmac(KEY, JSON_BODY, 'md5')),
    'HMAC-SHA384': () => base64(hmac(KEY, JSON_BODY, 'sha384')),
    'HMAC-SHA512 in base64': () => base64(hmac(KEY, JSON_BODY, 'sha512')),
    'HMAC-SHA512 in upper case': () => hex(hmac(KEY, JSON_BODY, 'sha512')).toUpperCase(),
    'SHA-256 of the body alone': () => createHash('sha256').update(JSON_BODY).digest('hex'),
    'SHA-256 of the key and the body': () =>
      createHash('sha256')
        .update(KEY + JSON_BODY)
        .digest('hex'),
    'SHA-1 of the body and the key, percent-encoded': () =>
      encodeURIComponent(
        createHash('sha1')
          .update(JSON_BODY + KEY)
          .digest('base64'),
      ),
    "key and body swapped, as in PHP's hash_hmac('sha256', $key, $body)": () => hex(hmac(JSON_BODY, KEY)),
  }).map<Row>(([name, write]) => ({ cause: 'algorithm', name, headers: () => header(write()) })),
]
