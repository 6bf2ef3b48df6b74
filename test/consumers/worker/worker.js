import { createReceiver } from 'geohook'

export const received = []

const receiver = createReceiver({ signatureKey: 'parcels2026' }).on('*', (event) => {
  received.push(event.changeType)
})

export default { fetch: receiver.fetch }
