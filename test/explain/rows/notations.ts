import { JSON_BODY, type Row } from '../table.ts'

const hex = (digest: Uint8Array): string => Buffer.from(digest).toString('hex')
const base64 = (digest: Buffer): string => digest.toString('base64')
const FORM = 'application/x-www-form-urlencoded'
const inForm = (type = FORM) => ({ 'content-type': type })
const signedForm = (digest: Buffer): string => `payload=${JSON_BODY}&x-service=${hex(digest)}`

const written = (cause: Row['cause'], rows: Record<string, (digest: Buffer) => string>): Row[] =>
  Object.entries(rows).map(([name, write]) => ({
    cause,
    name,
    headers: (digest) => ({ 'x-service': write(digest) }),
  }))

export const NOTATION_ROWS: readonly Row[] = [
  ...written('ok', { 'base64 without padding': (digest) => base64(digest).replace('=', '') }),
  ...written('signature_encoding', {
    'a trailing comma': (digest) => `${hex(digest)},`,
    'hex with spaces': (digest) => hex(digest).replace(/..(?!$)/g, '$& '),
    '0x before each byte': (digest) => hex(digest).replace(/../g, '0x$&,'),
    'hex behind 0x': (digest) => `0x${hex(digest)}`,
    'numbers in lines': (digest) => `[ ${[...digest].join(',\n  ')} ]`,
    'base64 in two lines': (digest) => base64(digest).replace(/.{20}/, '$&\r\n'),
    'base64 with four equals signs': (digest) => `${base64(digest)}===`,
    'base64 after a name': (digest) => `v1=${base64(digest).replace('=', '')}`,
  }),
  ...written('signature_truncated', {
    '16 hex digits': (digest) => hex(digest).slice(5, 21),
    '16 hex digits behind v1=': (digest) => `v1=${hex(digest).slice(0, 16)}`,
    '11 base64 characters': (digest) => base64(digest).slice(0, 11),
    'a cut after a percent sign': (digest) => `${base64(digest).slice(0, 20)}%`,
    '16 bytes in base64 without padding': (digest) =>
      digest.subarray(0, 16).toString('base64').replaceAll('=', ''),
    '16 bytes in base64 with padding': (digest) => digest.subarray(0, 16).toString('base64'),
    '31 bytes in base64': (digest) => digest.subarray(0, 31).toString('base64'),
  }),
  ...written('unexplained', {
    'numbers above 255': (digest) => [...digest].map((byte) => byte + 256).join(),
    'numbers, one of them missing': (digest) => [...digest].slice(1).join(),
    'the wrong number of escapes': (digest) => hex(digest).slice(2).replace(/../g, '\\x$&'),
    '15 hex digits behind v1=': (digest) => `v1=${hex(digest).slice(0, 15)}`,
    '15 hex digits': (digest) => hex(digest).slice(0, 15),
    '10 base64 characters': (digest) => base64(digest).slice(0, 10),
    'a percent sign before a part': (digest) => `%x${base64(digest).slice(0, 20)}`,
    'a prefix in the middle': (digest) => `${hex(digest).slice(0, 10)}sha256=${hex(digest).slice(10)}`,
    'a prefix in the middle of a part': (digest) =>
      `${base64(digest).slice(0, 10)}sha256=${base64(digest).slice(10, 20)}`,
  }),
]

export const FORM_FIELD_ROWS: readonly Row[] = [
  {
    cause: 'signature_doubled',
    name: 'after another value of the same header',
    headers: (digest) => ({ 'x-service': ['0'.repeat(64), hex(digest)] }),
  },
  {
    cause: 'ok',
    name: 'in the header, while the form also has a signature field',
    sent: { body: `payload=${JSON_BODY}&x-service=none` },
    headers: (digest) => ({ ...inForm(), 'x-service': hex(digest) }),
  },
  ...[`  ${FORM}`, `${FORM} ; charset=utf-8`, FORM.toUpperCase()].map<Row>((type) => ({
    cause: 'ok',
    name: `in a form of the type ${JSON.stringify(type)}`,
    headers: () => inForm(type),
    got: { body: signedForm },
  })),
  ...[`x${FORM}`, `${FORM}x`, `text/plain; ${FORM}`, `${FORM} x;`].map<Row>((type) => ({
    cause: 'signature_in_form_field',
    name: `in a form with the invalid type ${JSON.stringify(type)}`,
    headers: () => inForm(type),
    got: { body: signedForm },
  })),
  ...['a'.repeat(100), 'a'.repeat(101), 'a b', 'a\nb', ''].map<Row>((name) => ({
    cause: 'signature_in_form_field',
    name: `in a field whose name is ${JSON.stringify(name)}`,
    headers: () => ({}),
    got: { body: (digest) => `payload=${JSON_BODY}&${name}=${hex(digest)}` },
  })),
  {
    cause: 'signature_in_form_field',
    name: 'after an empty field',
    sent: { body: '' },
    headers: () => ({}),
    got: { body: (digest) => `payload=&x-service=${hex(digest)}` },
  },
  ...['&', 'a&'].map<Row>((before) => ({
    cause: 'signature_header_missing',
    name: `after ${JSON.stringify(before)}, which is not a field, over an empty payload`,
    sent: { body: '' },
    headers: () => ({}),
    got: { body: (digest) => `${before}x-service=${hex(digest)}` },
  })),
  {
    cause: 'signature_header_missing',
    name: 'in none of seven headers; the evidence names five',
    headers: () => Object.fromEntries(['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((x) => [x, '0'.repeat(64)])),
    evidence: /do not match: a, b, c, d, e\.$/,
  },
  {
    cause: 'unexplained',
    name: 'in a form, over another payload',
    headers: () => inForm(),
    got: { body: `payload=${JSON_BODY}&x-service=${'0'.repeat(64)}` },
    evidence: new RegExp(
      `^The payload field has ${Buffer.byteLength(JSON_BODY)} bytes .* begins with [0-9a-f]{4}\\.( Not all hypotheses were tested|$)`,
    ),
  },
]
