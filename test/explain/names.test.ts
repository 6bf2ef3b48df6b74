import type { StandardSchema } from 'geohook'
import { describe, expect, it } from 'vitest'
import { isShown } from '../../src/explain/claims.ts'
import { diagnosisOf, type Question } from './question.ts'
import { hmac } from './table.ts'

const KEY = '9f86d081884c7d659a2feaa0c55ad015'
const BODY = '{"events":[]}'
const SECRET = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'
const digest = (body: string, key: string | Buffer = KEY) => hmac(key, body).toString('hex')

const evidenceOf = async (options: Partial<Question>): Promise<string> =>
  (await diagnosisOf({ body: BODY, signatureKey: KEY, headers: { host: 'x' }, ...options })).evidence

/** Names in which a key or a signature may be, with the key on this side. */
const NAMES: [description: string, name: string, key?: string][] = [
  ['a key', KEY],
  ['a key with other text', `${KEY}-sig`],
  ['all but the first character of a key', KEY.slice(1)],
  ['half of a key', KEY.slice(16)],
  ['a key in groups', KEY.replace(/.{8}(?!$)/g, '$&-')],
  ['a key in upper case', KEY.toUpperCase()],
  ['a key in base64url', Buffer.from(KEY).toString('base64url').slice(0, 40)],
  ['the bytes of a key in hex, in base64url', Buffer.from(KEY, 'hex').toString('base64url')],
  ['the right signature in part', digest(BODY).slice(0, 40)],
  ['a key that has a line feed on this side', KEY, `${KEY}\n`],
  ['a key that is in quotes on this side', 'Parcels-Kataster', '"Parcels-Kataster"'],
  ['a key of letters in hex', Buffer.from('Parcels').toString('hex'), 'Parcels'],
  ['a key without its prefix', SECRET.slice(6).replace('+', '-'), SECRET],
  ['a key of letters in another case', 'PARCELS-kataster', 'Parcels-Kataster'],
]

it.each(NAMES)('evidence does not show %s as a name', (_, name, key = KEY) => {
  expect(isShown(name, [Buffer.from(key)])).toBe(false)
  expect(isShown(`${name}_signature`, [Buffer.from(key)])).toBe(false)
})

describe.each(NAMES.slice(0, 2))('evidence hides a name that is %s', (_, name, key = KEY) => {
  const signature = digest(BODY, key)
  const expectHidden = async (options: Partial<Question>, pattern: RegExp) => {
    const evidence = await evidenceOf({ signatureKey: key, ...options })
    expect(evidence).toMatch(pattern)
    expect(evidence.toLowerCase()).not.toContain(name.toLowerCase())
  }

  it('of a header', async () => {
    await expectHidden({ headers: { host: 'x', [name]: signature } }, /^Another header contains/)
    const headers = { host: 'x', [name]: 'a'.repeat(64) }
    await expectHidden({ headers }, /^The header x-service is missing\. Other headers look like/)
    const code = 'signature_missing'
    await expectHidden({ headers, code, body: undefined }, /^The header x-service is missing\. Other headers/)
  })

  it('of a parameter, a form field and a member', async () => {
    await expectHidden({ url: `/?${name}=${signature}` }, /^The query of the URL contains the signature\.$/)
    const form = `payload=${BODY}&${name}=${signature}`
    await expectHidden({ body: form }, /^The form contains the signature\.$/)
    const inField = `payload=${BODY}&${name}_sig=${digest(`payload=${BODY}&a=1`, key)}&a=1`
    await expectHidden({ body: inField }, /^The form contains the signature\./)
    const body = `{"a":1,"${name}_signature":"${digest('{"a":1}', key)}"}`
    await expectHidden({ body }, /The JSON of the body contains the signature\./)
  })

  it('of a member with an issue of a schema', async () => {
    const validate = () => ({ issues: [{ message: `unexpected member ${key}`, path: ['events', 0, name] }] })
    const schema = { '~standard': { version: 1, vendor: 'test', validate } } as StandardSchema
    const headers = { host: 'x', 'content-type': 'application/json', 'x-service': signature }
    await expectHidden({ schema, headers }, /^The schema reports an issue at events\[0\]\.…\.$/)
  })
})

it.each([
  ['пароль-вебхука', 'пароль-вебхука'],
  ['пароль-вебхука', 'ПАРОЛЬ-ВЕБ'],
  ['密码密码密码', '密码密码密码'],
  ['🔑🔑', '🔑🔑'],
])('evidence hides a message with the key %s: %s', async (signatureKey, message) => {
  const schema = {
    '~standard': { version: 1, vendor: 'test', validate: () => ({ issues: [{ message }] }) },
  } as StandardSchema
  const headers = {
    host: 'x',
    'content-type': 'application/json',
    'x-service': digest(BODY, signatureKey),
  }
  expect(await evidenceOf({ signatureKey, schema, headers })).not.toContain(message)
})

describe('evidence shows', () => {
  it.each([
    'x-hub-signature-256',
    'stripe-signature',
    'esrihook',
    'http_x_signature',
    'sha256',
    'x-amz-sns-signature',
  ])('the usual name %s', async (name) => {
    const headers = { host: 'x', [name]: digest(BODY) }
    expect(await evidenceOf({ headers })).toBe(`The header ${name} contains the signature.`)
    const parameter = { url: `/?${name}=${digest(BODY)}` }
    expect(await evidenceOf(parameter)).toMatch(new RegExp(`, in the parameter ${name}\\.$`))
  })

  it.each([KEY, `${KEY}\n`, `key=${KEY}`, `{"key":"${KEY}"}`])(
    'only the start of the hash of a body that is a key: %j',
    async (body) => {
      const evidence = await evidenceOf({ body, headers: { 'x-service': 'a'.repeat(64) } })
      expect(evidence).toMatch(/^The body has \d+ bytes and a SHA-256 that begins with [0-9a-f]{4}\. /)
      expect(evidence).not.toMatch(/[0-9a-f]{5}/)
    },
  )
})
