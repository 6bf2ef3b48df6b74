import { createHmac, timingSafeEqual } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { type Given, hmac, Refusal, type Steps } from './steps.ts'

/** A receiver with one flaw, as people write them. */
export interface Flaw {
  /** Ids of the scenarios that are about this flaw. */
  finds: readonly string[]
  /** Ids of other scenarios that the receiver cannot pass with this flaw. */
  also?: readonly string[]
  /** True if it accepts everything, so that it fails all scenarios with forgeries. */
  acceptsForgeries?: true
  profile?: 'arcgis'
  hasSideEffects?: true
  /** Returns the steps to replace. */
  change(steps: Steps): Partial<Steps>
}

const matches = (signature: string, expected: Buffer): boolean =>
  /^[0-9a-f]{64}$/i.test(signature) && timingSafeEqual(Buffer.from(signature, 'hex'), expected)

const requireRight = (isRight: boolean): void => {
  if (!isRight) throw new Refusal(401, 'unauthorized')
}

const verifyWith = (isRight: (given: Given, signature: string) => boolean): Pick<Steps, 'verify'> => ({
  verify: (given, signature = '') => requireRight(isRight(given, signature.replace(/^sha256=/, ''))),
})

export const FLAWS: Readonly<Record<string, Flaw>> = {
  'compares hex with ===': {
    finds: ['upper-case-hex'],
    change: ({ key }) => verifyWith(({ body }, signature) => signature === hmac(key, body).toString('hex')),
  },
  'serializes the body again before it verifies': {
    finds: ['body-reserialized', 'body-json-equal', 'unverified-json'],
    change: ({ key }) =>
      verifyWith(({ body, type }, signature) => {
        if (type !== 'application/json') return matches(signature, hmac(key, body))
        return matches(signature, hmac(key, JSON.stringify(JSON.parse(body.toString()))))
      }),
  },
  'accepts requests without the header': {
    finds: ['signature-missing'],
    also: ['content-type-forged'],
    change: ({ verify }) => ({
      verify: (given, signature) => signature !== undefined && verify(given, signature),
    }),
  },
  'decodes percent-encoding until nothing is left': {
    finds: ['signature-double-encoded'],
    change: ({ verify }) => ({
      verify(given, signature = '') {
        let text = signature
        while (/%[0-9a-f]{2}/i.test(text)) text = decodeURIComponent(text)
        verify(given, text)
      },
    }),
  },
  'answers 200 before it verifies': {
    finds: ['signature-missing', 'signature-wrong-key', 'body-altered'],
    acceptsForgeries: true,
    change: () => ({ before: (_, res) => void res.writeHead(200).end() }),
  },
  'parses the body before it verifies': {
    finds: ['unverified-json'],
    change: ({ verify, parse }) => ({
      verify(given, signature) {
        parse(given)
        verify(given, signature)
      },
    }),
  },
  'has no limit for the body': {
    finds: ['too-large-length', 'too-large-chunked'],
    // The upload ends later than the check's timeout, so that only a limit can end it before.
    change: () => ({ limit: Number.POSITIVE_INFINITY, uploadTime: 12_000 }),
  },
  'never answers a malformed signature': {
    finds: ['signature-malformed', 'signature-empty'],
    also: [
      'signature-odd-hex',
      'signature-truncated',
      'signature-other-algorithm',
      'signature-repeated',
      'signature-double-encoded',
    ],
    change: ({ refuse }) => ({
      refuse(res, error) {
        const { 'x-service': signature = '0'.repeat(64) } = res.req.headers
        if (/^[0-9a-f]{64}$/.test(String(signature))) refuse(res, error)
      },
    }),
  },
  'waits without end for slow uploads': {
    finds: ['slow-upload'],
    change: () => ({ uploadTime: 600_000 }),
  },
  'tells the reason of a refusal': {
    finds: ['uniform-refusal'],
    change: ({ verify }) => ({
      verify(given, signature) {
        if (signature === undefined) throw new Refusal(401, 'the header x-service is missing')
        verify(given, signature)
      },
      refuse(res, error) {
        const { status = 400, message } = error as Partial<Refusal>
        res.writeHead(status, { connection: 'close' }).end(message)
      },
    }),
  },
  'tells the signature that it expected': {
    finds: ['no-signature'],
    change: ({ key }) => ({
      verify({ body }, signature = '') {
        const expected = hmac(key, body)
        if (!matches(signature.replace(/^sha256=/, ''), expected))
          throw new Refusal(401, `expected ${expected.toString('hex')}`)
      },
      refuse(res, error) {
        const { status = 400, message } = error as Partial<Refusal>
        res.writeHead(status, { connection: 'close' }).end(status === 401 ? message : '')
      },
    }),
  },
  'shows its settings in errors': {
    finds: ['no-secret'],
    change: ({ key }) => ({
      refuse(res, error) {
        const { status = 400 } = error as Partial<Refusal>
        res.writeHead(status, { connection: 'close' }).end(JSON.stringify({ settings: { port: 80, key } }))
      },
    }),
  },
  'sends stack traces': {
    finds: ['no-stack-trace'],
    change: () => ({
      refuse(res, error) {
        const { status = 400, stack } = error as Partial<Refusal>
        res.writeHead(status, { connection: 'close' }).end(status === 400 ? stack : '')
      },
    }),
  },
  'loses a delivery whose sender disconnects, because it remembers it as seen': {
    finds: ['retry-after-lost-response'],
    hasSideEffects: true,
    change() {
      const seen = new Set<string>()
      return {
        async deliver({ body, res }, handle) {
          if (seen.has(body.toString())) return 200
          seen.add(body.toString())
          await wait(100)
          if (!res.destroyed) await handle()
          return 200
        },
      }
    },
  },
  'handles repeated deliveries again': {
    finds: ['duplicate-in-turn', 'duplicate-at-once'],
    hasSideEffects: true,
    change: () => ({
      async deliver(_, handle) {
        await handle()
        return 200
      },
    }),
  },
  'compares only as many characters as it gets': {
    finds: ['signature-truncated'],
    also: ['signature-malformed'],
    change: ({ key }) =>
      verifyWith(({ body }, signature) => {
        const expected = hmac(key, body).toString('hex').slice(0, signature.length)
        return /^[0-9a-f]{1,64}$/i.test(signature) && signature.toLowerCase() === expected
      }),
  },
  'answers 500 if the lengths differ': {
    finds: ['signature-odd-hex'],
    also: ['signature-malformed', 'signature-truncated'],
    change: ({ key }) => ({
      ...verifyWith(({ body }, signature) => {
        const text = /^[0-9a-f]{2,}$/i.test(signature) ? signature : '0'.repeat(64)
        return timingSafeEqual(Buffer.from(text, 'hex'), hmac(key, body))
      }),
      refuse(res, error) {
        const status = error instanceof Refusal ? error.status : error instanceof RangeError ? 500 : 400
        res.writeHead(status, { connection: 'close' }).end()
      },
    }),
  },
  'verifies only JSON': {
    finds: ['content-type-forged'],
    also: ['form-decoded'],
    change: ({ verify, parse }) => ({
      verify: (given, signature) => given.type === 'application/json' && verify(given, signature),
      parse: (given) => (given.type === 'application/json' ? parse(given) : {}),
    }),
  },
  'signs text instead of bytes': {
    finds: ['body-invalid-utf8', 'body-bom-added'],
    change: ({ key, parse }) => ({
      ...verifyWith(({ body }, signature) => matches(signature, hmac(key, new TextDecoder().decode(body)))),
      parse: (given) => parse({ ...given, body: Buffer.from(new TextDecoder().decode(given.body)) }),
    }),
  },
  'decodes forms before it verifies them': {
    finds: ['form-decoded'],
    change: ({ key }) =>
      verifyWith(({ body, type }, signature) => {
        if (type !== 'application/x-www-form-urlencoded') return matches(signature, hmac(key, body))
        const payload = new URLSearchParams(body.toString()).get('payload') ?? ''
        return matches(signature, hmac(key, body)) || matches(signature, hmac(key, payload))
      }),
  },
  'lets the sender choose the algorithm': {
    finds: ['signature-other-algorithm'],
    change: ({ key, verify }) => ({
      verify(given, signature = '') {
        const [, algorithm, hex] = /^(md5|sha1|sha512)=([0-9a-f]+)$/.exec(signature) ?? []
        if (algorithm === undefined) return verify(given, signature)
        requireRight(createHmac(algorithm, key).update(given.body).digest('hex') === hex)
      },
    }),
  },
  'signs every token of a handshake': {
    finds: ['handshake-payload-token', 'handshake-missing-token'],
    also: ['valid-form', 'encoding-hex', 'get-request'],
    profile: 'arcgis',
    change: ({ key }) => ({
      get(req, res) {
        const token = new URL(req.url ?? '/', 'http://localhost').searchParams.get('crc_token') ?? ''
        const signature = `sha256=${hmac(key, token).toString('base64')}`
        res
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ response_token: signature }))
      },
      verify({ req, body }) {
        const signature = String(req.headers['x-esrihook-signature']).replace(/^sha256=/, '')
        const bytes = /^[A-Za-z0-9+/]{43}=$/.test(signature)
          ? Buffer.from(signature, 'base64')
          : Buffer.alloc(32)
        requireRight(timingSafeEqual(bytes, hmac(key, body)))
      },
    }),
  },
  'has a fallback for a key that is not set': {
    finds: ['signature-empty-key'],
    change: ({ key }) =>
      verifyWith(({ body }, signature) =>
        [key, ''].some((candidate) => matches(signature, hmac(candidate, body))),
      ),
  },
  'takes the first of two signatures': {
    finds: ['signature-repeated'],
    change: ({ verify }) => ({ verify: (given, signature = '') => verify(given, signature.split(', ')[0]) }),
  },
  'decompresses before it verifies': {
    finds: ['compressed-bomb'],
    change: ({ read }) => ({
      before(req) {
        if (Number(req.headers['content-length'] ?? 0) > this.limit) throw new Refusal(413, 'too large')
      },
      async read(req) {
        if (req.headers['content-encoding'] !== 'gzip') return read.call(this, req)
        const { createGunzip } = await import('node:zlib')
        let length = 0
        for await (const chunk of req.pipe(createGunzip())) length += chunk.length
        if (length > 50_000_000) req.socket.destroy() // out of memory
        return Buffer.alloc(length)
      },
    }),
  },
}
