import { Webhooks } from '@octokit/webhooks'
import { verify } from '@octokit/webhooks-methods'
import { KEY, signature } from '../lib/payloads.mjs'

/** octokit supports only hex with a prefix. It verifies only text, so its times include decoding the body. */
const prepareWith = (verifyText) => (encoding) =>
  encoding === 'hex' && {
    sign: (body) => `sha256=${signature(body)}`,
    verify: (body, header) => verifyText(body.toString(), header),
  }

const webhooks = new Webhooks({ secret: KEY })

export const octokitMethods = {
  name: '@octokit/webhooks-methods',
  prepare: prepareWith((body, header) => verify(KEY, body, header)),
}

export const octokitWebhooks = {
  name: '@octokit/webhooks',
  prepare: prepareWith((body, header) => webhooks.verify(body, header)),
}
