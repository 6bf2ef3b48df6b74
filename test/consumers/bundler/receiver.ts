// Compiles without Node's types, because it uses only web APIs.
import { createReceiver, type Delivery, type Receiver } from 'geohook'
import { createPayload, createSigner, type SignedRequest } from 'geohook/testing'

export const received: string[] = []

const receiver: Receiver = createReceiver({ signatureKey: 'parcels2026' }).on(
  '*',
  (event, delivery: Delivery) => {
    if (delivery.rawBody.length > 0) received.push(event.changeType)
  },
)

export const handle = (request: Request): Promise<Response> => receiver.fetch(request)

export const sign = (): Promise<SignedRequest> =>
  createSigner({ signatureKey: 'parcels2026' }).sign(createPayload('FeaturesUpdated'))
