import { readFileSync } from 'node:fs'
import type { Cause } from 'geohook'
import { explain } from 'geohook'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { CODE_CAUSES, REFUSAL_CAUSES, type RefusalCode } from '../../src/explain/causes.ts'
import { FORM_TYPE, JSON_TYPE, NOW, type Row, refuse, STATE_CODES, signed } from './refuse.ts'
import { KEY } from './table.ts'

const json = (cause: Cause, name: string, body: Uint8Array | string, evidence: RegExp): Row => ({
  cause,
  name,
  evidence,
  request: { headers: JSON_TYPE, body },
})
const form = (cause: Cause, name: string, body: string, evidence: RegExp): Row => ({
  cause,
  name,
  evidence,
  request: { headers: FORM_TYPE, body },
})
const typed = (cause: Cause, type: string, evidence: RegExp, body: string = '{"a":1}'): Row => ({
  cause,
  name: JSON.stringify(type),
  evidence,
  request: { headers: { 'content-type': type }, body },
})
const event = (when: unknown): string => JSON.stringify({ events: [{ eventType: 'FeaturesCreated', when }] })
const aged = (cause: Cause, name: string, when: unknown, evidence: RegExp, headers = {}): Row => ({
  cause,
  name,
  evidence,
  request: { headers: { ...JSON_TYPE, ...headers }, body: event(when) },
  options: { maxAge: 300_000 },
})
const handshake = (cause: Cause, path: string, evidence: RegExp): Row => ({
  cause,
  name: path.slice(0, 60),
  evidence,
  request: { method: 'GET', path },
  options: { profile: 'arcgis' },
})
const MINUTE = 60_000
const schema = z.object({ events: z.array(z.object({ when: z.number() })) })

/** One row for each code that a request alone can cause, and rows for each precise reason. */
const ROWS: readonly Row[] = [
  ...['GET', 'PUT', 'DELETE'].map<Row>((method) => ({
    cause: 'method_not_allowed',
    name: method,
    evidence: new RegExp(`^The method is ${method} in place of POST\\.$`),
    request: { method },
  })),
  {
    cause: 'method_not_allowed',
    name: 'a method that is not repeated',
    evidence: /^The method of the request is not POST\.$/,
    request: { method: 'PROPFIND' },
  },
  {
    cause: 'method_preflight',
    name: 'a preflight request',
    evidence: /access-control-request-method/,
    request: { method: 'OPTIONS', headers: { 'access-control-request-method': 'POST' } },
  },
  {
    cause: 'handshake_not_enabled',
    name: 'a handshake without the profile',
    evidence: /crc_token/,
    request: { method: 'GET', path: '/hook?crc_token=abc' },
  },
  handshake('handshake_token_missing', '/hook', /The parameter crc_token, .* is missing/),
  handshake('handshake_token_missing', '/hook?CRC_TOKEN=abc', /case-sensitive/),
  handshake('handshake_token_empty', '/hook?crc_token=', /is empty/),
  handshake('handshake_token_doubled', '/hook?crc_token=a&crc_token=b', /2 times/),
  handshake('handshake_token_invalid', '/hook?crc_token=%7B%7D', /does not have the form of a token/),
  handshake('handshake_token_invalid', `/hook?crc_token=${'a'.repeat(600)}`, /has 600 characters/),
  handshake('handshake_url_too_long', `/hook?crc_token=${'a'.repeat(8001)}`, /8,\d{3} characters/),
  ...(['gzip', 'br', 'deflate'] as const).map<Row>((encoding) => ({
    cause: 'content_encoding_wrong',
    name: `${encoding}, but the body is JSON`,
    isBodyKnown: true,
    evidence: new RegExp(`says ${encoding}, but`),
    request: { headers: { ...JSON_TYPE, 'content-encoding': encoding }, body: '{"a":1}' },
  })),
  {
    cause: 'content_encoding_misused',
    name: 'utf-8',
    evidence: /says utf-8, which is not a compression/,
    request: { headers: { ...JSON_TYPE, 'content-encoding': 'UTF-8' }, body: '{}' },
  },
  {
    cause: 'content_encoding_unsupported',
    name: 'gzip',
    evidence: /says gzip\.$/,
    request: { headers: { ...JSON_TYPE, 'content-encoding': 'gzip' }, body: Buffer.from([0x1f, 0x8b, 8, 0]) },
  },
  {
    cause: 'content_encoding_unsupported',
    name: 'an encoding that is not repeated',
    evidence: /^(?!.*secret)/,
    request: { headers: { ...JSON_TYPE, 'content-encoding': 'secret' }, body: 'x' },
  },
  {
    cause: 'body_too_large',
    name: 'a content-length over the limit',
    evidence: /^The header content-length says 2,000 bytes; the limit is 1,024\.$/,
    request: { headers: JSON_TYPE, body: 'x'.repeat(2000) },
    options: { limit: '1kb' },
  },
  {
    cause: 'content_type_missing',
    name: 'no content type',
    evidence: /missing or empty/,
    request: { body: '{"a":1}' },
  },
  typed(
    'content_type_text',
    'text/plain;charset=UTF-8',
    /^The content type is text\/plain, but the body is JSON\.$/,
  ),
  typed('content_type_binary', 'application/octet-stream', /octet-stream/),
  typed('content_type_multipart', 'multipart/form-data; boundary=x', /multipart/),
  typed('content_type_doubled', 'application/json, application/json', /several values/),
  typed('content_type_misspelt', 'application/json, charset=utf-8', /a comma that is not in double quotes/),
  typed('content_type_charset', 'application/json; charset=latin1', /charset is latin1\.$/),
  typed('content_type_charset', 'application/json;charset="UTF-16"', /charset is utf-16\.$/),
  typed(
    'content_type_charset',
    'application/x-www-form-urlencoded; charset=secret',
    /(?!.*secret).*does not know\.$/,
    'a=1',
  ),
  typed('content_type_misspelt', 'application/jsno', /nearly application\/json/),
  typed('content_type_misspelt', 'json', /^The content type is json, which/),
  typed('content_type_misspelt', 'application/json charset=utf-8', /without a semicolon/),
  typed('content_type_unsupported', 'text/plain', /^The content type is text\/plain\.$/, 'hello world'),
  typed('content_type_unsupported', 'application/xml', /^The content type is application\/xml\.$/, '<a/>'),
  typed('content_type_unsupported', 'application/secret', /^(?!.*secret)/),
  typed('content_type_form_for_json', FORM_TYPE['content-type'], /says form, but the body is JSON/),
  form(
    'content_type_form_for_json',
    'cut JSON',
    '{"a":[1,',
    /begins like JSON\. The JSON in the body ends early/,
  ),
  json('content_type_json_for_form', 'a form', 'payload=%7B%7D&b=2', /body is a form/),
  json('content_type_json_for_form', 'a raw payload', 'payload={"a":1}', /body is a form/),
  json('payload_empty', 'no bytes', '', /^The body is empty\.$/),
  json('payload_empty', 'white space', ' \r\n', /only white space/),
  json('payload_compressed', 'gzip', Buffer.from([0x1f, 0x8b, 8, 0, 0]), /gzip data/),
  json('payload_compressed', 'zstd', Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0]), /Zstandard data/),
  json('payload_utf16', 'big endian', Buffer.from('{"a":1}', 'utf16le').swap16(), /UTF-16/),
  json(
    'payload_charset',
    'Latin-1',
    Buffer.from('{"abc":"ü"}', 'latin1'),
    /^Byte 8, counted from 0, is not valid UTF-8\. Read as Latin-1/,
  ),
  json(
    'payload_charset',
    'random bytes',
    Buffer.from([0x7b, 0x7d, 0xff, 0xfe]),
    /^Byte 2, counted from 0, is not valid UTF-8\.$/,
  ),
  json('payload_bom', 'two byte order marks', '\ufeff\ufeff{}', /more than one byte order mark/),
  json('payload_double_encoded', 'twice', '"{\\"a\\":1}"', /encoded twice/),
  json('payload_scalar', 'a number', ' 42 ', /but a number in place/),
  json('payload_scalar', 'a text', '"hello world"', /but a string in place/),
  json('payload_base64', 'base64url', Buffer.from('{"a":"???>>>"}').toString('base64url'), /JSON in base64/),
  json('payload_percent_encoded', 'a percent-encoded object', '%7B%22a%22%3A1%7D', /percent-encoded JSON/),
  json('payload_markup', 'HTML', '<!DOCTYPE html><title>502</title>', /an HTML page/),
  json('payload_markup', 'XML', '<?xml version="1.0"?><a/>', /XML or HTML/),
  json('payload_printed', 'JavaScript', '[object Object]', /JavaScript object/),
  json('payload_printed', 'Python', "{'a': None}", /single quotes at byte 1,/),
  json('payload_printed', 'Python words', '{"ä": True}', /Python prints them at byte 7,/),
  json('payload_cut_off', 'in a text', '{"a":"b', /ends early, at byte 7\.$/),
  json('payload_cut_off', 'in a word', '{"a":tr', /ends early/),
  json('payload_several', 'NDJSON', '{"a":1}\n{"b":2}\n', /first ends at byte 7\.$/),
  json('payload_several', 'joined', '{}[]', /first ends at byte 2\.$/),
  json('payload_trailing_text', 'a bracket', '{"a":1}}', /complete at byte 7, but text follows/),
  json('payload_trailing_text', 'a semicolon', '[1];', /complete at byte 3/),
  json('payload_trailing_comma', 'in an object', '{"a":1,}', /comma before a closing bracket at byte 6,/),
  json('payload_trailing_comma', 'in an array', '[1, ]', /at byte 2,/),
  json('payload_comment', 'a line', '{ // why\n"a":1}', /a comment at byte 2,/),
  json('payload_comment', 'a block', '{"a":1 /* why */}', /a comment at byte 7,/),
  json('payload_not_a_number', 'undefined', '{"a":undefined}', /NaN, Infinity or undefined at byte 5,/),
  json('payload_unquoted_name', 'JavaScript', '{a:1,b:"x"}', /a name without quotes at byte 1,/),
  json('payload_control_character', 'a tab', '{"a":"x\ty"}', /control character.* at byte 7,/),
  json('payload_escape', 'a path', '{"a":"C:\\Users"}', /backslash.* at byte 8,/),
  json('payload_escape', 'an apostrophe', '{"a":"it\\\'s fine"}', /backslash/),
  json('payload_too_deep', 'arrays', '['.repeat(65) + ']'.repeat(65), /nested deeper than 64 levels/),
  json('payload_forbidden_key', '__proto__', '{"__proto__":1}', /forbidden key __proto__/),
  json('payload_token', 'words', 'hello-world', /handshake token/),
  form('form_empty', 'ampersands', '&&', /no fields/),
  form('form_too_many_fields', '1001 fields', 'a=1&'.repeat(1001), /1,001 fields; the maximum is 1,000/),
  form('form_percent_encoding', 'a lone percent sign', 'a=100%&b=1', /percent sign at character 5/),
  form('form_charset', 'Latin-1', 'name=M%FCller', /not valid UTF-8/),
  form('form_two_payloads', 'two', 'payload=%7B%7D&payload=%7B%7D', /more than one field named payload/),
  form(
    'form_double_encoded',
    'twice',
    `payload=${encodeURIComponent(encodeURIComponent('{"a":1}'))}`,
    /encoded twice/,
  ),
  form(
    'payload_trailing_comma',
    'in a field',
    `payload=${encodeURIComponent('{"a":1,}')}`,
    /at character 6,/,
  ),
  form('payload_empty', 'an empty field', 'payload=&a=1', /^The field payload is empty\.$/),
  aged('delivery_untimed', 'no time', undefined, /No event has a valid time/),
  aged('delivery_untimed', 'a date in words', '31 October 2024', /No event has a valid time/),
  aged('delivery_time_unit', 'seconds', NOW / 1000, /read as seconds since 1970/),
  aged('delivery_time_unit', 'microseconds', NOW * 1000, /read as microseconds since 1970/),
  aged('delivery_in_future', 'an hour', NOW + 60 * MINUTE, /1 hour in the future; maxAge is 5 minutes\.$/),
  aged(
    'delivery_too_old',
    'a day and an hour',
    NOW - 25 * 60 * MINUTE,
    /1 day 1 hour old; maxAge is 5 minutes\.$/,
  ),
  aged('delivery_clock', 'a clock that is ahead', NOW + 60 * MINUTE, /1 hour ahead of/, {
    date: new Date(NOW + 60 * MINUTE).toUTCString(),
  }),
  aged('delivery_too_old', 'a clock that is behind, or a replay', NOW - 60 * MINUTE, /1 hour old/, {
    date: new Date(NOW - 60 * MINUTE).toUTCString(),
  }),
  {
    cause: 'payload_invalid',
    name: 'two issues',
    evidence: /^The schema reports 2 issues, the first at events\[0\]\.when: Invalid input: expected number/,
    request: { headers: JSON_TYPE, body: '{"events":[{"when":"x"},{}]}' },
    options: { schema },
  },
  {
    cause: 'key_unknown',
    name: 'null',
    evidence: /returns null for the path \/hooks\/parcels\.$/,
    request: { headers: JSON_TYPE, body: '{"a":1}', path: '/hooks/parcels?secret=1' },
    options: { signatureKey: () => null },
  },
  {
    cause: 'key_unknown',
    name: 'an empty list',
    evidence: /an empty list/,
    request: { headers: JSON_TYPE, body: '{"a":1}' },
    options: { signatureKey: () => [] },
  },
  {
    cause: 'key_invalid',
    name: 'white space',
    evidence: /has white space around it\.$/,
    request: { headers: JSON_TYPE, body: '{"a":1}' },
    options: { signatureKey: () => ` ${KEY}` },
  },
  {
    cause: 'key_unset',
    name: 'a signed request without a key',
    evidence: /this receiver has no key/,
    request: { headers: JSON_TYPE, body: '{"a":1}' },
    options: { signatureKey: undefined as never, unsigned: 'accept' },
  },
  {
    cause: 'key_unavailable',
    name: 'a function that throws',
    evidence: /throws or rejects/,
    request: { headers: JSON_TYPE, body: '{"a":1}' },
    options: {
      signatureKey: () => {
        throw new Error(KEY)
      },
    },
  },
  {
    cause: 'signature_header_missing',
    name: 'no signature',
    evidence: /^The header x-service is (missing|empty)\. No other header looks like a signature\.$/,
    request: { headers: { ...JSON_TYPE, 'x-service': '' }, body: '{"a":1}' },
  },
  {
    cause: 'signature_malformed',
    name: 'a value that cannot be a signature',
    evidence: /^The value of the header x-service is not a signature in hex or base64\.$/,
    request: { headers: { ...JSON_TYPE, 'x-service': 'secret' }, body: '{"a":1}' },
  },
  {
    cause: 'unexplained',
    name: 'another signature',
    evidence: /^The body has 7 bytes/,
    request: { headers: { ...JSON_TYPE, 'x-service': '0'.repeat(64) }, body: '{"a":1}' },
  },
  {
    cause: 'payload_scalar',
    name: 'an unsigned request to a receiver that accepts it',
    evidence: /but null/,
    request: { headers: { ...JSON_TYPE, 'x-service': '' }, body: ' null' },
    options: { unsigned: 'accept' },
  },
]

/** Bodies and headers whose reason is not certain: the cause is that of the code. */
const TRAPS: readonly [code: RefusalCode, body: string, type?: string][] = [
  ['payload_malformed', '{a=1, b=2}'],
  ['payload_malformed', '{"a": 01}'],
  ['payload_malformed', '{"a" 1}'],
  ['payload_malformed', '{"a":1]'],
  ['payload_malformed', '{,}'],
  ['payload_malformed', "{'a': hello world}"],
  ['payload_malformed', '{"a": "it"s"}'],
  ['payload_malformed', "{'a': 1, "],
  ['payload_malformed', 'events: - a'],
  ['payload_malformed', 'Traceback (most recent call last):'],
  ['payload_malformed', '< 5'],
  ['payload_malformed', 'a = b & c = d'],
  ['payload_malformed', '{"a":1,,"b":2}'],
  ['payload_malformed', '[1 2]'],
  ['payload_malformed', '#'],
  ['payload_malformed', 'payload={a=1}', FORM_TYPE['content-type']],
  ['payload_malformed', 'payload=hello', FORM_TYPE['content-type']],
  ['content_type_unsupported', '{"a":1}', 'application/vnd.acme'],
  ['content_type_unsupported', '{"a":1}', 'text/html'],
  ['content_type_unsupported', 'hello world', 'text/plain'],
]

describe('explain, refusals after a right signature', () => {
  it.each(ROWS.map((row) => [`${row.cause}: ${row.name}`, row] as const))('says %s', async (_, row) => {
    const { diagnosis } = await refuse(row)
    expect(diagnosis).toMatchObject({ ok: false, cause: row.cause })
    expect(diagnosis.evidence).toMatch(row.evidence)
  })

  it.each(TRAPS)('does not guess: %s for %j %s', async (code, body, type = 'application/json') => {
    const request = { headers: { 'content-type': type }, body: body as string }
    expect((await refuse({ request })).diagnosis).toMatchObject({ ok: false, cause: code })
  })

  it('has a row for every reason', () => {
    const covered = new Set<string>([...ROWS.map(({ cause }) => cause), ...TRAPS.map(([code]) => code)])
    const state = [
      'signature_missing',
      'signature_mismatch',
      'handshake_invalid',
      'delivery_stale',
      ...STATE_CODES,
    ]
    expect(
      Object.keys({ ...CODE_CAUSES, ...REFUSAL_CAUSES })
        .filter((cause) => !covered.has(cause))
        .sort(),
    ).toEqual(state.sort())
  })
})

const FIXTURES: { cause: Cause; name: string; headers: [string, string][]; body: string }[] = JSON.parse(
  readFileSync(new URL('fixtures/refusals.json', import.meta.url), 'utf8'),
)

describe('explain, requests of real clients', () => {
  it.each(FIXTURES.map((row) => [`${row.cause}: ${row.name}`, row] as const))('says %s', async (_, row) => {
    const body = Buffer.from(row.body, 'base64')
    const headers = [...row.headers, ['host', 'a.example'], ...Object.entries(signed(body))] as [
      string,
      string,
    ][]
    expect((await explain({ headers, body }, { signatureKey: KEY })).cause).toBe(row.cause)
  })
})
