const CLOSES = /\r\nconnection: *close/i

/**
 * Parses the part of a response received so far. Responses are short, so callers parse again after each chunk.
 *
 * @param {string} text in Latin-1
 * @returns {number | undefined} the status, once the response is complete
 */
export function readResponse(text) {
  const response = firstResponse(text)
  if (response === undefined) return undefined
  if (text.length > response.end) throw new Error(`more than one response: ${text}`)
  return response.status
}

/**
 * Finds the first response of a connection that may carry several.
 *
 * @param {string} text in Latin-1, from the start of a response
 * @param {{ hasBody?: boolean }} [request] `hasBody`: false for the response to a HEAD request
 * @returns {{ status: number, end: number, closes: boolean } | undefined} once the response is complete. `end`: the
 *   offset after it; `closes`: true if the server will close the connection
 */
export function firstResponse(text, { hasBody = true } = {}) {
  const headEnd = text.indexOf('\r\n\r\n')
  if (headEnd === -1) return undefined
  const status = Number(text.slice(9, 12))
  const closes = CLOSES.test(text.slice(0, headEnd))
  const end = hasBody && status >= 200 ? bodyEnd(text, headEnd, closes) : headEnd + 4
  return text.length >= end ? { status, end, closes } : undefined
}

function bodyEnd(text, headEnd, closes) {
  const head = text.slice(0, headEnd)
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)
  if (length) return headEnd + 4 + Number(length[1])
  if (/\r\ntransfer-encoding: *chunked/i.test(head)) return chunkedEnd(text, headEnd + 4)
  // Node's response to bytes that are not HTTP.
  if (head.startsWith('HTTP/1.1 400 ') && closes) return headEnd + 4
  throw new Error(`the response has neither content-length nor chunks: ${head}`)
}

/** Returns the offset after the last chunk and the trailers, or infinity if they have not arrived. */
function chunkedEnd(text, start) {
  let at = start
  for (;;) {
    const lineEnd = text.indexOf('\r\n', at)
    if (lineEnd === -1) return Number.POSITIVE_INFINITY
    const size = Number.parseInt(text.slice(at, lineEnd), 16)
    if (Number.isNaN(size)) throw new Error(`invalid chunk size: ${text.slice(at)}`)
    if (size === 0) {
      const end = text.indexOf('\r\n\r\n', lineEnd)
      return end === -1 ? Number.POSITIVE_INFINITY : end + 4
    }
    at = lineEnd + 2 + size + 2
  }
}
