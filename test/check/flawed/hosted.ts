import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Flaw, Flaws } from './flaw.ts'
import { hmac, type Steps } from './steps.ts'
import { matches, requireRight } from './verify.ts'

const urlOf = ({ url = '/' }: IncomingMessage): URL => new URL(url, 'http://localhost')

function answerHandshake(res: ServerResponse, key: string, token: string): void {
  const signature = `sha256=${hmac(key, token).toString('base64')}`
  res
    .writeHead(200, { 'content-type': 'application/json' })
    .end(JSON.stringify({ response_token: signature }))
}

/** The steps of a correct receiver for ArcGIS Online that decodes only base64, and does not know its forms. */
const createHostedSteps = ({ key }: Steps): Pick<Steps, 'get' | 'verify'> => ({
  get(req, res) {
    const [token = '', ...others] = urlOf(req).searchParams.getAll('crc_token')
    if (!/^[\w-]{1,200}$/.test(token) || others.length > 0) res.writeHead(400).end()
    else answerHandshake(res, key, token)
  },
  verify({ req, body }) {
    const signature = String(req.headers['x-esrihook-signature']).replace(/^sha256=/, '')
    const isBase64 = /^[A-Za-z0-9+/]{43}=$/.test(signature)
    requireRight(isBase64 && matches(Buffer.from(signature, 'base64').toString('hex'), hmac(key, body)))
  },
})

const hosted = (finds: readonly string[], change: Flaw['change'] = () => ({})): Flaw => ({
  finds,
  also: ['valid-form', 'encoding-hex'],
  profile: 'arcgis',
  change: (steps) => ({ ...createHostedSteps(steps), ...change(steps) }),
})

/** Mistakes of receivers for ArcGIS Online. */
export const HOSTED_FLAWS: Flaws = {
  'decodes only base64': hosted(['encoding-hex']),
  'does not answer handshakes': hosted(['handshake'], ({ get }) => ({ get })),
  'signs every token of a handshake': {
    ...hosted(['handshake-payload-token', 'handshake-missing-token', 'get-request'], ({ key }) => ({
      get: (req, res) => answerHandshake(res, key, urlOf(req).searchParams.get('crc_token') ?? ''),
    })),
    // Among the tokens is the payload of a later delivery.
    also: ['valid-form', 'encoding-hex', 'no-signature'],
  },
  'answers a handshake of every method': hosted(['handshake-wrong-method'], ({ key, before }) => ({
    before(req, res) {
      const token = urlOf(req).searchParams.get('crc_token')
      if (token !== null) answerHandshake(res, key, token)
      else before.call(this, req, res)
    },
  })),
}
