import { verify } from '../../dist/index.js'
import { KEY, signature } from '../lib/payloads.mjs'

export const geohook = {
  name: 'geohook',
  prepare: (encoding) => ({
    sign: (body) => signature(body, encoding),
    verify: (body, header) => verify({ body, signature: header, signatureKey: KEY }),
    isRight: ({ ok }) => ok,
  }),
}
