import { createServer, type Server } from 'node:http'
import { createReceiver, type Delivery, WebhookError, type WebhookEvent } from 'geohook'
import { webhook } from 'geohook/node'

export const received: string[] = []

function take(event: WebhookEvent, delivery: Delivery): void {
  const bytes: Uint8Array = delivery.rawBody
  if (bytes.length > 0) received.push(event.changeType)
}

const receiver = createReceiver({ signatureKey: 'parcels2026' }).on('*', take)

export const start = (): Server => createServer(webhook(receiver)).listen(0, '127.0.0.1')

export const isOurs = (error: unknown): boolean =>
  error instanceof WebhookError && error.code === 'config_invalid'

export const keyless = (): unknown => createReceiver({ signatureKey: '' })

// @ts-expect-error a key is a string or bytes, so the types are not any
export const mistyped = (): unknown => createReceiver({ signatureKey: 5 })
