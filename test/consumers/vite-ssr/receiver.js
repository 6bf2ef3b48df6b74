import { createServer } from 'node:http'
import { createReceiver } from 'geohook'
import { webhook } from 'geohook/node'

export const received = []

const receiver = createReceiver({ signatureKey: 'parcels2026' }).on('*', (event) => {
  received.push(event.changeType)
})

export const start = () => createServer(webhook(receiver)).listen(0, '127.0.0.1')
