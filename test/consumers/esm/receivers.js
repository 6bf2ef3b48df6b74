import { createServer } from 'node:http'
import express from 'express'
import { createReceiver } from 'geohook'
import * as onExpress from 'geohook/express'
import * as onNode from 'geohook/node'

export const received = []
const receiver = createReceiver({ signatureKey: 'parcels2026' }).on('*', (event) => {
  received.push(event.changeType)
})

export function startNode() {
  return createServer(onNode.webhook(receiver)).listen(0, '127.0.0.1')
}

export function startExpress() {
  const app = express()
  app.post('/hook', onExpress.webhook(receiver))
  return app.listen(0, '127.0.0.1')
}
