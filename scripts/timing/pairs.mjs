import { createHmac } from 'node:crypto'
import { arcgis, createReceiver, verify } from '../../dist/index.js'

/**
 * @typedef {object} Pair two kinds of requests whose times are compared
 * @property {string} name
 * @property {[send: Send, send: Send]} sides
 * @property {'secret' | 'public' | 'control'} [kind] default `secret`: the times must not differ. `public`: they may,
 *   because the sender knows the difference. `control`: the measurement must find that they differ
 * @property {number} [visible] nanoseconds that a certain difference may not reach; default 2000
 *
 * @typedef {(index: number) => unknown} Send sends one request; throws if the outcome is unexpected
 */

const BODY = Buffer.from(
  '{"serviceName":"Parcels","events":[{"eventType":"FeaturesCreated","when":1730385704000}]}',
)
const DIGEST = createHmac('sha256', 'parcels2026').update(BODY).digest('hex')
const withWrongDigit = (index) =>
  DIGEST.slice(0, index) + (DIGEST[index] === '0' ? '1' : '0') + DIGEST.slice(index + 1)
const [FAR_MISS, NEAR_MISS] = [withWrongDigit(0), withWrongDigit(63)]

/** Creates a request like an adapter does, with the body in one chunk. */
const delivery = (url, signature = FAR_MISS) => ({
  method: 'POST',
  url,
  headers: { 'content-type': 'application/json', 'x-service': signature },
  read({ onChunk }) {
    onChunk(BODY)
    return BODY
  },
})

const handshake = (url) => ({ method: 'GET', url: `${url}?crc_token=abc`, headers: {}, read: () => BODY })

const withSecret = (url) => {
  const { headers, ...request } = delivery(url)
  return { ...request, headers: { ...headers, secret: 'parcels2026-wrong' } }
}

/** @returns {Pair} requests to the same receiver. `code` is the error code that the observer must get for a side. */
function pairOf(name, signatureKey, sides, profile = { ...arcgis, signatureHeader: 'x-service' }) {
  let actual
  const record = ({ error }) => {
    actual = error?.code ?? 'handshake'
  }
  const receiver = createReceiver({
    signatureKey,
    profile,
    observer: { refused: record, handshake: record },
  })
  return {
    name,
    sides: sides.map(({ requests, code }) => async (index) => {
      await receiver[Symbol.for('geohook.receiver')].receive(requests[index % requests.length])
      if (actual !== code) throw new Error(`${name}: ${actual} instead of ${code}`)
    }),
  }
}

const NUMBERS = Array.from({ length: 50 }, (_, index) => String(index + 10))
const keysOfTenants = (toKeys) =>
  new Map(NUMBERS.map((number) => [`tenant-${number}`, toKeys(`parcels2026-${number}`)]))
const twoKeysForSome = (key) => (key.endsWith('0') ? [key, `${key}-old`] : key)

/** @returns {Pair} requests for 50 tenants with keys, and for 50 without */
function tenants(
  name,
  toKeys,
  { lookUp = (keys) => keys, toRequest = delivery, code = 'signature_mismatch', profile } = {},
) {
  const keys = keysOfTenants(toKeys)
  const requestsOf = (tenant) => NUMBERS.map((number) => toRequest(`/${tenant}-${number}`))
  return pairOf(
    name,
    ({ url }) => lookUp(keys.get(url.slice(1, 10)), url.slice(1, 10)),
    [
      { requests: requestsOf('tenant'), code },
      { requests: requestsOf('absent'), code: 'key_unknown' },
    ],
    profile,
  )
}

/** @returns {Pair} requests for the 5 of 50 tenants with two keys, and for the others; each side has its own median */
function numbersOfKeys(name) {
  const keys = keysOfTenants(twoKeysForSome)
  const requestsOf = (hasTwo) =>
    [...keys.keys()]
      .filter((tenant) => Array.isArray(keys.get(tenant)) === hasTwo)
      .map((tenant) => delivery(`/${tenant}`))
  const code = 'signature_mismatch'
  return pairOf(name, ({ url }) => keys.get(url.slice(1, 10)), [
    { requests: requestsOf(true), code },
    { requests: requestsOf(false), code },
  ])
}

/** @returns {Pair} requests for a known and an unknown tenant */
const tenant = (name, lookUp, keys = 'parcels2026') =>
  pairOf(name, ({ url }) => lookUp(url === '/a' ? keys : undefined), [
    { requests: [delivery('/a')], code: 'signature_mismatch' },
    { requests: [delivery('/b')], code: 'key_unknown' },
  ])

/** Imports the key only if the tenant is known, as an insecure receiver would. */
function importKnown(keys) {
  if (keys !== undefined) createHmac('sha256', keys)
  return keys
}

const named = (keys, tenant) => ({ keys, tenant })
const namedIfKnown = (keys, tenant) => keys && { keys, tenant }

/** @returns {Send} compares digit by digit and stops at the first difference, as insecure code does */
const compare = (signature) => () => {
  let index = 0
  while (index < 64 && DIGEST[index] === signature[index]) index++
  if (index === 64) throw new Error('a wrong digest is equal')
}

/** @returns {Send} verifies a signature, and expects that key `keyIndex` has made it */
const matching =
  (signatureKey, keyIndex, signature = DIGEST) =>
  async () => {
    const verdict = await verify({ body: BODY, signature, signatureKey })
    if (verdict.keyIndex !== keyIndex) throw new Error(`key ${verdict.keyIndex} instead of ${keyIndex}`)
  }

const OTHER_KEYS = Array.from({ length: 7 }, (_, index) => `parcels-old-${index}`)

/** @returns {Pair} the same request to receivers with different keys */
function receivers(name, first, second) {
  const [a, b] = [first, second].map((keys) =>
    pairOf(name, keys, [{ requests: [delivery('/')], code: 'signature_mismatch' }]),
  )
  return { name, sides: [a.sides[0], b.sides[0]] }
}

/** A difference here would help to forge signatures, so it must be invisible even within a data centre. */
const aboutSignature = (pair) => ({ ...pair, visible: 100 })
const isPublic = (pair) => ({ ...pair, kind: 'public' })
const isControl = (pair) => ({ ...pair, kind: 'control' })

/** @param {() => number} random @returns {Pair[]} */
export function createPairs(random) {
  const randomDigest = () => Array.from({ length: 64 }, () => Math.floor(random() * 16).toString(16)).join('')
  // Both sides are a thousand strings, because a single one would stay in the CPU's cache.
  const thousand = (signature) => Array.from({ length: 1000 }, () => delivery('/', signature()))
  const code = 'signature_mismatch'
  return [
    aboutSignature(
      pairOf('forged signature: 63 digits right, random', 'parcels2026', [
        { requests: thousand(() => Buffer.from(NEAR_MISS).toString()), code },
        { requests: thousand(() => Buffer.from(randomDigest()).toString()), code },
      ]),
    ),
    aboutSignature(
      pairOf('forged signature: wrong at the end, at the beginning', 'parcels2026', [
        { requests: thousand(() => Buffer.from(NEAR_MISS).toString()), code },
        { requests: thousand(() => Buffer.from(FAR_MISS).toString()), code },
      ]),
    ),
    {
      name: '8 keys: the first matches, the last matches',
      sides: [
        matching(['parcels2026', ...OTHER_KEYS], 0),
        matching([...OTHER_KEYS, 'parcels2026'], OTHER_KEYS.length),
      ],
    },
    tenant('function: known, unknown', (keys) => keys),
    tenant('async function: known, unknown', async (keys) => keys),
    tenant('function: known with two keys, unknown', (keys) => keys, ['parcels2027', 'parcels2026']),
    tenant('function: known, blank key', (keys = ' ') => keys),
    tenants('50 tenants: known, unknown', (key) => key),
    tenants('50 tenants, some with two keys', twoKeysForSome),
    numbersOfKeys('50 tenants, some with two keys: two keys, one key'),
    tenants('50 tenants with keys of 128 characters', (key) => key.padEnd(128, '-')),
    tenants('50 tenants with keys as bytes', (key) => Buffer.from(key)),
    tenants('50 tenants, handshake: known, unknown', (key) => key, {
      toRequest: handshake,
      code: 'handshake',
    }),
    tenants('50 named tenants: known, unknown', (key) => key, { lookUp: named }),
    tenants('50 named tenants: known, unknown without a name', (key) => key, { lookUp: namedIfKnown }),
    tenants('50 named tenants, handshake: known, unknown', (key) => key, {
      lookUp: named,
      toRequest: handshake,
      code: 'handshake',
    }),
    tenants('50 tenants, portal: known, unknown', (key) => key, { toRequest: withSecret, profile: 'portal' }),
    isPublic(receivers('one key, 8 keys', 'parcels2026', ['parcels2026', ...OTHER_KEYS])),
    isPublic({
      name: 'signature in hex, in base64',
      sides: [
        matching('parcels2026', 0),
        matching('parcels2026', 0, Buffer.from(DIGEST, 'hex').toString('base64')),
      ],
    }),
    isControl(
      tenants('control: keys imported for known tenants only', (key) => key, { lookUp: importKnown }),
    ),
    isControl({ name: 'control: digit by digit', sides: [compare(NEAR_MISS), compare(FAR_MISS)] }),
  ]
}
