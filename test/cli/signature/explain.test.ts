import { createHash, createHmac } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Cause } from 'geohook'
import { describe, expect, it } from 'vitest'
import { CODE_CAUSES, FIXES, REFUSAL_CAUSES } from '../../../src/explain/causes.ts'
import { createFolder, geohook } from '../../helpers/cli.ts'
import { captureJson } from '../../helpers/cli-captures.ts'

const KEY = 'Parcels2026Kataster'
const NEWER = 'Parcels2027Kataster'
const JSON_BODY =
  '{"serviceName":"Flurst\u00fccke","url":"https://gis.example/a","events":[{"eventType":"FeaturesCreated"}]}'
const FORM = 'application/x-www-form-urlencoded'

const digest = (body: string | Uint8Array, key: string | Uint8Array = KEY): Buffer =>
  createHmac('sha256', key).update(body).digest()
const hex = (body: string | Uint8Array, key: string | Uint8Array = KEY): string =>
  digest(body, key).toString('hex')

/** A faulty request, and the keys of the receiver. */
interface Mistake {
  headers: [string, string][]
  body?: string | Uint8Array
  keys?: string[]
  profile?: string
}

const signed = (signature: string): Mistake => ({ headers: [['x-service', signature]] })
const received = (body: string | Uint8Array, signature: string): Mistake => ({ ...signed(signature), body })

/** A body whose base64 signature contains a plus sign, which form decoding turns into a space. */
const WITH_PLUS = Array.from({ length: 100 }, (_, when) => `{"when":${when}}`).find((body) =>
  digest(body).toString('base64').includes('+'),
) as string

/** One faulty request for each cause that `explain` can report. */
const MISTAKES: Record<
  Exclude<Cause, 'ok' | 'signature_in_query' | keyof typeof REFUSAL_CAUSES | keyof typeof CODE_CAUSES>,
  Mistake
> = {
  secret_missing: { headers: [['content-type', 'application/json']], profile: 'portal' },
  secret_wrong: { headers: [['secret', 'something else']], profile: 'portal' },
  sender_signs: { headers: [['x-esriHook-Signature', hex(JSON_BODY)]], profile: 'portal' },
  signature_header_missing: { headers: [['content-type', 'application/json']] },
  signature_in_other_header: { headers: [['X-Hub-Signature-256', `sha256=${hex(JSON_BODY)}`]] },
  signature_in_form_field: {
    headers: [['Content-Type', FORM]],
    body: `payload=${JSON_BODY}&signature=${hex(JSON_BODY)}`,
  },
  signature_in_body: {
    headers: [],
    body: `{"data":${JSON_BODY},"signature":"${hex(JSON_BODY)}"}`,
  },
  signature_encoding: signed(digest(JSON_BODY).toString('base64url')),
  signature_truncated: signed(hex(JSON_BODY).slice(0, 32)),
  signature_percent_encoded: received(WITH_PLUS, digest(WITH_PLUS).toString('base64').replaceAll('+', ' ')),
  signature_doubled: {
    headers: [
      ['x-service', hex(JSON_BODY)],
      ['X-Service', hex(JSON_BODY)],
    ],
  },
  signed_text: {
    headers: [
      ['x-timestamp', '1730385704'],
      ['x-service', hex(`1730385704.${JSON_BODY}`)],
    ],
  },
  algorithm: signed(createHmac('sha1', KEY).update(JSON_BODY).digest('hex')),
  key_whitespace: { ...signed(hex(JSON_BODY)), keys: [`${KEY}\n`] },
  key_encoding: signed(hex(JSON_BODY, Buffer.from(KEY, 'base64'))),
  key_case: signed(hex(JSON_BODY, KEY.toLowerCase())),
  key_invisible: { ...signed(hex(JSON_BODY)), keys: [`${KEY}\u200b`] },
  key_quotes: { ...signed(hex(JSON_BODY)), keys: [`"${KEY}"`] },
  key_copied: { ...signed(hex(JSON_BODY)), keys: [`SIGNATURE_KEY=${KEY}`] },
  key_prefix: { ...signed(hex(JSON_BODY)), keys: [`whsec_${Buffer.from(KEY).toString('base64')}`] },
  key_html: { ...signed(hex(JSON_BODY, 'Parcels&2026')), keys: ['Parcels&amp;2026'] },
  key_escaped: signed(hex(JSON_BODY, `${KEY}\\n`)),
  key_list: { ...signed(hex(JSON_BODY)), keys: [`${NEWER};${KEY}`] },
  key_truncated: signed(hex(JSON_BODY, KEY.slice(0, 8))),
  key_hashed: signed(hex(JSON_BODY, createHash('md5').update(KEY).digest('hex'))),
  key_placeholder: signed(hex(JSON_BODY, 'undefined')),
  key_empty: { ...signed(hex(JSON_BODY)), keys: [''] },
  key_previous: { ...signed(hex(JSON_BODY)), keys: [NEWER, KEY] },
  body_reserialized: received(JSON_BODY, hex(JSON.stringify(JSON.parse(JSON_BODY), null, 2))),
  body_trailing_newline: received(`${JSON_BODY}\n`, hex(JSON_BODY)),
  body_line_endings: received('{\r\n"a": 1\r\n}', hex('{\n"a": 1\n}')),
  body_bom: received(`\ufeff${JSON_BODY}`, hex(JSON_BODY)),
  body_leading_space: received(`  ${JSON_BODY}`, hex(JSON_BODY)),
  body_nul: received(`${JSON_BODY}\0`, hex(JSON_BODY)),
  body_normalized: received(JSON_BODY.normalize('NFD'), hex(JSON_BODY)),
  body_json_string: received(JSON.stringify(JSON_BODY), hex(JSON_BODY)),
  body_event: received(
    JSON.stringify({ body: Buffer.from(JSON_BODY).toString('base64'), isBase64Encoded: true }),
    hex(JSON_BODY),
  ),
  body_base64: received(Buffer.from(JSON_BODY).toString('base64'), hex(JSON_BODY)),
  body_stringified: received(JSON_BODY, hex('[object Object]')),
  body_escaped: received(JSON_BODY, hex(JSON_BODY.replaceAll('"', '&quot;'))),
  body_charset: received(Buffer.from(JSON_BODY, 'latin1'), hex(JSON_BODY)),
  body_form_decoded: {
    headers: [
      ['content-type', FORM],
      ['x-service', hex(`payload=${encodeURIComponent(JSON_BODY)}`)],
    ],
    body: `payload=${JSON_BODY}`,
  },
  body_form_field: {
    headers: [
      ['content-type', FORM],
      ['x-service', hex(JSON_BODY)],
    ],
    body: `payload=${JSON_BODY}`,
  },
  body_decompressed: received(JSON_BODY, hex(gzipSync(JSON_BODY))),
  body_empty: received('', hex(JSON_BODY)),
  body_changed: {
    headers: [
      ['x-service', hex(JSON_BODY)],
      ['content-length', '999'],
    ],
    body: '{}',
  },
  unexplained: signed(createHash('sha256').update('something else').digest('hex')),
}

const folder = createFolder()

function writeCapture(path: string, { headers, body = JSON_BODY }: Mistake): string {
  const outcome = { status: 401, code: 'signature_mismatch' }
  const capture = captureJson({ headers, body: Buffer.from(body).toString('base64'), outcome })
  writeFileSync(path, JSON.stringify(capture))
  return path
}

const keyArgs = (keys = [KEY]): string[] => keys.flatMap((key) => ['--key', key])

describe.concurrent('geohook explain', () => {
  it('has a test for every cause', () => {
    expect(Object.keys(MISTAKES).sort()).toEqual(
      Object.keys(FIXES)
        .filter(
          (cause) =>
            cause !== 'ok' &&
            cause !== 'signature_in_query' &&
            !(cause in REFUSAL_CAUSES) &&
            !(cause in CODE_CAUSES),
        )
        .sort(),
    )
    expect(Object.keys(MISTAKES).length).toBeGreaterThanOrEqual(20)
  })

  it.each(Object.entries(MISTAKES))('prints the cause and the fix of %s', async (cause, mistake) => {
    const file = writeCapture(join(folder.path, `${cause}.json`), mistake)
    const { code, stdout, stderr } = await geohook([
      'explain',
      file,
      ...keyArgs(mistake.keys),
      ...(mistake.profile ? ['--profile', mistake.profile] : []),
    ])
    const [name, shownCause, evidence, fix, ...more] = stdout
      .split('\n')
      .filter((line) => !line.startsWith('  also'))
    expect(name).toBe(file)
    expect(shownCause).toBe(`  cause     ${cause}`)
    expect(evidence).toMatch(/^ {2}evidence {2}.+\.$/)
    expect(fix).toContain(`  fix       ${FIXES[cause as Cause]}`)
    expect(more).toEqual([''])
    // `key_previous` is not a failure: the signature is valid, but the sender should switch to the newest key.
    expect(code).toBe(cause === 'key_previous' ? 0 : 1)
    expect(stderr).toBe('')
    expect(stdout).not.toContain(KEY)
    expect(stdout).not.toContain(hex(mistake.body ?? JSON_BODY))
  })

  it('explains the captures of a folder, sorted by file name', async () => {
    const captures = join(folder.path, 'captures')
    mkdirSync(captures)
    writeFileSync(join(captures, 'notes.txt'), 'not a capture')
    writeCapture(join(captures, '2.json'), MISTAKES.body_bom)
    writeCapture(join(captures, '1.json'), signed(hex(JSON_BODY)))
    const { code, stdout } = await geohook(['explain', captures, '--key', KEY, '--json'])
    expect(code).toBe(1)
    expect(JSON.parse(stdout)).toEqual({
      diagnoses: [
        {
          file: join(captures, '1.json'),
          ok: true,
          cause: 'ok',
          evidence: expect.any(String),
          fix: FIXES.ok,
        },
        {
          file: join(captures, '2.json'),
          ok: false,
          cause: 'body_bom',
          evidence: expect.any(String),
          fix: FIXES.body_bom,
        },
      ],
    })
  })

  it('explains --body with --header, and applies --profile and --signature-header', async () => {
    const body = folder.file('body.json', JSON_BODY)
    const header = `X-EsriHook-Signature: sha256=${digest(JSON_BODY).toString('base64')}`
    const args = ['explain', '--body', body, '--header', header, '--key', KEY]
    expect((await geohook(args)).stdout).toContain('signature_in_other_header')
    for (const where of [
      ['--profile', 'arcgis'],
      ['--signature-header', 'x-esrihook-signature'],
    ]) {
      expect(await geohook([...args, ...where])).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('cause     ok\n'),
      })
    }
  })

  it('keeps white space around a key in a variable, and removes one line end from a key file', async () => {
    const file = writeCapture(join(folder.path, 'right.json'), signed(hex(JSON_BODY)))
    const keyFile = folder.file('key.txt', `${KEY}\n`)
    expect((await geohook(['explain', file, '--key-file', keyFile])).code).toBe(0)
    const result = await geohook(['explain', file], { env: { SIGNATURE_KEY: `${KEY}\n` } })
    expect(result).toMatchObject({ code: 1, stdout: expect.stringContaining('key_whitespace') })
  })

  it('reads a capture of 10 MB', async () => {
    const body = `{"a":"${'x'.repeat(7_500_000)}"}`
    const file = writeCapture(join(folder.path, 'large.json'), received(body, hex(body)))
    const { code, stderr } = await geohook(['explain', file, '--key', KEY])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  })

  it('explains a code without a request and without a key', async () => {
    const { stdout, stderr } = await geohook(['explain', '--code', 'body_timeout'])
    expect(stderr).toBe('')
    expect(stdout).toBe(
      'body_timeout\n  cause     body_timeout\n' +
        '  evidence  The receiver reported body_timeout. The body does not arrive in time.\n' +
        `  fix       ${FIXES.body_timeout}\n`,
    )
    const json = await geohook(['explain', '--code', 'body_timeout', '--json'])
    expect(JSON.parse(json.stdout)).toMatchObject({ diagnoses: [{ ok: false, cause: 'body_timeout' }] })
  })

  it('passes on the method, the URL, the code and the time of a capture, and the options of the receiver', async () => {
    const write = (name: string, body: string, members: object): string => {
      const headers = [
        ['content-type', 'application/json'],
        ['x-service', hex(body)],
      ]
      const capture = captureJson({ headers, body: Buffer.from(body).toString('base64'), ...members })
      return folder.file(name, JSON.stringify(capture))
    }
    const receivedAt = '2026-01-02T03:04:05.678Z'
    const old = `{"when":${Date.parse(receivedAt) - 3_600_000}}`
    const refused = (code: string) => ({ outcome: { status: 400, code } })
    for (const [cause, file, ...args] of [
      ['method_not_allowed', write('put.json', '{}', { method: 'PUT' })],
      [
        'handshake_token_empty',
        write('get.json', '', { method: 'GET', url: '/?crc_token=' }),
        '--profile',
        'arcgis',
      ],
      ['payload_trailing_comma', write('comma.json', '{"a":1,}', refused('payload_malformed'))],
      ['handler_failed', write('failed.json', '{}', refused('handler_failed'))],
      ['ok', write('old.json', old, { receivedAt })],
      ['delivery_too_old', write('old.json', old, { receivedAt }), '--max-age', '15m'],
      ['body_too_large', write('over-limit.json', '{"a":12}', {}), '--limit', '4'],
    ] as const) {
      const { stdout } = await geohook(['explain', file, '--key', KEY, ...args])
      expect(stdout).toContain(`  cause     ${cause}\n`)
    }
    const unsigned = folder.file('unsigned.json', '{')
    const json = ['--header', 'content-type: application/json', '--unsigned', 'accept']
    const { stdout } = await geohook(['explain', '--body', unsigned, ...json])
    expect(stdout).toContain('  cause     payload_cut_off\n')
  })

  it('escapes control characters in file names', async () => {
    const file = folder.file('evil\u001b[2J.json', '')
    writeCapture(file, MISTAKES.body_bom)
    expect((await geohook(['explain', file, '--key', KEY])).stdout).toContain('evil\\u{1b}[2J.json\n')
  })

  it.each([
    ['no request', ['--key', KEY]],
    ['captures and --body', ['x.json', '--body', 'y', '--key', KEY]],
    ['headers without a body', ['x.json', '--header', 'a: b', '--key', KEY]],
    ['a method without a body', ['x.json', '--method', 'GET', '--key', KEY]],
    ['an unknown code', ['--code', 'body_timeuot']],
    ['no key', [join(folder.path, 'x.json')]],
    ['a missing file', ['nowhere.json', '--key', KEY]],
  ])('refuses %s with exit code 2', async (_, args) => {
    expect(await geohook(['explain', ...args])).toMatchObject({ code: 2, stdout: '' })
  })
})
