/**
 * Reads what has come of an answer. Answers are short here, so it begins anew with each piece of one.
 *
 * @param {string} text of Latin-1
 * @returns {number | undefined} its status, when it is whole
 */
export function readAnswer(text) {
  const headEnd = text.indexOf('\r\n\r\n')
  if (headEnd === -1) return undefined
  const end = bodyEnd(text, headEnd)
  if (text.length > end) throw new Error(`more than one answer: ${text}`)
  return text.length === end ? Number(text.slice(9, 12)) : undefined
}

function bodyEnd(text, headEnd) {
  const head = text.slice(0, headEnd)
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)
  if (length) return headEnd + 4 + Number(length[1])
  if (/\r\ntransfer-encoding: *chunked/i.test(head)) return chunkedEnd(text, headEnd + 4)
  throw new Error(`no end of the answer can be told: ${head}`)
}

/** Where the last chunk, and the trailers behind it, end; somewhere past the text while they have not come. */
function chunkedEnd(text, start) {
  let at = start
  for (;;) {
    const lineEnd = text.indexOf('\r\n', at)
    if (lineEnd === -1) return Number.POSITIVE_INFINITY
    const size = Number.parseInt(text.slice(at, lineEnd), 16)
    if (Number.isNaN(size)) throw new Error(`no size of a chunk: ${text.slice(at)}`)
    if (size === 0) {
      const end = text.indexOf('\r\n\r\n', lineEnd)
      return end === -1 ? Number.POSITIVE_INFINITY : end + 4
    }
    at = lineEnd + 2 + size + 2
  }
}
