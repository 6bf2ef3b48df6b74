import { createHmac } from 'node:crypto'
import { arcgis, createReceiver } from '../../dist/index.js'

/**
 * @typedef {object} Pair two kinds of requests whose times are compared
 * @property {string} name
 * @property {[send: Send, send: Send]} sides
 * @property {boolean} [isControl] true if the times are known to differ, so that the measurement must detect it
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

/** @returns {Pair} requests to the same receiver. `code` is the error code that the observer must get for a side. */
function pairOf(name, signatureKey, sides) {
  let actual
  const record = ({ error }) => {
    actual = error?.code ?? 'handshake'
  }
  const receiver = createReceiver({
    signatureKey,
    profile: { ...arcgis, signatureHeader: 'x-service' },
    observer: { refused: record, handshake: record },
  })
  return {
    name,
    sides: sides.map(({ requests, code }) => async (index) => {
      await receiver.receive(requests[index % requests.length])
      if (actual !== code) throw new Error(`${name}: ${actual} instead of ${code}`)
    }),
  }
}

const NUMBERS = Array.from({ length: 50 }, (_, index) => String(index + 10))

/** @returns {Pair} requests for 50 tenants with keys, and for 50 without */
function tenants(
  name,
  toKeys,
  { lookUp = (keys) => keys, toRequest = delivery, code = 'signature_mismatch' } = {},
) {
  const keys = new Map(NUMBERS.map((number) => [`tenant-${number}`, toKeys(`parcels2026-${number}`)]))
  const requestsOf = (tenant) => NUMBERS.map((number) => toRequest(`/${tenant}-${number}`))
  return pairOf(name, ({ url }) => lookUp(keys.get(url.slice(1, 10))), [
    { requests: requestsOf('tenant'), code },
    { requests: requestsOf('absent'), code: 'key_unknown' },
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

/** @returns {Send} compares a hundred times, because a single comparison is too fast to measure */
const compare = (signature) => () => {
  let equal = 0
  for (let round = 0; round < 100; round++) if (DIGEST === signature) equal++
  if (equal > 0) throw new Error('a wrong digest is equal')
}

/** @returns {Pair[]} */
export const createPairs = () => [
  pairOf('one key: wrong at the end, at the beginning', 'parcels2026', [
    { requests: [delivery('/', NEAR_MISS)], code: 'signature_mismatch' },
    { requests: [delivery('/', FAR_MISS)], code: 'signature_mismatch' },
  ]),
  tenant('function: known, unknown', (keys) => keys),
  tenant('async function: known, unknown', async (keys) => keys),
  tenant('function: known with two keys, unknown', (keys) => keys, ['parcels2027', 'parcels2026']),
  tenant('function: known, blank key', (keys = ' ') => keys),
  tenants('50 tenants: known, unknown', (key) => key),
  tenants('50 tenants, some with two keys', (key) => (key.endsWith('0') ? [key, `${key}-old`] : key)),
  tenants('50 tenants with keys of 128 characters', (key) => key.padEnd(128, '-')),
  tenants('50 tenants with keys as bytes', (key) => Buffer.from(key)),
  tenants('50 tenants, handshake: known, unknown', (key) => key, {
    toRequest: handshake,
    code: 'handshake',
  }),
  {
    ...tenants('control: keys imported for known tenants only', (key) => key, { lookUp: importKnown }),
    isControl: true,
  },
  {
    name: 'control: === at the end, at the beginning',
    sides: [compare(NEAR_MISS), compare(FAR_MISS)],
    isControl: true,
  },
]
