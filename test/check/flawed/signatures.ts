import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Flaw, Flaws } from './flaw.ts'
import { hmac, Refusal } from './steps.ts'
import { matches, requireRight, verifyWith } from './verify.ts'

const matchesIn = (signature: string, expected: Buffer, start: number, end: number): boolean =>
  /^[0-9a-f]{64}$/i.test(signature) &&
  expected.subarray(start, end).equals(Buffer.from(signature, 'hex').subarray(start, end))

/** Compares decoded text, which has fewer values than the bytes. */
const comparesAs = (encoding: BufferEncoding): Flaw => ({
  finds: ['signature-partly-right'],
  change: ({ key }) =>
    verifyWith(
      ({ body }, signature) =>
        /^[0-9a-f]{64}$/i.test(signature) &&
        Buffer.from(signature, 'hex').toString(encoding) === hmac(key, body).toString(encoding),
    ),
})

/** Mistakes in how a receiver reads and compares signatures. */
export const SIGNATURE_FLAWS: Flaws = {
  'compares hex with ===': {
    finds: ['upper-case-hex'],
    change: ({ key }) => verifyWith(({ body }, signature) => signature === hmac(key, body).toString('hex')),
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
    finds: ['signature-missing', 'signature-wrong-key', 'body-altered', 'cut-upload', 'length-short'],
    acceptsForgeries: true,
    change: () => ({ before: (_, res) => void res.writeHead(200).end() }),
  },
  'never answers a malformed signature': {
    finds: ['signature-malformed', 'signature-empty'],
    also: [
      'signature-odd-hex',
      'signature-partly-right',
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
  'compares only as many characters as it gets': {
    finds: ['signature-truncated'],
    change: ({ key }) =>
      verifyWith(({ body }, signature) => {
        const expected = hmac(key, body).toString('hex').slice(0, signature.length)
        return /^[0-9a-f]{1,64}$/i.test(signature) && signature.toLowerCase() === expected
      }),
  },
  'compares only as many characters of the end as it gets': {
    finds: ['signature-truncated'],
    change: ({ key }) =>
      verifyWith(
        ({ body }, signature) =>
          signature !== '' && hmac(key, body).toString('hex').endsWith(signature.toLowerCase()),
      ),
  },
  'compares only the first 8 bytes': {
    finds: ['signature-partly-right'],
    change: ({ key }) => verifyWith((given, signature) => matchesIn(signature, hmac(key, given.body), 0, 8)),
  },
  'compares only the last 4 bytes': {
    finds: ['signature-partly-right'],
    change: ({ key }) =>
      verifyWith((given, signature) => matchesIn(signature, hmac(key, given.body), 28, 32)),
  },
  'compares only the first and the last 2 bytes': {
    finds: ['signature-partly-right'],
    change: ({ key }) =>
      verifyWith(
        ({ body }, signature) =>
          matchesIn(signature, hmac(key, body), 0, 2) && matchesIn(signature, hmac(key, body), 30, 32),
      ),
  },
  'compares the bytes as ASCII': comparesAs('ascii'),
  'compares the bytes as UTF-8': comparesAs('utf8'),
  'compares base64 without its case': {
    finds: ['signature-partly-right'],
    change: ({ key, verify }) => ({
      verify(given, signature = '') {
        const base64 = signature.replace(/^sha256=/, '').toLowerCase()
        if (base64 !== hmac(key, given.body).toString('base64').toLowerCase()) verify(given, signature)
      },
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
  'does not know the prefix sha256=': {
    finds: ['prefix'],
    change: ({ key }) => ({
      verify: ({ body }, signature = '') => requireRight(matches(signature, hmac(key, body))),
    }),
  },
  'looks for the header by its name in lower case': {
    finds: ['header-name-case'],
    also: ['signature-repeated'],
    change: ({ verify }) => ({
      verify(given) {
        const { rawHeaders } = given.req
        const at = rawHeaders.indexOf('x-service')
        verify(given, at < 0 ? undefined : rawHeaders[at + 1])
      },
    }),
  },
}
