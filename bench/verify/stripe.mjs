import Stripe from 'stripe'
import { KEY } from '../lib/payloads.mjs'

/** Supports only hex. Signs the time and the body. Calls `verifyHeader`, because `constructEvent` also parses JSON. */
export const stripe = {
  name: 'stripe',
  prepare: (encoding) =>
    encoding === 'hex' && {
      sign: (body) => Stripe.webhooks.generateTestHeaderString({ payload: body.toString(), secret: KEY }),
      verify: (body, header) => Stripe.webhooks.signature.verifyHeader(body, header, KEY),
    },
}
