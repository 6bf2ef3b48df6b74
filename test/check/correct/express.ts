import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import express, { type ErrorRequestHandler } from 'express'
import getRawBody from 'raw-body'
import { mountServer } from '../../helpers/mounts/mounted.ts'
import { createOnce, LIMIT, parse, SERVER_OPTIONS, type StartReceiver } from './receiver.ts'

/** Express, raw-body and node:crypto. */
export const startExpress: StartReceiver = (key, handle) => {
  const once = createOnce()
  const app = express().disable('x-powered-by')

  app.post('/hook', async (req, res) => {
    const body = await getRawBody(req, { limit: LIMIT, length: req.headers['content-length'] ?? null })
    const signature = req.get('x-service') ?? ''
    const expected = createHmac('sha256', key).update(body).digest()
    if (!/^[0-9a-f]{64}$/i.test(signature) || !timingSafeEqual(Buffer.from(signature, 'hex'), expected)) {
      res.sendStatus(401)
      return
    }
    const status = await once(signature.toLowerCase(), () => handle(parse(body, req.get('content-type'))))
    res.sendStatus(status)
  })

  const answerError: ErrorRequestHandler = (error, _req, res, _next) => {
    res.set('connection', 'close').sendStatus(error.status ?? 500)
  }
  return mountServer(createServer(SERVER_OPTIONS, app.use(answerError)))
}
