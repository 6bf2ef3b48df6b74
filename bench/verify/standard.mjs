import { Webhook } from 'standardwebhooks'
import { Webhook as SvixWebhook } from 'svix'
import { KEY } from '../lib/payloads.mjs'

const ID = 'msg_1'

/** Both packages support only base64. They sign the id, the time and the body, and decode the key once. */
const prepareWith = (webhook, options) => ({
  sign(body) {
    const now = new Date()
    return {
      'webhook-id': ID,
      'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
      'webhook-signature': webhook.sign(ID, now, body.toString()),
    }
  },
  verify: (body, headers) => webhook.verify(body, headers, options),
  // `verify()` throws an error if the signature is invalid.
  isRight: () => true,
})

const secret = Buffer.from(KEY).toString('base64')
const standard = new Webhook(secret)
const svixWebhook = new SvixWebhook(secret)

export const standardWebhooks = {
  name: 'standardwebhooks',
  prepare: (encoding) => encoding === 'base64' && prepareWith(standard, { jsonParse: false }),
}

/** svix also parses the body as JSON, so it does not support forms. */
export const svix = {
  name: 'svix',
  prepare: (encoding, format) => encoding === 'base64' && format === 'json' && prepareWith(svixWebhook),
}
