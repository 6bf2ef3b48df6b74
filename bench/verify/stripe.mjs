import Stripe from 'stripe'
import { KEY } from '../lib/payloads.mjs'

/** Hex only, over the time and the body. `verifyHeader`, not `constructEvent`, which also parses JSON. */
export const stripe = {
  name: 'stripe',
  prepare: (encoding) =>
    encoding === 'hex' && {
      sign: (body) => Stripe.webhooks.generateTestHeaderString({ payload: body.toString(), secret: KEY }),
      verify: (body, header) => Stripe.webhooks.signature.verifyHeader(body, header, KEY),
    },
}
