import type { Cause } from 'geohook'
import { describe, expect, it } from 'vitest'
import { FORM_TYPE, JSON_TYPE, type Row, refuse } from './refuse.ts'

const json = (cause: Cause, body: Uint8Array | string, evidence: RegExp, headers = {}): Row => ({
  cause,
  name: JSON.stringify(typeof body === 'string' ? body : Buffer.from(body).toString('latin1')).slice(0, 60),
  evidence,
  request: { headers: { ...JSON_TYPE, ...headers }, body },
})
const form = (cause: Cause, body: string, evidence: RegExp): Row => json(cause, body, evidence, FORM_TYPE)
const typed = (cause: Cause, type: string, evidence: RegExp): Row => ({
  ...json(cause, '{"a":1}', evidence, { 'content-type': type }),
  name: type,
})
const encoded = (cause: Cause, encoding: string, evidence: RegExp, body = '{"a":1}'): Row => ({
  ...json(cause, body, evidence, { 'content-encoding': encoding }),
  name: encoding,
})
const token = (value: string, evidence: RegExp): Row => ({
  cause: 'handshake_token_invalid',
  name: `${value.length} characters`,
  evidence,
  request: { method: 'GET', path: `/hook?crc_token=${value}` },
  options: { profile: 'arcgis' },
})

/** Requests about which the evidence must not say more than is true. */
const ROWS: readonly Row[] = [
  encoded('content_encoding_misused', 'windows-1252', /says windows-1252, which is not a compression\.$/),
  encoded('content_encoding_misused', 'utf-8, identity', /says utf-8, which is not a compression\.$/),
  encoded(
    'content_encoding_unsupported',
    'acme',
    /^The header content-encoding says that the body is encoded/,
  ),
  encoded('content_encoding_unsupported', 'identity, gzip', /says gzip\.$/, 'x'),

  json(
    'payload_not_a_number',
    '{"a":NaN,"b":1,}',
    /undefined at byte 5, and a comma before a closing bracket at byte 14, and is JSON otherwise\.$/,
  ),
  json(
    'payload_printed',
    "{'a':1, // c\n}",
    /quotes at byte 1, and a comma before a closing bracket at byte 6, and a comment at byte 8, and is JSON/,
  ),
  json('payload_comment', '{"a":1, /* x */ "b":NaN}', /a comment at byte 8, and NaN.* at byte 20, and is/),
  json('payload_control_character', '{"a": "tab\there", }', /at byte 10, and a comma .* at byte 16, and is/),
  json('payload_printed', '{\'a\':"\\x"}', /quotes at byte 1, and a backslash .* at byte 6, and is/),
  json('payload_token', 'NaN', /has only characters that a handshake token may have\.$/),
  json('payload_malformed', ' NaN', /^The payload is not valid JSON\.$/),
  json('payload_malformed', '{"dir":"C:\\"}', /ends inside a text: a quote is missing or escaped, or/),
  json('payload_malformed', '{"a":"b}', /ends inside a text/),
  json('payload_cut_off', '{"a":"\\u00', /ends early, at byte 10\.$/),

  json('payload_charset', Buffer.from('{"name":"caf\xe9","x":1}', 'latin1'), /^Byte 12, .* Read as Latin-1/),
  json('payload_charset', Buffer.from('{"name":"\xe2\x82"}', 'latin1'), /^Byte 9, counted from 0/),
  json('payload_charset', Buffer.from('{"name":"\xe2\x82', 'latin1'), /^Byte 9, counted from 0/),
  json('payload_empty', '\ufeff', /^The body has only white space or a byte order mark\.$/),
  json('payload_empty', ' \n', /^The body has only white space or a byte order mark\.$/),
  json('payload_compressed', Buffer.from([0x1f, 0x8b, 8, 0, 0]), /content-encoding does not say so\.$/, {
    'content-encoding': 'identity',
  }),
  json('payload_base64', 'W10=', /JSON in base64/),
  json('payload_token', 'QUJDRA=', /has only characters that a handshake token may have\.$/),
  json('payload_malformed', 'user@beef1234 x', /^The payload is not valid JSON\.$/),
  json('payload_token', 'user:beef1234', /handshake token/),
  json('payload_malformed', 'user@beef1234', /^The payload is not valid JSON\.$/),

  form('content_type_form_for_json', '[1,2', /form, but the body begins like JSON\. The JSON .* ends early/),
  form(
    'content_type_form_for_json',
    '{"a":"x&y=1"',
    /begins like JSON\. The JSON .* ends early, at byte 12\.$/,
  ),
  form('content_type_form_for_json', '{"a":1,}', /begins like JSON\. The body has a comma before/),
  form('content_type_form_for_json', '{"__proto__":1}', /but the body is JSON\.$/),

  typed('content_type_charset', 'application/json; charset=utf-8; charset=latin1', /charset is latin1\.$/),
  typed('content_type_charset', 'application/json; charset=', /charset is empty\.$/),
  typed('content_type_charset', "application/json; charset='utf-8'", /is not utf-8, but a text that/),
  ...['bson', 'ubjson', 'json5', 'cson', 'yson', 'jsonc'].map((name) =>
    typed('content_type_unsupported', `application/${name}`, /^The content type is application\/\w+\.$/),
  ),
  typed(
    'content_type_misspelt',
    'application/json;profile=a,b',
    /has a comma that is not in double quotes\.$/,
  ),
  typed('content_type_misspelt', 'application/json,', /has a comma that is not in double quotes\.$/),
  token('a'.repeat(513), /has 513 characters; the maximum is 512/),
  token(`${'a'.repeat(10)}===`, /does not have the form of a token/),
]

describe('explain, evidence of refusals', () => {
  it.each(ROWS.map((row) => [`${row.cause}: ${row.name}`, row] as const))('says %s', async (_, row) => {
    const { diagnosis } = await refuse(row)
    expect(diagnosis.evidence).toMatch(row.evidence)
    expect(diagnosis).toMatchObject({ ok: false, cause: row.cause })
  })
})
