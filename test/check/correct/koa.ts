import { timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { hexToBytes } from '@noble/hashes/utils.js'
import Koa from 'koa'
import getRawBody from 'raw-body'
import { mountServer } from '../../helpers/mounts/mounted.ts'
import { quiet } from '../../helpers/mounts/node.ts'
import { createOnce, LIMIT, parse, SERVER_OPTIONS, type StartReceiver } from './receiver.ts'

/** Koa, raw-body and `@noble/hashes`. */
export const startKoa: StartReceiver = (key, handle) => {
  const once = createOnce()
  const app = quiet(new Koa())

  app.use(async (ctx) => {
    if (ctx.method !== 'POST') {
      ctx.set('allow', 'POST')
      ctx.set('connection', 'close') // the body is not read
      ctx.throw(405)
    }
    const body = await getRawBody(ctx.req, { limit: LIMIT, length: ctx.get('content-length') || null })
    const signature = ctx.get('x-service')
    const isVerified =
      /^[0-9a-f]{64}$/i.test(signature) &&
      timingSafeEqual(hexToBytes(signature), hmac(sha256, Buffer.from(key), body))
    if (!isVerified) ctx.throw(401)
    ctx.status = await once(signature.toLowerCase(), () => handle(parse(body, ctx.get('content-type'))))
    ctx.body = ''
  })
  return mountServer(createServer(SERVER_OPTIONS, app.callback()))
}
