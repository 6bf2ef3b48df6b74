import { createHmac, timingSafeEqual } from 'node:crypto'
import { KEY, signature } from '../lib/payloads.mjs'

/** Hand-written verification: the baseline of all other subjects. */
export const handWritten = {
  name: 'hand-written',
  prepare: (encoding) => ({
    sign: (body) => signature(body, encoding),
    verify(body, header) {
      const given = Buffer.from(header, encoding)
      const digest = createHmac('sha256', KEY).update(body).digest()
      return given.length === digest.length && timingSafeEqual(given, digest)
    },
  }),
}
