// Time of one call of verify(), compared with code by hand and with other packages.
import assert from 'node:assert/strict'
import { createHmac, timingSafeEqual } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { WebhookVerificationService } from '@hookflo/tern'
import { verify as verifyGithub } from '@octokit/webhooks-methods'
import { verify } from 'geohook'
import { Webhook } from 'standardwebhooks'
import Stripe from 'stripe'
import { jsonBody, KEY, signature, sizeName } from './payloads.mjs'
import { digits, spread, times, versionsOf } from './report.mjs'
import { countFor, interleave, ratio, summarize } from './rounds.mjs'

/**
 * @typedef {object} Subject a verifier of signatures
 * @property {string} name
 * @property {(body: Buffer) => unknown} sign returns the signature that the sender would send
 * @property {(body: Buffer, header: any) => unknown} verify calls the package as its users do
 * @property {(result: any) => boolean} [isRight] returns whether a result means success. Default: only `true` does
 */

/** @returns {Subject} */
export const geohook = (name, verify) => ({
  name,
  sign: signature,
  verify: (body, header) => verify({ body, signature: header, signatureKey: KEY }),
  isRight: ({ ok }) => ok,
})

const standard = new Webhook(Buffer.from(KEY).toString('base64'))
const tern = {
  platform: 'custom',
  secret: KEY,
  signatureConfig: {
    algorithm: 'hmac-sha256',
    headerName: 'x-service',
    headerFormat: 'raw',
    payloadFormat: 'raw',
    customConfig: {},
  },
}

/** The first subject is the baseline of the others. @type {Subject[]} */
const SUBJECTS = [
  {
    name: 'hand-written',
    sign: signature,
    verify(body, header) {
      const given = Buffer.from(header, 'hex')
      const digest = createHmac('sha256', KEY).update(body).digest()
      return given.length === digest.length && timingSafeEqual(given, digest)
    },
  },
  geohook('geohook', verify),
  {
    // Verifies only text, so its times include decoding the body.
    name: '@octokit/webhooks-methods',
    sign: (body) => `sha256=${signature(body)}`,
    verify: (body, header) => verifyGithub(KEY, body.toString(), header),
  },
  {
    // Signs the time and the body. `verifyHeader`, because `constructEvent` also parses JSON.
    name: 'stripe',
    sign: (body) => Stripe.webhooks.generateTestHeaderString({ payload: body.toString(), secret: KEY }),
    verify: (body, header) => Stripe.webhooks.signature.verifyHeader(body, header, KEY),
  },
  {
    // Signs an id, the time and the body, in base64. Throws an error if the signature is invalid.
    name: 'standardwebhooks',
    sign(body) {
      const now = new Date()
      return {
        'webhook-id': 'msg_1',
        'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
        'webhook-signature': standard.sign('msg_1', now, body.toString()),
      }
    },
    verify: (body, headers) => standard.verify(body, headers, { jsonParse: false }),
    isRight: () => true,
  },
  {
    // Verifies a `Request` object and parses JSON, so its times include both.
    name: '@hookflo/tern',
    sign: signature,
    verify(body, header) {
      const headers = { 'x-service': header }
      const request = new Request('http://127.0.0.1/', { method: 'POST', headers, body })
      return WebhookVerificationService.verify(request, tern)
    },
    isRight: ({ isValid }) => isValid,
  },
]

const SIZES = [256, 1024, 16 * 1024, 256 * 1024]
/** Milliseconds per measurement. Longer than the default, because each measurement includes a garbage collection. */
const SLICE = 15

const isTrue = (result) => result === true

/** Checks that a subject accepts valid signatures and rejects invalid ones. */
async function requireRight({ name, sign, verify, isRight = isTrue }, body) {
  const accepts = async (bytes, header) => isRight(await verify(bytes, header))
  const rejects = async (bytes, header) => !(await accepts(bytes, header).catch(() => false))
  const changed = Buffer.from(body)
  changed[body.length >> 1] ^= 1
  assert.ok(await accepts(body, sign(body)), `${name} accepts a valid signature`)
  assert.ok(await rejects(changed, sign(body)), `${name} rejects a changed body`)
  assert.ok(await rejects(body, sign(changed)), `${name} rejects the signature of another body`)
}

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc')
/** Collects the garbage of these calls and of no others. A full collection would also discard compiled code. */
const collectYoung = () => gc({ type: 'minor' })

/** Returns the mean milliseconds of `count` consecutive calls, including the collection of their garbage. */
async function time({ verify, isRight = isTrue, header }, body, count) {
  collectYoung()
  const started = performance.now()
  for (let call = 0; call < count; call++) {
    // Awaits only promises, because a needless `await` would add to the cost of the subject.
    const result = verify(body, header)
    if (!isRight(result instanceof Promise ? await result : result)) throw new Error('verification failed')
  }
  collectYoung()
  return (performance.now() - started) / count
}

/** Measures the milliseconds of each subject for one size. @returns {Promise<number[][]>} in the order of the subjects */
export async function measureVerify(subjects, size, smoke, seconds = 2.5) {
  const body = jsonBody(size)
  const prepared = subjects.map((subject) => ({ ...subject, header: subject.sign(body) }))
  for (const subject of prepared) {
    await requireRight(subject, body)
    subject.count = smoke ? 1 : await countFor((count) => time(subject, body, count), SLICE)
  }
  const figures = await interleave(prepared, {
    rounds: smoke ? 1 : 50,
    seconds,
    warmup: smoke ? 0 : 1,
    measure: (subject) => time(subject, body, subject.count),
  })
  return prepared.map((subject) => figures.get(subject))
}

/** @type {import('./report.mjs').Run} */
export async function run({ smoke, say }) {
  const figures = {}
  const rows = SUBJECTS.map(({ name }) => [name])
  for (const size of SIZES) {
    const [base, ...others] = await measureVerify(SUBJECTS, size, smoke)
    rows[0].push(`${spread(summarize(base), 1000)} µs`)
    for (const [index, own] of others.entries()) rows[index + 1].push(times(ratio(own, base)))
    const figure = ratio(others[0], base)
    figures[`verify/${sizeName(size).replace(' ', '')}`] = figure
    say(`${sizeName(size)}: geohook takes ${digits(figure.median)}× the time of hand-written`)
  }
  const title = 'verify: time per call; hand-written in microseconds, the others relative to it'
  return {
    tables: [{ title, columns: ['', ...SIZES.map(sizeName)], rows }],
    figures,
    versions: versionsOf(SUBJECTS.slice(2).map(({ name }) => name)),
  }
}
