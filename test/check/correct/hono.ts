import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { listenHono } from '../../helpers/mounts/web.ts'
import { createOnce, LIMIT, parse, SERVER_OPTIONS, type StartReceiver } from './receiver.ts'

/** Hono, its server for Node, and WebCrypto. */
export const startHono: StartReceiver = async (key, handle) => {
  const once = createOnce()
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const cryptoKey = await crypto.subtle.importKey('raw', Buffer.from(key), algorithm, false, ['verify'])
  const app = new Hono()

  app.post('/hook', bodyLimit({ maxSize: LIMIT }), async (c) => {
    const body = new Uint8Array(await c.req.arrayBuffer())
    const signature = c.req.header('x-service') ?? ''
    const isVerified =
      /^[0-9a-f]{64}$/i.test(signature) &&
      (await crypto.subtle.verify('HMAC', cryptoKey, Buffer.from(signature, 'hex'), body))
    if (!isVerified) return c.text('unauthorized', 401)
    const status = await once(signature.toLowerCase(), () =>
      handle(parse(body, c.req.header('content-type'))),
    )
    return new Response(null, { status })
  })
  app.onError((_error, c) => c.text('bad request', 400)) // the client has disconnected

  return listenHono(app, SERVER_OPTIONS)
}
