/**
 * Notes what arrives of bodies, at the place where Node's HTTP parser hands it to the request. A listener of `data` would
 * set the body flowing before the receiver listens, and one on the socket would take it from the parser.
 */
export function createArrivals() {
  const arrivals = {
    bytes: 0,
    /** When the piece with the last byte of a body came, before anything was done with it. */
    lastAt: 0,
    watch(req) {
      const length = Number(req.headers['content-length'])
      let got = 0
      const { push } = req
      req.push = (chunk, encoding) => {
        if (chunk !== null) {
          got += chunk.length
          arrivals.bytes += chunk.length
          if (got === length) arrivals.lastAt = performance.now()
        }
        return push.call(req, chunk, encoding)
      }
    },
  }
  return arrivals
}
