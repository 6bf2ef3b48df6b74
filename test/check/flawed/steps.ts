import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'

/** Thrown to refuse a request. */
export class Refusal extends Error {
  readonly status: number

  constructor(status: number, reason: string) {
    super(reason)
    this.status = status
  }
}

/** A delivery and its request. */
export interface Given {
  req: IncomingMessage
  res: ServerResponse
  body: Buffer
  /** The media type of the request, without parameters. */
  type: string
  handle(payload: unknown): Promise<void>
}

/** The steps of a receiver. A flawed receiver replaces one of them. */
export interface Steps {
  readonly key: string
  /** Maximum size of a body in bytes. */
  readonly limit: number
  /** Milliseconds for a whole body. */
  readonly uploadTime: number
  /** Milliseconds that the sender waits for a response. */
  readonly senderTimeout: number
  /** Runs before the body is read. */
  before(this: Steps, req: IncomingMessage, res: ServerResponse): void
  read(this: Steps, req: IncomingMessage): Promise<Buffer>
  /** Throws a {@link Refusal} unless the signature is right. */
  verify(given: Given, signature: string | undefined): void
  parse(given: Given): unknown
  /** Calls the handler, at most once for each body. */
  deliver(given: Given, handle: () => Promise<void>): Promise<number>
  refuse(res: ServerResponse, error: unknown): void
  /** Answers a GET request. */
  get(req: IncomingMessage, res: ServerResponse): void
  /** Answers a request of another method than GET, HEAD and POST. */
  other(this: Steps, req: IncomingMessage, res: ServerResponse): void
}

export const hmac = (key: string, body: Uint8Array | string): Buffer =>
  createHmac('sha256', key).update(body).digest()

/** The steps of a correct receiver that is written by hand. */
export const createSteps = (key: string, senderTimeout: number): Steps => {
  const known = new Map<string, 'pending' | 'done'>()
  return {
    key,
    limit: 1_000_000,
    uploadTime: 5_000,
    senderTimeout,
    before(req) {
      if (req.headers['content-encoding'] !== undefined) throw new Refusal(415, 'compressed')
      if (Number(req.headers['content-length'] ?? 0) > this.limit) throw new Refusal(413, 'too large')
    },
    async read(req) {
      const chunks: Buffer[] = []
      let length = 0
      const timer = setTimeout(() => req.destroy(), this.uploadTime)
      try {
        for await (const chunk of req.iterator({ destroyOnReturn: false })) {
          length += chunk.length
          if (length > this.limit) throw new Refusal(413, 'too large')
          chunks.push(chunk)
        }
      } finally {
        clearTimeout(timer)
      }
      return Buffer.concat(chunks)
    },
    verify({ body }, signature = '') {
      const text = signature.replace(/^sha256=/, '')
      if (!/^[0-9a-f]{64}$/i.test(text) || !timingSafeEqual(Buffer.from(text, 'hex'), hmac(key, body)))
        throw new Refusal(401, 'unauthorized')
    },
    parse({ body, type }) {
      const text = new TextDecoder('utf-8', { fatal: true }).decode(body)
      if (type === 'application/json') return JSON.parse(text)
      if (type !== 'application/x-www-form-urlencoded') throw new Refusal(415, 'content type')
      if (!text.startsWith('payload=')) throw new Refusal(400, 'not a form')
      return JSON.parse(new URLSearchParams(text).get('payload') ?? '')
    },
    async deliver({ body }, handle) {
      const id = hmac(key, body).toString('hex')
      if (known.get(id) === 'pending') return 409
      if (known.get(id) === 'done') return 200
      known.set(id, 'pending')
      try {
        await handle()
      } catch (error) {
        known.delete(id)
        throw error
      }
      known.set(id, 'done')
      return 200
    },
    refuse(res, error) {
      const status = error instanceof Refusal ? error.status : 400
      res.writeHead(status, { connection: 'close' }).end(`refused with ${status}\n`)
    },
    get: (_, res) => void res.writeHead(405, { allow: 'POST' }).end(),
    other: (_, res) => void res.writeHead(405, { allow: 'POST' }).end(),
  }
}

/** A receiver made of these steps. `handle` gets the decoded payload. */
export function createListener(steps: Steps, handle: (payload: unknown) => Promise<void>): RequestListener {
  return async (req, res) => {
    try {
      if (req.method === 'GET' || req.method === 'HEAD') return steps.get(req, res)
      if (req.method !== 'POST') return steps.other(req, res)
      steps.before(req, res)
      const body = await steps.read(req)
      const [type = ''] = (req.headers['content-type'] ?? '').toLowerCase().split(/[; ]/)
      const given: Given = { req, res, body, type, handle }
      steps.verify(given, req.headers['x-service'] as string | undefined)
      const payload = steps.parse(given)
      const status = await steps.deliver(given, () => handle(payload))
      if (!res.headersSent) res.writeHead(status).end()
    } catch (error) {
      if (!res.headersSent) steps.refuse(res, error)
    }
  }
}
