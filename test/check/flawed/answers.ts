import { setTimeout as wait } from 'node:timers/promises'
import type { Flaws } from './flaw.ts'
import { hmac, Refusal, type Steps } from './steps.ts'
import { matches } from './verify.ts'

/** Responses that come late, have the wrong status, or reveal something. */
export const ANSWER_FLAWS: Flaws = {
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
  'answers 404 if the signature is not right': {
    finds: ['refusal-status'],
    change: ({ verify }) => ({
      verify(given, signature) {
        try {
          verify(given, signature)
        } catch {
          throw new Refusal(404, 'not found')
        }
      },
    }),
  },
  'names its framework': {
    finds: ['no-product-name'],
    change: ({ before }) => ({
      before(req, res) {
        res.setHeader('x-powered-by', 'Express')
        before.call(this, req, res)
      },
    }),
  },
  'names the version of its server': {
    finds: ['no-product-name'],
    change: ({ before }) => ({
      before(req, res) {
        res.setHeader('server', 'Werkzeug/3.0.1 Python/3.12.3')
        before.call(this, req, res)
      },
    }),
  },
  'handles a delivery before it answers, which takes long': {
    finds: ['response-time'],
    timeout: 2_000,
    change: ({ deliver, senderTimeout }) => ({
      async deliver(given, handle) {
        await wait(0.6 * senderTimeout)
        return deliver(given, handle)
      },
    }),
  },
  'redirects to another URL': {
    finds: ['redirect', 'valid-json'],
    change: () => ({
      before: (_, res) => void res.writeHead(308, { location: '/webhooks/' }).end(),
    }),
  },
  'verifies only POST, and handles the payloads of other methods': {
    finds: ['other-methods', 'method-not-allowed', 'get-request'],
    change: (steps) => ({
      get: (_, res) => void res.writeHead(200).end(),
      async other(req, res) {
        try {
          const body = await steps.read(req)
          steps.parse({ req, res, body, type: 'application/json', handle: async () => {} })
          res.writeHead(200).end()
        } catch {
          res.writeHead(400).end()
        }
      },
    }),
  },
  'accepts a valid delivery with every method': {
    finds: ['signed-methods'],
    change(steps) {
      const accept: Steps['get'] = async (req, res) => {
        try {
          const body = await steps.read(req)
          const given = { req, res, body, type: 'application/json', handle: async () => {} }
          steps.verify(given, req.headers['x-service'] as string | undefined)
          res.writeHead(200).end()
        } catch (error) {
          steps.refuse(res, error)
        }
      }
      return { get: accept, other: accept }
    },
  },
  'stops after an error in an event listener': {
    finds: ['alive-afterwards'],
    triggers: ['no-stack-trace'], // sends a PUT whose body is not JSON
    change({ before, other }) {
      let hasStopped = false
      return {
        before(req, res) {
          if (hasStopped) req.socket.destroy()
          else before.call(this, req, res)
        },
        other(req, res) {
          req.on('data', (chunk) => {
            try {
              JSON.parse(chunk)
            } catch {
              hasStopped = true // in place of the end of the process
            }
          })
          other.call(this, req, res)
        },
      }
    },
  },
}
