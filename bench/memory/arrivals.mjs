/**
 * Counts the body bytes that Node's HTTP parser pushes to the request. A `data` listener on the request would start
 * the stream before the receiver listens, and a `data` listener on the socket would bypass the parser.
 */
export function createArrivals() {
  const arrivals = {
    bytes: 0,
    /** Time when the chunk with the last byte of a body arrived, before it was processed. */
    lastAt: 0,
    watch(req) {
      const length = Number(req.headers['content-length'])
      let received = 0
      const { push } = req
      req.push = (chunk, encoding) => {
        if (chunk !== null) {
          received += chunk.length
          arrivals.bytes += chunk.length
          if (received === length) arrivals.lastAt = performance.now()
        }
        return push.call(req, chunk, encoding)
      }
    },
  }
  return arrivals
}
